/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank_start.c - pipes, log and process of one rank's program */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher/rank/rank_watch.h"
#include "wire/dir.h"
#include "wire/run_page.h"

#define NOT_FOUND    127
#define NOT_TO_RUN   126
#define FIRST_LOOK_S 0.02
#define NAME_SIZE    32

static const int watched[] = { SIGHUP,	SIGINT,	 SIGQUIT, SIGTERM, SIGUSR1,
			       SIGUSR2, SIGALRM, SIGXCPU, SIGURG,  SIGCHLD };

/* FOLDER/gen-0003/rank-0002.log; FOLDER may be one that many share. */
static int open_log(struct plx_rank *rank, struct plx_error *err)
{
	const char *folder = rank->order->log_folder;
	char below[NAME_SIZE];
	char name[NAME_SIZE];
	struct plx_error why;
	int all;
	int dir;

	if (!folder)
		return 0;
	all = plx_dir_shared(folder, err);
	if (all < 0)
		return -1;
	snprintf(below, sizeof(below), "gen-%04d", rank->order->generation);
	snprintf(name, sizeof(name), "rank-%04d.log", rank->place.rank);
	dir = plx_dir_enter(all, below, true, &why);
	if (dir >= 0)
		rank->log = plx_dir_file(dir, name,
					 O_WRONLY | O_CREAT | O_APPEND, &why);
	if (rank->log < 0)
		plx_fail(err, "cannot write %.80s/%s/%s: %.100s", folder, below,
			 name, why.text);
	if (dir >= 0)
		close(dir);
	close(all);
	return rank->log < 0 ? -1 : 0;
}

static int open_signals(struct plx_rank *rank, sigset_t *before,
			struct plx_error *err)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, before);
	rank->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (rank->signals < 0)
		return plx_fail(err, "cannot watch signals: %s",
				strerror(errno));
	return 0;
}

/*
 * A log takes all output. Without one, stdout stays what srun made it, which
 * costs nothing; what a program says when it fails is on stderr. mpirun waits
 * for as long as anybody holds its end, also a child that the program has left
 * behind; so there it goes through us.
 */
static int open_pipes(struct plx_rank *rank, int ends[2], struct plx_error *err)
{
	int both[2];

	for (int i = 0; i < 2; i++) {
		ends[i] = -1;
		rank->tees[i] = (struct plx_tee){
			.from = -1,
			.to = i ? STDERR_FILENO : STDOUT_FILENO,
			.tail = &rank->tail,
		};
		if (i == 0 && rank->log < 0 && !getenv("OMPI_COMM_WORLD_RANK"))
			continue;
		if (pipe2(both, O_CLOEXEC) < 0)
			return plx_fail(err, "cannot make a pipe: %s",
					strerror(errno));
		rank->tees[i].from = both[0];
		ends[i] = both[1];
	}
	return 0;
}

static void become_program(const struct plx_rank *rank, const int ends[2],
			   const sigset_t *before, pid_t parent)
{
	char *const *program = rank->order->program;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(NOT_TO_RUN);
	if (ends[0] >= 0)
		dup2(ends[0], STDOUT_FILENO);
	if (ends[1] >= 0)
		dup2(ends[1], STDERR_FILENO);
	sigprocmask(SIG_SETMASK, before, NULL);
	execvp(program[0], program);
	dprintf(STDERR_FILENO, "pollux-rank: cannot run %s: %s\n", program[0],
		strerror(errno));
	_exit(errno == ENOENT ? NOT_FOUND : NOT_TO_RUN);
}

int plx_rank_start(struct plx_rank *rank, const struct plx_rank_order *order,
		   const struct plx_place *place, struct plx_error *err)
{
	pid_t self = getpid();
	sigset_t before;
	int ends[2];

	*rank = (struct plx_rank){ .order = order,
				   .place = *place,
				   .parent = getppid(),
				   .log = -1,
				   .pause_s = FIRST_LOOK_S };
	if (open_log(rank, err) < 0 || open_pipes(rank, ends, err) < 0 ||
	    open_signals(rank, &before, err) < 0)
		return -1;
	/* Of kernels before 5.3: -1, and nobody sees the parent go. */
	rank->parent_fd = (int) syscall(SYS_pidfd_open, rank->parent, 0);
	if (rank->parent_fd >= 0)
		fcntl(rank->parent_fd, F_SETFD, FD_CLOEXEC);
	rank->page = plx_run_page_create();
	rank->pid = fork();
	if (rank->pid < 0)
		return plx_fail(err, "cannot fork: %s", strerror(errno));
	if (rank->pid == 0)
		become_program(rank, ends, &before, self);
	for (int i = 0; i < 2; i++) {
		if (ends[i] >= 0)
			close(ends[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	return 0;
}
