/* SPDX-License-Identifier: MIT */
/* test_texts.c - fields, sections of a comment, hints, the user's options */

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fields.h"
#include "core/records/hint.h"
#include "core/records/options.h"
#include "core/base/section.h"
#include "unit.h"

static void what_is_written_is_read_back(void **state)
{
	const double numbers[] = { 0.25, -1e-9, 123456 };
	double read[3];
	char text[PLX_FIELDS_MAX];
	char word[16];
	int count;
	struct plx_writer w;

	(void) state;
	plx_writer_init(&w, text, sizeof(text));
	plx_write_text(&w, "name", "n1");
	plx_write_uint(&w, "count", 42);
	plx_write_doubles(&w, "numbers", numbers, 3);
	plx_write_why(&w, "two words");
	assert_string_equal("name=n1 count=42 numbers=0.25,-1e-09,123456 "
			    "why=two words",
			    text);
	assert_true(plx_field_text(text, "name", word, sizeof(word)));
	assert_string_equal("n1", word);
	assert_int_equal(1, plx_field_int(text, "count", 0, 99, &count, NULL));
	assert_int_equal(42, count);
	assert_int_equal(1, plx_field_doubles(text, "numbers", -1, 1e6, read, 3,
					      NULL));
	assert_true(fabs(read[1] + 1e-9) < 1e-20 && read[2] == 123456);
	assert_true(plx_field_text(text, "why", word, sizeof(word)));
	assert_string_equal("two words", word);
}

static void a_field_that_does_not_fit_is_left_out_whole(void **state)
{
	char text[12];
	struct plx_writer w;

	(void) state;
	plx_writer_init(&w, text, sizeof(text));
	plx_write_uint(&w, "a", 1);
	plx_write_text(&w, "long", "value");
	plx_write_uint(&w, "b", 2);
	assert_string_equal("a=1", text);
	assert_true(w.overflow);
}

static void a_value_cannot_break_out_of_its_field(void **state)
{
	char text[64];
	struct plx_writer w;

	(void) state;
	plx_writer_init(&w, text, sizeof(text));
	plx_write_text(&w, "name", "a b]\nc");
	plx_write_why(&w, "n[1-2]\nserial=9");
	assert_string_equal("name=a_b__c why=n(1-2) serial=9", text);
}

static void prose_is_never_searched_for_keys(void **state)
{
	int serial;

	(void) state;
	assert_int_equal(0, plx_field_int("a=1 why=since serial=9", "serial", 0,
					  99, &serial, NULL));
}

static void a_key_inside_another_is_not_found(void **state)
{
	int value = 0;

	(void) state;
	assert_int_equal(0, plx_field_int("max-batch=4 xbatch=3 batch-x=2",
					  "batch", 0, 9, &value, NULL));
	assert_int_equal(1, plx_field_int("max-batch=4 batch=3", "batch", 0, 9,
					  &value, NULL));
	assert_int_equal(3, value);
}

static void a_text_without_an_end_is_not_read(void **state)
{
	char text[2 * PLX_FIELDS_MAX];
	int value;

	(void) state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "a=1 ", 4);
	assert_int_equal(0, plx_field_int(text, "a", 0, 9, &value, NULL));
}

static void a_number_is_decimal_and_nothing_else(void **state)
{
	static const struct {
		const char *text;
		int found;
		double value;
	} cases[] = {
		/* clang-format off */
		{ "x=1",	1, 1 },
		{ "x=-2.5e-3",	1, -2.5e-3 },
		{ "x=.5",	1, 0.5 },
		{ "x=5.",	1, 5 },
		{ "x=1e+3",	1, 1000 },
		{ "x=1e-400",	1, 0 },
		{ "x=100000000000000000000000", 1, 1e23 },
		{ "y=1",	0, 7 },
		{ "x=",		-1, 7 },
		{ "x=.",	-1, 7 },
		{ "x=-",	-1, 7 },
		{ "x=+1",	-1, 7 },
		{ "x=1e",	-1, 7 },
		{ "x=1e+-3",	-1, 7 },
		{ "x=1e99999999999999999999", -1, 7 },
		{ "x=1e400",	-1, 7 },
		{ "x=0x10",	-1, 7 },
		{ "x=nan",	-1, 7 },
		{ "x=inf",	-1, 7 },
		{ "x=-inf",	-1, 7 },
		{ "x=1;",	-1, 7 },
		{ "x=1,2",	-1, 7 },
		{ "x=1,",	-1, 7 },
		{ "x=2e300",	-1, 7 }, /* over the largest */
		/* clang-format on */
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double value = 7;

		assert_int_equal(cases[i].found,
				 plx_field_doubles(cases[i].text, "x", -1e300,
						   1e300, &value, 1, NULL));
		assert_true(fabs(value - cases[i].value) <=
			    1e-15 * fabs(cases[i].value));
	}
}

