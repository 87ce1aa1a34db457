/* SPDX-License-Identifier: MIT */
/* fuzz_restore.c - state out of a checkpoint: its manifest and one file */

#include "agent/disk/checkpoint.h"
#include "agent/disk/manifest_names.h"
#include "agent/state/restore_read.h"
#include "agent/state/store.h"
#include "core/base/crc.h"
#include "fuzz.h"
#include "scratch.h"

#define STEP "step-000000000001"

static int load_blob(void *user, const void *data, size_t bytes)
{
	const unsigned char *at = data;

	for (size_t i = 0; i < bytes; i++)
		*(size_t *) user += at[i];
	return 0;
}

/* restore.c's; every checkpoint is of this training. */
int plx_store_fits(const struct pollux *p, const struct plx_facts *facts,
		   struct plx_error *err)
{
	(void) p;
	(void) facts;
	(void) err;
	return 0;
}

/* Its bytes are there to be read. */
static int take_part(void *user, const struct pollux_domain_part *part)
{
	const unsigned char *bytes = part->data;
	size_t *sum = user;

	MUST(part->part >= 0 && part->part < part->parts);
	for (size_t i = 0; i < part->bytes; i++)
		*sum += bytes[i];
	return 0;
}

static int no_part(void *user, const void **data, size_t *bytes)
{
	(void) user;
	(void) data;
	(void) bytes;
	return -1;
}

static bool has_domain(const struct plx_manifest *m)
{
	return m->count > m->shared &&
	       !strncmp(m->tensors[m->count - 1].name, PLX_DOMAIN_NAME,
			strlen(PLX_DOMAIN_NAME));
}

static void restore(struct plx_manifest *m, struct scratch_input file,
		    bool arrays)
{
	float numbers[6];
	size_t sum = 0;
	struct plx_tensor w = { .name = "w",
				.dtype = "F32",
				.dims = 2,
				.shape = { 3, 2 },
				.data = numbers,
				.bytes = sizeof(numbers) };
	struct plx_blob b = { .name = "b",
			      .is = { .load = load_blob, .user = &sum } };
	struct pollux p = { .registered = { .tensors = &w,
					    .tensor_count = arrays,
					    .blobs = &b,
					    .blob_count = !arrays } };
	const struct pollux_domain domain = { .part = no_part,
					      .redistribute = take_part,
					      .user = &sum };
	char name[PLX_SHARD_NAME];
	char path[PLX_SHARD_NAME + sizeof(STEP)];
	struct plx_error err;

	snprintf(p.folder, sizeof(p.folder), "%s", scratch_folder());
	scratch_make(STEP);
	plx_shard_name(name, 0, m->parts.shards);
	snprintf(path, sizeof(path), STEP "/%s", name);
	scratch_put(path, file);
	/* As if its checksums were right. */
	m->files[0].crc = plx_crc32c(0, file.data, file.size);
	p.coll = plx_coll_self_create(&err);
	MUST(p.coll);
	if (has_domain(m)) {
		p.registered.domain = domain;
		p.registered.blob_count = 0;
	}
	if (p.registered.tensor_count + p.registered.blob_count)
		MUST(plx_names_add(&p.registered, 0,
				   !p.registered.tensor_count) == 0);
	if (plx_restore_read(&p, m, STEP, &err) != PLX_READ_GOOD)
		fuzz_is_a_line(err.text, sizeof(err.text));
	p.coll->ops->destroy(p.coll);
	plx_names_release(&p.registered.names);
	scratch_put(path, (struct scratch_input){ NULL, 0 });
}

int fuzz_restore(const uint8_t *data, size_t size)
{
	struct scratch_input input = { data, size };
	struct scratch_input text = scratch_part(&input);
	char *sealed = malloc(text.size + PLX_SEAL_TAIL + 1);
	struct plx_manifest *m;
	struct plx_error err;

	MUST(sealed);
	memcpy(sealed, text.data, text.size);
	snprintf(sealed + text.size, PLX_SEAL_TAIL + 1, PLX_SEAL_FORMAT,
		 plx_crc32c(0, text.data, text.size));
	m = plx_manifest_parse(sealed, text.size + PLX_SEAL_TAIL, &err);
	if (m)
		restore(m, input, m->shared > 0);
	plx_manifest_destroy(m);
	free(sealed);
	return 0;
}
