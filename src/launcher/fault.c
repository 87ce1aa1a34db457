/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fault.c - ranks that failed or hang: what follows */

#include <math.h>

#include "launcher/clock.h"
#include "launcher/fault.h"
#include "launcher/state.h"

#define SRUN_TIMES   12	 /* it is tried, if it can start no ranks */
#define SRUN_WAIT_S  5.0 /* at most between two tries */
#define SIGNAL_CODE  128 /* exit codes above it: killed */
#define KILL_AGAIN_S 5.0
#define OWN_SLEEP_S  20.0 /* between two looks: we were stopped ourselves */

/*
 * Each try has to wait for slurmctld's word on where the job's GPUs are: while
 * it is away none is lost.
 */
static bool may_try_srun(struct plx_launcher *l)
{
	if (++l->fault.srun < SRUN_TIMES)
		return true;
	plx_say(l, PLX_QUIET, "srun could not start the ranks %d times",
		l->fault.srun);
	return false;
}

bool plx_fault_may_restart(struct plx_launcher *l, int code)
{
	struct plx_backoff *b = &l->fault.backoff;

	if (code == PLX_SRUN_FAILED && !l->now->peer.met)
		return may_try_srun(l);
	l->fault.srun = 0;
	/* The program's own words, before it ever spoke to us. */
	if (!l->ever_met && code <= SIGNAL_CODE)
		return false;
	if (plx_backoff_fault(b, l->settings->max_restarts))
		return true;
	plx_say(l, PLX_QUIET,
		"ranks failed (exit code %d) after %d restarts without "
		"progress, giving up",
		code, b->faults);
	return false;
}

double plx_fault_wait_s(const struct plx_launcher *l)
{
	if (l->fault.srun)
		return fmin(plx_backoff_wait_s(l->fault.srun), SRUN_WAIT_S);
	return plx_backoff_wait_s(l->fault.backoff.faults);
}

void plx_fault_hello(struct plx_launcher *l)
{
	l->fault.srun = 0;
	plx_hang_begin(&l->fault.hang, plx_now_s());
}

void plx_fault_beat(struct plx_launcher *l, uint64_t step)
{
	double now_s = plx_now_s();

	plx_hang_beat(&l->fault.hang, now_s);
	plx_backoff_reached(&l->fault.backoff, step, now_s);
}

/* Ranks that hold their state wait for others, as long as those may take. */
static bool should_move(const struct plx_launcher *l)
{
	return plx_generation_lives(l->now) && plx_stage_trains(l->stage) &&
	       l->stage != PLX_STAGE_HANDING && l->stage != PLX_STAGE_TAKING &&
	       l->stage != PLX_STAGE_RESUMING;
}

/* Survivors save what they have when srun is told; then srun is killed. */
static void kill_ranks(struct plx_launcher *l)
{
	if (plx_step_kill(&l->now->step))
		plx_clerk_kill(l->clerk, l->now->step.name);
	l->fault.kill_s = plx_now_s() + KILL_AGAIN_S;
}

void plx_fault_watch(struct plx_launcher *l)
{
	struct plx_faults *f = &l->fault;
	double now_s = plx_now_s();
	double slept_s = now_s - f->watched_s;
	double due_s;

	f->watched_s = now_s;
	if (!plx_generation_lives(l->now)) {
		plx_hang_end(&f->hang);
		f->kill_s = 0;
		return;
	}
	if (f->hang.beat_s && (slept_s > OWN_SLEEP_S || !should_move(l)))
		f->hang.beat_s += slept_s;
	if (f->kill_s) {
		if (now_s >= f->kill_s)
			kill_ranks(l);
		return;
	}
	due_s = plx_hang_due_s(&f->hang, l->settings->hang_timeout_s);
	if (!due_s || now_s < due_s)
		return;
	plx_say(l, PLX_NORMAL,
		"no step for %.0f s: the ranks hang, killing them",
		now_s - f->hang.beat_s);
	kill_ranks(l);
}
