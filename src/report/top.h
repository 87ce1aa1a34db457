/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top.h - what pollux-top shows now: looks taken in, keys obeyed, frames drawn
 *
 * No clock, no terminal and no Slurm: looks, keys and sizes are arguments.
 */
#ifndef PLX_REPORT_TOP_H
#define PLX_REPORT_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/keys.h"
#include "report/screen.h"
#include "report/top_columns.h"
#include "report/cluster_view.h"

#define PLX_TOP_CHANGES 8 /* of a job that are remembered */

/* A change of shape that was seen between two looks. */
struct plx_top_change {
	int64_t when_s;
	int from; /* GPUs */
	int to;
	char placement[64]; /* where it is since, cut */
	char why[PLX_WHY_SIZE];
};

/* What earlier looks said of a job that has not ended. */
struct plx_top_memory {
	uint32_t number;
	bool ran; /* in the last look */
	int gpus;
	char placement[PLX_PLACEMENT_SIZE];
	int letter; /* its sign in the picture; -1: has no GPUs */
	struct plx_top_change *changes; /* the last ones, oldest first */
	int change_count;
};

enum plx_top_mode {
	PLX_TOP_TABLE,
	PLX_TOP_NODES, /* the picture, with all the room */
	PLX_TOP_STORY, /* of one job */
	PLX_TOP_HELP,
};

struct plx_top {
	bool seen; /* there was a look */
	struct plx_view view;
	struct plx_error trouble;      /* "": the last look succeeded */
	struct plx_top_memory *memory; /* by number */
	size_t memory_count;

	const struct plx_top_column *sort;
	bool reverse;
	const char *user; /* only jobs of this one; NULL: of all. Borrowed */
	const char *me;	  /* who asks. Borrowed */
	bool no_ended;
	size_t *order; /* the jobs shown: indexes of view.jobs */
	size_t shown;

	enum plx_top_mode mode;
	uint32_t at;	    /* number of the job that is pointed to */
	size_t row;	    /* where that is in order */
	size_t first;	    /* row at the top of the table */
	size_t page;	    /* rows that the last frame had room for */
	char typed[24];	    /* the number of a job, so far */
	char message[64];   /* for one frame */
	size_t story_first; /* line at the top of a story */
	uint32_t told;	    /* number of the job that told[] is about */
	char *accounts;	    /* what accounting knows of it, or: */
	bool untold;	    /* why it does not tell */
};

/* What a key asks of whoever reads it. */
enum plx_top_wish {
	PLX_TOP_WAIT,  /* nothing but a new frame */
	PLX_TOP_LOOK,  /* at the cluster, now */
	PLX_TOP_ASK,   /* accounting, about the job in top->at */
	PLX_TOP_LEAVE, /* the program */
};

/* Sorted as `sort` says; NULL: by state. */
void plx_top_init(struct plx_top *top, const struct plx_top_column *sort);
void plx_top_release(struct plx_top *top);

/*
 * Take in a look; *view is the top's afterwards. True when the job whose
 * story is shown has another shape than before. Without memory the old look
 * stays, and trouble says so.
 */
bool plx_top_take(struct plx_top *top, struct plx_view *view);

/* A look that failed: what was seen last stays. */
void plx_top_fail(struct plx_top *top, const char *why);

/*
 * What accounting says of a job, or, failed, why it says nothing. The text is
 * the top's to free; number 0 and NULL: forget it.
 */
void plx_top_notify(struct plx_top *top, uint32_t number, char *text,
		    bool failed);

enum plx_top_wish plx_top_key(struct plx_top *top, enum plx_key key);

/* Sort and choose anew; after a change of sort, reverse, user, no_ended. */
void plx_top_arrange(struct plx_top *top);

/* The job that is pointed to; NULL: there is none. */
const struct plx_view_job *plx_top_job(const struct plx_top *top);
/* What is remembered of a job; NULL: nothing. */
const struct plx_top_memory *plx_top_recall(const struct plx_top *top,
					    uint32_t number);

/* A frame as large as the screen, which is blank. */
void plx_top_draw(struct plx_top *top, struct plx_screen *screen,
		  int64_t now_s);

/* Parts of it, each from row y on. */
/* Lines of the picture that say all, on so many columns. */
int plx_top_nodes_lines(const struct plx_top *top, int width);
void plx_top_draw_nodes(const struct plx_top *top, struct plx_screen *screen,
			int y, int lines);
void plx_top_draw_story(struct plx_top *top, struct plx_screen *screen, int y,
			int lines);
void plx_top_draw_help(const struct plx_top *top, struct plx_screen *screen,
		       int y, int lines);

/* A job's sign in the picture, and its paint. */
char plx_top_sign(const struct plx_top *top, const struct plx_view_job *job,
		  int *paint);

#endif
