/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preempt_pollux.c - elastic jobs give up GPUs instead of being preempted
 *
 * Built twice, as preempt/pollux_qos and preempt/pollux_partition_prio: each
 * asks Slurm's own plugin of the latter part of that name, and says of a job
 * that makes room, or may yet, that it cannot be preempted. Slurm's select
 * plugin looks for "qos" and "partition" in PreemptType. See
 * docs/decisions/0128-elastic-victims-give-what-is-needed.md.
 */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "common/loaded.h"
#include "common/preempt_link.h"
#include "common/slurm_compat.h"

#ifndef POLLUX_PREEMPT_BY
#define POLLUX_PREEMPT_BY "qos" /* the build says which */
#endif
#define OURS   "preempt/pollux_" POLLUX_PREEMPT_BY
#define SLURMS "preempt_" POLLUX_PREEMPT_BY ".so"

/* Required Slurm plugin symbols: */
const char plugin_name[] = "Pollux preemption by " POLLUX_PREEMPT_BY;
const char plugin_type[] = OURS;
uint32_t plugin_version = SLURM_VERSION_NUMBER;
int init(void);
void fini(void);
bool preempt_p_job_preempt_check(job_queue_rec_t *preemptor,
				 job_queue_rec_t *preemptee);
bool preempt_p_preemptable(job_record_t *preemptee, job_record_t *preemptor);

/* Slurm's plugin. It stays mapped: others may be in it. */
static struct {
	bool (*check)(job_queue_rec_t *preemptor, job_queue_rec_t *preemptee);
	bool (*preemptable)(job_record_t *preemptee, job_record_t *preemptor);
#if POLLUX_PREEMPT_GET_DATA
	int (*get_data)(job_record_t *job, slurm_preempt_data_type_t type,
			void *data);
#else
	uint32_t (*grace_time)(job_record_t *job);
	uint16_t (*mode)(job_record_t *job);
	uint32_t (*prio)(job_record_t *job);
#endif
} wrapped;

static bool strange; /* no Slurm that we know: no record is looked into */

static struct {
	pthread_mutex_t mutex;
	const struct pollux_preempt_link *link; /* NULL: not loaded yet */
	time_t looked;				/* for it, last */
	bool refused; /* it does not fit, and that was told */
} sched = {
	/* all protected by the mutex, a leaf */
	.mutex = PTHREAD_MUTEX_INITIALIZER,
};

__attribute__((constructor)) static void _learn(void)
{
	pollux_loaded_learn(&plugin_version);
}

static uint32_t _grace_time(job_record_t *job)
{
#if POLLUX_PREEMPT_GET_DATA
	uint32_t grace = 0;

	return wrapped.get_data(job, PREEMPT_DATA_GRACE_TIME, &grace) ==
			       SLURM_SUCCESS
		       ? grace
		       : 0;
#else
	return wrapped.grace_time(job);
#endif
}

static uint16_t _mode(job_record_t *job)
{
#if POLLUX_PREEMPT_GET_DATA
	uint16_t mode = PREEMPT_MODE_OFF;

	return wrapped.get_data(job, PREEMPT_DATA_MODE, &mode) == SLURM_SUCCESS
		       ? mode
		       : PREEMPT_MODE_OFF;
#else
	return wrapped.mode(job);
#endif
}

static bool _may(job_record_t *victim, job_record_t *preemptor)
{
	return wrapped.preemptable(victim, preemptor);
}

static const struct pollux_preempt_rule rule = { .may = _may, .mode = _mode };

/* It is not unmapped any more then. */
static const struct pollux_preempt_link *_load_link(void)
{
	const struct pollux_preempt_link *link = NULL;
	void *plugin = pollux_loaded_scheduler();

	if (plugin)
		link = dlsym(plugin, POLLUX_PREEMPT_LINK);
	if (link && link->size != sizeof(*link))
		link = NULL;
	if (plugin && !link) {
		sched.refused = true;
		error("%s: sched/pollux is of another version: elastic jobs "
		      "are preempted whole",
		      OURS);
		dlclose(plugin);
	}
	return link;
}

/* sched/pollux, once slurmctld has loaded it; NULL: all is as Slurm says. */
static const struct pollux_preempt_link *_link(void)
{
	const struct pollux_preempt_link *link = NULL;
	time_t now = time(NULL);

	if (strange)
		return NULL;
	slurm_mutex_lock(&sched.mutex);
	if (!sched.link && !sched.refused && sched.looked != now) {
		sched.looked = now;
		sched.link = _load_link();
		if (sched.link)
			sched.link->attach(&rule);
	}
	link = sched.link;
	slurm_mutex_unlock(&sched.mutex);
	return link;
}

