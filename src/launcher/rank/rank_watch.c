/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank_watch.c - one rank's program, from its start to its end */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/rules/clock.h"
#include "launcher/rank/rank_notes.h"
#include "launcher/rank/rank_stop.h"
#include "launcher/rank/rank_watch.h"
#include "wire/run_page.h"

#define SIGNAL_CODE    128
#define LOOK_SLOWEST_S 1.0
#define ORPHAN_S       5.0 /* to leave, once nobody is there to restart it */
#define BLAME_MS       30  /* for the signal that ends us all to come */

enum { WAIT_SIGNAL, WAIT_PARENT, WAIT_OUT, WAIT_ERR, WAITS };

static int own_note(const struct plx_rank *rank, enum plx_note note)
{
	const struct plx_rank_order *order = rank->order;

	if (!order->notes)
		return 0;
	return plx_note_write(order->notes, note, order->generation, NULL,
			      NULL);
}

static bool is_end(int signal)
{
	return signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
	       signal == SIGQUIT;
}

static void take_signal(struct plx_rank *rank,
			const struct signalfd_siginfo *info)
{
	int signal = (int) info->ssi_signo;

	if (signal == SIGCHLD)
		return;
	if (signal == SIGURG) {
		rank->asked = true;
		rank->look_s = 0;
		return;
	}
	rank->ended |= is_end(signal);
	/* From the parent or a terminal: to all of us, the program too. */
	if (rank->pid && info->ssi_code <= 0 &&
	    (pid_t) info->ssi_pid != rank->parent)
		kill(rank->pid, signal);
}

static void take_signals(struct plx_rank *rank)
{
	struct signalfd_siginfo info;

	while (read(rank->signals, &info, sizeof(info)) == sizeof(info))
		take_signal(rank, &info);
}

/* Is there something to find out, or to tell, as soon as it can be told? */
static bool polls(const struct plx_rank *rank)
{
	if (!rank->order->stop_signal)
		return false;
	if (rank->asked)
		return !rank->sent;
	return !rank->ready && rank->place.rank == 0 && rank->order->notes;
}

static void look(struct plx_rank *rank, double now_s)
{
	int signal = rank->order->stop_signal;

	if (!polls(rank) || now_s < rank->look_s)
		return;
	if (rank->asked)
		rank->sent = plx_stop_send(rank->pid, signal) > 0;
	else if (plx_stop_takers(rank->pid, signal) > 0)
		rank->ready = own_note(rank, PLX_NOTE_BEGAN) == 0;
	rank->pause_s = fmin(rank->pause_s * 2, LOOK_SLOWEST_S);
	if (rank->asked)
		rank->pause_s = fmin(rank->pause_s, 0.1);
	rank->look_s = now_s + rank->pause_s;
}

/* For the launcher: how, and what it said last. */
static void leave_word(struct plx_rank *rank, struct plx_exit *how)
{
	const struct plx_rank_order *order = rank->order;
	const char *node = getenv("SLURMD_NODENAME");
	struct plx_error err;

	how->rank = rank->place.rank;
	if (node)
		snprintf(how->node, sizeof(how->node), "%s", node);
	else
		gethostname(how->node, sizeof(how->node) - 1);
	plx_tail_text(&rank->tail, how->lines);
	if (plx_exit_write(order->notes, order->generation, how, &err) < 0)
		fprintf(stderr, "pollux-rank: %s\n", err.text);
}

/* Nobody would start it again, or hear it. */
static void mourn(struct plx_rank *rank, double now_s)
{
	static const char word[] = "pollux-rank: what started us is gone\n";
	struct plx_exit how = { .signal = SIGHUP };

	if (rank->kill_s) {
		if (now_s >= rank->kill_s)
			kill(rank->pid, SIGKILL);
		return;
	}
	close(rank->parent_fd);
	rank->parent_fd = -1;
	/* Ranks of other nodes would wait, and their srun with them. */
	if (rank->order->notes && !rank->ended) {
		plx_tail_add(&rank->tail, word, sizeof(word) - 1);
		leave_word(rank, &how);
	}
	rank->ended = true;
	rank->kill_s = now_s + ORPHAN_S;
	kill(rank->pid, SIGTERM);
}