static void a_list_has_exactly_as_many_numbers_as_wanted(void **state)
{
	double v[3] = { 7, 7, 7 };

	(void) state;
	assert_int_equal(1,
			 plx_field_doubles("x=1,2,3", "x", 0, 9, v, 3, NULL));
	assert_int_equal(-1, plx_field_doubles("x=4,5", "x", 0, 9, v, 3, NULL));
	assert_int_equal(-1,
			 plx_field_doubles("x=4,5,6,7", "x", 0, 9, v, 3, NULL));
	assert_int_equal(-1,
			 plx_field_doubles("x=4,,6", "x", 0, 9, v, 3, NULL));
	assert_true(v[0] == 1 && v[1] == 2 && v[2] == 3);
}

static void a_whole_number_out_of_range_names_the_range(void **state)
{
	static const char *const bad[] = {
		"x=0",	 "x=10",  "x=-1",
		"x=1.5", "x=0x5", "x=",
		"x= 5",	 "x=5x",  "x=99999999999999999999"
	};
	struct plx_error err;
	int value = 7;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(-1, plx_field_int(bad[i], "x", 1, 9, &value,
						   &err));
		assert_string_equal("x: want a whole number from 1 to 9",
				    err.text);
	}
	assert_int_equal(7, value);
}

/* A training program may well run in a locale with a decimal comma. */
static void the_locale_changes_nothing(void **state)
{
	static const char *const locales[] = { "de_DE.UTF-8", "fr_FR.UTF-8",
					       "de_DE", "C" };
	const double half = 0.5;
	char text[32];
	double read = 0;
	struct plx_writer w;

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(locales); i++) {
		if (!setlocale(LC_ALL, locales[i]))
			continue; /* not installed here */
		plx_writer_init(&w, text, sizeof(text));
		plx_write_doubles(&w, "x", &half, 1);
		assert_string_equal("x=0.5", text);
		assert_int_equal(1, plx_field_doubles(text, "x", 0, 1, &read, 1,
						      NULL));
		assert_true(read == 0.5);
	}
}

static void every_byte_of_the_users_comment_survives(void **state)
{
	static const char *const comments[] = {
		"",
		"mine",
		" two  blanks ",
		"[pollux",
		"a [b] c",
		"[polluxes here]",
		"line\nline",
		"ends with ]",
		"x[pollux a]",
		"\xc3\xa4\xff",
	};
	char once[PLX_COMMENT_MAX];
	char twice[PLX_COMMENT_MAX];
	char fields[PLX_FIELDS_MAX];

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(comments); i++) {
		assert_int_equal(0, plx_section_put(comments[i], "a=1", once,
						    sizeof(once), NULL));
		assert_int_equal(0, plx_section_put(once, "b=2", twice,
						    sizeof(twice), NULL));
		assert_true(plx_section_get(twice, fields, sizeof(fields)));
		assert_string_equal("b=2", fields);
		assert_int_equal(0, plx_section_put(twice, NULL, once,
						    sizeof(once), NULL));
		assert_string_equal(comments[i], once);
	}
}

static void a_comment_may_be_missing(void **state)
{
	char out[32];

	(void) state;
	assert_false(plx_section_get(NULL, out, sizeof(out)));
	assert_int_equal(0,
			 plx_section_put(NULL, "a=1", out, sizeof(out), NULL));
	assert_string_equal("[pollux a=1]", out);
	assert_int_equal(0, plx_section_put(out, NULL, out, sizeof(out), NULL));
	assert_string_equal("", out);
}

