/* SPDX-License-Identifier: MIT */
/*
 * emulate_traces.c - recorded times of a real cluster
 *
 * placements.csv:  placement,local_bsz,step_time,sync_time
 * scalability.csv: num_nodes,num_replicas,local_bsz,step_time,sync_time
 *
 * A placement has one digit a node, the GPUs there. Ours is the even one
 * (3 GPUs on 2 nodes: "12"). A shape that was not recorded is interpolated
 * between the nearest smaller and larger ones; so are batch sizes.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulate_parts.h"

#define NODES_MAX   64
#define SECONDS_MAX 1e6

struct point {
	int nodes;
	int gpus;
	int per_gpu;
	double step_s; /* with all-reduce */
	double sync_s; /* of it */
};

/* Points of one shape: consecutive, by rising per_gpu. */
struct traces {
	struct point *points; /* sorted by nodes, gpus, per_gpu */
	size_t count;
	size_t room;
};

static int add(struct traces *t, const struct point *point,
	       char error[EMULATE_ERROR_SIZE])
{
	if (t->count == t->room) {
		size_t room = t->room ? 2 * t->room : 256;
		struct point *more = realloc(t->points, room * sizeof(*more));

		if (!more)
			return emulate_fail(error, "out of memory");
		t->points = more;
		t->room = room;
	}
	t->points[t->count++] = *point;
	return 0;
}

/* Nodes and GPUs of a placement; false unless it is the even one. */
static bool even_placement(const char *digits, int *nodes, int *gpus)
{
	int low = 10;
	int high = 0;

	*nodes = 0;
	*gpus = 0;
	for (const char *d = digits; *d; d++) {
		int count = *d - '0';

		/* "12", not "21": even ones are sorted, so there is one. */
		if (count < 1 || count > 9 || count < high)
			return false;
		low = count < low ? count : low;
		high = count;
		*gpus += count;
		++*nodes;
	}
	return *nodes > 0 && *nodes <= NODES_MAX && high - low <= 1;
}

/* 1: a point, 0: not for us, -1: not a row of the file. */
static int read_placement(const char *line, struct point *p)
{
	char digits[NODES_MAX + 1];

	if (sscanf(line, "%64[0-9],%d,%lf,%lf", digits, &p->per_gpu, &p->step_s,
		   &p->sync_s) != 4)
		return -1;
	return even_placement(digits, &p->nodes, &p->gpus);
}

static int read_scalability(const char *line, struct point *p)
{
	if (sscanf(line, "%d,%d,%d,%lf,%lf", &p->nodes, &p->gpus, &p->per_gpu,
		   &p->step_s, &p->sync_s) != 5)
		return -1;
	return 1;
}

static bool sane(const struct point *p)
{
	return p->nodes >= 1 && p->gpus >= p->nodes && p->per_gpu >= 1 &&
	       p->step_s > 0 && p->step_s <= SECONDS_MAX && p->sync_s >= 0 &&
	       p->sync_s <= p->step_s;
}

static int read_file(struct traces *t, const char *folder, const char *name,
		     int (*read_row)(const char *, struct point *),
		     char error[EMULATE_ERROR_SIZE])
{
	char path[512];
	char line[256];
	int number = 0;
	int rc = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r");
	if (!file)
		return emulate_fail(error, "trace %.150s: %s", path,
				    strerror(errno));
	while (rc == 0 && fgets(line, sizeof(line), file)) {
		struct point point;
		int got;

		if (++number == 1)
			continue; /* names of the columns */
		got = read_row(line, &point);
		if (got < 0 || (got > 0 && !sane(&point)))
			rc = emulate_fail(error,
					  "trace %.150s, line %d: no "
					  "times in it",
					  path, number);
		else if (got > 0)
			rc = add(t, &point, error);
	}
	fclose(file);
	return rc;
}

static int compare(const void *a, const void *b)
{
	const struct point *x = a;
	const struct point *y = b;

	if (x->nodes != y->nodes)
		return x->nodes < y->nodes ? -1 : 1;
	if (x->gpus != y->gpus)
		return x->gpus < y->gpus ? -1 : 1;
	return (x->per_gpu > y->per_gpu) - (x->per_gpu < y->per_gpu);
}

