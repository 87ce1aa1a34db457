/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switches.c - the leaf switches, or blocks, that nodes are on
 *
 * To ask Slurm takes a text of each node, some milliseconds in all on a
 * large cluster, so what was read is kept.
 */
#include <pthread.h>
#include <string.h>

#include "core/records/refusal.h"
#include "sched/pollux/rules/switches.h"

/* Newer releases may have nodes change their switch at any time. */
#define KEPT_S 600

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* What was read last; protected by the mutex. */
static struct {
	int count;	   /* of nodes; 0: nothing was read */
	time_t configured; /* then */
	time_t read;
	int *switches; /* NULL: none are known */
} kept;

/* The number of a text among those before it, or the next one. */
static int _number(char **texts, const int *numbers, int n, int *count)
{
	/* The nodes of a switch mostly follow one another. */
	for (int i = n - 1; i >= 0; i--) {
		if (!xstrcmp(texts[i], texts[n]))
			return numbers[i];
	}
	return (*count)++;
}

static int *_read(void)
{
	char **texts = xcalloc(node_record_count + 1, sizeof(*texts));
	int *numbers = xcalloc(node_record_count + 1, sizeof(*numbers));
	bool known = false;
	int count = 0;

	for (int n = 0; n < node_record_count; n++) {
		const node_record_t *node = node_record_table_ptr[n];

		if (node)
			texts[n] = pollux_slurm_switch(node);
		known = known || texts[n];
	}
	for (int n = 0; known && n < node_record_count; n++)
		numbers[n] = _number(texts, numbers, n, &count);
	for (int n = 0; n < node_record_count; n++)
		xfree(texts[n]);
	xfree(texts);
	if (!known)
		xfree(numbers);
	return numbers;
}

int *pollux_switches_read(void)
{
	size_t size = (size_t) node_record_count * sizeof(int);
	time_t now = time(NULL);
	int *switches = NULL;

	slurm_mutex_lock(&mutex);
	if (kept.count != node_record_count ||
	    kept.configured != slurm_conf.last_update ||
	    difftime(now, kept.read) >= KEPT_S || now < kept.read) {
		xfree(kept.switches);
		kept.switches = _read();
		kept.count = node_record_count;
		kept.configured = slurm_conf.last_update;
		kept.read = now;
	}
	if (kept.switches) {
		switches = xmalloc(size + 1);
		memcpy(switches, kept.switches, size);
	}
	slurm_mutex_unlock(&mutex);
	return switches;
}

int pollux_switches_asked(const job_record_t *job,
			  const struct pollux_job_options *asked)
{
	if (!asked->nodes.switches || job->req_switch >= NO_VAL)
		return 0;
	return (int) MIN(job->req_switch, INT32_MAX);
}

int pollux_switches_most(const job_record_t *job)
{
	struct pollux_job_options asked;

	(void) pollux_job_options(job, &asked);
	return pollux_switches_asked(job, &asked);
}

/* On how many switches these nodes are. */
static int _count(const int *switches, bitstr_t *nodes)
{
	bitstr_t *seen = bit_alloc(node_record_count);
	int count = 0;

	for (int n = pollux_slurm_first_node(nodes); n < node_record_count;
	     n = pollux_slurm_node_after(nodes, n))
		bit_set(seen, switches[n]);
	count = bit_set_count(seen);
	FREE_NULL_BITMAP(seen);
	return count;
}

bool pollux_switches_over(const job_record_t *job, bitstr_t *nodes)
{
	int most = pollux_switches_most(job);
	int *switches = most ? pollux_switches_read() : NULL;
	bool over = switches && _count(switches, nodes) > most;

	xfree(switches);
	return over;
}

int pollux_switches_test(const job_record_t *job,
			 const struct pollux_shape *shape,
			 struct plx_error *err)
{
	/* What it had on more is not lost to it by a resize that fails. */
	int most = shape->back ? 0 : pollux_switches_most(job);
	int *switches = most ? pollux_switches_read() : NULL;
	int rc = 0;

	if (switches) {
		int count = _count(switches, shape->nodes);

		if (count > most && count > _count(switches, job->node_bitmap))
			rc = plx_fail_as(err, PLX_REFUSED_NODES,
					 "its user asked for at most %d "
					 "switch%s, and this would take %d",
					 most, most == 1 ? "" : "es", count);
	}
	xfree(switches);
	return rc;
}
