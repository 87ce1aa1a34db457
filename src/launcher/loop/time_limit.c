/* SPDX-License-Identifier: GPL-2.0-or-later */
/* time_limit.c - the job's state is saved before its time limit */

#include <math.h>

#include "core/base/fields.h"
#include "core/jobs/limit.h"
#include "core/records/options.h"
#include "launcher/rules/clock.h"
#include "launcher/loop/state.h"
#include "wire/message.h"

#define SAVES	   2	/* as long as that many take */
#define LATER_S	   30.0 /* an end that is so much later is another one */
#define NEAR_S	   2.0	/* a signal so shortly before the end is for it */
#define SAVE_MAX_S 43200.0

void plx_limit_init(struct plx_launcher *l)
{
	struct plx_options options;
	struct plx_error err;

	if (l->settings->params && !l->settings->registry &&
	    plx_options_parse(l->settings->params, &options, &err) == 0)
		l->limit.requeues = options.at_limit == PLX_LIMIT_REQUEUE;
}

/* Seconds before the end. */
static double lead_s(const struct plx_launcher *l)
{
	double want_s = l->settings->limit_margin_s + SAVES * l->limit.save_s;

	return plx_limit_lead(fmax(want_s, 1), l->limit.whole_s);
}

void plx_limit_note(struct plx_launcher *l)
{
	double margin_s = l->settings->limit_margin_s;

	l->limit.whole_s = l->job.limit_s;
	l->limit.ends_s = l->job.limit_s > 0 ? l->looked_s + l->job.left_s : 0;
	l->status.lead_s = 0;
	if (!l->limit.requeues || l->limit.ends_s == 0)
		return;
	if (margin_s < 0)
		margin_s = PLX_LIMIT_MARGIN_S;
	l->status.lead_s =
		(int) ceil(fmax(margin_s + SAVES * l->limit.save_s, 1));
}

void plx_limit_learn(struct plx_launcher *l, const char *fields)
{
	double seconds = 0;

	plx_field_doubles(fields, "seconds", 0, SAVE_MAX_S, &seconds, 1, NULL);
	l->limit.save_s = fmax(l->limit.save_s, seconds);
}

/* Ranks that hold their state, or are told to leave, save it anyway. */
static bool may_ask(const struct plx_launcher *l)
{
	if (!l->now->said.hello)
		return l->stage == PLX_STAGE_TRAINING && plx_foreign_listens(l);
	return (l->stage == PLX_STAGE_TRAINING ||
		l->stage == PLX_STAGE_LENDING || l->stage == PLX_STAGE_WARMING);
}

double plx_limit_due_s(const struct plx_launcher *l)
{
	const struct plx_limit *limit = &l->limit;
	double lead = lead_s(l);

	if (l->settings->limit_margin_s < 0 || limit->ends_s == 0 ||
	    !may_ask(l) ||
	    (limit->saved_s != 0 && limit->ends_s < limit->saved_s + LATER_S))
		return INFINITY;
	/* The scheduler comes first: it has the job stop, and saves that. */
	return limit->ends_s - (limit->requeues ? lead / 2 : lead);
}

void plx_limit_watch(struct plx_launcher *l)
{
	double now_s = plx_now_s();

	if (now_s < plx_limit_due_s(l))
		return;
	l->limit.saved_s = l->limit.ends_s;
	plx_report_limit(l, l->limit.ends_s - now_s);
	if (l->now->said.hello)
		plx_peer_send(&l->now->peer, PLX_MSG_SAVE);
	else /* it saves and ends, and is started again from that */
		plx_foreign_stop(l);
}

void plx_limit_signal(struct plx_launcher *l)
{
	if (l->limit.ends_s == 0 || plx_now_s() < l->limit.ends_s - NEAR_S)
		return;
	l->limit.reached = true;
	plx_say(l, PLX_NORMAL, "the job has reached its time limit");
}
