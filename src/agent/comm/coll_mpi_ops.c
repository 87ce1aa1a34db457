/* SPDX-License-Identifier: MIT */
/*
 * coll_mpi_ops.c - what ranks do together over MPI, and how long they wait
 *
 * A rank that hangs does not answer and is not noticed by MPI either: so all
 * operations are nonblocking ones, tested in a loop that knows the time.
 */
#include <config.h>

#include <limits.h>
#include <stdlib.h>

#include "agent/comm/coll_mpi.h"
#include "agent/comm/coll_wait.h"
#include "agent/gpu/device.h"

/* MPI counts are ints; larger arrays go in pieces of this many bytes. */
#define PIECE (1 << 28)

/*
 * A sum is made of several at once, so that one's arithmetic overlaps with
 * another's transfer: as many as that, of that many numbers or more.
 */
#define SUM_PIECES    64
#define SUM_PIECE_MIN (1 << 17)
#define SUM_PIECE_MAX (1 << 28)

/* ---- errors ---- */

/* -1 with the sentence of the first failure, if there was one. */
static int usable(struct plx_mpi *m, struct plx_error *err)
{
	if (!m->broken)
		return 0;
	return plx_fail(err, "%s", m->why.text);
}

static int broken(struct plx_mpi *m, struct plx_error *err)
{
	m->broken = true;
	return usable(m, err);
}

int plx_mpi_check(struct plx_mpi *m, int code, const char *what,
		  struct plx_error *err)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int length = 0;

	if (code == MPI_SUCCESS)
		return 0;
	MPI_Error_string(code, text, &length);
	plx_fail(&m->why, "%s failed: %s", what, text);
	return broken(m, err);
}

/*
 * Of Open MPI, where its parameter of that name is: seconds from the decision
 * to abort until it does, -1 for ever. Other MPIs have none.
 */
extern int opal_abort_delay __attribute__((weak));

static int users_delay;

/* A program that calls MPI_Abort() does not wait: so not all the time. */
void plx_mpi_patient(const struct plx_mpi *m)
{
	double most = m->base.timeout_s;
	bool limited = most > 0 && most < INT_MAX;

	if (!&opal_abort_delay)
		return;
	users_delay = opal_abort_delay;
	opal_abort_delay = limited ? 1 + (int) most : -1;
}

int plx_mpi_hasty(int code)
{
	if (&opal_abort_delay)
		opal_abort_delay = users_delay;
	return code;
}

/* ---- waiting ---- */

/* A request is tested until it is done. */
static int await(struct plx_mpi *m, MPI_Request *request, bool idle,
		 const char *what, struct plx_error *err)
{
	struct plx_wait w = { .coll = &m->base, .what = what, .idle = idle };
	int done = 0;

	for (;;) {
		int code =
			PLX_MPI(m, MPI_Test(request, &done, MPI_STATUS_IGNORE));

		if (plx_mpi_check(m, code, what, err) < 0)
			return -1;
		if (done)
			return 0;
		if (plx_wait_more(&w, &m->why) < 0)
			return broken(m, err);
	}
}

int plx_mpi_finish(struct plx_mpi *m, int code, MPI_Request *request,
		   const char *what, struct plx_error *err)
{
	if (plx_mpi_check(m, code, what, err) < 0)
		return -1;
	return await(m, request, false, what, err);
}

/* ---- sums ---- */

static void destroy_sum(struct plx_mpi_sum *s)
{
	if (s && s->host != s->data)
		free(s->host);
	if (s)
		free(s->requests);
	free(s);
}

static void destroy_sums(struct plx_mpi_sum *s)
{
	while (s) {
		struct plx_mpi_sum *next = s->next;

		destroy_sum(s);
		s = next;
	}
}

void plx_mpi_release_sums(struct plx_mpi *m)
{
	/* What is under way may still be written to, so it is left alone. */
	if (!m->broken)
		destroy_sums(m->first);
	destroy_sums(m->spare);
	m->first = m->last = m->spare = NULL;
}

