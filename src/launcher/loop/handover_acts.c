/* SPDX-License-Identifier: GPL-2.0-or-later */
/* handover_acts.c - the launcher's acts of a handover */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "launcher/rules/clock.h"
#include "launcher/loop/handover_acts.h"
#include "launcher/loop/host_memory.h"
#include "launcher/loop/start_time.h"
#include "launcher/loop/state.h"
#include "wire/message.h"

#define COOL_FIRST_S 60.0  /* without handover after one that failed */
#define COOL_TIMES   5	   /* that it doubles */
#define HELLO_S	     120.0 /* for ranks that were to be the next */
#define TRY_S	     40.0  /* for trials; slurmctld waits for us */

/* Ranks there are to be on a node: on ours, no more than that. */
static int most_ranks(const struct plx_target *target)
{
	int most = 0;

	for (int i = 0; i < target->nodes; i++) {
		int each = plx_target_each(target, i);

		most = each > most ? each : most;
		if (!target->each[0])
			break; /* as many on all */
	}
	return most;
}

static bool has_memory(const struct plx_launcher *l)
{
	const struct plx_target *target = &l->job.target;
	/* Our node may have none of them. */
	int here = plx_layout_on(&l->now->step.layout, l->settings->node);
	struct plx_error err;

	if (plx_memory_suffices(l->now->socket, l->settings->node, here,
				most_ranks(target), &err) == 0)
		return true;
	plx_say(l, PLX_NORMAL,
		"the next ranks have to wait for these to end: "
		"%s",
		err.text);
	return false;
}

/*
 * As its ranks have measured: what a GPU has in use is what a second rank
 * would need. The next ranks are taken to be on the same GPUs, as all but a
 * few are.
 */
static bool has_gpu_memory(const struct plx_launcher *l)
{
	const struct plx_said *said = &l->now->said;

	if (!said->tight)
		return true;
	plx_say(l, PLX_NORMAL,
		"the next ranks have to wait for these to end: on %d of %d "
		"GPUs there is no memory for a second rank (on rank 0's "
		"%d MiB are in use, %d MiB free)",
		said->tight, l->now->step.layout.ranks, said->used_mib,
		said->unused_mib);
	return false;
}

bool plx_handover_possible(struct plx_launcher *l)
{
	const struct plx_target *target = &l->job.target;

	return l->settings->prewarm && l->now->said.hello &&
	       l->now->said.began && !l->old && !l->next &&
	       l->now->step.layout.gpus && target->gpus_per_node > 0 &&
	       !target->cold && plx_now_s() >= l->cool_until_s &&
	       has_memory(l) && has_gpu_memory(l);
}

bool plx_handover_untried(const struct plx_launcher *l)
{
	const struct plx_layout *now = &l->now->step.layout;
	struct plx_error err;

	return l->stage == PLX_STAGE_TRAINING && l->settings->params &&
	       l->now->said.hello && l->now->said.began && !l->old &&
	       !l->next && now->count && !l->job.target.move &&
	       plx_script_is_new(&l->script) &&
	       plx_memory_suffices(l->now->socket, l->settings->node,
				   plx_layout_on(now, l->settings->node), 1,
				   &err) == 0;
}

void plx_handover_overlap(struct plx_launcher *l)
{
	l->status.ack = l->job.target.serial;
	l->status.live = true;
	l->ack_number = 0;
	l->deadline_s = 0;
	l->marks = (struct plx_marks){ .offered_s = plx_now_s() };
	plx_peer_send(&l->now->peer, PLX_MSG_PREPARE);
	plx_report_status(l, plx_now_s());
	plx_publish(l);
}

void plx_handover_keep(struct plx_launcher *l)
{
	plx_handover_call_off(l);
	l->status.live = false;
	plx_report_status(l, plx_now_s());
}

/* Memory may be short, a node bad: for a while, without. */
void plx_handover_give_up(struct plx_launcher *l)
{
	double wait_s = COOL_FIRST_S;

	for (int i = 0; i < l->failed_handovers && i < COOL_TIMES; i++)
		wait_s *= 2;
	if (l->next && !l->next->said.ready)
		plx_start_late(l);
	l->failed_handovers++;
	l->cool_until_s = plx_now_s() + wait_s;
	plx_say(l, PLX_NORMAL,
		"the next ranks do not take over, resizes are cold for %.0f s",
		wait_s);
	plx_handover_call_off(l);
}

static struct plx_generation *free_slot(struct plx_launcher *l)
{
	return l->now == &l->slots[0] ? &l->slots[1] : &l->slots[0];
}

int plx_handover_warm(struct plx_launcher *l)
{
	struct plx_generation *g = free_slot(l);
	struct plx_generation_order order;
	struct plx_error err;

	plx_order_generation(l, &order);
	plx_script_start(&l->script);
	order.warm = true;
	order.layout = &l->job.aim;
	order.relay = l->settings->relay == PLX_RELAY_ALWAYS ||
		      (l->settings->relay == PLX_RELAY_AUTO && l->job.aim_away);
	order.where = l->job.aim_where;
	order.spared = l->job.spared;
	l->from_ranks = l->now->step.layout.ranks;
	snprintf(l->from, sizeof(l->from), "%s", l->now->where);
	l->resizing = true;
	l->marks.started_s = plx_now_s();
	l->deadline_s = plx_now_s() + plx_start_warm_s(l);
	if (plx_generation_start(g, &order, &err) < 0) {
		plx_say(l, PLX_NORMAL, "%s", err.text);
		plx_generation_close(g);
		return -1;
	}
	l->next = g;
	plx_report_start(l, g);
	plx_report_status(l, plx_now_s());
	return 0;
}

