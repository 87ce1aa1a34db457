/* SPDX-License-Identifier: MIT */
/*
 * search_why.c - one line for an operator about what a job gets
 *
 * It tells the first reason that holds; see the tables of the two callers.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/search/search.h"

#define RESTART_SEEN 0.995 /* of the value kept: less is told */

/* The line being written. */
struct line {
	const struct plx_search *search;
	const struct plx_search_job *e;
	struct plx_shape from;
	struct plx_shape to;
	char *text;
	size_t size;
};

static const char *plural(int count)
{
	return count == 1 ? "" : "s";
}

static int gpus_on(const struct plx_placement *placement, int n)
{
	for (int i = 0; i < placement->count; i++) {
		if (placement->slots[i].node == n)
			return placement->slots[i].gpus;
	}
	return 0;
}

/* A job that has more than before where this one has less; NULL: none. */
static const struct plx_search_job *gainer(const struct plx_search *search,
					   const struct plx_search_job *e,
					   int n)
{
	const struct plx_node *node = &search->nodes[n];
	const struct plx_search_job *found = NULL;

	for (int i = 0; i < node->job_count; i++) {
		const struct plx_search_job *other =
			&search->jobs[node->jobs[i]];

		if (other == e ||
		    gpus_on(&other->at, n) <= gpus_on(&other->now, n))
			continue;
		if (!found || other < found)
			found = other;
	}
	return found;
}

/* Of one kind of consumables, those that had it need more than is left. */
static bool was_taken(const struct plx_search *search, int n, int k)
{
	int kinds = search->problem->consumable_kinds;
	double held = 0;

	for (int j = 0; j < search->job_count; j++) {
		const struct plx_job *job = search->jobs[j].job;

		held += plx_job_demand(job, n, job->now[n], k);
	}
	return held > search->problem->consumables[n * kinds + k];
}

/* More was taken here than is left for those that had it. */
static bool was_reserved(const struct plx_search *search, int n)
{
	long held = 0;

	for (int k = 0; k < search->problem->consumable_kinds; k++) {
		if (was_taken(search, n, k))
			return true;
	}
	for (int j = 0; j < search->job_count; j++)
		held += search->jobs[j].job->now[n];
	return held > search->problem->gpus[n];
}

/* Whom this job's GPUs go to, as ": ..."; false when to nobody. */
static bool beneficiary(const struct line *line, char *text, size_t size)
{
	const struct plx_search_job *e = line->e;
	const struct plx_search_job *other = NULL;
	bool reserved = false;

	for (int i = 0; i < e->now.count; i++) {
		int n = e->now.slots[i].node;
		const struct plx_search_job *here;

		if (gpus_on(&e->at, n) >= e->now.slots[i].gpus)
			continue;
		reserved = reserved || was_reserved(line->search, n);
		here = gainer(line->search, e, n);
		if (here && (!other || here < other))
			other = here;
	}
	if (reserved)
		snprintf(text, size, "room for waiting jobs");
	else if (other)
		snprintf(text, size, "room for job %u", other->job->id);
	return reserved || other;
}

static int number(char *text, size_t size, double x)
{
	return snprintf(text, size, x >= 100 && x < 1e9 ? "%.0f" : "%.3g", x);
}

/* "goodput 350 -> 610 samples/s" */
static void goodputs(const struct line *line, char *text, size_t size)
{
	const struct plx_search_job *e = line->e;
	double unit = e->fair.goodput;
	char from[32];
	char to[32];

	if (!e->job->profiled || unit <= 0) {
		snprintf(text, size, "not measured yet");
		return;
	}
	number(from, sizeof(from), unit * plx_alike_speedup(e, line->from));
	number(to, sizeof(to), unit * plx_alike_speedup(e, line->to));
	if (line->from.gpus == 0)
		snprintf(text, size, "goodput %s samples/s", to);
	else
		snprintf(text, size, "goodput %s -> %s samples/s", from, to);
}

