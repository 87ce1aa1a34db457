/* SPDX-License-Identifier: GPL-2.0-or-later */
/* light_options.c - the command line of light */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "light.h"

static const char help[] =
	"Usage: light [OPTION]...\n"
	"  --log=FILE       append what happens, a line each (default stdout)\n"
	"  --samples=N      train that many (goodput) and end (default: "
	"never)\n"
	"  --seconds=S      end after that time, whatever was trained\n"
	"  --ack=S|never    answer so much later (default 0)\n"
	"  --busy           say that ranks are busy while asked\n"
	"  --live[=S]       hand over: both shapes for S seconds (default 0)\n"
	"  --poll=S         look at the record as often (default 1; it is\n"
	"                   also woken by SIGURG)\n"
	"  --wake=none      only poll\n"
	"  --told           look no more often while an answer is due: rely "
	"on\n"
	"                   the signal, as pollux-launch does\n"
	"  --no-hint        never measured\n"
	"  --batch=M0,MAX,MIN_GPU,MAX_GPU,ACCUMULATE\n"
	"  --model=AC,BC,AN,BN,AR,BR,GAMMA  --noise=SQR,VAR\n"
	"                   as in a hint (default: scales to many GPUs)\n"
	"  --profiled=N     measured up to N GPUs (default: what it had)\n"
	"  --type=TYPE      measured on GPUs of that type (default: untold)\n"
	"  --restart=S      what a resize costs it, as told (default 1)\n"
	"  --left=N         samples left, as told (default: of --samples)\n"
	"  --tell=S         write its progress as often (default 10)\n"
	"  --whim=S         wants more or fewer GPUs as often, at random\n";

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

static bool set_batch(struct light *set, const char *text)
{
	double part[5];

	if (!read_doubles(text, part, 5))
		return false;
	set->status.hint.job.limits =
		(struct plx_limits){ .base_batch = (int) part[0],
				     .max_batch = (int) part[1],
				     .min_per_gpu = (int) part[2],
				     .max_per_gpu = (int) part[3],
				     .accumulate = part[4] > 0 };
	return true;
}

static bool set_model(struct light *set, const char *text)
{
	double part[7];

	if (!read_doubles(text, part, 7))
		return false;
	set->status.hint.job.model = (struct plx_model){
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

static bool set_noise(struct light *set, const char *text)
{
	double part[2];

	if (!read_doubles(text, part, 2))
		return false;
	set->status.hint.job.noise =
		(struct plx_noise){ .sqr = part[0], .var = part[1] };
	return true;
}

static bool set_profiled(struct light *set, const char *text)
{
	int gpus = atoi(text);

	set->status.hint.profiled =
		(struct plx_shape){ .nodes = 1, .gpus = gpus };
	return gpus > 0;
}

static bool set_type(struct light *set, const char *text)
{
	char *type = set->status.hint.type;

	snprintf(type, PLX_TYPES_SIZE, "%s", text);
	return plx_types_valid(type);
}

static bool set_ack(struct light *set, const char *text)
{
	set->ack_s = -1;
	return !strcmp(text, "never") || read_doubles(text, &set->ack_s, 1);
}

static bool set_live(struct light *set, const char *text)
{
	set->live = true;
	return !text || read_doubles(text, &set->live_s, 1);
}

static bool set_wake(struct light *set, const char *text)
{
	set->status.launcher = PLX_WAKE_NONE;
	return !strcmp(text, "none");
}

static bool set_option(struct light *set, int option, const char *text)
{
	switch (option) {
	case 'l':
		set->log = text;
		return true;
	case 'n':
		return read_doubles(text, &set->samples, 1);
	case 's':
		return read_doubles(text, &set->seconds, 1);
	case 'a':
		return set_ack(set, text);
	case 'v':
		return set_live(set, text);
	case 'u':
		set->busy = true;
		return true;
	case 'p':
		return read_doubles(text, &set->poll_s, 1);
	case 'w':
		return set_wake(set, text);
	case 'd':
		set->told = true;
		return true;
	case 'h':
		set->no_hint = true;
		return true;
	case 'b':
		return set_batch(set, text);
	case 'm':
		return set_model(set, text);
	case 'o':
		return set_noise(set, text);
	case 'g':
		return set_profiled(set, text);
	case 'y':
		return set_type(set, text);
	case 'r':
		return read_doubles(text, &set->status.hint.restart_s, 1);
	case 'f':
		return read_doubles(text, &set->left, 1);
	case 't':
		return read_doubles(text, &set->tell_s, 1);
	case 'q':
		return read_doubles(text, &set->whim_s, 1);
	default:
		return false;
	}
}

static void set_defaults(struct light *set)
{
	*set = (struct light){ .poll_s = 1, .tell_s = 10, .left = -1 };
	set->status = (struct plx_status){
		.launcher = PLX_WAKE_BATCH,
		.phase = PLX_PHASE_STARTING,
		.hint = { .now = { .per_gpu = 1 },
			  .profiled = { .nodes = 1, .gpus = 1 },
			  .restart_s = 1 },
	};
	set_batch(set, "128,8192,1,256,1");
	set_model(set, "0.02,0.002,0.01,0.0005,0.005,0.0002,1.5");
	set_noise(set, "0.25,12.5");
}

int light_read(int argc, char **argv, struct light *set)
{
	static const struct option options[] = {
		{ "log", 1, NULL, 'l' },      { "samples", 1, NULL, 'n' },
		{ "seconds", 1, NULL, 's' },  { "ack", 1, NULL, 'a' },
		{ "live", 2, NULL, 'v' },     { "poll", 1, NULL, 'p' },
		{ "busy", 0, NULL, 'u' },     { "wake", 1, NULL, 'w' },
		{ "no-hint", 0, NULL, 'h' },  { "batch", 1, NULL, 'b' },
		{ "model", 1, NULL, 'm' },    { "noise", 1, NULL, 'o' },
		{ "profiled", 1, NULL, 'g' }, { "restart", 1, NULL, 'r' },
		{ "left", 1, NULL, 'f' },     { "tell", 1, NULL, 't' },
		{ "whim", 1, NULL, 'q' },     { "told", 0, NULL, 'd' },
		{ "type", 1, NULL, 'y' },     { NULL, 0, NULL, 0 },
	};
	const char *id = getenv("SLURM_JOB_ID");
	int option;

	set_defaults(set);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (!set_option(set, option, optarg)) {
			fputs(help, stderr);
			return -1;
		}
	}
	if (!id || optind < argc) {
		fputs(help, stderr);
		return -1;
	}
	set->id = (uint32_t) atoi(id);
	set->batch_host = getenv("SLURMD_NODENAME");
	set->status.has_hint = !set->no_hint;
	return 0;
}
