/* SPDX-License-Identifier: MIT */
/* test_save.c - what was saved comes back, however it was saved */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/state/ckpt_write.h"
#include "agent/state/save.h"
#include "agent/state/store.h"
#include "save_world.h"
#include "unit.h"

static void comes_back(struct world *w, enum plx_save_kind kind)
{
	struct pollux *p = world_run(w);
	uint32_t crc;

	world_step(w, p, 7);
	crc = pollux_crc(p);
	assert_int_equal(0, plx_save(p, kind));
	/* From now on the state may change: what was saved must not. */
	memset(w->weights, 0, sizeof(w->weights));
	memset(w->counter, 0, sizeof(w->counter));
	strcpy(w->note, "another");
	assert_int_equal(0, plx_save_wait(p));
	assert_int_equal(crc, p->saved.crc);
	pollux_destroy(p);

	p = world_run(w);
	world_assert_step(w, p, 7);
	assert_int_equal(crc, pollux_crc(p));
	assert_string_equal("disk", p->restored_from);
	pollux_destroy(p);
}

static void a_flushed_save_comes_back(void **state)
{
	comes_back(*state, PLX_SAVE_FLUSHED);
}

static void a_quick_save_comes_back(void **state)
{
	comes_back(*state, PLX_SAVE_QUICK);
}

static void a_save_in_the_background_comes_back(void **state)
{
	comes_back(*state, PLX_SAVE_ASYNC);
}

static void memory_for_the_copy_is_got_ahead(void **state)
{
	struct world *w = *state;
	struct pollux *p = world_run(w);
	const unsigned char *image;

	for (uint64_t step = 1; step <= 6; step++)
		world_step(w, p, step);
	image = p->store->image;
	assert_non_null(image);
	assert_int_equal(0, plx_save(p, PLX_SAVE_ASYNC));
	assert_int_equal(0, plx_save_wait(p));
	assert_ptr_equal(image, p->store->image);
	pollux_destroy(p);
	p = world_run(w);
	world_assert_step(w, p, 6);
	pollux_destroy(p);
}

static void a_fresh_start_has_nothing_to_restore(void **state)
{
	struct pollux *p = world_run(*state);

	assert_false(p->restored);
	assert_string_equal("none", p->restored_from);
	pollux_destroy(p);
}

static void a_blob_may_change_its_size(void **state)
{
	struct world *w = *state;
	struct pollux *p = world_run(w);

	world_step(w, p, 1);
	assert_int_equal(0, plx_save(p, PLX_SAVE_QUICK));
	world_step(w, p, 1000);
	w->note[0] = '\0';
	assert_int_equal(0, plx_save(p, PLX_SAVE_QUICK));
	pollux_destroy(p);
	strcpy(w->note, "something");
	p = world_run(w);
	assert_string_equal("", w->note);
	pollux_destroy(p);
}

static void two_are_kept_and_the_one_on_disk(void **state)
{
	struct world *w = *state;
	struct pollux *p = world_run(w);
	uint64_t steps[9];

	for (uint64_t step = 1; step <= 5; step++) {
		world_step(w, p, step);
		assert_int_equal(0, plx_save(p, step == 2 ? PLX_SAVE_FLUSHED
							  : PLX_SAVE_QUICK));
	}
	assert_int_equal(3, world_steps(w, steps, 9));
	assert_int_equal(5, steps[0]);
	assert_int_equal(4, steps[1]);
	assert_int_equal(2, steps[2]);
	pollux_destroy(p);
}

/* Neither after a save of this process nor when it has restored that. */
static void a_state_that_is_there_is_not_written_again(void **state)
{
	struct world *w = *state;
	struct pollux *p;
	struct stat before;
	struct stat after;

	world_save_two(w);
	assert_int_equal(0, stat(world_path(w, "step-000000000002"), &before));
	p = world_run(w);
	assert_int_equal(0, plx_save(p, PLX_SAVE_QUICK));
	assert_int_equal(0, plx_save(p, PLX_SAVE_FLUSHED));
	assert_int_equal(2, p->flushed);
	pollux_destroy(p);
	assert_int_equal(0, stat(world_path(w, "step-000000000002"), &after));
	assert_int_equal(before.st_ino, after.st_ino);
}

