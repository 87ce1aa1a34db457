/* SPDX-License-Identifier: MIT */
/* fuzz_manifest.c - a checkpoint's manifest, which anybody may have written */

#include "agent/disk/manifest_names.h"
#include "core/base/crc.h"
#include "fuzz.h"

/* Where all is: no reader goes out of a file or a tensor. */
static void is_sound(const struct plx_manifest *m)
{
	MUST(m->parts.shards >= 1 && m->shared <= m->count);
	for (int i = 0; i < m->count; i++) {
		MUST(memchr(m->tensors[i].name, '\0', PLX_NAME_SIZE));
		MUST(m->tensors[i].dims <= PLX_DIMS_MAX);
	}
	for (int i = 0; i < m->parts.count; i++) {
		const struct plx_piece *piece = &m->parts.pieces[i];
		const struct plx_tensor *t = &m->tensors[piece->tensor];
		uint64_t bytes;

		MUST(piece->tensor >= 0 && piece->tensor < m->count);
		MUST(piece->shard >= 0 && piece->shard < m->parts.shards);
		bytes = m->files[piece->shard].bytes;
		MUST(piece->at <= bytes && piece->bytes <= bytes - piece->at);
		MUST(piece->offset <= t->bytes);
		MUST(piece->bytes <= t->bytes - piece->offset);
	}
}

/* Written and read again, it is the same. */
static void returns(const struct plx_manifest *m)
{
	struct plx_error err;
	char *first = plx_manifest_text(m, &err);
	struct plx_manifest *again;
	char *second;

	MUST(first);
	again = plx_manifest_parse(first, strlen(first), &err);
	if (again) {
		second = plx_manifest_text(again, &err);
		MUST(second && !strcmp(first, second));
		free(second);
	}
	plx_manifest_destroy(again);
	free(first);
}

static void read_text(const char *text, size_t size)
{
	struct plx_error err;
	struct plx_manifest *m = plx_manifest_parse(text, size, &err);

	if (!m) {
		fuzz_is_a_line(err.text, sizeof(err.text));
		return;
	}
	is_sound(m);
	returns(m);
	plx_manifest_destroy(m);
}

/* As it is, and with a seal that fits what stands before it. */
int fuzz_manifest(const uint8_t *data, size_t size)
{
	char *sealed = malloc(size + PLX_SEAL_TAIL + 1);

	MUST(sealed);
	read_text((const char *) data, size);
	memcpy(sealed, data, size);
	snprintf(sealed + size, PLX_SEAL_TAIL + 1, PLX_SEAL_FORMAT,
		 plx_crc32c(0, data, size));
	read_text(sealed, size + PLX_SEAL_TAIL);
	free(sealed);
	return 0;
}
