/* SPDX-License-Identifier: MIT */
/* top_world.h - looks at a made-up cluster, for tests of pollux-top's frames */
#ifndef PLX_TOP_WORLD_H
#define PLX_TOP_WORLD_H

#include "report/top.h"
#include "unit.h"

#define NOW 1795383000

/* What the jobs of a look differ in; progress below 0: a rigid job. */
struct given {
	uint32_t number;
	const char *name;
	const char *user;
	const char *state;
	double progress;
	double goodput;
	const char *placement; /* "n1:2", as the nodes are n1, n2, n3, n10 */
};

#define USUAL 5
extern const struct given usual[USUAL];

/* A look at these jobs; n3 is drained, nodes have four GPUs. */
struct plx_view look(const struct given *given, size_t count);
void take(struct plx_top *top, const struct given *given, size_t count);
/* One that has taken the usual look. */
struct plx_top usual_top(void);

enum plx_top_wish press(struct plx_top *top, const char *keys);

/* A frame's rows, each with a newline. The caller's to free. */
char *draw(struct plx_top *top, int width, int height);
void assert_draws(struct plx_top *top, int width, int height, const char *want);
void assert_draws_not(struct plx_top *top, int width, int height,
		      const char *unwanted);

#endif
