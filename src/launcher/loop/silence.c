/* SPDX-License-Identifier: GPL-2.0-or-later */
/* silence.c - does a node still answer? */
#include "config.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "launcher/job/address.h"
#include "launcher/rules/clock.h"
#include "launcher/loop/silence.h"
#include "wire/thread.h"

#define TRIES	5 /* a packet may be lost, five in a second are not */
#define PROMPT	2 /* tries: all others had the rest of them */
#define TRY_MS	200
#define LEAVE_S 2

/* A node as the thread knows it. */
struct door {
	char name[PLX_NODE_NAME_SIZE];
	struct sockaddr_storage at;
	socklen_t size; /* of at; 0: not known */
	bool asked;
	bool answered;
	int tries;	/* before that */
	int fds[TRIES]; /* -1: none */
};

struct plx_silence {
	int fd;
	pthread_t thread;
	struct door *doors; /* the thread's own */
	int count;
	pthread_mutex_t mutex; /* protects all that follows */
	pthread_cond_t wake;
	bool leave;
	struct plx_layout learn;
	struct plx_layout knock;
	bool has_answer;
	struct plx_knocked answer;
};

/* ---- doors ---- */

static void find_address(struct door *door)
{
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	char address[PLX_NODE_NAME_SIZE];
	char port[8];

	if (plx_address_slurmd(door->name, address, sizeof(address), port,
			       sizeof(port)) < 0 ||
	    getaddrinfo(address, port, &want, &found) != 0)
		return;
	memcpy(&door->at, found->ai_addr, found->ai_addrlen);
	door->size = found->ai_addrlen;
	freeaddrinfo(found);
}

static struct door *find_door(struct plx_silence *s, const char *name)
{
	struct door *more;

	for (int i = 0; i < s->count; i++) {
		if (!strcmp(s->doors[i].name, name))
			return &s->doors[i];
	}
	more = realloc(s->doors, ((size_t) s->count + 1) * sizeof(*more));
	if (!more)
		return NULL;
	s->doors = more;
	more += s->count++;
	*more = (struct door){ 0 };
	snprintf(more->name, sizeof(more->name), "%s", name);
	return more;
}

static void learn(struct plx_silence *s, const struct plx_layout *nodes)
{
	for (int i = 0; i < nodes->count; i++) {
		struct door *door = find_door(s, nodes->nodes[i].name);

		if (door && !door->size)
			find_address(door);
	}
}

/* ---- knocking ---- */

/* Refused is an answer, too. */
static bool is_answer(int code)
{
	return code == 0 || code == ECONNREFUSED || code == ECONNRESET;
}

static void knock_once(struct door *door, int try)
{
	int fd = socket(door->at.ss_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	/* Without descriptors of our own we know nothing of others. */
	if (fd < 0) {
		door->answered = true;
		return;
	}
	rc = connect(fd, (struct sockaddr *) &door->at, door->size);
	if (is_answer(rc < 0 ? errno : 0)) {
		door->answered = true;
		close(fd);
		return;
	}
	door->fds[try] = fd;
}

static void listen_at(struct door *door)
{
	for (int i = 0; i < TRIES; i++) {
		struct pollfd p = { .fd = door->fds[i], .events = POLLOUT };
		socklen_t size = sizeof(int);
		int code = EINPROGRESS;

		if (p.fd < 0 || poll(&p, 1, 0) <= 0)
			continue;
		getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &code, &size);
		door->answered |= is_answer(code);
		close(p.fd);
		door->fds[i] = -1;
	}
}

static void leave_door(struct door *door)
{
	for (int i = 0; i < TRIES; i++) {
		if (door->fds[i] >= 0)
			close(door->fds[i]);
	}
}

static bool all_answered(const struct plx_silence *s)
{
	for (int i = 0; i < s->count; i++) {
		if (s->doors[i].asked && !s->doors[i].answered)
			return false;
	}
	return true;
}

static void ask_doors(struct plx_silence *s, const struct plx_layout *nodes)
{
	for (int i = 0; i < s->count; i++) {
		struct door *door = &s->doors[i];

		door->asked = door->size && plx_layout_on(nodes, door->name);
		door->answered = false;
		for (int t = 0; t < TRIES; t++)
			door->fds[t] = -1;
	}
	for (int try = 0; try < TRIES && !all_answered(s); try++) {
		for (int i = 0; i < s->count; i++) {
			if (!s->doors[i].asked || s->doors[i].answered)
				continue;
			s->doors[i].tries = try;
			knock_once(&s->doors[i], try);
		}
		/* Answers come within a millisecond, or not at all. */
		poll(NULL, 0, try ? TRY_MS : TRY_MS / 10);
		for (int i = 0; i < s->count; i++)
			listen_at(&s->doors[i]);
	}
	for (int i = 0; i < s->count; i++)
		leave_door(&s->doors[i]);
}

