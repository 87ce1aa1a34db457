/* SPDX-License-Identifier: MIT */
/*
 * manifest_read.c - read a manifest, and believe it only when it is whole
 *
 * The seal is checked before anything is parsed; what follows is bounded all
 * the same, for a text may have been made to fit.
 */
#include <config.h>

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/disk/manifest_names.h"
#include "core/base/crc.h"

#define COUNT_MAX 10000000 /* tensors, or pieces: no more are believed */

const struct plx_fact_name plx_fact_names[PLX_FACT_COUNT] = {
	{ "step", offsetof(struct plx_facts, step) },
	{ "epoch", offsetof(struct plx_facts, epoch) },
	{ "position", offsetof(struct plx_facts, position) },
	{ "dataset", offsetof(struct plx_facts, dataset) },
	{ "generation", offsetof(struct plx_facts, generation) },
	{ "ranks", offsetof(struct plx_facts, ranks) },
	{ "flushed", offsetof(struct plx_facts, flushed) },
	{ "unflushed_ms", offsetof(struct plx_facts, unflushed_ms) },
	{ "cost_us", offsetof(struct plx_facts, cost_us) },
};

const uint64_t *plx_fact_at(const struct plx_facts *facts, int fact)
{
	const char *base = (const char *) facts;

	return (const void *) (base + plx_fact_names[fact].offset);
}

/* ---- single values; absent or of another kind: -1 ---- */

static int get_number(const json_t *object, const char *key, uint64_t *out,
		      struct plx_error *err)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return plx_fail(err, "its manifest has no number \"%s\"", key);
	*out = (uint64_t) json_integer_value(value);
	return 0;
}

static int get_text(const json_t *object, const char *key, const char **out,
		    struct plx_error *err)
{
	*out = json_string_value(json_object_get(object, key));
	return *out ? 0 : plx_fail(err, "its manifest has no \"%s\"", key);
}

static int get_crc(const json_t *object, uint32_t *out, struct plx_error *err)
{
	const char *text;
	char *end;

	if (get_text(object, "crc", &text, err) < 0)
		return -1;
	*out = (uint32_t) strtoul(text, &end, 16);
	if (strlen(text) != 8 || *end)
		return plx_fail(err, "its manifest has a wrong checksum");
	return 0;
}

static size_t array_size(const json_t *object, const char *key)
{
	return json_array_size(json_object_get(object, key));
}

/* ---- its parts ---- */

static int read_facts(struct plx_facts *facts, const json_t *meta,
		      struct plx_error *err)
{
	const char *text;
	char *end;

	if (get_text(meta, "format", &text, err) < 0)
		return -1;
	if (strcmp(text, PLX_MANIFEST_FORMAT) != 0)
		return plx_fail(err, "its format is \"%.40s\", not %s", text,
				PLX_MANIFEST_FORMAT);
	for (int i = 0; i < PLX_FACT_COUNT; i++) {
		uint64_t value;

		if (get_number(meta, plx_fact_names[i].key, &value, err) < 0)
			return -1;
		memcpy((char *) facts + plx_fact_names[i].offset, &value,
		       sizeof(value));
	}
	if (get_text(meta, "seed", &text, err) < 0)
		return -1;
	facts->seed = strtoull(text, &end, 10);
	if (!*text || *end)
		return plx_fail(err, "its seed is no number");
	facts->rescue = json_is_true(json_object_get(meta, "rescue"));
	return get_crc(meta, &facts->crc, err);
}

static int read_files(struct plx_manifest *m, const json_t *meta,
		      struct plx_error *err)
{
	size_t count = array_size(meta, "shards");

	if (count < 1 || count > COUNT_MAX)
		return plx_fail(err, "its manifest has %zu files", count);
	m->files = calloc(count, sizeof(*m->files));
	if (!m->files)
		return plx_fail(err, "out of memory");
	m->parts.shards = (int) count;
	for (size_t i = 0; i < count; i++) {
		const json_t *file =
			json_array_get(json_object_get(meta, "shards"), i);

		if (get_number(file, "bytes", &m->files[i].bytes, err) < 0 ||
		    get_crc(file, &m->files[i].crc, err) < 0)
			return -1;
	}
	return 0;
}

/* dtype's digits are the bits of one number. */
static size_t number_bytes(const char *dtype)
{
	int bits = atoi(dtype + strcspn(dtype, "0123456789"));

	return bits == 8 || bits == 16 || bits == 32 || bits == 64
		       ? (size_t) bits / 8
		       : 0;
}

static int read_tensor(struct plx_tensor *t, const json_t *object,
		       struct plx_error *err)
{
	const json_t *shape = json_object_get(object, "shape");
	const char *name;

	if (get_text(object, "name", &name, err) < 0 ||
	    get_text(object, "dtype", &t->dtype, err) < 0)
		return -1;
	t->bytes = number_bytes(t->dtype);
	if (strlen(name) >= sizeof(t->name) || !t->bytes ||
	    !json_is_array(shape) || json_array_size(shape) > PLX_DIMS_MAX)
		return plx_fail(err, "tensor \"%.60s\" is not as we write it",
				name);
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->dims = (int) json_array_size(shape);
	for (int i = 0; i < t->dims; i++) {
		json_int_t size =
			json_integer_value(json_array_get(shape, (size_t) i));

		t->shape[i] = (uint64_t) size;
		/* So that neither a sum nor a byte more overflows. */
		if (size < 0 ||
		    __builtin_mul_overflow(t->bytes, t->shape[i], &t->bytes) ||
		    t->bytes > INT64_MAX / 2)
			return plx_fail(err, "tensor \"%s\" is too large",
					t->name);
	}
	return 0;
}

