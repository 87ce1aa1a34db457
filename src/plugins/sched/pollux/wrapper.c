/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wrapper.c - what slurmctld sees of sched/pollux
 *
 * Goodput scheduling of elastic jobs: see pollux(7). Rigid jobs are started
 * by slurmctld's own loop and by Slurm's backfill scheduler beside us.
 *
 * The file may have the name of Slurm's backfill, too, in a folder that comes
 * before Slurm's own in PluginDir. Then SchedulerType stays sched/backfill, and
 * slurmctld takes heterogeneous jobs:
 * docs/decisions/0129-in-the-place-of-backfill.md.
 */
#include "common/record_layout.h"
#include "common/loaded.h"
#include "common/slurm_compat.h"
#include "sched/pollux/backfill/backfill.h"
#include "sched/pollux/snapshot/hosts.h"
#include "sched/pollux/sched_thread.h"
#include "sched/pollux/snapshot/steps.h"

/* Required Slurm plugin symbols: */
const char plugin_name[] = "Pollux goodput scheduler plugin";
const char plugin_type[] = "sched/pollux";
uint32_t plugin_version = SLURM_VERSION_NUMBER;
int init(void);
void fini(void);
int sched_p_reconfig(void);

static pthread_mutex_t thread_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread; /* protected by thread_mutex, as is: */
static bool running;

static bool started; /* protected by slurmctld's configuration lock */

/*
 * This is no Slurm that we know. Nothing of it is touched: only its backfill
 * is run, as if SchedulerType were sched/backfill.
 */
static bool strange;

__attribute__((constructor)) static void _learn(void)
{
	pollux_loaded_learn(&plugin_version);
}

static void _stand_aside(const char *why)
{
	strange = true;
	error("sched/pollux: %s: no job is resized, elastic ones keep what "
	      "they have, and Slurm's backfill goes on",
	      why);
}

/* What cannot work is said once, at the start. */
static void _check_configuration(void)
{
	if (xstrcmp(slurm_conf.select_type, "select/cons_tres"))
		error("sched/pollux: SelectType=%s: elastic jobs need "
		      "select/cons_tres and are not resized",
		      slurm_conf.select_type);
}

/* slurmctld found our file where it looked for that of this name. */
static bool _stands_in(void)
{
	return !xstrcmp(slurm_conf.schedtype, "sched/backfill");
}

int init(void)
{
	char why[256];

	if (pollux_loaded_wrong(why, sizeof(why))) {
		_stand_aside(why);
		pollux_backfill_start(pollux_loaded_folder());
		return SLURM_SUCCESS;
	}
	if (slurmctld_config.scheduling_disabled)
		return SLURM_SUCCESS;
	_check_configuration();
	if (pollux_reconfig())
		pollux_backfill_start(slurm_conf.plugindir);
	slurm_mutex_lock(&thread_mutex);
	if (!running) {
		running = !pthread_create(&thread, NULL, pollux_agent, NULL);
		pollux_hosts_watch();
		if (running)
			info("sched/pollux: started%s",
			     _stands_in() ? ", in the place of sched/backfill"
					  : "");
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
	pollux_backfill_reconfig();
	if (strange)
		return SLURM_SUCCESS;
	(void) pollux_reconfig();
	/* slurmctld calls this with all locks, first when it has its state. */
	if (pollux_layout_wrong())
		return SLURM_SUCCESS;
	if (!started) {
		pollux_hosts_started();
		pollux_steps_started();
	} else {
		pollux_hosts_mend_all();
	}
	started = true;
	return SLURM_SUCCESS;
}
