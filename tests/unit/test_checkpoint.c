/* SPDX-License-Identifier: MIT */
/* test_checkpoint.c - what was saved as "pollux-1" comes back, or is refused */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "old_checkpoint.h"
#include "unit.h"

struct place {
	char dir[64];
	char path[128];
};

static float weights[6] = { 1, -2, 3.5f, 0, 1e-30f, -7 };
static uint8_t counter[3] = { 1, 2, 255 };

static const struct plx_tensor tensors[] = {
	{ .name = "layer0.weight",
	  .dtype = "F32",
	  .dims = 2,
	  .shape = { 2, 3 },
	  .data = weights,
	  .bytes = sizeof(weights) },
	{ .name = "counter",
	  .dtype = "U8",
	  .dims = 1,
	  .shape = { 3 },
	  .data = counter,
	  .bytes = sizeof(counter) },
};

#define NAME "state.safetensors"

static const struct plx_note notes[] = {
	{ "step", "12" },
	{ "quote", "say \"hello\"" },
};

static const struct plx_saved saved = {
	.tensors = tensors,
	.tensor_count = ARRAY_SIZE(tensors),
	.notes = notes,
	.note_count = ARRAY_SIZE(notes),
};

static int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	struct plx_error err;

	assert_non_null(p);
	strcpy(p->dir, "/tmp/pollux-checkpoint.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/" NAME, p->dir);
	assert_int_equal(0, plx_checkpoint_write(p->path, &saved, true, &err));
	*state = p;
	return 0;
}

static int place_teardown(void **state)
{
	struct place *p = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", p->dir);
	assert_int_equal(0, system(command));
	free(p);
	return 0;
}

static size_t file_size(const char *path)
{
	struct stat st;

	assert_int_equal(0, stat(path, &st));
	return (size_t) st.st_size;
}

static void what_was_saved_comes_back(void **state)
{
	struct place *p = *state;
	struct plx_checkpoint *c;
	struct plx_error err;
	float read[6];
	struct plx_tensor want = tensors[0];

	c = plx_checkpoint_read(p->dir, NAME, &err);
	assert_non_null(c);
	want.data = read;
	assert_int_equal(0, plx_checkpoint_has(c, &want, &err));
	assert_int_equal(0, plx_checkpoint_fill(c, &want, &err));
	assert_memory_equal(weights, read, sizeof(weights));
	assert_string_equal("12", plx_checkpoint_note(c, "step"));
	assert_string_equal("say \"hello\"", plx_checkpoint_note(c, "quote"));
	assert_null(plx_checkpoint_note(c, "none"));
	plx_checkpoint_destroy(c);
}

static void another_shape_type_or_name_is_not_taken_for_it(void **state)
{
	struct place *p = *state;
	struct plx_checkpoint *c;
	struct plx_error err;
	struct plx_tensor want = tensors[0];

	c = plx_checkpoint_read(p->dir, NAME, &err);
	assert_non_null(c);
	want.shape[0] = 3;
	want.shape[1] = 2;
	assert_int_equal(-1, plx_checkpoint_has(c, &want, &err));
	want = tensors[0];
	want.dtype = "I32";
	assert_int_equal(-1, plx_checkpoint_has(c, &want, &err));
	want = tensors[0];
	strcpy(want.name, "layer1.weight");
	assert_int_equal(-1, plx_checkpoint_has(c, &want, &err));
	assert_string_equal("it has no tensor \"layer1.weight\"", err.text);
	plx_checkpoint_destroy(c);
}

/* The layout promised to other readers: length, JSON, tensors in a row. */
static void the_file_is_laid_out_as_safetensors(void **state)
{
	struct place *p = *state;
	unsigned char bytes[4096];
	FILE *file = fopen(p->path, "rb");
	size_t size;
	uint64_t length = 0;

	assert_non_null(file);
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	for (int i = 7; i >= 0; i--)
		length = length << 8 | bytes[i];
	assert_int_equal('{', bytes[8]);
	assert_int_equal(0, (8 + length) % 8);
	assert_int_equal(size,
			 8 + length + sizeof(weights) + sizeof(counter) + 8);
	assert_memory_equal(bytes + 8 + length, weights, sizeof(weights));
}

