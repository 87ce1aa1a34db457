/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_efficiency.c - see job_efficiency.h */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/finish_time.h"
#include "core/records/status.h"
#include "report/job_efficiency.h"

enum { HINTS = 3 };

/* What the launcher said when a shape was left. */
static bool read_hint(const struct plx_history_span *span,
		      struct plx_hint *hint)
{
	struct plx_status status;

	if (!strstr(span->comment, "[pollux") ||
	    plx_status_read(span->comment, &status, NULL) != 1 ||
	    !status.has_hint)
		return false;
	*hint = status.hint;
	return true;
}

static struct plx_shape shape_of(const struct plx_history_span *span)
{
	int nodes = plx_nodes_count(span->nodes);

	if (nodes > span->gpus)
		nodes = span->gpus;
	return (struct plx_shape){ .nodes = nodes > 0 ? nodes : 1,
				   .gpus = span->gpus };
}

/* The model's goodput on a shape; 0: no batch is allowed there. */
static double modelled(const struct plx_hint *hint, struct plx_shape shape)
{
	double goodput = 0;

	if (!plx_batch_best(&hint->job, shape, NULL, &goodput))
		return 0;
	return goodput;
}

static void span_efficiency(const struct plx_history_span *span,
			    const struct plx_hint *hint, double *goodput,
			    double *efficiency)
{
	int batch = hint->now.per_gpu * (hint->now.accum + 1) * span->gpus;

	if (hint->goodput > 0 && hint->speed > 0) {
		*goodput = hint->goodput;
		*efficiency = fmin(hint->goodput / hint->speed, 1);
		return;
	}
	*goodput = modelled(hint, shape_of(span));
	*efficiency = plx_efficiency(&hint->job.noise,
				     hint->job.limits.base_batch, batch);
}

void plx_efficiency_span(const struct plx_history_span *span, double *goodput,
			 double *efficiency)
{
	struct plx_hint hint;

	*goodput = NAN;
	*efficiency = NAN;
	if (span->gpus > 0 && read_hint(span, &hint))
		span_efficiency(span, &hint, goodput, efficiency);
}

static double seconds(const struct plx_history_span *span)
{
	return (double) (span->end_s - span->start_s);
}

/* What the arithmetic needs of a job besides its record. */
struct work {
	struct plx_hint hints[HINTS]; /* the last one is last */
	int count;
	int kept;		      /* hints seen */
	struct plx_history_span last; /* shape of the last hint */
	double active_s;	      /* with GPUs */
	int most_per_node;
	int most_gpus;
};

static void measure_spans(const struct plx_record *r, struct work *work)
{
	for (size_t i = 0; i < r->span_count; i++) {
		const struct plx_history_span *span = &r->spans[i];
		struct plx_shape shape = shape_of(span);
		int per_node;

		if (span->gpus == 0)
			continue;
		per_node = (shape.gpus + shape.nodes - 1) / shape.nodes;
		work->active_s += seconds(span);
		if (per_node > work->most_per_node)
			work->most_per_node = per_node;
		if (shape.gpus > work->most_gpus)
			work->most_gpus = shape.gpus;
	}
}

/* Hints go to their places: first, middle, last; the last ends up last. */
static void keep_hint(struct work *work, const struct plx_hint *hint,
		      bool middle)
{
	/* [count] is the last one seen; it stays behind as first or middle. */
	if (work->kept == 0 || (middle && work->count < HINTS - 1))
		work->hints[work->count++] = *hint;
	work->kept++;
	work->hints[work->count] = *hint;
}

static void read_hints(struct plx_record *r, struct work *work)
{
	double goodput;
	double efficiency;
	double sums[3] = { 0, 0, 0 };

	for (size_t i = 0; i < r->span_count; i++) {
		const struct plx_history_span *span = &r->spans[i];
		struct plx_hint hint;

		if (span->gpus == 0 || !read_hint(span, &hint))
			continue;
		span_efficiency(span, &hint, &goodput, &efficiency);
		sums[0] += seconds(span);
		sums[1] += seconds(span) * goodput;
		sums[2] += seconds(span) * efficiency;
		keep_hint(work, &hint, i == r->span_count / 2);
		work->last = *span;
	}
	if (work->kept == 0)
		return;
	work->count++;
	r->yield.goodput = sums[1] / sums[0];
	r->yield.efficiency = sums[2] / sums[0];
}

