/* SPDX-License-Identifier: MIT */
/* rank_file.c - what libpollux in any rank tells the launcher */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fields.h"
#include "wire/dir.h"
#include "wire/rank_file.h"

#define NAME_SIZE  64
#define LINE_SIZE  512
#define PULSE	   "pulse-"
#define PULSE_SIZE 256 /* of the file, always: it is written over in place */
#define RANKS_MAX  (1 << 20)
#define LONGEST_S  1e8

static const char *const at_names[PLX_AT_COUNT] = {
	[PLX_AT_STEP] = "step",
	[PLX_AT_WAITING] = "waiting",
	[PLX_AT_BETWEEN] = "between",
	[PLX_AT_BUSY] = "busy",
};

static const char *const word_names[PLX_WORDS] = {
	[PLX_WORD_ERROR] = "error-",
	[PLX_WORD_RESCUED] = "rescued-",
	[PLX_WORD_ENDED] = "ended-",
	[PLX_WORD_MISSED] = "missed-",
};

/* Up to size - 1 bytes; -1: there is none. */
static ssize_t read_file(int dir, const char *name, char *text, size_t size)
{
	int fd = plx_dir_file(dir, name, O_RDONLY, NULL);
	ssize_t got;

	if (fd < 0)
		return -1;
	got = read(fd, text, size - 1);
	close(fd);
	if (got >= 0)
		text[got] = '\0';
	return got;
}

/* ---- pulses ---- */

static void pulse_name(char name[NAME_SIZE], int generation, int rank)
{
	snprintf(name, NAME_SIZE, PULSE "%d.%d", generation, rank);
}

void plx_pulse_write(const char *inner, int generation,
		     const struct plx_pulse *pulse)
{
	char text[PULSE_SIZE];
	char name[NAME_SIZE];
	struct plx_writer w;
	int fd;

	memset(text, ' ', sizeof(text));
	plx_writer_init(&w, text, sizeof(text));
	plx_write_text(&w, "at", at_names[pulse->at]);
	plx_write_doubles(&w, "since", &pulse->since_s, 1);
	plx_write_doubles(&w, "quiet", &pulse->quiet_s, 1);
	plx_write_doubles(&w, "hold", &pulse->hold_s, 1);
	plx_write_uint(&w, "step", pulse->step);
	plx_write_uint(&w, "beat", pulse->beat);
	plx_write_text(&w, "node", pulse->node);
	memset(text + w.used, ' ', sizeof(text) - w.used);
	text[sizeof(text) - 1] = '\n';
	pulse_name(name, generation, pulse->rank);
	fd = plx_dir_inner_file(inner, true, name, O_WRONLY | O_CREAT, NULL);
	if (fd < 0)
		return;
	if (pwrite(fd, text, sizeof(text), 0) < 0)
		plx_pulse_remove(inner, generation, pulse->rank);
	close(fd);
}

void plx_pulse_remove(const char *inner, int generation, int rank)
{
	int dir = plx_dir_inner(inner, false, NULL);
	char name[NAME_SIZE];

	if (dir < 0)
		return;
	pulse_name(name, generation, rank);
	plx_dir_remove(dir, name);
	close(dir);
}

static bool read_pulse(const char *text, struct plx_pulse *pulse)
{
	char at[16];
	double step = 0;
	int beat = 0;

	if (!plx_field_text(text, "at", at, sizeof(at)) ||
	    plx_field_doubles(text, "since", 0, LONGEST_S, &pulse->since_s, 1,
			      NULL) <= 0 ||
	    plx_field_doubles(text, "quiet", 0, LONGEST_S, &pulse->quiet_s, 1,
			      NULL) <= 0 ||
	    plx_field_doubles(text, "hold", 0, LONGEST_S, &pulse->hold_s, 1,
			      NULL) < 0 ||
	    plx_field_doubles(text, "step", 0, 1e18, &step, 1, NULL) <= 0 ||
	    plx_field_int(text, "beat", 0, INT_MAX, &beat, NULL) <= 0)
		return false;
	pulse->step = (uint64_t) step;
	pulse->beat = (unsigned int) beat;
	plx_field_text(text, "node", pulse->node, sizeof(pulse->node));
	for (int i = 0; i < PLX_AT_COUNT; i++) {
		if (strcmp(at, at_names[i]) != 0)
			continue;
		pulse->at = (enum plx_pulse_at) i;
		return true;
	}
	return false;
}

/* The rank in the name "pulse-G.R"; -1: it is another's. */
static int rank_in(const char *file, int generation)
{
	char prefix[NAME_SIZE];
	size_t length = (size_t) snprintf(prefix, sizeof(prefix), PULSE "%d.",
					  generation);
	char *end;
	long rank;

	if (strncmp(file, prefix, length) != 0)
		return -1;
	rank = strtol(file + length, &end, 10);
	if (end == file + length || *end || rank < 0 || rank >= RANKS_MAX)
		return -1;
	return (int) rank;
}

