/* SPDX-License-Identifier: MIT */
/*
 * test_hostile.c - status, hint and target: read back when right, refused
 * when wrong, and harmless when hostile
 */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/records/hint.h"
#include "core/records/options.h"
#include "core/base/section.h"
#include "core/records/status.h"
#include "core/records/target.h"
#include "unit.h"

#define ROUNDS 100000

static const struct plx_status training = {
	.launcher = PLX_WAKE_BATCH,
	.ack = 3,
	.phase = PLX_PHASE_TRAINING,
	.resizes = 2,
	.pause_s = { 0.41, 0.93 },
	.has_hint = true,
	.hint = {
		.job = {
			.model = { .alpha_c = 0.1, .beta_c = 0.01,
				   .alpha_n = 0.05, .beta_n = 0.002,
				   .alpha_r = 0.02, .beta_r = 0.001,
				   .gamma = 1.5 },
			.noise = { .sqr = 0.25, .var = 12.5 },
			.limits = { .base_batch = 128, .max_batch = 16777215,
				    .min_per_gpu = 1, .max_per_gpu = 1024,
				    .accumulate = true },
		},
		.profiled = { .nodes = 2, .gpus = 4 },
		.now = { .per_gpu = 16, .accum = 1 },
		.progress = 0.5,
		.restart_s = 30,
		.lr = 0.1,
		.goodput = 1000,
		.speed = 1500,
		.loss = -2.5,
	},
};

static const char good_status[] =
	"mine [pollux v=1 launcher=batch ack=3 phase=training resizes=2 "
	"pause=0.41,0.93 batch=128,16777215,1,1024,1 "
	"model=0.1,0.01,0.05,0.002,0.02,0.001,1.5 noise=0.25,12.5 "
	"profiled=2,4 now=16,1 progress=0.5 restart=30 lr=0.1 speed=1500 "
	"goodput=1000 loss=-2.5]";

static const char good_target[] =
	"[pollux serial=4 state=asked nodes=2 gpus=4 why=2 GPUs became free]";

/* good with its first `from` replaced by `to`; out is PLX_COMMENT_MAX. */
static void replace(const char *good, const char *from, const char *to,
		    char *out)
{
	const char *at = strstr(good, from);

	assert_non_null(at);
	snprintf(out, PLX_COMMENT_MAX, "%.*s%s%s", (int) (at - good), good, to,
		 at + strlen(from));
}

static void a_status_is_written_as_documented(void **state)
{
	char fields[PLX_FIELDS_MAX];
	char comment[PLX_COMMENT_MAX];

	(void) state;
	assert_int_equal(0, plx_status_write(&training, fields, sizeof(fields),
					     NULL));
	assert_int_equal(0, plx_section_put("mine", fields, comment,
					    sizeof(comment), NULL));
	assert_string_equal(good_status, comment);
}

static void a_status_is_read_back(void **state)
{
	struct plx_status s;
	struct plx_error err;

	(void) state;
	assert_int_equal(1, plx_status_read(good_status, &s, &err));
	assert_true(s.has_hint);
	assert_int_equal(PLX_WAKE_BATCH, s.launcher);
	assert_int_equal(3, s.ack);
	assert_int_equal(PLX_PHASE_TRAINING, s.phase);
	assert_int_equal(16777215, s.hint.job.limits.max_batch);
	assert_int_equal(4, s.hint.profiled.gpus);
	assert_true(s.pause_s[1] == 0.93 && s.hint.job.model.gamma == 1.5 &&
		    s.hint.job.noise.var == 12.5 && s.hint.loss == -2.5);
}

static void the_answer_alone_is_read_without_its_hint(void **state)
{
	char broken[PLX_COMMENT_MAX];
	struct plx_status all;
	struct plx_status s;

	(void) state;
	assert_int_equal(1, plx_status_read(good_status, &all, NULL));
	assert_int_equal(1, plx_status_read_answer(good_status, &s, NULL));
	assert_false(s.has_hint);
	assert_int_equal(all.launcher, s.launcher);
	assert_int_equal(all.ack, s.ack);
	assert_int_equal(all.phase, s.phase);
	assert_int_equal(all.resizes, s.resizes);
	assert_true(s.pause_s[1] == all.pause_s[1]);
	assert_int_equal(0, plx_status_read_answer("my comment", &s, NULL));
	replace(good_status, "ack=3", "ack=x", broken);
	assert_int_equal(-1, plx_status_read_answer(broken, &s, NULL));
	assert_int_equal(3, s.ack);
}

