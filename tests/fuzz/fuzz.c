/* SPDX-License-Identifier: MIT */
/*
 * fuzz.c - the targets, fed with bytes that are the same on every machine
 *
 *	fuzz [--rounds=N | --seconds=S] [--seed=N] [TARGET...]
 *	fuzz TARGET FILE...	what a fuzzer has found, again
 */

#include <time.h>

#include "fuzz.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const seeds[] = {
	"pollux,min=2,max=16,batch=128,max-batch=4096,max-gpu-batch=64",
	"mine [pollux v=1 launcher=batch ack=3 phase=training resizes=2 "
	"pause=0.41,0.93 failed=3:n2,n-7.x batch=128,16777215,1,1024,1 "
	"model=0.1,0.01,0.05,0.002,0.02,0.001,1.5 sync=1,0.5 noise=0.25,12.5 "
	"profiled=2,4 now=16,1 progress=0.5 left=1e6 restart=30 lr=0.1 "
	"speed=1500 goodput=1000 loss=-2.5]",
	"batch=128,4096,8,256,1 model=0.05,0.002,0.1,0.01,0.02,0.001,1.5 "
	"noise=1,20 profiled=1,4 now=32,0 progress=0.1 restart=3",
	"text [pollux serial=4 state=asked nodes=2 gpus=4 on=n(1-2),m7 cold=1 "
	"why=2 GPUs became free]",
	"bf_interval=2,pollux_interval=5,pollux_fairness=min,pollux_weigh=left,"
	"pollux_dump=/var/tmp,pollux_enabled=no,pollux_utility=0.5-0.7,"
	"pollux_scale_nodes=2-16,bf_max_job_test=50,bf_window=60,"
	"bf_resolution=30",
	"gres:gpu:4",
	"a=1 b=-2.5e-3 c=0x1 d=nan why=the rest of it",
	"JobID|JobName|State|Submit|Start|End|AllocTRES|NodeList|User|Comment\n"
	"5|two\nlines|RESIZING|100|103|106|cpu=2,gres/gpu=4|n[1-3,7],x|u|"
	"[pollux v=1 launcher=batch ack=3 phase=done resizes=2 pause=0.25,0.5 "
	"batch=64,4096,1,4096,0 model=1e-9,0.01,0,0,0,0,1 noise=0,1 "
	"profiled=1,4 now=64,0 progress=1 restart=1]\n"
	"5|two|COMPLETED|106|103|2026-01-01T12:00:00|gres/gpu=2|n1|u|\n"
	"7_1|<b>|CANCELLED by 0|106|None|Unknown||None assigned|v|a|b\n",
	"[2026-11-21T11:36:16.123] sched/pollux: JobId=5 asked for 4 GPUs on "
	"n[1-2], serial 2, to be moved: grows 2 -> "
	"4\n[2026-11-21T11:36:17.123] "
	"sched/pollux: JobId=5 held 2 GPUs on n[1-2] from 110 to 120: 20 "
	"GPU-seconds\n[x] sched/pollux: JobId=3_1(7) held 1 GPUs on n1 from 2 "
	"to 3: 1 GPU-seconds\n",
	"# TYPE pollux_cycle_seconds histogram\n"
	"pollux_cycle_seconds_bucket{le=\"0.01\"} 3\n"
	"pollux_cycle_seconds_bucket{le=\"+Inf\"} 4\n"
	"pollux_cycle_seconds_sum 0.5\npollux_cycle_seconds_count 4\n"
	"pollux_lock_held_seconds_bucket{lock=\"look\",le=\"+Inf\"} 4\n"
	"pollux_lock_held_seconds_count{lock=\"look\"} 4\n"
	"pollux_resizes_total{kind=\"grow\"} 7\npollux_gpus{state=\"idle\"} 2\n"
	"pollux_start_time_seconds 1e9\npollux_written_time_seconds 2e9\n",
	"gpu:2(IDX:0-1),gpu:t4:4(IDX:0,2-3),craynet:1 [pollux v=1 "
	"launcher=batch ack=3 phase=saving resizes=2 pause=0.41,0.93 serial=4 "
	"state=asked nodes=2 gpus=4 on=n(1-2),m7 cold=1 why=2 GPUs are free]",
	"{\"event\": \"done\", \"job\": \"5\", \"time\": 119.5, \"why\": "
	"\"grows\", \"from_gpus\": 2, \"to_gpus\": 4}\n{\"event\": \"parked\", "
	"\"job\": \"5\", \"time\": 1e2, \"why\": \"\\u001b\", \"from_gpus\": "
	"2}\n",
	"spot notice until=2026-01-01T12:00:00, or until=now+10minutes, 12:30",
	"2-16",
};

static const char *const words[] = {
	"=",
	",",
	" ",
	"[",
	"]",
	"[pollux ",
	"why=",
	"-1",
	"1e",
	"e+9999",
	"e-9999",
	"0.",
	"nan",
	"inf",
	"+",
	"\n",
	"\x1b[2J",
	"\xff\xfe",
	"99999999999999999999",
	"v=1",
	"ack=",
	"failed=",
	"failed=4:n2",
	"gpus=",
	"nodes=",
	"4294967296",
	"serial=",
	"until=",
	"leave ",
	"\x7f",
};

