/* SPDX-License-Identifier: MIT */
/*
 * sick.h - nodes on which the ranks of jobs failed, and whom they are closed to
 *
 * What a job says of a node closes that node to this job, for a while that
 * doubles each time. Two jobs of an owner close it to all jobs of that owner.
 * Two owners close it to all, where not too many nodes are closed so, and
 * where neither has complained about many nodes: then the program is to blame.
 * A job that begins to train on the node opens it again.
 *
 * So who lies alone closes nodes to himself. Pure: time is an argument,
 * seconds of a clock that never jumps; tables are bounded; a zeroed struct
 * plx_sick knows of no complaint.
 */
#ifndef PLX_CORE_SICK_H
#define PLX_CORE_SICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLX_SICK_NODES	    64 /* remembered at a time */
#define PLX_SICK_COMPLAINTS 8  /* of different jobs, about a node */
#define PLX_SICK_NAME	    64 /* bytes of a node's name, with the NUL */
#define PLX_SICK_CREDIBLE   4  /* nodes an owner may complain about, to count */
#define PLX_SICK_DOUBLES    5  /* times that a wait doubles */
#define PLX_SICK_MEMORY	    16 /* first waits that a complaint is kept for */

enum plx_closed {
	PLX_CLOSED_NOT,
	PLX_CLOSED_JOB,
	PLX_CLOSED_OWNER,
	PLX_CLOSED_ALL,
};

struct plx_complaint {
	uint32_t job;
	uint32_t owner;
	bool sure;	/* it names this very node */
	int times;	/* in a row */
	double last_s;	/* the newest */
	double until_s; /* that the node is closed to the job */
};

struct plx_sick_node {
	char name[PLX_SICK_NAME];
	struct plx_complaint by[PLX_SICK_COMPLAINTS];
	int count;
	int outs;	/* times that it was closed to all */
	double until_s; /* that it is; 0: never was */
	bool out;	/* was closed, and nobody was told that it is open */
};

struct plx_sick {
	struct plx_sick_node nodes[PLX_SICK_NODES];
	int count;
};

/* One complaint. */
struct plx_sick_claim {
	const char *node;
	uint32_t job;
	uint32_t owner;
	bool sure;
	double now_s;
	double wait_s; /* the first wait, > 0 */
	int cluster;   /* nodes there are */
};

/*
 * Take a complaint. To whom the node is closed now that it was not closed to
 * before; *until_s, where it is not PLX_CLOSED_NOT: how long.
 */
enum plx_closed plx_sick_complain(struct plx_sick *sick,
				  const struct plx_sick_claim *claim,
				  double *until_s);

/*
 * To whom, of those that this job belongs to, is the node closed? What the job
 * said itself goes before what others did.
 */
enum plx_closed plx_sick_closed(const struct plx_sick *sick, const char *node,
				uint32_t job, uint32_t owner, double now_s);

/* Until when it is closed to all; 0: it is not. */
double plx_sick_out_s(const struct plx_sick *sick, const char *node,
		      double now_s);
/* The two jobs that complained last, of different owners if there are. */
void plx_sick_jobs(const struct plx_sick *sick, const char *node,
		   uint32_t jobs[2]);
/* Nodes closed to all. */
int plx_sick_out_count(const struct plx_sick *sick, double now_s);

/*
 * A job trains there with ranks that were started at began_s: complaints that
 * are older are forgotten. True when there were any.
 */
bool plx_sick_well(struct plx_sick *sick, const char *node, double began_s);

/* Forget what is too old, with the first wait as it is now. */
void plx_sick_forget(struct plx_sick *sick, double now_s, double wait_s);

/* A node that was closed to all and is not any more, each once; NULL: none. */
const char *plx_sick_opened(struct plx_sick *sick, double now_s);

/* The earliest time after now_s at which a node opens to somebody; or 0. */
double plx_sick_next_s(const struct plx_sick *sick, double now_s);

/* Most nodes of so many that are closed to all at a time. */
int plx_sick_most(int cluster);

#endif
