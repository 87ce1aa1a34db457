/* SPDX-License-Identifier: MIT */
/* spank.h - as much of SPANK as our plugin needs, for fuzzers alone */
#ifndef SPANK_H
#define SPANK_H

#include <stdio.h>

#define SPANK_PLUGIN(name, version)
#define slurm_error(...)   ((void) snprintf(NULL, 0, __VA_ARGS__))
#define slurm_verbose(...) ((void) snprintf(NULL, 0, __VA_ARGS__))
#define slurm_info(...)	   ((void) snprintf(NULL, 0, __VA_ARGS__))

enum { ESPANK_SUCCESS, ESPANK_BAD_ARG };
enum { S_CTX_ALLOCATOR, S_CTX_JOB_SCRIPT, S_CTX_LOCAL, S_CTX_REMOTE };
enum {
	S_JOB_ID,
	S_JOB_UID,
	S_JOB_STEPID,
	S_JOB_LOCAL_TASK_COUNT,
	S_JOB_ALLOC_CORES
};

typedef struct spank_handle *spank_t;

struct spank_option {
	char *name;
	char *arginfo;
	char *usage;
	int has_arg;
	int val;
	int (*cb)(int val, const char *text, int remote);
};

static inline int spank_context(void)
{
	return S_CTX_JOB_SCRIPT;
}

static inline int spank_option_register(spank_t spank, struct spank_option *o)
{
	(void) spank;
	(void) o;
	return ESPANK_SUCCESS;
}

static inline int spank_getenv(spank_t spank, const char *name, char *text,
			       int size)
{
	(void) spank;
	(void) name;
	(void) text;
	(void) size;
	return ESPANK_BAD_ARG;
}

static inline int spank_setenv(spank_t spank, const char *name,
			       const char *text, int overwrite)
{
	(void) spank;
	(void) name;
	(void) text;
	return overwrite ? ESPANK_SUCCESS : ESPANK_BAD_ARG;
}

static inline int spank_get_item(spank_t spank, int item, void *value)
{
	(void) spank;
	(void) item;
	(void) value;
	return ESPANK_BAD_ARG;
}

int slurm_spank_init(spank_t spank, int ac, char **av);
int slurm_spank_task_post_fork(spank_t spank, int ac, char **av);
int slurm_spank_exit(spank_t spank, int ac, char **av);
int slurm_spank_user_init(spank_t spank, int ac, char **av);

#endif
