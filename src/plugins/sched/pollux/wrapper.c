/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wrapper.c - what slurmctld sees of sched/pollux
 *
 * Goodput scheduling of elastic jobs: see pollux(7). Rigid jobs are started
 * by slurmctld's own loop and by Slurm's backfill scheduler beside us.
 */
#include "common/slurm_compat.h"
#include "sched/pollux/backfill/backfill.h"
#include "sched/pollux/look/hosts.h"
#include "sched/pollux/pollux.h"
#include "sched/pollux/look/steps.h"

/* Required Slurm plugin symbols: */
const char plugin_name[] = "Pollux goodput scheduler plugin";
const char plugin_type[] = "sched/pollux";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;
int init(void);
void fini(void);
int sched_p_reconfig(void);

static pthread_mutex_t thread_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread; /* protected by thread_mutex, as is: */
static bool running;

static bool started; /* protected by slurmctld's configuration lock */

/* What cannot work is said once, at the start. */
static void _check_configuration(void)
{
	if (xstrcmp(slurm_conf.select_type, "select/cons_tres"))
		error("sched/pollux: SelectType=%s: elastic jobs need "
		      "select/cons_tres and are not resized",
		      slurm_conf.select_type);
}

int init(void)
{
	if (slurmctld_config.scheduling_disabled)
		return SLURM_SUCCESS;
	_check_configuration();
	if (pollux_reconfig())
		pollux_backfill_start();
	slurm_mutex_lock(&thread_mutex);
	if (!running) {
		running = !pthread_create(&thread, NULL, pollux_agent, NULL);
		pollux_hosts_watch();
		if (running)
			info("sched/pollux: started");
		else
			error("sched/pollux: no thread: elastic jobs keep "
			      "what they have");
	}
	slurm_mutex_unlock(&thread_mutex);
	return SLURM_SUCCESS;
}

void fini(void)
{
	slurm_mutex_lock(&thread_mutex);
	if (running) {
		pollux_stop();
		pthread_join(thread, NULL);
		running = false;
		pollux_hosts_unwatch();
		verbose("sched/pollux: stopped");
	}
	slurm_mutex_unlock(&thread_mutex);
	pollux_backfill_stop();
}

int sched_p_reconfig(void)
{
	(void) pollux_reconfig();
	/* slurmctld calls this with all locks, first when it has its state. */
	if (!started) {
		pollux_hosts_started();
		pollux_steps_started();
	} else {
		pollux_hosts_mend_all();
	}
	started = true;
	pollux_backfill_reconfig();
	return SLURM_SUCCESS;
}
