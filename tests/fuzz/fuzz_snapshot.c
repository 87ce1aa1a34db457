/* SPDX-License-Identifier: MIT */
/* fuzz_snapshot.c - the writer of snapshots: names and reasons are just text */

#include "core/snapshot/snapshot.h"
#include "fuzz.h"

enum { NODES = 3, JOBS = 2 };

/* Strings closed, nothing in them that JSON does not allow. */
static void is_json(const char *text)
{
	int depth = 0;

	for (; *text; text++) {
		depth += *text == '{' || *text == '[';
		depth -= *text == '}' || *text == ']';
		MUST(depth >= 0);
		if (*text != '"')
			continue;
		for (text++; *text != '"'; text++) {
			MUST((unsigned char) *text >= ' ');
			text += *text == '\\';
			MUST(*text);
		}
	}
	MUST(depth == 0);
}

static double real(const uint8_t *data, size_t size, size_t at)
{
	double value = 0;

	if (at + sizeof(value) <= size)
		memcpy(&value, data + at, sizeof(value));
	return value;
}

static void fill(struct plx_problem *problem, const uint8_t *data, size_t size)
{
	for (int n = 0; n < NODES; n++)
		problem->gpus[n] = problem->gpus_total[n] = 4;
	for (int j = 0; j < JOBS; j++) {
		struct plx_job *job = &problem->jobs[j];

		job->id = (uint32_t) j + 1;
		job->min_gpus = 1;
		job->max_gpus = 8;
		job->restart_s = real(data, size, 1 + 8 * (size_t) j);
		job->samples_left = real(data, size, 20);
		job->weight = real(data, size, 30);
	}
}

int fuzz_snapshot(const uint8_t *data, size_t size)
{
	struct plx_error err;
	struct plx_problem *problem = plx_problem_create(NODES, JOBS, &err);
	char text[TEXT_MAX];
	const char *names[NODES] = { text, "n2", text };
	char *out = NULL;

	MUST(problem);
	fuzz_text(data, size, text);
	fill(problem, data, size);
	if (plx_problem_check(problem, &err) < 0)
		fuzz_is_a_line(err.text, sizeof(err.text));
	else
		out = plx_snapshot_text(problem, names, NULL, &err);
	if (out) {
		is_json(out);
		MUST(strlen(out) < 12 * TEXT_MAX + 10000);
	}
	free(out);
	plx_problem_destroy(problem);
	return 0;
}
