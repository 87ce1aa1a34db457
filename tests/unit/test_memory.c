/* SPDX-License-Identifier: MIT */
/* test_memory.c - is there memory for a second generation beside the first? */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/loop/host_memory.h"
#include "wire/free_memory.h"
#include "unit.h"

#define MIB ((uint64_t) 1 << 20)

static char root[] = "/tmp/plx-memory-XXXXXX";

/* A file below root, and the folders above it. */
static void put(const char *path, const char *text, size_t size)
{
	char full[512];
	FILE *out;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(full, 0777);
		*at = '/';
	}
	out = fopen(full, "w");
	assert_non_null(out);
	assert_int_equal(size, fwrite(text, 1, size, out));
	fclose(out);
}

static void put_text(const char *path, const char *text)
{
	put(path, text, strlen(text));
}

static int set_up(void **state)
{
	(void) state;
	strcpy(root + strlen(root) - 6, "XXXXXX");
	if (!mkdtemp(root))
		return -1;
	put_text("/proc/meminfo", "MemTotal:       1048576 kB\n"
				  "MemFree:          10240 kB\n"
				  "MemAvailable:    524288 kB\n");
	return 0;
}

static int tear_down(void **state)
{
	char command[64];

	(void) state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void a_machine_alone_says_what_is_available(void **state)
{
	(void) state;
	assert_int_equal(512 * MIB, plx_free_memory(root));
}

static void a_group_further_up_may_be_the_tightest(void **state)
{
	(void) state;
	put_text("/proc/self/cgroup", "0::/slurm/job_5/step_0\n");
	put_text("/sys/fs/cgroup/slurm/job_5/step_0/memory.max", "max\n");
	put_text("/sys/fs/cgroup/slurm/job_5/memory.max", "104857600\n");
	put_text("/sys/fs/cgroup/slurm/job_5/memory.current", "62914560\n");
	assert_int_equal(40 * MIB, plx_free_memory(root));
	/* Pages of files are given up first. */
	put_text("/sys/fs/cgroup/slurm/job_5/memory.stat",
		 "anon 1\ninactive_file 20971520\nactive_file 5\n");
	assert_int_equal(60 * MIB, plx_free_memory(root));
}

static void older_groups_are_understood(void **state)
{
	(void) state;
	put_text("/proc/self/cgroup", "5:cpuset:/x\n4:memory:/slurm/job_5\n");
	put_text("/sys/fs/cgroup/memory/slurm/job_5/memory.limit_in_bytes",
		 "104857600\n");
	put_text("/sys/fs/cgroup/memory/slurm/job_5/memory.usage_in_bytes",
		 "104857600\n");
	put_text("/sys/fs/cgroup/memory/slurm/memory.limit_in_bytes",
		 "9223372036854771712\n");
	assert_int_equal(0, plx_free_memory(root));
}

static void nothing_known_is_no_limit(void **state)
{
	(void) state;
	assert_true(plx_free_memory("/nonexistent") == UINT64_MAX);
}

static void only_ranks_of_that_start_on_that_node_count(void **state)
{
	static const struct {
		const char *pid;
		const char *environment;
		size_t size;
	} processes[] = {
#define VARS(text) text, sizeof(text) - 1
		{ "7", VARS("A=1\0POLLUX_SOCKET=/tmp/s\0"
			    "SLURMD_NODENAME=n1\0") },
		{ "8", VARS("SLURMD_NODENAME=n1\0POLLUX_SOCKET=/tmp/s\0") },
		{ "9", VARS("SLURMD_NODENAME=n2\0POLLUX_SOCKET=/tmp/s\0") },
		{ "10", VARS("SLURMD_NODENAME=n1\0POLLUX_SOCKET=/tmp/sock\0") },
		{ "11", VARS("SLURMD_NODENAME=n1\0") },
	};
	uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);
	char path[64];

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++) {
		snprintf(path, sizeof(path), "/proc/%s/environ",
			 processes[i].pid);
		put(path, processes[i].environment, processes[i].size);
		snprintf(path, sizeof(path), "/proc/%s/statm",
			 processes[i].pid);
		put_text(path, "1000 100 50 1 0 1 0\n");
	}
	assert_int_equal(200 * page, plx_memory_resident(root, "/tmp/s", "n1"));
	assert_int_equal(100 * page, plx_memory_resident(root, "/tmp/s", "n2"));
	assert_int_equal(0, plx_memory_resident(root, "/tmp/t", "n1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_machine_alone_says_what_is_available, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_group_further_up_may_be_the_tightest, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(older_groups_are_understood,
						set_up, tear_down),
		cmocka_unit_test(nothing_known_is_no_limit),
		cmocka_unit_test_setup_teardown(
			only_ranks_of_that_start_on_that_node_count, set_up,
			tear_down),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