static void a_section_is_only_at_the_end(void **state)
{
	char fields[32] = "untouched";

	(void) state;
	assert_false(plx_section_get("[pollux a=1] mine", fields, 32));
	assert_false(plx_section_get("see [pollux]a", fields, 32));
	assert_false(plx_section_get("mine [slurm a=1]", fields, 32));
	assert_false(plx_section_get("mine]", fields, 32));
	assert_string_equal("untouched", fields);
}

static void a_full_comment_is_left_as_it_is(void **state)
{
	char comment[PLX_COMMENT_MAX];
	char out[PLX_COMMENT_MAX] = "untouched";
	struct plx_error err;

	(void) state;
	memset(comment, 'c', sizeof(comment));
	comment[1010] = '\0';
	assert_int_equal(0, plx_section_put(comment, "a=1", out, sizeof(out),
					    &err));
	comment[1010] = 'c';
	comment[1011] = '\0';
	strcpy(out, "untouched");
	assert_int_equal(-1, plx_section_put(comment, "a=1", out, sizeof(out),
					     &err));
	assert_string_equal("untouched", out);
	assert_string_equal("the user's comment of 1011 bytes leaves no room "
			    "for the 13 bytes of Pollux",
			    err.text);
}

static void options_that_are_not_given_have_defaults(void **state)
{
	struct plx_options o;

	(void) state;
	assert_int_equal(0, plx_options_parse("pollux", &o, NULL));
	assert_int_equal(1, o.min_gpus);
	assert_int_equal(0, o.max_gpus + o.base_batch + o.max_batch +
				    o.min_gpu_batch + o.max_gpu_batch);
}

static void every_option_reaches_its_field(void **state)
{
	struct plx_options o;

	(void) state;
	assert_int_equal(0, plx_options_parse("pollux,max-gpu-batch=64,min=2,"
					      "max=16,batch=128,max-batch=4096,"
					      "min-gpu-batch=8",
					      &o, NULL));
	assert_int_equal(2, o.min_gpus);
	assert_int_equal(16, o.max_gpus);
	assert_int_equal(128, o.base_batch);
	assert_int_equal(4096, o.max_batch);
	assert_int_equal(8, o.min_gpu_batch);
	assert_int_equal(64, o.max_gpu_batch);
	assert_int_equal(0, o.pack);
	assert_int_equal(0, plx_options_parse("pollux,pack,min=2", &o, NULL));
	assert_int_equal(1, o.pack);
	assert_int_equal(2, o.min_gpus);
	assert_int_equal(0, o.mix);
	assert_int_equal(0, plx_options_parse("pollux,mix=yes", &o, NULL));
	assert_int_equal(1, o.mix);
}

static void sizes_are_a_list_or_a_step(void **state)
{
	struct plx_options o;
	char text[PLX_SIZES_TEXT];

	(void) state;
	assert_int_equal(0, plx_options_parse("pollux,sizes=1,2,4,8,batch=32",
					      &o, NULL));
	assert_int_equal(1, o.min_gpus);
	assert_int_equal(8, o.max_gpus);
	assert_int_equal(32, o.base_batch);
	plx_sizes_text(&o.sizes, text, sizeof(text));
	assert_string_equal("sizes=1,2,4,8", text);
	assert_int_equal(0, plx_options_parse("pollux,min=2,sizes=1,2,4,8,"
					      "max=4",
					      &o, NULL));
	assert_int_equal(2, o.min_gpus);
	assert_int_equal(4, o.max_gpus);
	plx_sizes_text(&o.sizes, text, sizeof(text));
	assert_string_equal("sizes=2,4", text);
	assert_int_equal(0, plx_options_parse("pollux,step=8", &o, NULL));
	assert_int_equal(8, o.min_gpus);
	assert_int_equal(0, o.max_gpus);
	plx_sizes_text(&o.sizes, text, sizeof(text));
	assert_string_equal("step=8", text);
}

struct bad {
	const char *text;
	const char *why;
};

/* Each for its reason, and nothing is read. */
static void refuse_all(const struct bad *cases, size_t count)
{
	struct plx_options o = { .min_gpus = 77 };
	struct plx_error err;

	for (size_t i = 0; i < count; i++) {
		assert_int_equal(-1,
				 plx_options_parse(cases[i].text, &o, &err));
		assert_string_equal(cases[i].why, err.text);
		assert_int_equal(77, o.min_gpus);
	}
}

