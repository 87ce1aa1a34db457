/* SPDX-License-Identifier: MIT */
/*
 * ckpt_write.h - one checkpoint being written, this rank's part in it
 *
 * Made at a step's boundary, after that it needs nothing but the arrays' bytes,
 * and with a copy of them not even those: so it can be done by a thread of its
 * own while training goes on.
 */
#ifndef PLX_AGENT_CKPT_WRITE_H
#define PLX_AGENT_CKPT_WRITE_H

#include "agent/base/profile.h"
#include "agent/disk/fence.h"
#include "agent/disk/folder.h"
#include "agent/disk/manifest.h"
#include "agent/state/registered.h"

#define PLX_TAG_SIZE 64

/* What a rank says about its share; plain data. */
struct plx_report {
	int rc;		       /* 0, or -1: why */
	uint32_t crc;	       /* of its file */
	uint32_t part;	       /* of the state's checksum: xor of all ranks' */
	uint64_t bytes;	       /* of its file */
	uint64_t data_at;      /* where tensors begin in it */
	uint64_t domain_bytes; /* of its part of the domain */
	struct plx_error why;
};

/* Whose job it is. */
struct plx_writer_rank {
	int rank;
	int ranks;
};

/* The same, and where to. */
struct plx_ckpt_order {
	struct plx_writer_rank who;
	const char *folder; /* of all checkpoints; copied */
	int keep;	    /* so many of them, and one at least */
};

struct plx_ckpt_write {
	struct plx_writer_rank who;
	char folder[PATH_MAX];
	char tmp[PLX_FOLDER_NAME]; /* in folder, until it is committed */
	char tag[PLX_TAG_SIZE];	   /* see folder.h */
	bool flush;
	int keep;
	struct plx_facts facts;
	struct plx_profile profile; /* a copy */
	struct plx_tensor *tensors; /* arrays, the profile, blobs, ... */
	int shared;		    /* how many are arrays */
	int count;
	bool has_domain;      /* ... and, behind `count`, a part of each rank */
	unsigned char *blobs; /* their bytes, one after the other */
	struct plx_partition parts;
	struct plx_shard shard; /* own, if there is one */
	bool has_shard;
	size_t state_bytes; /* of the arrays */
	struct plx_report report;
};

/*
 * Where training is, and what is to be saved. facts and profile are of the last
 * commit. Blobs are asked for their bytes by rank 0 only. Always to be
 * released; a failure is also in job->report.
 */
int plx_job_init(struct plx_ckpt_write *job, const struct plx_registered *r,
		 const struct plx_ckpt_order *order,
		 const struct plx_facts *facts,
		 const struct plx_profile *profile);
void plx_job_release(struct plx_ckpt_write *job);

/* Bytes of its image; copy the state into one (see stream.h). */
uint64_t plx_job_bytes(const struct plx_ckpt_write *job);
int plx_job_copy(struct plx_ckpt_write *job, unsigned char *image);

/* Write the own file; how it went is in job->report. */
void plx_job_write(struct plx_ckpt_write *job);

/*
 * Rank 0, when all reports are there: write the manifest, so that but for its
 * name it is a checkpoint. The state's checksum is in job->facts.crc then.
 */
int plx_job_seal(struct plx_ckpt_write *job, const struct plx_report *reports,
		 struct plx_error *err);

/*
 * Seal, then, with the fence's lock, give it its name and remove what is old.
 * 0, -1 or PLX_FENCED with err set; then nothing is left of it.
 */
int plx_job_commit(struct plx_ckpt_write *job, const struct plx_report *reports,
		   const struct plx_fence *fence, struct plx_error *err);

/* Nobody will commit it. */
void plx_job_drop(struct plx_ckpt_write *job);

#endif
