/* SPDX-License-Identifier: MIT */
/* crew.c - ranks that are threads of one process, for tests of the agent */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"

enum { REQUESTS_MAX = 64 };

struct member {
	struct plx_coll base;
	struct crew *crew;
	float *data[REQUESTS_MAX]; /* sums begun, in their order */
	size_t count[REQUESTS_MAX];
	int begun;
	int ended;
};

static struct member *member_of(struct plx_coll *coll)
{
	return (struct member *) coll;
}

/* Show what this rank has; all have when it returns. */
static void bring(struct plx_coll *coll, void *data, size_t count)
{
	struct crew *crew = member_of(coll)->crew;

	crew->data[coll->rank] = data;
	crew->count[coll->rank] = count;
	pthread_barrier_wait(&crew->barrier);
	for (int r = 0; r < crew->ranks; r++)
		crew->mixed = crew->mixed || crew->count[r] != count;
}

static void leave(struct plx_coll *coll)
{
	pthread_barrier_wait(&member_of(coll)->crew->barrier);
}

static int crew_sum(struct plx_coll *coll, float *data, size_t count,
		    struct plx_error *err)
{
	struct crew *crew = member_of(coll)->crew;
	float *total = calloc(count + 1, sizeof(*total));

	(void) err;
	bring(coll, data, count);
	for (int r = 0; r < crew->ranks && !crew->mixed; r++) {
		for (size_t i = 0; i < count; i++)
			total[i] += ((float *) crew->data[r])[i];
	}
	leave(coll);
	memcpy(data, total, count * sizeof(*total));
	free(total);
	return 0;
}

static int crew_begin(struct plx_coll *coll, float *data, size_t count,
		      enum pollux_memory memory, struct plx_error *err)
{
	struct member *m = member_of(coll);

	if (memory != POLLUX_HOST || m->begun == REQUESTS_MAX)
		return plx_fail(err, "no such sum");
	m->data[m->begun] = data;
	m->count[m->begun++] = count;
	return 0;
}

static int crew_wait(struct plx_coll *coll, const struct plx_seer *seer,
		     struct plx_error *err)
{
	struct member *m = member_of(coll);
	int at = m->ended++;
	size_t count = m->count[at];

	if (at >= m->begun)
		return plx_fail(err, "no sum was begun");
	if (m->ended == m->begun)
		m->begun = m->ended = 0;
	if (crew_sum(coll, m->data[at], count, err) < 0)
		return -1;
	/* As MPI does, in parts of different sizes. */
	for (size_t i = 0; seer && i < count; i += 1 + i)
		seer->see(seer->arg, i, i + 1 + i < count ? 1 + i : count - i);
	return 0;
}

static int crew_spread(struct plx_coll *coll, void *data, size_t bytes,
		       struct plx_error *err)
{
	struct crew *crew = member_of(coll)->crew;

	(void) err;
	bring(coll, data, bytes);
	if (coll->rank != 0)
		memcpy(data, crew->data[0], bytes);
	leave(coll);
	return 0;
}

static int crew_barrier(struct plx_coll *coll, struct plx_error *err)
{
	(void) err;
	bring(coll, NULL, 0);
	leave(coll);
	return 0;
}

static int crew_gather(struct plx_coll *coll, const void *data, size_t bytes,
		       void *out, struct plx_error *err)
{
	struct crew *crew = member_of(coll)->crew;

	(void) err;
	bring(coll, (void *) data, bytes);
	for (int r = 0; r < crew->ranks && out; r++)
		memcpy((char *) out + (size_t) r * bytes, crew->data[r], bytes);
	leave(coll);
	return 0;
}

static void crew_abort(struct plx_coll *coll, int code)
{
	(void) coll;
	(void) code;
}

static void crew_destroy(struct plx_coll *coll)
{
	free(coll);
}

static const struct plx_coll_ops blocking = {
	.name = "crew",
	.sum = crew_sum,
	.spread = crew_spread,
	.spread_idle = crew_spread,
	.barrier = crew_barrier,
	.gather = crew_gather,
	.abort = crew_abort,
	.destroy = crew_destroy,
};

static const struct plx_coll_ops beginning = {
	.name = "crew",
	.sum = crew_sum,
	.sum_begin = crew_begin,
	.sum_wait = crew_wait,
	.spread = crew_spread,
	.spread_idle = crew_spread,
	.barrier = crew_barrier,
	.gather = crew_gather,
	.abort = crew_abort,
	.destroy = crew_destroy,
};

static struct plx_coll *make_coll(struct crew *crew, int rank)
{
	struct member *m = calloc(1, sizeof(*m));

	if (!m)
		abort();
	m->crew = crew;
	m->base = (struct plx_coll){
		.ops = crew->begins ? &beginning : &blocking,
		.rank = rank,
		.ranks = crew->ranks,
		.nodes = 1,
		.local_rank = rank,
		.local_ranks = crew->ranks,
	};
	return &m->base;
}

struct start {
	struct crew_rank *rank;
	int (*work)(struct crew_rank *rank);
};

static void *run(void *start)
{
	struct start *s = start;

	s->rank->result = s->work(s->rank);
	return NULL;
}

int crew_run(struct crew *crew, const struct pollux_config *config,
	     int (*work)(struct crew_rank *rank), void *user)
{
	struct start starts[CREW_MAX];
	pthread_t threads[CREW_MAX];
	int rc = 0;

	pthread_barrier_init(&crew->barrier, NULL, (unsigned) crew->ranks);
	for (int r = 0; r < crew->ranks; r++) {
		struct crew_rank *rank = &crew->rank[r];

		*rank = (struct crew_rank){ crew, r, NULL, user, 0 };
		rank->p = pollux_create(config);
		rank->p->coll = make_coll(crew, r);
		starts[r] = (struct start){ rank, work };
		pthread_create(&threads[r], NULL, run, &starts[r]);
	}
	for (int r = 0; r < crew->ranks; r++) {
		pthread_join(threads[r], NULL);
		if (crew->rank[r].result && !rc)
			printf("# rank %d: %d, %s\n", r, crew->rank[r].result,
			       pollux_error(crew->rank[r].p));
		rc = rc ? rc : crew->rank[r].result;
	}
	for (int r = 0; r < crew->ranks; r++)
		pollux_destroy(crew->rank[r].p);
	pthread_barrier_destroy(&crew->barrier);
	return crew->mixed ? -99 : rc;
}
