/* SPDX-License-Identifier: GPL-2.0-or-later */
/* control.c - the job's end of the socket for requests */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "launcher/rules/clock.h"
#include "launcher/job/control.h"
#include "launcher/job/run_folder.h"
#include "wire/channel.h"
#include "wire/thread.h"

#define PATIENCE_S 2.0 /* with a caller that says nothing */

struct plx_control {
	struct plx_control_asked asked;
	int listener;
	int end; /* readable: leave */
	pthread_t thread;
};

/* One line, one answer. Nobody can keep the next one waiting for long. */
static void serve(struct plx_control *control, struct plx_channel *channel)
{
	double until_s = plx_now_s() + PATIENCE_S;
	char line[PLX_LINE_MAX];
	char answer[PLX_LINE_MAX];
	struct plx_error err;
	int got;

	while ((got = plx_channel_receive(channel, line, &err)) == 0) {
		struct pollfd wait = { .fd = plx_channel_fd(channel),
				       .events = POLLIN };
		double left_s = until_s - plx_now_s();

		if (left_s <= 0 || poll(&wait, 1, (int) (left_s * 1e3)) <= 0)
			return;
	}
	if (got < 0)
		return;
	control->asked.answer(control->asked.arg, line, answer, sizeof(answer));
	plx_channel_send(channel, answer, &err);
}

static void *work(void *arg)
{
	struct plx_control *control = arg;
	struct pollfd waits[] = {
		{ .fd = control->listener, .events = POLLIN },
		{ .fd = control->end, .events = POLLIN },
	};
	struct plx_error err;

	while (!waits[1].revents) {
		struct plx_channel *channel;

		if (poll(waits, 2, -1) < 0 && errno != EINTR)
			break;
		channel = plx_accept(control->listener, &err);
		if (channel)
			serve(control, channel);
		plx_channel_destroy(channel);
	}
	return NULL;
}

struct plx_control *plx_control_create(const char *name,
				       const struct plx_control_asked *asked,
				       struct plx_error *err)
{
	struct plx_control *control = calloc(1, sizeof(*control));
	char path[PLX_RUN_PATH];

	if (!control) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	control->asked = *asked;
	control->listener = -1;
	control->end = eventfd(0, EFD_CLOEXEC);
	if (plx_run_socket(name, path, err) == 0)
		control->listener = plx_listen(path, err);
	if (control->listener >= 0 && control->end >= 0 &&
	    plx_thread_begin(&control->thread, work, control) == 0)
		return control;
	if (control->listener >= 0)
		plx_fail(err, "cannot start a thread: %s", strerror(errno));
	if (control->listener >= 0)
		close(control->listener);
	if (control->end >= 0)
		close(control->end);
	free(control);
	return NULL;
}

void plx_control_destroy(struct plx_control *control)
{
	uint64_t one = 1;

	if (!control)
		return;
	while (write(control->end, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(control->thread, NULL);
	close(control->listener);
	close(control->end);
	free(control);
}