/* Its sizes make it give up more than it would otherwise. */
static bool skips_a_count(const struct line *line)
{
	const struct plx_job *job = line->e->job;

	return job->size_count > 0 && line->from.gpus - line->to.gpus > 1 &&
	       plx_job_size_down(job, line->from.gpus - 1) == line->to.gpus;
}

static void why_less(const struct line *line)
{
	char reason[96];

	if (!beneficiary(line, reason, sizeof(reason))) {
		if (line->from.gpus > line->e->job->max_gpus)
			snprintf(reason, sizeof(reason),
				 "its limit is %d GPU%s now",
				 line->e->job->max_gpus,
				 plural(line->e->job->max_gpus));
		else
			goodputs(line, reason, sizeof(reason));
	}
	snprintf(line->text, line->size, "shrinks %d -> %d GPUs: %s%s",
		 line->from.gpus, line->to.gpus, reason,
		 skips_a_count(line) ? ", its next size below" : "");
}

static void why_parked(const struct line *line)
{
	char reason[96];

	if (line->from.gpus == 0 || !beneficiary(line, reason, sizeof(reason)))
		snprintf(reason, sizeof(reason), "no GPU left for it");
	snprintf(line->text, line->size, "parked: %s", reason);
}

static void why_more(const struct line *line)
{
	char reason[96];

	goodputs(line, reason, sizeof(reason));
	if (line->from.gpus == 0)
		snprintf(line->text, line->size,
			 "gets %d GPU%s on %d node%s: %s", line->to.gpus,
			 plural(line->to.gpus), line->to.nodes,
			 plural(line->to.nodes), reason);
	else
		snprintf(line->text, line->size,
			 "grows %d -> %d GPUs on %d node%s: %s",
			 line->from.gpus, line->to.gpus, line->to.nodes,
			 plural(line->to.nodes), reason);
}

static void why_moved(const struct line *line)
{
	char reason[96];

	if (line->from.nodes != line->to.nodes) {
		goodputs(line, reason, sizeof(reason));
		snprintf(line->text, line->size,
			 "moves %d GPUs from %d node%s to %d: %s",
			 line->to.gpus, line->from.nodes,
			 plural(line->from.nodes), line->to.nodes, reason);
		return;
	}
	if (!beneficiary(line, reason, sizeof(reason)))
		snprintf(reason, sizeof(reason), "better use of all nodes");
	snprintf(line->text, line->size, "moves %d GPU%s to other nodes: %s",
		 line->to.gpus, plural(line->to.gpus), reason);
}

/*
 * The best configuration with more GPUs, at most twice as many, or of its next
 * size; NULL: none.
 */
static const struct plx_config *next_config(const struct line *line)
{
	const struct plx_search_job *e = line->e;
	int most = 2 * line->to.gpus;

	if (plx_job_size_up(e->job, line->to.gpus + 1) > most)
		most = plx_job_size_up(e->job, line->to.gpus + 1);
	for (int i = 0; i < e->candidate_count; i++) {
		if (e->candidates[i].gpus > line->to.gpus &&
		    e->candidates[i].gpus <= most)
			return &e->candidates[i];
	}
	return NULL;
}

static long free_gpus(const struct line *line)
{
	long gpus = 0;

	for (int n = 0; n < line->search->node_count; n++) {
		int free = plx_node_free(line->search, line->e, n);

		if (free > 0 && plx_job_usable(line->e->job, n))
			gpus += free;
	}
	return gpus;
}

static double config_speedup(const struct plx_search_job *e,
			     const struct plx_config *config)
{
	struct plx_shape shape = {
		.nodes = config->nodes,
		.gpus = config->gpus,
		.further = config->further,
	};

	return plx_alike_speedup(e, shape);
}

/* Of a change: what it has to bring, as a share. */
static double needed(const struct line *line)
{
	double kept = plx_restart_factor(line->e->job);
	double least = line->search->problem->hysteresis;

	return kept > 0 ? (1 + least) / kept - 1 : INFINITY;
}

