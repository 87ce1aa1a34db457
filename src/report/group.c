/* SPDX-License-Identifier: GPL-2.0-or-later */
/* group.c - see group.h */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/group.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PARTS_MAX     20000 /* periods a shape lasts */

/* One way to sum: a text of the record, or a period as strftime() tells it. */
static const struct way {
	const char *name;
	size_t offset;
	const char *period;
} ways[] = {
	/* clang-format off */
	{ "user", offsetof(struct plx_record, user), NULL },
	{ "account", offsetof(struct plx_record, account), NULL },
	{ "partition", offsetof(struct plx_record, partition), NULL },
	{ "state", offsetof(struct plx_record, state), NULL },
	{ "name", offsetof(struct plx_record, name), NULL },
	{ "hour", 0, "%Y-%m-%dT%H" },
	{ "day", 0, "%Y-%m-%d" },
	{ "week", 0, "%G-W%V" },
	{ "month", 0, "%Y-%m" },
	{ "year", 0, "%Y" },
	/* clang-format on */
};

/* What a job adds to a group. */
struct part {
	const char *text; /* the key; NULL: it is in period */
	char period[16];
	const struct plx_record *record;
	int64_t gpu_seconds;
	bool whole; /* all else of it counts here, too */
};

struct parts {
	struct part *parts;
	size_t count;
	size_t capacity;
};

static const struct way *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (!strcmp(ways[i].name, name))
			return &ways[i];
	}
	return NULL;
}

int plx_group_by(const char *name, struct plx_error *err)
{
	char list[128] = "";

	if (find(name))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list),
			 "%s%s", i ? ", " : "", ways[i].name);
	return plx_fail(err, "cannot sum by '%.40s'; want %s", name, list);
}

static const char *key_of(const struct part *part)
{
	return part->text ? part->text : part->period;
}

static int add(struct parts *parts, const struct part *part)
{
	if (parts->count == parts->capacity) {
		size_t capacity = parts->capacity ? 2 * parts->capacity : 256;
		struct part *grown =
			realloc(parts->parts, capacity * sizeof(*grown));

		if (!grown)
			return -1;
		parts->parts = grown;
		parts->capacity = capacity;
	}
	parts->parts[parts->count++] = *part;
	return 0;
}

/* The first second of the next hour or day; weeks and more end with a day. */
static int64_t next_boundary(int64_t at_s, bool hourly)
{
	time_t at = (time_t) at_s;
	struct tm tm;

	if (!localtime_r(&at, &tm))
		return at_s + 3600;
	if (hourly)
		return at_s + 3600 - tm.tm_min * 60 - tm.tm_sec;
	tm.tm_mday++;
	tm.tm_hour = 0;
	tm.tm_min = 0;
	tm.tm_sec = 0;
	tm.tm_isdst = -1;
	at = mktime(&tm);
	return at > at_s ? at : at_s + 86400;
}

static void report_period(const char *format, int64_t at_s, char period[16])
{
	time_t at = (time_t) at_s;
	struct tm tm;

	period[0] = '\0';
	if (localtime_r(&at, &tm))
		strftime(period, 16, format, &tm);
}

static int add_periods(struct parts *parts, const struct plx_record *r,
		       const struct way *way)
{
	bool hourly = !strcmp(way->name, "hour");
	struct part part = { .record = r, .whole = true };
	int cuts = 0;

	report_period(way->period, r->submit_s, part.period);
	if (add(parts, &part) < 0)
		return -1;
	part.whole = false;
	for (size_t i = 0; i < r->span_count; i++) {
		const struct plx_history_span *span = &r->spans[i];
		int64_t from_s = span->start_s;

		while (from_s < span->end_s && span->gpus > 0) {
			int64_t to_s = next_boundary(from_s, hourly);

			if (to_s > span->end_s || ++cuts > PARTS_MAX)
				to_s = span->end_s;
			report_period(way->period, from_s, part.period);
			part.gpu_seconds = (to_s - from_s) * span->gpus;
			if (add(parts, &part) < 0)
				return -1;
			from_s = to_s;
		}
	}
	return 0;
}