static void a_bad_option_is_told_in_one_sentence(void **state)
{
	static const struct bad cases[] = {
		/* clang-format off */
		{ "pollux,mox=3", "mox: unknown key, did you mean max?" },
		{ "pollux,Max=3", "Max: unknown key, did you mean max?" },
		{ "pollux,max_batch=3",
		  "max_batch: unknown key, did you mean max-batch?" },
		{ "pollux,zzzzz=1", "zzzzz: unknown key, want min, max, sizes, "
		  "step, batch, max-batch, min-gpu-batch, "
		  "max-gpu-batch, mode, checkpoint, at-limit, pack or mix" },
		{ "pollux,max=0", "max=0: want GPUs from 1 to 4096" },
		{ "pollux,max=4097", "max=4097: want GPUs from 1 to 4096" },
		{ "pollux,max=-1", "max=-1: want GPUs from 1 to 4096" },
		{ "pollux,max=1.5", "max=1.5: want GPUs from 1 to 4096" },
		{ "pollux,max=0x3", "max=0x3: want GPUs from 1 to 4096" },
		{ "pollux,max=", "max=: want GPUs from 1 to 4096" },
		{ "pollux,max=4 ", "max=4 : want GPUs from 1 to 4096" },
		{ "pollux,batch=4\x1b[2J",
		  "batch=4?[2J: want samples from 1 to 16777216" },
		{ "pollux,max", "max: want max=NUMBER" },
		{ "pollux,pack=1", "pack: is a word, without a value" },
		{ "pollux,pack=", "pack: is a word, without a value" },
		{ "pollux,pack,pack", "pack: given twice" },
		{ "pollux,min=2,min=2", "min: given twice" },
		{ "pollux,mix", "mix: want mix=no|yes" },
		{ "pollux,mix=a100", "mix=a100: want no or yes" },
		{ "pollux,min=4,max=2", "max=2: is less than min=4" },
		{ "pollux,max-batch=8,batch=9",
		  "max-batch=8: is less than batch=9" },
		{ "pollux,", "a comma without key=value" },
		{ "pollux,,max=1", "a comma without key=value" },
		{ "polluxx", "\"polluxx\": unknown scheduler, want "
		  "pollux[,key=value...]" },
		{ "", "\"\": unknown scheduler, want pollux[,key=value...]" },
		/* clang-format on */
	};

	(void) state;
	refuse_all(cases, ARRAY_SIZE(cases));
}

static void bad_sizes_are_told_in_one_sentence(void **state)
{
	static const struct bad cases[] = {
		/* clang-format off */
		{ "pollux,sizes", "sizes: want sizes=NUMBER,NUMBER,..." },
		{ "pollux,sizes=", "sizes=: want GPUs from 1 to 4096, "
		  "separated by commas" },
		{ "pollux,sizes=2,zzzzz", "zzzzz: unknown key, want min, max, sizes, "
		  "step, batch, max-batch, min-gpu-batch, "
		  "max-gpu-batch, mode, checkpoint, at-limit, pack or mix" },
		{ "pollux,sizes=2,4x", "sizes=4x: want GPUs from 1 to 4096, "
		  "separated by commas" },
		{ "pollux,sizes=2,0", "sizes=0: want GPUs from 1 to 4096, "
		  "separated by commas" },
		{ "pollux,sizes=2,8,4", "sizes=8,4: want rising numbers" },
		{ "pollux,sizes=2,2", "sizes=2,2: want rising numbers" },
		{ "pollux,sizes=2,sizes=4", "sizes: given twice" },
		{ "pollux,min=2,4", "4: unknown key, want min, max, sizes, "
		  "step, batch, max-batch, min-gpu-batch, "
		  "max-gpu-batch, mode, checkpoint, at-limit, pack or mix" },
		{ "pollux,sizes=1,2,4,max=3", "max=3: is none of sizes=1,2,4" },
		{ "pollux,min=3,sizes=1,2,4", "min=3: is none of sizes=1,2,4" },
		{ "pollux,sizes=4,8,max=2", "max=2: is none of sizes=4,8" },
		{ "pollux,sizes=2,4,min=4,max=2",
		  "max=2: is less than min=4" },
		{ "pollux,step=8,max=12", "max=12: is no multiple of step=8" },
		{ "pollux,step=8,min=4", "min=4: is no multiple of step=8" },
		{ "pollux,step=0", "step=0: want GPUs from 1 to 4096" },
		{ "pollux,step=8,sizes=8,16",
		  "step=8: sizes= was given, too" },
		/* clang-format on */
	};

	(void) state;
	refuse_all(cases, ARRAY_SIZE(cases));
}