/* Slurm's plugin, of the first folder that has it. */
static void *_open(void)
{
	char *folders = xstrdup(slurm_conf.plugindir);
	void *plugin = NULL;
	char *path = NULL;
	char *rest = NULL;

	for (char *folder = folders ? strtok_r(folders, ":", &rest) : NULL;
	     folder && !plugin; folder = strtok_r(NULL, ":", &rest)) {
		path = xstrdup_printf("%s/%s", folder, SLURMS);
		if (!access(path, R_OK))
			plugin = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
		xfree(path);
	}
	xfree(folders);
	return plugin;
}

/* The same version: it sees the same structures. */
static bool _wrap(void *plugin)
{
	const uint32_t *version = dlsym(plugin, "plugin_version");

	*(void **) &wrapped.check =
		dlsym(plugin, "preempt_p_job_preempt_check");
	*(void **) &wrapped.preemptable =
		dlsym(plugin, "preempt_p_preemptable");
#if POLLUX_PREEMPT_GET_DATA
	*(void **) &wrapped.get_data = dlsym(plugin, "preempt_p_get_data");
	if (!wrapped.get_data)
		return false;
#else
	*(void **) &wrapped.grace_time =
		dlsym(plugin, "preempt_p_get_grace_time");
	*(void **) &wrapped.mode = dlsym(plugin, "preempt_p_get_mode");
	*(void **) &wrapped.prio = dlsym(plugin, "preempt_p_get_prio");
	if (!wrapped.grace_time || !wrapped.mode || !wrapped.prio)
		return false;
#endif
	return version && *version == pollux_loaded_release() &&
	       wrapped.check && wrapped.preemptable;
}

/* As slurmctld does for its own two. */
static bool _is_off(void)
{
	return !(slurm_conf.preempt_mode &
		 ~(PREEMPT_MODE_GANG | PREEMPT_MODE_WITHIN |
		   POLLUX_PREEMPT_MODE_PRIORITY));
}

int init(void)
{
	char why[256];
	void *plugin = NULL;

	if (pollux_loaded_wrong(why, sizeof(why))) {
		strange = true;
		error("%s: %s: elastic jobs are preempted whole", OURS, why);
	} else if (_is_off()) {
		error("%s: PreemptMode is OFF: set REQUEUE, CANCEL or "
		      "SUSPEND,GANG, or take PreemptType out of slurm.conf",
		      OURS);
		return SLURM_ERROR;
	}
	plugin = _open();
	if (!plugin || !_wrap(plugin)) {
		error("%s: no %s of this version of Slurm in PluginDir=%s: put "
		      "Slurm's own plugins there",
		      OURS, SLURMS, slurm_conf.plugindir);
		return SLURM_ERROR;
	}
	verbose("%s: loaded", OURS);
	return SLURM_SUCCESS;
}

void fini(void)
{
	slurm_mutex_lock(&sched.mutex);
	if (sched.link)
		sched.link->detach();
	sched.link = NULL;
	slurm_mutex_unlock(&sched.mutex);
}

bool preempt_p_job_preempt_check(job_queue_rec_t *preemptor,
				 job_queue_rec_t *preemptee)
{
	return wrapped.check(preemptor, preemptee);
}

bool preempt_p_preemptable(job_record_t *preemptee, job_record_t *preemptor)
{
	const struct pollux_preempt_link *link = NULL;

	if (!wrapped.preemptable(preemptee, preemptor))
		return false;
	link = _link();
	return !link ||
	       !link->exempts(preemptee, preemptor, _grace_time(preemptee));
}

/* Who was asked all that time gets no second one. */
static uint32_t _grace_left(job_record_t *job)
{
	const struct pollux_preempt_link *link = _link();

	return link && link->had_grace(job) ? 0 : _grace_time(job);
}

#if POLLUX_PREEMPT_GET_DATA
int preempt_p_get_data(job_record_t *job, slurm_preempt_data_type_t type,
		       void *data);

int preempt_p_get_data(job_record_t *job, slurm_preempt_data_type_t type,
		       void *data)
{
	if (type != PREEMPT_DATA_GRACE_TIME)
		return wrapped.get_data(job, type, data);
	*(uint32_t *) data = _grace_left(job);
	return SLURM_SUCCESS;
}
#else
uint32_t preempt_p_get_grace_time(job_record_t *job);
uint16_t preempt_p_get_mode(job_record_t *job);
uint32_t preempt_p_get_prio(job_record_t *job);

uint32_t preempt_p_get_grace_time(job_record_t *job)
{
	return _grace_left(job);
}

uint16_t preempt_p_get_mode(job_record_t *job)
{
	return wrapped.mode(job);
}

uint32_t preempt_p_get_prio(job_record_t *job)
{
	return wrapped.prio(job);
}
#endif
