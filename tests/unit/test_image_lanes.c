/* SPDX-License-Identifier: MIT */
/* test_image_lanes.c - an image is the same however many threads copy it */

#include <config.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/memory/image_piece.h"
#include "agent/memory/memory_image.h"
#include "core/base/crc.h"
#include "copied_blob.h"
#include "unit.h"

/* ---- image_lanes.h ---- */

enum { PIECES = 4000 };

/* What was done to each piece, and where. */
struct counted {
	int times[PIECES];
	pthread_t by[PIECES];
	int unblocked; /* other threads that a signal may come to; atomic */
	pthread_t caller;
	int fails_from; /* the piece; PIECES: none */
	int slices;
	int working; /* threads, now; atomic */
};

static int count(void *what, struct plx_slice slice, struct plx_lane *lane,
		 struct plx_error *err)
{
	struct counted *c = what;
	sigset_t mask;

	(void) lane;
	__atomic_add_fetch(&c->slices, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&c->working, 1, __ATOMIC_RELAXED);
	for (int i = slice.mine; i < PIECES; i += slice.of) {
		if (i >= c->fails_from)
			return plx_fail(err, "piece %d is bad", i);
		c->times[i]++;
		c->by[i] = pthread_self();
	}
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	if (!pthread_equal(pthread_self(), c->caller) &&
	    (!sigismember(&mask, SIGTERM) || !sigismember(&mask, SIGUSR1)))
		__atomic_add_fetch(&c->unblocked, 1, __ATOMIC_RELAXED);
	/* So that each comes to something, and the calling one ends first. */
	usleep(pthread_equal(pthread_self(), c->caller) ? 1000 : 3000);
	__atomic_sub_fetch(&c->working, 1, __ATOMIC_RELAXED);
	return 0;
}

static int run(struct counted *c, size_t pieces, int threads,
	       struct plx_error *err)
{
	const struct plx_lanes lanes = {
		.work = count,
		.what = c,
		.pieces = pieces,
		.threads = threads,
	};

	memset(c->times, 0, sizeof(c->times));
	c->slices = 0;
	c->caller = pthread_self();
	return plx_lanes_run(&lanes, err);
}

static int others(const struct counted *c)
{
	int other = 0;

	for (int i = 0; i < PIECES; i++)
		other += !pthread_equal(c->by[i], c->caller);
	return other;
}

static void each_piece_is_worked_on_once(void **state)
{
	static struct counted c = { .fails_from = PIECES };
	struct plx_error err = { .text = "" };

	(void) state;
	for (int threads = 0; threads <= 20; threads++) {
		assert_int_equal(0, run(&c, PIECES, threads, &err));
		for (int i = 0; i < PIECES; i++)
			assert_int_equal(1, c.times[i]);
	}
	assert_int_equal(PLX_LANES_MAX * 4, c.slices);
}

static void one_thread_is_the_calling_one(void **state)
{
	static struct counted c = { .fails_from = PIECES };
	struct plx_error err = { .text = "" };

	(void) state;
	assert_int_equal(0, run(&c, PIECES, 1, &err));
	assert_int_equal(0, others(&c));
	assert_int_equal(1, c.slices);
	/* Few pieces are not worth another. */
	assert_int_equal(0, run(&c, 7, 8, &err));
	assert_int_equal(0, others(&c));
	assert_int_equal(0, run(&c, 0, 8, &err));
	assert_int_equal(1, c.slices);
}

static void other_threads_leave_signals_to_the_program(void **state)
{
	static struct counted c = { .fails_from = PIECES };
	struct plx_error err = { .text = "" };
	sigset_t now;

	(void) state;
	assert_int_equal(0, run(&c, PIECES, 8, &err));
	assert_true(others(&c) > 0);
	assert_int_equal(0, c.unblocked);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	assert_false(sigismember(&now, SIGTERM));
}

static void a_lane_that_fails_is_told(void **state)
{
	static struct counted c;
	struct plx_error err = { .text = "" };

	(void) state;
	for (int threads = 1; threads <= 8; threads += 7) {
		c.fails_from = PIECES - 1;
		assert_int_equal(-1, run(&c, PIECES, threads, &err));
		assert_string_equal("piece 3999 is bad", err.text);
		c.fails_from = 0;
		assert_int_equal(-1, run(&c, PIECES, threads, &err));
		assert_non_null(strstr(err.text, "is bad"));
		assert_true(c.slices <= threads);
		assert_int_equal(-1, run(&c, PIECES, threads, NULL));
	}
}