static void sum_up(struct plx_silence *s, struct plx_knocked *knocked)
{
	for (int i = 0; i < s->count; i++) {
		const struct door *door = &s->doors[i];
		struct plx_layout_node node = { .ranks = 1 };
		struct plx_error err;

		if (!door->asked)
			continue;
		/* At the last try it says that our network is back. */
		if (door->answered) {
			knocked->answered += door->tries < PROMPT;
			continue;
		}
		memcpy(node.name, door->name, sizeof(node.name));
		(void) plx_layout_add(&knocked->silent, &node, &err);
	}
}

/* ---- the thread ---- */

static void tell(struct plx_silence *s, const struct plx_knocked *knocked)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&s->mutex);
	plx_layout_release(&s->answer.silent);
	s->answer = *knocked;
	s->has_answer = true;
	pthread_mutex_unlock(&s->mutex);
	while (write(s->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void *work(void *arg)
{
	struct plx_silence *s = arg;

	pthread_mutex_lock(&s->mutex);
	while (!s->leave) {
		struct plx_layout known = s->learn;
		struct plx_layout asked = s->knock;
		struct plx_knocked knocked = { .began_s = plx_now_s() };

		if (!known.count && !asked.count) {
			pthread_cond_wait(&s->wake, &s->mutex);
			continue;
		}
		s->learn = (struct plx_layout){ 0 };
		s->knock = (struct plx_layout){ 0 };
		pthread_mutex_unlock(&s->mutex);
		learn(s, &known);
		if (asked.count) {
			ask_doors(s, &asked);
			sum_up(s, &knocked);
			tell(s, &knocked);
		}
		plx_layout_release(&known);
		plx_layout_release(&asked);
		pthread_mutex_lock(&s->mutex);
	}
	pthread_mutex_unlock(&s->mutex);
	return NULL;
}

struct plx_silence *plx_silence_create(struct plx_error *err)
{
	struct plx_silence *s = calloc(1, sizeof(*s));

	if (!s) {
		plx_fail(err, "out of memory");
		return NULL;
	}
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->wake, NULL);
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->fd >= 0 && plx_thread_begin(&s->thread, work, s) == 0)
		return s;
	plx_fail(err, "cannot start a thread: %s", strerror(errno));
	if (s->fd >= 0)
		close(s->fd);
	free(s);
	return NULL;
}

void plx_silence_destroy(struct plx_silence *s)
{
	struct timespec until;

	if (!s)
		return;
	pthread_mutex_lock(&s->mutex);
	s->leave = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->mutex);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LEAVE_S;
	/* Stuck in slurmctld it is left behind, for the process ends now. */
	if (pthread_timedjoin_np(s->thread, NULL, &until) != 0)
		return;
	plx_layout_release(&s->learn);
	plx_layout_release(&s->knock);
	plx_layout_release(&s->answer.silent);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->mutex);
	close(s->fd);
	free(s->doors);
	free(s);
}

static void put(struct plx_silence *s, struct plx_layout *to,
		const struct plx_layout *nodes, const char *own)
{
	struct plx_error err;

	pthread_mutex_lock(&s->mutex);
	plx_layout_release(to);
	for (int i = 0; i < nodes->count; i++) {
		if (!own || strcmp(nodes->nodes[i].name, own) != 0)
			(void) plx_layout_add(to, &nodes->nodes[i], &err);
	}
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->mutex);
}

void plx_silence_learn(struct plx_silence *s, const struct plx_layout *nodes)
{
	put(s, &s->learn, nodes, NULL);
}

void plx_silence_knock(struct plx_silence *s, const struct plx_layout *nodes,
		       const char *own)
{
	put(s, &s->knock, nodes, own);
}

int plx_silence_fd(const struct plx_silence *s)
{
	return s->fd;
}

bool plx_silence_take(struct plx_silence *s, struct plx_knocked *knocked)
{
	uint64_t count;
	bool is;

	if (read(s->fd, &count, sizeof(count)) < 0)
		return false;
	pthread_mutex_lock(&s->mutex);
	is = s->has_answer;
	*knocked = s->answer;
	s->answer = (struct plx_knocked){ 0 };
	s->has_answer = false;
	pthread_mutex_unlock(&s->mutex);
	return is;
}
