/* SPDX-License-Identifier: MIT */
/* shard.c - one file of a checkpoint, in the safetensors layout */
#include <config.h>

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/disk/shard.h"

#define METADATA    "__metadata__"
#define LENGTH_SIZE 8 /* of the header's length, which is little-endian */

void plx_shard_name(char name[PLX_SHARD_NAME], int shard, int shards)
{
	snprintf(name, PLX_SHARD_NAME, "model-%05d-of-%05d.safetensors",
		 shard + 1, shards);
}

void plx_piece_name(char name[PLX_PIECE_NAME], const struct plx_piece *piece,
		    const struct plx_tensor *tensor)
{
	if (piece->whole)
		snprintf(name, PLX_PIECE_NAME, "%s", tensor->name);
	else
		snprintf(name, PLX_PIECE_NAME, "%s[%" PRIu64 ":%" PRIu64 "]",
			 tensor->name, piece->first_row,
			 piece->first_row + piece->rows);
}

static json_t *entry(const struct plx_tensor *t, const struct plx_piece *piece,
		     uint64_t begin)
{
	json_t *sizes = json_array();

	for (int i = 0; i < t->dims; i++) {
		uint64_t size = i == 0 ? piece->rows : t->shape[i];

		json_array_append_new(sizes, json_integer((json_int_t) size));
	}
	return json_pack("{s:s, s:o, s:[I, I]}", "dtype", t->dtype, "shape",
			 sizes, "data_offsets", (json_int_t) begin,
			 (json_int_t) (begin + piece->bytes));
}

/* The header's text, the caller's to free; NULL with err set. */
static char *header_text(const struct plx_tensor *tensors,
			 const struct plx_piece *pieces, int count,
			 struct plx_error *err)
{
	json_t *root = json_object();
	char name[PLX_PIECE_NAME];
	char *text = NULL;
	uint64_t at = 0;

	/* Some readers of PyTorch's world insist on this word. */
	json_object_set_new(root, METADATA, json_pack("{s:s}", "format", "pt"));
	for (int i = 0; i < count; i++) {
		const struct plx_tensor *t = &tensors[pieces[i].tensor];

		plx_piece_name(name, &pieces[i], t);
		json_object_set_new(root, name, entry(t, &pieces[i], at));
		at += pieces[i].bytes;
	}
	if (json_object_size(root) == (size_t) count + 1)
		text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	if (!text)
		plx_fail(err, "cannot make a header: two tensors of one name, "
			      "a name that is not UTF-8, or no memory");
	return text;
}

static void put_le64(unsigned char out[LENGTH_SIZE], uint64_t value)
{
	for (int i = 0; i < LENGTH_SIZE; i++)
		out[i] = (unsigned char) (value >> (8 * i));
}

/* Blanks follow the text, so that tensors begin on a page's border. */
static size_t padded(size_t text)
{
	return (LENGTH_SIZE + text + PLX_PAGE - 1) / PLX_PAGE * PLX_PAGE;
}

int plx_shard_lay(struct plx_shard *out, const struct plx_tensor *tensors,
		  struct plx_piece *pieces, int count, struct plx_error *err)
{
	char *text = header_text(tensors, pieces, count, err);
	size_t size = text ? strlen(text) : 0;
	uint64_t at = padded(size);

	*out = (struct plx_shard){ 0 };
	if (!text)
		return -1;
	out->header = malloc(at);
	out->segments = calloc((size_t) count + 1, sizeof(*out->segments));
	if (!out->header || !out->segments) {
		free(text);
		return plx_fail(err, "cannot get memory for a header");
	}
	memset(out->header, ' ', at);
	put_le64(out->header, at - LENGTH_SIZE);
	memcpy(out->header + LENGTH_SIZE, text, size);
	free(text);
	out->segments[0] =
		(struct plx_segment){ .data = out->header, .bytes = at };
	for (int i = 0; i < count; i++) {
		const struct plx_tensor *t = &tensors[pieces[i].tensor];

		pieces[i].at = at;
		at += pieces[i].bytes;
		out->segments[i + 1] = (struct plx_segment){
			.data = (char *) t->data + pieces[i].offset,
			.bytes = pieces[i].bytes,
			.memory = t->memory,
		};
	}
	out->stream = (struct plx_stream){
		.segments = out->segments,
		.count = count + 1,
	};
	return 0;
}

void plx_shard_release(struct plx_shard *shard)
{
	free(shard->header);
	free(shard->segments);
	*shard = (struct plx_shard){ 0 };
}
