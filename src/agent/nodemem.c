/* SPDX-License-Identifier: MIT */
/* nodemem.c - memory of a node that processes of one job share */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/nodemem.h"
#include "core/crc.h"

#define STEP_BYTES  ((size_t) 16 << 20) /* got in one go: bounds a refusal */
#define SPARE_BYTES ((size_t) 64 << 20) /* left to others */
#define BACKLOG	    64
#define PATIENCE_S  5		  /* with a peer that does not speak */
#define SEALS	    F_SEAL_SHRINK /* without it, reading may end in SIGBUS */

struct plx_nodemem {
	int fd;
	char *base;
	size_t bytes; /* mapped */

	/* The owner's: */
	bool owned;
	char name[PLX_NODEMEM_NAME];
	pthread_t thread;
	int quit; /* eventfd: the thread is to end */
	pthread_mutex_t mutex;
	pthread_cond_t settled_cond;
	bool settled;	      /* mutex: there, or not to be had */
	bool failed;	      /* mutex */
	struct plx_error err; /* mutex: why */
};

/* ---- names ---- */

const char *plx_nodemem_here(void)
{
	static _Thread_local char host[64];
	const char *node = getenv("SLURMD_NODENAME");

	if (node && *node)
		return node;
	if (gethostname(host, sizeof(host) - 1) < 0)
		return "node";
	return host;
}

void plx_nodemem_name(char name[PLX_NODEMEM_NAME], const char *job,
		      uint64_t generation, const char *node)
{
	char full[512];
	int length = snprintf(full, sizeof(full),
			      "pollux.%u.%.200s.%" PRIu64 ".%.200s",
			      (unsigned int) geteuid(), job, generation,
			      node ? node : plx_nodemem_here());

	if (length < PLX_NODEMEM_NAME - 1)
		memcpy(name, full, (size_t) length + 1);
	else
		snprintf(name, PLX_NODEMEM_NAME, "%.80s.%08" PRIx32, full,
			 plx_crc32c(0, full, strlen(full)));
}

/* An abstract address: begins with a NUL, ends with its length. */
static socklen_t make_address(struct sockaddr_un *address, const char *name)
{
	size_t length = strlen(name);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path + 1, name, length);
	return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 +
			    length);
}

static bool same_user(int sock)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       peer.uid == geteuid();
}