static const struct {
	const char *name;
	int (*run)(const uint8_t *data, size_t size);
	int seed; /* what it is made for */
} targets[] = {
	{ "fields", fuzz_fields, 6 },	{ "hint", fuzz_hint, 2 },
	{ "options", fuzz_options, 0 }, { "params", fuzz_params, 4 },
	{ "section", fuzz_section, 3 }, { "snapshot", fuzz_snapshot, 6 },
	{ "spank", fuzz_spank, 0 },	{ "status", fuzz_status, 1 },
	{ "submit", fuzz_submit, 5 },	{ "target", fuzz_target, 3 },
	{ "notice", fuzz_notice, 12 },	{ "events", fuzz_events, 11 },
	{ "rows", fuzz_rows, 7 },	{ "ledger", fuzz_ledger, 8 },
	{ "stat", fuzz_stat, 9 },	{ "view", fuzz_view, 10 },
	{ "nodes", fuzz_nodes, 13 },
};

static uint64_t state;

static size_t below(size_t limit)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return limit ? (size_t) (state >> 33) % limit : 0;
}

/* Replace `gone` bytes at `at` by the word. */
static size_t splice(char *text, size_t length, size_t at, size_t gone,
		     const char *word, size_t word_length)
{
	if (at + gone > length)
		gone = length - at;
	if (length - gone + word_length >= TEXT_MAX)
		return length;
	memmove(text + at + word_length, text + at + gone, length - at - gone);
	memcpy(text + at, word, word_length);
	return length - gone + word_length;
}

static size_t mutate(char *text, size_t length)
{
	const char *other = seeds[below(COUNT(seeds))];
	const char *word = words[below(COUNT(words))];
	size_t at = below(length + 1);
	size_t from = below(strlen(other));
	char byte = (char) below(256);
	char filler[TEXT_MAX];

	switch (below(7)) {
	case 0:
		return splice(text, length, at, 1, &byte, 1);
	case 1:
		return splice(text, length, at, below(8), "", 0);
	case 2:
		return splice(text, length, at, below(2) * below(6), word,
			      strlen(word));
	case 3:
		return splice(text, length, at, below(40), other + from,
			      below(strlen(other) - from));
	case 4: /* a digit */
		byte = (char) ('0' + below(10));
		return splice(text, length, at, 1, &byte, 1);
	case 5: /* longer than anything */
		memset(filler, 'x', sizeof(filler));
		return splice(text, length, at, 0, filler,
			      below(8) ? below(8) : below(sizeof(filler)));
	default:
		memcpy(filler, text, length);
		return splice(text, length, at, 0, filler + at,
			      below(length - at + 1));
	}
}

static void round_of(size_t t)
{
	char text[TEXT_MAX];
	char copy[TEXT_MAX];
	size_t any = below(4 * COUNT(seeds));
	const char *seed =
		seeds[any < COUNT(seeds) ? any : (size_t) targets[t].seed];
	size_t length = strlen(seed);
	size_t edits = 1 + below(1 + below(8));

	memcpy(text, seed, length);
	if (below(16) == 0) {
		length = below(TEXT_MAX - 1);
		for (size_t i = 0; i < length; i++)
			text[i] = (char) below(256);
	}
	for (size_t i = 0; i < edits; i++) {
		length = mutate(text, length);
		memcpy(copy, text, length);
	}
	targets[t].run((const uint8_t *) copy, length);
}

static void run(size_t t, long rounds, double seconds)
{
	time_t end = time(NULL) + (time_t) seconds;
	long done = 0;

	while (seconds > 0 ? (done & 1023) || time(NULL) < end
			   : done < rounds) {
		round_of(t);
		done++;
	}
	printf("%-10s %ld inputs\n", targets[t].name, done);
	fflush(stdout);
}

static void again(size_t t, const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t data[65536];
	size_t size;

	MUST(file);
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	targets[t].run(data, size);
}

int main(int argc, char **argv)
{
	double seconds = 0;
	long rounds = 10000;
	size_t only = COUNT(targets);
	int i = 1;

	state = 20210714;
	for (; i < argc && argv[i][0] == '-'; i++) {
		const char *value = strchr(argv[i], '=');

		MUST(value);
		if (!strncmp(argv[i], "--rounds", 8))
			rounds = atol(value + 1);
		else if (!strncmp(argv[i], "--seconds", 9))
			seconds = atof(value + 1);
		else
			state = (uint64_t) atoll(value + 1);
	}
	for (size_t t = 0; i < argc && t < COUNT(targets); t++) {
		if (!strcmp(argv[i], targets[t].name))
			only = t;
	}
	MUST(i >= argc || only < COUNT(targets));
	for (i++; i < argc; i++)
		again(only, argv[i]);
	for (size_t t = 0; t < COUNT(targets); t++) {
		if (only == COUNT(targets) || only == t)
			run(t, rounds, seconds);
	}
	return 0;
}
