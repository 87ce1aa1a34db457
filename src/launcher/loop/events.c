/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events.c - what happens, a line of JSON each */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/rules/clock.h"
#include "launcher/loop/events.h"
#include "wire/dir.h"

#define NAME  "events.jsonl"
#define FLAGS (O_WRONLY | O_CREAT | O_APPEND)

/* In one write, so that no two launchers' lines mix. Closes fd. */
static bool append(int fd, const char *line)
{
	size_t length = strlen(line);
	bool right;

	if (fd < 0)
		return false;
	right = write(fd, line, length) == (ssize_t) length;
	close(fd);
	return right;
}

/* As sacct calls it: 12, or 12_3 of an array. */
static json_t *job_name(const struct plx_settings *settings)
{
	const char *array = getenv("SLURM_ARRAY_JOB_ID");
	const char *task = getenv("SLURM_ARRAY_TASK_ID");

	if (array && task)
		return json_sprintf("%s_%s", array, task);
	return json_sprintf("%u", settings->job_id);
}

bool plx_event_write(const struct plx_settings *settings, json_t *event)
{
	char *text = NULL;
	char *line = NULL;
	bool right = false;

	if (event) {
		json_object_set_new(event, "time", json_real(plx_wall_s()));
		if (settings->job_id)
			json_object_set_new(event, "job", job_name(settings));
		text = json_dumps(event,
				  JSON_COMPACT | JSON_REAL_PRECISION(16));
	}
	errno = ENOMEM;
	if (text && asprintf(&line, "%s\n", text) > 0) {
		right = append(plx_dir_file_at(settings->folder, NAME, FLAGS,
					       NULL),
			       line);
		if (settings->json_log)
			right = append(plx_dir_named_file(settings->json_log,
							  FLAGS),
				       line) &&
				right;
	}
	free(line);
	free(text);
	json_decref(event);
	return right;
}
