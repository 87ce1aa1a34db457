/* SPDX-License-Identifier: MIT */
/* nodemem.c - memory of a node that processes of one job share */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/memory/nodemem.h"
#include "agent/memory/nodemem_meet.h"
#include "wire/free_memory.h"
#include "wire/now.h"
#include "wire/thread.h"

#define STEP_BYTES  ((size_t) 16 << 20) /* got in one go: bounds a refusal */
#define SPARE_BYTES ((size_t) 64 << 20) /* left to others */
#define EXPECT_S    10.0	  /* another rank's memory may be so late, */
#define EXPECT_MS   10		  /* looked for so often */
#define SEALS	    F_SEAL_SHRINK /* without it, reading may end in SIGBUS */

struct plx_nodemem {
	int fd;
	char *base;
	size_t bytes; /* mapped */

	/* Of the thread that gets it: */
	bool running;
	char name[PLX_NODEMEM_NAME];
	pthread_t thread;
	int quit; /* eventfd: the thread is to end */
	pthread_mutex_t mutex;
	pthread_cond_t settled_cond;
	bool settled;	      /* mutex: there, or not to be had */
	bool failed;	      /* mutex */
	struct plx_error err; /* mutex: why */
};

/* ---- the owner's thread ---- */

static int stopped(const struct plx_nodemem *mem)
{
	struct pollfd p = { .fd = mem->quit, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static int get_pages(struct plx_nodemem *mem, size_t from, size_t to,
		     struct plx_error *err)
{
	if (plx_free_memory("") < to - from + SPARE_BYTES)
		return plx_fail(err,
				"no memory for %zu MB of state: %" PRIu64
				" MB are free",
				to >> 20, plx_free_memory("") >> 20);
	for (size_t at = from; at < to; at += STEP_BYTES) {
		size_t left = to - at;
		size_t step = left < STEP_BYTES ? left : STEP_BYTES;
		int rc;

		if (stopped(mem))
			return plx_fail(err, "called off");
		do {
			rc = fallocate(mem->fd, 0, (off_t) at, (off_t) step);
		} while (rc < 0 && errno == EINTR);
		if (rc < 0)
			return plx_fail(err,
					"no memory for %zu MB of state: %s",
					to >> 20, strerror(errno));
	}
	return 0;
}

static int map_all(struct plx_nodemem *mem, size_t bytes, struct plx_error *err)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_POPULATE, mem->fd, 0);

	if (base == MAP_FAILED)
		return plx_fail(err, "cannot map %zu MB of state: %s",
				bytes >> 20, strerror(errno));
	if (mem->base)
		munmap(mem->base, mem->bytes);
	mem->base = base;
	mem->bytes = bytes;
	return 0;
}

static void settle(struct plx_nodemem *mem, int rc, const struct plx_error *err)
{
	bool failed = rc < 0;

	pthread_mutex_lock(&mem->mutex);
	mem->settled = true;
	mem->failed = failed;
	if (failed)
		mem->err = *err;
	pthread_cond_broadcast(&mem->settled_cond);
	pthread_mutex_unlock(&mem->mutex);
}

static void serve(struct plx_nodemem *mem, int listener)
{
	struct pollfd fds[] = {
		{ .fd = listener, .events = POLLIN },
		{ .fd = mem->quit, .events = POLLIN },
	};

	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		if (fds[1].revents)
			break;
		if (!fds[0].revents)
			continue;
		plx_meet_answer(listener, mem->fd);
	}
}

static void *own(void *arg)
{
	struct plx_nodemem *mem = arg;
	struct plx_error err = { .text = "" };
	size_t bytes = mem->bytes;
	int listener = -1;
	bool good;

	mem->bytes = 0;
	good = get_pages(mem, 0, bytes, &err) == 0 &&
	       map_all(mem, bytes, &err) == 0;
	if (good && fcntl(mem->fd, F_ADD_SEALS, SEALS) == 0)
		listener = plx_meet_listen(mem->name, &err);
	settle(mem, listener, &err);
	if (listener < 0)
		return NULL;
	serve(mem, listener);
	close(listener);
	return NULL;
}

/* ---- the others ---- */

static struct plx_nodemem *make(struct plx_error *err)
{
	struct plx_nodemem *mem = calloc(1, sizeof(*mem));

	if (!mem) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	mem->fd = -1;
	mem->quit = -1;
	pthread_mutex_init(&mem->mutex, NULL);
	pthread_cond_init(&mem->settled_cond, NULL);
	return mem;
}

int plx_nodemem_follow(struct plx_nodemem *mem, struct plx_error *err)
{
	struct stat st;

	if (fstat(mem->fd, &st) < 0)
		return plx_fail(err, "shared memory: %s", strerror(errno));
	if ((size_t) st.st_size <= mem->bytes)
		return 0;
	return map_all(mem, (size_t) st.st_size, err);
}