static int start_trial(struct plx_launcher *l, struct plx_generation *g,
		       struct plx_error *err)
{
	struct plx_layout_node node = l->now->step.layout.nodes[0];
	struct plx_layout one = { .gpus = l->now->step.layout.gpus };
	struct plx_generation_order order;
	int rc;

	plx_layout_keep(&node, 1, 0);
	if (plx_layout_add(&one, &node, err) < 0)
		return -1;
	plx_order_generation(l, &order);
	plx_script_start(&l->script);
	order.warm = true;
	order.layout = &one;
	order.where = node.name;
	rc = plx_generation_start(g, &order, err);
	plx_layout_release(&one);
	return rc;
}

int plx_handover_try(struct plx_launcher *l)
{
	struct plx_generation *g = free_slot(l);
	struct plx_error err;

	if (!l->ill.broken)
		plx_say(l, PLX_NORMAL,
			"the program was changed: trying it on one rank before "
			"these are stopped");
	l->deadline_s =
		fmin(plx_now_s() + plx_start_warm_s(l), l->stage_s + TRY_S);
	if (start_trial(l, g, &err) < 0) {
		plx_say(l, PLX_NORMAL, "%s", err.text);
		plx_generation_close(g);
		return -1;
	}
	l->next = g;
	/* slurmctld waits meanwhile. */
	l->status.busy = true;
	plx_report_start(l, g);
	plx_report_status(l, plx_now_s());
	return 0;
}

void plx_handover_hand(struct plx_launcher *l)
{
	l->marks.asked_s = plx_now_s();
	l->deadline_s = plx_now_s() + l->settings->save_timeout_s;
	plx_peer_send(&l->now->peer, PLX_MSG_HAND);
}

void plx_handover_go(struct plx_launcher *l)
{
	char line[64];

	snprintf(line, sizeof(line), PLX_MSG_GO " gen=%" PRIu64,
		 l->now->number);
	plx_peer_send(&l->next->peer, line);
	l->marks.go_s = plx_now_s();
	l->deadline_s = plx_now_s() + plx_start_warm_s(l);
}

/* The next ranks are those that train now. */
static void take_over(struct plx_launcher *l)
{
	struct plx_generation *before = l->now;

	l->now = l->next;
	l->next = NULL;
	if (plx_generation_lives(before))
		l->old = before;
	l->deadline_s = 0;
	l->failed_handovers = 0;
}

void plx_handover_promote(struct plx_launcher *l)
{
	take_over(l);
	if (l->old) {
		plx_peer_send(&l->old->peer, PLX_MSG_LEAVE);
		l->old->kill_s = plx_now_s() + l->settings->save_timeout_s;
	}
	plx_report_status(l, plx_now_s());
}

void plx_handover_release(struct plx_launcher *l)
{
	char line[64];

	if (!l->now->said.held)
		return;
	/* The next ones may have raised the fence: these must be above it. */
	l->now->number = ++l->newest;
	plx_folder_lock_note(&l->folder_lock, l->newest);
	l->now->said.held = false;
	snprintf(line, sizeof(line), PLX_MSG_RESUME " gen=%" PRIu64,
		 l->now->number);
	plx_peer_send(&l->now->peer, line);
}

void plx_handover_resume(struct plx_launcher *l)
{
	if (l->ill.pending)
		plx_handover_call_off(l);
	else
		plx_handover_give_up(l);
	l->deadline_s = plx_now_s() + l->settings->save_timeout_s;
	/* If they do not hold yet, they are told as soon as they do. */
	plx_handover_release(l);
}

/* Where memory did not do, they have left a checkpoint: no fault. */
static void report_end(struct plx_launcher *l)
{
	if (!l->now->said.saved)
		plx_report_fault(l, l->exit_code, 0);
	plx_say(l, PLX_NORMAL, "the next ranks, started beside, go on from %s",
		l->now->said.held ? "what these held" : "their checkpoint");
}

void plx_handover_adopt(struct plx_launcher *l)
{
	plx_peer_send(&l->next->peer, PLX_MSG_GO);
	l->marks.go_s = plx_now_s();
	plx_handover_follow(l);
}

void plx_handover_follow(struct plx_launcher *l)
{
	report_end(l);
	take_over(l);
	if (!l->now->said.hello)
		l->deadline_s = plx_now_s() + HELLO_S;
	plx_report_status(l, plx_now_s());
}

void plx_handover_call_off(struct plx_launcher *l)
{
	if (!l->next)
		return;
	if (plx_generation_lives(l->next)) {
		l->old = l->next;
		l->old->kill_s = plx_now_s();
	}
	l->next = NULL;
	plx_handover_see_off(l);
}

void plx_handover_see_off(struct plx_launcher *l)
{
	struct plx_generation *old = l->old;

	if (!old || plx_now_s() < old->kill_s)
		return;
	if (plx_step_kill(&old->step))
		plx_slurm_client_kill(l->client, old->step.name);
	old->kill_s = plx_now_s() + PLX_KILL_AGAIN_S;
}

void plx_handover_give_back(struct plx_launcher *l)
{
	if (!l->status.live || l->old || l->next ||
	    plx_stage_hands_over(l->stage))
		return;
	/* Those about to leave acknowledge when they have. */
	if (plx_stage_has_ranks(l->stage) && !plx_stage_trains(l->stage))
		return;
	l->status.live = false;
	plx_report_status(l, plx_now_s());
}
