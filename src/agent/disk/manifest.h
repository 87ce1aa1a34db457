/* SPDX-License-Identifier: MIT */
/*
 * manifest.h - what a checkpoint holds, and where: written last
 *
 * model.safetensors.index.json. "weight_map" is what PyTorch's world expects
 * there: name of a tensor -> file. "metadata" is ours: where training was,
 * the length and checksum of each file, each tensor's place. "seal", at the
 * very end, is the CRC-32C of the text before it, so that nothing is believed
 * that was not written so.
 */
#ifndef PLX_AGENT_MANIFEST_H
#define PLX_AGENT_MANIFEST_H

#include "agent/disk/shard.h"

#define PLX_MANIFEST_FILE "model.safetensors.index.json"

/* Where training was. */
struct plx_facts {
	uint64_t step;
	uint64_t epoch;
	uint64_t position;
	uint64_t dataset; /* its samples */
	uint64_t seed;
	uint64_t generation;   /* that wrote it; 0: run alone */
	uint64_t ranks;	       /* that wrote it */
	uint64_t flushed;      /* newest step known to survive a power loss */
	uint64_t unflushed_ms; /* of training since */
	uint64_t cost_us; /* what the last save cost training, 0: unknown */
	bool rescue;	  /* by a survivor, after a failure */
	uint32_t crc;	  /* of all arrays, in the order registered */
};

struct plx_file {
	uint64_t bytes;
	uint32_t crc;
};

struct plx_manifest {
	struct plx_facts facts;
	struct plx_file *files;	    /* one a shard, parts.shards */
	struct plx_tensor *tensors; /* without data */
	int count;
	int shared;		    /* how many of them are arrays: the rest
				       is the agent's and the blobs' */
	struct plx_partition parts; /* all of each tensor */
	void *json;		    /* holds the texts */
};

/* The text, the caller's to free; NULL with err set. */
char *plx_manifest_text(const struct plx_manifest *manifest,
			struct plx_error *err);

/*
 * Read a text that may be anything. NULL with err set; else the caller's to
 * destroy.
 */
struct plx_manifest *plx_manifest_parse(const char *text, size_t size,
					struct plx_error *err);
void plx_manifest_destroy(struct plx_manifest *manifest); /* accepts NULL */

#endif
