/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fault.c - ranks that failed or hang: what follows */

#include <math.h>
#include <signal.h>

#include "launcher/rules/clock.h"
#include "launcher/loop/fault.h"
#include "launcher/loop/state.h"

#define SRUN_TIMES    12  /* it is tried, if it can start no ranks */
#define SRUN_WAIT_S   5.0 /* at most between two tries */
#define SIGNAL_CODE   128 /* exit codes above it: killed */
#define NOTE_LOOK_S   1.0
#define EXCUSED_S     5.0  /* between looks at what they do */
#define SRUN_SEES_S   3.0  /* by then srun knows that a rank is gone */
#define USR1_S	      5.0  /* from a SIGUSR1 to the end of what it killed */
#define SILENT_S      3.0  /* at least, and */
#define SILENT_FACTOR 3.0  /* of the longest silence so far */
#define OWN_SLEEP_S   20.0 /* between two looks: we were stopped ourselves */

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

static bool died_of_usr1(const struct plx_launcher *l, int code)
{
	double since_s = plx_now_s() - l->fault.usr1_s;

	return code == SIGNAL_CODE + SIGUSR1 && l->fault.usr1_s &&
	       since_s < USR1_S;
}

bool plx_fault_may_restart(struct plx_launcher *l, int code)
{
	struct plx_backoff *b = &l->fault.backoff;

	if (code == PLX_SRUN_FAILED && !l->now->peer.met)
		return may_try_srun(l);
	l->fault.srun = 0;
	if (died_of_usr1(l, code)) {
		plx_say(l, PLX_NORMAL,
			"the ranks have no handler for SIGUSR1: this restart "
			"does not count");
		return true;
	}
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

bool plx_fault_is_programs(const struct plx_launcher *l, int code)
{
	const struct plx_rank_word *word = &l->foreign.error;

	if (!code || !l->foreign.has_error)
		return false;
	plx_say(l, PLX_QUIET,
		"rank %d ended with an error of the program, which another "
		"start would meet again%s%s",
		word->rank, word->why[0] ? ": " : "", word->why);
	return true;
}

int plx_fault_code(const struct plx_launcher *l, int code)
{
	bool unmet = l->fault.speaks && !l->now->peer.met;

	if ((l->ill.none_up && code <= SIGNAL_CODE) || (unmet && code == 0))
		return PLX_SRUN_FAILED;
	return code;
}

double plx_fault_wait_s(const struct plx_launcher *l)
{
	if (plx_lost_ended(&l->lost, l->now->number))
		return 0;
	if (l->fault.srun)
		return fmin(plx_backoff_wait_s(l->fault.srun), SRUN_WAIT_S);
	/* Where nothing was lost there is no reason to wait longer each time.
	 */
	if (l->foreign.rescued || l->now->said.saved)
		return plx_backoff_wait_s(1);
	return plx_backoff_wait_s(l->fault.backoff.faults);
}

void plx_fault_hello(struct plx_launcher *l)
{
	l->fault.srun = 0;
	l->fault.speaks = true;
	plx_hang_begin(&l->fault.hang, plx_now_s());
}

void plx_fault_beat(struct plx_launcher *l, uint64_t step)
{
	double now_s = plx_now_s();

	/* What was excused is no measure of a step. */
	if (l->fault.excused_s)
		plx_hang_busy(&l->fault.hang, now_s);
	l->fault.excused_s = 0;
	plx_hang_beat(&l->fault.hang, now_s);
	plx_backoff_reached(&l->fault.backoff, step, now_s);
}

void plx_fault_busy(struct plx_launcher *l)
{
	l->fault.excused_s = 0;
	plx_hang_busy(&l->fault.hang, plx_now_s());
}

/* Ranks that hold their state wait for others, as long as those may take. */
static bool should_move(const struct plx_launcher *l)
{
	return plx_generation_lives(l->now) && plx_stage_trains(l->stage) &&
	       l->stage != PLX_STAGE_HANDING && l->stage != PLX_STAGE_TAKING &&
	       l->stage != PLX_STAGE_RESUMING;
}

double plx_fault_silent_s(const struct plx_launcher *l)
{
	const struct plx_hang *hang = &l->fault.hang;

	if (!hang->beats || !should_move(l))
		return INFINITY;
	return hang->beat_s + fmax(SILENT_S, SILENT_FACTOR * hang->longest_s);
}

/* Survivors save what they have; then srun is told, then killed. */
void plx_fault_end(struct plx_launcher *l)
{
	struct plx_launch_step *step = &l->now->step;

	/* mpirun gives its ranks a second itself. */
	if (!l->fault.kill_s && !l->settings->registry) {
		plx_slurm_client_end(l->client, step->name);
		l->fault.kill_s = plx_now_s() + l->settings->save_timeout_s;
		return;
	}
	if (plx_step_kill(step))
		plx_slurm_client_kill(l->client, step->name);
	l->fault.kill_s = plx_now_s() + PLX_KILL_AGAIN_S;
}

/* No step for so long, or leave-taking for longer, is too long; 0: never. */
static double limit_s(const struct plx_launcher *l)
{
	const struct plx_hang *hang = &l->fault.hang;
	double due_s = plx_hang_due_s(hang, l->settings->hang_timeout_s);

	if (!due_s)
		return 0;
	return fmax(due_s - hang->beat_s,
		    l->now->said.done ? PLX_HANG_DONE_S : 0);
}

/* When they hang if nothing is heard until then; INFINITY: never. */
static double hang_due_s(const struct plx_launcher *l)
{
	double limit = limit_s(l);

	if (!limit)
		return INFINITY;
	return fmax(l->fault.hang.beat_s + limit, l->fault.excused_s);
}

static bool is_hanging(struct plx_launcher *l, double now_s)
{
	const struct plx_hang *hang = &l->fault.hang;
	char late[512];

	if (now_s < hang_due_s(l))
		return false;
	if (plx_busy_excuses(l, limit_s(l))) {
		l->fault.excused_s = now_s + EXCUSED_S;
		return false;
	}
	plx_busy_late(l, late, sizeof(late));
	plx_say(l, PLX_NORMAL,
		"no step for %.0f s%s%s: the ranks hang, ending them",
		now_s - hang->beat_s, late[0] ? ", " : "", late);
	return true;
}

/*
 * When slurmstepd is killed its ranks die, but srun and the ranks of other
 * nodes wait for ever. Its pollux-rank has left a note.
 */
static bool has_lost_one(struct plx_launcher *l, double now_s)
{
	const char *notes = l->settings->notes;
	int generation = (int) l->now->step.generation;
	struct plx_faults *f = &l->fault;
	struct plx_exit how;
	char text[512];

	if (!notes || now_s < f->note_s)
		return false;
	f->note_s = now_s + NOTE_LOOK_S;
	if (!plx_note_is(notes, PLX_NOTE_EXIT, generation) &&
	    !plx_note_is(notes, PLX_NOTE_FAIL, generation))
		return false;
	if (!f->lost_s)
		f->lost_s = now_s;
	if (now_s < f->lost_s + SRUN_SEES_S ||
	    !plx_exit_read(notes, generation, &how))
		return false;
	plx_exit_say(&how, text, sizeof(text));
	plx_say(l, PLX_NORMAL, "%s, and the others wait for it: ending them",
		text);
	return true;
}

/* We were stopped ourselves, or the ranks may be silent: no time counts. */
static void excuse(struct plx_launcher *l, double slept_s)
{
	struct plx_hang *hang = &l->fault.hang;

	if (hang->beat_s && (slept_s > OWN_SLEEP_S || !should_move(l)))
		hang->beat_s += slept_s;
}

double plx_fault_due_s(const struct plx_launcher *l)
{
	const struct plx_faults *f = &l->fault;

	if (!plx_generation_lives(l->now))
		return INFINITY;
	if (f->kill_s)
		return f->kill_s;
	if (!should_move(l))
		return INFINITY;
	return fmin(hang_due_s(l), l->settings->notes ? f->note_s : INFINITY);
}

void plx_fault_watch(struct plx_launcher *l)
{
	struct plx_faults *f = &l->fault;
	double now_s = plx_now_s();
	double slept_s = now_s - f->watched_s;

	f->watched_s = now_s;
	if (f->watched != l->now->number || !plx_generation_lives(l->now)) {
		f->watched = l->now->number;
		f->kill_s = 0;
		f->lost_s = 0;
		f->excused_s = 0;
	}
	if (!plx_generation_lives(l->now)) {
		plx_hang_end(&f->hang);
		return;
	}
	excuse(l, slept_s);
	if (f->kill_s) {
		if (now_s >= f->kill_s)
			plx_fault_end(l);
	} else if (should_move(l) &&
		   (is_hanging(l, now_s) || has_lost_one(l, now_s))) {
		plx_fault_end(l);
	}
}
