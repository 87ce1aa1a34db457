/* SPDX-License-Identifier: MIT */
/*
 * refusal.h - why a job did not get what it was to have, in a word
 *
 * Who writes the sentence says its kind: plx_fail_as() of core/base/error.h.
 */
#ifndef PLX_CORE_REFUSAL_H
#define PLX_CORE_REFUSAL_H

/* What an operator would have to change. */
enum plx_refusal {
	PLX_REFUSED_OTHER,	/* what plx_fail() leaves */
	PLX_REFUSED_LIMITS,	/* account, QOS, partition, licences, max= */
	PLX_REFUSED_RESOURCES,	/* no GPU, CPU or memory left there */
	PLX_REFUSED_NODES,	/* the node may not be used, or is gone */
	PLX_REFUSED_BATCH_HOST, /* nobody knows where its script runs */
	PLX_REFUSED_STEPS,	/* its steps have not ended */
	PLX_REFUSED_RANKS,	/* its new ranks failed there */
	PLX_REFUSALS,
};

/* "other" where that is none of them. */
const char *plx_refusal_name(int refusal);

#endif