static void the_help_names_every_key(void **state)
{
	static const char *const keys[] = {
		"min=",	  "max=",	 "sizes=",	   "step=",
		"batch=", "max-batch=",	 "min-gpu-batch=", "max-gpu-batch=",
		"mode=",  "checkpoint=", "at-limit=",	   "pack ",
		"mix=",
	};
	const char *line = plx_options_help();

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		assert_memory_equal(keys[i], line, strlen(keys[i]));
		assert_true(strcspn(line, "\n") <= 50);
		line += strcspn(line, "\n") + 1;
	}
	assert_string_equal("", line);
}

/* A hint with as many digits as there can be. */
static struct plx_hint long_hint(void)
{
	const double x = 1.23457e-10;

	return (struct plx_hint){
		.job = {
			.model = { x, x, x, x, x, x, 1.23457, 1.23457,
				   PLX_BY_DOUBLING, PLX_FURTHER_MAX, x },
			.noise = { x, x },
			.limits = { PLX_BATCH_MAX, PLX_BATCH_MAX,
				    PLX_BATCH_MAX, PLX_BATCH_MAX, true },
		},
		.profiled = { PLX_GPUS_MAX, PLX_GPUS_MAX },
		.now = { PLX_BATCH_MAX, PLX_BATCH_MAX },
		.progress = x,
		.samples_left = 1.23457e17,
		.restart_s = x,
		.lr = x,
		.speed = x,
		.goodput = x,
		.loss = -x,
	};
}

static void hint_text(const struct plx_hint *hint, char text[PLX_FIELDS_MAX])
{
	struct plx_writer w;

	plx_writer_init(&w, text, PLX_FIELDS_MAX);
	plx_hint_write(&w, hint);
	assert_false(w.overflow);
}

static void what_is_left_to_train_is_told(void **state)
{
	struct plx_hint hint = long_hint();
	struct plx_hint read;
	char text[PLX_FIELDS_MAX];
	struct plx_error err;

	(void) state;
	hint_text(&hint, text);
	assert_true(strlen(text) < 630);
	assert_int_equal(1, plx_hint_read(text, &read, &err));
	assert_true(read.samples_left == 1.23457e17);
	assert_true(read.speed == hint.speed);
	assert_int_equal(PLX_BY_DOUBLING, read.job.model.growth);
	assert_true(read.job.model.two_nodes == 1.23457);
	assert_int_equal(PLX_BATCH_MAX, read.now.accum);
}

static void a_hint_says_what_further_switches_cost(void **state)
{
	static const char *const wrong[] = {
		"nan,0", "-1,0", "inf,0", "101,0", "1", "1,0,0",
		"0,5",	 "0,-1", "0,1.5", "0,nan", "",	"x,0",
	};
	struct plx_hint hint = long_hint();
	struct plx_hint read;
	char text[PLX_FIELDS_MAX];
	char worse[PLX_FIELDS_MAX + 32];
	struct plx_error err;

	(void) state;
	hint_text(&hint, text);
	assert_int_equal(1, plx_hint_read(text, &read, &err));
	assert_true(read.job.model.per_switch == 1.23457e-10);
	assert_int_equal(PLX_FURTHER_MAX, read.job.model.further);
	hint.job.model.per_switch = hint.job.model.further = 0;
	hint_text(&hint, text);
	assert_null(strstr(text, "switches="));
	assert_int_equal(1, plx_hint_read(text, &read, &err));
	assert_true(read.job.model.per_switch == 0);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		snprintf(worse, sizeof(worse), "%s switches=%s", text,
			 wrong[i]);
		assert_int_equal(-1, plx_hint_read(worse, &read, &err));
	}
}