/* How many threads this process has. */
static int threads_now(void)
{
	char line[128];
	int count = 0;
	FILE *in = fopen("/proc/self/status", "r");

	assert_non_null(in);
	while (fgets(line, sizeof(line), in))
		sscanf(line, "Threads: %d", &count);
	fclose(in);
	return count;
}

static void no_thread_outlives_the_call(void **state)
{
	static struct counted c;
	int before = threads_now();

	(void) state;
	for (int i = 0; i < 20; i++) {
		c.fails_from = i % 2 ? PIECES : 100 * i;
		c.working = 0;
		(void) run(&c, PIECES, 8, NULL);
		if (c.fails_from == PIECES)
			assert_int_equal(0, c.working);
		/* The kernel forgets one a moment after it was joined. */
		for (int ms = 0; ms < 1000 && threads_now() > before; ms++)
			usleep(1000);
		assert_int_equal(before, threads_now());
	}
}

/* A thread's stack is larger than any address, and then as before. */
static void without_threads_the_calling_one_does_it_all(void **state)
{
	static struct counted c = { .fails_from = PIECES };
	struct plx_error err = { .text = "" };
	pthread_attr_t usual;
	pthread_attr_t huge;

	(void) state;
	assert_int_equal(0, pthread_getattr_default_np(&usual));
	pthread_attr_init(&huge);
	pthread_attr_setstacksize(&huge, (size_t) 1 << 60);
	assert_int_equal(0, pthread_setattr_default_np(&huge));
	assert_int_equal(0, run(&c, PIECES, 8, &err));
	assert_int_equal(0, others(&c));
	assert_int_equal(PLX_LANES_MAX * 4, c.slices);
	assert_int_equal(0, pthread_setattr_default_np(&usual));
	pthread_attr_destroy(&huge);
	pthread_attr_destroy(&usual);
}

/* ---- memory_image.h ---- */

enum { ARRAYS = 6, PARTS = 7, MIB = 1 << 20 };

static const size_t sizes[PARTS] = {
	0,	     1, MIB - 1, 7 * MIB + 12345, MIB, 23 * MIB + 1,
	5 * MIB + 3, /* the blob */
};

struct image {
	uint8_t *data[PARTS];
	struct plx_image_part list[PARTS];
	struct plx_parts parts;
	struct pollux_blob blob;
	uint8_t *base;
	size_t bytes;
};

static const struct plx_memory_image_facts facts = { .job = "a job" };

static void fill(struct image *m)
{
	uint64_t seed = 5;

	for (int i = 0; i < PARTS; i++) {
		for (size_t at = 0; at < sizes[i]; at++)
			m->data[i][at] = (uint8_t) unit_random(&seed);
	}
}

static void open_image(struct image *m)
{
	*m = (struct image){ .blob = { .name = "b",
				       .save = copied_blob_save,
				       .load = copied_blob_load } };
	for (int i = 0; i < PARTS; i++) {
		m->data[i] = malloc(sizes[i] + 1);
		m->list[i] = (struct plx_image_part){
			.data = i < ARRAYS ? m->data[i] : NULL,
			.bytes = sizes[i],
			.blob = i < ARRAYS ? NULL : &m->blob,
		};
	}
	m->blob.user = m->data[ARRAYS];
	m->parts = (struct plx_parts){ m->list, PARTS, ARRAYS, 0 };
	m->bytes = plx_memory_image_size(&m->parts);
	m->base = aligned_alloc(4096, (m->bytes | 4095) + 1);
	assert_non_null(m->base);
	fill(m);
}

static void close_image(struct image *m)
{
	for (int i = 0; i < PARTS; i++)
		free(m->data[i]);
	free(m->base);
}

