/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank_notes.c - what pollux-rank and pollux-launch tell each other */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fields.h"
#include "launcher/rank/rank_notes.h"
#include "wire/dir.h"

#define SIGNAL_CODE 128
#define HEAD_SIZE   512
#define NAME_SIZE   320 /* of a note, with a node's name */
#define STEP_SIZE   32
#define STEP_MAX    1e18

static const char *const names[] = {
	[PLX_NOTE_BEGAN] = "began", [PLX_NOTE_STOP] = "stop",
	[PLX_NOTE_SAVED] = "saved", [PLX_NOTE_EXIT] = "exit",
	[PLX_NOTE_FAIL] = "fail",   [PLX_NOTE_HERE] = "here",
};

static void name_of(char name[NAME_SIZE], enum plx_note note, int generation)
{
	snprintf(name, NAME_SIZE, "%s-%d", names[note], generation);
}

int plx_notes_make(const char *folder, struct plx_error *err)
{
	int dir = plx_dir_inner(folder, true, err);

	if (dir < 0)
		return -1;
	close(dir);
	return 0;
}

int plx_note_write(const char *folder, enum plx_note note, int generation,
		   const char *text, struct plx_error *err)
{
	size_t size = text ? strlen(text) : 0;
	char name[NAME_SIZE];
	struct plx_error why;
	ssize_t wrote;
	int fd;

	name_of(name, note, generation);
	fd = plx_dir_inner_file(folder, false, name,
				O_WRONLY | O_CREAT | O_EXCL, &why);
	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0)
		return plx_fail(err, "cannot write %.100s/%.20s: %.100s",
				folder, name, why.text);
	wrote = size ? write(fd, text, size) : 0;
	if (close(fd) < 0 || wrote != (ssize_t) size)
		return plx_fail(err, "cannot write %.100s/%.20s: %s", folder,
				name, strerror(errno));
	return 0;
}

