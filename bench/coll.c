/* SPDX-License-Identifier: MIT */
/*
 * coll.c - what waiting with a time limit costs
 *
 *	mpirun -n RANKS bench/coll [--json] [ROUNDS]
 *
 * Sums over ranks by libpollux (nonblocking, tested against the clock; once
 * as one call and once begun, then waited for) in turn with MPI_Allreduce,
 * which waits for ever. Microseconds on rank 0, and ratios of medians: below
 * 1, ours is faster. Every value is checked.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/comm/coll.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define WARM_UP 4 /* rounds */

enum way { PLAIN, SUM, BEGUN, WAYS };

static const char *const names[WAYS] = { "MPI_Allreduce", "sum", "begun" };
static const size_t sizes[] = { 9, 1000, 100000, 1000000, 10000000 };

struct bench {
	struct plx_coll *coll;
	float *data;
	double *us[WAYS]; /* of each round */
	int rounds;
	bool json;
};

static void die(const char *sentence)
{
	int up = 0;

	fprintf(stderr, "coll: %s\n", sentence);
	MPI_Initialized(&up);
	if (up)
		MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
	exit(EXIT_FAILURE);
}

static void add_up(struct bench *b, enum way way, size_t count)
{
	const struct plx_coll_ops *ops = b->coll->ops;
	struct plx_error err = { .text = "MPI_Allreduce failed" };
	int rc = -1;

	switch (way) {
	case PLAIN:
		rc = MPI_Allreduce(MPI_IN_PLACE, b->data, (int) count,
				   MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		break;
	case SUM:
		rc = ops->sum(b->coll, b->data, count, &err);
		break;
	case BEGUN:
		rc = ops->sum_begin(b->coll, b->data, count, POLLUX_HOST, &err);
		if (rc == 0)
			rc = ops->sum_wait(b->coll, NULL, &err);
		break;
	case WAYS:
		break;
	}
	if (rc != 0)
		die(err.text);
}

/* Microseconds of one sum, all ranks beginning together. */
static double once(struct bench *b, enum way way, size_t count)
{
	double begin_s;
	double end_s;
	float want = (float) (b->coll->ranks * (b->coll->ranks + 1) / 2);

	for (size_t i = 0; i < count; i++)
		b->data[i] = (float) (b->coll->rank + 1);
	MPI_Barrier(MPI_COMM_WORLD);
	begin_s = MPI_Wtime();
	add_up(b, way, count);
	end_s = MPI_Wtime();
	for (size_t i = 0; i < count; i++) {
		if (b->data[i] != want)
			die("a sum is wrong");
	}
	return 1e6 * (end_s - begin_s);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

static void measure(struct bench *b, size_t count)
{
	int rounds = count > 10000 ? (b->rounds + 3) / 4 : b->rounds;
	double p50[WAYS];
	double p99[WAYS];

	for (int round = 0; round < rounds + WARM_UP; round++) {
		for (int turn = 0; turn < WAYS; turn++) {
			/* Each comes after each as often. */
			int at = round % 2 ? WAYS - turn : turn;
			enum way way = (enum way)((round / 2 + at) % WAYS);
			double us = once(b, way, count);

			if (round >= WARM_UP)
				b->us[way][round - WARM_UP] = us;
		}
	}
	for (enum way way = PLAIN; way < WAYS; way++) {
		qsort(b->us[way], (size_t) rounds, sizeof(double), compare);
		p50[way] = b->us[way][rounds / 2];
		p99[way] = b->us[way][rounds * 99 / 100];
	}
	if (b->coll->rank != 0)
		return;
	for (enum way way = PLAIN; way < WAYS; way++)
		printf(b->json ? "{\"ranks\":%d,\"floats\":%zu,\"way\":\"%s\","
				 "\"p50_us\":%.1f,\"p99_us\":%.1f,"
				 "\"ratio\":%.3f}\n"
			       : "%6d %9zu %14s %10.1f %10.1f %8.3f\n",
		       b->coll->ranks, count, names[way], p50[way], p99[way],
		       p50[way] / p50[PLAIN]);
}

int main(int argc, char **argv)
{
	struct bench b = { .rounds = 400 };
	size_t largest = sizes[ARRAY_SIZE(sizes) - 1];
	struct plx_error err;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			b.json = true;
		else
			b.rounds = atoi(argv[i]);
	}
	b.coll = b.rounds > 0 ? plx_coll_create("mpi", &err) : NULL;
	if (!b.coll)
		die(b.rounds > 0 ? err.text : "usage: coll [--json] [ROUNDS]");
	b.data = malloc(largest * sizeof(*b.data));
	for (enum way way = PLAIN; way < WAYS; way++) {
		b.us[way] = calloc((size_t) b.rounds, sizeof(double));
		if (!b.us[way] || !b.data)
			die("out of memory");
	}
	if (b.coll->rank == 0 && !b.json)
		printf(" ranks    floats            way     p50 us     p99 us "
		       "   ratio\n");
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		measure(&b, sizes[i]);
	for (enum way way = PLAIN; way < WAYS; way++)
		free(b.us[way]);
	free(b.data);
	b.coll->ops->destroy(b.coll);
	return EXIT_SUCCESS;
}
