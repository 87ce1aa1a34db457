/* SPDX-License-Identifier: MIT */
/* top_world.c - looks at a made-up cluster (top_world.h) */

#define _GNU_SOURCE

#include <stdlib.h>
#include <string.h>

#include "top_world.h"

#define STATUS                                                                 \
	"[pollux v=1 launcher=batch ack=3 phase=training resizes=2"            \
	" pause=0.4,0.9 batch=64,1024,1,256,1 model=0.1,0.01,0.1,0.01,0.1,"    \
	"0.01,1.5 noise=1,2 profiled=1,2 now=16,1 progress=%g left=%g"         \
	" restart=0.5 lr=0.1 goodput=%g loss=0.5]"

const struct given usual[USUAL] = {
	{ 3, "vision", "ada", "RUNNING", 0.25, 120, "n1:2" },
	{ 5, "speech", "alan", "RUNNING", 0.75, 480, "n2:4" },
	{ 8, "waits", "ada", "PENDING", -1, 0, "" },
	{ 9, "rigid", "grace", "RUNNING", -1, 0, "n10:1" },
	{ 12, "over", "ada", "COMPLETED", -1, 0, "" },
};

static void add_node(struct plx_view *view, const char *name, const char *state)
{
	struct plx_view_node *node = &view->nodes[view->node_count++];

	*node = (struct plx_view_node){ .state = state, .gpus = 4 };
	snprintf(node->name, sizeof(node->name), "%s", name);
	view->gpus += 4;
}

static void add_job(struct plx_view *view, const struct given *given)
{
	struct plx_view_job *job = &view->jobs[view->count];
	char comment[512];
	char node[16];
	char gres[16];
	int gpus = 0;

	*job = (struct plx_view_job){ .number = given->number,
				      .state = given->state,
				      .was_gpus = -1 };
	snprintf(job->id, sizeof(job->id), "%u", given->number);
	snprintf(job->name, sizeof(job->name), "%s", given->name);
	snprintf(job->user, sizeof(job->user), "%s", given->user);
	job->running = !strcmp(given->state, "RUNNING");
	job->waiting = !strcmp(given->state, "PENDING");
	snprintf(comment, sizeof(comment), STATUS, given->progress,
		 1000 * (1 - given->progress), given->goodput);
	plx_view_read(job, given->progress < 0 ? "" : comment,
		      given->progress < 0
			      ? ""
			      : "[pollux serial=2 state=done nodes=1 gpus=2 "
				"speedup=1.5 why=grows 1 -> 2 GPUs]");
	if (sscanf(given->placement, "%15[^:]:%d", node, &gpus) == 2) {
		snprintf(gres, sizeof(gres), "gpu:%d", gpus);
		plx_view_hold(view, view->count, node, gres);
		view->gpus_busy += gpus;
		for (size_t i = 0; i < view->node_count; i++) {
			if (!strcmp(view->nodes[i].name, node))
				view->nodes[i].busy += gpus;
		}
	}
	view->count++;
}

struct plx_view look(const struct given *given, size_t count)
{
	struct plx_view view = {
		.now_s = NOW,
		.nodes = calloc(4, sizeof(struct plx_view_node)),
		.jobs = calloc(count + 1, sizeof(struct plx_view_job)),
	};

	assert_true(view.nodes && view.jobs);
	add_node(&view, "n10", "up");
	add_node(&view, "n2", "up");
	add_node(&view, "n1", "up");
	add_node(&view, "n3", "drained");
	plx_view_sort_nodes(&view);
	for (size_t i = 0; i < count; i++)
		add_job(&view, &given[i]);
	return view;
}

void take(struct plx_top *top, const struct given *given, size_t count)
{
	struct plx_view view = look(given, count);

	plx_top_take(top, &view);
}

struct plx_top usual_top(void)
{
	struct plx_top top;

	plx_top_init(&top, NULL);
	take(&top, usual, USUAL);
	return top;
}

/* A frame's rows, each with a newline. The caller's to free. */
char *draw(struct plx_top *top, int width, int height)
{
	struct plx_screen screen;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(0, plx_screen_init(&screen, width, height, true));
	plx_top_draw(top, &screen, NOW + 5);
	for (int y = 0; y < height; y++) {
		plx_screen_row(&screen, y, out);
		putc('\n', out);
	}
	fclose(out);
	plx_screen_release(&screen);
	return text;
}

void assert_draws(struct plx_top *top, int width, int height, const char *want)
{
	char *text = draw(top, width, height);

	if (!strstr(text, want))
		print_message("no \"%s\" in\n%s", want, text);
	assert_non_null(strstr(text, want));
	free(text);
}

void assert_draws_not(struct plx_top *top, int width, int height,
		      const char *unwanted)
{
	char *text = draw(top, width, height);

	assert_null(strstr(text, unwanted));
	free(text);
}

enum plx_top_wish press(struct plx_top *top, const char *keys)
{
	enum plx_top_wish wish = PLX_TOP_WAIT;

	for (; *keys; keys++)
		wish = plx_top_key(top, *keys == '\r' ? PLX_KEY_ENTER
						      : (enum plx_key) * keys);
	return wish;
}
