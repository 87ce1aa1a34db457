/* SPDX-License-Identifier: MIT */
/* emulate.c - how long other hardware would take, by a model in a few numbers
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulate.h"
#include "emulate_parts.h"

/* Seconds; see pollux(7), THE MODEL. */
struct model {
	double alpha_c, beta_c; /* pass: fixed, per sample */
	double alpha_n, beta_n; /* all-reduce over nodes: fixed, per GPU > 2 */
	double alpha_r, beta_r; /* all-reduce in a node: fixed, per GPU > 2 */
	double gamma;		/* overlap, 1 to 10 */
};

struct emulation {
	struct model model;
	struct traces *traces; /* NULL: the model counts */
};

/* Small and quick, so that a test on a laptop sees many steps. */
static const struct {
	const char *name;
	struct model model;
} builtins[] = {
	/* clang-format off */
	/* pays to grow over nodes */
	{ "compute", { 0.004, 0.00050, 0.006, 0.0002, 0.002, 0.0001, 2.0 } },
	/* pays to grow within a node, hardly over nodes */
	{ "network", { 0.004, 0.00020, 0.040, 0.0020, 0.003, 0.0002, 1.5 } },
	/* the same whatever the batch: pays to use large ones */
	{ "fixed",   { 0.010, 0.00001, 0.008, 0.0002, 0.004, 0.0001, 1.0 } },
	/* clang-format on */
};

#define BUILTINS (sizeof(builtins) / sizeof(builtins[0]))

int emulate_fail(char error[EMULATE_ERROR_SIZE], const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(error, EMULATE_ERROR_SIZE, fmt, args);
	va_end(args);
	return -1;
}

const char *emulation_builtins(void)
{
	return "compute, network, fixed";
}

/* A file's keys, and where their numbers go. */
static const struct {
	const char *name;
	size_t offset;
} keys[] = {
	{ "alpha_c", offsetof(struct model, alpha_c) },
	{ "beta_c", offsetof(struct model, beta_c) },
	{ "alpha_n", offsetof(struct model, alpha_n) },
	{ "beta_n", offsetof(struct model, beta_n) },
	{ "alpha_r", offsetof(struct model, alpha_r) },
	{ "beta_r", offsetof(struct model, beta_r) },
	{ "gamma", offsetof(struct model, gamma) },
};

#define SECONDS_MAX 1e6

#define KEYS (sizeof(keys) / sizeof(keys[0]))

static int read_line(const char *line, struct model *model, bool seen[KEYS],
		     char error[EMULATE_ERROR_SIZE])
{
	char key[32];
	double value;
	char rest;
	int got = sscanf(line, " %31s %lf %c", key, &value, &rest);

	if (got < 1 || key[0] == '#')
		return 0;
	if (got == 1 || (got == 3 && rest != '#') || !isfinite(value) ||
	    value < 0 || value > SECONDS_MAX)
		return emulate_fail(error, "want \"%s SECONDS\"", key);
	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(key, keys[i].name) != 0)
			continue;
		*(double *) ((char *) model + keys[i].offset) = value;
		seen[i] = true;
		return 0;
	}
	return emulate_fail(error, "unknown key \"%s\"", key);
}

static int check_model(const struct model *m, const bool seen[KEYS],
		       char error[EMULATE_ERROR_SIZE])
{
	for (size_t i = 0; i < KEYS; i++) {
		if (!seen[i])
			return emulate_fail(error, "%s is missing",
					    keys[i].name);
	}
	if (m->gamma < 1 || m->gamma > 10)
		return emulate_fail(error, "gamma is %g, want 1 to 10",
				    m->gamma);
	return 0;
}

static int read_model(const char *path, struct model *model,
		      char error[EMULATE_ERROR_SIZE])
{
	char why[EMULATE_ERROR_SIZE] = "";
	bool seen[KEYS] = { false };
	char line[256];
	int number = 0;
	int rc = 0;
	FILE *file = fopen(path, "r");

	if (!file)
		return emulate_fail(error, "profile %.150s: %s", path,
				    strerror(errno));
	while (rc == 0 && fgets(line, sizeof(line), file)) {
		number++;
		rc = read_line(line, model, seen, why);
	}
	fclose(file);
	if (rc < 0)
		return emulate_fail(error, "profile %.120s, line %d: %.80s",
				    path, number, why);
	if (check_model(model, seen, why) < 0)
		return emulate_fail(error, "profile %.120s: %.80s", path, why);
	return 0;
}

static bool is_file(const char *text)
{
	size_t size = strlen(text);

	return strchr(text, '/') ||
	       (size > 8 && !strcmp(text + size - 8, ".profile"));
}

static int find_builtin(const char *name, struct model *model,
			char error[EMULATE_ERROR_SIZE])
{
	for (size_t i = 0; i < BUILTINS; i++) {
		if (!strcmp(name, builtins[i].name)) {
			*model = builtins[i].model;
			return 0;
		}
	}
	return emulate_fail(error,
			    "profile \"%.80s\": want one of %s, or a file",
			    name, emulation_builtins());
}

struct emulation *emulation_profile(const char *text,
				    char error[EMULATE_ERROR_SIZE])
{
	struct emulation *e = calloc(1, sizeof(*e));
	int rc;

	if (!e) {
		emulate_fail(error, "out of memory");
		return NULL;
	}
	rc = is_file(text) ? read_model(text, &e->model, error)
			   : find_builtin(text, &e->model, error);
	if (rc < 0) {
		free(e);
		return NULL;
	}
	return e;
}

struct emulation *emulation_traces(const char *folder,
				   char error[EMULATE_ERROR_SIZE])
{
	struct emulation *e = calloc(1, sizeof(*e));

	if (!e) {
		emulate_fail(error, "out of memory");
		return NULL;
	}
	e->traces = traces_read(folder, error);
	if (!e->traces) {
		free(e);
		return NULL;
	}
	return e;
}

void emulation_destroy(struct emulation *emulation)
{
	if (!emulation)
		return;
	traces_destroy(emulation->traces);
	free(emulation);
}

static struct emulated model_times(const struct model *m, int nodes, int gpus,
				   int per_gpu)
{
	double pass = m->alpha_c + m->beta_c * per_gpu;
	double more = gpus > 2 ? gpus - 2 : 0;
	double sync = nodes > 1 ? m->alpha_n + m->beta_n * more
				: m->alpha_r + m->beta_r * more;
	double both;

	if (gpus < 2)
		sync = 0;
	both = pow(pow(pass, m->gamma) + pow(sync, m->gamma), 1 / m->gamma);
	return (struct emulated){ .pass_s = pass,
				  .sync_s = fmax(both - pass, 0) };
}

struct emulated emulation_times(const struct emulation *emulation, int nodes,
				int gpus, int per_gpu)
{
	if (emulation->traces)
		return traces_times(emulation->traces, nodes, gpus, per_gpu);
	return model_times(&emulation->model, nodes, gpus, per_gpu);
}
