/* SPDX-License-Identifier: GPL-2.0-or-later */
/* act.c - changes the stage and does what the lifecycle table says */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "launcher/rules/clock.h"
#include "launcher/loop/handover_acts.h"
#include "launcher/loop/start_time.h"
#include "launcher/loop/state.h"

#define ANSWER_TIMEOUT_S 90.0  /* beyond pollux_ack_timeout */
#define START_TIMEOUT_S	 120.0 /* for ranks that are known to say hello */
#define UNKNOWN_ENDS_S	 2.0 /* for ranks that never spoke, so never trained */
#define OVER_S		 5.0 /* for ranks of a job that has ended */
#define COALESCE_S	 0.2 /* two phases within it are told as one */

static void act_start(struct plx_launcher *l)
{
	struct plx_generation_order order;
	struct plx_error err;

	plx_order_generation(l, &order);
	plx_script_start(&l->script);
	l->marks.started_s = plx_now_s();
	if (plx_generation_start(l->now, &order, &err) < 0) {
		plx_say(l, PLX_QUIET, "%s", err.text);
		l->exit_code = 1;
		plx_raise(l, PLX_EVENT_FINISHED);
		return;
	}
	/* Others say nothing until they can be told to save. */
	if (l->fault.speaks)
		l->deadline_s =
			plx_now_s() + plx_start_allowed_s(START_TIMEOUT_S,
							  l->longest_start_s);
	plx_report_start(l, l->now);
	plx_report_status(l, plx_now_s() + COALESCE_S);
}

/* Ranks that do not know us yet get the time of a start to do so. */
static void act_stop(struct plx_launcher *l)
{
	double now_s = plx_now_s();
	bool known = l->now->peer.met || l->now->said.began;
	double from_s = known ? now_s : l->now->step.started_s;

	if (l->stage == PLX_STAGE_SAVING && l->job.target.move)
		plx_say(l, PLX_NORMAL, "asked to leave its nodes: %s",
			l->job.target.why);
	plx_handover_call_off(l);
	plx_handover_release(l);
	plx_peer_stop(&l->now->peer);
	plx_foreign_stop(l);
	l->deadline_s = from_s + l->settings->save_timeout_s;
	if (!known && l->stage == PLX_STAGE_ENDING)
		l->deadline_s = now_s + UNKNOWN_ENDS_S;
	/* Slurm has told the ranks itself: those that can save. */
	if (l->job.over)
		l->deadline_s = fmin(l->deadline_s, now_s + OVER_S);
	l->marks = (struct plx_marks){ .asked_s = now_s };
	l->from_ranks = l->now->step.layout.ranks;
	snprintf(l->from, sizeof(l->from), "%s", l->now->where);
	l->target = (struct plx_target){ 0 };
	l->crc[0] = '\0';
	l->samples[0] = '\0';
	l->resizing = l->stage != PLX_STAGE_ENDING;
	plx_report_status(l, now_s + COALESCE_S);
}

static void act_kill(struct plx_launcher *l)
{
	bool starting = l->stage == PLX_STAGE_STARTING;

	plx_say(l, PLX_NORMAL, "ranks did not %s within %.1f s%s, killing them",
		starting ? "find each other" : "leave",
		plx_now_s() - l->stage_s, starting ? "" : " (--save-timeout)");
	plx_busy_through(l);
	if (plx_step_kill(&l->now->step))
		plx_slurm_client_kill(l->client, l->now->step.name);
	l->deadline_s = plx_now_s() + PLX_KILL_AGAIN_S;
}

static void act_ack(struct plx_launcher *l)
{
	l->status.ack = l->job.target.serial;
	l->status.live = l->status.live && l->old;
	l->ack_number = 0;
	l->marks.acked_s = 0;
	l->deadline_s = plx_now_s() + ANSWER_TIMEOUT_S;
	plx_report_status(l, plx_now_s());
	plx_publish(l);
}