static void one_flipped_bit_anywhere_is_found(void **state)
{
	struct place *p = *state;
	size_t size = file_size(p->path);
	int fd = open(p->path, O_RDWR);

	assert_true(fd >= 0);
	for (size_t i = 0; i < 8 * size; i++) {
		struct plx_error err = { .text = "" };
		unsigned char byte;
		unsigned char flipped;

		assert_int_equal(1, pread(fd, &byte, 1, (off_t) i / 8));
		flipped = (unsigned char) (byte ^ (1u << i % 8));
		assert_int_equal(1, pwrite(fd, &flipped, 1, (off_t) i / 8));
		assert_null(plx_checkpoint_read(p->dir, NAME, &err));
		assert_true(err.text[0]);
		assert_int_equal(1, pwrite(fd, &byte, 1, (off_t) i / 8));
	}
	close(fd);
}

static void a_file_cut_anywhere_is_refused(void **state)
{
	struct place *p = *state;
	size_t size = file_size(p->path);

	while (size > 0) {
		struct plx_error err;

		size--;
		assert_int_equal(0, truncate(p->path, (off_t) size));
		assert_null(plx_checkpoint_read(p->dir, NAME, &err));
	}
}

static void a_longer_file_is_refused(void **state)
{
	struct place *p = *state;
	struct plx_error err;
	FILE *file = fopen(p->path, "ab");

	assert_non_null(file);
	fputc(0, file);
	fclose(file);
	assert_null(plx_checkpoint_read(p->dir, NAME, &err));
}

static void a_missing_file_is_refused_in_a_sentence(void **state)
{
	struct plx_error err;

	(void) state;
	assert_null(plx_checkpoint_read("/nowhere", "at", &err));
	assert_string_equal("cannot look into /nowhere: No such file or "
			    "directory",
			    err.text);
}

static void two_tensors_of_one_name_are_not_written(void **state)
{
	struct place *p = *state;
	const struct plx_tensor twice[] = { tensors[0], tensors[0] };
	const struct plx_saved bad = { .tensors = twice, .tensor_count = 2 };
	struct plx_error err;
	char path[160];

	snprintf(path, sizeof(path), "%s/bad", p->dir);
	assert_int_equal(-1, plx_checkpoint_write(path, &bad, false, &err));
	assert_int_equal(-1, access(path, F_OK));
}

static void a_save_that_fails_leaves_the_old_file(void **state)
{
	struct place *p = *state;
	struct plx_checkpoint *c;
	struct plx_error err;
	char tmp[160];

	/* A folder in the way of the temporary file. */
	snprintf(tmp, sizeof(tmp), "%s.tmp", p->path);
	assert_int_equal(0, mkdir(tmp, 0700));
	assert_int_equal(-1,
			 plx_checkpoint_write(p->path, &saved, false, &err));
	c = plx_checkpoint_read(p->dir, NAME, &err);
	assert_non_null(c);
	plx_checkpoint_destroy(c);
}

#define IN_PLACE(test)                                                         \
	cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(what_was_saved_comes_back),
		IN_PLACE(another_shape_type_or_name_is_not_taken_for_it),
		IN_PLACE(the_file_is_laid_out_as_safetensors),
		IN_PLACE(one_flipped_bit_anywhere_is_found),
		IN_PLACE(a_file_cut_anywhere_is_refused),
		IN_PLACE(a_longer_file_is_refused),
		cmocka_unit_test(a_missing_file_is_refused_in_a_sentence),
		IN_PLACE(two_tensors_of_one_name_are_not_written),
		IN_PLACE(a_save_that_fails_leaves_the_old_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