struct traces *traces_read(const char *folder, char error[EMULATE_ERROR_SIZE])
{
	struct traces *t = calloc(1, sizeof(*t));
	int rc = -1;

	if (!t) {
		emulate_fail(error, "out of memory");
		return NULL;
	}
	if (read_file(t, folder, "placements.csv", read_placement, error) ==
		    0 &&
	    read_file(t, folder, "scalability.csv", read_scalability, error) ==
		    0)
		rc = 0;
	if (rc == 0 && t->count == 0)
		rc = emulate_fail(error, "traces in %.150s have no rows",
				  folder);
	if (rc < 0) {
		traces_destroy(t);
		return NULL;
	}
	qsort(t->points, t->count, sizeof(*t->points), compare);
	return t;
}

void traces_destroy(struct traces *traces)
{
	if (!traces)
		return;
	free(traces->points);
	free(traces);
}

/* a at 0, b at 1, also beyond; never negative. */
static double mix(double a, double b, double where)
{
	double value = a + (b - a) * where;

	return value > 0 ? value : 0;
}

/* Times of the shape that begins at this point, at per_gpu. */
static struct emulated along_batch(const struct traces *t, size_t first,
				   int per_gpu)
{
	const struct point *p = t->points + first;
	const struct point *end = t->points + t->count;
	double where;
	struct emulated e;

	/* Two neighbours around per_gpu, or the last two of the shape. */
	while (p + 2 < end && p[2].gpus == p->gpus && p[2].nodes == p->nodes &&
	       p[1].per_gpu < per_gpu)
		p++;
	if (p + 1 == end || p[1].gpus != p->gpus || p[1].nodes != p->nodes ||
	    p[1].per_gpu == p->per_gpu) {
		e.sync_s = p->sync_s;
		e.pass_s = p->step_s - p->sync_s;
		return e;
	}
	where = (double) (per_gpu - p->per_gpu) /
		(double) (p[1].per_gpu - p->per_gpu);
	/* Smaller batches than recorded cost at least what the smallest did. */
	where = where > 0 ? where : 0;
	e.sync_s = mix(p->sync_s, p[1].sync_s, where);
	e.pass_s = mix(p->step_s - p->sync_s, p[1].step_s - p[1].sync_s, where);
	return e;
}

/* Among shapes, the nearest not above (or not below) what is asked. */
static size_t nearest(const struct traces *t, int nodes, int gpus, bool below)
{
	size_t best = t->count;
	double best_far = INFINITY;

	for (size_t i = 0; i < t->count; i++) {
		const struct point *p = &t->points[i];
		/* One node more or less counts more than any GPUs. */
		double far =
			1000.0 * abs(p->nodes - nodes) + abs(p->gpus - gpus);
		bool fits = below ? p->gpus <= gpus : p->gpus >= gpus;

		/* A single GPU never synchronises: no neighbour of others. */
		if ((p->gpus == 1) != (gpus == 1))
			continue;
		if (fits && far < best_far) {
			best = i;
			best_far = far;
		}
	}
	return best;
}

struct emulated traces_times(const struct traces *traces, int nodes, int gpus,
			     int per_gpu)
{
	size_t below = nearest(traces, nodes, gpus, true);
	size_t above = nearest(traces, nodes, gpus, false);
	struct emulated a;
	struct emulated b;
	double where = 0;

	if (below == traces->count)
		below = above < traces->count ? above : 0;
	if (above == traces->count)
		above = below;
	a = along_batch(traces, below, per_gpu);
	b = along_batch(traces, above, per_gpu);
	if (traces->points[above].gpus != traces->points[below].gpus)
		where = (double) (gpus - traces->points[below].gpus) /
			(double) (traces->points[above].gpus -
				  traces->points[below].gpus);
	return (struct emulated){
		.pass_s = mix(a.pass_s, b.pass_s, where),
		.sync_s = mix(a.sync_s, b.sync_s, where),
	};
}