/* A fault, or srun could not start the ranks: not at once again. */
static void act_retry(struct plx_launcher *l)
{
	double wait_s = plx_fault_wait_s(l);

	plx_handover_call_off(l);
	l->not_before_s = plx_now_s() + wait_s;
	if (!plx_sick_report(l, l->exit_code) && !l->fault.srun)
		plx_report_fault(l, l->exit_code, wait_s);
	plx_report_status(l, plx_now_s() + COALESCE_S);
}

static void act_park(struct plx_launcher *l)
{
	plx_report_parked(l);
	l->from_ranks = 0;
	l->from[0] = '\0';
	l->marks = (struct plx_marks){ 0 };
	plx_report_status(l, plx_now_s() + COALESCE_S);
}

static void act_give_up(struct plx_launcher *l)
{
	plx_handover_give_up(l);
	act_stop(l);
}

static void act_lost(struct plx_launcher *l)
{
	plx_report_fault(l, l->exit_code, 0);
	act_ack(l);
}

static void act_publish(struct plx_launcher *l)
{
	plx_report_status(l, plx_now_s() + COALESCE_S);
}

static void act_finish(struct plx_launcher *l)
{
	if (l->signal && !l->now->said.done)
		l->exit_code = 128 + l->signal;
	plx_handover_call_off(l);
	plx_report_done(l);
	plx_report_status(l, plx_now_s());
	plx_publish(l);
}

static void act_try(struct plx_launcher *l)
{
	if (plx_handover_try(l) < 0)
		plx_raise(l, PLX_EVENT_NO_NEXT);
}

static void act_warm(struct plx_launcher *l)
{
	if (plx_handover_warm(l) < 0)
		plx_raise(l, PLX_EVENT_NO_NEXT);
}

static void act_none(struct plx_launcher *l)
{
	(void) l;
}

static void (*const actions[])(struct plx_launcher *) = {
	[PLX_ACTION_NONE] = act_none,
	[PLX_ACTION_START] = act_start,
	[PLX_ACTION_STOP] = act_stop,
	[PLX_ACTION_KILL] = act_kill,
	[PLX_ACTION_ACK] = act_ack,
	[PLX_ACTION_PUBLISH] = act_publish,
	[PLX_ACTION_PARK] = act_park,
	[PLX_ACTION_RETRY] = act_retry,
	[PLX_ACTION_FINISH] = act_finish,
	[PLX_ACTION_OVERLAP] = plx_handover_overlap,
	[PLX_ACTION_KEEP] = plx_handover_keep,
	[PLX_ACTION_TRY] = act_try,
	[PLX_ACTION_WARM] = act_warm,
	[PLX_ACTION_HAND] = plx_handover_hand,
	[PLX_ACTION_GO] = plx_handover_go,
	[PLX_ACTION_PROMOTE] = plx_handover_promote,
	[PLX_ACTION_RESUME] = plx_handover_resume,
	[PLX_ACTION_ADOPT] = plx_handover_adopt,
	[PLX_ACTION_FOLLOW] = plx_handover_follow,
	[PLX_ACTION_RETURN] = plx_sick_return,
	[PLX_ACTION_RETAIN] = plx_sick_keep,
	[PLX_ACTION_GIVE_UP] = act_give_up,
	[PLX_ACTION_LOST] = act_lost,
};

void plx_raise(struct plx_launcher *l, enum plx_event event)
{
	struct plx_step_to next = plx_lifecycle_next(l->stage, event);

	if (next.stage != l->stage) {
		plx_say(l, PLX_VERBOSE, "%s -> %s", plx_stage_name(l->stage),
			plx_stage_name(next.stage));
		/* Ranks on their way out keep the time they were given. */
		if (!plx_stage_has_ranks(l->stage) ||
		    !plx_stage_has_ranks(next.stage))
			l->deadline_s = 0;
		l->stage = next.stage;
		l->stage_s = plx_now_s();
		plx_polls_anew(&l->polls);
		plx_busy_anew(l);
	}
	actions[next.action](l);
	plx_handover_give_back(l);
}
