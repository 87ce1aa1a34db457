/* SPDX-License-Identifier: GPL-2.0-or-later */
/* environ.c - the environment of the inner srun */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/ranks/environ.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct rule {
	const char *name;
	bool prefix; /* of a name, not the whole of it */
	bool passes;
};

/* The first rule that fits decides; what fits none passes. */
static const struct rule rules[] = {
	/* Where Slurm is, and tastes of the user that say nothing of shape. */
	{ "SLURM_CONF", false, true },
	{ "SLURM_DEBUG", false, true },
	{ "SLURM_LABELIO", false, true },
	{ "SLURM_UNBUFFEREDIO", false, true },
	{ "SLURM_TASK_PROLOG", false, true },
	{ "SLURM_TASK_EPILOG", false, true },
	{ "SLURM_NETWORK", false, true },
	/* Settings of Slurm's PMIx plugin, but for what it says to its own. */
	{ "SLURM_PMIX_MAPPING_SERV", false, false },
	{ "SLURM_PMIX_", true, true },
	{ "SLURM", true, false }, /* SLURMD_NODENAME too */
	{ "_SLURM", true, false },
	{ "SRUN_", true, false },
	{ "PMIX_MCA_", true, true },
	{ "PMIX_", true, false },
	{ "PMI_", true, false },
	{ "PMI2_", true, false },
	{ "OMPI_COMM_WORLD_", true, false },
	{ "CUDA_VISIBLE_DEVICES", false, false },
	{ "GPU_DEVICE_ORDINAL", false, false },
	{ "HIP_VISIBLE_DEVICES", false, false },
	{ "ROCR_VISIBLE_DEVICES", false, false },
	{ "ZE_AFFINITY_MASK", false, false },
	/* A launcher that is itself run by one has a word of its own here. */
	{ "POLLUX_WARM", false, false },
	{ "POLLUX_GPU_TYPE", false, false },
};

bool plx_environ_passes(const char *var)
{
	size_t length = strcspn(var, "=");

	for (size_t i = 0; i < COUNT(rules); i++) {
		size_t wanted = strlen(rules[i].name);

		if (strncmp(var, rules[i].name, wanted) != 0)
			continue;
		if (rules[i].prefix || wanted == length)
			return rules[i].passes;
	}
	return true;
}

/* var becomes the environment's, or is freed. */
static int append(struct plx_environ *env, char *var, struct plx_error *err)
{
	size_t size = ((size_t) env->count + 2) * sizeof(*env->vars);
	char **vars = var ? realloc(env->vars, size) : NULL;

	if (!vars) {
		free(var);
		return plx_fail(err, "out of memory");
	}
	vars[env->count++] = var;
	vars[env->count] = NULL;
	env->vars = vars;
	return 0;
}

int plx_environ_init(struct plx_environ *env, char *const *outer,
		     struct plx_error *err)
{
	*env = (struct plx_environ){ 0 };
	for (; *outer; outer++) {
		if (!plx_environ_passes(*outer))
			continue;
		if (append(env, strdup(*outer), err) < 0) {
			plx_environ_release(env);
			return -1;
		}
	}
	return 0;
}

int plx_environ_set(struct plx_environ *env, const char *name,
		    const char *value, struct plx_error *err)
{
	size_t length = strlen(name);
	char *var = NULL;

	if (asprintf(&var, "%s=%s", name, value) < 0)
		return plx_fail(err, "out of memory");
	for (int i = 0; i < env->count; i++) {
		if (!strncmp(env->vars[i], name, length) &&
		    env->vars[i][length] == '=') {
			free(env->vars[i]);
			env->vars[i] = var;
			return 0;
		}
	}
	return append(env, var, err);
}

void plx_environ_release(struct plx_environ *env)
{
	for (int i = 0; i < env->count; i++)
		free(env->vars[i]);
	free(env->vars);
	*env = (struct plx_environ){ 0 };
}
