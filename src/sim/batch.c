/* SPDX-License-Identifier: MIT */
/* batch.c - every policy on every workload, on all cores */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/batch.h"

struct pool {
	pthread_mutex_t mutex; /* protects next and done */
	int next;
	int done;
	struct plx_task *tasks;
	int count;
	bool progress;
};

static struct plx_task *take(struct pool *pool)
{
	struct plx_task *task = NULL;

	pthread_mutex_lock(&pool->mutex);
	if (pool->next < pool->count)
		task = &pool->tasks[pool->next++];
	pthread_mutex_unlock(&pool->mutex);
	return task;
}

static void finish(struct pool *pool)
{
	pthread_mutex_lock(&pool->mutex);
	pool->done++;
	if (pool->progress)
		fprintf(stderr, "\r%d of %d simulations done%s", pool->done,
			pool->count, pool->done < pool->count ? "" : "\n");
	pthread_mutex_unlock(&pool->mutex);
}

static void *work(void *arg)
{
	struct pool *pool = arg;
	struct plx_task *task;

	while ((task = take(pool))) {
		task->rc = plx_simulate(task->setting, task->policy,
					task->workload, &task->run_result,
					&task->err);
		finish(pool);
	}
	return NULL;
}

int plx_tasks_run(struct plx_task *tasks, int count, int threads, bool progress,
		  struct plx_error *err)
{
	struct pool pool = { .mutex = PTHREAD_MUTEX_INITIALIZER,
			     .tasks = tasks,
			     .count = count,
			     .progress = progress };
	pthread_t *others = calloc((size_t) threads, sizeof(*others));
	int started = 0;

	/* The caller works, too: without more threads it does all. */
	while (others && started < threads - 1 &&
	       pthread_create(&others[started], NULL, work, &pool) == 0)
		started++;
	work(&pool);
	while (started > 0)
		pthread_join(others[--started], NULL);
	free(others);
	for (int i = 0; i < count; i++) {
		if (tasks[i].rc < 0)
			return plx_fail(err, "%s", tasks[i].err.text);
	}
	return 0;
}
