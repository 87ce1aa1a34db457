/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preempt_link.h - what preempt/pollux_* and sched/pollux tell each other
 *
 * slurmctld loads both, the former first. It finds the latter's table of
 * functions, and hands over the rule of who may preempt whom. Either works
 * without the other.
 */
#ifndef POLLUX_PREEMPT_LINK_H
#define POLLUX_PREEMPT_LINK_H

#include "common/slurm_compat.h"

/* Slurm's own rule, of preempt/qos or preempt/partition_prio. */
struct pollux_preempt_rule {
	/* By its QOS or partition, without any time; read locks on both jobs.
	 */
	bool (*may)(job_record_t *victim, job_record_t *preemptor);
	/* PREEMPT_MODE_* of a victim, without flags; same locks. */
	uint16_t (*mode)(job_record_t *victim);
};

/* The symbol of sched/pollux that has it. */
#define POLLUX_PREEMPT_LINK "pollux_preempt_link"

/* Any thread, any time; nothing waits for more than a copy. */
struct pollux_preempt_link {
	size_t size; /* of this */
	/* Where detach() is called, nobody is looking at jobs. */
	void (*attach)(const struct pollux_preempt_rule *rule);
	void (*detach)(void);
	/*
	 * Is the victim spared this preemptor, who may preempt it? grace_s: its
	 * GraceTime, 0: none. Read locks on both jobs.
	 */
	bool (*exempts)(const job_record_t *victim,
			const job_record_t *preemptor, uint32_t grace_s);
	/* Has it had its GraceTime: was it asked for GPUs all that time? */
	bool (*had_grace)(const job_record_t *victim);
};

#endif
