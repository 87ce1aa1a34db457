/* SPDX-License-Identifier: GPL-2.0-or-later */
/* comment_cache.c - what was read of elastic jobs' comments, until they change
 */

#include <string.h>

#include "sched/pollux/snapshot/comment_cache.h"
#include "sched/pollux/record.h"

struct texts {
	uint32_t job_id;
	char *comment;
	char *system_comment;
	bool told; /* a status that can be believed */
	struct plx_status status;
	char complaint[PLX_ERROR_SIZE];
	struct plx_target target;
};

/* In the order of the last snapshot, so that a job is mostly where it was. */
static struct {
	struct texts *at;
	int count;
} known;

static void _release(struct texts *texts)
{
	xfree(texts->comment);
	xfree(texts->system_comment);
	memset(texts, 0, sizeof(*texts));
}

void pollux_comment_cache_forget_all(void)
{
	for (int i = 0; i < known.count; i++)
		_release(&known.at[i]);
	xfree(known.at);
	known.count = 0;
}

/* The job's entry, now at that place. */
static struct texts *_get(uint32_t job_id, int at)
{
	struct texts kept;
	int i = at;

	if (at >= known.count) {
		int count = MAX(2 * known.count, at + 1);

		xrecalloc(known.at, count, sizeof(*known.at));
		known.count = count;
	}
	while (i < known.count && known.at[i].job_id != job_id)
		i++;
	if (i == known.count) {
		_release(&known.at[at]);
		known.at[at].job_id = job_id;
	} else if (i > at) {
		kept = known.at[at];
		known.at[at] = known.at[i];
		known.at[i] = kept;
	}
	return &known.at[at];
}

static bool _is_new(const char *text, char **before)
{
	if (*before && text && !strcmp(text, *before))
		return false;
	xfree(*before);
	*before = xstrdup(text);
	return true;
}

static void _read_status(const char *comment, struct texts *texts)
{
	struct plx_error err = { .text = "" };

	texts->told = plx_status_read(comment, &texts->status, &err) == 1;
	if (!texts->told) {
		memset(&texts->status, 0, sizeof(texts->status));
		texts->status.launcher = PLX_WAKE_NONE;
	}
	snprintf(texts->complaint, sizeof(texts->complaint), "%s", err.text);
}

static void _read_target(const char *comment, struct plx_target *target)
{
	memset(target, 0, sizeof(*target));
	if (plx_target_read(comment, target, NULL) < 0)
		memset(target, 0, sizeof(*target));
}

bool pollux_comment_cache_read(job_record_t *record, int at,
			       struct pollux_job *job)
{
	struct texts *texts = _get(record->job_id, at);
	struct plx_error err;

	if (_is_new(record->comment, &texts->comment))
		_read_status(record->comment, texts);
	if (_is_new(record->system_comment, &texts->system_comment))
		_read_target(record->system_comment, &texts->target);
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
