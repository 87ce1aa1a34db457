/* SPDX-License-Identifier: MIT */
/* fuzz_texts.c - what jobs, users and slurmctld tell each other */

#include <math.h>

#include "core/records/hint.h"
#include "core/records/drain_deadline.h"
#include "core/records/options.h"
#include "core/base/section.h"
#include "core/records/explanation.h"
#include "core/records/status.h"
#include "core/records/target.h"
#include "fuzz.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define DAY_S	 86400.0

/* A failure is told in one line; on success err is not looked at. */
static void told(int rc, const struct plx_error *err)
{
	if (rc < 0)
		fuzz_is_a_line(err->text, sizeof(err->text));
}

int fuzz_fields(const uint8_t *data, size_t size)
{
	static const char *const keys[] = { "a", "b", "ack", "model", "why" };
	char text[TEXT_MAX];
	char small[16];
	struct plx_error err;
	double numbers[7];
	int number = 0;

	fuzz_text(data, size, text);
	for (size_t i = 0; i < COUNT(keys); i++) {
		int found = plx_field_int(text, keys[i], -5, 99, &number, &err);

		told(found, &err);
		MUST(found != 1 || (number >= -5 && number <= 99));
		found = plx_field_doubles(text, keys[i], -1, 1e9, numbers, 7,
					  &err);
		told(found, &err);
		for (int k = 0; found == 1 && k < 7; k++)
			MUST(numbers[k] >= -1 && numbers[k] <= 1e9);
		if (plx_field_text(text, keys[i], small, sizeof(small)))
			MUST(strlen(small) < sizeof(small));
	}
	return 0;
}

/* What was put is got, and the user's text is as long as it was. */
int fuzz_section(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX];
	char out[PLX_COMMENT_MAX];
	char again[PLX_COMMENT_MAX];
	char fields[PLX_FIELDS_MAX];
	struct plx_error err;
	int rc;

	fuzz_text(data, size, text);
	if (plx_section_get(text, fields, sizeof(fields)))
		MUST(strlen(fields) < sizeof(fields) && !strchr(fields, ']'));
	rc = plx_section_put(text, "v=1 x=2", out, sizeof(out), &err);
	told(rc, &err);
	if (rc < 0)
		return 0;
	MUST(strlen(out) < sizeof(out));
	MUST(plx_section_get(out, fields, sizeof(fields)));
	MUST(!strcmp(fields, "v=1 x=2"));
	MUST(plx_section_put(out, "v=1 x=2", again, sizeof(again), &err) == 0);
	MUST(!strcmp(out, again));
	MUST(plx_section_put(out, NULL, again, sizeof(again), &err) == 0);
	MUST(!strncmp(text, again, strlen(again)));
	return 0;
}

/* Safe to compute with: no NaN, nothing negative, nothing endless. */
static void is_sane(const struct plx_hint *hint)
{
	static const struct plx_shape shapes[] = {
		{ 1, 1, 0 },
		{ 1, 4, 0 },
		{ 2, 3, 1 },
		{ 3, 9, 0 },
		{ 64, 4096, PLX_FURTHER_MAX },
	};
	struct plx_batch best;
	double goodput;

	MUST(plx_goodput_valid(&hint->job));
	MUST(hint->profiled.gpus >= 1 && hint->profiled.gpus <= PLX_GPUS_MAX);
	MUST(hint->restart_s >= 0 && hint->restart_s <= PLX_RESTART_MAX_S);
	MUST(hint->samples_left >= 0 && isfinite(hint->samples_left));
	MUST(hint->progress >= 0 && hint->progress <= 1);
	MUST(!hint->type[0] || plx_types_valid(hint->type));
	MUST(!hint->type[0] == !plx_types_digest(hint->type));
	for (size_t i = 0; i < COUNT(shapes); i++) {
		if (!plx_batch_best(&hint->job, shapes[i], &best, &goodput))
			continue;
		MUST(!isnan(goodput) && goodput >= 0);
		MUST(best.per_gpu >= 1 && best.accum >= 0);
	}
}

/* Written and read, it is written the same. */
static void returns(const struct plx_status *status)
{
	char first[PLX_FIELDS_MAX];
	char second[PLX_FIELDS_MAX];
	char comment[PLX_COMMENT_MAX + 16];
	struct plx_status read;
	struct plx_error err;

	MUST(plx_status_write(status, first, sizeof(first), &err) == 0);
	fuzz_is_a_line(first,
		       800 + PLX_TYPES_SIZE + PLX_FAILED_SIZE + PLX_FAILED_WHY);
	MUST(plx_section_put(NULL, first, comment, sizeof(comment), &err) == 0);
	MUST(plx_status_read(comment, &read, &err) == 1);
	MUST(read.has_hint == status->has_hint);
	MUST(plx_status_write(&read, second, sizeof(second), &err) == 0);
	MUST(!strcmp(first, second));
}

