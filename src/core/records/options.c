/* SPDX-License-Identifier: MIT */
/* options.c - what a user may ask: --scheduler-params=pollux[,key=value...] */

#include <stddef.h>
#include <stdbool.h>
#include <string.h>

#include "core/records/options.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define NAME	   "pollux"
#define WORD	   ""	/* in place of a unit: it has no value */
#define LIST	   "\n" /* in place of a unit: it is a list of sizes */
#define ITEM_SIZE  64	/* of an item with its final NUL */
#define SHOWN_SIZE 40
#define TYPO_MAX   2 /* edits between a key and what was meant */

/*
 * All options: key, field, unit, largest value, and the meaning for --help.
 * A macro, so that the help text is a constant.
 */
/* clang-format off */
#define OPTIONS(X) \
	X("min", min_gpus, "GPUs", PLX_GPUS_MAX, \
	  "min=GPUS               fewest GPUs to run on (1)") \
	X("max", max_gpus, "GPUs", PLX_GPUS_MAX, \
	  "max=GPUS               most GPUs (the cluster)") \
	X("sizes", sizes, LIST, PLX_GPUS_MAX, \
	  "sizes=GPUS,GPUS,...    on these numbers only") \
	X("step", sizes.step, "GPUs", PLX_GPUS_MAX, \
	  "step=GPUS              on multiples of it only") \
	X("batch", base_batch, "samples", PLX_BATCH_MAX, \
	  "batch=SAMPLES          total batch size tuned for") \
	X("max-batch", max_batch, "samples", PLX_BATCH_MAX, \
	  "max-batch=SAMPLES      largest total batch size") \
	X("min-gpu-batch", min_gpu_batch, "samples", PLX_BATCH_MAX, \
	  "min-gpu-batch=SAMPLES  fewest per GPU and pass") \
	X("max-gpu-batch", max_gpu_batch, "samples", PLX_BATCH_MAX, \
	  "max-gpu-batch=SAMPLES  most per GPU and pass") \
	X("mode", mode, NULL, 0, \
	  "mode=live|requeue      resized or requeued (live)") \
	X("checkpoint", checkpoint_s, "seconds", PLX_CHECKPOINT_MAX_S, \
	  "checkpoint=SECONDS     most lost by a requeue") \
	X("at-limit", at_limit, NULL, 0, \
	  "at-limit=end|requeue   after its time limit (end)") \
	X("pack", pack, WORD, 1, \
	  "pack                   start on few nodes only") \
	X("mix", mix, NULL, 0, \
	  "mix=no|yes             types of GPUs at once (no)")
/* clang-format on */

#define TABLE_ROW(k, field, u, most, meaning)                                  \
	{                                                                      \
		.key = k,                                                      \
		.unit = u,                                                     \
		.max = most,                                                   \
		.offset = offsetof(struct plx_options, field),                 \
	},
#define HELP_LINE(k, field, u, most, meaning) meaning "\n"

static const struct option {
	const char *key;
	/* NULL: one of two words, not a number; or WORD, or LIST */
	const char *unit;
	int max;       /* the smallest is 1 */
	size_t offset; /* in struct plx_options */
} table[] = { OPTIONS(TABLE_ROW) };

/* Of options that are one of two words: 0 is the default. */
static const struct {
	const char *key;
	const char *words[2];
} choices[] = {
	{ "mode",
	  { [PLX_MODE_LIVE] = "live", [PLX_MODE_REQUEUE] = "requeue" } },
	{ "at-limit",
	  { [PLX_LIMIT_END] = "end", [PLX_LIMIT_REQUEUE] = "requeue" } },
	{ "mix", { "no", "yes" } },
};

/* Pairs of which the second may not be less than the first. */
static const struct {
	const char *low;
	const char *high;
} ordered[] = {
	{ "min", "max" },
	{ "batch", "max-batch" },
	{ "min-gpu-batch", "max-gpu-batch" },
	{ "min-gpu-batch", "max-batch" },
};

const char *plx_options_help(void)
{
	return OPTIONS(HELP_LINE);
}

static int *field(struct plx_options *options, const struct option *option)
{
	return (int *) ((char *) options + option->offset);
}

/* What the user wrote, fit for a terminal and a log: short and printable. */
static const char *shown(const char *text, size_t length, char out[SHOWN_SIZE])
{
	size_t i;

	for (i = 0; i < length && i < SHOWN_SIZE - 4; i++)
		out[i] = text[i] >= ' ' && text[i] < 127 ? text[i] : '?';
	strcpy(out + i, i < length ? "..." : "");
	return out;
}

static int min3(int a, int b, int c)
{
	int least = a < b ? a : b;

	return least < c ? least : c;
}