/* One that was used before, for as many numbers of that memory. */
static struct plx_mpi_sum *take_spare(struct plx_mpi *m, size_t count,
				      enum pollux_memory memory)
{
	for (struct plx_mpi_sum **at = &m->spare; *at; at = &(*at)->next) {
		struct plx_mpi_sum *s = *at;

		if (s->count == count && s->memory == memory) {
			*at = s->next;
			return s;
		}
	}
	return NULL;
}

static size_t piece_of(size_t count)
{
	size_t piece = (count + SUM_PIECES - 1) / SUM_PIECES;

	if (piece < SUM_PIECE_MIN)
		return SUM_PIECE_MIN;
	return piece < SUM_PIECE_MAX ? piece : SUM_PIECE_MAX;
}

static struct plx_mpi_sum *create_sum(size_t count, enum pollux_memory memory,
				      struct plx_error *err)
{
	struct plx_mpi_sum *s = calloc(1, sizeof(*s));

	if (!s)
		goto fail;
	s->count = count;
	s->memory = memory;
	s->piece = piece_of(count);
	s->pieces = (int) ((count + s->piece - 1) / s->piece);
	s->requests = calloc((size_t) s->pieces + 1, sizeof(*s->requests));
	if (memory == POLLUX_CUDA)
		s->host = malloc(count * sizeof(*s->host));
	if (s->requests && (s->host || memory == POLLUX_HOST))
		return s;
fail:
	destroy_sum(s);
	plx_fail(err, "out of memory for a sum of %zu numbers", count);
	return NULL;
}

/* Numbers of the piece that begins there. */
static size_t piece_at(const struct plx_mpi_sum *s, size_t at)
{
	size_t left = s->count - at;

	return left < s->piece ? left : s->piece;
}

/* Hand its pieces to MPI. */
static int hand_over(struct plx_mpi *m, struct plx_mpi_sum *s,
		     struct plx_error *err)
{
	for (int i = 0; i < s->pieces; i++) {
		size_t at = (size_t) i * s->piece;
		int code = PLX_MPI(m, MPI_Iallreduce(MPI_IN_PLACE, s->host + at,
						     (int) piece_at(s, at),
						     MPI_FLOAT, MPI_SUM,
						     m->comm, &s->requests[i]));

		if (plx_mpi_check(m, code, "MPI_Iallreduce", err) < 0)
			return -1;
	}
	return 0;
}

/* NULL with err set. Else ended by end_sum(). */
static struct plx_mpi_sum *begin_sum(struct plx_mpi *m, float *data,
				     size_t count, enum pollux_memory memory,
				     struct plx_error *err)
{
	struct plx_mpi_sum *s = take_spare(m, count, memory);

	if (!s)
		s = create_sum(count, memory, err);
	if (!s)
		return NULL;
	s->data = data;
	s->next = NULL;
	if (memory == POLLUX_HOST)
		s->host = data;
	else if (plx_device_read(s->host, data, count * sizeof(*data), memory,
				 err) < 0)
		goto fail;
	if (hand_over(m, s, err) == 0)
		return s;
fail:
	if (!m->broken)
		destroy_sum(s);
	return NULL;
}

static int end_sum(struct plx_mpi *m, struct plx_mpi_sum *s,
		   const struct plx_seer *seer, struct plx_error *err)
{
	bool seen = seer && s->memory == POLLUX_HOST;

	for (int i = 0; i < s->pieces; i++) {
		size_t at = (size_t) i * s->piece;

		if (await(m, &s->requests[i], false, "sum over ranks", err) < 0)
			return -1;
		if (seen)
			seer->see(seer->arg, at, piece_at(s, at));
	}
	s->next = m->spare;
	m->spare = s;
	if (s->memory == POLLUX_HOST)
		return 0;
	return plx_device_write(s->data, s->host, s->count * sizeof(*s->data),
				s->memory, err);
}