/* fd becomes mem's if it may be mapped, or is closed. */
static int adopt(struct plx_nodemem *mem, int fd, struct plx_error *err)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || seals < 0 ||
	    !(seals & F_SEAL_SHRINK) || st.st_uid != geteuid()) {
		close(fd);
		return plx_fail(err, "not memory that this user shares");
	}
	mem->fd = fd;
	return plx_nodemem_follow(mem, err);
}

static void *seek(void *arg)
{
	struct plx_nodemem *mem = arg;
	struct plx_error err = { .text = "" };
	double end_s = plx_now_s() + EXPECT_S;
	int fd;

	while ((fd = plx_meet_ask(mem->name)) < 0 && plx_now_s() < end_s) {
		struct pollfd p = { .fd = mem->quit, .events = POLLIN };

		if (poll(&p, 1, EXPECT_MS) > 0)
			break;
	}
	if (fd < 0)
		settle(mem,
		       plx_fail(&err, "no shared memory %s here", mem->name),
		       &err);
	else
		settle(mem, adopt(mem, fd, &err), &err);
	return NULL;
}

static struct plx_nodemem *open_fd(int fd, struct plx_error *err)
{
	struct plx_nodemem *mem = make(err);

	if (!mem)
		close(fd);
	if (!mem || adopt(mem, fd, err) == 0)
		return mem;
	plx_nodemem_destroy(mem);
	return NULL;
}

struct plx_nodemem *plx_nodemem_open(const char *name, struct plx_error *err)
{
	int fd = plx_meet_ask(name);

	if (fd >= 0)
		return open_fd(fd, err);
	plx_fail(err, "no shared memory %s here", name);
	return NULL;
}

struct plx_nodemem *plx_nodemem_open_path(const char *path,
					  struct plx_error *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0)
		return open_fd(fd, err);
	plx_fail(err, "%s: %s", path, strerror(errno));
	return NULL;
}

/* ---- beginning ---- */

static struct plx_nodemem *begin(struct plx_nodemem *mem, const char *name,
				 void *(*run)(void *), struct plx_error *err)
{
	snprintf(mem->name, sizeof(mem->name), "%s", name);
	mem->quit = eventfd(0, EFD_CLOEXEC);
	mem->running =
		mem->quit >= 0 && plx_thread_begin(&mem->thread, run, mem) == 0;
	if (mem->running)
		return mem;
	plx_fail(err, "cannot start a thread");
	plx_nodemem_destroy(mem);
	return NULL;
}

struct plx_nodemem *plx_nodemem_create(const char *name, size_t bytes,
				       struct plx_error *err)
{
	struct plx_nodemem *mem = make(err);

	if (!mem)
		return NULL;
	mem->bytes = bytes;
	mem->fd = memfd_create("pollux", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (mem->fd >= 0)
		return begin(mem, name, own, err);
	plx_fail(err, "no memory to share: %s", strerror(errno));
	plx_nodemem_destroy(mem);
	return NULL;
}

struct plx_nodemem *plx_nodemem_expect(const char *name, struct plx_error *err)
{
	struct plx_nodemem *mem = make(err);

	return mem ? begin(mem, name, seek, err) : NULL;
}

int plx_nodemem_ready(struct plx_nodemem *mem, struct plx_error *err)
{
	int rc = 0;

	pthread_mutex_lock(&mem->mutex);
	while (!mem->settled)
		pthread_cond_wait(&mem->settled_cond, &mem->mutex);
	if (mem->failed)
		rc = plx_fail(err, "%s", mem->err.text);
	pthread_mutex_unlock(&mem->mutex);
	return rc;
}

bool plx_nodemem_settled(struct plx_nodemem *mem)
{
	bool settled;

	pthread_mutex_lock(&mem->mutex);
	settled = mem->settled;
	pthread_mutex_unlock(&mem->mutex);
	return settled;
}

int plx_nodemem_grow(struct plx_nodemem *mem, size_t bytes,
		     struct plx_error *err)
{
	if (bytes <= mem->bytes)
		return 0;
	if (get_pages(mem, mem->bytes, bytes, err) < 0)
		return -1;
	return map_all(mem, bytes, err);
}

char *plx_nodemem_base(const struct plx_nodemem *mem)
{
	return mem->base;
}

size_t plx_nodemem_bytes(const struct plx_nodemem *mem)
{
	return mem->bytes;
}

void plx_nodemem_destroy(struct plx_nodemem *mem)
{
	const uint64_t one = 1;

	if (!mem)
		return;
	if (mem->running && write(mem->quit, &one, sizeof(one)) == sizeof(one))
		pthread_join(mem->thread, NULL);
	if (mem->base)
		munmap(mem->base, mem->bytes);
	if (mem->fd >= 0)
		close(mem->fd);
	if (mem->quit >= 0)
		close(mem->quit);
	pthread_cond_destroy(&mem->settled_cond);
	pthread_mutex_destroy(&mem->mutex);
	free(mem);
}
