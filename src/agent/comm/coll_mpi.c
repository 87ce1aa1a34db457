/* SPDX-License-Identifier: MIT */
/*
 * coll_mpi.c - the life of collectives over MPI
 *
 * We work on a copy of MPI_COMM_WORLD. A program that uses MPI itself may
 * initialise it first, and then finalises it. Where we did, it is finalised
 * when the process exits: the program may go on to use it, or begin another
 * run.
 */
#include <config.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/comm/coll_mpi.h"
#include "wire/namespaces.h"

#define ABORT_S 5 /* MPI_Abort has that long to end us */

/* ---- the end ---- */

/* MPI belongs to the process, and so does what we have to do for it. */
static struct {
	pid_t owner; /* who initialised it: 0 for the program, not us */
	bool due;    /* no run is under way, and the last one ended well */
} finalise;

/* Others that are lost would be waited for: then exit without it. */
static void at_exit(void)
{
	int done = 1;

	if (!finalise.due || getpid() != finalise.owner)
		return;
	MPI_Finalized(&done);
	if (!done)
		MPI_Finalize();
}

/* MPI_Abort asks a daemon, which may hang: then we go by ourselves. */
static void *leave_anyway(void *code)
{
	sleep(ABORT_S);
	_exit((int) (intptr_t) code);
}

static void mpi_abort(struct plx_coll *coll, int code)
{
	pthread_t thread;

	if (coll->ranks < 2)
		return;
	(void) pthread_create(&thread, NULL, leave_anyway,
			      (void *) (intptr_t) code);
	MPI_Abort(MPI_COMM_WORLD, code);
	_exit(code);
}

static void mpi_destroy(struct plx_coll *coll)
{
	struct plx_mpi *m = (struct plx_mpi *) coll;
	int over = 0;

	plx_mpi_release_sums(m);
	MPI_Finalized(&over);
	/* With others lost, it would wait for them for ever. */
	if (m->comm != MPI_COMM_NULL && !m->broken && !over)
		MPI_Comm_free(&m->comm);
	finalise.due = !m->broken;
	free(m);
}

/* ---- who is where ---- */

/* What tells nodes apart. */
struct place {
	uint64_t host; /* hash of its name */
	int64_t node;  /* Slurm's number, -1: none */
};

static uint64_t hash_of_host(void)
{
	char name[256] = "";
	uint64_t hash = 14695981039346656037u; /* FNV-1a */

	gethostname(name, sizeof(name) - 1);
	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char) *c) * 1099511628211u;
	return hash;
}

/*
 * Slurm's node number where all ranks have one: several virtual nodes may
 * share a host. Else, the host's name.
 */
static bool same_node(const struct place *a, const struct place *b,
		      bool numbered)
{
	return numbered ? a->node == b->node : a->host == b->host;
}

/* Nodes are numbered in the order of their first rank. */
static void number_nodes(struct plx_coll *coll, const struct place *all)
{
	const struct place *mine = &all[coll->rank];
	bool numbered = true;

	for (int i = 0; i < coll->ranks; i++)
		numbered = numbered && all[i].node >= 0;
	for (int i = 0; i < coll->ranks; i++) {
		bool is_new = true;

		for (int j = 0; j < i && is_new; j++)
			is_new = !same_node(&all[i], &all[j], numbered);
		if (same_node(&all[i], mine, numbered)) {
			if (is_new)
				coll->node = coll->nodes;
			coll->local_rank += i < coll->rank;
			coll->local_ranks++;
		}
		coll->nodes += is_new;
	}
}

static int find_nodes(struct plx_mpi *m, struct plx_error *err)
{
	const char *text = getenv("SLURM_NODEID");
	struct place mine = {
		.host = hash_of_host(),
		.node = text && *text ? atoi(text) : -1,
	};
	struct place *all = calloc((size_t) m->base.ranks, sizeof(*all));
	MPI_Request request = MPI_REQUEST_NULL;
	int rc;

	if (!all)
		return plx_fail(err, "out of memory");
	rc = PLX_MPI(m,
		     MPI_Iallgather(&mine, sizeof(mine), MPI_BYTE, all,
				    sizeof(mine), MPI_BYTE, m->comm, &request));
	rc = plx_mpi_finish(m, rc, &request, "exchange of node names", err);
	if (rc == 0)
		number_nodes(&m->base, all);
	free(all);
	return rc;
}

