/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_efficiency.h - what jobs got from their GPUs, and what else they might
 * have had
 *
 * From the hint that the launcher leaves in the comment of every shape: the
 * job's model and noise as fitted by then, batch, goodput
 * (core/records/hint.h). G_k is the goodput function of the k-th hint used: of
 * the first, a middle and the last one that a job left. d_i are seconds of its
 * shapes s_i with GPUs.
 *
 * goodput     sum d_i g_i / sum d_i, where g_i is the goodput measured last
 *             in a shape, or what its hint's model says where it was too
 *             short to be measured.
 * efficiency  the same mean of measured goodput / measured samples a second.
 * lost        resizes x their median pause: training stood still.
 * fixed       T_k = (1 - lost / sum d_i) sum d_i G_k(s_i) / G_k(f) on f GPUs
 *             of as few nodes as the job ever had them on; f is the mean
 *             number of GPUs it held, rounded. Told is T of the last hint,
 *             between min T_k / (1 + e) and max T_k x (1 + e), with e the
 *             part by which the last model and the measured goodput of its
 *             shape differ. `beyond`: f is more than twice what the job had
 *             measured by then.
 * rho         finish-time fairness, core/model/finish_time.h, of jobs that
 *             completed. What it would take alone is T of its due. A job
 *             without a model would take as long as it ran, and on fewer GPUs
 *             than it held in proportion longer.
 *
 * The cluster and its number of jobs are those of the records: rho is right
 * where all of the cluster's jobs are among them.
 */
#ifndef PLX_REPORT_EFFICIENCY_H
#define PLX_REPORT_EFFICIENCY_H

#include "report/history.h"

struct plx_efficiency_setting {
	int cluster_gpus; /* 0: the most ever held at once */
	int fixed_gpus;	  /* 0: the mean of each job */
};

/*
 * Fill the yield of every record. Resolves a setting of 0 GPUs of the
 * cluster into *setting, for whoever tells what was assumed.
 */
int plx_efficiency_make(struct plx_history *history,
			struct plx_efficiency_setting *setting,
			struct plx_error *err);

/* Goodput and efficiency while it had this shape; NAN: not known. */
void plx_efficiency_span(const struct plx_history_span *span, double *goodput,
			 double *efficiency);

#endif
