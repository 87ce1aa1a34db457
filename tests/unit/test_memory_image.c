/* SPDX-License-Identifier: MIT */
/* test_memory_image.c - memory of a node, and how state lies in it */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/memory/memory_image.h"
#include "agent/memory/nodemem.h"
#include "core/base/crc.h"
#include "copied_blob.h"
#include "unit.h"
#include "wire/env.h"

enum {
	SMALL = 1000,
	LARGE = 5 * 1024 * 1024 + 17,
	BLOB = 3 * 1024 * 1024 + 1,
	PARTS = 4,
	ARRAYS = 2,
};

static uint8_t small[SMALL];
static uint8_t large[LARGE];
static uint8_t blob[BLOB];
static uint8_t own[8];

static const struct pollux_blob blob_is = {
	.name = "blob",
	.save = copied_blob_save,
	.load = copied_blob_load,
	.user = blob,
};

static const struct plx_image_part list[PARTS] = {
	{ .data = small, .bytes = SMALL, .kind = 1 },
	{ .data = large, .bytes = LARGE, .kind = 2 },
	{ .blob = &blob_is, .bytes = BLOB, .kind = 3 },
	{ .data = own, .bytes = sizeof(own), .kind = 4 },
};

static const struct plx_parts parts = {
	.list = list,
	.count = PARTS,
	.arrays = ARRAYS,
	.threads = 3,
};

static const struct plx_memory_image_facts facts = {
	.job = "some job",
	.generation = 7,
	.step = 1234,
};

static void fill(uint8_t *data, size_t size, uint64_t seed)
{
	for (size_t i = 0; i < size; i++)
		data[i] = unit_random(&seed);
}

static void fill_all(void)
{
	fill(small, SMALL, 1);
	fill(large, LARGE, 2);
	fill(blob, BLOB, 3);
	fill(own, sizeof(own), 4);
}

static void clear_all(void)
{
	memset(small, 0, SMALL);
	memset(large, 0, LARGE);
	memset(blob, 0, BLOB);
	memset(own, 0, sizeof(own));
}

static uint32_t crc_of_arrays(void)
{
	return plx_crc32c(plx_crc32c(0, small, SMALL), large, LARGE);
}

static struct plx_slice slice(int mine, int of)
{
	return (struct plx_slice){ .mine = mine, .of = of };
}

/* As three ranks would. */
static void write_all(void *base)
{
	struct plx_error err = { .text = "" };

	fill_all();
	plx_memory_image_lay(base, &parts, &facts);
	for (int i = 0; i < 3; i++)
		assert_int_equal(0, plx_memory_image_write(base, &parts,
							   slice(i, 3), &err));
	plx_memory_image_commit(base);
}

static int check(const void *base, struct plx_error *err)
{
	return plx_memory_image_check(base, plx_memory_image_size(&parts),
				      &parts, &facts, err);
}

static int read_all(const void *base, struct plx_error *err)
{
	if (plx_memory_image_take(base, &parts, slice(0, 1), err) < 0)
		return -1;
	return plx_memory_image_load(base, &parts, err);
}

static void *get_memory(void)
{
	void *base =
		aligned_alloc(4096, (plx_memory_image_size(&parts) | 4095) + 1);

	assert_non_null(base);
	memset(base, 0xa5, plx_memory_image_size(&parts));
	return base;
}

/* ---- memory_image.h ---- */

static void what_is_written_is_read_by_any_number_of_ranks(void **state)
{
	void *base = get_memory();
	struct plx_error err = { .text = "" };
	uint32_t before;
	uint32_t blob_before;

	(void) state;
	write_all(base);
	before = crc_of_arrays();
	blob_before = plx_crc32c(0, blob, BLOB);
	assert_int_equal(0, check(base, &err));
	for (int i = 0; i < 5; i++) {
		clear_all();
		assert_int_equal(0, plx_memory_image_take(base, &parts,
							  slice(i, 5), &err));
		assert_int_equal(before, crc_of_arrays());
	}
	assert_int_equal(0, plx_memory_image_load(base, &parts, &err));
	assert_int_equal(blob_before, plx_crc32c(0, blob, BLOB));
	assert_int_equal(before, plx_memory_image_crc(base));
	assert_int_equal(SMALL + LARGE, plx_memory_image_bytes(base));
	assert_int_equal(1234, plx_memory_image_step(base));
	free(base);
}