/* Seconds that hint k gives the job's work on so many GPUs; NAN: none. */
static double on_fixed(const struct plx_record *r, const struct work *work,
		       int k, int gpus)
{
	const struct plx_hint *hint = &work->hints[k];
	int per_node = work->most_per_node;
	struct plx_shape fixed = { .nodes = (gpus + per_node - 1) / per_node,
				   .gpus = gpus };
	double goodput = modelled(hint, fixed);
	double done = 0;

	for (size_t i = 0; i < r->span_count; i++) {
		if (r->spans[i].gpus > 0)
			done += seconds(&r->spans[i]) *
				modelled(hint, shape_of(&r->spans[i]));
	}
	if (!(goodput > 0) || !(done > 0))
		return NAN;
	return fmax(1 - r->yield.lost_s / work->active_s, 0) * done / goodput;
}

static void judge_fixed(struct plx_record *r, const struct work *work, int gpus)
{
	const struct plx_hint *last = &work->hints[work->count - 1];
	struct plx_efficiency *y = &r->yield;
	double miss = 0;

	if (gpus == 0)
		gpus = (int) fmax(
			1, round((double) r->gpu_seconds / work->active_s));
	y->fixed_gpus = gpus;
	y->fixed_s = on_fixed(r, work, work->count - 1, gpus);
	y->fixed_low_s = y->fixed_s;
	y->fixed_high_s = y->fixed_s;
	for (int k = 0; k + 1 < work->count; k++) {
		y->fixed_low_s =
			fmin(y->fixed_low_s, on_fixed(r, work, k, gpus));
		y->fixed_high_s =
			fmax(y->fixed_high_s, on_fixed(r, work, k, gpus));
	}
	if (last->goodput > 0) {
		double said = modelled(last, shape_of(&work->last));

		if (said > 0)
			miss = fabs(last->goodput / said - 1);
	}
	y->fixed_low_s /= 1 + miss;
	y->fixed_high_s *= 1 + miss;
	y->beyond = gpus > 2 * last->profiled.gpus;
}

/* Everybody's times: how many jobs there were at any time. */
struct crowd {
	double *submits; /* sorted */
	double *ends;
	double *submit_sums; /* [i]: of the first i */
	double *end_sums;
	size_t count;
};

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

static bool uses_gpus(const struct plx_record *r)
{
	return r->gpu_seconds > 0 || r->elastic;
}

/* Job-seconds up to a time: each sorted time adds what has passed since. */
static double passed(const double *times, const double *sums, size_t count,
		     double until)
{
	size_t low = 0;
	size_t high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (times[middle] <= until)
			low = middle + 1;
		else
			high = middle;
	}
	return until * low - sums[low];
}

static double mean_jobs(const struct crowd *crowd, double from, double to)
{
	double jobs[2];
	const double at[2] = { from, to };

	for (int i = 0; i < 2; i++)
		jobs[i] = passed(crowd->submits, crowd->submit_sums,
				 crowd->count, at[i]) -
			  passed(crowd->ends, crowd->end_sums, crowd->count,
				 at[i]);
	return to > from ? fmax((jobs[1] - jobs[0]) / (to - from), 1) : 1;
}

static void crowd_release(struct crowd *crowd)
{
	free(crowd->submits);
	*crowd = (struct crowd){ .count = 0 };
}

static int crowd_make(const struct plx_history *history, struct crowd *crowd)
{
	size_t size = history->count + 1;
	double *memory = calloc(4 * size, sizeof(*memory));
	int64_t base = history->count ? history->records[0].submit_s : 0;

	if (!memory)
		return -1;
	*crowd = (struct crowd){ memory, memory + size, memory + 2 * size,
				 memory + 3 * size, 0 };
	for (size_t i = 0; i < history->count; i++) {
		const struct plx_record *r = &history->records[i];

		if (!uses_gpus(r))
			continue;
		crowd->submits[crowd->count] = (double) (r->submit_s - base);
		crowd->ends[crowd->count++] = (double) (r->end_s - base);
	}
	qsort(crowd->submits, crowd->count, sizeof(double), compare_times);
	qsort(crowd->ends, crowd->count, sizeof(double), compare_times);
	for (size_t i = 0; i < crowd->count; i++) {
		crowd->submit_sums[i + 1] =
			crowd->submit_sums[i] + crowd->submits[i];
		crowd->end_sums[i + 1] = crowd->end_sums[i] + crowd->ends[i];
	}
	return 0;
}

