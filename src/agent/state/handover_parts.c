/* SPDX-License-Identifier: MIT */
/* handover_parts.c - what goes from one generation to the next */
#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/callback.h"
#include "agent/state/handover.h"
#include "agent/state/handover_parts.h"
#include "core/base/crc.h"
#include "wire/env.h"
#include "wire/now.h"

#define OWN_NAME "pollux.handed"

static uint32_t kind_of_tensor(const struct plx_tensor *t)
{
	uint32_t crc = plx_crc32c(0, t->name, strlen(t->name) + 1);

	crc = plx_crc32c(crc, t->dtype, strlen(t->dtype) + 1);
	return plx_crc32c(crc, t->shape,
			  (size_t) t->dims * sizeof(t->shape[0]));
}

static void fill_list(struct pollux *p, struct plx_handover *h)
{
	struct plx_image_part *part = h->list;

	for (int i = 0; i < p->registered.tensor_count; i++) {
		const struct plx_tensor *t = &p->registered.tensors[i];

		*part++ = (struct plx_image_part){
			.data = t->data,
			.bytes = t->bytes,
			.memory = t->memory,
			.kind = kind_of_tensor(t),
			.name = t->name,
		};
	}
	for (int i = 0; i < p->registered.blob_count; i++) {
		const struct plx_blob *blob = &p->registered.blobs[i];

		*part++ = (struct plx_image_part){
			.kind = plx_crc32c(0, blob->name, strlen(blob->name)),
			.name = blob->name,
			.blob = &blob->is,
		};
	}
	/* Its size tells apart versions of this library. */
	*part = (struct plx_image_part){
		.data = &h->handed,
		.bytes = sizeof(h->handed),
		.kind = plx_crc32c(0, OWN_NAME, strlen(OWN_NAME)),
		.name = OWN_NAME,
	};
}

static void who_we_are(struct plx_memory_image_facts *facts)
{
	const char *job = getenv(PLX_ENV_JOB);
	const char *generation = getenv(PLX_ENV_GENERATION);

	memset(facts, 0, sizeof(*facts));
	snprintf(facts->job, sizeof(facts->job), "%s", job ? job : "");
	facts->generation = generation ? strtoull(generation, NULL, 10) : 0;
}

/* Number the ranks that share our memory: those of the same host. */
static int find_slice(struct pollux *p, struct plx_slice *slice)
{
	const char *name = plx_nodemem_here();
	uint32_t mine = plx_crc32c(0, name, strlen(name));
	size_t ranks = (size_t) p->coll->ranks;
	uint32_t *all = calloc(ranks, sizeof(*all));
	int rc = -1;

	if (!all)
		return plx_fail(&p->err, "out of memory");
	if (p->coll->ops->gather(p->coll, &mine, sizeof(mine),
				 p->coll->rank == 0 ? all : NULL,
				 &p->err) < 0 ||
	    p->coll->ops->spread(p->coll, all, ranks * sizeof(*all), &p->err) <
		    0)
		goto done;
	for (size_t i = 0; i < ranks; i++) {
		slice->mine += all[i] == mine && (int) i < p->coll->rank;
		slice->of += all[i] == mine;
	}
	rc = 0;
done:
	free(all);
	return rc;
}

struct plx_handover *plx_handover_get(struct pollux *p)
{
	int state = p->registered.tensor_count + p->registered.blob_count;
	struct plx_handover *h = p->handover;

	if (h)
		return h;
	h = calloc(1, sizeof(*h));
	if (h)
		h->list = calloc((size_t) state + 1, sizeof(*h->list));
	if (!h || !h->list) {
		plx_fail(&p->err, "out of memory");
		free(h);
		return NULL;
	}
	h->parts = (struct plx_parts){
		.list = h->list,
		.count = state + 1,
		.arrays = p->registered.tensor_count,
	};
	who_we_are(&h->facts);
	fill_list(p, h);
	p->handover = h;
	if (find_slice(p, &h->slice) == 0)
		return h;
	plx_handover_release(p);
	return NULL;
}

void plx_handover_pack(struct pollux *p)
{
	struct plx_handover *h = p->handover;

	for (int i = 0; i < h->parts.count; i++) {
		struct plx_image_part *part = &h->list[i];

		if (part->blob)
			part->bytes = plx_call_size(part->blob);
	}
	h->facts.step = p->cursor.step;
	h->handed.cursor = p->cursor;
	h->handed.flushed = p->flushed;
	h->handed.unflushed_s = plx_now_s() - p->meter.flushed_s;
	h->handed.profile = p->profile;
}

int plx_handover_unpack(struct pollux *p)
{
	const struct plx_handed *handed = &p->handover->handed;
	const struct plx_cursor *c = &handed->cursor;

	if (c->samples != p->cursor.samples || c->seed != p->cursor.seed ||
	    c->position >= c->samples)
		return plx_fail(&p->err, "state in memory is of a training "
					 "on other data");
	if (!isfinite(handed->unflushed_s) || handed->unflushed_s < 0)
		return plx_fail(&p->err, "state in memory has a wrong time");
	p->cursor.epoch = c->epoch;
	p->cursor.position = c->position;
	p->cursor.step = c->step;
	p->flushed = handed->flushed;
	p->meter.flushed_s = plx_now_s() - handed->unflushed_s;
	p->profile = handed->profile;
	if (!plx_profile_valid(&p->profile))
		plx_profile_init(&p->profile);
	return 0;
}

void plx_handover_release(struct pollux *p)
{
	struct plx_handover *h = p->handover;

	if (!h)
		return;
	plx_fetch_destroy(h->fetch);
	plx_nodemem_destroy(h->mem);
	free(h->list);
	free(h);
	p->handover = NULL;
}
