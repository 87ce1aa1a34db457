/* SPDX-License-Identifier: MIT */
/*
 * jacobi.c - a code that is no training: heat on a plate, on as many ranks as
 * there are just now
 *
 *	mpicc -O2 -o jacobi jacobi.c $(pkg-config --cflags --libs pollux)
 *	pollux-launch --local -n 2 ./jacobi
 *	pollux-launch --job=jacobi --resize=4
 *
 * Each rank has some rows of the plate, and a row of each neighbour's, which it
 * gets by MPI calls of its own. The same operations in the same order for each
 * point: the plate is the same, bit for bit, on any number of ranks, however
 * often they change.
 */
#include <mpi.h>
#include <pollux.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 240 }; /* rows and columns of the plate */

/* Rows first to first + rows - 1, with a row more on both sides. */
struct plate {
	int first;
	int rows;
	double (*now)[N];
	double (*next)[N];
};

static void die(const char *why)
{
	fprintf(stderr, "jacobi: %s\n", why);
	exit(EXIT_FAILURE); /* a launcher starts the ranks again */
}

static int first_of(int rank, int ranks)
{
	return N * rank / ranks;
}

/* Cold, but for the upper edge. */
static void allocate(struct plate *p, int rank, int ranks)
{
	if (p->now)
		return;
	p->first = first_of(rank, ranks);
	p->rows = first_of(rank + 1, ranks) - p->first;
	p->now = calloc((size_t) p->rows + 2, sizeof(*p->now));
	p->next = calloc((size_t) p->rows + 2, sizeof(*p->next));
	if (!p->now || !p->next)
		die("no memory");
	for (int column = 0; p->first == 0 && column < N; column++)
		p->now[1][column] = p->next[1][column] = 100;
}

/* ---- what a resize or a checkpoint needs ---- */

static int part(void *user, const void **data, size_t *bytes)
{
	struct plate *p = user;

	*data = p->now + 1;
	*bytes = (size_t) p->rows * sizeof(*p->now);
	return 0;
}

/* Those rows of another generation's rank that are ours now. */
static int redistribute(void *user, const struct pollux_domain_part *from)
{
	int first = first_of(from->part, from->parts);
	int end = first_of(from->part + 1, from->parts);
	const double(*rows)[N] = from->data;
	struct plate *p = user;

	allocate(p, from->rank, from->ranks);
	if (from->bytes != (size_t) (end - first) * sizeof(*rows))
		return -1; /* of another plate */
	for (int row = first; row < end; row++) {
		if (row >= p->first && row < p->first + p->rows)
			memcpy(p->now[row - p->first + 1], rows[row - first],
			       sizeof(*rows));
	}
	return 0;
}

/* ---- a step ---- */

/* A row to each neighbour, and one from it. */
static void exchange(struct plate *p, int rank, int ranks)
{
	int up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
	int down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;

	MPI_Sendrecv(p->now[1], N, MPI_DOUBLE, up, 0, p->now[p->rows + 1], N,
		     MPI_DOUBLE, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(p->now[p->rows], N, MPI_DOUBLE, down, 1, p->now[0], N,
		     MPI_DOUBLE, up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The edges stay. By how much the rest has changed, squared. */
static double relax(struct plate *p)
{
	double(*swap)[N] = p->now;
	double change = 0;

	for (int i = 1; i <= p->rows; i++) {
		int row = p->first + i - 1;

		memcpy(p->next[i], p->now[i], sizeof(*p->now));
		for (int k = 1; row > 0 && row < N - 1 && k < N - 1; k++) {
			double was = p->now[i][k];

			p->next[i][k] =
				0.25 * ((p->now[i - 1][k] + p->now[i + 1][k]) +
					(p->now[i][k - 1] + p->now[i][k + 1]));
			change += (p->next[i][k] - was) * (p->next[i][k] - was);
		}
	}
	p->now = p->next;
	p->next = swap;
	return change;
}

/* A hash of all numbers' bits, the same whoever has which. */
static unsigned long long hash_of(const struct plate *p)
{
	unsigned long long sum = 0;

	for (int i = 1; i <= p->rows; i++) {
		for (int k = 0; k < N; k++) {
			unsigned long long h = 0;

			memcpy(&h, &p->now[i][k], sizeof(h));
			h += (unsigned long long) (p->first + i) * N +
			     (unsigned long long) k;
			h *= 0x9e3779b97f4a7c15u;
			sum += h ^ (h >> 29);
		}
	}
	MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM,
		      MPI_COMM_WORLD);
	return sum;
}

int main(int argc, char **argv)
{
	struct plate plate = { 0 };
	const struct pollux_domain domain = {
		.part = part,
		.redistribute = redistribute,
		.user = &plate,
	};
	struct timespec work = { 0 }; /* as if a step took so long */
	struct pollux_config config;
	struct pollux_info info;
	struct pollux *p;
	double change = 0;
	int more;

	MPI_Init(&argc, &argv);
	work.tv_nsec = argc > 2 ? 1000000L * atoi(argv[2]) : 0;
	pollux_config_init(&config);
	config.steps = argc > 1 ? (unsigned) atoi(argv[1]) : 1000;
	config.checkpoint_every_s = 1;
	p = pollux_create(&config);
	if (pollux_register_domain(p, &domain) < 0 || pollux_start(p) < 0)
		die(pollux_error(p));
	pollux_info(p, &info);
	allocate(&plate, info.rank, info.gpus); /* unless it was restored */
	while ((more = pollux_step(p)) > 0) {
		exchange(&plate, info.rank, info.gpus);
		change = relax(&plate);
		nanosleep(&work, NULL);
	}
	if (more < 0 || pollux_stopped(p))
		goto done;
	if (pollux_sum(p, &change, 1) < 0)
		die(pollux_error(p));
	pollux_info(p, &info);
	if (info.rank == 0)
		printf("after %llu steps: change %.6e, hash %016llx\n",
		       (unsigned long long) info.step, change, hash_of(&plate));
	else
		hash_of(&plate);
done:
	if (more < 0)
		fprintf(stderr, "jacobi: %s\n", pollux_error(p));
	pollux_destroy(p);
	MPI_Finalize();
	return more < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
