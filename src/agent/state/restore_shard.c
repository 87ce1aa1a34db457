/* SPDX-License-Identifier: MIT */
/* restore_shard.c - one file of a checkpoint to where its tensors belong */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/disk/folder.h"
#include "agent/state/restore_shard.h"

/* Readers of safetensors take no more, either. */
#define HEADER_MAX 100000000

/* A file of a checkpoint as a stream. */
struct plan {
	const struct plx_piece **pieces; /* in the order they lie there */
	struct plx_segment *segments;	 /* the header, then each piece */
	int count;			 /* of pieces */
};

static int by_place(const void *a, const void *b)
{
	const struct plx_piece *x = *(const struct plx_piece *const *) a;
	const struct plx_piece *y = *(const struct plx_piece *const *) b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int find_pieces(struct plan *plan, const struct plx_partition *parts,
		       int shard)
{
	size_t most = (size_t) parts->count + 1;

	plan->pieces = calloc(most, sizeof(*plan->pieces));
	plan->segments = calloc(most, sizeof(*plan->segments));
	if (!plan->pieces || !plan->segments)
		return -1;
	for (int i = 0; i < parts->count; i++) {
		if (parts->pieces[i].shard == shard)
			plan->pieces[plan->count++] = &parts->pieces[i];
	}
	qsort(plan->pieces, (size_t) plan->count, sizeof(*plan->pieces),
	      by_place);
	return 0;
}

/* Pieces follow one another, from the header to the end. */
static int lay_out(struct plan *plan, const struct plx_tensor *to,
		   uint64_t file_bytes)
{
	uint64_t at = plan->count ? plan->pieces[0]->at : file_bytes;

	if (at > HEADER_MAX)
		return -1;
	plan->segments[0] = (struct plx_segment){
		.data = malloc(at + 1),
		.bytes = at,
	};
	if (!plan->segments[0].data)
		return -1;
	for (int i = 0; i < plan->count; i++) {
		const struct plx_piece *piece = plan->pieces[i];
		char *data = to[piece->tensor].data;

		/* A file has memory for one part of the domain. */
		if (piece->at != at || (piece->bytes && !data))
			return -1;
		plan->segments[i + 1] = (struct plx_segment){
			.data = data ? data + piece->offset : NULL,
			.bytes = piece->bytes,
			.memory = to[piece->tensor].memory,
		};
		at += piece->bytes;
	}
	return at == file_bytes ? 0 : -1;
}

static void release(struct plan *plan)
{
	if (plan->segments)
		free(plan->segments[0].data);
	free(plan->segments);
	free(plan->pieces);
}

static int read_it(const struct plan *plan, const struct plx_source *from,
		   const char *name, struct plx_file *is, struct plx_error *err)
{
	struct plx_stream stream = {
		.segments = plan->segments,
		.count = plan->count + 1,
	};
	struct plx_error why;
	int dir = plx_folder_enter(from->folder, from->name, false, err);
	int rc;

	if (dir < 0)
		return -1;
	rc = plx_stream_read(&stream, dir, name, from->alone, &why);
	close(dir);
	if (rc < 0)
		return plx_fail(err, "%s: %.160s", name, why.text);
	is->crc = stream.crc;
	return 0;
}

int plx_restore_shard(const struct plx_manifest *m,
		      const struct plx_source *from, int shard, uint32_t *crc,
		      struct plx_error *err)
{
	const struct plx_file *want = &m->files[shard];
	struct plan plan = { .count = 0 };
	struct plx_file is = { .bytes = 0 };
	char name[PLX_SHARD_NAME];
	int rc = -1;

	plx_shard_name(name, shard, m->parts.shards);
	if (find_pieces(&plan, &m->parts, shard) < 0 ||
	    lay_out(&plan, from->to, want->bytes) < 0) {
		plx_fail(err, "%s is not laid out as its manifest says", name);
		goto done;
	}
	if (read_it(&plan, from, name, &is, err) < 0)
		goto done;
	if (is.crc != want->crc) {
		plx_fail(err,
			 "%s has checksum %08" PRIx32
			 ", its manifest says %08" PRIx32,
			 name, is.crc, want->crc);
		goto done;
	}
	for (int i = 0; i < plan.count; i++)
		*crc ^= plx_piece_crc(plan.pieces[i], m->shared,
				      plan.segments[i + 1].crc);
	rc = 0;
done:
	release(&plan);
	return rc;
}
