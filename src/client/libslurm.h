/* SPDX-License-Identifier: MIT */
/*
 * libslurm.h - libslurm as this project's programs see it
 *
 * The only place outside src/plugins that asks which Slurm this is: 22.05, or
 * 24.11 to 26.05. Include it in place of slurm/slurm.h. The calls are
 * libslurm's: thread-safe as those are, and they set errno.
 */
#ifndef PLX_CLIENT_LIBSLURM_H
#define PLX_CLIENT_LIBSLURM_H

/* 26.05 names jobs by a structure; so it also takes their numbers. */
#define SLURM_BACKWARD_COMPAT
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <errno.h>

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0)
typedef hostlist_t *plx_hostlist;
#else
typedef hostlist_t plx_hostlist;
#endif

/* 25.11 tells steps of a job by one structure. */
#define PLX_SLURM_STEP_IDS                                                     \
	(SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0))

#if PLX_SLURM_STEP_IDS
static inline slurm_step_id_t plx_slurm_step(uint32_t job, uint32_t step)
{
	slurm_step_id_t id = {
		.job_id = job,
		.step_het_comp = NO_VAL,
		.step_id = step,
	};

	return id;
}
#endif

static inline void plx_slurm_free_conf(slurm_conf_t *conf)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
	slurm_free_conf(conf);
#else
	slurm_free_ctl_conf(conf);
#endif
}

/* All steps of the job; the caller's to free. */
static inline int plx_slurm_steps(uint32_t job,
				  job_step_info_response_msg_t **answer)
{
#if PLX_SLURM_STEP_IDS
	slurm_step_id_t id = plx_slurm_step(job, NO_VAL);

	return slurm_get_job_steps(&id, answer, SHOW_ALL);
#else
	return slurm_get_job_steps(0, job, NO_VAL, answer, SHOW_ALL);
#endif
}

static inline int plx_slurm_kill_step(uint32_t job, uint32_t step, int signal)
{
#if PLX_SLURM_STEP_IDS
	slurm_step_id_t id = plx_slurm_step(job, step);

	return slurm_kill_job_step(&id, (uint16_t) signal, 0);
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0)
	return slurm_kill_job_step(job, step, (uint16_t) signal, 0);
#else
	return slurm_kill_job_step(job, step, (uint16_t) signal);
#endif
}

/* An update is about this job. */
static inline void plx_slurm_name_job(job_desc_msg_t *update, uint32_t job)
{
#if PLX_SLURM_STEP_IDS
	update->step_id = plx_slurm_step(job, NO_VAL);
#else
	update->job_id = job;
#endif
}

static inline uint32_t plx_slurm_submitted(const submit_response_msg_t *answer)
{
#if PLX_SLURM_STEP_IDS
	return answer->step_id.job_id;
#else
	return answer->job_id;
#endif
}

/*
 * CPUs that the job has on a node; 0: not told. Newer libraries tell their sum
 * alone: then this node has `part` of `parts` of them.
 */
static inline int plx_slurm_cpus(const slurm_job_info_t *job, const char *node,
				 int part, int parts)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0)
	(void) node;
	return parts > 0 ? (int) ((long) job->num_cpus * part / parts) : 0;
#else
	(void) part;
	(void) parts;
	return job->job_resrcs
		       ? slurm_job_cpus_allocated_on_node(job->job_resrcs, node)
		       : 0;
#endif
}

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 0)
/*
 * libslurm 22.05 forgets a record's system_comment. Its memory is not ours to
 * give to free(), and this function of libslurm is in no public header.
 */
extern void slurm_xfree(void **memory);
#endif

static inline void plx_slurm_free_jobs(job_info_msg_t *jobs)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 0)
	for (uint32_t i = 0; i < jobs->record_count; i++)
		slurm_xfree((void **) &jobs->job_array[i].system_comment);
#endif
	slurm_free_job_info_msg(jobs);
}

#endif