/* ", worth it from 9 % (a restart takes 2 s): others need them more" */
static void obstacle(const struct line *line, double gain,
		     const struct plx_config *next, char *text, size_t size)
{
	int missing = next->gpus - line->to.gpus;
	const struct plx_job *job = line->e->job;
	double least = needed(line);
	long free = free_gpus(line);
	char charge[48] = "";
	char sizes[64];
	const char *why = "";

	if (plx_restart_factor(job) < RESTART_SEEN && !job->table)
		snprintf(charge, sizeof(charge), " (a restart takes %.2g s)",
			 job->restart_s);
	snprintf(sizes, sizeof(sizes), ": its next size, and %ld more %s free",
		 free, free == 1 ? "is" : "are");
	if (gain > least && free < missing && free > 0 && job->size_count > 0)
		why = sizes;
	else if (gain > least && free < missing)
		why = ": others need them more";
	else if (gain > least && line->search->switch_count &&
		 next->nodes > 1 && next->further == 0)
		why = ": they do not fit on one switch";
	else if (gain > least && job->batch_host >= 0 && !job->roams)
		why = ": held by the node of its script, where they do not fit";
	else if (gain > least)
		why = ": they do not fit on what is free";
	if (least > 99)
		snprintf(text, size, ", a restart costs more");
	else
		snprintf(text, size, ", worth it from %.0f %%%s%s", 100 * least,
			 charge, why);
}

/* The user, or the partition, says on how many nodes it may be. */
static bool all_its_nodes(const struct line *line)
{
	int most = line->e->job->max_nodes;

	return most && line->to.nodes >= most &&
	       most < line->search->node_count;
}

/* The same of switches: its user says so. */
static bool why_all_its_switches(const struct line *line)
{
	int most = line->e->job->max_switches;
	int span = plx_search_span(line->search, &line->e->at);
	int gpus = line->to.gpus;

	if (!most || span < most || span == line->search->switch_count)
		return false;
	snprintf(line->text, line->size,
		 "stays: %d GPU%s on %d switch%s, as many switches as it may "
		 "have",
		 gpus, plural(gpus), span, span == 1 ? "" : "es");
	return true;
}

/* There are not enough GPUs for its next size. */
static bool why_short_of_size(const struct line *line)
{
	const struct plx_search_job *e = line->e;
	int gpus = line->to.gpus;
	int next = plx_job_size_up(e->job, gpus + 1);
	long free = free_gpus(line);

	if (!e->job->size_count || next <= e->cap)
		return false;
	snprintf(line->text, line->size,
		 "stays: %d GPU%s, its next size is %d, and %ld more %s free",
		 gpus, plural(gpus), next, free, free == 1 ? "is" : "are");
	return true;
}

/* It could have more, and does not get it. */
static void why_enough(const struct line *line)
{
	const struct plx_config *next = next_config(line);
	double now = plx_alike_speedup(line->e, line->to);
	double then = next ? config_speedup(line->e, next) : 0;
	int gpus = line->to.gpus;
	char reason[192] = "";
	double gain;

	if (then <= now && all_its_nodes(line)) {
		snprintf(line->text, line->size,
			 "stays: %d GPU%s on %d node%s, as many nodes as it "
			 "may have",
			 gpus, plural(gpus), line->to.nodes,
			 plural(line->to.nodes));
		return;
	}
	if (then <= now && why_all_its_switches(line))
		return;
	if (then <= now && why_short_of_size(line))
		return;
	if (then <= now) {
		snprintf(line->text, line->size,
			 "stays: %d GPU%s, more would not help", gpus,
			 plural(gpus));
		return;
	}
	gain = now > 0 ? then / now - 1 : 1;
	obstacle(line, gain, next, reason, sizeof(reason));
	snprintf(line->text, line->size,
		 "stays: %d GPU%s, %d would add %.0f %%%s", gpus, plural(gpus),
		 next->gpus, 100 * gain, reason);
}

