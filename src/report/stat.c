/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stat.c - the numbers of sched/pollux, from the file it writes */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/stat.h"

#define PREFIX	    "pollux_"
#define SAMPLES_MAX 4096

/* Ours are: what is printed of them can neither steer nor be cut in two. */
static bool is_plain(const char *text)
{
	while (*text >= ' ' && *text < 127)
		text++;
	return !*text;
}

/* "pollux_name{labels} value", or what it is not: false. */
static bool read_sample(const char *line, struct plx_stat_sample *sample)
{
	size_t name = strcspn(line, "{ ");
	size_t skip = strlen(PREFIX);
	const char *at = line + name;
	char *end = NULL;
	size_t labels = 0;

	if (strncmp(line, PREFIX, skip) != 0 || name <= skip ||
	    name - skip >= sizeof(sample->name))
		return false;
	if (*at == '{') {
		labels = strcspn(++at, "}");
		if (at[labels] != '}' || labels >= sizeof(sample->labels))
			return false;
	}
	snprintf(sample->name, sizeof(sample->name), "%.*s",
		 (int) (name - skip), line + skip);
	snprintf(sample->labels, sizeof(sample->labels), "%.*s", (int) labels,
		 at);
	if (labels || *at == '}')
		at += labels + 1;
	sample->value = strtod(at, &end);
	return end != at && (*end == '\n' || !*end) && !isnan(sample->value) &&
	       is_plain(sample->name) && is_plain(sample->labels);
}

int plx_stat_read(const char *text, struct plx_stat *stat,
		  struct plx_error *err)
{
	struct plx_stat read = { .samples = NULL };
	size_t size = 0;

	for (const char *line = text; *line && read.count < SAMPLES_MAX;) {
		if (read.count == size) {
			size = size ? 2 * size : 128;
			void *more = realloc(read.samples,
					     size * sizeof(*read.samples));
			if (!more) {
				free(read.samples);
				return plx_fail(err, "no memory");
			}
			read.samples = more;
		}
		read.count += read_sample(line, &read.samples[read.count]);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	if (!read.count) {
		free(read.samples);
		return plx_fail(err, "no numbers of sched/pollux are in it");
	}
	*stat = read;
	return 0;
}

void plx_stat_release(struct plx_stat *stat)
{
	free(stat->samples);
	*stat = (struct plx_stat){ .count = 0 };
}

static const struct plx_stat_sample *find(const struct plx_stat *stat,
					  const char *name, const char *labels)
{
	for (size_t i = 0; i < stat->count; i++) {
		if (!strcmp(stat->samples[i].name, name) &&
		    !strcmp(stat->samples[i].labels, labels))
			return &stat->samples[i];
	}
	return NULL;
}

double plx_stat_value(const struct plx_stat *stat, const char *name,
		      const char *labels)
{
	const struct plx_stat_sample *sample = find(stat, name, labels);

	return sample ? sample->value : 0;
}

/* The bound of a bucket with these other labels; NAN: it is none. */
static double bound(const struct plx_stat_sample *sample, const char *bucket,
		    const char *labels)
{
	size_t length = strlen(labels);

	if (strcmp(sample->name, bucket) != 0 ||
	    strncmp(sample->labels, labels, length) != 0 ||
	    strncmp(sample->labels + length, "le=\"", 4) != 0)
		return NAN;
	return strtod(sample->labels + length + 4, NULL);
}

/* "name_seconds" has its largest in "name_longest_seconds". */
static double longest(const struct plx_stat *stat, const char *name,
		      const char *labels)
{
	size_t length = strlen(labels);
	size_t stem = strlen(name);
	char bare[96];
	char full[80];

	if (stem > 8)
		stem -= strlen("_seconds");
	snprintf(full, sizeof(full), "%.*s_longest_seconds", (int) stem, name);
	snprintf(bare, sizeof(bare), "%.*s", (int) (length ? length - 1 : 0),
		 labels);
	return plx_stat_value(stat, full, bare);
}

double plx_stat_quantile(const struct plx_stat *stat, const char *name,
			 const char *labels, double share)
{
	double most = longest(stat, name, labels);
	char bucket[80];
	double count = 0;

	snprintf(bucket, sizeof(bucket), "%s_bucket", name);
	for (size_t i = 0; i < stat->count; i++) {
		if (isinf(bound(&stat->samples[i], bucket, labels)))
			count = stat->samples[i].value;
	}
	for (size_t i = 0; i < stat->count; i++) {
		double at = bound(&stat->samples[i], bucket, labels);

		if (!isnan(at) && stat->samples[i].value >= share * count)
			return fmin(at, most);
	}
	return most;
}

/* "grow" of 'kind="grow"'. */
static void label_value(const char *labels, char *text, size_t size)
{
	const char *quote = strchr(labels, '"');

	snprintf(text, size, "%.*s",
		 (int) (quote ? strcspn(quote + 1, "\"") : 0),
		 quote ? quote + 1 : "");
}

static bool ends(const char *name, const char *end)
{
	size_t length = strlen(name);

	return length > strlen(end) &&
	       !strcmp(name + length - strlen(end), end);
}

/* The numbers of a histogram that its buckets stand for. */
static void add_quantiles(const struct plx_stat *stat,
			  const struct plx_stat_sample *sum, json_t *out)
{
	char name[64];
	char labels[100] = "";
	char key[80];

	snprintf(name, sizeof(name), "%.*s", (int) strlen(sum->name) - 4,
		 sum->name);
	if (sum->labels[0])
		snprintf(labels, sizeof(labels), "%s,", sum->labels);
	label_value(sum->labels, key, sizeof(key));
	json_object_set_new(
		out, key[0] ? key : "all",
		json_pack("{s:f, s:f, s:f}", "p50",
			  plx_stat_quantile(stat, name, labels, 0.5), "p99",
			  plx_stat_quantile(stat, name, labels, 0.99), "max",
			  longest(stat, name, labels)));
}

json_t *plx_stat_json(const struct plx_stat *stat)
{
	json_t *out = json_object();

	for (size_t i = 0; i < stat->count; i++) {
		const struct plx_stat_sample *sample = &stat->samples[i];
		char key[96];
		json_t *group;

		if (ends(sample->name, "_bucket"))
			continue;
		if (!sample->labels[0] && !ends(sample->name, "_sum")) {
			json_object_set_new(out, sample->name,
					    json_real(sample->value));
			continue;
		}
		snprintf(key, sizeof(key), "%s", sample->name);
		if (ends(key, "_sum"))
			snprintf(key, sizeof(key), "%.*s_quantiles",
				 (int) strlen(sample->name) - 4, sample->name);
		group = json_object_get(out, key);
		if (!group) {
			group = json_object();
			json_object_set_new(out, key, group);
		}
		if (ends(sample->name, "_sum")) {
			add_quantiles(stat, sample, group);
			continue;
		}
		label_value(sample->labels, key, sizeof(key));
		json_object_set_new(group, key, json_real(sample->value));
	}
	return out;
}
