/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * light.c - an elastic job without MPI, cheap enough for a hundred at once
 *
 *	sbatch --scheduler-params=pollux,max=8 --wrap "light --log=FILE"
 *
 * Stands in for pollux-launch and its ranks: writes its status into the job's
 * comment, follows the targets, acknowledges. It starts no step; its training
 * is arithmetic, the goodput of its model on the GPUs that the job has. Run
 * it as the batch script's last command, or bare in a step with --wake=none.
 * `light --help` lists the options; submit_light in light.sh uses them.
 */
#include "config.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/rules/clock.h"
#include "launcher/job/job_seen.h"
#include "light.h"

#define WAIT_POLL_S    0.05 /* while an answer is due */
#define TROUBLE_POLL_S 0.5  /* while slurmctld does not answer */

static struct light set;

static struct {
	struct plx_job_seen job;
	char told[PLX_FIELDS_MAX]; /* "": to be told */
	double told_s;
	double began_s;
	double worked_s; /* up to here */
	double samples;	 /* done */
	double asked_s;	 /* when the target was first seen, 0: none is */
	double lent_s;	 /* when it was lent */
	double whim_s;	 /* last one */
	uint32_t seen;	 /* serial of the last target */
	bool settled;	 /* an answer to our last one has come */
} my;

static void say(const char *event, const char *more)
{
	FILE *out = set.log ? fopen(set.log, "a") : stdout;

	if (!out)
		return;
	fprintf(out,
		"%.3f job=%u event=%s serial=%u gpus=%d nodes=%d on=%s %s\n",
		plx_wall_s(), set.id, event, my.job.target.serial,
		my.job.layout.ranks, my.job.layout.count,
		my.job.layout.ranks ? my.job.where : "-", more);
	if (set.log)
		fclose(out);
	else
		fflush(out);
}

static void report_progress(void)
{
	struct plx_hint *hint = &set.status.hint;

	if (set.samples > 0) {
		hint->progress = my.samples / set.samples;
		hint->samples_left = set.samples - my.samples;
		if (hint->progress > 1)
			hint->progress = 1;
	}
	if (set.left >= 0)
		hint->samples_left = set.left;
	if (hint->samples_left < 0)
		hint->samples_left = 0;
}

static struct plx_job_who us(void)
{
	return (struct plx_job_who){ .id = set.id,
				     .elastic = true,
				     .batch_host = set.batch_host };
}

/* Write the status; what does not get through is tried again. */
static void tell(void)
{
	char fields[PLX_FIELDS_MAX];
	struct plx_job_words words = { .fields = fields, .bare = fields };
	struct plx_job_who who = us();
	struct plx_job_seen seen = { .id = 0 };
	struct plx_error err;
	bool bad;

	report_progress();
	bad = plx_status_write(&set.status, fields, sizeof(fields), &err) < 0 ||
	      plx_job_publish(&who, &words, &seen, &err) < 0;
	if (seen.id)
		plx_job_release(&seen);
	if (bad) {
		say("trouble", err.text);
		my.told[0] = '\0';
		return;
	}
	snprintf(my.told, sizeof(my.told), "%s", fields);
	my.told_s = plx_now_s();
}

/* What was trained since the last look, on the GPUs it had then. */
static void work(void)
{
	double now_s = plx_now_s();
	struct plx_shape shape = { .nodes = my.job.layout.count,
				   .gpus = my.job.layout.ranks };
	struct plx_hint *hint = &set.status.hint;
	double speed = 0;

	if (shape.gpus > 0 && set.status.phase == PLX_PHASE_TRAINING &&
	    plx_batch_best(&hint->job, shape, &hint->now, &speed))
		my.samples += speed * (now_s - my.worked_s);
	hint->goodput = speed;
	my.worked_s = now_s;
}

static bool is_over(void)
{
	if (set.samples > 0 && my.samples >= set.samples)
		return true;
	return set.seconds > 0 && plx_now_s() >= my.began_s + set.seconds;
}

static void measure(void)
{
	struct plx_hint *hint = &set.status.hint;

	if (my.job.layout.ranks <= hint->profiled.gpus)
		return;
	hint->profiled = (struct plx_shape){ .nodes = my.job.layout.count,
					     .gpus = my.job.layout.ranks };
}

/* A target is open that was not answered, or not in the way it has to be. */
static bool is_asked(void)
{
	const struct plx_target *target = &my.job.target;

	return target->state == PLX_TARGET_REQUESTED &&
	       (target->serial != set.status.ack ||
		(set.status.live && target->cold));
}

static void answer(void)
{
	const struct plx_target *target = &my.job.target;

	if (!my.asked_s || my.seen != target->serial) {
		my.asked_s = plx_now_s();
		my.seen = target->serial;
		say("asked", target->why);
		if (set.busy) {
			set.status.busy = true;
			tell();
		}
	}
	if (set.ack_s < 0 || plx_now_s() < my.asked_s + set.ack_s)
		return;
	set.status.ack = target->serial;
	set.status.live = set.live && !target->cold &&
			  target->gpus_per_node > 0 && my.job.layout.ranks > 0;
	set.status.phase =
		set.status.live ? PLX_PHASE_TRAINING : PLX_PHASE_SAVING;
	my.lent_s = 0;
	my.settled = false;
	tell();
	say("ack", set.status.live ? "live" : "cold");
}

