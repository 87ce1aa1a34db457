/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_options.c - what a job's user allowed, read once */

#include <pthread.h>
#include <string.h>

#include "sched/pollux/job_options.h"

/* More jobs than that are read again where two have the same place. */
#define PLACES 4096

struct place {
	uint32_t job_id; /* 0: nobody's */
	uint32_t count;	 /* of strings, and where they are: the same text */
	char **from;
	struct pollux_job_options asked;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct place places[PLACES]; /* protected by the mutex */

static void _read(const job_record_t *job, struct pollux_job_options *asked)
{
	char **env = job->spank_job_env;
	uint32_t count = job->spank_job_env_size;

	memset(asked, 0, sizeof(*asked));
	asked->elastic = elastic_text(env, count) != NULL;
	asked->valid = elastic_options(env, count, &asked->options, NULL) == 1;
}

bool pollux_job_options(const job_record_t *job,
			struct pollux_job_options *asked)
{
	struct place *place = &places[job->job_id % PLACES];

	if (!job->spank_job_env_size) {
		memset(asked, 0, sizeof(*asked));
		return false;
	}
	slurm_mutex_lock(&mutex);
	if (place->job_id != job->job_id || place->from != job->spank_job_env ||
	    place->count != job->spank_job_env_size) {
		_read(job, &place->asked);
		place->job_id = job->job_id;
		place->from = job->spank_job_env;
		place->count = job->spank_job_env_size;
	}
	*asked = place->asked;
	slurm_mutex_unlock(&mutex);
	/* Alone of these it may be updated (job_submit/pollux/modify.h). */
	asked->nodes =
		elastic_read_nodes(job->spank_job_env, job->spank_job_env_size);
	return asked->valid;
}

bool pollux_is_elastic(const job_record_t *job)
{
	struct pollux_job_options asked;

	(void) pollux_job_options(job, &asked);
	return asked.elastic;
}