/* ---- the beginning ---- */

/*
 * Each of two ranks adds up one half and gets the other: Open MPI's nonblocking
 * sum by itself has one of them add up all, and then tell the other. To
 * exchange all and add it up on both takes twice as many additions, and as much
 * memory again for what the other has sent.
 */
static void share_additions(void)
{
	const char *ranks = getenv("OMPI_COMM_WORLD_SIZE");

	if (!ranks)
		ranks = getenv("SLURM_STEP_NUM_TASKS");
	if (ranks && !strcmp(ranks, "2"))
		(void) setenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "1",
			      0);
}

/*
 * Where ranks are in containers of their own. Open MPI takes shared memory of a
 * process with our number for ours: with a namespace of processes each, both
 * may be number 2, and it crashes. A large message it reads out of its sender's
 * memory, which another namespace of users may forbid: then it waits for ever.
 */
static void keep_out_of_others(void)
{
	if (plx_namespace_is_own("pid")) {
		(void) setenv("OMPI_MCA_btl", "^vader", 0);
		/* By routes, Open MPI 5 finds no way to our own address. */
		(void) setenv("OMPI_MCA_reachable", "^netlink", 0);
	}
	if (plx_namespace_is_own("user"))
		(void) setenv("OMPI_MCA_btl_vader_single_copy_mechanism",
			      "none", 0);
}

/*
 * Open MPI 5 does not begin without HOME, where it looks for the user's
 * parameters. A container may be given no such variable: then there are none.
 */
static int init_thread(void)
{
	bool homeless = !getenv("HOME");
	int level = 0;
	int code;

	if (homeless)
		(void) setenv("HOME", "/", 0);
	code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
	if (homeless)
		(void) unsetenv("HOME");
	return code;
}

static int initialise(struct plx_mpi *m, struct plx_error *err)
{
	int already = 0;
	int over = 0;

	finalise.due = false;
	MPI_Finalized(&over);
	if (over)
		return plx_fail(err, "the program has finalised MPI: the run "
				     "needs it until pollux_destroy()");
	MPI_Initialized(&already);
	if (already)
		return 0;
	share_additions();
	keep_out_of_others();
	if (plx_mpi_check(m, init_thread(), "MPI_Init_thread", err) < 0)
		return -1;
	finalise.owner = getpid();
	(void) atexit(at_exit);
	/* Where errors that belong to no communicator go. */
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	return 0;
}

static int join(struct plx_mpi *m, struct plx_error *err)
{
	MPI_Request request = MPI_REQUEST_NULL;
	MPI_Comm comm = MPI_COMM_NULL;
	int code;

	MPI_Comm_rank(MPI_COMM_WORLD, &m->base.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &m->base.ranks);
	code = MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
	if (plx_mpi_finish(m, code, &request, "MPI_Comm_idup", err) < 0)
		return -1;
	m->comm = comm;
	return plx_mpi_check(m,
			     MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN),
			     "MPI_Comm_set_errhandler", err);
}

static const struct plx_coll_ops mpi_ops = {
	.name = "mpi",
	.sum = plx_mpi_sum,
	.sum_begin = plx_mpi_sum_begin,
	.sum_wait = plx_mpi_sum_wait,
	.spread = plx_mpi_spread,
	.barrier = plx_mpi_barrier,
	.gather = plx_mpi_gather,
	.spread_idle = plx_mpi_spread_idle,
	.abort = mpi_abort,
	.destroy = mpi_destroy,
};

struct plx_coll *plx_coll_mpi_create(struct plx_error *err)
{
	struct plx_mpi *m = calloc(1, sizeof(*m));

	if (!m) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	m->base.ops = &mpi_ops;
	m->base.timeout_s = PLX_COLL_TIMEOUT_S;
	m->comm = MPI_COMM_NULL;
	if (initialise(m, err) == 0 && join(m, err) == 0 &&
	    find_nodes(m, err) == 0)
		return &m->base;
	mpi_destroy(&m->base);
	return NULL;
}
