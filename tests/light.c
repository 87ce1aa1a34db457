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

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/status.h"
#include "launcher/clock.h"
#include "launcher/job.h"

#define WAIT_POLL_S    0.05 /* while an answer is due */
#define TROUBLE_POLL_S 0.5  /* while slurmctld does not answer */

static const char help[] =
	"Usage: light [OPTION]...\n"
	"  --log=FILE       append what happens, a line each (default stdout)\n"
	"  --samples=N      train that many (goodput) and end (default: "
	"never)\n"
	"  --seconds=S      end after that time, whatever was trained\n"
	"  --ack=S|never    answer so much later (default 0)\n"
	"  --live[=S]       hand over: both shapes for S seconds (default 0)\n"
	"  --poll=S         look at the record as often (default 1; it is\n"
	"                   also woken by SIGURG)\n"
	"  --wake=none      only poll\n"
	"  --no-hint        never measured\n"
	"  --batch=M0,MAX,MIN_GPU,MAX_GPU,ACCUMULATE\n"
	"  --model=AC,BC,AN,BN,AR,BR,GAMMA  --noise=SQR,VAR\n"
	"                   as in a hint (default: scales to many GPUs)\n"
	"  --profiled=N     measured up to N GPUs (default: what it had)\n"
	"  --restart=S      what a resize costs it, as told (default 1)\n"
	"  --left=N         samples left, as told (default: of --samples)\n"
	"  --tell=S         write its progress as often (default 10)\n";

static struct {
	const char *log;
	double samples;
	double seconds;
	double ack_s; /* below 0: never */
	double live_s;
	double poll_s;
	double tell_s;
	double left;
	bool live;
	bool no_hint;
} set = { .poll_s = 1, .tell_s = 10, .left = -1 };

static struct {
	uint32_t id;
	const char *home;
	struct plx_job job;
	struct plx_status status;
	char told[PLX_FIELDS_MAX]; /* "": to be told */
	double told_s;
	double began_s;
	double worked_s; /* up to here */
	double samples;	 /* done */
	double asked_s;	 /* when the target was first seen, 0: none is */
	double lent_s;	 /* when it was lent */
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
		plx_wall_s(), my.id, event, my.job.target.serial,
		my.job.layout.ranks, my.job.layout.count,
		my.job.layout.ranks ? my.job.where : "-", more);
	if (set.log)
		fclose(out);
	else
		fflush(out);
}

