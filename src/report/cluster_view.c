/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cluster_view.c - see cluster_view.h; all of it but the loading and the JSON
 */

#define _GNU_SOURCE

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/text.h"
#include "report/cluster_view.h"

#define LEFT_MAX_S 1e9	 /* a guess beyond that is none */
#define GPUS_MAX   65536 /* of a node: more are no count of GPUs */

/* The count of one entry: the last number before '(' or its end. */
static int entry_gpus(const char *entry, size_t size)
{
	const char *paren = memchr(entry, '(', size);
	const char *colon;
	int64_t count = 0;

	if (size < 4 || strncmp(entry, "gpu:", 4) != 0)
		return 0;
	if (paren)
		size = paren - entry;
	colon = memrchr(entry, ':', size);
	for (const char *p = colon + 1; p < entry + size; p++) {
		if (*p < '0' || *p > '9' || count > GPUS_MAX)
			return 0;
		count = 10 * count + (*p - '0');
	}
	return count <= GPUS_MAX ? (int) count : 0;
}

int plx_gres_gpus(const char *gres)
{
	int gpus = 0;
	int depth = 0;
	const char *start = gres;

	if (!gres)
		return 0;
	for (const char *p = gres;; p++) {
		depth += (*p == '(') - (*p == ')');
		if (*p && (*p != ',' || depth > 0))
			continue;
		gpus += entry_gpus(start, p - start);
		if (gpus > GPUS_MAX)
			return 0;
		if (!*p)
			return gpus;
		start = p + 1;
	}
}

/* The bits of "0-1,3)". */
static uint64_t read_list(const char *list)
{
	uint64_t mask = 0;
	char *end = NULL;

	while (*list >= '0' && *list <= '9') {
		unsigned long first = strtoul(list, &end, 10);
		unsigned long last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < PLX_NODE_GPUS; first++)
			mask |= (uint64_t) 1 << first;
		list = end + (*end == ',');
	}
	return mask;
}

uint64_t plx_gres_which(const char *gres)
{
	static const char lead[] = "(IDX:";
	uint64_t mask = 0;
	bool gpus = false;

	for (const char *p = gres ? gres : ""; *p; p++) {
		/* Where an entry begins; lists have commas, but no letters. */
		if (p == gres || p[-1] == ',')
			gpus = !strncmp(p, "gpu:", 4) ||
			       (gpus && *p >= '0' && *p <= '9');
		if (gpus && !strncmp(p, lead, sizeof(lead) - 1))
			mask |= read_list(p + sizeof(lead) - 1);
	}
	return mask;
}

void plx_placement_add(char placement[PLX_PLACEMENT_SIZE], const char *node,
		       int gpus)
{
	size_t used = strlen(placement);
	int length;

	if (used >= 3 && !strcmp(placement + used - 3, "..."))
		return;
	length = snprintf(placement + used, PLX_PLACEMENT_SIZE - used,
			  "%s%s:%d", used ? " " : "", node, gpus);
	if (used + length + 4 >= PLX_PLACEMENT_SIZE)
		snprintf(placement + used, PLX_PLACEMENT_SIZE - used, "...");
}

static int by_name(const void *a, const void *b)
{
	const struct plx_view_node *x = a;
	const struct plx_view_node *y = b;

	return strverscmp(x->name, y->name);
}

void plx_view_sort_nodes(struct plx_view *view)
{
	if (view->node_count)
		qsort(view->nodes, view->node_count, sizeof(*view->nodes),
		      by_name);
	for (size_t i = 0; i < view->node_count; i++) {
		for (int g = 0; g < PLX_NODE_GPUS; g++)
			view->nodes[i].holders[g] = PLX_HOLDER_NONE;
	}
}

/* Those of which, then any: so many in all. */
static void mark(struct plx_view_node *node, int32_t holder, int count,
		 uint64_t which)
{
	int gpus = node->gpus < PLX_NODE_GPUS ? node->gpus : PLX_NODE_GPUS;

	for (int any = 0; any < 2; any++) {
		for (int g = 0; g < gpus && count > 0; g++) {
			if (node->holders[g] != PLX_HOLDER_NONE ||
			    (!any && !(which >> g & 1)))
				continue;
			node->holders[g] = holder;
			count--;
		}
	}
}

/* NULL: a node that we do not see. */
static struct plx_view_node *find_node(struct plx_view *view, const char *name)
{
	struct plx_view_node key;

	if (!view->node_count)
		return NULL;
	snprintf(key.name, sizeof(key.name), "%s", name);
	return bsearch(&key, view->nodes, view->node_count,
		       sizeof(*view->nodes), by_name);
}

void plx_view_hold(struct plx_view *view, size_t job, const char *node,
		   const char *gres)
{
	int gpus = plx_gres_gpus(gres);
	struct plx_view_node *found = find_node(view, node);

	if (gpus <= 0)
		return;
	plx_placement_add(view->jobs[job].placement, node, gpus);
	view->jobs[job].gpus += gpus;
	view->jobs[job].nodes++;
	if (found)
		mark(found, (int32_t) job, gpus, plx_gres_which(gres));
}

void plx_view_unknown(struct plx_view *view, const char *node, const char *gres)
{
	struct plx_view_node *found = find_node(view, node);
	int held = 0;

	if (!found)
		return;
	for (int g = 0; g < PLX_NODE_GPUS; g++)
		held += found->holders[g] != PLX_HOLDER_NONE;
	mark(found, PLX_HOLDER_UNKNOWN, found->busy - held,
	     plx_gres_which(gres));
}