static void a_hint_says_on_which_type_it_was_measured(void **state)
{
	static const char *const wrong[] = { "a\"b", "a=b", "%n", "a/b" };
	struct plx_hint hint = long_hint();
	struct plx_hint read;
	char text[PLX_FIELDS_MAX];
	char worse[PLX_FIELDS_MAX + 16];
	struct plx_error err;

	(void) state;
	memset(hint.type, 'x', sizeof(hint.type) - 1);
	hint_text(&hint, text);
	assert_true(strlen(text) < 770);
	assert_int_equal(1, plx_hint_read(text, &read, &err));
	assert_string_equal(hint.type, read.type);
	/* One more is too long. */
	snprintf(worse, sizeof(worse), "%sx", text);
	assert_int_equal(-1, plx_hint_read(worse, &read, &err));
	memset(hint.type, 0, sizeof(hint.type));
	hint_text(&hint, text);
	assert_int_equal(1, plx_hint_read(text, &read, &err));
	assert_string_equal("", read.type);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(worse, sizeof(worse), "%s type=%s", text, wrong[i]);
		assert_int_equal(-1, plx_hint_read(worse, &read, &err));
	}
}

/* As those of an earlier libpollux are. */
static void a_hint_need_not_tell_what_is_left(void **state)
{
	struct plx_hint hint = long_hint();
	struct plx_hint read;
	char text[PLX_FIELDS_MAX];

	(void) state;
	hint.samples_left = 0;
	hint_text(&hint, text);
	assert_null(strstr(text, "left="));
	assert_int_equal(1, plx_hint_read(text, &read, NULL));
	assert_true(read.samples_left == 0);
}

static void what_is_left_must_be_a_number_of_samples(void **state)
{
	static const char *const bad[] = { "nan", "-1", "inf", "1e19", "x" };
	struct plx_hint hint = long_hint();
	struct plx_hint read;
	char text[PLX_FIELDS_MAX];
	struct plx_error err;

	(void) state;
	hint.samples_left = 0;
	hint_text(&hint, text);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char with[PLX_FIELDS_MAX + 16];

		snprintf(with, sizeof(with), "%s left=%s", text, bad[i]);
		assert_int_equal(-1, plx_hint_read(with, &read, &err));
		assert_non_null(strstr(err.text, "left: want 1 number"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(a_field_that_does_not_fit_is_left_out_whole),
		cmocka_unit_test(a_value_cannot_break_out_of_its_field),
		cmocka_unit_test(prose_is_never_searched_for_keys),
		cmocka_unit_test(a_key_inside_another_is_not_found),
		cmocka_unit_test(a_text_without_an_end_is_not_read),
		cmocka_unit_test(a_number_is_decimal_and_nothing_else),
		cmocka_unit_test(a_list_has_exactly_as_many_numbers_as_wanted),
		cmocka_unit_test(a_whole_number_out_of_range_names_the_range),
		cmocka_unit_test(the_locale_changes_nothing),
		cmocka_unit_test(every_byte_of_the_users_comment_survives),
		cmocka_unit_test(a_comment_may_be_missing),
		cmocka_unit_test(a_section_is_only_at_the_end),
		cmocka_unit_test(a_full_comment_is_left_as_it_is),
		cmocka_unit_test(options_that_are_not_given_have_defaults),
		cmocka_unit_test(every_option_reaches_its_field),
		cmocka_unit_test(sizes_are_a_list_or_a_step),
		cmocka_unit_test(a_bad_option_is_told_in_one_sentence),
		cmocka_unit_test(bad_sizes_are_told_in_one_sentence),
		cmocka_unit_test(the_help_names_every_key),
		cmocka_unit_test(what_is_left_to_train_is_told),
		cmocka_unit_test(a_hint_says_what_further_switches_cost),
		cmocka_unit_test(a_hint_says_on_which_type_it_was_measured),
		cmocka_unit_test(a_hint_need_not_tell_what_is_left),
		cmocka_unit_test(what_is_left_must_be_a_number_of_samples),
	};

	return cmocka_run_group_tests_name("texts", tests, NULL, NULL);
}