/* Opening looks again where NFS would answer stat() from memory. */
static bool is_there(const char *folder, const char *name)
{
	int fd = plx_dir_inner_file(folder, false, name, O_RDONLY, NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool plx_note_is(const char *folder, enum plx_note note, int generation)
{
	char name[NAME_SIZE];

	name_of(name, note, generation);
	return is_there(folder, name);
}

static void name_of_here(char name[NAME_SIZE], int generation, const char *node)
{
	snprintf(name, NAME_SIZE, "%s-%d.%s", names[PLX_NOTE_HERE], generation,
		 node);
}

/* One that cannot be written is missed as if there were no rank. */
void plx_here_write(const char *folder, int generation, const char *node)
{
	char name[NAME_SIZE];
	int fd;

	name_of_here(name, generation, node);
	fd = plx_dir_inner_file(folder, false, name, O_WRONLY | O_CREAT, NULL);
	if (fd >= 0)
		close(fd);
}

bool plx_here_is(const char *folder, int generation, const char *node)
{
	char name[NAME_SIZE];

	name_of_here(name, generation, node);
	return is_there(folder, name);
}

bool plx_here_works(const char *folder)
{
	int dir = plx_dir_inner(folder, false, NULL);
	char name[NAME_SIZE];
	int fd;

	if (dir < 0)
		return false;
	name_of_here(name, 0, "trial");
	fd = plx_dir_file(dir, name, O_WRONLY | O_CREAT, NULL);
	if (fd >= 0)
		close(fd);
	plx_dir_remove(dir, name);
	close(dir);
	return fd >= 0;
}

/* "began-12" and its like. */
static bool is_note(const char *file)
{
	for (int note = 0; note < PLX_NOTES; note++) {
		size_t length = strlen(names[note]);

		if (!strncmp(file, names[note], length) && file[length] == '-')
			return true;
	}
	return false;
}

static bool begins(const char *file, const char *prefix)
{
	return !strncmp(file, prefix, strlen(prefix));
}

/* Those that begin so; NULL: all. */
static void clear_files(int dir, const char *prefix)
{
	DIR *list = plx_dir_list(dir);
	struct dirent *entry;

	while (list && (entry = readdir(list))) {
		if (is_note(entry->d_name) &&
		    (!prefix || begins(entry->d_name, prefix)))
			plx_dir_remove(dir, entry->d_name);
	}
	if (list)
		closedir(list);
}

void plx_notes_clear(const char *folder, int generation)
{
	int dir = plx_dir_inner(folder, false, NULL);
	char name[NAME_SIZE];

	if (dir < 0)
		return;
	plx_rank_files_clear(dir, generation);
	name_of_here(name, generation, "");
	clear_files(dir, generation ? name : NULL);
	for (int note = 0; generation && note < PLX_NOTES; note++) {
		name_of(name, note, generation);
		plx_dir_remove(dir, name);
	}
	close(dir);
}

int plx_exit_write(const char *folder, int generation,
		   const struct plx_exit *how, struct plx_error *err)
{
	enum plx_note note = how->signal ? PLX_NOTE_EXIT : PLX_NOTE_FAIL;
	char text[HEAD_SIZE + PLX_EXIT_TEXT];

	char step[STEP_SIZE] = "";

	if (how->left)
		snprintf(step, sizeof(step), " step=%" PRIu64, how->step);
	snprintf(text, sizeof(text), "rank=%d node=%s code=%d signal=%d%s\n%s",
		 how->rank, how->node, how->code, how->signal, step,
		 how->lines);
	return plx_note_write(folder, note, generation, text, err);
}

static bool read_exit(const char *folder, enum plx_note note, int generation,
		      struct plx_exit *how)
{
	char text[HEAD_SIZE + PLX_EXIT_TEXT];
	char name[NAME_SIZE];
	double step = 0;
	ssize_t got = -1;
	char *lines;
	int fd;

	name_of(name, note, generation);
	fd = plx_dir_inner_file(folder, false, name, O_RDONLY, NULL);
	if (fd >= 0) {
		got = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (got <= 0)
		return false;
	text[got] = '\0';
	lines = strchr(text, '\n');
	if (!lines)
		return false;
	*lines++ = '\0';
	*how = (struct plx_exit){ 0 };
	if (plx_field_int(text, "rank", 0, INT_MAX, &how->rank, NULL) <= 0 ||
	    plx_field_int(text, "code", 0, 255, &how->code, NULL) <= 0 ||
	    plx_field_int(text, "signal", 0, 127, &how->signal, NULL) <= 0)
		return false;
	how->left = plx_field_doubles(text, "step", 0, STEP_MAX, &step, 1,
				      NULL) > 0;
	how->step = (uint64_t) step;
	/* Nobody leaves word of a success: it would hide a failure. */
	if (!how->code && !how->signal && !how->left)
		return false;
	plx_field_text(text, "node", how->node, sizeof(how->node));
	snprintf(how->lines, sizeof(how->lines), "%s", lines);
	return true;
}

/* One that libpollux in another rank has missed. */
static bool read_missed(const char *folder, int generation,
			struct plx_exit *how)
{
	struct plx_rank_word word;

	if (!plx_rank_word_read(folder, PLX_WORD_MISSED, generation, &word))
		return false;
	*how = (struct plx_exit){
		.rank = word.rank,
		.left = true,
		.step = word.step,
		.destroyed = true,
	};
	snprintf(how->node, sizeof(how->node), "%s", word.why);
	return true;
}

bool plx_exit_read(const char *folder, int generation, struct plx_exit *how)
{
	return read_missed(folder, generation, how) ||
	       read_exit(folder, PLX_NOTE_EXIT, generation, how) ||
	       read_exit(folder, PLX_NOTE_FAIL, generation, how);
}

int plx_exit_code(const struct plx_exit *how)
{
	if (how->signal)
		return SIGNAL_CODE + how->signal;
	return how->code ? how->code : PLX_EXIT_LEFT;
}

void plx_exit_say(const struct plx_exit *how, char *text, size_t size)
{
	if (how->destroyed)
		snprintf(text, size,
			 "rank %d on %s ended its run in the middle of the "
			 "training, after step %" PRIu64 ", by "
			 "pollux_destroy(); the others have waited for it",
			 how->rank, how->node, how->step);
	else if (how->left && !how->signal && !how->code)
		snprintf(text, size,
			 "rank %d on %s left in the middle of the training, "
			 "after step %" PRIu64 ", with exit code 0",
			 how->rank, how->node, how->step);
	else if (how->signal)
		snprintf(text, size,
			 "rank %d on %s was killed by signal %d (%s)",
			 how->rank, how->node, how->signal,
			 strsignal(how->signal));
	else
		snprintf(text, size, "rank %d on %s ended with exit code %d",
			 how->rank, how->node, how->code);
}
