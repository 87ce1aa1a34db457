/* SPDX-License-Identifier: GPL-2.0-or-later */
/* from_slurm.c - what slurmctld says of the job, as events */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "launcher/rules/clock.h"
#include "launcher/loop/handover_acts.h"
#include "launcher/loop/state.h"

#define PASSING_S 30.0 /* for slurmctld to take back what it lent */
#define ALONE_S	  10.0 /* between looks of who cannot be woken */
#define FRESH_S	  1.0  /* a look so old tells where to start ranks */
#define LIMIT_S	  3.0  /* before its time limit is acted on */

/* A target that we have not acknowledged. Serials may fall: slurmctld can
 * come back with an older state. */
static bool is_asked(const struct plx_launcher *l)
{
	return l->job.target.state == PLX_TARGET_REQUESTED &&
	       l->job.target.serial != l->status.ack;
}

/* What was lent is about to go back: ranks started on it would have to move. */
static bool is_passing(const struct plx_launcher *l)
{
	return l->job.target.state == PLX_TARGET_LENT &&
	       plx_now_s() < l->stage_s + PASSING_S;
}

static void consider_start(struct plx_launcher *l)
{
	/* Only a look after the ranks were gone tells where to start. */
	if (l->looked_s < fmax(l->stage_s, l->not_before_s - FRESH_S))
		return;
	if (is_asked(l))
		plx_raise(l, PLX_EVENT_REQUESTED);
	else if (l->job.layout.ranks > 0 && !is_passing(l) &&
		 !plx_sick_waits(l) && plx_now_s() >= l->not_before_s)
		plx_raise(l, PLX_EVENT_GPUS);
}

/* Of a job that has been lent GPUs, ranks need not use all. */
static bool fits(const struct plx_launcher *l, const struct plx_generation *g)
{
	if (l->looked_s <= g->step.started_s)
		return true;
	if (l->job.target.state == PLX_TARGET_LENT ||
	    plx_stage_hands_over(l->stage))
		return plx_layout_within(&g->step.layout, &l->job.layout);
	return plx_layout_equal(&l->job.layout, &g->step.layout);
}

/* What is asked of ranks that train: how is it to be done? */
static enum plx_event how_to_resize(struct plx_launcher *l)
{
	if (plx_handover_possible(l))
		return PLX_EVENT_OFFERED;
	return plx_handover_untried(l) ? PLX_EVENT_UNTRIED
				       : PLX_EVENT_REQUESTED;
}

static void consider_ranks(struct plx_launcher *l)
{
	if (is_asked(l)) {
		/* Those on their way out are waited for; it is not long. */
		if (!l->old)
			plx_raise(l, how_to_resize(l));
	} else if (!fits(l, l->now)) {
		plx_raise(l, PLX_EVENT_SHAPE);
	} else if (l->looked_s > l->now->step.started_s) {
		plx_layout_learn(&l->now->step.layout, &l->job.layout);
	}
}

/*
 * Has slurmctld made up its mind since our acknowledgement? Another serial:
 * it has forgotten what it asked for.
 */
static bool is_settled(const struct plx_launcher *l)
{
	const struct plx_target *target = &l->job.target;

	return target->serial == l->status.ack ||
	       (l->marks.acked_s && l->looked_s >= l->marks.acked_s);
}

static void consider_answer(struct plx_launcher *l)
{
	const struct plx_target *target = &l->job.target;

	if (is_asked(l)) {
		plx_raise(l, PLX_EVENT_REQUESTED);
		return;
	}
	if (target->state == PLX_TARGET_REQUESTED ||
	    target->state == PLX_TARGET_LENT) {
		if (l->looked_s > l->deadline_s)
			plx_raise(l, PLX_EVENT_LATE);
		return;
	}
	if (!is_settled(l))
		return;
	l->target = *target;
	l->marks.answered_s = plx_now_s();
	plx_raise(l, l->job.layout.ranks > 0 ? PLX_EVENT_ANSWERED
					     : PLX_EVENT_PARKED);
}

