/* SPDX-License-Identifier: GPL-2.0-or-later */
/* column_table.c - what may be asked of jobs and of groups (columns.h) */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/columns.h"
#include "report/group.h"
#include "report/history.h"
#include "report/text.h"

/*
 * "4@n1 2s;8@n[1-2] 6s": GPUs, nodes and seconds of each shape; "..." in place
 * of those that do not fit. Room for the dots is always left.
 */
static void write_shapes(const void *item, char *text, size_t size)
{
	const struct plx_record *r = item;
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < r->span_count; i++) {
		const struct plx_history_span *span = &r->spans[i];
		char duration[24];
		char nodes[128];
		char shape[192];
		size_t length;

		plx_text_duration(span->end_s - span->start_s, duration,
				  sizeof(duration));
		plx_text_clean(span->nodes, nodes, sizeof(nodes));
		length = (size_t) snprintf(shape, sizeof(shape), "%s%d@%s %s",
					   i ? ";" : "", span->gpus, nodes,
					   duration);
		if (used + length + 4 > size) {
			snprintf(text + used, size - used, "...");
			return;
		}
		memcpy(text + used, shape, length + 1);
		used += length;
	}
}

static void write_finish(const void *item, char *text, size_t size)
{
	const struct plx_record *r = item;

	plx_text_duration(r->end_s - r->submit_s, text, size);
}

/* "1m40s to 2m10s", and '?' where the model was asked too far. */
static void write_range(const void *item, char *text, size_t size)
{
	const struct plx_efficiency *y =
		&((const struct plx_record *) item)->yield;
	char low[24];
	char high[24];

	text[0] = '\0';
	if (!isfinite(y->fixed_low_s) || !isfinite(y->fixed_high_s) ||
	    y->fixed_high_s > 1e12)
		return;
	snprintf(text, size, "%s-%s%s",
		 plx_text_duration(llround(y->fixed_low_s), low, sizeof(low)),
		 plx_text_duration(llround(y->fixed_high_s), high,
				   sizeof(high)),
		 y->beyond ? "?" : "");
}

static void write_fixed_gpus(const void *item, char *text, size_t size)
{
	const struct plx_efficiency *y =
		&((const struct plx_record *) item)->yield;

	text[0] = '\0';
	if (isfinite(y->fixed_s))
		snprintf(text, size, "%d", y->fixed_gpus);
}

static void write_elastic(const void *item, char *text, size_t size)
{
	snprintf(text, size, "%s",
		 ((const struct plx_record *) item)->elastic ? "yes" : "no");
}

static void write_key(const void *item, char *text, size_t size)
{
	plx_text_clean(((const struct plx_group *) item)->key, text, size);
}

#define JOB(kind, member)   PLX_FIELD_##kind, offsetof(struct plx_record, member)
#define GROUP(kind, member) PLX_FIELD_##kind, offsetof(struct plx_group, member)