/* Levenshtein's distance; both shorter than ITEM_SIZE. */
static int distance(const char *a, const char *b)
{
	int row[ITEM_SIZE + 1];
	int columns = (int) strlen(b);

	for (int j = 0; j <= columns; j++)
		row[j] = j;
	for (int i = 0; a[i]; i++) {
		int diagonal = row[0]++;

		for (int j = 0; j < columns; j++) {
			int above = row[j + 1];

			row[j + 1] = min3(above + 1, row[j] + 1,
					  diagonal + (a[i] != b[j]));
			diagonal = above;
		}
	}
	return row[columns];
}

static int unknown_key(const char *key, struct plx_error *err)
{
	const struct option *nearest = NULL;
	char seen[SHOWN_SIZE];
	int least = TYPO_MAX + 1;

	shown(key, strlen(key), seen);
	for (size_t i = 0; i < COUNT(table); i++) {
		int edits = distance(key, table[i].key);

		/* A key of which nothing is right is no typing error. */
		if (edits < least && edits < (int) strlen(table[i].key)) {
			least = edits;
			nearest = &table[i];
		}
	}
	if (nearest)
		return plx_fail(err, "%s: unknown key, did you mean %s?", seen,
				nearest->key);
	return plx_fail(err,
			"%s: unknown key, want min, max, sizes, step, batch, "
			"max-batch, min-gpu-batch, max-gpu-batch, mode, "
			"checkpoint, at-limit, pack or mix",
			seen);
}

static const struct option *find_option(const char *key)
{
	for (size_t i = 0; i < COUNT(table); i++) {
		if (!strcmp(table[i].key, key))
			return &table[i];
	}
	return NULL;
}

/* 1 to max, in decimal digits and nothing else; -1 for all other texts. */
static int read_value(const char *text, int max)
{
	long value = 0;

	if (!*text)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		value = value * 10 + (*text - '0');
		if (value > max)
			return -1;
	}
	return value >= 1 ? (int) value : -1;
}

static const char *const *words_of(const struct option *option)
{
	for (size_t i = 1; i < COUNT(choices); i++) {
		if (!strcmp(option->key, choices[i].key))
			return choices[i].words;
	}
	return choices[0].words;
}

/* One of its words, as its number; -1 for all others. */
static int read_word(const struct option *option, const char *text)
{
	for (int i = 0; i < 2; i++) {
		if (!strcmp(text, words_of(option)[i]))
			return i;
	}
	return -1;
}

/* The value of an option, or -1 with err set. */
static int take_value(const struct option *option, const char *text,
		      struct plx_error *err)
{
	char seen[SHOWN_SIZE];
	int value = option->unit ? read_value(text, option->max)
				 : read_word(option, text);

	shown(text, strlen(text), seen);
	if (value >= 0)
		return value;
	if (!option->unit)
		return plx_fail(err, "%s=%s: want %s or %s", option->key, seen,
				words_of(option)[0], words_of(option)[1]);
	return plx_fail(err, "%s=%s: want %s from 1 to %d", option->key, seen,
			option->unit, option->max);
}

static bool is_word(const struct option *option)
{
	return option->unit && !*option->unit;
}

static bool is_list(const struct option *option)
{
	return option->unit && *option->unit == *LIST;
}

static int add_size(struct plx_sizes *sizes, const char *text,
		    struct plx_error *err)
{
	char seen[SHOWN_SIZE];
	int size = read_value(text, PLX_GPUS_MAX);
	int last = sizes->count ? sizes->list[sizes->count - 1] : 0;

	if (size < 0)
		return plx_fail(err,
				"sizes=%s: want GPUs from 1 to %d, separated "
				"by commas",
				shown(text, strlen(text), seen), PLX_GPUS_MAX);
	if (size <= last)
		return plx_fail(err, "sizes=%d,%d: want rising numbers", last,
				size);
	if (sizes->count == PLX_SIZES_MAX)
		return plx_fail(err, "sizes=: want at most %d numbers",
				PLX_SIZES_MAX);
	sizes->list[sizes->count++] = size;
	return 0;
}

/* What follows the key: NULL when that is nothing. -1 with err set. */
static int read_rest(const struct option *option, const char *text,
		     struct plx_error *err)
{
	if (is_word(option))
		return text ? plx_fail(err, "%s: is a word, without a value",
				       option->key)
			    : 1;
	if (!text && is_list(option))
		return plx_fail(err, "sizes: want sizes=NUMBER,NUMBER,...");
	if (!text && option->unit)
		return plx_fail(err, "%s: want %s=NUMBER", option->key,
				option->key);
	if (!text)
		return plx_fail(err, "%s: want %s=%s|%s", option->key,
				option->key, words_of(option)[0],
				words_of(option)[1]);
	return take_value(option, text, err);
}

/* What has been read so far. */
struct reading {
	struct plx_options options;
	unsigned given; /* one bit for each row of the table */
	bool listing;	/* the last item was a size: others may follow */
};

