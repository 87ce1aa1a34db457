/* SPDX-License-Identifier: MIT */
/* samplelog.c - which samples were used, for tests */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/disk/samplelog.h"

#define ENV_SAMPLE_LOG "POLLUX_SAMPLE_LOG"

struct part {
	struct plx_range range;
	uint64_t sum;
};

struct plx_samplelog {
	FILE *file;
	struct part *parts; /* of the step under way */
	size_t count;
	size_t capacity;
};

/* One more than the highest generation in the folder. */
static int next_generation(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	int next = 0;

	if (!dir)
		return 0;
	while ((e = readdir(dir))) {
		int generation;
		int rank;

		if (sscanf(e->d_name, "%d.%d", &generation, &rank) == 2 &&
		    generation >= next && generation < INT_MAX)
			next = generation + 1;
	}
	closedir(dir);
	return next;
}

/* Two generations may begin at once; each has to have its own number. */
static int take_generation(const char *folder)
{
	int generation = next_generation(folder);
	char path[PATH_MAX];
	int fd;

	for (;;) {
		snprintf(path, sizeof(path), "%s/%d.0", folder, generation);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0)
			close(fd);
		if (fd >= 0 || errno != EEXIST)
			return generation;
		generation++;
	}
}

int plx_samplelog_create(struct plx_samplelog **log, struct plx_coll *coll,
			 uint64_t from_step, struct plx_error *err)
{
	const char *folder = getenv(ENV_SAMPLE_LOG);
	struct plx_samplelog *l = NULL;
	char path[PATH_MAX];
	int generation = 0;

	/* All ranks take part, also one that was not told to write. */
	if (coll->rank == 0 && folder)
		generation = take_generation(folder);
	if (coll->ops->spread(coll, &generation, sizeof(generation), err) < 0)
		return -1;
	if (!folder)
		return 0;
	l = calloc(1, sizeof(*l));
	if (!l)
		return plx_fail(err, "out of memory");
	snprintf(path, sizeof(path), "%s/%d.%d", folder, generation,
		 coll->rank);
	l->file = fopen(path, "we");
	if (!l->file) {
		free(l);
		return plx_fail(err, "cannot write sample log %.120s: %s", path,
				strerror(errno));
	}
	fprintf(l->file, "from %" PRIu64 "\n", from_step);
	fflush(l->file);
	*log = l;
	return 0;
}

void plx_samplelog_destroy(struct plx_samplelog *log)
{
	if (!log)
		return;
	fclose(log->file);
	free(log->parts);
	free(log);
}

int plx_samplelog_add(struct plx_samplelog *log, const struct plx_range *part,
		      uint64_t sum, struct plx_error *err)
{
	if (!log || part->count == 0)
		return 0;
	if (log->count == log->capacity) {
		size_t capacity = log->capacity ? 2 * log->capacity : 8;
		struct part *more =
			realloc(log->parts, capacity * sizeof(*log->parts));

		if (!more)
			return plx_fail(err, "out of memory");
		log->parts = more;
		log->capacity = capacity;
	}
	log->parts[log->count++] = (struct part){ *part, sum };
	return 0;
}

void plx_samplelog_drop(struct plx_samplelog *log)
{
	if (log)
		log->count = 0;
}

static int write_parts(struct plx_samplelog *log, const char *word,
		       const struct plx_cursor *cursor, struct plx_error *err)
{
	for (size_t i = 0; i < log->count; i++) {
		const struct part *part = &log->parts[i];

		fprintf(log->file,
			"%s%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			" %" PRIu64 "\n",
			word, cursor->step, cursor->epoch, part->range.first,
			part->range.count, part->sum);
	}
	if (fflush(log->file) != 0)
		return plx_fail(err, "cannot write the sample log: %s",
				strerror(errno));
	return 0;
}

int plx_samplelog_sum(struct plx_samplelog *log,
		      const struct plx_cursor *cursor, struct plx_error *err)
{
	if (!log)
		return 0;
	fprintf(log->file, "sum %" PRIu64 "\n", cursor->step);
	return write_parts(log, "sum ", cursor, err);
}

int plx_samplelog_commit(struct plx_samplelog *log,
			 const struct plx_cursor *cursor, struct plx_error *err)
{
	if (!log)
		return 0;
	if (write_parts(log, "", cursor, err) < 0)
		return -1;
	log->count = 0;
	return 0;
}