static void the_largest_status_leaves_room_for_the_user(void **state)
{
	const double long_number = -1.23457e-300;
	struct plx_status s = training;
	double *numbers = (double *) &s.hint.job.model;
	char fields[PLX_FIELDS_MAX];

	(void) state;
	for (int i = 0; i < 7; i++)
		numbers[i] = long_number;
	s.hint.job.noise.sqr = s.hint.job.noise.var = long_number;
	s.hint.job.limits.base_batch = PLX_BATCH_MAX;
	s.hint.job.limits.min_per_gpu = PLX_BATCH_MAX;
	s.hint.job.limits.max_per_gpu = PLX_BATCH_MAX;
	s.hint.progress = s.hint.restart_s = s.hint.lr = long_number;
	s.hint.goodput = s.hint.loss = long_number;
	assert_int_equal(0, plx_status_write(&s, fields, sizeof(fields), NULL));
	assert_true(strlen(fields) < 600);
}

static void a_job_that_says_nothing_has_no_status(void **state)
{
	struct plx_status s;

	(void) state;
	assert_int_equal(0, plx_status_read(NULL, &s, NULL));
	assert_int_equal(0, plx_status_read("", &s, NULL));
	assert_int_equal(0, plx_status_read("my comment", &s, NULL));
}

static void a_broken_status_is_refused(void **state)
{
	static const struct {
		const char *from;
		const char *to;
		const char *why;
	} cases[] = {
		/* clang-format off */
		{ "v=1", "v=2", "v: version 2, this is 1" },
		{ "v=1 ", "", "v: missing" },
		{ "batch ack", "bitch ack",
		  "launcher: want a whole number from 0 to 2147483647" },
		{ "ack=3", "ack=-3",
		  "ack: want a whole number from 0 to 2147483647" },
		{ "training", "training2", "phase: missing or unknown" },
		{ "0.41,", "", "pause: want 2 numbers from 0 to 1e+06" },
		{ "0.41,", "nan,", "pause: want 2 numbers from 0 to 1e+06" },
		{ "pause=0.41,0.93 ", "", "pause: missing" },
		/* clang-format on */
	};
	struct plx_status s = { .ack = 77 };
	char comment[PLX_COMMENT_MAX];
	struct plx_error err;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		replace(good_status, cases[i].from, cases[i].to, comment);
		assert_int_equal(-1, plx_status_read(comment, &s, &err));
		assert_string_equal(cases[i].why, err.text);
		assert_int_equal(77, s.ack);
	}
}

static void a_job_with_a_broken_hint_is_unprofiled(void **state)
{
	static const struct {
		const char *from;
		const char *to;
	} cases[] = {
		/* clang-format off */
		{ "model=0.1", "model=nan" },
		{ "model=0.1", "model=-0.1" },
		{ "model=0.1", "model=1e300" },
		{ "model=0.1,", "model=" },
		{ "1.5 noise", "0.5 noise" },	/* gamma under 1 */
		{ "1.5 noise", "11 noise" },
		{ "noise=0.25,", "noise=inf," },
		{ "noise=0.25,12.5 ", "" },
		{ "noise=0.25,12.5", "noise=0,0" },
		{ "batch=128", "batch=0" },
		{ "batch=128", "batch=1.5" },
		{ "batch=128,16777215", "batch=128,127" },
		{ "1024,1 model", "1024,2 model" },
		{ "batch=128,", "batch=99999999999999999999," },
		{ "profiled=2,4", "profiled=0,0" },
		{ "profiled=2,4", "profiled=4,2" },
		{ "profiled=2,4", "profiled=1,5000" },
		{ "profiled=2,4 ", "" },
		{ "now=16", "now=0" },
		{ "progress=0.5", "progress=1.01" },
		{ "restart=30", "restart=3601" },
		{ "restart=30 ", "" },
		{ "lr=0.1", "lr=0x1" },
		{ "loss=-2.5", "loss=nan" },
		/* clang-format on */
	};
	struct plx_status s;
	char comment[PLX_COMMENT_MAX];
	struct plx_error err;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		replace(good_status, cases[i].from, cases[i].to, comment);
		err.text[0] = '\0';
		assert_int_equal(1, plx_status_read(comment, &s, &err));
		assert_false(s.has_hint);
		assert_int_not_equal(0, strlen(err.text));
		assert_int_equal(3, s.ack);
	}
}

