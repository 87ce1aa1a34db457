/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sick_ranks.c - ranks that fail where their job has just grown onto */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/loop/blame.h"
#include "launcher/rules/clock.h"
#include "launcher/loop/handover_acts.h"
#include "launcher/loop/sick_ranks.h"
#include "launcher/loop/state.h"

#define RETURN_S    120.0 /* for slurmctld to take back what it gave */
#define WAIT_S	    15.0  /* for another shape, where no rank trains */
#define SPARED_MOST 8	  /* faults in a row; then it is the program */
#define SRUN_ENOUGH 2	  /* times that srun started nothing */

static bool *who_reported(const char *notes, const struct plx_generation *g)
{
	const struct plx_layout *shape = &g->step.layout;
	bool *here = NULL;

	if (!notes || shape->count < 2)
		return NULL;
	here = calloc((size_t) shape->count, sizeof(*here));
	for (int i = 0; here && i < shape->count; i++)
		here[i] = plx_here_is(notes, (int) g->step.generation,
				      shape->nodes[i].name);
	return here;
}

/*
 * Not on our own node, whose notes are seen wherever the folder is, nor on
 * any other. srun's exit code may well be 0 then. A full disk takes no notes,
 * and whatever ended there may have trained.
 */
static bool nothing_came_up(const struct plx_launcher *l,
			    const struct plx_generation *g)
{
	const struct plx_layout *shape = &g->step.layout;
	const char *notes = l->settings->notes;
	const char *own = l->settings->node;
	bool any = !notes || !own || !l->settings->params ||
		   l->settings->registry || g->said.hello ||
		   !plx_layout_on(shape, own);

	for (int i = 0; !any && i < shape->count; i++)
		any = plx_here_is(notes, (int) g->step.generation,
				  shape->nodes[i].name);
	return !any && plx_here_works(notes);
}

void plx_sick_find(struct plx_launcher *l, const struct plx_generation *g)
{
	bool *here = who_reported(l->settings->notes, g);
	struct plx_evidence evidence = {
		.shape = &g->step.layout,
		.good = &l->ill.good,
		.here = here,
		.how = l->foreign.has_exit ? &l->foreign.exit : NULL,
	};

	l->ill.found = (struct plx_failed){
		.is = true,
		.serial = l->status.ack,
	};
	plx_blame(&evidence, &l->ill.found);
	free(here);
	l->ill.none_up = nothing_came_up(l, g);
}

/* Where nothing tells, it is the only node that is new. */
static void name_only_new(struct plx_failed *failed,
			  const struct plx_layout *shape,
			  const struct plx_layout *good)
{
	const char *node = NULL;
	int fresh = 0;

	for (int i = 0; i < shape->count; i++) {
		if (plx_layout_on(good, shape->nodes[i].name))
			continue;
		node = shape->nodes[i].name;
		fresh++;
	}
	if (fresh == 1 && !failed->nodes[0])
		(void) plx_failed_add(failed, node);
}

/* Do the ranks that train have none on the node that failed, if it is known?
 */
static bool is_elsewhere(const struct plx_launcher *l)
{
	const struct plx_layout *now = &l->now->step.layout;

	for (int i = 0; i < now->count; i++) {
		const char *node = now->nodes[i].name;

		if (plx_failed_names(&l->ill.found, node))
			return false;
		if (!l->ill.found.nodes[0] && l->foreign.has_exit &&
		    !strcmp(l->foreign.exit.node, node))
			return false;
	}
	return true;
}

static bool can_return(struct plx_launcher *l,
		       const struct plx_generation *next)
{
	const struct plx_layout *shape = &next->step.layout;
	const struct plx_layout *now = &l->now->step.layout;

	if (!l->settings->params || !plx_blame_is_new(shape, now) ||
	    !is_elsewhere(l))
		return false;
	name_only_new(&l->ill.found, shape, now);
	return true;
}

bool plx_sick_next(struct plx_launcher *l)
{
	/* Its slot is kept until the next start. */
	const struct plx_generation *g =
		l->now == &l->slots[0] ? &l->slots[1] : &l->slots[0];

	l->ill.pending = can_return(l, g);
	return l->ill.pending;
}