static int read_piece(struct plx_manifest *m, struct plx_piece *piece,
		      const json_t *object, struct plx_error *err)
{
	const struct plx_tensor *t = &m->tensors[piece->tensor];
	uint64_t rows = t->dims > 0 ? t->shape[0] : 1;
	uint64_t row_bytes = rows ? t->bytes / rows : 0;
	uint64_t shard;

	if (get_number(object, "shard", &shard, err) < 0 ||
	    get_number(object, "at", &piece->at, err) < 0 ||
	    get_number(object, "row", &piece->first_row, err) < 0 ||
	    get_number(object, "rows", &piece->rows, err) < 0)
		return -1;
	if (shard < 1 || shard > (uint64_t) m->parts.shards ||
	    piece->first_row > rows || piece->rows > rows - piece->first_row)
		return plx_fail(err, "tensor \"%s\" is not where it can be",
				t->name);
	piece->shard = (int) shard - 1;
	piece->whole = piece->rows == rows;
	piece->offset = piece->first_row * row_bytes;
	piece->bytes = piece->rows * row_bytes;
	piece->align = (int) number_bytes(t->dtype);
	if (piece->at > m->files[piece->shard].bytes ||
	    piece->bytes > m->files[piece->shard].bytes - piece->at)
		return plx_fail(err, "tensor \"%s\" is outside its file",
				t->name);
	return 0;
}

/* Each tensor's pieces follow one another and are all of it. */
static int read_pieces(struct plx_manifest *m, const json_t *object, int tensor,
		       struct plx_error *err)
{
	const json_t *pieces = json_object_get(object, "pieces");
	uint64_t next = 0;

	for (size_t i = 0; i < json_array_size(pieces); i++) {
		struct plx_piece *piece = &m->parts.pieces[m->parts.count];

		piece->tensor = tensor;
		if (read_piece(m, piece, json_array_get(pieces, i), err) < 0)
			return -1;
		if (piece->offset != next)
			break;
		next += piece->bytes;
		m->parts.count++;
	}
	if (next != m->tensors[tensor].bytes)
		return plx_fail(err, "tensor \"%s\" is not all there",
				m->tensors[tensor].name);
	return 0;
}

static int read_tensors(struct plx_manifest *m, const json_t *meta,
			struct plx_error *err)
{
	const json_t *all = json_object_get(meta, "tensors");
	size_t count = json_array_size(all);
	size_t pieces = 0;

	for (size_t i = 0; i < count; i++)
		pieces += array_size(json_array_get(all, i), "pieces");
	if (count > COUNT_MAX || pieces > COUNT_MAX)
		return plx_fail(err, "its manifest has %zu tensors", count);
	m->tensors = calloc(count + 1, sizeof(*m->tensors));
	m->parts.pieces = calloc(pieces + 1, sizeof(*m->parts.pieces));
	if (!m->tensors || !m->parts.pieces)
		return plx_fail(err, "out of memory");
	m->count = (int) count;
	for (int i = 0; i < m->count; i++) {
		const json_t *object = json_array_get(all, (size_t) i);

		if (read_tensor(&m->tensors[i], object, err) < 0 ||
		    read_pieces(m, object, i, err) < 0)
			return -1;
		if (json_is_true(json_object_get(object, "array")))
			m->shared = i + 1;
	}
	if (plx_partition_measure(&m->parts, m->tensors, m->shared) < 0)
		return plx_fail(err, "out of memory");
	return 0;
}

static int check_seal(const char *text, size_t size, struct plx_error *err)
{
	char tail[PLX_SEAL_TAIL + 1];

	if (size <= PLX_SEAL_TAIL)
		return plx_fail(err, "its manifest has only %zu bytes", size);
	size -= PLX_SEAL_TAIL;
	snprintf(tail, sizeof(tail), PLX_SEAL_FORMAT,
		 plx_crc32c(0, text, size));
	if (memcmp(text + size, tail, PLX_SEAL_TAIL) != 0)
		return plx_fail(err, "its manifest is cut or changed");
	return 0;
}

struct plx_manifest *plx_manifest_parse(const char *text, size_t size,
					struct plx_error *err)
{
	struct plx_manifest *m = NULL;
	const json_t *meta;

	if (check_seal(text, size, err) < 0)
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	m->json = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	meta = json_object_get(m->json, "metadata");
	if (!json_is_object(meta)) {
		plx_fail(err, "its manifest is no JSON of ours");
		goto fail;
	}
	if (read_facts(&m->facts, meta, err) == 0 &&
	    read_files(m, meta, err) == 0 && read_tensors(m, meta, err) == 0)
		return m;
fail:
	plx_manifest_destroy(m);
	return NULL;
}

void plx_manifest_destroy(struct plx_manifest *manifest)
{
	if (!manifest)
		return;
	json_decref(manifest->json);
	plx_partition_release(&manifest->parts);
	free(manifest->tensors);
	free(manifest->files);
	free(manifest);
}