void plx_view_read(struct plx_view_job *job, const char *comment,
		   const char *system_comment)
{
	int status =
		plx_status_read(comment ? comment : "", &job->status, NULL);
	int target = plx_target_read(system_comment ? system_comment : "",
				     &job->target, NULL);

	job->told = status == 1;
	job->elastic = status != 0 || target != 0;
	if (target != 1)
		job->target = (struct plx_target){ .serial = 0 };
}

bool plx_view_measured(const struct plx_view_job *job)
{
	return job->told && job->status.has_hint && job->running &&
	       job->gpus > 0;
}

int64_t plx_view_batch(const struct plx_view_job *job)
{
	const struct plx_batch *now = &job->status.hint.now;

	if (!plx_view_measured(job))
		return 0;
	return (int64_t) now->per_gpu * (now->accum + 1) * job->gpus;
}

double plx_view_efficiency(const struct plx_view_job *job)
{
	const struct plx_hint *hint = &job->status.hint;
	double efficiency = NAN;

	if (!plx_view_measured(job))
		return NAN;
	if (hint->goodput > 0 && hint->speed > 0)
		efficiency = hint->goodput / hint->speed;
	else
		efficiency = plx_efficiency(&hint->job.noise,
					    hint->job.limits.base_batch,
					    (double) plx_view_batch(job));
	return fmin(efficiency, 1);
}

int64_t plx_view_left_s(const struct plx_view_job *job)
{
	const struct plx_hint *hint = &job->status.hint;
	double left_s;

	if (!plx_view_measured(job) || !(hint->samples_left > 0) ||
	    !(hint->goodput > 0))
		return -1;
	left_s = hint->samples_left / hint->goodput;
	return left_s < LEFT_MAX_S ? (int64_t) left_s : -1;
}

double plx_view_promised(const struct plx_view_job *job, int gpus, int nodes)
{
	struct plx_shape shape = { .nodes = nodes, .gpus = gpus };
	double goodput = 0;

	if (!job->told || !job->status.has_hint || gpus < 1 ||
	    !plx_batch_best(&job->status.hint.job, shape, NULL, &goodput) ||
	    !isfinite(goodput) || goodput < 0)
		return 0;
	return goodput;
}

/* By how much its GPUs do more than one alone. */
static double value(const struct plx_view_job *job)
{
	double alone = plx_view_promised(job, 1, 1);

	if (!plx_view_measured(job) || !(alone > 0))
		return job->gpus;
	return plx_view_promised(job, job->gpus, job->nodes) / alone;
}

double plx_view_utility(const struct plx_view *view)
{
	double sum = view->gpus_busy;
	int gpus = 0;

	for (size_t i = 0; i < view->node_count; i++) {
		const struct plx_view_node *node = &view->nodes[i];

		gpus += !strcmp(node->state, "up") ? node->gpus : node->busy;
	}
	for (size_t i = 0; i < view->count; i++)
		sum += value(&view->jobs[i]) - view->jobs[i].gpus;
	return gpus > 0 ? fmax(sum, 0) / gpus : NAN;
}

const char *plx_view_state(const struct plx_view_job *job)
{
	if (job->running && job->told && job->gpus == 0)
		return "parked";
	if (job->running && job->told &&
	    job->status.phase != PLX_PHASE_TRAINING)
		return plx_phase_name(job->status.phase);
	return job->state;
}

static void finished_text(const struct plx_view_job *job, char *text,
			  size_t size)
{
	char ran[24];
	int resizes = job->told ? job->status.resizes : 0;

	plx_text_duration(job->ran_s, ran, sizeof(ran));
	if (resizes > 0)
		snprintf(text, size, "ran %s, %d resize%s", ran, resizes,
			 resizes == 1 ? "" : "s");
	else
		snprintf(text, size, "ran %s", ran);
	if (*job->reason)
		snprintf(text + strlen(text), size - strlen(text), "; %s",
			 job->reason);
}

/* What leads in, unless the reason does so itself. */
static const char *said(const char *why, const char *lead)
{
	return strncmp(why, lead, strlen(lead)) == 0 ? "" : lead;
}

static void why_text(const struct plx_view_job *job, char *text, size_t size)
{
	static const char *const lead[] = {
		[PLX_TARGET_NONE] = "",
		[PLX_TARGET_REQUESTED] = "asked for ",
		[PLX_TARGET_DONE] = "",
		[PLX_TARGET_REFUSED] = "refused ",
		[PLX_TARGET_PARKED] = "parked: ",
		[PLX_TARGET_LENT] = "moves: ",
		[PLX_TARGET_MOVING] = "moves: ",
	};
	const struct plx_target *t = &job->target;

	if (!job->running && job->ran_s > 0)
		finished_text(job, text, size);
	else if (!job->running)
		snprintf(text, size, "%s", job->reason);
	else if (t->state == PLX_TARGET_REQUESTED ||
		 t->state == PLX_TARGET_REFUSED)
		snprintf(text, size, "%s%d GPUs: %s", lead[t->state],
			 plx_target_gpus(t), t->why);
	else if (t->state != PLX_TARGET_NONE)
		snprintf(text, size, "%s%s", said(t->why, lead[t->state]),
			 t->why);
	else
		snprintf(text, size, "%s", job->elastic ? "" : "rigid");
}

char *plx_view_why(const struct plx_view_job *job, char *text, size_t size)
{
	char why[PLX_WHY_SIZE + 64];

	why_text(job, why, sizeof(why));
	return plx_text_clean(why, text, size);
}

void plx_view_release(struct plx_view *view)
{
	free(view->nodes);
	free(view->jobs);
	*view = (struct plx_view){ .count = 0 };
}
