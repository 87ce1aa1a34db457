/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpusets.c - the CPUs of steps that live on when their job has fewer */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spank/pollux/cgroups.h"
#include "spank/pollux/cpusets.h"

#define NAME "cpuset.cpus"

static bool has(const struct plx_cpus *cpus, unsigned long cpu)
{
	return cpus->bits[cpu / 64] >> cpu % 64 & 1;
}

static bool is_none(const struct plx_cpus *cpus)
{
	for (size_t i = 0; i < PLX_CPUS / 64; i++) {
		if (cpus->bits[i])
			return false;
	}
	return true;
}

static bool is_same(const struct plx_cpus *a, const struct plx_cpus *b)
{
	return !memcmp(a->bits, b->bits, sizeof(a->bits));
}

static struct plx_cpus both(const struct plx_cpus *a, const struct plx_cpus *b)
{
	struct plx_cpus cpus = *a;

	for (size_t i = 0; i < PLX_CPUS / 64; i++)
		cpus.bits[i] &= b->bits[i];
	return cpus;
}

static struct plx_cpus either(const struct plx_cpus *a,
			      const struct plx_cpus *b)
{
	struct plx_cpus cpus = *a;

	for (size_t i = 0; i < PLX_CPUS / 64; i++)
		cpus.bits[i] |= b->bits[i];
	return cpus;
}

/* A number at *text, which is moved behind it. -1: there is none. */
static int take_number(const char **text, unsigned long *number)
{
	char *end = NULL;

	if (!isdigit((unsigned char) **text))
		return -1;
	*number = strtoul(*text, &end, 10);
	*text = end;
	return *number < PLX_CPUS ? 0 : -1;
}

int plx_cpus_parse(const char *text, struct plx_cpus *cpus)
{
	unsigned long first = 0;
	unsigned long last = 0;

	*cpus = (struct plx_cpus){ 0 };
	while (*text) {
		if (take_number(&text, &first) < 0)
			return -1;
		last = first;
		if (*text == '-' && (text++, take_number(&text, &last) < 0))
			return -1;
		if (last < first || (*text && *text != ','))
			return -1;
		for (unsigned long cpu = first; cpu <= last; cpu++)
			cpus->bits[cpu / 64] |= UINT64_C(1) << cpu % 64;
		text += *text == ',';
	}
	return 0;
}

int plx_cpus_print(const struct plx_cpus *cpus, char *text, size_t size)
{
	size_t used = 0;
	unsigned long last;

	text[0] = '\0';
	for (unsigned long cpu = 0; cpu < PLX_CPUS; cpu = last + 1) {
		int length;

		last = cpu;
		if (!has(cpus, cpu))
			continue;
		while (last + 1 < PLX_CPUS && has(cpus, last + 1))
			last++;
		length = snprintf(text + used, size - used,
				  last > cpu ? "%s%lu-%lu" : "%s%lu",
				  used ? "," : "", cpu, last);
		if (length < 0 || (size_t) length >= size - used)
			return -1;
		used += (size_t) length;
	}
	return 0;
}

/* --- the job's cpusets --- */

int plx_cpusets_open(const char *node, uint32_t uid, uint32_t job)
{
	return plx_cgroup_open("cpuset", node, uid, job);
}

static int read_cpus(int folder, struct plx_cpus *cpus)
{
	char text[PLX_CPUS_TEXT];
	int file = openat(folder, NAME, O_RDONLY | O_CLOEXEC);
	ssize_t got = -1;

	if (file < 0)
		return -1;
	got = read(file, text, sizeof(text) - 1);
	close(file);
	if (got < 0)
		return -1;
	text[got] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return plx_cpus_parse(text, cpus);
}

static int write_cpus(int folder, const struct plx_cpus *cpus)
{
	char text[PLX_CPUS_TEXT];
	int file;
	bool done;

	if (plx_cpus_print(cpus, text, sizeof(text)) < 0)
		return -1;
	file = openat(folder, NAME, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (file < 0)
		return -1;
	done = write(file, text, strlen(text)) == (ssize_t) strlen(text);
	close(file);
	return done ? 0 : -1;
}

static int narrow_below(int folder, const char *prefix,
			const struct plx_cpus *cpus, struct plx_error *err);

/* No folder below may have what this one has not, at any time. */
static int narrow_to(int folder, const struct plx_cpus *own,
		     const struct plx_cpus *keeps, struct plx_error *err)
{
	struct plx_cpus all = either(own, keeps);

	if (!is_same(&all, own) && write_cpus(folder, &all) < 0 &&
	    errno != ENODEV)
		return plx_fail(err, "%s", strerror(errno));
	if (narrow_below(folder, "task_", keeps, err) < 0)
		return -1;
	if (!is_same(&all, keeps) && write_cpus(folder, keeps) < 0 &&
	    errno != ENODEV)
		return plx_fail(err, "%s", strerror(errno));
	return 0;
}

/*
 * Of a step, or of a task of it, as there are from 24.11 on. One that has none
 * yet is being started, and one that is gone has ended.
 */
static int narrow_one(int folder, const char *name, const struct plx_cpus *cpus,
		      struct plx_error *err)
{
	struct plx_error why;
	struct plx_cpus own;
	struct plx_cpus keeps;
	int at = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = 0;

	if (at < 0)
		return 0;
	if (read_cpus(at, &own) == 0 && !is_none(&own)) {
		keeps = both(&own, cpus);
		if (is_none(&keeps))
			keeps = *cpus;
		if (narrow_to(at, &own, &keeps, &why) < 0)
			rc = plx_fail(err, "cpuset of %.40s: %.80s", name,
				      why.text);
	}
	close(at);
	return rc;
}

static int narrow_below(int folder, const char *prefix,
			const struct plx_cpus *cpus, struct plx_error *err)
{
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again >= 0 ? fdopendir(again) : NULL;
	struct dirent *entry = NULL;
	int rc = 0;

	if (!dir) {
		if (again >= 0)
			close(again);
		return plx_fail(err, "cpuset: %s", strerror(errno));
	}
	while (rc == 0 && (entry = readdir(dir))) {
		if (!strncmp(entry->d_name, prefix, strlen(prefix)))
			rc = narrow_one(folder, entry->d_name, cpus, err);
	}
	closedir(dir);
	return rc;
}

int plx_cpusets_narrow(int folder, const char *cpus, struct plx_error *err)
{
	struct plx_cpus job;
	struct plx_cpus goes_on;
	struct plx_cpus all;

	if (plx_cpus_parse(cpus, &goes_on) < 0 || is_none(&goes_on))
		return plx_fail(err, "not a list of CPUs: %.40s", cpus);
	if (read_cpus(folder, &job) < 0)
		return plx_fail(err, "cannot read the job's cpuset");
	all = either(&job, &goes_on);
	/* It loses none: Slurm can do that. */
	if (is_none(&job) || is_same(&all, &goes_on))
		return 0;
	if (!is_same(&all, &job) && write_cpus(folder, &all) < 0)
		return plx_fail(err, "the job's cpuset: %s", strerror(errno));
	return narrow_below(folder, "step_", &goes_on, err);
}
