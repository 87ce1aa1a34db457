/* SPDX-License-Identifier: MIT */
/* refusal.h - why a job did not get what it was to have, in a word */
#ifndef PLX_CORE_REFUSAL_H
#define PLX_CORE_REFUSAL_H

/* What an operator would have to change. */
enum plx_refusal {
	PLX_REFUSED_LIMITS, /* account, QOS, licences */
	PLX_REFUSED_ROOM,   /* no GPU, CPU or memory left there */
	PLX_REFUSED_NODES,  /* the node may not be used, or is gone */
	PLX_REFUSED_HOME,   /* nobody knows where its script runs */
	PLX_REFUSED_STEPS,  /* its steps do not end */
	PLX_REFUSED_RANKS,  /* its new ranks failed there */
	PLX_REFUSED_OTHER,
	PLX_REFUSALS,
};

const char *plx_refusal_name(enum plx_refusal refusal);

/* The kind of a sentence that sched/pollux or Slurm gave as the reason. */
enum plx_refusal plx_refusal_of(const char *why);

#endif
