/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elastic.c - is this job elastic, and what did its user allow? */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/elastic.h"

/* As SPANK names the option "scheduler-params" of plugin "pollux". */
static const char prefix[] = "_SLURM_SPANK_OPTION_pollux_scheduler_params=";

static const char nodes_prefix[] = "_POLLUX_NODES=";
static const char pack_suffix[] = ",pack";
static const char switches_suffix[] = ",switches";

const char *elastic_text(char **spank_job_env, uint32_t count)
{
	size_t length = sizeof(prefix) - 1;

	for (uint32_t i = 0; spank_job_env && i < count; i++) {
		if (spank_job_env[i] &&
		    !strncmp(spank_job_env[i], prefix, length))
			return spank_job_env[i] + length;
	}
	return NULL;
}

int elastic_check_env(char **spank_job_env, uint32_t count,
		      struct plx_error *err)
{
	size_t bytes = 0;

	if (count > ELASTIC_ENV_ENTRIES)
		return plx_fail(err,
				"%u SPANK options and variables; at most %d",
				count, ELASTIC_ENV_ENTRIES);
	for (uint32_t i = 0; spank_job_env && i < count; i++)
		bytes += spank_job_env[i] ? strlen(spank_job_env[i]) : 0;
	if (bytes > ELASTIC_ENV_BYTES)
		return plx_fail(err,
				"%zu bytes of SPANK options and variables; at "
				"most %d",
				bytes, ELASTIC_ENV_BYTES);
	return 0;
}

int elastic_options(char **spank_job_env, uint32_t count,
		    struct plx_options *options, struct plx_error *err)
{
	const char *text = elastic_text(spank_job_env, count);

	if (!text)
		return 0;
	return plx_options_parse(text, options, err) < 0 ? -1 : 1;
}

/* A number of up to five digits at *text, and on to what follows it. */
static bool read_count(const char **text, uint32_t *count)
{
	int digits = 0;

	*count = 0;
	for (; **text >= '0' && **text <= '9' && digits < 6; (*text)++) {
		*count = *count * 10 + (uint32_t) (**text - '0');
		digits++;
	}
	return digits > 0 && digits < 6;
}

bool elastic_is_nodes(const char *text)
{
	return text && !strncmp(text, nodes_prefix, sizeof(nodes_prefix) - 1);
}

/* Does the text go on so? Then on to what follows. */
static bool read_word(const char **text, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(*text, word, length) != 0)
		return false;
	*text += length;
	return true;
}

struct elastic_nodes elastic_read_nodes(char **spank_job_env, uint32_t count)
{
	struct elastic_nodes none = { 0 };

	for (uint32_t i = count; spank_job_env && i > 0; i--) {
		struct elastic_nodes nodes;
		const char *text = spank_job_env[i - 1];

		if (!elastic_is_nodes(text))
			continue;
		text += sizeof(nodes_prefix) - 1;
		if (!read_count(&text, &nodes.min) || *text++ != '-' ||
		    !read_count(&text, &nodes.max) ||
		    (nodes.max && nodes.max < nodes.min))
			return none;
		nodes.pack = read_word(&text, pack_suffix);
		nodes.switches = read_word(&text, switches_suffix);
		return *text ? none : nodes;
	}
	return none;
}

const char *elastic_write_nodes(struct elastic_nodes nodes, char *text)
{
	if (nodes.min <= 1 && !nodes.max && !nodes.pack && !nodes.switches)
		return NULL;
	snprintf(text, ELASTIC_NODES_SIZE, "%s%u-%u%s%s", nodes_prefix,
		 nodes.min, nodes.max, nodes.pack ? pack_suffix : "",
		 nodes.switches ? switches_suffix : "");
	return text;
}
