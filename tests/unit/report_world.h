/* SPDX-License-Identifier: MIT */
/* report_world.h - a history of a few jobs, made from rows as sacct prints */
#ifndef PLX_REPORT_WORLD_H
#define PLX_REPORT_WORLD_H

#include <stdio.h>
#include <string.h>

#include "report/history.h"
#include "unit.h"

#define HEAD "JobID|State|Submit|Start|End|AllocTRES|NodeList|User|Comment\n"

/*
 * What a launcher leaves: a GPU trains a sample in 10 ms, twice the GPUs twice
 * as many, and every sample counts, whatever the batch is.
 */
#define MODEL                                                                  \
	"model=1e-9,0.01,0,0,0,0,1 noise=0,1 profiled=1,4 now=64,0 "           \
	"progress=1 restart=1"
#define TOLD(resizes, pause, more)                                             \
	"[pollux v=1 launcher=0 ack=0 phase=training resizes=" resizes         \
	" pause=" pause "," pause " batch=64,4096,1,4096,0 " MODEL more "]"

struct world {
	struct plx_rows rows;
	struct plx_history history;
};

/* rows: lines below HEAD. Close it. */
static inline void world_open(struct world *world, const char *rows)
{
	struct plx_error err = { .text = "" };
	char text[8192];

	snprintf(text, sizeof(text), HEAD "%s", rows);
	if (plx_rows_parse(text, strlen(text), &world->rows, &err) < 0 ||
	    plx_history_make(&world->rows, 0, &world->history, &err) < 0)
		fail_msg("%s", err.text);
}

static inline void world_close(struct world *world)
{
	plx_history_release(&world->history);
	plx_rows_release(&world->rows);
}

#endif