static int add_record(struct parts *parts, const struct plx_record *r,
		      const struct way *way)
{
	struct part part = {
		.text = *(const char *const *) ((const char *) r + way->offset),
		.record = r,
		.gpu_seconds = r->gpu_seconds,
		.whole = true,
	};

	return way->period ? add_periods(parts, r, way) : add(parts, &part);
}

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a;
	const struct part *y = b;
	int order = strcmp(key_of(x), key_of(y));

	/* Any order, but always the same: sums of reals are then, too. */
	if (order == 0)
		order = (x->record > y->record) - (x->record < y->record);
	return order;
}

/* What means are made of. */
struct sums {
	double queued_s, finish_s;
	double told_s, goodput;
	double told_gpu_s, efficiency;
	double active_s, fixed_s;
	double rho;
	int rhos;
};

static void count_efficiency(const struct plx_record *r, struct plx_group *g,
			     struct sums *sums)
{
	const struct plx_efficiency *y = &r->yield;

	if (isfinite(y->lost_s))
		g->lost_s += y->lost_s;
	if (isfinite(y->goodput)) {
		sums->told_s += (double) r->ran_s;
		sums->goodput += y->goodput * (double) r->ran_s;
	}
	if (isfinite(y->efficiency)) {
		sums->told_gpu_s += (double) r->gpu_seconds;
		sums->efficiency += y->efficiency * (double) r->gpu_seconds;
	}
	if (isfinite(y->fixed_s)) {
		sums->active_s += (double) r->ran_s;
		sums->fixed_s += y->fixed_s;
	}
	if (isfinite(y->rho)) {
		sums->rho += y->rho;
		sums->rhos++;
		g->rho_worst = fmax(g->rho_worst, y->rho);
	}
}

static void count_part(const struct part *part, struct plx_group *g,
		       struct sums *sums)
{
	const struct plx_record *r = part->record;

	g->gpu_seconds += part->gpu_seconds;
	if (!part->whole)
		return;
	g->jobs++;
	g->elastic += r->elastic;
	g->completed += !strcmp(r->state, "COMPLETED");
	g->resizes += r->resizes;
	sums->queued_s += (double) r->queued_s;
	sums->finish_s += (double) (r->end_s - r->submit_s);
	count_efficiency(r, g, sums);
}

/* Over nothing there is no mean. */
static double mean(double sum, double over)
{
	return over > 0 ? sum / over : NAN;
}

static void make_group(const struct part *parts, size_t count,
		       struct plx_group *g)
{
	struct sums sums = { 0 };

	*g = (struct plx_group){ .rho_worst = NAN };
	snprintf(g->key, sizeof(g->key), "%s", key_of(parts));
	for (size_t i = 0; i < count; i++)
		count_part(&parts[i], g, &sums);
	g->queued_s = mean(sums.queued_s, g->jobs);
	g->finish_s = mean(sums.finish_s, g->jobs);
	g->goodput = mean(sums.goodput, sums.told_s);
	g->efficiency = mean(sums.efficiency, sums.told_gpu_s);
	g->fixed = mean(sums.active_s, sums.fixed_s);
	g->rho = mean(sums.rho, sums.rhos);
}

int plx_group_make(const struct plx_history *history, const char *by,
		   struct plx_groups *groups, struct plx_error *err)
{
	const struct way *way = find(by);
	struct plx_groups made = { NULL, 0 };
	struct parts parts = { NULL, 0, 0 };
	size_t next;
	int rc = -1;

	if (!way)
		return plx_group_by(by, err);
	for (size_t i = 0; i < history->count; i++) {
		if (add_record(&parts, &history->records[i], way) < 0)
			goto done;
	}
	if (parts.count > 0)
		qsort(parts.parts, parts.count, sizeof(*parts.parts),
		      compare_parts);
	made.groups = calloc(parts.count + 1, sizeof(*made.groups));
	if (!made.groups)
		goto done;
	for (size_t i = 0; i < parts.count; i = next) {
		const char *key = key_of(&parts.parts[i]);

		for (next = i + 1; next < parts.count; next++) {
			if (strcmp(key, key_of(&parts.parts[next])) != 0)
				break;
		}
		make_group(&parts.parts[i], next - i,
			   &made.groups[made.count++]);
	}
	*groups = made;
	rc = 0;
done:
	free(parts.parts);
	return rc < 0 ? plx_fail(err, "out of memory") : 0;
}

void plx_group_release(struct plx_groups *groups)
{
	free(groups->groups);
	*groups = (struct plx_groups){ NULL, 0 };
}