static void a_save_is_due_after_the_interval_and_not_before(void **state)
{
	struct world *w = *state;
	struct pollux *p = world_run(w);

	p->config.checkpoint_every_s = 0;
	assert_false(plx_save_due(p));
	p->config.checkpoint_every_s = 1000;
	assert_false(plx_save_due(p));
	p->config.checkpoint_every_s = 1e-9;
	assert_true(plx_save_due(p));
	world_step(w, p, 1);
	assert_int_equal(0, plx_save(p, PLX_SAVE_FLUSHED));
	p->config.checkpoint_every_s = 1000;
	assert_false(plx_save_due(p));
	/* Half an hour has gone by: more than enough for so small a state. */
	p->config.checkpoint_every_s = -1;
	assert_false(plx_save_due(p));
	p->meter.flushed_s -= 1800;
	assert_true(plx_save_due(p));
	pollux_destroy(p);
}

/* ---- several ranks ---- */

#define RANKS 3
#define LARGE (PLX_SHARD_MIN * RANKS + 4096)

static unsigned char *large(void)
{
	unsigned char *bytes = malloc(LARGE);
	uint64_t x = 1;

	assert_non_null(bytes);
	for (size_t i = 0; i < LARGE; i += 8) {
		uint64_t word = unit_random(&x) << 32 | unit_random(&x);

		memcpy(bytes + i, &word, 8);
	}
	return bytes;
}

static struct pollux *large_run(struct world *w, unsigned char *bytes)
{
	struct pollux_config config;
	const struct pollux_tensor tensors[] = {
		{ .name = "small",
		  .data = w->weights,
		  .type = POLLUX_F32,
		  .dims = 1,
		  .shape = { WORLD_WEIGHTS } },
		{ .name = "large",
		  .data = bytes,
		  .type = POLLUX_U8,
		  .dims = 2,
		  .shape = { LARGE / 64, 64 } },
	};
	struct pollux *p;

	pollux_config_init(&config);
	config.samples = 10;
	config.collectives = "self";
	config.checkpoint_dir = w->dir;
	config.quiet = true;
	p = pollux_create(&config);
	assert_non_null(p);
	for (size_t i = 0; i < ARRAY_SIZE(tensors); i++)
		assert_int_equal(0, pollux_register(p, &tensors[i]));
	assert_int_equal(0, pollux_start(p));
	return p;
}

static void what_many_ranks_wrote_comes_back_on_one(void **state)
{
	struct world *w = *state;
	unsigned char *bytes = large();
	unsigned char *again = malloc(LARGE);
	struct pollux *p = large_run(w, bytes);
	struct plx_ckpt_write jobs[RANKS];
	struct plx_report reports[RANKS];
	struct plx_facts facts;
	struct plx_error err = { .text = "" };
	struct stat st;

	p->cursor.step = 5;
	facts = plx_store_facts(p, &p->cursor, true);
	for (int r = 0; r < RANKS; r++) {
		const struct plx_ckpt_order who = plx_store_order(
			p, (struct plx_writer_rank){ r, RANKS });

		assert_int_equal(0, plx_job_init(&jobs[r], &p->registered, &who,
						 &facts, &p->profile));
		strcpy(jobs[r].tag, "g0.1-00000001");
		jobs[r].flush = true;
		plx_job_write(&jobs[r]);
		reports[r] = jobs[r].report;
		assert_int_equal(0, reports[r].rc);
		/* Fair shares. */
		assert_true(reports[r].bytes < LARGE / RANKS * 5 / 4);
	}
	if (plx_job_commit(&jobs[0], reports, &p->store->fence, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(pollux_crc(p), jobs[0].facts.crc);
	assert_int_equal(0,
			 stat(world_path(w, "step-000000000005/"
					    "model-00003-of-00003.safetensors"),
			      &st));
	for (int r = 0; r < RANKS; r++)
		plx_job_release(&jobs[r]);
	pollux_destroy(p);

	p = large_run(w, again);
	assert_int_equal(5, p->cursor.step);
	assert_memory_equal(bytes, again, LARGE);
	pollux_destroy(p);
	free(bytes);
	free(again);
}

/* ---- a full disk ---- */

/* p cannot save now; its last checkpoint stays, and later it can. */
static void assert_saves_later(struct world *w, struct pollux *p,
			       enum plx_save_kind kind,
			       void (*more_room)(struct world *))
{
	uint64_t steps[9];
	int rc;

	world_step(w, p, 2);
	rc = plx_save(p, kind);
	assert_int_equal(0, plx_save_wait(p));
	assert_int_equal(kind == PLX_SAVE_ASYNC ? 0 : PLX_SAVE_LATER, rc);
	assert_int_equal(1, world_steps(w, steps, 9));
	assert_int_equal(1, steps[0]);
	/* It asks again, but not at once. */
	p->config.checkpoint_every_s = 1000;
	assert_false(plx_save_due(p));
	p->store->tried_s -= 31;
	assert_true(plx_save_due(p));
	more_room(w);
	assert_int_equal(0, plx_save(p, kind));
	assert_int_equal(0, plx_save_wait(p));
	assert_int_equal(2, world_steps(w, steps, 9));
	assert_int_equal(2, steps[0]);
}

static struct rlimit unlimited;

static void lift_limit(struct world *w)
{
	(void) w;
	assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &unlimited));
}