const struct plx_field plx_fields_job[] = {
	/* clang-format off */
	{ "JobID", 8, JOB(TEXT, id), 0, "of an array's task: 3_1", NULL },
	{ "JobName", -16, JOB(TEXT, name), 0, "as its user gave it", NULL },
	{ "State", -10, JOB(TEXT, state), 0, "as sacct tells it", NULL },
	{ "User", -10, JOB(TEXT, user), 0, "whose job it is", NULL },
	{ "Account", -10, JOB(TEXT, account), 0, "that it is charged to", NULL },
	{ "Partition", -10, JOB(TEXT, partition), 0, "of its last shape", NULL },
	{ "Elastic", 7, PLX_FIELD_OWN, 0, 0, "yes: it had a launcher",
	  write_elastic },
	{ "Submit", 19, JOB(TIME, submit_s), 0, "time of submission", NULL },
	{ "End", 19, JOB(TIME, end_s), 0, "its end, or now", NULL },
	{ "Queued", 7, JOB(SECONDS, queued_s), 0, "until it first started",
	  NULL },
	{ "Ran", 7, JOB(SECONDS, ran_s), 0, "time it held nodes", NULL },
	{ "Finish", 7, PLX_FIELD_OWN, 0, 0, "from submission to the end",
	  write_finish },
	{ "GPUHours", 9, JOB(HOURS, gpu_seconds), 2, "GPUs times hours", NULL },
	{ "GPUSeconds", 10, JOB(LONG, gpu_seconds), 0, "the same in seconds",
	  NULL },
	{ "TwiceGPUSeconds", 15, JOB(LONG, twice_gpu_seconds), 0, "of them, "
	  "held twice by handovers", NULL },
	{ "Resizes", 7, JOB(COUNT, resizes), 0, "shapes left for another",
	  NULL },
	{ "Lost", 7, JOB(SPELL, yield.lost_s), 2, "training stood still for "
	  "them: their number times their median", NULL },
	{ "Goodput", 9, JOB(REAL, yield.goodput), 1, "mean, useful samples a "
	  "second", NULL },
	{ "Efficiency", 10, JOB(REAL, yield.efficiency), 3, "mean statistical "
	  "efficiency, 0 to 1", NULL },
	{ "FixedGPUs", 9, PLX_FIELD_OWN, 0, 0, "GPUs of the fixed "
	  "allocation compared with", write_fixed_gpus },
	{ "FixedTime", 9, JOB(SPELL, yield.fixed_s), 2, "time on them, by the "
	  "job's own model", NULL },
	{ "FixedRange", -14, PLX_FIELD_OWN, 0, 0, "how uncertain that is; ?: "
	  "many more GPUs than it measured", write_range },
	{ "Rho", 6, JOB(REAL, yield.rho), 2, "finish-time fairness; above 1: "
	  "it lost by sharing", NULL },
	{ "Shapes", -40, PLX_FIELD_OWN, 0, 0, "GPUs@nodes and time of each",
	  write_shapes },
	{ NULL, 0, PLX_FIELD_OWN, 0, 0, NULL, NULL },
	/* clang-format on */
};

const struct plx_field plx_fields_group[] = {
	/* clang-format off */
	{ "Group", -16, PLX_FIELD_OWN, 0, 0, "the user, day...",
	  write_key },
	{ "Jobs", 6, GROUP(COUNT, jobs), 0, "of a period: submitted in it",
	  NULL },
	{ "Elastic", 7, GROUP(COUNT, elastic), 0, "had a launcher", NULL },
	{ "Completed", 9, GROUP(COUNT, completed), 0, "ended well", NULL },
	{ "GPUHours", 10, GROUP(HOURS, gpu_seconds), 2, "of a period: held in "
	  "it", NULL },
	{ "Queued", 7, GROUP(SPELL, queued_s), 2, "mean", NULL },
	{ "Finish", 7, GROUP(SPELL, finish_s), 2, "mean time from submission "
	  "to the end", NULL },
	{ "Resizes", 7, GROUP(COUNT, resizes), 0, "shapes left for another", NULL },
	{ "Lost", 7, GROUP(SPELL, lost_s), 2, "sum: training stood still",
	  NULL },
	{ "Goodput", 9, GROUP(REAL, goodput), 1, "mean by time", NULL },
	{ "Efficiency", 10, GROUP(REAL, efficiency), 3, "mean by GPU time",
	  NULL },
	{ "VsFixed", 7, GROUP(REAL, fixed), 2, "time run over that on fixed "
	  "allocations; below 1: faster", NULL },
	{ "Rho", 6, GROUP(REAL, rho), 2, "mean finish-time fairness", NULL },
	{ "WorstRho", 8, GROUP(REAL, rho_worst), 2, "the largest", NULL },
	{ NULL, 0, PLX_FIELD_OWN, 0, 0, NULL, NULL },
	/* clang-format on */
};