/* Ranks train on while their job gets what the next ones need. */
static void consider_offer(struct plx_launcher *l)
{
	const struct plx_target *target = &l->job.target;

	if (is_asked(l)) {
		plx_raise(l, plx_handover_possible(l) ? PLX_EVENT_OFFERED
						      : PLX_EVENT_REQUESTED);
		return;
	}
	if (target->state == PLX_TARGET_REQUESTED && target->cold) {
		plx_raise(l, PLX_EVENT_REQUESTED);
		return;
	}
	if (target->state == PLX_TARGET_REQUESTED || !is_settled(l))
		return;
	l->target = *target;
	l->marks.answered_s = plx_now_s();
	if (!fits(l, l->now))
		plx_raise(l, PLX_EVENT_SHAPE);
	else if (target->serial == l->status.ack && l->job.aim.ranks > 0 &&
		 (target->state == PLX_TARGET_LENT ||
		  target->state == PLX_TARGET_DONE))
		plx_raise(l, PLX_EVENT_ANSWERED);
	else
		plx_raise(l, PLX_EVENT_KEPT);
}

/* A rank of the changed program is tried, for what is asked. */
static void consider_trial(struct plx_launcher *l)
{
	if (!fits(l, l->now))
		plx_raise(l, PLX_EVENT_SHAPE);
	else if (!is_asked(l))
		plx_raise(l, PLX_EVENT_KEPT);
}

/* slurmctld may have lost a node, or come back with an older state. */
static void consider_handover(struct plx_launcher *l)
{
	if (!fits(l, l->now) || (l->next && !fits(l, l->next)))
		plx_raise(l, PLX_EVENT_SHAPE);
}

/* Ranks train on, on the shape that slurmctld is to give back. */
static void consider_return(struct plx_launcher *l)
{
	const struct plx_target *target = &l->job.target;

	/* It has not read our answer yet. */
	if (target->state == PLX_TARGET_REQUESTED && !is_asked(l))
		return;
	if (is_asked(l)) {
		if (!l->old)
			plx_raise(l, plx_handover_possible(l)
					     ? PLX_EVENT_OFFERED
					     : PLX_EVENT_REQUESTED);
	} else if (!plx_layout_within(&l->now->step.layout, &l->job.layout)) {
		plx_raise(l, PLX_EVENT_SHAPE);
	} else if (target->state != PLX_TARGET_LENT &&
		   plx_layout_equal(&l->job.layout, &l->now->step.layout)) {
		plx_raise(l, PLX_EVENT_KEPT);
	}
}

/* What the job's record, as last seen, means in this stage. */
void plx_consider(struct plx_launcher *l)
{
	if (!l->has_job)
		return;
	if (l->job.over) {
		if (l->stage != PLX_STAGE_ENDING &&
		    l->stage != PLX_STAGE_DONE) {
			plx_say(l, PLX_NORMAL, "job %u has ended",
				l->settings->job_id);
			l->exit_code = l->exit_code ? l->exit_code : 1;
			plx_raise(l, PLX_EVENT_STOP);
		}
		return;
	}
	if (l->stage == PLX_STAGE_IDLE)
		consider_start(l);
	else if (l->stage == PLX_STAGE_AGREED)
		consider_answer(l);
	else if (l->stage == PLX_STAGE_LENDING)
		consider_offer(l);
	else if (l->stage == PLX_STAGE_TRYING)
		consider_trial(l);
	else if (l->stage == PLX_STAGE_RETURNING)
		consider_return(l);
	else if (plx_stage_hands_over(l->stage))
		consider_handover(l);
	else if (plx_stage_has_ranks(l->stage))
		consider_ranks(l);
}

/* The first look: what was settled before our time needs no answer. */
static void settle(struct plx_launcher *l)
{
	l->has_job = true;
	if (l->job.target.state != PLX_TARGET_REQUESTED)
		l->status.ack = l->job.target.serial;
	plx_folder_lock_seen(l);
}

