/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node_failure.c - a node that is gone without a word: go on without it */

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "launcher/rules/clock.h"
#include "launcher/loop/node_failure.h"
#include "launcher/loop/silence.h"
#include "launcher/loop/state.h"

#define AGAIN_S	 5.0  /* between looks for lost nodes */
#define ANSWERS	 2    /* so many in a row: it is back */
#define LOOK_S	 0.05 /* while ranks leave */
#define LEFT_S	 0.1  /* from rank 0's end to that of the others */
#define VERIFY_S 20.0 /* for slurmctld to say whose the nodes are */
#define KILLED	 137  /* as ranks on another node would have been */

int plx_lost_init(struct plx_lost *lost, struct plx_error *err)
{
	lost->silence = plx_silence_create(err);
	return lost->silence ? 0 : -1;
}

void plx_lost_release(struct plx_lost *lost)
{
	plx_silence_destroy(lost->silence);
	plx_layout_release(&lost->gone);
}

int plx_lost_fd(const struct plx_launcher *l)
{
	return l->lost.silence ? plx_silence_fd(l->lost.silence) : -1;
}

/* On another node than ours, which would be lost with us. */
static bool is_elsewhere(const struct plx_launcher *l)
{
	const struct plx_layout *nodes = &l->now->step.layout;
	const char *own = l->settings->node;

	return nodes->count > 1 ||
	       (nodes->count && (!own || !plx_layout_on(nodes, own)));
}

/* Do the ranks train, so that their steps tell something? */
static bool is_due(const struct plx_launcher *l)
{
	return l->lost.silence && plx_generation_lives(l->now) &&
	       l->now->said.hello && plx_stage_trains(l->stage) &&
	       l->stage != PLX_STAGE_HANDING && l->stage != PLX_STAGE_TAKING &&
	       l->stage != PLX_STAGE_RESUMING &&
	       !plx_lost_ended(&l->lost, l->now->number) && is_elsewhere(l);
}

static double ask_s(const struct plx_launcher *l)
{
	double odd_s = plx_hang_odd_s(&l->fault.hang);

	return odd_s ? fmax(odd_s, l->lost.next_s) : INFINITY;
}

/* A look at slurmctld, too: it may be the only one to bear witness. */
static void suspect(struct plx_launcher *l, double now_s)
{
	struct plx_lost *lost = &l->lost;

	if (lost->beat_s != l->fault.hang.beat_s || !lost->suspect_s) {
		lost->suspect_s = now_s;
		lost->heard_s = 0;
	}
	lost->beat_s = l->fault.hang.beat_s;
	/* Twice as long each time: slurmd logs who knocks. */
	lost->next_s = now_s + fmax(2, now_s - lost->beat_s);
	plx_polls_at_once(&l->polls);
	lost->asks_gone = false;
	plx_silence_knock(lost->silence, &l->now->step.layout,
			  l->settings->node);
}

/* Rank 0 leaves when the state is saved: srun would wait for the lost ones. */
static void see_off(struct plx_launcher *l, double now_s)
{
	const struct plx_peer *peer = &l->now->peer;

	if (!plx_lost_ended(&l->lost, l->now->number) ||
	    !plx_generation_lives(l->now) || !peer->met || peer->channel)
		return;
	if (!l->lost.kill_s)
		l->lost.kill_s = now_s + LEFT_S;
	else if (now_s >= l->lost.kill_s)
		kill(l->now->step.pid, l->now->step.killer);
}

void plx_lost_watch(struct plx_launcher *l)
{
	struct plx_lost *lost = &l->lost;
	double now_s = plx_now_s();

	if (!lost->silence)
		return;
	if (lost->learned != l->now->number && l->now->said.hello) {
		lost->learned = l->now->number;
		plx_silence_learn(lost->silence, &l->now->step.layout);
	}
	see_off(l, now_s);
	if (is_due(l) && now_s >= ask_s(l)) {
		suspect(l, now_s);
	} else if (lost->gone.count &&
		   !plx_lost_ended(&l->lost, l->now->number) &&
		   now_s >= lost->back_s) {
		lost->back_s = now_s + AGAIN_S;
		lost->asks_gone = true;
		plx_silence_knock(lost->silence, &lost->gone, NULL);
	}
}

double plx_lost_due_s(const struct plx_launcher *l)
{
	const struct plx_lost *lost = &l->lost;

	if (lost->unverified == l->now->number && plx_generation_lives(l->now))
		return l->now->step.ended_s + VERIFY_S;
	if (!lost->silence)
		return INFINITY;
	if (plx_lost_ended(&l->lost, l->now->number))
		return plx_generation_lives(l->now) ? plx_now_s() + LOOK_S
						    : INFINITY;
	return fmin(is_due(l) ? ask_s(l) : INFINITY,
		    lost->gone.count ? lost->back_s : INFINITY);
}