/* ", 5 would add 12 %", of one GPU, or one size, more than a limit allows. */
static void beyond(const struct line *line, char *text, size_t size)
{
	const struct plx_search_job *e = line->e;
	int per_node = line->search->node_gpus_max;
	struct plx_shape more = line->to;
	double now = plx_alike_speedup(e, line->to);
	double then;

	text[0] = '\0';
	more.gpus = plx_job_size_up(e->job, line->to.gpus + 1);
	if (!e->job->profiled || now <= 0 || per_node < 1 || !more.gpus)
		return;
	while (more.gpus > more.nodes * per_node)
		more.nodes++;
	then = plx_alike_speedup(e, more);
	if (then > now)
		snprintf(text, size, ", %d would add %.0f %%", more.gpus,
			 100 * (then / now - 1));
	else if (then > 0)
		snprintf(text, size, ", %d would not help", more.gpus);
}

static void why_at_limit(const struct line *line)
{
	static const char *const limits[PLX_BOUNDS] = {
		[PLX_BOUND_OWN] = "its max=",
		[PLX_BOUND_CLUSTER] = "all there are for it",
		[PLX_BOUND_LIMITS] = "set by its account, QOS or partition",
		[PLX_BOUND_PROGRAM] = "its program asks for no more",
	};
	const struct plx_job *job = line->e->job;
	int next = plx_job_size_up(job, job->max_gpus + 1);
	int gpus = line->to.gpus;
	char below[64] = "";
	char more[48];

	beyond(line, more, sizeof(more));
	if (job->max_gpus > gpus && next)
		snprintf(below, sizeof(below),
			 ", of its sizes %d is the largest below", gpus);
	snprintf(line->text, line->size,
		 "stays: at its limit of %d GPU%s (%s)%s%s", job->max_gpus,
		 plural(job->max_gpus), limits[job->max_by], below, more);
}

static void why_same(const struct line *line)
{
	const struct plx_job *job = line->e->job;
	int gpus = line->to.gpus;

	if (job->fixed && gpus == 0)
		snprintf(line->text, line->size,
			 "stays without a GPU, may not change now");
	else if (job->fixed)
		snprintf(line->text, line->size,
			 "stays: %d GPU%s, may not change now", gpus,
			 plural(gpus));
	else if (line->e->stuck)
		snprintf(line->text, line->size,
			 "stays: %d GPU%s, nothing in its limits is possible",
			 gpus, plural(gpus));
	else if (gpus >= plx_job_size_down(job, job->max_gpus))
		why_at_limit(line);
	else if (gpus >= plx_gpu_cap(job, 0))
		snprintf(line->text, line->size,
			 "stays: at most twice the %d GPU%s measured so far",
			 job->profiled_gpus, plural(job->profiled_gpus));
	else
		why_enough(line);
}

/* What the change costs, where there is something to tell. */
static void add_charge(const struct line *line)
{
	double kept = plx_restart_factor(line->e->job);
	size_t length = strlen(line->text);
	char charge[48];

	if (kept >= RESTART_SEEN)
		return;
	snprintf(charge, sizeof(charge), ", a restart costs %.0f %%",
		 100 * (1 - kept));
	if (length + strlen(charge) < line->size)
		snprintf(line->text + length, line->size - length, "%s",
			 charge);
}

void plx_search_why(const struct plx_search *search,
		    const struct plx_search_job *e, char *why, int size)
{
	struct line line = {
		.search = search,
		.e = e,
		.from = plx_search_shape(search, &e->now),
		.to = plx_search_shape(search, &e->at),
		.text = why,
		.size = (size_t) size,
	};

	if (line.to.gpus == 0 && !e->job->fixed)
		why_parked(&line);
	else if (plx_placement_equal(&e->at, &e->now))
		why_same(&line);
	else if (line.to.gpus > line.from.gpus)
		why_more(&line);
	else if (line.to.gpus < line.from.gpus)
		why_less(&line);
	else
		why_moved(&line);
	if (line.to.gpus > 0 && !plx_placement_equal(&e->at, &e->now))
		add_charge(&line);
}
