/* SPDX-License-Identifier: MIT */
/* fence.c - who may write into a job's checkpoints */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "agent/disk/fence.h"
#include "wire/dir.h"

#define FILE_NAME "fence"
#define TRIES	  3000 /* of 20 ms, for the lock */

/* One length, so that a new number covers the old one. */
#define FORMAT	    "%020" PRIu64 " %010" PRIu64 "\n"
#define FORMAT_SIZE 32

int plx_fence_init(struct plx_fence *fence, const char *folder,
		   uint64_t generation, struct plx_error *err)
{
	*fence = (struct plx_fence){ .own.generation = generation };
	if (snprintf(fence->folder, sizeof(fence->folder), "%s", folder) >=
	    (int) sizeof(fence->folder))
		return plx_fail(err,
				"the checkpoint folder's name is too long");
	return 0;
}

/* Some file systems have no locks; the number still holds there. */
static int lock(int fd, struct plx_error *err)
{
	const struct timespec nap = { .tv_nsec = 20000000 };

	for (int i = 0; i < TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno == ENOSYS ||
		    errno == EOPNOTSUPP || errno == ENOLCK)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return plx_fail(err, "cannot lock the fence: %s",
					strerror(errno));
		nanosleep(&nap, NULL);
	}
	return plx_fail(err, "another process has held the fence for %d s",
			TRIES / 50);
}

/*
 * Not by closing alone: a child that was forked meanwhile, as data loaders
 * are, has the file open too, and so would have the lock as long as it lives.
 */
static void unlock(int fd)
{
	(void) flock(fd, LOCK_UN);
	close(fd);
}

static int open_locked(const struct plx_fence *fence, struct plx_error *err)
{
	struct plx_error why;
	int fd = plx_dir_file_at(fence->folder, FILE_NAME, O_RDWR | O_CREAT,
				 &why);

	if (fd < 0) {
		bool foreign = errno == EPERM || errno == ELOOP;

		plx_fail(err, "cannot open the fence: %.220s", why.text);
		return foreign ? PLX_FENCE_FOREIGN : -1;
	}
	if (lock(fd, err) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * A new, empty fence stops nobody, nor does one that has lost its number: that
 * takes a loss of power, after which nobody is left to be kept out.
 */
static int read_token(int fd, struct plx_fence_token *token,
		      struct plx_error *err)
{
	char text[FORMAT_SIZE + 1] = "";
	ssize_t got = pread(fd, text, FORMAT_SIZE, 0);

	*token = (struct plx_fence_token){ 0 };
	if (got < 0)
		return plx_fail(err, "cannot read the fence: %s",
				strerror(errno));
	if (sscanf(text, "%" SCNu64 " %" SCNu64, &token->generation,
		   &token->resumed) != 2)
		*token = (struct plx_fence_token){ 0 };
	return 0;
}

static int write_token(int fd, const struct plx_fence_token *token,
		       struct plx_error *err)
{
	char text[FORMAT_SIZE + 16];

	snprintf(text, sizeof(text), FORMAT, token->generation, token->resumed);
	/* Not flushed: after a loss of power nobody is left to be kept out. */
	if (pwrite(fd, text, FORMAT_SIZE, 0) != FORMAT_SIZE)
		return plx_fail(err, "cannot write the fence: %s",
				strerror(errno));
	return 0;
}

static int compare(const struct plx_fence_token *a,
		   const struct plx_fence_token *b)
{
	if (a->generation != b->generation)
		return a->generation < b->generation ? -1 : 1;
	return (a->resumed > b->resumed) - (a->resumed < b->resumed);
}

int plx_fence_enter(const struct plx_fence *fence, struct plx_error *err)
{
	int fd = open_locked(fence, err);
	struct plx_fence_token token;
	int order;

	if (fd < 0 || !fence->own.generation)
		return fd;
	if (read_token(fd, &token, err) < 0)
		goto fail;
	order = compare(&token, &fence->own);
	if (order > 0) {
		unlock(fd);
		plx_fail(err,
			 "generation %" PRIu64 " has gone on from these "
			 "checkpoints: generation %" PRIu64
			 " may write no more",
			 token.generation, fence->own.generation);
		return PLX_FENCED;
	}
	if (order == 0 || write_token(fd, &fence->own, err) == 0)
		return fd;
fail:
	unlock(fd);
	return -1;
}

void plx_fence_leave(int lock)
{
	unlock(lock);
}

bool plx_fence_passed(const struct plx_fence *fence)
{
	struct plx_fence_token now = { 0 };
	int fd;

	if (!fence->own.generation)
		return false;
	fd = plx_dir_file_at(fence->folder, FILE_NAME, O_RDONLY, NULL);
	if (fd < 0)
		return false;
	(void) read_token(fd, &now, NULL);
	close(fd);
	return now.generation > fence->own.generation;
}

int plx_fence_retake(struct plx_fence *fence, uint64_t generation,
		     struct plx_error *err)
{
	struct plx_fence_token token;
	int rc = -1;
	int fd;

	if (!fence->own.generation)
		return 0;
	fd = open_locked(fence, err);
	if (fd < 0)
		return -1;
	if (read_token(fd, &token, err) == 0) {
		token.resumed++;
		if (generation > token.generation)
			token = (struct plx_fence_token){ .generation =
								  generation };
		rc = write_token(fd, &token, err);
	}
	if (rc == 0)
		fence->own = token;
	unlock(fd);
	return rc;
}