static void a_diverged_loss_keeps_the_hint_readable(void **state)
{
	struct plx_status s = training;
	char fields[PLX_FIELDS_MAX];
	struct plx_hint hint;

	(void) state;
	s.hint.loss = NAN;
	s.hint.goodput = INFINITY;
	assert_int_equal(0, plx_status_write(&s, fields, sizeof(fields), NULL));
	assert_int_equal(1, plx_hint_read(fields, &hint, NULL));
	assert_int_equal(128, hint.job.limits.base_batch);
}

static void a_target_is_read_back(void **state)
{
	const struct plx_target asked = { .serial = 4,
					  .state = PLX_TARGET_REQUESTED,
					  .nodes = 2,
					  .gpus_per_node = 4,
					  .why = "2 GPUs became free" };
	struct plx_target t;
	char fields[PLX_FIELDS_MAX];
	char comment[PLX_COMMENT_MAX];

	(void) state;
	assert_int_equal(0, plx_target_write(&asked, fields, sizeof(fields),
					     NULL));
	assert_int_equal(0, plx_section_put(NULL, fields, comment,
					    sizeof(comment), NULL));
	assert_string_equal(good_target, comment);
	assert_int_equal(1, plx_target_read(comment, &t, NULL));
	assert_int_equal(4, t.serial);
	assert_int_equal(PLX_TARGET_REQUESTED, t.state);
	assert_int_equal(2, t.nodes);
	assert_int_equal(4, t.gpus_per_node);
	assert_string_equal(asked.why, t.why);
	assert_int_equal(0, plx_target_read("nothing", &t, NULL));
	assert_int_equal(PLX_TARGET_NONE, t.state);
}

static void a_lent_target_names_its_nodes(void **state)
{
	const struct plx_target lent = { .serial = 4,
					 .state = PLX_TARGET_LENT,
					 .nodes = 4,
					 .gpus_per_node = 1,
					 .cold = true,
					 .on = "n[1-3],m7",
					 .why = "others wait" };
	char fields[PLX_FIELDS_MAX];
	char comment[PLX_COMMENT_MAX];
	struct plx_target t;

	(void) state;
	assert_int_equal(0,
			 plx_target_write(&lent, fields, sizeof(fields), NULL));
	assert_int_equal(0, plx_section_put("", fields, comment,
					    sizeof(comment), NULL));
	assert_int_equal(1, plx_target_read(comment, &t, NULL));
	assert_int_equal(PLX_TARGET_LENT, t.state);
	assert_true(t.cold);
	assert_string_equal("n[1-3],m7", t.on);
	assert_string_equal("others wait", t.why);
}

static void live_ranks_are_told_and_read(void **state)
{
	struct plx_status live = { .launcher = 0, .ack = 4, .live = true };
	char fields[PLX_FIELDS_MAX];
	char comment[PLX_COMMENT_MAX];
	struct plx_status read;

	(void) state;
	for (int i = 0; i < 2; i++) {
		live.live = i == 0;
		assert_int_equal(0, plx_status_write(&live, fields,
						     sizeof(fields), NULL));
		assert_int_equal(0, plx_section_put("", fields, comment,
						    sizeof(comment), NULL));
		assert_int_equal(1, plx_status_read(comment, &read, NULL));
		assert_int_equal(live.live, read.live);
	}
}

static void a_broken_target_is_refused(void **state)
{
	static const char *const cases[][2] = {
		{ "serial=4", "serial=0" },  { "serial=4", "serial=x" },
		{ "serial=4 ", "" },	     { "=asked", "=sked" },
		{ "nodes=2", "nodes=4097" }, { "gpus=4 ", "" },
		{ "gpus=4", "gpus=-1" },
	};
	struct plx_target t;
	char comment[PLX_COMMENT_MAX];

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		replace(good_target, cases[i][0], cases[i][1], comment);
		assert_int_equal(-1, plx_target_read(comment, &t, NULL));
	}
}

static void every_phase_and_state_has_its_name(void **state)
{
	(void) state;
	assert_string_equal("waiting", plx_phase_name(PLX_PHASE_WAITING));
	assert_string_equal("unknown", plx_phase_name((enum plx_phase) 99));
	assert_string_equal("parked", plx_target_state_name(PLX_TARGET_PARKED));
	assert_string_equal("unknown",
			    plx_target_state_name((enum plx_target_state) - 1));
}