static void take_over(void)
{
	if (!set.status.live)
		return;
	if (!my.lent_s) {
		my.lent_s = plx_now_s();
		say("lent", "");
	}
	if (plx_now_s() < my.lent_s + set.live_s)
		return;
	set.status.live = false;
	tell();
	say("taken", "");
}

static void settle(void)
{
	const struct plx_target *target = &my.job.target;
	enum plx_phase phase = my.job.layout.ranks > 0 ? PLX_PHASE_TRAINING
						       : PLX_PHASE_WAITING;

	my.asked_s = 0;
	if (my.settled && set.status.phase == phase)
		return;
	if (!my.settled && target->state != PLX_TARGET_REFUSED)
		set.status.resizes++;
	my.settled = true;
	set.status.live = false;
	set.status.busy = false;
	set.status.phase = phase;
	measure();
	tell();
	say(plx_target_state_name(target->state), target->why);
}

/* Gradients that are noisier than before, or less: it scales otherwise. */
static void change_mind(void)
{
	struct plx_noise *noise = &set.status.hint.job.noise;

	if (set.whim_s <= 0 || plx_now_s() < my.whim_s + set.whim_s)
		return;
	my.whim_s = plx_now_s();
	noise->var = noise->sqr * exp(12.0 * drand48() - 4);
	my.told[0] = '\0';
}

static void follow(void)
{
	change_mind();
	if (is_asked())
		answer();
	else if (my.job.target.state == PLX_TARGET_LENT)
		take_over();
	else if (my.job.target.state != PLX_TARGET_REQUESTED)
		settle();
	/* slurmctld may have come back with an older state. */
	if (strcmp(my.told, my.job.status) != 0 &&
	    plx_now_s() > my.told_s + 2 * WAIT_POLL_S)
		tell();
	else if (plx_now_s() >= my.told_s + set.tell_s)
		tell();
}

/* False: slurmctld does not answer. */
static bool look(bool first)
{
	struct plx_job_who who = us();
	struct plx_job_seen job;
	struct plx_error err;

	if (plx_job_load(&who, &job, &err) < 0) {
		say("trouble", err.text);
		return false;
	}
	work();
	plx_job_release(&my.job);
	my.job = job;
	if (first && job.target.state != PLX_TARGET_REQUESTED) {
		set.status.ack = job.target.serial;
		my.settled = true;
	}
	return true;
}

/* Until our own next step, where we are told of all others. */
static double own_step_s(void)
{
	double due_s = plx_now_s() + set.poll_s;

	if (is_asked() && set.ack_s >= 0)
		due_s = my.asked_s + set.ack_s;
	else if (my.job.target.state == PLX_TARGET_LENT && set.status.live)
		due_s = my.lent_s + set.live_s;
	due_s -= plx_now_s();
	return due_s < 0.001 ? 0.001 : due_s;
}

static double pause_s(bool heard)
{
	if (!heard)
		return TROUBLE_POLL_S;
	if (set.told)
		return own_step_s();
	if (my.job.target.state == PLX_TARGET_REQUESTED ||
	    my.job.target.state == PLX_TARGET_LENT)
		return WAIT_POLL_S;
	return set.poll_s;
}

/* True when told to end. */
static bool rest(double seconds)
{
	struct timespec t = { .tv_sec = (time_t) seconds };
	sigset_t wakes;
	int got;

	t.tv_nsec = (long) ((seconds - (double) t.tv_sec) * 1e9);
	sigemptyset(&wakes);
	sigaddset(&wakes, SIGURG);
	sigaddset(&wakes, SIGTERM);
	got = sigtimedwait(&wakes, NULL, &t);
	return got == SIGTERM;
}

static int live(void)
{
	bool first = true;

	while (!is_over()) {
		bool heard = look(first);

		if (heard && my.job.over) {
			say("over", "");
			return 1;
		}
		if (heard && first)
			say("begin", "");
		first = first && !heard;
		if (heard)
			follow();
		if (rest(pause_s(heard))) {
			say("term", "");
			return 143;
		}
	}
	set.status.phase = PLX_PHASE_DONE;
	tell();
	say("end", "");
	return 0;
}

int main(int argc, char **argv)
{
	sigset_t wakes;

	if (light_read(argc, argv, &set) < 0)
		return 2;
	srand48((long) set.id);
	sigemptyset(&wakes);
	sigaddset(&wakes, SIGURG);
	sigaddset(&wakes, SIGTERM);
	sigprocmask(SIG_BLOCK, &wakes, NULL);
	my.began_s = my.worked_s = plx_now_s();
	plx_job_setup();
	return live();
}
