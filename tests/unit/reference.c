/* SPDX-License-Identifier: MIT */
/* reference.c - numeric cases recorded from the published code */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "reference.h"

void reference_path(const char *file, char *path, size_t size)
{
	const char *shared = getenv("POLLUX_SHARED");
	const char *source = getenv("POLLUX_SRCDIR");

	if (shared)
		snprintf(path, size, "%s/data/reference/%s", shared, file);
	else
		snprintf(path, size, "%s/../shared/data/reference/%s",
			 source ? source : ".", file);
}

size_t reference_runnable(size_t tests, size_t recorded)
{
	char path[4096];

	reference_path("", path, sizeof(path));
	if (access(path, R_OK) == 0)
		return tests;
	printf("# %zu tests left out: no recorded cases in %s\n", recorded,
	       path);
	return tests - recorded;
}

json_t *reference_load(const char *file)
{
	char path[4096];
	json_error_t error;
	json_t *root;

	reference_path(file, path, sizeof(path));
	root = json_load_file(path, 0, &error);
	if (!root)
		fail_msg("%s:%d: %s", path, error.line, error.text);
	return root;
}

double reference_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_number(value))
		fail_msg("recorded case: no number %s", key);
	return json_number_value(value);
}

double reference_at(const json_t *object, const char *key, size_t index)
{
	const json_t *value =
		json_array_get(json_object_get(object, key), index);

	if (!json_is_number(value))
		fail_msg("recorded case: no number %s[%zu]", key, index);
	return json_number_value(value);
}

const char *reference_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (!text)
		fail_msg("recorded case: no text %s", key);
	return text;
}

struct plx_model reference_model(const json_t *params)
{
	return (struct plx_model){
		.alpha_c = reference_number(params, "alpha_c"),
		.beta_c = reference_number(params, "beta_c"),
		.alpha_n = reference_number(params, "alpha_n"),
		.beta_n = reference_number(params, "beta_n"),
		.alpha_r = reference_number(params, "alpha_r"),
		.beta_r = reference_number(params, "beta_r"),
		.gamma = reference_number(params, "gamma"),
	};
}

struct plx_noise reference_noise(const json_t *params)
{
	return (struct plx_noise){
		.sqr = reference_number(params, "sqr"),
		.var = reference_number(params, "var"),
	};
}

bool nearly(double a, double b, double relative)
{
	return a == b || fabs(a - b) <= relative * fmax(fabs(a), fabs(b));
}