/* MPI moves only while it is called: let what is under way get on. */
static int push(struct plx_mpi *m, struct plx_error *err)
{
	int done;

	if (!m->first || !m->first->pieces)
		return 0;
	return plx_mpi_check(m,
			     PLX_MPI(m, MPI_Test(&m->first->requests[0], &done,
						 MPI_STATUS_IGNORE)),
			     "MPI_Iallreduce", err);
}

int plx_mpi_sum_begin(struct plx_coll *coll, float *data, size_t count,
		      enum pollux_memory memory, struct plx_error *err)
{
	struct plx_mpi *m = (struct plx_mpi *) coll;
	struct plx_mpi_sum *s;

	if (usable(m, err) < 0 || push(m, err) < 0)
		return -1;
	s = begin_sum(m, data, count, memory, err);
	if (!s)
		return -1;
	if (m->last)
		m->last->next = s;
	else
		m->first = s;
	m->last = s;
	return 0;
}

int plx_mpi_sum_wait(struct plx_coll *coll, const struct plx_seer *seer,
		     struct plx_error *err)
{
	struct plx_mpi *m = (struct plx_mpi *) coll;
	struct plx_mpi_sum *s = m->first;

	if (usable(m, err) < 0)
		return -1;
	if (!s)
		return plx_fail(err, "no sum is under way");
	m->first = s->next;
	if (!m->first)
		m->last = NULL;
	return end_sum(m, s, seer, err);
}

int plx_mpi_sum(struct plx_coll *coll, float *data, size_t count,
		struct plx_error *err)
{
	struct plx_mpi *m = (struct plx_mpi *) coll;
	struct plx_mpi_sum *s;

	if (usable(m, err) < 0)
		return -1;
	s = begin_sum(m, data, count, POLLUX_HOST, err);
	return s ? end_sum(m, s, NULL, err) : -1;
}

/* ---- the rest ---- */

static int spread(struct plx_mpi *m, void *data, size_t bytes, bool idle,
		  struct plx_error *err)
{
	static const char what[] = "word from rank 0";

	if (usable(m, err) < 0)
		return -1;
	for (size_t at = 0; at < bytes; at += PIECE) {
		size_t left = bytes - at;
		int piece = left < PIECE ? (int) left : PIECE;
		MPI_Request request = MPI_REQUEST_NULL;

		if (plx_mpi_check(m,
				  PLX_MPI(m, MPI_Ibcast((char *) data + at,
							piece, MPI_BYTE, 0,
							m->comm, &request)),
				  what, err) < 0 ||
		    await(m, &request, idle, what, err) < 0)
			return -1;
	}
	return 0;
}

int plx_mpi_spread(struct plx_coll *coll, void *data, size_t bytes,
		   struct plx_error *err)
{
	return spread((struct plx_mpi *) coll, data, bytes, false, err);
}

int plx_mpi_spread_idle(struct plx_coll *coll, void *data, size_t bytes,
			struct plx_error *err)
{
	return spread((struct plx_mpi *) coll, data, bytes, true, err);
}

int plx_mpi_barrier(struct plx_coll *coll, struct plx_error *err)
{
	struct plx_mpi *m = (struct plx_mpi *) coll;
	MPI_Request request = MPI_REQUEST_NULL;

	if (usable(m, err) < 0)
		return -1;
	return plx_mpi_finish(m, PLX_MPI(m, MPI_Ibarrier(m->comm, &request)),
			      &request, "barrier", err);
}

int plx_mpi_gather(struct plx_coll *coll, const void *data, size_t bytes,
		   void *out, struct plx_error *err)
{
	struct plx_mpi *m = (struct plx_mpi *) coll;
	MPI_Request request = MPI_REQUEST_NULL;
	int code;

	if (usable(m, err) < 0)
		return -1;
	if (bytes > INT_MAX)
		return plx_fail(err, "gather of %zu bytes a rank, at most %d",
				bytes, INT_MAX);
	code = PLX_MPI(m, MPI_Igather(data, (int) bytes, MPI_BYTE, out,
				      (int) bytes, MPI_BYTE, 0, m->comm,
				      &request));
	return plx_mpi_finish(m, code, &request, "gather", err);
}