/* ---- descriptors over sockets ---- */

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static int send_fd(int sock, int fd)
{
	union control control = { 0 };
	struct iovec part = { .iov_base = (char[]){ 'm' }, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(sock, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

/* -1 when none came. */
static int receive_fd(int sock)
{
	union control control = { 0 };
	char byte;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(sock, &message, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	c = CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static int make_socket(void)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (sock < 0)
		return -1;
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return sock;
}

/* ---- the owner's thread ---- */

static int stopped(const struct plx_nodemem *mem)
{
	struct pollfd p = { .fd = mem->quit, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static int get_pages(struct plx_nodemem *mem, size_t from, size_t to,
		     struct plx_error *err)
{
	if (plx_nodemem_room() < to - from + SPARE_BYTES)
		return plx_fail(err,
				"no memory for %zu MB of state: %" PRIu64
				" MB are free",
				to >> 20, plx_nodemem_room() >> 20);
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

static void settle(struct plx_nodemem *mem, bool failed,
		   const struct plx_error *err)
{
	pthread_mutex_lock(&mem->mutex);
	mem->settled = true;
	mem->failed = failed;
	if (failed)
		mem->err = *err;
	pthread_cond_broadcast(&mem->settled_cond);
	pthread_mutex_unlock(&mem->mutex);
}

static int listen_as(const char *name, struct plx_error *err)
{
	struct sockaddr_un address;
	socklen_t length = make_address(&address, name);
	int sock = make_socket();

	if (sock < 0)
		return plx_fail(err, "no socket: %s", strerror(errno));
	if (bind(sock, (struct sockaddr *) &address, length) < 0 ||
	    listen(sock, BACKLOG) < 0) {
		plx_fail(err, "cannot listen as %s: %s", name, strerror(errno));
		close(sock);
		return -1;
	}
	return sock;
}

static void serve(struct plx_nodemem *mem, int listener)
{
	struct pollfd fds[] = {
		{ .fd = listener, .events = POLLIN },
		{ .fd = mem->quit, .events = POLLIN },
	};

	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		int peer;

		if (fds[1].revents)
			break;
		if (!fds[0].revents)
			continue;
		peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (peer < 0)
			continue;
		if (same_user(peer))
			(void) send_fd(peer, mem->fd);
		close(peer);
	}
}

static void *own(void *arg)
{
	struct plx_nodemem *mem = arg;
	struct plx_error err = { "" };
	size_t bytes = mem->bytes;
	int listener = -1;
	bool good;

	mem->bytes = 0;
	good = get_pages(mem, 0, bytes, &err) == 0 &&
	       map_all(mem, bytes, &err) == 0;
	if (good && fcntl(mem->fd, F_ADD_SEALS, SEALS) == 0)
		listener = listen_as(mem->name, &err);
	settle(mem, listener < 0, &err);
	if (listener < 0)
		return NULL;
	serve(mem, listener);
	close(listener);
	return NULL;
}

/* ---- the owner ---- */

static struct plx_nodemem *make(void)
{
	struct plx_nodemem *mem = calloc(1, sizeof(*mem));

	if (!mem)
		return NULL;
	mem->fd = -1;
	mem->quit = -1;
	pthread_mutex_init(&mem->mutex, NULL);
	pthread_cond_init(&mem->settled_cond, NULL);
	return mem;
}

/* Signals are the program's: none is to end up here. */
static int start_thread(struct plx_nodemem *mem)
{
	sigset_t all;
	sigset_t old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&mem->thread, NULL, own, mem);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

struct plx_nodemem *plx_nodemem_create(const char *name, size_t bytes,
				       struct plx_error *err)
{
	struct plx_nodemem *mem = make();

	if (!mem) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	snprintf(mem->name, sizeof(mem->name), "%s", name);
	mem->bytes = bytes;
	mem->fd = memfd_create("pollux", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	mem->quit = eventfd(0, EFD_CLOEXEC);
	if (mem->fd < 0 || mem->quit < 0) {
		plx_fail(err, "no memory to share: %s", strerror(errno));
	} else if (start_thread(mem)) {
		plx_fail(err, "cannot start a thread");
	} else {
		mem->owned = true;
		return mem;
	}
	plx_nodemem_destroy(mem);
	return NULL;
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

int plx_nodemem_grow(struct plx_nodemem *mem, size_t bytes,
		     struct plx_error *err)
{
	if (bytes <= mem->bytes)
		return 0;
	if (get_pages(mem, mem->bytes, bytes, err) < 0)
		return -1;
	return map_all(mem, bytes, err);
}

/* ---- the others ---- */

int plx_nodemem_follow(struct plx_nodemem *mem, struct plx_error *err)
{
	struct stat st;

	if (fstat(mem->fd, &st) < 0)
		return plx_fail(err, "shared memory: %s", strerror(errno));
	if ((size_t) st.st_size <= mem->bytes)
		return 0;
	return map_all(mem, (size_t) st.st_size, err);
}

/* fd becomes the result's, or is closed. */
static struct plx_nodemem *adopt(int fd, struct plx_error *err)
{
	struct plx_nodemem *mem = NULL;
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || seals < 0 ||
	    !(seals & F_SEAL_SHRINK) || st.st_uid != geteuid())
		plx_fail(err, "not memory that this user shares");
	else if (!(mem = make()))
		plx_fail(err, "out of memory");
	if (!mem) {
		close(fd);
		return NULL;
	}
	mem->fd = fd;
	if (plx_nodemem_follow(mem, err) == 0)
		return mem;
	plx_nodemem_destroy(mem);
	return NULL;
}

struct plx_nodemem *plx_nodemem_open(const char *name, struct plx_error *err)
{
	struct sockaddr_un address;
	socklen_t length = make_address(&address, name);
	int sock = make_socket();
	int fd = -1;

	if (sock >= 0 &&
	    connect(sock, (struct sockaddr *) &address, length) == 0 &&
	    same_user(sock))
		fd = receive_fd(sock);
	if (fd < 0)
		plx_fail(err, "no shared memory %s here", name);
	if (sock >= 0)
		close(sock);
	return fd < 0 ? NULL : adopt(fd, err);
}

struct plx_nodemem *plx_nodemem_open_path(const char *path,
					  struct plx_error *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) {
		plx_fail(err, "%s: %s", path, strerror(errno));
		return NULL;
	}
	return adopt(fd, err);
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
	if (mem->owned && write(mem->quit, &one, sizeof(one)) == sizeof(one))
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