static int patience_ms(const struct plx_rank *rank, double now_s)
{
	double wait_s = INFINITY;

	if (polls(rank))
		wait_s = fmax(rank->look_s - now_s, 0);
	if (rank->kill_s)
		wait_s = fmin(wait_s, fmax(rank->kill_s - now_s, 0.1));
	for (int i = 0; i < 2; i++) {
		double left_s = plx_tee_patience(&rank->tees[i], now_s);

		if (left_s >= 0)
			wait_s = fmin(wait_s, left_s);
	}
	return isinf(wait_s) ? -1 : (int) ceil(wait_s * 1e3);
}

static bool has_ended(struct plx_rank *rank)
{
	if (waitpid(rank->pid, &rank->status, WNOHANG) != rank->pid)
		return false;
	rank->pid = 0;
	return true;
}

static void poll_once(struct plx_rank *rank)
{
	struct pollfd waits[WAITS] = {
		[WAIT_SIGNAL] = { .fd = rank->signals, .events = POLLIN },
		[WAIT_PARENT] = { .fd = rank->parent_fd, .events = POLLIN },
	};
	double now_s;

	plx_tee_wants(&rank->tees[0], &waits[WAIT_OUT]);
	plx_tee_wants(&rank->tees[1], &waits[WAIT_ERR]);
	if (poll(waits, WAITS, patience_ms(rank, plx_now_s())) < 0 &&
	    errno != EINTR)
		return;
	now_s = plx_now_s();
	if (waits[WAIT_SIGNAL].revents)
		take_signals(rank);
	if (waits[WAIT_PARENT].revents || rank->kill_s)
		mourn(rank, now_s);
	look(rank, now_s);
	plx_tee_poll(&rank->tees[0], &waits[WAIT_OUT], &rank->log, now_s);
	plx_tee_poll(&rank->tees[1], &waits[WAIT_ERR], &rank->log, now_s);
}

/*
 * Who kills a whole step kills the program first and us an instant later:
 * wait for that before anybody is blamed.
 */
static void await_own_end(struct plx_rank *rank)
{
	struct pollfd wait = { .fd = rank->signals, .events = POLLIN };
	int signal = WIFSIGNALED(rank->status) ? WTERMSIG(rank->status) : 0;

	if (signal != SIGTERM && signal != SIGKILL)
		return;
	if (poll(&wait, 1, BLAME_MS) > 0)
		take_signals(rank);
}

static void blame(struct plx_rank *rank)
{
	struct plx_exit how = { 0 };

	if (WIFSIGNALED(rank->status))
		how.signal = WTERMSIG(rank->status);
	else
		how.code = WEXITSTATUS(rank->status);
	how.left = plx_run_page_read(rank->page, &how.step);
	leave_word(rank, &how);
}

/* To the others it is lost, whatever its exit code. */
static bool has_left(const struct plx_rank *rank)
{
	uint64_t step;

	return !rank->ended && !rank->sent &&
	       plx_run_page_read(rank->page, &step);
}

static int exit_code(struct plx_rank *rank)
{
	int saved = rank->order->saved_code;
	int code = WIFSIGNALED(rank->status)
			   ? SIGNAL_CODE + WTERMSIG(rank->status)
			   : WEXITSTATUS(rank->status);

	/* Not 0 would have srun kill the others, which may still save. */
	if (saved && code == saved) {
		own_note(rank, PLX_NOTE_SAVED);
		return 0;
	}
	if (code == 0 && has_left(rank))
		code = PLX_EXIT_LEFT;
	else if (code == 0) {
		if (rank->sent && rank->place.rank == 0)
			own_note(rank, PLX_NOTE_SAVED);
		return 0;
	}
	if (rank->order->notes && !rank->ended)
		blame(rank);
	return code;
}

int plx_rank_watch(struct plx_rank *rank)
{
	const struct plx_rank_order *order = rank->order;

	if (order->notes && order->stop_signal)
		rank->asked = plx_note_is(order->notes, PLX_NOTE_STOP,
					  order->generation);
	while (!has_ended(rank))
		poll_once(rank);
	take_signals(rank);
	await_own_end(rank);
	plx_tee_drain(&rank->tees[0], &rank->log);
	plx_tee_drain(&rank->tees[1], &rank->log);
	return exit_code(rank);
}
