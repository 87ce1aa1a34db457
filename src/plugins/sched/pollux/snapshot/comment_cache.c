/* SPDX-License-Identifier: GPL-2.0-or-later */
/* comment_cache.c - what was read of elastic jobs' comments, until they change
 */

#include <string.h>

#include "sched/pollux/snapshot/comment_cache.h"
#include "sched/pollux/record.h"

struct texts {
	uint32_t job_id;
	bool seen; /* since the last sweep */
	struct texts *next;
	char *comment;
	char *system_comment;
	bool new_comment; /* copied, and not parsed yet */
	bool new_system_comment;
	bool told; /* a status that can be believed */
	struct plx_status status;
	char complaint[PLX_ERROR_SIZE];
	struct plx_target target;
};

/* By the last bits of their jobs' ids, which mostly follow one another. */
static struct {
	struct texts **slots;
	uint32_t slot_count; /* a power of two; 0: none yet */
	uint32_t count;
} known;

#define SLOTS 64 /* at first */

static struct texts **_slot(uint32_t job_id)
{
	return &known.slots[job_id & (known.slot_count - 1)];
}

static void _release(struct texts *texts)
{
	xfree(texts->comment);
	xfree(texts->system_comment);
	xfree(texts);
}

/* Those that were not seen, or all of them. */
static void _forget(bool all)
{
	for (uint32_t s = 0; s < known.slot_count; s++) {
		struct texts **at = &known.slots[s];

		while (*at) {
			struct texts *texts = *at;

			if (!all && texts->seen) {
				texts->seen = false;
				at = &texts->next;
				continue;
			}
			*at = texts->next;
			_release(texts);
			known.count--;
		}
	}
}

void pollux_comment_cache_sweep(void)
{
	_forget(false);
}

void pollux_comment_cache_forget_all(void)
{
	_forget(true);
	xfree(known.slots);
	known.slot_count = 0;
}

/* There are at least as many slots as texts. */
static void _make_slots(void)
{
	struct texts **before = known.slots;
	uint32_t count = known.slot_count;

	if (known.count < count)
		return;
	known.slot_count = count ? 2 * count : SLOTS;
	known.slots = xcalloc(known.slot_count, sizeof(*known.slots));
	for (uint32_t s = 0; s < count; s++) {
		while (before[s]) {
			struct texts *texts = before[s];

			before[s] = texts->next;
			texts->next = *_slot(texts->job_id);
			*_slot(texts->job_id) = texts;
		}
	}
	xfree(before);
}

static struct texts *_get(uint32_t job_id)
{
	struct texts *texts = known.slot_count ? *_slot(job_id) : NULL;

	while (texts && texts->job_id != job_id)
		texts = texts->next;
	if (texts)
		return texts;
	_make_slots();
	texts = xmalloc(sizeof(*texts));
	texts->job_id = job_id;
	texts->next = *_slot(job_id);
	*_slot(job_id) = texts;
	known.count++;
	return texts;
}

static bool _is_new(const char *text, char **before)
{
	if (*before && text && !strcmp(text, *before))
		return false;
	xfree(*before);
	*before = xstrdup(text);
	return true;
}

static void _parse_status(struct texts *texts)
{
	struct plx_error err = { .text = "" };

	texts->told =
		plx_status_read(texts->comment, &texts->status, &err) == 1;
	if (!texts->told) {
		memset(&texts->status, 0, sizeof(texts->status));
		texts->status.launcher = PLX_WAKE_NONE;
	}
	snprintf(texts->complaint, sizeof(texts->complaint), "%s", err.text);
}

static void _parse_target(const char *comment, struct plx_target *target)
{
	memset(target, 0, sizeof(*target));
	if (plx_target_read(comment, target, NULL) < 0)
		memset(target, 0, sizeof(*target));
}

static void _note(const job_record_t *record, struct texts *texts)
{
	if (_is_new(record->comment, &texts->comment))
		texts->new_comment = true;
	if (_is_new(record->system_comment, &texts->system_comment))
		texts->new_system_comment = true;
}

static void _parse(struct texts *texts)
{
	if (texts->new_comment)
		_parse_status(texts);
	if (texts->new_system_comment)
		_parse_target(texts->system_comment, &texts->target);
	texts->new_comment = texts->new_system_comment = false;
}

void pollux_comment_cache_note(const job_record_t *record)
{
	_note(record, _get(record->job_id));
}

void pollux_comment_cache_parse(void)
{
	for (uint32_t s = 0; s < known.slot_count; s++) {
		for (struct texts *at = known.slots[s]; at; at = at->next)
			_parse(at);
	}
}

bool pollux_comment_cache_read(job_record_t *record, struct pollux_job *job)
{
	struct texts *texts = _get(record->job_id);
	struct plx_error err;

	texts->seen = true;
	_note(record, texts);
	_parse(texts);
	job->status = texts->status;
	memcpy(job->complaint, texts->complaint, sizeof(job->complaint));
	job->target = texts->target;
	if (!texts->told)
		return false;
	if (pollux_record_believe(record, &job->status, &err) == 0)
		return true;
	memcpy(job->complaint, err.text, sizeof(job->complaint));
	return false;
}
