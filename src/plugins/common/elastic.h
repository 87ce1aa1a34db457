/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elastic.h - is this job elastic, and what did its user allow?
 *
 * Shared by job_submit/pollux and sched/pollux. Pure: may be called under
 * any of slurmctld's locks.
 */
#ifndef POLLUX_COMMON_ELASTIC_H
#define POLLUX_COMMON_ELASTIC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/records/options.h"

/*
 * Find the text of --scheduler-params in a job's spank_job_env (count
 * strings, may be NULL) and parse it. 1: elastic; 0: not; -1: elastic but
 * broken, err says why. options is written for 1 only.
 */
int elastic_options(char **spank_job_env, uint32_t count,
		    struct plx_options *options, struct plx_error *err);

/*
 * Slurm keeps what SPANK options say in the job's record for as long as the job
 * is known, and whoever looks for one reads all of it. -1 with err set where
 * that is more than any option needs.
 */
#define ELASTIC_ENV_ENTRIES 256
#define ELASTIC_ENV_BYTES   65536
int elastic_check_env(char **spank_job_env, uint32_t count,
		      struct plx_error *err);

/* On how many nodes a job's user wants it; 0: any. */
struct elastic_nodes {
	uint32_t min;
	uint32_t max;
	bool switches; /* --switches holds for as long as the job runs */
	bool pack;     /* GPUs of a node were asked for: it starts with these */
};

/*
 * job_submit/pollux keeps --nodes, and whether --switches has no time, in
 * spank_job_env, as the request is written anew for each shape; its string is
 * the last one. Users can write there, too: any text is read, and what makes no
 * sense is as nothing.
 */
struct elastic_nodes elastic_read_nodes(char **spank_job_env, uint32_t count);
/* Is this such a string? It may be NULL. */
bool elastic_is_nodes(const char *text);
/* The string to keep; NULL: it may be on any. `text` has ELASTIC_NODES_SIZE
 * bytes. */
#define ELASTIC_NODES_SIZE 64
const char *elastic_write_nodes(struct elastic_nodes nodes, char *text);

/* The option's text, or NULL when the job has none. Borrowed. */
const char *elastic_text(char **spank_job_env, uint32_t count);

#endif
