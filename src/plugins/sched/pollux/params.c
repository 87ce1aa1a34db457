/* SPDX-License-Identifier: GPL-2.0-or-later */
/* params.c - what the administrator sets: SchedulerParameters=pollux_* */

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/slurm_compat.h"
#include "core/problem/objective.h"
#include "sched/pollux/params.h"

#define PREFIX "pollux_"

enum kind {
	NUMBER,
	MINUTES,
	YES_NO,
	WEIGHTS,
	UNIFORM,
	BACK,
	FOLDER,
	FILE_OR_NO,
	RANGE
};

struct rule {
	const char *key;
	size_t offset;
	enum kind kind;
	double low, high; /* of a number */
	double standard;  /* default */
	const char *want; /* ends "want ..." */
};

#define AT(field) offsetof(struct pollux_params, field)

/* clang-format off */
static const struct rule rules[] = {
	{ "interval", AT(interval_s), NUMBER, 0.1, 86400, 60,
	  "seconds from 0.1 to 86400" },
	{ "min_gap", AT(min_gap_s), NUMBER, 0.05, 3600, 1,
	  "seconds from 0.05 to 3600" },
	{ "ack_timeout", AT(ack_timeout_s), NUMBER, 1, 3600, 60,
	  "seconds from 1 to 3600" },
	{ "lease", AT(lease_s), NUMBER, 0, 86400, 300,
	  "seconds from 0 to 86400" },
	{ "busy", AT(busy_s), NUMBER, 0, 86400, 600,
	  "seconds from 0 to 86400" },
	{ "unconfirmed", AT(unconfirmed_s), NUMBER, 1, 86400, 600,
	  "seconds from 1 to 86400" },
	{ "patience", AT(reservation_timeout_s), NUMBER, 1, 86400, 60,
	  "seconds from 1 to 86400" },
	{ "preempt_wait", AT(preempt_wait_s), NUMBER, 0, 3600, 90,
	  "seconds from 0 to 3600" },
	{ "sick", AT(sick_s), NUMBER, 0, 86400, 300,
	  "seconds from 0 to 86400" },
	{ "requeue_min", AT(requeue_min_s), MINUTES, 0, 1440, 10,
	  "minutes from 0 to 1440" },
	{ "fairness", AT(fairness), NUMBER, -10, 1, PLX_FAIRNESS,
	  "a number from -10 to 1, or min" },
	{ "uniform", AT(uniform), UNIFORM, 0, 0, POLLUX_UNIFORM_MOSTLY,
	  "mostly, yes or no" },
	{ "switch_cost", AT(switch_cost), NUMBER, 0, 1000,
	  100 * PLX_SWITCH_COST, "a number of per cent from 0 to 1000" },
	{ "interference", AT(interference), YES_NO, 0, 1, 1, "yes or no" },
	{ "weigh", AT(weights), WEIGHTS, 0, 0, POLLUX_WEIGHTS_SERVICE,
	  "service, left or no" },
	{ "time_back", AT(time_back), BACK, 0, 0, POLLUX_BACK_PARKED,
	  "parked, share or no" },
	{ "utility", AT(utility), RANGE, 0.01, 10, 0,
	  "LOW-HIGH, two numbers from 0.01 to 10" },
	{ "scale_nodes", AT(scale_nodes), RANGE, 0, 1e6, 0,
	  "MIN-MAX, two numbers of nodes" },
	{ "scale_window", AT(scale_window_s), NUMBER, 0, 86400, 300,
	  "seconds from 0 to 86400" },
	{ "enabled", AT(enabled), YES_NO, 0, 1, 1, "yes or no" },
	{ "backfill", AT(backfill), YES_NO, 0, 1, 1, "yes or no" },
	{ "dump", AT(dump), FOLDER, 0, 0, 0,
	  "the path of a folder, from /, of at most 255 characters" },
	{ "metrics", AT(metrics), FILE_OR_NO, 0, 0, 0,
	  "no, or the path of a file, from /, of at most 255 characters" },
};
/* clang-format on */

static const char *const weights[] = {
	[POLLUX_WEIGHTS_NO] = "no",
	[POLLUX_WEIGHTS_SERVICE] = "service",
	[POLLUX_WEIGHTS_LEFT] = "left",
};

static const char *const shapes[] = {
	[POLLUX_UNIFORM_NO] = "no",
	[POLLUX_UNIFORM_YES] = "yes",
	[POLLUX_UNIFORM_MOSTLY] = "mostly",
};

static const char *const backs[] = {
	[POLLUX_BACK_NO] = "no",
	[POLLUX_BACK_PARKED] = "parked",
	[POLLUX_BACK_SHARE] = "share",
};

