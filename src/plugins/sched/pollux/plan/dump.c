/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dump.c - decisions written to files, for bug reports */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/slurm_compat.h"
#include "core/snapshot/snapshot.h"
#include "sched/pollux/monotonic.h"
#include "sched/pollux/plan/dump.h"
#include "sched/pollux/params.h"
#include "sched/pollux/fingerprint.h"
#include "sched/pollux/report/file.h"

#define FILES	   100 /* kept in the folder, by a number that wraps */
#define COMPLAIN_S 3600
#define PATH_SIZE  (POLLUX_FOLDER_SIZE + 32)

/* What changes whenever one looks. */
static const char *const fleeting[] = { "\"age\":", "\"weight\":" };

/* The thread's own. */
static struct {
	char dir[POLLUX_FOLDER_SIZE]; /* that the rest is about */
	int next;		      /* number of the next file */
	uint64_t fingerprint;	      /* of the last text */
	bool complained;
	double complained_s; /* monotonic clock */
} dump;

static void _path(int number, char path[PATH_SIZE])
{
	snprintf(path, PATH_SIZE, "%s/pollux-%02d.json", dump.dir, number);
}

/* Go on after the newest file that an earlier slurmctld left. */
static void _start(const char *dir)
{
	struct stat about;
	time_t newest = 0;
	char path[PATH_SIZE];

	memset(&dump, 0, sizeof(dump));
	snprintf(dump.dir, sizeof(dump.dir), "%s", dir);
	for (int i = 0; i < FILES; i++) {
		_path(i, path);
		if (lstat(path, &about) == 0 && about.st_mtime >= newest) {
			newest = about.st_mtime;
			dump.next = (i + 1) % FILES;
		}
	}
}

/* Does a number follow that is not worth another file? */
static bool _is_fleeting(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(fleeting); i++) {
		if (!strncmp(text, fleeting[i], strlen(fleeting[i])))
			return true;
	}
	return false;
}

/* Of all that is not fleeting. */
static uint64_t _fingerprint(const char *text)
{
	uint64_t fingerprint = POLLUX_FINGERPRINT_FROM;

	while (*text) {
		if (*text == '"' && _is_fleeting(text))
			text += strcspn(text, ",}");
		fingerprint = pollux_fingerprint(fingerprint, text++, 1);
	}
	return fingerprint;
}

/* Nobody sees half a file. */
static int _replace(const char *text, struct plx_error *err)
{
	char draft[PATH_SIZE];
	char path[PATH_SIZE];

	snprintf(draft, sizeof(draft), "%s/.pollux-draft", dump.dir);
	_path(dump.next, path);
	if (pollux_file_replace(path, draft, text, 0600, err) < 0)
		return -1;
	dump.next = (dump.next + 1) % FILES;
	return 0;
}

static void _complain(const struct plx_error *err)
{
	double now_s = pollux_now_s();

	if (dump.complained && now_s - dump.complained_s < COMPLAIN_S)
		return;
	dump.complained = true;
	dump.complained_s = now_s;
	error("sched/pollux: a decision is not written for later: %s",
	      err->text);
}

void pollux_dump(const char *dir, const struct pollux_snapshot *snapshot,
		 const struct plx_problem *problem, const struct plx_plan *plan)
{
	const char **names = xcalloc(snapshot->node_count + 1, sizeof(*names));
	struct plx_error err;
	uint64_t fingerprint = 0;
	char *text = NULL;

	if (strcmp(dir, dump.dir))
		_start(dir);
	for (int n = 0; n < snapshot->node_count; n++)
		names[n] = snapshot->nodes[n].name;
	text = plx_snapshot_text(problem, names, plan, &err);
	if (!text) {
		_complain(&err);
		goto done;
	}
	fingerprint = _fingerprint(text);
	if (fingerprint == dump.fingerprint)
		goto done;
	if (_replace(text, &err) < 0)
		_complain(&err);
	else
		dump.fingerprint = fingerprint;
done:
	free(text);
	xfree(names);
}