static void what_is_not_committed_is_not_believed(void **state)
{
	void *base = get_memory();
	struct plx_error err = { .text = "" };

	(void) state;
	assert_int_equal(-1, check(base, &err));
	plx_memory_image_lay(base, &parts, &facts);
	assert_int_equal(-1, check(base, &err));
	plx_memory_image_write(base, &parts, slice(0, 1), &err);
	assert_int_equal(-1, check(base, &err));
	assert_string_equal("no state in this node's memory", err.text);
	plx_memory_image_commit(base);
	assert_int_equal(0, check(base, &err));
	plx_memory_image_clear(base);
	assert_int_equal(-1, check(base, &err));
	free(base);
}

static void a_flipped_bit_shows_wherever_it_is(void **state)
{
	uint8_t *base = get_memory();
	struct plx_error err = { .text = "" };
	size_t at;

	(void) state;
	write_all(base);
	/* The word itself only says whether there is anything. */
	for (size_t i = 4; i < 260; i++) {
		base[i] ^= 4;
		assert_int_equal(-1, check(base, &err));
		base[i] ^= 4;
	}
	for (int i = 0; i < PARTS; i++) {
		size_t bytes;
		const uint8_t *p = plx_memory_image_part(base, i, &bytes);

		at = (size_t) (p - base) + bytes - 1;
		base[at] ^= 1;
		assert_int_equal(0, check(base, &err));
		assert_int_equal(-1, read_all(base, &err));
		base[at] ^= 1;
	}
	assert_int_equal(0, read_all(base, &err));
	free(base);
}

static void another_program_or_job_is_refused(void **state)
{
	struct plx_image_part other[PARTS];
	struct plx_parts others = { other, PARTS, ARRAYS, 1 };
	struct plx_memory_image_facts want = facts;
	size_t capacity = plx_memory_image_size(&parts);
	void *base = get_memory();
	struct plx_error err = { .text = "" };

	(void) state;
	write_all(base);
	memcpy(other, list, sizeof(other));
	other[1].kind = 99;
	assert_int_equal(-1, plx_memory_image_check(base, capacity, &others,
						    &facts, &err));
	assert_string_equal("state in memory is another program's: its part 1 "
			    "differs",
			    err.text);
	others.count = PARTS - 1;
	assert_int_equal(-1, plx_memory_image_check(base, capacity, &others,
						    &facts, &err));
	want.generation = 8;
	assert_int_equal(-1, plx_memory_image_check(base, capacity, &parts,
						    &want, &err));
	assert_string_equal("state in memory is of generation 7, want 8",
			    err.text);
	want.generation = 0;
	assert_int_equal(0, plx_memory_image_check(base, capacity, &parts,
						   &want, &err));
	want.job[0] = 'X';
	assert_int_equal(-1, plx_memory_image_check(base, capacity, &parts,
						    &want, &err));
	/* Cut short. */
	assert_int_equal(-1, plx_memory_image_check(base, 20, &parts, &facts,
						    &err));
	assert_int_equal(-1, plx_memory_image_check(base, capacity - 4096,
						    &parts, &facts, &err));
	free(base);
}

/* ---- nodemem.h ---- */

static void name_of_test(char name[PLX_NODEMEM_NAME])
{
	char job[32];

	snprintf(job, sizeof(job), "test %d", (int) getpid());
	setenv(PLX_ENV_KEY, "0123456789abcdef0123456789abcdef", 1);
	assert_int_equal(0, plx_nodemem_name(name, job, 1, NULL));
}