/* Finish-time fairness; NAN: no telling. */
static double rho_of(const struct plx_record *r, const struct work *work,
		     double cluster_gpus, double jobs)
{
	bool modelled = work->count > 0;
	int last = modelled ? work->count - 1 : 0;
	struct plx_due due =
		plx_due_of(cluster_gpus, jobs,
			   modelled ? &work->hints[last].job.limits : NULL);
	double alone_s =
		work->active_s * fmax((double) work->most_gpus / due.gpus, 1);

	if (modelled)
		alone_s = on_fixed(r, work, last, due.gpus);
	return plx_finish_fairness((double) (r->end_s - r->submit_s), alone_s,
				   &due);
}

static void judge(struct plx_record *r, const struct crowd *crowd,
		  int64_t base_s, const struct plx_efficiency_setting *setting)
{
	struct work work = { .count = 0 };
	double jobs;

	r->yield = (struct plx_efficiency){ NAN, NAN, NAN,   0,	 NAN,
					    NAN, NAN, false, NAN };
	measure_spans(r, &work);
	if (r->pauses > 0)
		r->yield.lost_s = r->pauses * r->pause_s[0];
	else if (r->resizes == 0)
		r->yield.lost_s = 0;
	if (work.active_s <= 0)
		return;
	read_hints(r, &work);
	if (work.count > 0) {
		if (isnan(r->yield.lost_s))
			r->yield.lost_s = 0;
		judge_fixed(r, &work, setting->fixed_gpus);
	}
	if (strcmp(r->state, "COMPLETED") != 0 || setting->cluster_gpus == 0)
		return;
	jobs = mean_jobs(crowd, (double) (r->submit_s - base_s),
			 (double) (r->end_s - base_s));
	r->yield.rho = rho_of(r, &work, setting->cluster_gpus, jobs);
}

struct change {
	int64_t at_s;
	int gpus;
};

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a;
	const struct change *y = b;

	/* What is given up first is free for others. */
	return x->at_s != y->at_s ? (x->at_s > y->at_s) - (x->at_s < y->at_s)
				  : x->gpus - y->gpus;
}

/* The most GPUs ever held at once; -1: no memory. */
static int most_held(const struct plx_history *history)
{
	struct change *changes;
	size_t count = 0;
	int held = 0;
	int most = 0;

	for (size_t i = 0; i < history->count; i++)
		count += 2 * history->records[i].span_count;
	changes = calloc(count + 1, sizeof(*changes));
	if (!changes)
		return -1;
	count = 0;
	for (size_t i = 0; i < history->count; i++) {
		const struct plx_record *r = &history->records[i];

		for (size_t s = 0; s < r->span_count; s++) {
			const struct plx_history_span *span = &r->spans[s];

			changes[count++] =
				(struct change){ span->start_s, span->gpus };
			changes[count++] =
				(struct change){ span->end_s, -span->gpus };
		}
	}
	qsort(changes, count, sizeof(*changes), compare_changes);
	for (size_t i = 0; i < count; i++) {
		held += changes[i].gpus;
		if (held > most)
			most = held;
	}
	free(changes);
	return most;
}

int plx_efficiency_make(struct plx_history *history,
			struct plx_efficiency_setting *setting,
			struct plx_error *err)
{
	struct crowd crowd = { .count = 0 };

	if (setting->cluster_gpus == 0)
		setting->cluster_gpus = most_held(history);
	if (setting->cluster_gpus < 0 || crowd_make(history, &crowd) < 0)
		return plx_fail(err, "out of memory");
	for (size_t i = 0; i < history->count; i++)
		judge(&history->records[i], &crowd,
		      history->records[0].submit_s, setting);
	crowd_release(&crowd);
	return 0;
}
