/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launch_request.c - the other terminal's end of the socket for requests */
#include "config.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/fields.h"
#include "core/records/status.h"
#include "launcher/rules/clock.h"
#include "launcher/job/control.h"
#include "launcher/job/run_folder.h"
#include "wire/channel.h"

#define CONNECT_S 2.0
#define ANSWER_MS 5000
#define SETTLE_S  60.0 /* for a resize to be done */
#define POLL_NS	  50000000L
#define TEXT_SIZE 160

/* The answer without its "ok"; -1 with err set for "error WHY". */
static int ask(const char *path, const char *line, char answer[PLX_LINE_MAX],
	       struct plx_error *err)
{
	struct plx_channel *channel = plx_connect(path, CONNECT_S, err);
	struct pollfd wait = { .events = POLLIN };
	int got = -1;
	int rc = -1;

	if (!channel || plx_channel_send(channel, line, err) < 0)
		goto done;
	wait.fd = plx_channel_fd(channel);
	if (poll(&wait, 1, ANSWER_MS) > 0)
		got = plx_channel_receive(channel, answer, err);
	if (got <= 0)
		plx_fail(err, "the job does not answer");
	else if (!strncmp(answer, "error ", 6))
		plx_fail(err, "%.*s", TEXT_SIZE, answer + 6);
	else
		rc = 0;
done:
	plx_channel_destroy(channel);
	return rc;
}

static void print_status(const char *answer)
{
	char comment[PLX_LINE_MAX + 16];
	char name[TEXT_SIZE] = "";
	struct plx_status status;
	int ranks = 0;
	int pid = 0;

	if (!plx_field_text(answer, "name", name, sizeof(name)) ||
	    !plx_run_name_ok(name))
		strcpy(name, "?");
	plx_field_int(answer, "pid", 0, 1 << 30, &pid, NULL);
	plx_field_int(answer, "ranks", 0, 1 << 20, &ranks, NULL);
	printf("%s: %d rank%s, process %d", name, ranks, ranks == 1 ? "" : "s",
	       pid);
	snprintf(comment, sizeof(comment), "[pollux %s]", answer + 3);
	if (plx_status_read(comment, &status, NULL) <= 0) {
		printf(", nothing heard of it yet\n");
		return;
	}
	printf(", %s", plx_phase_name(status.phase));
	if (status.has_hint)
		printf(", %.1f %% done, loss %.4g", 1e2 * status.hint.progress,
		       status.hint.loss);
	if (status.has_hint && status.hint.goodput > 0)
		printf(", %.0f samples/s", status.hint.goodput);
	if (status.resizes)
		printf(", %d resize%s, pauses %.2f s (median), %.2f s (worst)",
		       status.resizes, status.resizes == 1 ? "" : "s",
		       status.pause_s[0], status.pause_s[1]);
	putchar('\n');
}

/* Has the training got that size? 1 yes, 0 not yet, -1 never. */
static int is_settled(const char *path, int ranks, struct plx_error *err)
{
	char answer[PLX_LINE_MAX];
	char state[TEXT_SIZE] = "";
	char phase[TEXT_SIZE] = "";
	int live = 0; /* the ranks are those of before, and hand over */
	int has = -1;

	/* It was there to be asked. */
	if (ask(path, "status", answer, err) < 0)
		return plx_fail(err, "asked, but the job has ended meanwhile");
	plx_field_text(answer, "state", state, sizeof(state));
	plx_field_text(answer, "phase", phase, sizeof(phase));
	plx_field_int(answer, "ranks", 0, 1 << 20, &has, NULL);
	plx_field_int(answer, "live", 0, 1, &live, NULL);
	if (!strcmp(state, "refused"))
		return plx_fail(err,
				"it keeps its %d rank%s: new ranks fail, its "
				"output says how",
				has, has == 1 ? "" : "s");
	if (has != ranks || live || !strcmp(state, "asked") ||
	    !strcmp(state, "lent"))
		return 0;
	return !ranks || !strcmp(phase, "training");
}

static int resize(const char *path, int ranks, struct plx_error *err)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	double until_s = plx_now_s() + SETTLE_S;
	char answer[PLX_LINE_MAX];
	char line[TEXT_SIZE];
	int settled = 0;

	snprintf(line, sizeof(line), "resize %d", ranks);
	if (ask(path, line, answer, err) < 0)
		return -1;
	while (!settled && plx_now_s() < until_s) {
		nanosleep(&pause, NULL);
		settled = is_settled(path, ranks, err);
	}
	if (settled < 0)
		return -1;
	if (!settled)
		return plx_fail(err,
				"asked, but after %g s it does not train on "
				"%d ranks yet",
				SETTLE_S, ranks);
	printf("it has %d rank%s now\n", ranks, ranks == 1 ? "" : "s");
	return 0;
}

static int do_request(const struct plx_command *command, const char *path,
		      struct plx_error *err)
{
	char answer[PLX_LINE_MAX];

	switch (command->request) {
	case PLX_REQUEST_RESIZE:
		return resize(path, command->resize, err);
	case PLX_REQUEST_CHECKPOINT:
		return ask(path, "checkpoint", answer, err);
	case PLX_REQUEST_STOP:
		return ask(path, "stop", answer, err);
	default:
		if (ask(path, "status", answer, err) < 0)
			return -1;
		print_status(answer);
		return 0;
	}
}

int plx_control_request(const struct plx_command *command)
{
	char path[PLX_RUN_PATH];
	struct plx_error err;

	if (plx_run_find(command->job, path, &err) == 0 &&
	    do_request(command, path, &err) == 0)
		return EXIT_SUCCESS;
	fprintf(stderr, "pollux-launch: %s\n", err.text);
	if (getenv("SLURM_JOB_ID") ||
	    strspn(command->job, "0123456789") == strlen(command->job))
		fprintf(stderr, "pollux-launch: of a Slurm job the scheduler "
				"decides the size; scancel ends it\n");
	return EXIT_FAILURE;
}
