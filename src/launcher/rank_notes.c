/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rank_notes.c - what pollux-rank and pollux-launch tell each other */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fields.h"
#include "launcher/rank_notes.h"

#define SIGNAL_CODE 128
#define HEAD_SIZE   512

static const char *const names[] = {
	[PLX_NOTE_BEGAN] = "began", [PLX_NOTE_STOP] = "stop",
	[PLX_NOTE_SAVED] = "saved", [PLX_NOTE_EXIT] = "exit",
	[PLX_NOTE_FAIL] = "fail",   [PLX_NOTE_HERE] = "here",
};

static void path_of(char path[PATH_MAX], const char *folder, enum plx_note note,
		    int generation)
{
	snprintf(path, PATH_MAX, "%s/%s-%d", folder, names[note], generation);
}

int plx_notes_make(const char *folder, struct plx_error *err)
{
	if (mkdir(folder, 0777) < 0 && errno != EEXIST)
		return plx_fail(err, "cannot make %s: %s", folder,
				strerror(errno));
	return 0;
}

int plx_note_write(const char *folder, enum plx_note note, int generation,
		   const char *text, struct plx_error *err)
{
	size_t size = text ? strlen(text) : 0;
	char path[PATH_MAX];
	ssize_t wrote;
	int fd;

	path_of(path, folder, note, generation);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0)
		return plx_fail(err, "cannot write %s: %s", path,
				strerror(errno));
	wrote = size ? write(fd, text, size) : 0;
	if (close(fd) < 0 || wrote != (ssize_t) size)
		return plx_fail(err, "cannot write %s: %s", path,
				strerror(errno));
	return 0;
}

/* open() looks again where NFS would answer stat() from memory. */
static bool is_there(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool plx_note_is(const char *folder, enum plx_note note, int generation)
{
	char path[PATH_MAX];

	path_of(path, folder, note, generation);
	return is_there(path);
}

static void path_of_here(char path[PATH_MAX], const char *folder,
			 int generation, const char *node)
{
	snprintf(path, PATH_MAX, "%s/%s-%d.%s", folder, names[PLX_NOTE_HERE],
		 generation, node);
}

/* One that cannot be written is missed as if there were no rank. */
void plx_here_write(const char *folder, int generation, const char *node)
{
	char path[PATH_MAX];
	int fd;

	path_of_here(path, folder, generation, node);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0)
		close(fd);
}

bool plx_here_is(const char *folder, int generation, const char *node)
{
	char path[PATH_MAX];

	path_of_here(path, folder, generation, node);
	return is_there(path);
}

bool plx_here_works(const char *folder)
{
	char path[PATH_MAX];
	int fd;

	path_of_here(path, folder, 0, "?");
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return false;
	close(fd);
	return unlink(path) == 0;
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
static void clear_files(const char *folder, const char *prefix)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir = opendir(folder);

	while (dir && (entry = readdir(dir))) {
		if (!is_note(entry->d_name) ||
		    (prefix && !begins(entry->d_name, prefix)))
			continue;
		snprintf(path, sizeof(path), "%.3800s/%s", folder,
			 entry->d_name);
		unlink(path);
	}
	if (dir)
		closedir(dir);
}

void plx_notes_clear(const char *folder, int generation)
{
	char path[PATH_MAX];

	if (!generation) {
		clear_files(folder, NULL);
		return;
	}
	snprintf(path, sizeof(path), "%s-%d.", names[PLX_NOTE_HERE],
		 generation);
	clear_files(folder, path);
	for (int note = 0; note < PLX_NOTES; note++) {
		path_of(path, folder, note, generation);
		unlink(path);
	}
}

int plx_exit_write(const char *folder, int generation,
		   const struct plx_exit *how, struct plx_error *err)
{
	enum plx_note note = how->signal ? PLX_NOTE_EXIT : PLX_NOTE_FAIL;
	char text[HEAD_SIZE + PLX_EXIT_TEXT];

	snprintf(text, sizeof(text), "rank=%d node=%s code=%d signal=%d\n%s",
		 how->rank, how->node, how->code, how->signal, how->lines);
	return plx_note_write(folder, note, generation, text, err);
}

static bool read_exit(const char *folder, enum plx_note note, int generation,
		      struct plx_exit *how)
{
	char text[HEAD_SIZE + PLX_EXIT_TEXT];
	char path[PATH_MAX];
	ssize_t got = -1;
	char *lines;
	int fd;

	path_of(path, folder, note, generation);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
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
	/* Nobody leaves word of a success: it would hide a failure. */
	if (!how->code && !how->signal)
		return false;
	plx_field_text(text, "node", how->node, sizeof(how->node));
	snprintf(how->lines, sizeof(how->lines), "%s", lines);
	return true;
}

bool plx_exit_read(const char *folder, int generation, struct plx_exit *how)
{
	return read_exit(folder, PLX_NOTE_EXIT, generation, how) ||
	       read_exit(folder, PLX_NOTE_FAIL, generation, how);
}

int plx_exit_code(const struct plx_exit *how)
{
	return how->signal ? SIGNAL_CODE + how->signal : how->code;
}

void plx_exit_say(const struct plx_exit *how, char *text, size_t size)
{
	if (how->signal)
		snprintf(text, size,
			 "rank %d on %s was killed by signal %d (%s)",
			 how->rank, how->node, how->signal,
			 strsignal(how->signal));
	else
		snprintf(text, size, "rank %d on %s ended with exit code %d",
			 how->rank, how->node, how->code);
}