/* Is slurmctld about to write something that we cannot do without? */
static bool awaits(const struct plx_launcher *l)
{
	switch (l->stage) {
	case PLX_STAGE_AGREED:
	case PLX_STAGE_LENDING:
	case PLX_STAGE_RETURNING:
		return true;
	case PLX_STAGE_IDLE:
		return l->looked_s < l->stage_s ||
		       (l->job.layout.ranks > 0 &&
			(is_passing(l) || plx_sick_waits(l)));
	default:
		/* A node may be lost, or the ranks take their time. */
		return plx_now_s() >= plx_fault_silent_s(l);
	}
}

static double calm_s(const struct plx_launcher *l)
{
	if (l->status.launcher == PLX_WAKE_NONE && !l->settings->registry)
		return fmin(l->settings->poll_s, ALONE_S);
	return l->settings->poll_s;
}

/* What may have changed untold is looked at before we act on it. */
double plx_poll_again_s(const struct plx_launcher *l)
{
	const double times_s[] = {
		plx_limit_due_s(l) - LIMIT_S,
		plx_fault_silent_s(l),
		l->stage == PLX_STAGE_IDLE ? l->not_before_s - FRESH_S
					   : INFINITY,
	};
	double first_s = INFINITY;

	/* While slurmctld is away it is asked as often as it bears. */
	if (l->polls.under_way || l->polls.trouble_s > 0)
		return INFINITY;
	for (size_t i = 0; i < sizeof(times_s) / sizeof(times_s[0]); i++) {
		if (l->looked_s < times_s[i])
			first_s = fmin(first_s, times_s[i]);
	}
	return first_s;
}

static void take_job(struct plx_launcher *l, struct plx_news *news)
{
	plx_job_release(&l->job);
	l->job = news->job;
	plx_job_without(&l->job, &l->lost.gone);
	l->looked_s = news->looked_s;
	if (l->job.bad_target)
		plx_say(l, PLX_VERBOSE, "the target of job %u is unreadable",
			l->settings->job_id);
	plx_limit_note(l);
	if (!l->has_job)
		settle(l);
}

/*
 * Does the record still hold what we wrote? slurmctld may have come back with
 * an older state, or the user has set another comment.
 */
static void check_status(struct plx_launcher *l, const struct plx_news *news)
{
	const char *told = news->shortened ? l->told_bare : l->told;

	if (!l->told[0] || news->published != l->told_number ||
	    news->looked_s < news->published_s || l->job.over ||
	    !strcmp(told, l->job.status))
		return;
	plx_say(l, PLX_VERBOSE, "the job's comment has lost our status");
	l->told[0] = '\0';
	plx_report_status(l, plx_now_s());
}

void plx_from_slurm(struct plx_launcher *l)
{
	struct plx_news news;

	plx_slurm_client_take(l->client, &news);
	if (l->ack_number && news.published >= l->ack_number &&
	    !l->marks.acked_s) {
		l->marks.acked_s = news.published_s;
		plx_polls_by(&l->polls, plx_now_s() + PLX_POLLS_WAIT_FIRST_S);
	}
	if (news.shortened && !l->shortened) {
		l->shortened = true;
		plx_say(l, PLX_NORMAL,
			"the job's comment is too long for the hint: the "
			"scheduler does not see how this job scales");
	}
	if (news.is_trouble && strcmp(news.trouble.text, l->trouble) != 0) {
		snprintf(l->trouble, sizeof(l->trouble), "%s",
			 news.trouble.text);
		plx_say(l, PLX_NORMAL, "%s, trying again", l->trouble);
	}
	if (news.is_trouble)
		plx_polls_failed(&l->polls, plx_now_s(), awaits(l));
	if (!news.has_job)
		return;
	take_job(l, &news);
	check_status(l, &news);
	if (!news.is_trouble)
		l->trouble[0] = '\0';
	plx_consider(l);
	plx_polls_came(&l->polls, plx_now_s(), awaits(l), calm_s(l));
}
