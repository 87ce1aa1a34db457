/* SPDX-License-Identifier: MIT */
/* manifest.c - what a checkpoint holds, and where: written last */
#include <config.h>

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/disk/manifest.h"
#include "agent/disk/manifest_names.h"
#include "core/base/crc.h"

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t) value);
}

static json_t *hex(uint32_t value)
{
	return json_sprintf("%08" PRIx32, value);
}

static json_t *pack_files(const struct plx_manifest *m)
{
	json_t *out = json_array();
	char name[PLX_SHARD_NAME];

	for (int i = 0; i < m->parts.shards; i++) {
		plx_shard_name(name, i, m->parts.shards);
		json_array_append_new(
			out, json_pack("{s:s, s:o, s:o}", "file", name, "bytes",
				       number(m->files[i].bytes), "crc",
				       hex(m->files[i].crc)));
	}
	return out;
}

static json_t *pack_tensor(const struct plx_manifest *m, int i)
{
	const struct plx_tensor *t = &m->tensors[i];
	json_t *shape = json_array();

	for (int d = 0; d < t->dims; d++)
		json_array_append_new(shape, number(t->shape[d]));
	return json_pack("{s:s, s:s, s:o, s:b, s:[]}", "name", t->name, "dtype",
			 t->dtype, "shape", shape, "array", i < m->shared,
			 "pieces");
}

static int by_row(const void *a, const void *b)
{
	const struct plx_piece *x = *(const struct plx_piece *const *) a;
	const struct plx_piece *y = *(const struct plx_piece *const *) b;

	return (x->first_row > y->first_row) - (x->first_row < y->first_row);
}

static json_t *pack_tensors(const struct plx_manifest *m)
{
	size_t count = (size_t) m->parts.count;
	const struct plx_piece **sorted = calloc(count + 1, sizeof(*sorted));
	json_t *out = json_array();

	for (int i = 0; i < m->count; i++)
		json_array_append_new(out, pack_tensor(m, i));
	for (size_t i = 0; sorted && i < count; i++)
		sorted[i] = &m->parts.pieces[i];
	if (sorted)
		qsort(sorted, count, sizeof(*sorted), by_row);
	for (size_t i = 0; sorted && i < count; i++) {
		const struct plx_piece *p = sorted[i];
		json_t *t = json_array_get(out, (size_t) p->tensor);

		json_array_append_new(json_object_get(t, "pieces"),
				      json_pack("{s:i, s:o, s:o, s:o}", "shard",
						p->shard + 1, "at",
						number(p->at), "row",
						number(p->first_row), "rows",
						number(p->rows)));
	}
	if (!sorted) {
		json_decref(out);
		return NULL;
	}
	free(sorted);
	return out;
}

static json_t *pack_map(const struct plx_manifest *m)
{
	json_t *out = json_object();
	char piece[PLX_PIECE_NAME];
	char file[PLX_SHARD_NAME];

	for (int i = 0; i < m->parts.count; i++) {
		const struct plx_piece *p = &m->parts.pieces[i];

		if (p->tensor >= m->shared)
			continue; /* nothing that a model has */
		plx_piece_name(piece, p, &m->tensors[p->tensor]);
		plx_shard_name(file, p->shard, m->parts.shards);
		json_object_set_new(out, piece, json_string(file));
	}
	return out;
}

static json_t *pack_metadata(const struct plx_manifest *m)
{
	json_t *out = json_object();
	uint64_t total = 0;

	json_object_set_new(out, "format", json_string(PLX_MANIFEST_FORMAT));
	for (int i = 0; i < m->shared; i++)
		total += m->tensors[i].bytes;
	json_object_set_new(out, "total_size", number(total));
	for (int i = 0; i < PLX_FACT_COUNT; i++)
		json_object_set_new(out, plx_fact_names[i].key,
				    number(*plx_fact_at(&m->facts, i)));
	/* More than JSON's integers hold. */
	json_object_set_new(out, "seed",
			    json_sprintf("%" PRIu64, m->facts.seed));
	json_object_set_new(out, "rescue", json_boolean(m->facts.rescue));
	json_object_set_new(out, "crc", hex(m->facts.crc));
	json_object_set_new(out, "shards", pack_files(m));
	if (json_object_set_new(out, "tensors", pack_tensors(m)) < 0) {
		json_decref(out);
		return NULL;
	}
	return out;
}

char *plx_manifest_text(const struct plx_manifest *manifest,
			struct plx_error *err)
{
	json_t *root =
		json_pack("{s:o, s:o}", "metadata", pack_metadata(manifest),
			  "weight_map", pack_map(manifest));
	char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	char *more = NULL;
	size_t size;

	json_decref(root);
	if (text) {
		size = strlen(text) - 1; /* without the last brace */
		more = realloc(text, size + PLX_SEAL_TAIL + 1);
	}
	if (!more) {
		free(text);
		plx_fail(err, "cannot get memory for a manifest");
		return NULL;
	}
	snprintf(more + size, PLX_SEAL_TAIL + 1, PLX_SEAL_FORMAT,
		 plx_crc32c(0, more, size));
	return more;
}