static int by_rank(const void *a, const void *b)
{
	return ((const struct plx_pulse *) a)->rank -
	       ((const struct plx_pulse *) b)->rank;
}

/* Room for one more at the end; NULL: no memory. */
static struct plx_pulse *add(struct plx_pulse **list, int count)
{
	struct plx_pulse *more;

	if (count & (count - 1))
		return &(*list)[count];
	more = realloc(*list,
		       (size_t) (count ? 2 * count : 1) * sizeof(**list));
	if (!more)
		return NULL;
	*list = more;
	return &more[count];
}

int plx_pulse_list(const char *inner, int generation, struct plx_pulse **list)
{
	int dir = plx_dir_inner(inner, false, NULL);
	DIR *files = dir >= 0 ? plx_dir_list(dir) : NULL;
	struct dirent *entry;
	char text[LINE_SIZE];
	int count = 0;

	*list = NULL;
	while (files && count < RANKS_MAX && (entry = readdir(files))) {
		struct plx_pulse pulse = { .rank = rank_in(entry->d_name,
							   generation) };
		struct plx_pulse *place;

		if (pulse.rank < 0 ||
		    read_file(dir, entry->d_name, text, sizeof(text)) <= 0 ||
		    !read_pulse(text, &pulse))
			continue;
		place = add(list, count);
		if (!place)
			break;
		*place = pulse;
		count++;
	}
	if (files)
		closedir(files);
	if (dir >= 0)
		close(dir);
	if (count)
		qsort(*list, (size_t) count, sizeof(**list), by_rank);
	return count;
}

bool plx_pulse_is_busy(const struct plx_pulse *pulse)
{
	return pulse->at == PLX_AT_BETWEEN || pulse->at == PLX_AT_BUSY;
}

/* ---- words ---- */

static void word_name(char name[NAME_SIZE], enum plx_rank_word_kind kind,
		      int generation)
{
	snprintf(name, NAME_SIZE, "%s%d", word_names[kind], generation);
}

int plx_rank_word_write(const char *inner, enum plx_rank_word_kind kind,
			int generation, const struct plx_rank_word *word)
{
	char text[LINE_SIZE];
	char name[NAME_SIZE];
	struct plx_writer w;
	int rc;
	int fd;

	plx_writer_init(&w, text, sizeof(text));
	plx_write_uint(&w, "rank", (uint64_t) word->rank);
	plx_write_uint(&w, "step", word->step);
	plx_write_why(&w, word->why);
	word_name(name, kind, generation);
	fd = plx_dir_inner_file(inner, true, name, O_WRONLY | O_CREAT | O_EXCL,
				NULL);
	if (fd < 0)
		return errno == EEXIST ? 0 : -1;
	rc = write(fd, text, w.used) == (ssize_t) w.used ? 1 : -1;
	return close(fd) < 0 ? -1 : rc;
}

bool plx_rank_word_read(const char *inner, enum plx_rank_word_kind kind,
			int generation, struct plx_rank_word *word)
{
	int dir = plx_dir_inner(inner, false, NULL);
	char text[LINE_SIZE];
	char name[NAME_SIZE];
	double step = 0;
	ssize_t got;

	if (dir < 0)
		return false;
	word_name(name, kind, generation);
	got = read_file(dir, name, text, sizeof(text));
	close(dir);
	*word = (struct plx_rank_word){ 0 };
	if (got <= 0 ||
	    plx_field_int(text, "rank", 0, RANKS_MAX, &word->rank, NULL) <= 0 ||
	    plx_field_doubles(text, "step", 0, 1e18, &step, 1, NULL) <= 0)
		return false;
	word->step = (uint64_t) step;
	plx_field_text(text, "why", word->why, sizeof(word->why));
	/* It is shown on terminals. */
	for (char *c = word->why; *c; c++)
		*c = (unsigned char) *c < ' ' || *c == 127 ? ' ' : *c;
	return true;
}

/* ---- all ---- */

static bool is_of(const char *file, const char *prefix, int generation)
{
	size_t length = strlen(prefix);
	char *end;

	if (strncmp(file, prefix, length) != 0)
		return false;
	return !generation || (strtol(file + length, &end, 10) == generation &&
			       (!*end || *end == '.'));
}

static bool is_rank_file(const char *file, int generation)
{
	for (int kind = 0; kind < PLX_WORDS; kind++) {
		if (is_of(file, word_names[kind], generation))
			return true;
	}
	return is_of(file, PULSE, generation);
}

void plx_rank_files_clear(int dir, int generation)
{
	DIR *files = plx_dir_list(dir);
	struct dirent *entry;

	while (files && (entry = readdir(files))) {
		const char *file = entry->d_name;

		if (is_rank_file(file, generation))
			plx_dir_remove(dir, file);
	}
	if (files)
		closedir(files);
}
