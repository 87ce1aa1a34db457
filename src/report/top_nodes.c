/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_nodes.c - the picture of the GPUs: each a sign, by node (top.h)
 *
 *	n1 AABB  n2 AA..  n3 CCCC  n4 xxxx
 *
 * A letter is a job's, '.' is idle, '?' held by whom one cannot see, '-' idle
 * on a node that gets no jobs, '!' on one that gets no elastic ones as ranks
 * failed there, 'x' on one that is down.
 */

#include <stdio.h>
#include <string.h>

#include "report/top.h"

static const char signs[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "abcdefghijklmnopqrstuvwxyz0123456789";

char plx_top_sign(const struct plx_top *top, const struct plx_view_job *job,
		  int *paint)
{
	const struct plx_top_memory *memory = plx_top_recall(top, job->number);
	int letter = memory ? memory->letter : -1;

	*paint = PLX_PLAIN;
	if (letter < 0)
		return ' ';
	if (!job->elastic)
		*paint = PLX_GREY;
	else
		*paint = PLX_JOB_HUES +
			 letter % (PLX_JOB_HUES_END - PLX_JOB_HUES);
	return letter < (int) sizeof(signs) - 1 ? signs[letter] : '*';
}

#define GAP	   2  /* columns between nodes */
#define REST_WIDTH 34 /* of the words about those that have no room */

/* All nodes take as much room as the one that needs most. */
struct grid {
	int name;  /* columns of a name */
	int cell;  /* of a node with the gap behind it */
	int count; /* nodes in a row */
	int nodes; /* with GPUs */
};

static int shown_gpus(const struct plx_view_node *node)
{
	return node->gpus < PLX_NODE_GPUS ? node->gpus : PLX_NODE_GPUS;
}

static struct grid measure(const struct plx_top *top, int width)
{
	struct grid grid = { .count = 1 };
	int gpus = 0;

	for (size_t i = 0; i < top->view.node_count; i++) {
		const struct plx_view_node *node = &top->view.nodes[i];
		int name = (int) strlen(node->name);

		if (node->gpus <= 0)
			continue;
		grid.nodes++;
		grid.name = name > grid.name ? name : grid.name;
		if (shown_gpus(node) > gpus)
			gpus = shown_gpus(node);
	}
	grid.cell = grid.name + 1 + gpus + GAP;
	if (width + GAP > grid.cell)
		grid.count = (width + GAP) / grid.cell;
	return grid;
}

int plx_top_nodes_lines(const struct plx_top *top, int width)
{
	struct grid grid = measure(top, width);

	return (grid.nodes + grid.count - 1) / grid.count;
}

static char idle_sign(const struct plx_view_node *node)
{
	if (!strcmp(node->state, "up"))
		return '.';
	if (!strcmp(node->state, "sick"))
		return '!';
	return strcmp(node->state, "drained") ? 'x' : '-';
}

static void draw_node(const struct plx_top *top, struct plx_screen *screen,
		      const struct plx_view_node *node, int name, int x, int y)
{
	plx_screen_put(screen, x, y, PLX_PLAIN, node->name);
	for (int g = 0; g < shown_gpus(node); g++) {
		int32_t holder = node->holders[g];
		char sign[2] = "";
		int paint = PLX_FAINT;

		if (holder >= 0)
			sign[0] = plx_top_sign(top, &top->view.jobs[holder],
					       &paint);
		else if (holder == PLX_HOLDER_UNKNOWN)
			sign[0] = '?';
		else
			sign[0] = idle_sign(node);
		plx_screen_put(screen, x + name + 1 + g, y, paint, sign);
	}
}

/* In place of the last ones, where there are more than have room. */
static void draw_rest(const struct plx_top *top, struct plx_screen *screen,
		      size_t from, int x, int y)
{
	int nodes = 0;
	int gpus = 0;
	int idle = 0;

	for (size_t i = from; i < top->view.node_count; i++) {
		const struct plx_view_node *node = &top->view.nodes[i];

		if (node->gpus <= 0)
			continue;
		nodes++;
		gpus += node->gpus;
		if (!strcmp(node->state, "up"))
			idle += node->gpus - node->busy;
	}
	for (int i = x; i < screen->width; i++)
		plx_screen_put(screen, i, y, PLX_PLAIN, " ");
	plx_screen_printf(screen, x, y, PLX_PLAIN,
			  "+%d nodes, %d GPUs, %d idle", nodes, gpus, idle);
}

void plx_top_draw_nodes(const struct plx_top *top, struct plx_screen *screen,
			int y, int lines)
{
	struct grid grid = measure(top, screen->width);
	int cells = lines * grid.count;
	int rest = (REST_WIDTH + grid.cell - 1) / grid.cell;
	int seen = 0;

	if (grid.nodes > cells)
		cells -= rest < grid.count ? rest : grid.count;

	for (size_t i = 0; i < top->view.node_count; i++) {
		const struct plx_view_node *node = &top->view.nodes[i];
		int x = seen % grid.count * grid.cell;
		int row = y + seen / grid.count;

		if (node->gpus <= 0)
			continue;
		if (seen++ < cells) {
			draw_node(top, screen, node, grid.name, x, row);
			continue;
		}
		if (lines > 0)
			draw_rest(top, screen, i, x, row);
		return;
	}
}
