/* SPDX-License-Identifier: MIT */
/* restore_shard.h - one file of a checkpoint is read and checked */
#ifndef PLX_AGENT_RESTORE_SHARD_H
#define PLX_AGENT_RESTORE_SHARD_H

#include "agent/state/store.h"

/* A checkpoint, and where its tensors go. */
struct plx_source {
	const char *folder;	     /* of the job's checkpoints */
	const char *name;	     /* of its own folder there */
	bool alone;		     /* see plx_stream_read() */
	const struct plx_tensor *to; /* one for each of the manifest's */
};

/*
 * Read and check one file. Its part of the checksum of all arrays is xored to
 * *crc.
 */
int plx_restore_shard(const struct plx_manifest *manifest,
		      const struct plx_source *from, int shard, uint32_t *crc,
		      struct plx_error *err);

#endif