static void stays_when_it_cannot_write(struct world *w, enum plx_save_kind kind)
{
	struct pollux *p = world_run(w);
	struct rlimit tight;

	world_step(w, p, 1);
	assert_int_equal(0, plx_save(p, PLX_SAVE_FLUSHED));
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(0, getrlimit(RLIMIT_FSIZE, &unlimited));
	tight = unlimited;
	tight.rlim_cur = 5000;
	assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &tight));
	assert_saves_later(w, p, kind, lift_limit);
	pollux_destroy(p);
	p = world_run(w);
	world_assert_step(w, p, 2);
	pollux_destroy(p);
}

static void a_failed_write_leaves_the_last_good_one(void **state)
{
	stays_when_it_cannot_write(*state, PLX_SAVE_FLUSHED);
}

static void so_it_does_in_the_background(void **state)
{
	stays_when_it_cannot_write(*state, PLX_SAVE_ASYNC);
}

static void remove_filler(struct world *w)
{
	assert_int_equal(0, unlink(world_path(w, "filler")));
}

static void fill_up(struct world *w)
{
	int fd = open(world_path(w, "filler"), O_WRONLY | O_CREAT, 0600);
	char page[4096] = { 0 };

	assert_true(fd >= 0);
	while (write(fd, page, sizeof(page)) > 0)
		;
	close(fd);
}

static void a_full_disk_leaves_the_last_good_one(void **state)
{
	struct world *w = *state;
	struct pollux *p;

	if (mount("none", w->dir, "tmpfs", 0, "size=1m") < 0)
		skip(); /* not root, or in a container */
	p = world_run(w);
	world_step(w, p, 1);
	assert_int_equal(0, plx_save(p, PLX_SAVE_FLUSHED));
	fill_up(w);
	assert_saves_later(w, p, PLX_SAVE_FLUSHED, remove_filler);
	pollux_destroy(p);
	assert_int_equal(0, umount2(w->dir, MNT_DETACH));
}

#define IN_WORLD(test)                                                         \
	cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(a_flushed_save_comes_back),
		IN_WORLD(a_quick_save_comes_back),
		IN_WORLD(a_save_in_the_background_comes_back),
		IN_WORLD(memory_for_the_copy_is_got_ahead),
		IN_WORLD(a_fresh_start_has_nothing_to_restore),
		IN_WORLD(a_blob_may_change_its_size),
		IN_WORLD(two_are_kept_and_the_one_on_disk),
		IN_WORLD(a_state_that_is_there_is_not_written_again),
		IN_WORLD(a_save_is_due_after_the_interval_and_not_before),
		IN_WORLD(what_many_ranks_wrote_comes_back_on_one),
		IN_WORLD(a_failed_write_leaves_the_last_good_one),
		IN_WORLD(so_it_does_in_the_background),
		IN_WORLD(a_full_disk_leaves_the_last_good_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
