/* SPDX-License-Identifier: MIT */
/* test_restore.c - what is broken or another's is never gone on from */

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/state/save.h"
#include "save_world.h"
#include "unit.h"

#define STEP1  "step-000000000001"
#define STEP2  "step-000000000002"
#define BROKEN STEP2 ".broken"
#define FILES  2
#define SPOTS  150 /* places tried in each file */

static const char *const files[FILES] = {
	STEP2 "/model-00001-of-00001.safetensors",
	STEP2 "/model.safetensors.index.json",
};

static size_t file_size(const char *path)
{
	struct stat st;

	assert_int_equal(0, stat(path, &st));
	return (size_t) st.st_size;
}

/* It goes on from step 1, and step 2 was set aside: put it back. */
static void assert_passed_over(struct world *w)
{
	struct pollux *p = world_run(w);

	world_assert_step(w, p, 1);
	pollux_destroy(p);
	assert_int_equal(-1, access(world_path(w, STEP2), F_OK));
	assert_int_equal(0,
			 rename(world_path(w, BROKEN), world_path(w, STEP2)));
}

static void flip(const char *path, size_t bit)
{
	int fd = open(path, O_RDWR);
	unsigned char byte;

	assert_true(fd >= 0);
	assert_int_equal(1, pread(fd, &byte, 1, (off_t) (bit / 8)));
	byte = (unsigned char) (byte ^ 1u << bit % 8);
	assert_int_equal(1, pwrite(fd, &byte, 1, (off_t) (bit / 8)));
	close(fd);
}

/* All through the file, and each bit near its ends. */
static size_t spot(size_t size, int i)
{
	size_t bits = 8 * size;

	if (i < 40)
		return (size_t) i;
	if (i < 80)
		return bits - 1 - (size_t) (i - 40);
	return (size_t) (i - 80) * (bits / (SPOTS - 80)) + (size_t) i % 8;
}

static void one_flipped_bit_is_found_and_the_one_before_used(void **state)
{
	struct world *w = *state;

	world_save_two(w);
	for (int f = 0; f < FILES; f++) {
		size_t size = file_size(world_path(w, files[f]));

		for (int i = 0; i < SPOTS; i++) {
			flip(world_path(w, files[f]), spot(size, i));
			assert_passed_over(w);
			flip(world_path(w, files[f]), spot(size, i));
		}
	}
	pollux_destroy(world_run(w));
	assert_int_equal(0, access(world_path(w, STEP2), F_OK));
}

static char *read_all(const char *path, size_t size)
{
	FILE *in = fopen(path, "rb");
	char *bytes = malloc(size);

	assert_non_null(in);
	assert_non_null(bytes);
	assert_int_equal(size, fread(bytes, 1, size, in));
	fclose(in);
	return bytes;
}

static void write_all(const char *path, const char *bytes, size_t size)
{
	FILE *out = fopen(path, "wb");

	assert_non_null(out);
	assert_int_equal(size, fwrite(bytes, 1, size, out));
	fclose(out);
}

static void so_is_a_file_cut_anywhere_or_gone(void **state)
{
	struct world *w = *state;

	world_save_two(w);
	for (int f = 0; f < FILES; f++) {
		size_t size = file_size(world_path(w, files[f]));
		char *bytes = read_all(world_path(w, files[f]), size);

		for (int i = 0; i < 60; i++) {
			size_t cut = i < 10   ? (size_t) i
				     : i < 30 ? size - (size_t) i + 9
					      : (size_t) (i - 30) * (size / 30);

			assert_int_equal(0, truncate(world_path(w, files[f]),
						     (off_t) cut));
			assert_passed_over(w);
		}
		assert_int_equal(0, unlink(world_path(w, files[f])));
		assert_passed_over(w);
		write_all(world_path(w, files[f]), bytes, size);
		free(bytes);
	}
}

static void so_is_a_file_with_something_behind_it(void **state)
{
	struct world *w = *state;

	world_save_two(w);
	for (int f = 0; f < FILES; f++) {
		size_t size = file_size(world_path(w, files[f]));
		char *bytes = read_all(world_path(w, files[f]), size);
		FILE *out = fopen(world_path(w, files[f]), "ab");

		assert_non_null(out);
		fputc(0, out);
		fclose(out);
		assert_passed_over(w);
		write_all(world_path(w, files[f]), bytes, size);
		free(bytes);
	}
}

static void assert_refused(struct world *w, const char *why)
{
	struct plx_error err = { .text = "" };

	assert_null(world_start(w, &err));
	if (!strstr(err.text, why))
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

/* Neither at once nor when it is tried again. */
static void if_all_are_broken_it_does_not_begin_anew(void **state)
{
	struct world *w = *state;

	world_save_two(w);
	flip(world_path(w, files[0]), 50000);
	flip(world_path(w, STEP1 "/model.safetensors.index.json"), 5);
	for (int i = 0; i < 3; i++)
		assert_refused(w, "are broken");
	assert_int_equal(0, access(world_path(w, STEP1), F_OK));
	assert_int_equal(0, access(world_path(w, STEP2), F_OK));
}

static void a_checkpoint_of_another_training_ends_it(void **state)
{
	struct world *w = *state;
	struct world same = *w;
	struct pollux *p;

	world_save_two(w);
	w->samples = 1001;
	assert_refused(w, "its dataset had 1000 samples, this one has 1001");
	*w = same;
	w->seed = 4;
	assert_refused(w, "its seed was 18446744073709551614, not 4");
	*w = same;
	w->rows = 3;
	assert_refused(w, "tensor \"layer0.weight\" has another type or shape");
	*w = same;
	w->no_counter = true;
	assert_refused(w, "its tensor \"counter\" is not registered here");
	*w = same;
	w->more = "layer1.weight";
	assert_refused(w, "it has no tensor \"layer1.weight\"");
	*w = same;
	w->no_blob = true;
	assert_refused(w, "its blob \"note\" is not registered here");
	/* Nothing was touched by all that. */
	*w = same;
	p = world_run(w);
	world_assert_step(w, p, 2);
	pollux_destroy(p);
}

static void leftovers_of_a_save_cut_short_are_removed(void **state)
{
	struct world *w = *state;

	world_save_two(w);
	assert_int_equal(0, mkdir(world_path(w, STEP2 ".g0.9-0badbeef.tmp"),
				  0700));
	pollux_destroy(world_run(w));
	assert_int_equal(-1, access(world_path(w, STEP2 ".g0.9-0badbeef.tmp"),
				    F_OK));
}

#define IN_WORLD(test)                                                         \
	cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(one_flipped_bit_is_found_and_the_one_before_used),
		IN_WORLD(so_is_a_file_cut_anywhere_or_gone),
		IN_WORLD(so_is_a_file_with_something_behind_it),
		IN_WORLD(if_all_are_broken_it_does_not_begin_anew),
		IN_WORLD(a_checkpoint_of_another_training_ends_it),
		IN_WORLD(leftovers_of_a_save_cut_short_are_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