static void tell_progress(void)
{
	struct plx_hint *hint = &my.status.hint;

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

/* Write the status; what does not get through is tried again. */
static void tell(void)
{
	char fields[PLX_FIELDS_MAX];
	struct plx_error err;
	bool shortened;

	tell_progress();
	if (plx_status_write(&my.status, fields, sizeof(fields), &err) < 0 ||
	    plx_job_publish(my.id, fields, fields, &shortened, &err) < 0) {
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
	struct plx_hint *hint = &my.status.hint;
	double speed = 0;

	if (shape.gpus > 0 && my.status.phase == PLX_PHASE_TRAINING &&
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
	struct plx_hint *hint = &my.status.hint;

	if (my.job.layout.ranks <= hint->profiled.gpus)
		return;
	hint->profiled = (struct plx_shape){ .nodes = my.job.layout.count,
					     .gpus = my.job.layout.ranks };
}

/* A target is open that was not answered, or not in the way it has to be. */
static bool is_asked(void)
{
	const struct plx_target *target = &my.job.target;

	return target->state == PLX_TARGET_ASKED &&
	       (target->serial != my.status.ack ||
		(my.status.live && target->cold));
}

static void answer(void)
{
	const struct plx_target *target = &my.job.target;

	if (!my.asked_s || my.seen != target->serial) {
		my.asked_s = plx_now_s();
		my.seen = target->serial;
		say("asked", target->why);
	}
	if (set.ack_s < 0 || plx_now_s() < my.asked_s + set.ack_s)
		return;
	my.status.ack = target->serial;
	my.status.live = set.live && !target->cold &&
			 target->gpus_per_node > 0 && my.job.layout.ranks > 0;
	my.status.phase =
		my.status.live ? PLX_PHASE_TRAINING : PLX_PHASE_SAVING;
	my.lent_s = 0;
	my.settled = false;
	tell();
	say("ack", my.status.live ? "live" : "cold");
}

static void take_over(void)
{
	if (!my.status.live)
		return;
	if (!my.lent_s) {
		my.lent_s = plx_now_s();
		say("lent", "");
	}
	if (plx_now_s() < my.lent_s + set.live_s)
		return;
	my.status.live = false;
	tell();
	say("taken", "");
}

static void settle(void)
{
	const struct plx_target *target = &my.job.target;
	enum plx_phase phase = my.job.layout.ranks > 0 ? PLX_PHASE_TRAINING
						       : PLX_PHASE_WAITING;

	my.asked_s = 0;
	if (my.settled && my.status.phase == phase)
		return;
	if (!my.settled && target->state != PLX_TARGET_REFUSED)
		my.status.resizes++;
	my.settled = true;
	my.status.live = false;
	my.status.phase = phase;
	measure();
	tell();
	say(plx_target_state_name(target->state), target->why);
}

static void follow(void)
{
	if (is_asked())
		answer();
	else if (my.job.target.state == PLX_TARGET_LENT)
		take_over();
	else if (my.job.target.state != PLX_TARGET_ASKED)
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
	struct plx_job job;
	struct plx_error err;

	if (plx_job_load(my.id, true, my.home, &job, &err) < 0) {
		say("trouble", err.text);
		return false;
	}
	work();
	plx_job_release(&my.job);
	my.job = job;
	if (first && job.target.state != PLX_TARGET_ASKED)
		my.status.ack = job.target.serial;
	return true;
}

static double pause_s(bool heard)
{
	if (!heard)
		return TROUBLE_POLL_S;
	if (my.job.target.state == PLX_TARGET_ASKED ||
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
	my.status.phase = PLX_PHASE_DONE;
	tell();
	say("end", "");
	return 0;
}

static bool read_doubles(const char *text, double *out, int count)
{
	for (int i = 0; i < count; i++) {
		char *end;

		out[i] = strtod(text, &end);
		if (end == text || *end != (i + 1 < count ? ',' : '\0'))
			return false;
		text = end + 1;
	}
	return true;
}

static bool set_batch(const char *text)
{
	double part[5];

	if (!read_doubles(text, part, 5))
		return false;
	my.status.hint.job.limits =
		(struct plx_limits){ .base_batch = (int) part[0],
				     .max_batch = (int) part[1],
				     .min_per_gpu = (int) part[2],
				     .max_per_gpu = (int) part[3],
				     .accumulate = part[4] > 0 };
	return true;
}

static bool set_model(const char *text)
{
	double part[7];

	if (!read_doubles(text, part, 7))
		return false;
	my.status.hint.job.model = (struct plx_model){
		.alpha_c = part[0],
		.beta_c = part[1],
		.alpha_n = part[2],
		.beta_n = part[3],
		.alpha_r = part[4],
		.beta_r = part[5],
		.gamma = part[6],
	};
	return true;
}

static bool set_noise(const char *text)
{
	double part[2];

	if (!read_doubles(text, part, 2))
		return false;
	my.status.hint.job.noise =
		(struct plx_noise){ .sqr = part[0], .var = part[1] };
	return true;
}

static bool set_profiled(const char *text)
{
	int gpus = atoi(text);

	my.status.hint.profiled =
		(struct plx_shape){ .nodes = 1, .gpus = gpus };
	return gpus > 0;
}

static bool set_ack(const char *text)
{
	set.ack_s = -1;
	return !strcmp(text, "never") || read_doubles(text, &set.ack_s, 1);
}

static bool set_live(const char *text)
{
	set.live = true;
	return !text || read_doubles(text, &set.live_s, 1);
}

static bool set_wake(const char *text)
{
	my.status.launcher = PLX_WAKE_NONE;
	return !strcmp(text, "none");
}

static bool set_option(int option, const char *text)
{
	switch (option) {
	case 'l':
		set.log = text;
		return true;
	case 'n':
		return read_doubles(text, &set.samples, 1);
	case 's':
		return read_doubles(text, &set.seconds, 1);
	case 'a':
		return set_ack(text);
	case 'v':
		return set_live(text);
	case 'p':
		return read_doubles(text, &set.poll_s, 1);
	case 'w':
		return set_wake(text);
	case 'h':
		set.no_hint = true;
		return true;
	case 'b':
		return set_batch(text);
	case 'm':
		return set_model(text);
	case 'o':
		return set_noise(text);
	case 'g':
		return set_profiled(text);
	case 'r':
		return read_doubles(text, &my.status.hint.restart_s, 1);
	case 'f':
		return read_doubles(text, &set.left, 1);
	case 't':
		return read_doubles(text, &set.tell_s, 1);
	default:
		return false;
	}
}

static void set_defaults(void)
{
	my.status = (struct plx_status){
		.launcher = PLX_WAKE_BATCH,
		.phase = PLX_PHASE_STARTING,
		.hint = { .now = { .per_gpu = 1 },
			  .profiled = { .nodes = 1, .gpus = 1 },
			  .restart_s = 1 },
	};
	set_batch("128,8192,1,256,1");
	set_model("0.02,0.002,0.01,0.0005,0.005,0.0002,1.5");
	set_noise("0.25,12.5");
}

static int read_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "log", 1, NULL, 'l' },     { "samples", 1, NULL, 'n' },
		{ "seconds", 1, NULL, 's' }, { "ack", 1, NULL, 'a' },
		{ "live", 2, NULL, 'v' },    { "poll", 1, NULL, 'p' },
		{ "wake", 1, NULL, 'w' },    { "no-hint", 0, NULL, 'h' },
		{ "batch", 1, NULL, 'b' },   { "model", 1, NULL, 'm' },
		{ "noise", 1, NULL, 'o' },   { "profiled", 1, NULL, 'g' },
		{ "restart", 1, NULL, 'r' }, { "left", 1, NULL, 'f' },
		{ "tell", 1, NULL, 't' },    { NULL, 0, NULL, 0 },
	};
	const char *id = getenv("SLURM_JOB_ID");
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (!set_option(option, optarg)) {
			fputs(help, stderr);
			return -1;
		}
	}
	if (!id || optind < argc) {
		fputs(help, stderr);
		return -1;
	}
	my.id = (uint32_t) atoi(id);
	my.home = getenv("SLURMD_NODENAME");
	my.status.has_hint = !set.no_hint;
	return 0;
}

int main(int argc, char **argv)
{
	sigset_t wakes;

	set_defaults();
	if (read_options(argc, argv) < 0)
		return 2;
	sigemptyset(&wakes);
	sigaddset(&wakes, SIGURG);
	sigaddset(&wakes, SIGTERM);
	sigprocmask(SIG_BLOCK, &wakes, NULL);
	my.began_s = my.worked_s = plx_now_s();
	plx_job_setup();
	return live();
}
