/* SPDX-License-Identifier: MIT */
/*
 * restore_old.c - checkpoints as they were before 0.2: one file, "pollux-1"
 *
 * Read, so that nobody's training is lost; written no more.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/disk/checkpoint_file.h"
#include "agent/state/restore_old.h"
#include "agent/state/restore_read.h"
#include "agent/state/store.h"

#define FORMAT "pollux-1"

static int read_number(const struct plx_checkpoint *c, const char *key,
		       int base, uint64_t *out, struct plx_error *err)
{
	const char *text = plx_checkpoint_note(c, key);
	char *end = NULL;

	errno = 0;
	if (text && *text)
		*out = strtoull(text, &end, base);
	if (!end || *end || errno)
		return plx_fail(err, "its note \"%s\" is no number", key);
	return 0;
}

static int read_facts(const struct plx_checkpoint *c, struct plx_facts *facts,
		      struct plx_error *err)
{
	const struct {
		const char *key;
		uint64_t *to;
	} numbers[] = {
		{ "epoch", &facts->epoch },
		{ "position", &facts->position },
		{ "step", &facts->step },
		{ "dataset", &facts->dataset },
		{ "seed", &facts->seed },
		{ "flushed", &facts->flushed },
		{ "unflushed_ms", &facts->unflushed_ms },
	};
	const char *format = plx_checkpoint_note(c, "format");
	uint64_t crc;

	if (!format || strcmp(format, FORMAT) != 0)
		return plx_fail(err, "its format is not " FORMAT);
	*facts = (struct plx_facts){ .step = 0 };
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (read_number(c, numbers[i].key, 10, numbers[i].to, err) < 0)
			return -1;
	}
	if (read_number(c, "crc", 16, &crc, err) < 0)
		return -1;
	facts->crc = (uint32_t) crc;
	return 0;
}

static int take(struct pollux *p, const struct plx_checkpoint *c,
		struct plx_facts *facts, struct plx_error *err)
{
	struct plx_profile profile;
	struct plx_tensor agent = {
		.name = PLX_AGENT_NAME,
		.dtype = "U8",
		.dims = 1,
		.shape = { PLX_PROFILE_3_SIZE },
		.data = &profile,
		.bytes = PLX_PROFILE_3_SIZE,
	};

	if (read_facts(c, facts, err) < 0 || plx_store_fits(p, facts, err) < 0)
		return -1;
	if (p->registered.blob_count)
		return plx_fail(err, "it is from before there were blobs");
	for (int i = 0; i < p->registered.tensor_count; i++) {
		if (plx_checkpoint_has(c, &p->registered.tensors[i], err) < 0)
			return -1;
	}
	for (int i = 0; i < p->registered.tensor_count; i++) {
		if (plx_checkpoint_fill(c, &p->registered.tensors[i], err) < 0)
			return -1;
	}
	if (plx_checkpoint_fill(c, &agent, NULL) == 0)
		plx_profile_take(&p->profile, &profile, PLX_PROFILE_3_SIZE);
	else
		plx_profile_init(&p->profile);
	if (plx_registered_crc(&p->registered) != facts->crc)
		return plx_fail(err, "restored state has another crc than "
				     "was saved");
	return 0;
}

enum plx_read plx_restore_old(struct pollux *p, const char *name,
			      struct plx_facts *facts, struct plx_error *err)
{
	struct plx_checkpoint *c = plx_checkpoint_read(p->folder, name, err);
	int rc;

	if (!c)
		return PLX_READ_BROKEN;
	rc = take(p, c, facts, err);
	plx_checkpoint_destroy(c);
	return rc < 0 ? PLX_READ_FOREIGN : PLX_READ_GOOD;
}
