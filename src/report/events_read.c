/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events_read.c - see events_read.h */

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/events_read.h"

/*
 * Slurm changes GPUs before the launcher when a job grows, and after it when
 * the job shrinks: by what starting ranks takes, or saving.
 */
#define APART_MAX_S 600.0

static int append(struct plx_changes *changes, const struct plx_change *change)
{
	struct plx_change copy = *change;
	struct plx_change *grown = reallocarray(
		changes->changes, changes->count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	changes->changes = grown;
	copy.id = strdup(change->id);
	copy.why = strdup(change->why);
	grown[changes->count++] = copy;
	return copy.id && copy.why ? 0 : -1;
}

/* What a resize says of its job; one that was parked has no to_gpus. */
static int read_change(json_t *event, struct plx_changes *changes)
{
	struct plx_change change = { .to_gpus = 0 };
	const char *kind = "";
	const char *id = NULL;
	const char *why = NULL;

	if (json_unpack(event, "{s:s, s:s, s:F, s:i, s?i, s:s}", "event", &kind,
			"job", &id, "time", &change.time_s, "from_gpus",
			&change.from_gpus, "to_gpus", &change.to_gpus, "why",
			&why) < 0)
		return 0;
	change.id = (char *) id;
	change.why = (char *) why;
	return append(changes, &change);
}

/* Is the line one of the launcher's? -1: no memory. */
static int read_line(const char *line, size_t length,
		     struct plx_changes *changes)
{
	json_t *event = json_loadb(line, length, 0, NULL);
	int rc = 0;

	if (json_is_string(json_object_get(event, "event")) &&
	    json_is_number(json_object_get(event, "time")))
		rc = read_change(event, changes) < 0 ? -1 : 1;
	json_decref(event);
	return rc;
}

int plx_events_read(FILE *file, struct plx_changes *changes,
		    struct plx_error *err)
{
	size_t capacity = 0;
	char *line = NULL;
	int events = 0;
	int found = 0;
	ssize_t length;

	while (found >= 0 && (length = getline(&line, &capacity, file)) > 0) {
		found = read_line(line, (size_t) length, changes);
		events += found > 0;
	}
	free(line);
	if (found < 0)
		return plx_fail(err, "out of memory");
	if (ferror(file))
		return plx_fail(err, "it cannot be read");
	if (!events)
		return plx_fail(err, "no line is an event of pollux-launch");
	return 0;
}

void plx_events_release(struct plx_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++) {
		free(changes->changes[i].id);
		free(changes->changes[i].why);
	}
	free(changes->changes);
	*changes = (struct plx_changes){ NULL, 0 };
}

/* The change nearest in time that led from one shape to the next. */
static const char *why_left(const struct plx_changes *changes,
			    const struct plx_record *record, size_t s)
{
	const struct plx_history_span *span = &record->spans[s];
	double nearest = APART_MAX_S;
	const char *why = NULL;

	for (size_t i = 0; i < changes->count; i++) {
		const struct plx_change *c = &changes->changes[i];
		double apart = fabs(c->time_s - (double) span->end_s);

		if (apart < nearest && c->from_gpus == span->gpus &&
		    c->to_gpus == span[1].gpus && !strcmp(c->id, record->id)) {
			nearest = apart;
			why = c->why;
		}
	}
	return why;
}

void plx_events_explain(const struct plx_changes *changes,
			struct plx_history *history)
{
	for (size_t i = 0; i < history->count; i++) {
		struct plx_record *r = &history->records[i];

		for (size_t s = 0; s + 1 < r->span_count; s++) {
			if (!r->spans[s].why)
				r->spans[s].why = why_left(changes, r, s);
		}
	}
}