static void _set(const struct rule *rule, double value,
		 struct pollux_params *params)
{
	char *at = (char *) params + rule->offset;

	if (rule->kind == FOLDER || rule->kind == FILE_OR_NO)
		*at = '\0';
	else if (rule->kind == RANGE)
		*(struct pollux_range *) at = (struct pollux_range){ 0 };
	else if (rule->kind == YES_NO)
		*(bool *) at = value != 0;
	else if (rule->kind == WEIGHTS)
		*(enum pollux_weights *) at = (enum pollux_weights) value;
	else if (rule->kind == UNIFORM)
		*(enum pollux_uniform *) at = (enum pollux_uniform) value;
	else if (rule->kind == BACK)
		*(enum pollux_back *) at = (enum pollux_back) value;
	else if (rule->kind == MINUTES)
		*(double *) at = 60 * value;
	else
		*(double *) at = value;
}

static bool _word(const char *text, const char *const *words, size_t count,
		  double *value)
{
	for (size_t i = 0; i < count; i++) {
		*value = (double) i;
		if (!strcmp(text, words[i]))
			return true;
	}
	return false;
}

/* False when the text is not a value of this key. */
static bool _value(const struct rule *rule, const char *text, double *value)
{
	char *end = NULL;

	if (rule->kind == WEIGHTS)
		return _word(text, weights, ARRAY_SIZE(weights), value);
	if (rule->kind == UNIFORM)
		return _word(text, shapes, ARRAY_SIZE(shapes), value);
	if (rule->kind == BACK)
		return _word(text, backs, ARRAY_SIZE(backs), value);
	if (rule->kind == YES_NO) {
		*value = !strcmp(text, "yes");
		return *value || !strcmp(text, "no");
	}
	if (rule->offset == AT(fairness) && !strcmp(text, "min")) {
		*value = -INFINITY;
		return true;
	}
	*value = strtod(text, &end);
	return end != text && !*end && isfinite(*value) &&
	       *value >= rule->low && *value <= rule->high;
}

/* "LOW-HIGH" */
static bool _range(const struct rule *rule, const char *text,
		   struct pollux_range *range)
{
	char *end = NULL;
	double low = strtod(text, &end);
	double high = 0;

	if (end == text || *end != '-' || end[1] == '-' || end[1] == '+')
		return false;
	text = end + 1;
	high = strtod(text, &end);
	if (end == text || *end || !(low >= rule->low) || !(low <= high) ||
	    !(high <= rule->high))
		return false;
	*range = (struct pollux_range){ .low = low, .high = high };
	return true;
}

/* Take a value; false when it is none of this key's. */
static bool _take(const struct rule *rule, const char *text,
		  struct pollux_params *params)
{
	double value = 0;

	if (rule->kind == FOLDER || rule->kind == FILE_OR_NO) {
		bool no = rule->kind == FILE_OR_NO && !strcmp(text, "no");

		if ((text[0] != '/' && !no) ||
		    strlen(text) >= POLLUX_FOLDER_SIZE)
			return false;
		strcpy((char *) params + rule->offset, text);
		return true;
	}
	if (rule->kind == RANGE)
		return _range(rule, text,
			      (struct pollux_range *) ((char *) params +
						       rule->offset));
	if (!_value(rule, text, &value))
		return false;
	_set(rule, value, params);
	return true;
}

static const struct rule *_find(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (!strcmp(rules[i].key, key))
			return &rules[i];
	}
	return NULL;
}

/* One word of SchedulerParameters, which may be cut into pieces. */
static void _read_word(char *word, struct pollux_params *params)
{
	const struct rule *rule = NULL;
	char *text = NULL;

	if (strncmp(word, PREFIX, strlen(PREFIX)))
		return;
	text = strchr(word, '=');
	if (text)
		*text++ = '\0';
	rule = _find(word + strlen(PREFIX));
	if (!rule) {
		error("sched/pollux: SchedulerParameters: %s is unknown and "
		      "ignored, see sched_pollux(5)",
		      word);
		return;
	}
	if (!text || !_take(rule, text, params))
		error("sched/pollux: SchedulerParameters: %s=%s: want %s; the "
		      "default is used",
		      word, text ? text : "", rule->want);
}

void pollux_params_read(const char *text, struct pollux_params *params)
{
	char *copy = xstrdup(text);
	char *rest = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		_set(&rules[i], rules[i].standard, params);
	for (char *word = copy ? strtok_r(copy, ",", &rest) : NULL; word;
	     word = strtok_r(NULL, ",", &rest))
		_read_word(word, params);
	xfree(copy);
	pollux_terms_read(text, &params->terms);
}