static void write_names(const struct plx_layout *nodes, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < nodes->count && used < size; i++)
		used += (size_t) snprintf(text + used, size - used, "%s%s",
					  i ? "," : "", nodes->nodes[i].name);
}

/* The ranks that are left save, as when they hang. */
static void give_up(struct plx_launcher *l, const struct plx_knocked *knocked)
{
	struct plx_lost *lost = &l->lost;
	char names[PLX_WHERE_SIZE];
	struct plx_error err;

	if (!lost->gone.count)
		lost->gone_s = plx_now_s();
	for (int i = 0; i < knocked->silent.count; i++) {
		const struct plx_layout_node *node = &knocked->silent.nodes[i];

		if (!plx_layout_on(&lost->gone, node->name))
			(void) plx_layout_add(&lost->gone, node, &err);
	}
	write_names(&knocked->silent, names, sizeof(names));
	plx_report_lost(l, names, plx_now_s() - lost->beat_s);
	lost->ended = l->now->number;
	lost->kill_s = 0;
	lost->back_s = plx_now_s() + AGAIN_S;
	snprintf(lost->step, sizeof(lost->step), "%s", l->now->step.name);
	plx_job_without(&l->job, &lost->gone);
	plx_fault_end(l);
}

/* Those that were lost are there: ranks are to use them again. */
static void welcome(struct plx_launcher *l)
{
	struct plx_lost *lost = &l->lost;
	char names[PLX_WHERE_SIZE];

	write_names(&lost->gone, names, sizeof(names));
	plx_report_found(l, names, plx_now_s() - lost->gone_s);
	plx_layout_release(&lost->gone);
	lost->answers = 0;
	/* Some of the ranks that were cut off may be there still. */
	plx_slurm_client_kill(l->client, lost->step);
	plx_polls_at_once(&l->polls);
}

/* The answer to a suspicion. */
static void conclude(struct plx_launcher *l, const struct plx_knocked *knocked)
{
	struct plx_lost *lost = &l->lost;
	bool witness;

	if (!is_due(l) || lost->beat_s != l->fault.hang.beat_s)
		return;
	/* Asked again since: our own network may just have come back. */
	witness = knocked->answered ||
		  (lost->heard_s && knocked->began_s >= lost->heard_s);
	if (!lost->heard_s && l->looked_s >= lost->suspect_s)
		lost->heard_s = plx_now_s();
	if (!witness && knocked->silent.count)
		lost->next_s = plx_now_s();
	else if (knocked->silent.count)
		give_up(l, knocked);
}

/* Of who has told its end itself, or was told to, 0 is believed. */
static bool is_odd(const struct plx_launcher *l, const struct plx_generation *g,
		   int code)
{
	return !code && g == l->now && !g->said.done && !g->said.saved &&
	       l->stage != PLX_STAGE_ENDING && !l->settings->registry;
}

static bool has_answer(const struct plx_launcher *l,
		       const struct plx_generation *g)
{
	return l->looked_s > g->step.ended_s;
}

bool plx_lost_unverified(struct plx_launcher *l, const struct plx_generation *g,
			 int code)
{
	if (!is_odd(l, g, code) || has_answer(l, g) ||
	    plx_now_s() > g->step.ended_s + VERIFY_S)
		return false;
	if (l->lost.unverified != g->number)
		plx_polls_at_once(&l->polls);
	l->lost.unverified = g->number;
	return true;
}

int plx_lost_code(struct plx_launcher *l, int code)
{
	const struct plx_generation *g = l->now;
	const struct plx_layout *nodes = &g->step.layout;
	const char *name = NULL;

	if (!is_odd(l, g, code) || !has_answer(l, g))
		return code;
	for (int i = 0; i < nodes->count && !name; i++) {
		if (!plx_layout_on(&l->job.layout, nodes->nodes[i].name))
			name = nodes->nodes[i].name;
	}
	if (!name)
		return code;
	plx_say(l, PLX_NORMAL,
		"the ranks have not ended: node %s was lost with them", name);
	l->lost.ended = g->number;
	return KILLED;
}

void plx_lost_news(struct plx_launcher *l)
{
	struct plx_lost *lost = &l->lost;
	struct plx_knocked knocked;

	if (!plx_silence_take(lost->silence, &knocked))
		return;
	if (!lost->asks_gone)
		conclude(l, &knocked);
	else if (knocked.silent.count || !knocked.answered)
		lost->answers = 0;
	else if (++lost->answers >= ANSWERS)
		welcome(l);
	plx_layout_release(&knocked.silent);
}
