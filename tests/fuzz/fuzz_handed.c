/* SPDX-License-Identifier: MIT */
/* fuzz_handed.c - what one generation hands to the next, and the profile */

#include <math.h>

#include "agent/state/handover_parts.h"
#include "wire/now.h"
#include "fuzz.h"

#define plx_now_s	    handed_now_s
#define plx_nodemem_here    handed_here
#define plx_nodemem_destroy handed_destroy
#define plx_fetch_destroy   handed_fetch_destroy

double handed_now_s(void);
const char *handed_here(void);
void handed_destroy(struct plx_nodemem *mem);
void handed_fetch_destroy(struct plx_fetch *fetch);

#include "agent/state/handover_parts.c"

double handed_now_s(void)
{
	return 1000;
}

const char *handed_here(void)
{
	return "n1";
}

void handed_destroy(struct plx_nodemem *mem)
{
	MUST(!mem);
}

void handed_fetch_destroy(struct plx_fetch *fetch)
{
	MUST(!fetch);
}

/* What a training does with a profile that it was given. */
static void use(struct plx_profile *profile)
{
	static const struct plx_limits limits = { 32, 4096, 4, 64, true };
	static const struct plx_shape shape = { 2, 4, 1 };
	const struct plx_batch none = { 0 };
	struct plx_goodput job;
	struct plx_batch batch;
	struct plx_error err;
	struct plx_profile_row *row;

	(void) plx_profile_stale(profile);
	(void) plx_profile_largest(profile);
	if (plx_profile_goodput(profile, &limits, &job))
		MUST(plx_goodput_valid(&job));
	batch = plx_profile_advise(profile, &limits, shape, none,
				   PLX_CHANGE_GAIN);
	MUST(batch.per_gpu >= 1 && batch.accum >= 0);
	MUST(plx_batch_total(&limits, shape.gpus, batch) <= 4096);
	row = plx_profile_row(profile, shape, 16, 9);
	plx_row_add_pass(row, 0.1);
	plx_row_add_step(row, 0.2);
	(void) plx_profile_fit(profile, PLX_BY_DOUBLING, &err);
	MUST(plx_profile_valid(profile));
}

int fuzz_handed(const uint8_t *data, size_t size)
{
	struct plx_handover h = { .fetch = NULL };
	struct pollux p = { .handover = &h };

	p.cursor.samples = 1000;
	p.cursor.epochs = 3;
	h.handed.cursor = p.cursor;
	plx_profile_init(&h.handed.profile);
	memcpy(&h.handed, data,
	       size < sizeof(h.handed) ? size : sizeof(h.handed));
	/* Else hardly any would be looked at. */
	h.handed.cursor.samples = 1000;
	h.handed.cursor.seed = 0;
	h.handed.profile.version = PLX_PROFILE_VERSION;
	h.handed.profile.size = sizeof(h.handed.profile);
	if (plx_handover_unpack(&p) < 0) {
		fuzz_is_a_line(p.err.text, sizeof(p.err.text));
		return 0;
	}
	MUST(p.cursor.position < p.cursor.samples);
	MUST(isfinite(p.meter.flushed_s));
	use(&p.profile);
	return 0;
}