/* Damage text in place: some bytes changed, cut, doubled or moved. */
static void mutate(uint64_t *random, char *text, size_t size)
{
	static const char tasty[] = "=,. []-+e0919xnaif\n\x01\xff";
	int edits = 1 + (int) (unit_random(random) % 8);
	size_t length;
	size_t at;

	for (int i = 0; i < edits; i++) {
		length = strlen(text);
		if (length == 0 || length + 2 >= size)
			return;
		at = unit_random(random) % length;
		switch (unit_random(random) % 4) {
		case 0:
			text[at] = tasty[unit_random(random) %
					 (sizeof(tasty) - 1)];
			break;
		case 1:
			memmove(text + at, text + at + 1, length - at);
			break;
		case 2:
			memmove(text + at + 1, text + at, length - at + 1);
			break;
		default:
			text[at] = (char) (unit_random(random) % 255 + 1);
		}
	}
}

static void garbage(uint64_t *random, char *text, size_t size)
{
	size_t length = unit_random(random) % size;

	for (size_t i = 0; i < length; i++)
		text[i] = (char) (unit_random(random) % 255 + 1);
	text[length] = '\0';
}

/* What any reader accepts must be safe to compute with and write again. */
/* What was taken for an options text, a status, a target. */
static struct {
	int options, statuses, hints, targets;
} taken;

static void read_all(const char *text)
{
	char fields[PLX_FIELDS_MAX];
	char comment[PLX_COMMENT_MAX];
	struct plx_options o;
	struct plx_status s;
	struct plx_target t;
	struct plx_error err;

	if (plx_options_parse(text, &o, &err) == 0) {
		taken.options++;
		assert_in_range(o.min_gpus, 1, PLX_GPUS_MAX);
	}
	if (plx_status_read(text, &s, &err) == 1) {
		taken.statuses++;
		taken.hints += s.has_hint;
		assert_true(!s.has_hint || plx_goodput_valid(&s.hint.job));
		assert_int_equal(0, plx_status_write(&s, fields, sizeof(fields),
						     &err));
		assert_int_equal(0, plx_section_put(NULL, fields, comment,
						    sizeof(comment), &err));
		assert_int_equal(1, plx_status_read(comment, &s, &err));
	}
	if (plx_target_read(text, &t, &err) == 1) {
		taken.targets++;
		assert_in_range(t.gpus_per_node, 0, PLX_GPUS_MAX);
		assert_int_equal(0, plx_target_write(&t, fields, sizeof(fields),
						     &err));
	}
	plx_section_put(text, "a=1", comment, sizeof(comment), &err);
}

static void no_text_harms_a_reader(void **state)
{
	static const char *const seeds[] = {
		good_status,
		good_target,
		"pollux,min=2,max=16,batch=128,max-batch=4096",
	};
	char text[2 * PLX_COMMENT_MAX];
	uint64_t random = 20211;

	(void) state;
	for (int i = 0; i < ROUNDS; i++) {
		const char *seed = seeds[(size_t) i % ARRAY_SIZE(seeds)];

		if (i % 16 == 0) {
			garbage(&random, text, sizeof(text));
		} else {
			strcpy(text, seed);
			mutate(&random, text, sizeof(text));
		}
		read_all(text);
	}
	/* Neither all is refused, nor all is taken. */
	assert_in_range(taken.options, ROUNDS / 300, ROUNDS / 4);
	assert_in_range(taken.statuses, ROUNDS / 30, ROUNDS / 4);
	assert_in_range(taken.hints, ROUNDS / 100, taken.statuses - 1);
	assert_in_range(taken.targets, ROUNDS / 100, ROUNDS / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_is_written_as_documented),
		cmocka_unit_test(a_status_is_read_back),
		cmocka_unit_test(the_answer_alone_is_read_without_its_hint),
		cmocka_unit_test(the_largest_status_leaves_room_for_the_user),
		cmocka_unit_test(a_job_that_says_nothing_has_no_status),
		cmocka_unit_test(a_broken_status_is_refused),
		cmocka_unit_test(a_job_with_a_broken_hint_is_unprofiled),
		cmocka_unit_test(a_diverged_loss_keeps_the_hint_readable),
		cmocka_unit_test(a_target_is_read_back),
		cmocka_unit_test(a_lent_target_names_its_nodes),
		cmocka_unit_test(live_ranks_are_told_and_read),
		cmocka_unit_test(a_broken_target_is_refused),
		cmocka_unit_test(every_phase_and_state_has_its_name),
		cmocka_unit_test(no_text_harms_a_reader),
	};

	return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