/* What another process finds under this name: its exit code. */
static int other_process(const char *name, int (*look)(struct plx_nodemem *))
{
	struct plx_error err = { .text = "" };
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		struct plx_nodemem *mem = plx_nodemem_open(name, &err);

		_exit(mem ? look(mem) : 99);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int sees_and_answers(struct plx_nodemem *mem)
{
	char *base = plx_nodemem_base(mem);

	if (strcmp(base, "hello") != 0 || plx_nodemem_bytes(mem) < 100000)
		return 1;
	strcpy(base, "answer");
	return 0;
}

static void another_process_finds_it_by_name_until_it_is_gone(void **state)
{
	char name[PLX_NODEMEM_NAME];
	struct plx_error err = { .text = "" };
	struct plx_nodemem *mem;

	(void) state;
	name_of_test(name);
	assert_int_equal(99, other_process(name, sees_and_answers));
	mem = plx_nodemem_create(name, 100000, &err);
	assert_non_null(mem);
	assert_int_equal(0, plx_nodemem_ready(mem, &err));
	strcpy(plx_nodemem_base(mem), "hello");
	assert_int_equal(0, other_process(name, sees_and_answers));
	assert_string_equal("answer", plx_nodemem_base(mem));
	plx_nodemem_destroy(mem);
	assert_int_equal(99, other_process(name, sees_and_answers));
}

static void it_grows_and_others_follow(void **state)
{
	char name[PLX_NODEMEM_NAME];
	struct plx_error err = { .text = "" };
	struct plx_nodemem *mem;
	struct plx_nodemem *seen;

	(void) state;
	name_of_test(name);
	mem = plx_nodemem_create(name, 5000, &err);
	assert_non_null(mem);
	assert_int_equal(0, plx_nodemem_ready(mem, &err));
	seen = plx_nodemem_open(name, &err);
	assert_non_null(seen);
	strcpy(plx_nodemem_base(mem), "before");
	assert_int_equal(0, plx_nodemem_grow(mem, 70000, &err));
	assert_string_equal("before", plx_nodemem_base(mem));
	strcpy(plx_nodemem_base(mem) + 69000, "after");
	assert_int_equal(0, plx_nodemem_follow(seen, &err));
	assert_true(plx_nodemem_bytes(seen) >= 70000);
	assert_string_equal("after", plx_nodemem_base(seen) + 69000);
	plx_nodemem_destroy(seen);
	plx_nodemem_destroy(mem);
}

static void what_is_not_to_be_had_is_said_not_suffered(void **state)
{
	char name[PLX_NODEMEM_NAME];
	struct plx_error err = { .text = "" };
	struct plx_nodemem *mem;

	(void) state;
	name_of_test(name);
	/* More than any machine has. */
	mem = plx_nodemem_create(name, (size_t) 1 << 60, &err);
	assert_non_null(mem);
	assert_int_equal(-1, plx_nodemem_ready(mem, &err));
	assert_non_null(strstr(err.text, "no memory for"));
	plx_nodemem_destroy(mem);
}

static void memory_that_could_shrink_is_not_mapped(void **state)
{
	struct plx_error err = { .text = "" };
	char path[64];
	int fd = memfd_create("test", MFD_ALLOW_SEALING);

	(void) state;
	assert_int_equal(0, ftruncate(fd, 5000));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_null(plx_nodemem_open_path(path, &err));
	assert_string_equal("not memory that this user shares", err.text);
	close(fd);
	assert_null(plx_nodemem_open_path(path, &err));
	assert_null(plx_nodemem_open_path("/etc/hostname", &err));
}

static void long_names_fit_and_differ(void **state)
{
	char job[200];
	char a[PLX_NODEMEM_NAME];
	char b[PLX_NODEMEM_NAME];

	(void) state;
	memset(job, 'x', sizeof(job) - 1);
	job[sizeof(job) - 1] = '\0';
	assert_int_equal(0, plx_nodemem_name(a, job, 1, NULL));
	assert_int_equal(0, plx_nodemem_name(b, job, 2, NULL));
	assert_true(strlen(a) < sizeof(a) - 1);
	assert_string_not_equal(a, b);
}

/* ---- waiting ---- */

static void waiting_ends_with_the_word_or_in_time(void **state)
{
	void *base =
		mmap(NULL, (plx_memory_image_size(&parts) | 4095) + 1,
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = -1;
	pid_t pid;

	(void) state;
	assert_false(plx_memory_image_wait(base, PLX_MEMORY_IMAGE_GOOD, 0.01));
	pid = fork();
	if (pid == 0)
		_exit(!plx_memory_image_wait(base, PLX_MEMORY_IMAGE_GOOD, 20));
	write_all(base);
	waitpid(pid, &status, 0);
	assert_int_equal(0, status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_is_written_is_read_by_any_number_of_ranks),
		cmocka_unit_test(what_is_not_committed_is_not_believed),
		cmocka_unit_test(a_flipped_bit_shows_wherever_it_is),
		cmocka_unit_test(another_program_or_job_is_refused),
		cmocka_unit_test(
			another_process_finds_it_by_name_until_it_is_gone),
		cmocka_unit_test(it_grows_and_others_follow),
		cmocka_unit_test(what_is_not_to_be_had_is_said_not_suffered),
		cmocka_unit_test(memory_that_could_shrink_is_not_mapped),
		cmocka_unit_test(long_names_fit_and_differ),
		cmocka_unit_test(waiting_ends_with_the_word_or_in_time),
	};

	return cmocka_run_group_tests_name("memory_image", tests, NULL, NULL);
}
