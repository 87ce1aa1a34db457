/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launcher.c - the loop: waits, and hands out what happened */

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "launcher/rules/clock.h"
#include "launcher/loop/state.h"
#include "launcher/loop/terminal.h"

#define GOODBYE_S  3.0 /* for the last status to reach slurmctld */
#define LONGEST_S  10.0
#define SHORTEST_S 0.001

enum {
	WAIT_SIGNAL,
	WAIT_NEWS,
	WAIT_SILENCE,
	WAIT_PEERS,
	WAITS = WAIT_PEERS + PLX_GENERATIONS
};

static const int watched[] = {
	SIGTERM, SIGINT, SIGHUP, SIGURG, SIGUSR1, SIGCHLD
};

/* The signals come as data; SIGPIPE is an error of write(). */
static int open_signals(struct plx_error *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		plx_fail(err, "cannot watch signals: %s", strerror(errno));
	return fd;
}

static void order_step(struct plx_launcher *l)
{
	const struct plx_settings *s = l->settings;

	l->order = (struct plx_step_order){
		.job_id = s->job_id,
		.folder = s->folder,
		.params = s->params,
		.key = l->key,
		.mpi = s->mpi,
		.srun_options = s->srun_options,
		.program = s->program,
		.wrapper = s->wrapper,
		.output = l->terminal ? plx_terminal_output(l->terminal) : NULL,
		.max_restarts = s->max_restarts,
		.local = s->registry != NULL,
		.devices = s->devices,
	};
}

struct plx_launcher *plx_launcher_create(const struct plx_settings *settings,
					 struct plx_error *err)
{
	struct plx_launcher *l = calloc(1, sizeof(*l));

	if (!l) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	l->settings = settings;
	l->stage = PLX_STAGE_IDLE;
	l->status.launcher = settings->wake;
	for (int i = 0; i < PLX_GENERATIONS; i++)
		plx_generation_init(&l->slots[i]);
	l->now = &l->slots[0];
	l->polls.seed = settings->job_id * 2654435761U + (uint32_t) getpid();
	l->folder_lock.fd = -1;
	l->signals = open_signals(err);
	if (l->signals < 0)
		goto fail;
	if (settings->progress && settings->loudness > PLX_QUIET)
		l->terminal = plx_terminal_create();
	if (plx_secret_draw(l->key, err) < 0)
		goto fail;
	order_step(l);
	plx_script_note(&l->script, settings->program);
	plx_limit_init(l);
	if (!settings->registry)
		plx_job_setup();
	if (plx_folder_lock_begin(l, err) < 0)
		goto fail;
	if (settings->notes)
		plx_notes_clear(settings->notes, 0);
	l->client = plx_slurm_client_create(settings->job_id, settings->params,
					    settings->node, err);
	if (!l->client)
		goto fail;
	if (settings->registry)
		plx_slurm_client_use(l->client, settings->registry);
	else if (plx_lost_init(&l->lost, err) < 0)
		goto fail;
	return l;
fail:
	plx_launcher_destroy(l);
	return NULL;
}

/* How long nothing is due. */
static int patience_ms(const struct plx_launcher *l)
{
	double now_s = plx_now_s();
	double due_s = now_s + LONGEST_S;

	due_s = fmin(due_s, l->polls.due_s);
	due_s = fmin(due_s, plx_poll_again_s(l));
	if (l->deadline_s && plx_stage_has_ranks(l->stage))
		due_s = fmin(due_s, l->deadline_s);
	if (l->publish_due_s)
		due_s = fmin(due_s, l->publish_due_s);
	if (l->hint_waits)
		due_s = fmin(due_s, l->hint_due_s);
	if (l->stage == PLX_STAGE_IDLE && l->not_before_s > now_s)
		due_s = fmin(due_s, l->not_before_s);
	due_s = fmin(due_s, plx_busy_due_s(l));
	due_s = fmin(due_s, plx_from_notes_due_s(l));
	due_s = fmin(due_s, plx_fault_due_s(l));
	due_s = fmin(due_s, plx_limit_due_s(l));
	due_s = fmin(due_s, plx_lost_due_s(l));
	if (l->old)
		due_s = fmin(due_s, l->old->kill_s);
	return (int) ceil(fmax(due_s - now_s, SHORTEST_S) * 1e3);
}

static void take_signals(struct plx_launcher *l)
{
	struct signalfd_siginfo info;

	while (read(l->signals, &info, sizeof(info)) == sizeof(info))
		plx_watch_signal(l, (int) info.ssi_signo,
				 info.ssi_pid == (uint32_t) getpid());
}

static void poll_once(struct plx_launcher *l)
{
	struct pollfd waits[WAITS] = {
		[WAIT_SIGNAL] = { .fd = l->signals, .events = POLLIN },
		[WAIT_NEWS] = { .fd = plx_slurm_client_fd(l->client),
				.events = POLLIN },
		[WAIT_SILENCE] = { .fd = plx_lost_fd(l), .events = POLLIN },
	};
	bool spoken = false;

	for (int i = 0; i < PLX_GENERATIONS; i++)
		waits[WAIT_PEERS + i] = (struct pollfd){
			.fd = plx_generation_fd(&l->slots[i]),
			.events = POLLIN,
		};

	if (poll(waits, WAITS, patience_ms(l)) < 0)
		return;
	/* What rank 0 said comes before the news that it is gone. */
	for (int i = 0; i < PLX_GENERATIONS; i++)
		spoken = spoken || waits[WAIT_PEERS + i].revents;
	if (spoken)
		plx_watch_peers(l);
	if (waits[WAIT_SIGNAL].revents)
		take_signals(l);
	if (waits[WAIT_NEWS].revents)
		plx_from_slurm(l);
	if (waits[WAIT_SILENCE].revents)
		plx_lost_news(l);
	plx_watch_time(l);
}

int plx_launcher_run(struct plx_launcher *l)
{
	double until_s;

	while (l->stage != PLX_STAGE_DONE)
		poll_once(l);
	/* Ranks that are not needed any more go before us. */
	until_s = plx_now_s() + GOODBYE_S;
	while (l->old && plx_now_s() < until_s)
		poll_once(l);
	return l->exit_code;
}

void plx_launcher_destroy(struct plx_launcher *l)
{
	if (!l)
		return;
	plx_slurm_client_destroy(l->client, GOODBYE_S);
	for (int i = 0; i < PLX_GENERATIONS; i++)
		plx_generation_release(&l->slots[i]);
	plx_terminal_destroy(l->terminal);
	plx_pauses_release(&l->pauses);
	plx_folder_lock_release(&l->folder_lock);
	plx_job_release(&l->job);
	plx_illness_release(&l->ill);
	plx_lost_release(&l->lost);
	plx_busy_release(&l->busy);
	plx_script_release(&l->script);
	if (l->signals >= 0)
		close(l->signals);
	free(l);
}