static unsigned bit_of(const char *key)
{
	return 1u << (find_option(key) - table);
}

/* One "key=value", or one more size. */
static int read_item(char *item, struct reading *reading, struct plx_error *err)
{
	char *equals = strchr(item, '=');
	const struct option *option;
	int value;

	if (reading->listing && *item >= '0' && *item <= '9')
		return add_size(&reading->options.sizes, item, err);
	if (equals)
		*equals = '\0';
	option = find_option(item);
	if (!option)
		return unknown_key(item, err);
	if (reading->given & bit_of(item))
		return plx_fail(err, "%s: given twice", option->key);
	reading->given |= bit_of(item);
	reading->listing = is_list(option) && equals;
	if (reading->listing)
		return add_size(&reading->options.sizes, equals + 1, err);
	value = read_rest(option, equals ? equals + 1 : NULL, err);
	if (value < 0)
		return -1;
	*field(&reading->options, option) = value;
	return 0;
}

/* What has a meaning in one mode alone. */
static int check_mode(const struct plx_options *options, struct plx_error *err)
{
	if (options->checkpoint_s && options->mode != PLX_MODE_REQUEUE)
		return plx_fail(err,
				"checkpoint=%d: is of use with mode=requeue "
				"alone",
				options->checkpoint_s);
	return 0;
}

static int check_order(struct plx_options *options, struct plx_error *err)
{
	for (size_t i = 0; i < COUNT(ordered); i++) {
		int low = *field(options, find_option(ordered[i].low));
		int high = *field(options, find_option(ordered[i].high));

		if (low && high && high < low)
			return plx_fail(err, "%s=%d: is less than %s=%d",
					ordered[i].high, high, ordered[i].low,
					low);
	}
	return 0;
}

/* A limit that was given is one of the sizes. */
static int check_limit(const char *key, int gpus, const struct plx_sizes *sizes,
		       struct plx_error *err)
{
	char text[PLX_SIZES_TEXT];

	if (plx_sizes_allow(sizes, gpus))
		return 0;
	plx_sizes_text(sizes, text, sizeof(text));
	return plx_fail(err, "%s=%d: is %s %s", key, gpus,
			sizes->step ? "no multiple of" : "none of", text);
}

static void drop_outside(struct plx_options *options)
{
	struct plx_sizes *sizes = &options->sizes;
	int kept = 0;

	for (int i = 0; i < sizes->count; i++) {
		if (sizes->list[i] >= options->min_gpus &&
		    sizes->list[i] <= options->max_gpus)
			sizes->list[kept++] = sizes->list[i];
	}
	sizes->count = kept;
}

/* Sizes and limits agree; without a limit, the sizes are one. */
static int settle_sizes(struct reading *reading, struct plx_error *err)
{
	struct plx_options *options = &reading->options;
	struct plx_sizes *sizes = &options->sizes;

	if (!plx_sizes_given(sizes))
		return 0;
	if (sizes->step && sizes->count)
		return plx_fail(err, "step=%d: sizes= was given, too",
				sizes->step);
	if (!(reading->given & bit_of("min")))
		options->min_gpus = plx_sizes_up(sizes, 1);
	if (!options->max_gpus && sizes->count)
		options->max_gpus = sizes->list[sizes->count - 1];
	if (check_limit("min", options->min_gpus, sizes, err) < 0 ||
	    (options->max_gpus &&
	     check_limit("max", options->max_gpus, sizes, err) < 0))
		return -1;
	drop_outside(options);
	return 0;
}

static int read_name(const char *text, size_t length, struct plx_error *err)
{
	char seen[SHOWN_SIZE];

	if (length == strlen(NAME) && !memcmp(text, NAME, length))
		return 0;
	return plx_fail(err,
			"\"%s\": unknown scheduler, want " NAME
			"[,key=value...]",
			shown(text, length, seen));
}

int plx_options_parse(const char *text, struct plx_options *options,
		      struct plx_error *err)
{
	struct reading read = { .options = { .min_gpus = 1 } };
	size_t length = strcspn(text, ",");
	char item[ITEM_SIZE];

	if (read_name(text, length, err) < 0)
		return -1;
	for (text += length; *text == ','; text += length) {
		text++;
		length = strcspn(text, ",");
		if (!length)
			return plx_fail(err, "a comma without key=value");
		if (length >= sizeof(item))
			return plx_fail(err, "%s: longer than any key=value",
					shown(text, length, item));
		memcpy(item, text, length);
		item[length] = '\0';
		if (read_item(item, &read, err) < 0)
			return -1;
	}
	if (settle_sizes(&read, err) < 0 ||
	    check_order(&read.options, err) < 0 ||
	    check_mode(&read.options, err) < 0)
		return -1;
	*options = read.options;
	return 0;
}