/* Two starts that end so are enough to know. */
#define BROKEN_ENOUGH 2

enum plx_event plx_sick_broken(struct plx_launcher *l)
{
	const struct plx_exit *how = &l->foreign.exit;
	bool itself =
		l->foreign.has_error || (l->foreign.has_exit && !how->signal &&
					 !plx_blame_crowd(how->lines));

	if ((l->stage != PLX_STAGE_WARMING && l->stage != PLX_STAGE_TRYING) ||
	    !l->settings->params || !itself)
		return PLX_EVENT_NO_NEXT;
	if (++l->ill.broken < BROKEN_ENOUGH)
		return PLX_EVENT_AGAIN;
	l->ill.found.nodes[0] = '\0';
	return PLX_EVENT_SICK;
}

bool plx_sick_late(struct plx_launcher *l)
{
	if (l->stage != PLX_STAGE_WARMING || !l->next)
		return false;
	l->foreign.has_exit = false;
	plx_sick_find(l, l->next);
	l->ill.pending = can_return(l, l->next);
	return l->ill.pending;
}

/* They never trained on this shape, and others did on the one before. */
static bool is_new_shape(const struct plx_launcher *l, int code)
{
	const struct plx_illness *ill = &l->ill;
	const struct plx_generation *g = l->now;

	if (g->said.began || !ill->good.count)
		return false;
	if (code == PLX_SRUN_FAILED)
		return l->fault.srun >= SRUN_ENOUGH &&
		       !plx_layout_equal(&ill->good, &g->step.layout);
	if (ill->found.nodes[0])
		return true;
	return !g->said.hello && !plx_layout_equal(&ill->good, &g->step.layout);
}

/* They trained: a GPU that is lost, or the same node for the second time. */
static bool is_bad_node(struct plx_launcher *l)
{
	const struct plx_exit *how = &l->foreign.exit;
	const char *own = l->settings->node;
	struct plx_illness *ill = &l->ill;
	bool compares;
	bool again;

	if (!l->now->said.began || !l->foreign.has_exit)
		return false;
	/* Where rank 0 is, or all are, it is the program that fails twice. */
	compares = l->now->step.layout.count > 1 &&
		   !(own && !strcmp(own, how->node));
	/* Who is killed again and again has no memory, or an enemy. */
	again = compares && l->fault.backoff.faults && plx_blame_itself(how) &&
		!strcmp(ill->last, how->node);
	snprintf(ill->last, sizeof(ill->last), "%s", how->node);
	ill->found.nodes[0] = '\0';
	return (again || plx_blame_gpu(how->lines)) &&
	       plx_failed_add(&ill->found, how->node);
}

/* Not even pollux-rank came up, where Slurm has started the job. */
static bool is_dead_start(struct plx_launcher *l, int code)
{
	struct plx_illness *ill = &l->ill;

	if (ill->good.count || l->now->said.began || code != PLX_SRUN_FAILED ||
	    l->fault.srun != SRUN_ENOUGH)
		return false;
	if (ill->none_up)
		(void) plx_failed_add(&ill->found, l->settings->node);
	return ill->found.nodes[0] != '\0';
}

bool plx_sick_now(struct plx_launcher *l, int code)
{
	struct plx_illness *ill = &l->ill;
	bool fresh = is_new_shape(l, code);

	if (!l->settings->params || ill->spared >= SPARED_MOST ||
	    (!fresh && !is_bad_node(l) && !is_dead_start(l, code)))
		return false;
	if (fresh)
		name_only_new(&ill->found, &l->now->step.layout, &ill->good);
	l->status.failed = ill->found;
	ill->asked = l->job.target;
	ill->waits_s = plx_now_s() + WAIT_S;
	/* One that trained may be the program's own fault, srun is retried. */
	if (!fresh)
		return false;
	ill->spared++;
	l->fault.srun = 0;
	return true;
}

static const char *named(const struct plx_launcher *l)
{
	return l->ill.found.nodes[0] ? l->ill.found.nodes
				     : "a node that is new to them";
}