int fuzz_status(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX];
	struct plx_status status;
	struct plx_status answer;
	struct plx_error err = { .text = "" };
	int rc;

	rc = plx_status_read(fuzz_text(data, size, text), &status, &err);
	MUST(plx_status_read_answer(text, &answer, NULL) == rc);
	MUST(rc != 1 || answer.ack == status.ack);
	fuzz_is_a_line(err.text, sizeof(err.text));
	if (rc != 1)
		return 0;
	if (status.has_hint)
		is_sane(&status.hint);
	returns(&status);
	return 0;
}

int fuzz_hint(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX];
	struct plx_hint hint;
	struct plx_error err;
	int rc = plx_hint_read(fuzz_text(data, size, text), &hint, &err);

	told(rc, &err);
	if (rc == 1)
		is_sane(&hint);
	return 0;
}

/* An administrator's text: a time that can be computed with, or none. */
int fuzz_notice(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX];
	struct plx_drain_deadline deadline;
	struct plx_error err;
	int rc = plx_drain_deadline_read(fuzz_text(data, size, text),
					 1767225600, 3600, &deadline, &err);

	told(rc, &err);
	MUST(rc == 0 || deadline.kind == PLX_DRAIN_DEADLINE_NONE);
	MUST(deadline.until_s >= -DAY_S && deadline.until_s < 1e15);
	MUST(deadline.kind != PLX_DRAIN_DEADLINE_UNTIL ||
	     plx_drain_deadline_is_due(&deadline, deadline.until_s));
	return 0;
}

int fuzz_target(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX];
	char first[PLX_FIELDS_MAX];
	char second[PLX_FIELDS_MAX];
	char comment[PLX_COMMENT_MAX + 16];
	struct plx_target target;
	struct plx_error err;
	int rc;

	rc = plx_target_read(fuzz_text(data, size, text), &target, &err);
	told(rc, &err);
	if (rc != 1)
		return 0;
	MUST(target.serial >= 1);
	MUST(target.gpus_per_node >= 0 && target.gpus_per_node <= PLX_GPUS_MAX);
	MUST(strlen(target.why) < sizeof(target.why));
	for (int i = -1; i < 4; i++)
		MUST(plx_target_each(&target, i) >= 0 &&
		     plx_target_each(&target, i) <= PLX_GPUS_MAX);
	MUST(plx_target_gpus(&target) >= 0);
	MUST(plx_explanation_same(target.why, text) ==
	     plx_explanation_same(text, target.why));
	MUST(!plx_explanation_is_news(target.why, target.why, 1e9));
	if (plx_target_write(&target, first, sizeof(first), &err) < 0)
		return 0;
	fuzz_is_a_line(first, sizeof(first));
	MUST(plx_section_put("x", first, comment, sizeof(comment), &err) == 0);
	MUST(plx_target_read(comment, &target, &err) == 1);
	MUST(plx_target_write(&target, second, sizeof(second), &err) == 0);
	MUST(!strcmp(first, second));
	return 0;
}

int fuzz_options(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX];
	struct plx_options options;
	struct plx_error err;

	if (plx_options_parse(fuzz_text(data, size, text), &options, &err) <
	    0) {
		fuzz_is_a_line(err.text, sizeof(err.text));
		return 0;
	}
	MUST(options.min_gpus >= 1 && options.min_gpus <= PLX_GPUS_MAX);
	MUST(options.max_gpus == 0 || options.max_gpus >= options.min_gpus);
	MUST(plx_sizes_allow(&options.sizes, options.min_gpus));
	MUST(!options.max_gpus ||
	     plx_sizes_allow(&options.sizes, options.max_gpus));
	MUST(options.base_batch >= 0 && options.max_batch <= PLX_BATCH_MAX);
	MUST(options.mode == PLX_MODE_LIVE || options.mode == PLX_MODE_REQUEUE);
	MUST(options.checkpoint_s >= 0 &&
	     options.checkpoint_s <= PLX_CHECKPOINT_MAX_S);
	MUST(!options.checkpoint_s || options.mode == PLX_MODE_REQUEUE);
	return 0;
}
