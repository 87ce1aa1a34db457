/* SPDX-License-Identifier: MIT */
/*
 * coll.h - what ranks do together, whatever carries it
 *
 * One table of operations a vendor: coll_self.c (one rank), coll_mpi.c and
 * coll_nccl.c, the only files that include MPI or NCCL. All operations are
 * collective, and those that wait do so until all ranks take part.
 *
 * A rank that is lost or hangs makes them fail, when it is timeout_s late or
 * when this process is told to leave: MPI itself says nothing. After the first
 * failure every call fails at once with its sentence, and only abort() and
 * destroy() make sense.
 */
#ifndef PLX_AGENT_COLL_H
#define PLX_AGENT_COLL_H

#include <signal.h>
#include <stddef.h>

#include "agent/pollux.h"
#include "core/base/error.h"

struct plx_coll;

/*
 * Who wants to work on a sum's numbers while caches hold them. Called for one
 * part after the other from the first number on, as soon as it is summed; the
 * same parts on all ranks. A vendor that sums in one part need not call it.
 */
struct plx_seer {
	void (*see)(void *arg, size_t first, size_t count);
	void *arg;
};

struct plx_coll_ops {
	const char *name;
	/* Sum over ranks, in place; bit-identical on all of them. */
	int (*sum)(struct plx_coll *coll, float *data, size_t count,
		   struct plx_error *err);
	/*
	 * The same, in the background: NULL where a vendor cannot. Requests
	 * end in the order begun, each by wait(); data is host memory, or the
	 * device's where memory says so.
	 */
	int (*sum_begin)(struct plx_coll *coll, float *data, size_t count,
			 enum pollux_memory memory, struct plx_error *err);
	/*
	 * The oldest request that is under way. Where it ends in parts in host
	 * memory, seer (may be NULL) sees each of them; see below.
	 */
	int (*sum_wait)(struct plx_coll *coll, const struct plx_seer *seer,
			struct plx_error *err);
	/* From rank 0 to all. */
	int (*spread)(struct plx_coll *coll, void *data, size_t bytes,
		      struct plx_error *err);
	int (*barrier)(struct plx_coll *coll, struct plx_error *err);
	/* bytes of each rank to rank 0, in rank order; out elsewhere NULL. */
	int (*gather)(struct plx_coll *coll, const void *data, size_t bytes,
		      void *out, struct plx_error *err);
	/*
	 * As spread, but without using up a CPU while rank 0 takes its time,
	 * for which there is no limit.
	 */
	int (*spread_idle)(struct plx_coll *coll, void *data, size_t bytes,
			   struct plx_error *err);
	/*
	 * End all ranks with this exit code, the others without warning; in 5 s
	 * at most this one. Returns when alone.
	 */
	void (*abort)(struct plx_coll *coll, int code);
	void (*destroy)(struct plx_coll *coll);
};

struct plx_pulser;

struct plx_coll {
	const struct plx_coll_ops *ops;
	int rank;
	int ranks;
	int nodes;	/* distinct ones that hold ranks */
	int local_rank; /* among the ranks of this node, from 0 */
	int local_ranks;
	int node;	  /* number of this node, from 0 */
	double timeout_s; /* for a late rank, 0: wait for ever */
	/*
	 * Set by a signal handler: we are told to leave, perhaps because a rank
	 * is lost. Waits then go on for PLX_COLL_GRACE_S and fail. May be NULL.
	 */
	const volatile sig_atomic_t *leaving;
	/* Told that we wait, and asked why others are late. May be NULL. */
	struct plx_pulser *pulser;
};

#define PLX_COLL_GRACE_S   0.5
#define PLX_COLL_TIMEOUT_S 600 /* timeout_s, until somebody sets another */

/*
 * Set up by name: "auto", "self", "mpi" or "nccl"; all ranks end with the
 * same. The caller's to destroy, through ops. NULL with err set.
 */
struct plx_coll *plx_coll_create(const char *name, struct plx_error *err);

struct plx_coll *plx_coll_self_create(struct plx_error *err);
struct plx_coll *plx_coll_mpi_create(struct plx_error *err);

/*
 * NCCL for sums, over base for all else. Collective over base: NULL on all
 * ranks if one cannot (err says why, on all of them), base then untouched; on
 * success base belongs to the result.
 */
struct plx_coll *plx_coll_nccl_create(struct plx_coll *base,
				      struct plx_error *err);

#endif