/* The last line of those that it said last. */
static const char *last_line(const char *lines)
{
	const char *last = lines;

	for (const char *c = lines; *c; c++) {
		if (*c == '\n' && c[1])
			last = c + 1;
	}
	return last;
}

static void say_broken(struct plx_launcher *l)
{
	const char *line = l->foreign.has_error && l->foreign.error.why[0]
				   ? l->foreign.error.why
				   : last_line(l->foreign.exit.lines);

	plx_say(l, PLX_NORMAL, PLX_FAILED_SAYS "%.*s (these train on)",
		(int) strcspn(line, "\n"), line);
	plx_failed_say(&l->ill.found, line);
}

/* What was tried for it needs an answer, too. */
static void answer_trial(struct plx_launcher *l)
{
	if (l->job.target.state != PLX_TARGET_REQUESTED)
		return;
	l->status.ack = l->job.target.serial;
	l->status.live = true;
	l->ill.found.serial = l->status.ack;
}

void plx_sick_return(struct plx_launcher *l)
{
	l->ill.pending = false;
	l->resizing = false;
	answer_trial(l);
	l->deadline_s = plx_now_s() + RETURN_S;
	plx_handover_call_off(l);
	if (l->ill.broken)
		say_broken(l);
	else
		plx_say(l, PLX_NORMAL,
			"the next ranks failed on %s: these train on, and ask "
			"for their shape on %s back",
			named(l), l->now->where);
	l->ill.broken = 0;
	l->status.failed = l->ill.found;
	plx_report_sick(l, l->ill.found.nodes, true);
	plx_report_status(l, plx_now_s());
	plx_publish(l);
}

void plx_sick_keep(struct plx_launcher *l)
{
	l->status.failed = (struct plx_failed){ 0 };
	l->failed_handovers = 0;
	l->deadline_s = 0;
	plx_handover_keep(l);
}

static void report_dead_start(struct plx_launcher *l)
{
	plx_say(l, PLX_NORMAL,
		"srun started nothing on %s, %d times: asking for other nodes",
		named(l), l->fault.srun);
	plx_report_sick(l, l->ill.found.nodes, false);
}

bool plx_sick_report(struct plx_launcher *l, int code)
{
	if (!l->status.failed.is || plx_now_s() >= l->ill.waits_s ||
	    l->now->said.began)
		return false;
	if (!l->ill.good.count) {
		report_dead_start(l);
		return true;
	}
	plx_say(l, PLX_NORMAL,
		"ranks failed on %s (exit code %d) before they trained: "
		"asking for the last shape that did, %d rank%s on %s",
		named(l), code, l->ill.good.ranks,
		l->ill.good.ranks == 1 ? "" : "s", l->ill.good_where);
	plx_report_sick(l, l->ill.found.nodes, false);
	l->target.state = PLX_TARGET_REFUSED;
	snprintf(l->target.why, sizeof(l->target.why), "ranks failed on %s",
		 named(l));
	l->foreign.has_exit = false;
	return true;
}

bool plx_sick_waits(const struct plx_launcher *l)
{
	const struct plx_target *then = &l->ill.asked;
	const struct plx_target *now = &l->job.target;

	return l->status.failed.is && plx_now_s() < l->ill.waits_s &&
	       now->serial == then->serial && now->state == then->state;
}

void plx_sick_trained(struct plx_launcher *l)
{
	struct plx_illness *ill = &l->ill;
	struct plx_error err;

	ill->spared = 0;
	ill->broken = 0;
	plx_script_runs(&l->script);
	ill->pending = false;
	ill->waits_s = 0;
	l->status.failed = (struct plx_failed){ 0 };
	plx_layout_release(&ill->good);
	if (plx_layout_copy(&ill->good, &l->now->step.layout, &err) < 0)
		plx_say(l, PLX_VERBOSE, "%s", err.text);
	snprintf(ill->good_where, sizeof(ill->good_where), "%s", l->now->where);
}

void plx_illness_release(struct plx_illness *illness)
{
	plx_layout_release(&illness->good);
}