static void write_image(struct image *m, int ranks, int threads)
{
	struct plx_error err = { .text = "" };

	memset(m->base, 0x5a, m->bytes);
	m->parts.threads = threads;
	plx_memory_image_lay(m->base, &m->parts, &facts);
	for (int i = 0; i < ranks; i++)
		assert_int_equal(0,
				 plx_memory_image_write(
					 m->base, &m->parts,
					 (struct plx_slice){ i, ranks }, &err));
	plx_memory_image_commit(m->base);
}

static int take(struct image *m, int rank, int ranks, struct plx_error *err)
{
	return plx_memory_image_take(m->base, &m->parts,
				     (struct plx_slice){ rank, ranks }, err);
}

static uint32_t sum_of(const struct image *m, int parts)
{
	uint32_t crc = 0;

	for (int i = 0; i < parts; i++)
		crc = plx_crc32c(crc, m->data[i], sizes[i]);
	return crc;
}

static void any_number_of_threads_writes_the_same_image(void **state)
{
	struct image m;
	uint8_t *one;

	(void) state;
	open_image(&m);
	write_image(&m, 1, 1);
	assert_int_equal(sum_of(&m, ARRAYS), plx_memory_image_crc(m.base));
	one = malloc(m.bytes);
	assert_non_null(one);
	memcpy(one, m.base, m.bytes);
	for (int ranks = 1; ranks <= 3; ranks++) {
		for (int threads = 0; threads <= 8; threads += 4) {
			write_image(&m, ranks, threads);
			assert_memory_equal(one, m.base, m.bytes);
		}
	}
	free(one);
	close_image(&m);
}

static void any_number_of_threads_takes_the_same_state(void **state)
{
	struct plx_error err = { .text = "" };
	struct image m;
	uint32_t want;

	(void) state;
	open_image(&m);
	want = sum_of(&m, PARTS);
	write_image(&m, 2, 8);
	for (int threads = 0; threads <= 8; threads += 4) {
		m.parts.threads = threads;
		for (int i = 0; i < PARTS; i++)
			memset(m.data[i], 0, sizes[i]);
		assert_int_equal(0, take(&m, 1, 2, &err));
		assert_int_equal(0,
				 plx_memory_image_load(m.base, &m.parts, &err));
		assert_int_equal(want, sum_of(&m, PARTS));
	}
	close_image(&m);
}

/* How many of so many ranks see that a byte is another. */
static int seen(struct image *m, int ranks)
{
	struct plx_error err = { .text = "" };
	int see = 0;

	for (int rank = 0; rank < ranks; rank++) {
		if (take(m, rank, ranks, &err) == 0)
			continue;
		assert_string_equal("state in memory was changed: a checksum "
				    "is wrong",
				    err.text);
		see++;
	}
	return see;
}

static void a_changed_byte_of_any_piece_is_seen_by_one_rank(void **state)
{
	struct image m;

	(void) state;
	open_image(&m);
	write_image(&m, 1, 8);
	m.parts.threads = 5;
	assert_int_equal(0, seen(&m, 3));
	for (int i = 0; i < PARTS; i++) {
		size_t bytes;
		const uint8_t *part = plx_memory_image_part(m.base, i, &bytes);
		uint8_t *at = m.base + (part - m.base);

		for (size_t from = 0; from < bytes; from += PLX_IMAGE_PIECE) {
			size_t left = bytes - from;
			size_t last =
				(left < PLX_IMAGE_PIECE ? left
							: PLX_IMAGE_PIECE) -
				1;

			at[from + last] ^= 0x10;
			assert_int_equal(1, seen(&m, 3));
			at[from + last] ^= 0x10;
		}
	}
	assert_int_equal(0, seen(&m, 3));
	close_image(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_piece_is_worked_on_once),
		cmocka_unit_test(one_thread_is_the_calling_one),
		cmocka_unit_test(other_threads_leave_signals_to_the_program),
		cmocka_unit_test(a_lane_that_fails_is_told),
		cmocka_unit_test(no_thread_outlives_the_call),
		cmocka_unit_test(without_threads_the_calling_one_does_it_all),
		cmocka_unit_test(any_number_of_threads_writes_the_same_image),
		cmocka_unit_test(any_number_of_threads_takes_the_same_state),
		cmocka_unit_test(
			a_changed_byte_of_any_piece_is_seen_by_one_rank),
	};

	return cmocka_run_group_tests_name("image_lanes", tests, NULL, NULL);
}
