/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_seen.h - the job's record in slurmctld, read and written with libslurm
 *
 * With address.h all of the launcher that talks to slurmctld. Each call is one
 * or two RPCs and may block for as long as Slurm's MessageTimeout.
 */
#ifndef PLX_LAUNCHER_JOB_SEEN_H
#define PLX_LAUNCHER_JOB_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/fields.h"
#include "core/records/sizes.h"
#include "core/records/target.h"
#include "launcher/rules/layout.h"

#define PLX_WHERE_SIZE 256

struct plx_job_seen {
	uint32_t id;
	bool over;		  /* no longer running: completed, requeued */
	double limit_s;		  /* its time limit; 0: none */
	double left_s;		  /* of it, as slurmctld counts; may be < 0 */
	struct plx_layout layout; /* where ranks go now; none when parked */
	struct plx_layout aim;	  /* and where they are to stay, when lent */
	char aim_where[PLX_WHERE_SIZE];
	/* Its nodes without a GPU that it is to have, or "": no ranks there. */
	char spared[PLX_WHERE_SIZE];
	bool away;		     /* rank 0 is on another machine than we */
	bool aim_away;		     /* the same, once it has its aim */
	char where[PLX_WHERE_SIZE];  /* its nodes, as n[1-4] */
	struct plx_target target;    /* zeroed when there is none */
	bool bad_target;	     /* there is one that cannot be read */
	char status[PLX_FIELDS_MAX]; /* our section of its comment, "": none */
};

/* Which job, and how its record is to be read. */
struct plx_job_who {
	uint32_t id;
	bool elastic;		/* parked, not rigid, when it has no GPUs */
	const char *batch_host; /* our node, NULL: not a node of the cluster */
	struct plx_sizes sizes; /* that its ranks may have */
};

/* What is to stand in its comment. */
struct plx_job_words {
	const char *fields;
	const char *bare; /* when that is too long */
	bool shortened;	  /* it was: set by plx_job_publish() */
};

/* False: built without libslurm, every call here fails. */
extern const bool plx_job_slurm;

/* Once, before all else. */
void plx_job_setup(void);

/*
 * What slurmctld says now. An elastic job without GPUs is parked as soon as it
 * was ever given a target; otherwise its tasks are spread over CPUs. Rank 0 is
 * put on the batch host if that has ranks. Of GPUs that are none of its sizes
 * (a node was lost) some have no rank. *job is overwritten on success; the
 * caller's to release.
 */
int plx_job_load(const struct plx_job_who *who, struct plx_job_seen *job,
		 struct plx_error *err);
void plx_job_release(struct plx_job_seen *job);

/* As if it had no ranks to be on these nodes: they are spared. */
void plx_job_without(struct plx_job_seen *job, const struct plx_layout *gone);

/*
 * Put words into the job's comment, the user's text kept. The record that was
 * read for that is the caller's to release if *seen has an id afterwards, also
 * when the words could not be written.
 */
int plx_job_publish(const struct plx_job_who *who, struct plx_job_words *words,
		    struct plx_job_seen *seen, struct plx_error *err);

/* Signal the job's running steps of that name; none is no failure. */
int plx_job_signal_step(uint32_t id, const char *name, int signal,
			struct plx_error *err);

/*
 * How many of the job's steps have a name that begins so? They are sent the
 * signal, 0: none. -1 with err set.
 */
int plx_job_left_steps(uint32_t id, const char *prefix, int signal,
		       struct plx_error *err);

#endif
