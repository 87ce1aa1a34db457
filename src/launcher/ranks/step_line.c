/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step_line.c - the command line that starts ranks: srun's or mpirun's */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/ranks/step_line.h"

#define LINE_ARGS 24   /* before the lists of others */
#define LINE_TEXT 4096 /* bytes of those */

/* A command line being put together in one block. */
struct line {
	char **args;
	int count;
	char *text;
	size_t left;
	bool full; /* something did not fit */
};

static void add(struct line *line, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct line *line, const char *fmt, ...)
{
	va_list ap;
	int size;

	va_start(ap, fmt);
	size = vsnprintf(line->text, line->left, fmt, ap);
	va_end(ap);
	if (size < 0 || (size_t) size >= line->left) {
		line->full = true;
		return;
	}
	line->args[line->count++] = line->text;
	line->args[line->count] = NULL;
	line->text += size + 1;
	line->left -= (size_t) size + 1;
}

static int count(char *const *list)
{
	int n = 0;

	while (list && list[n])
		n++;
	return n;
}

static void add_list(struct line *line, char *const *list)
{
	for (; list && *list; list++)
		line->args[line->count++] = *list;
	line->args[line->count] = NULL;
}

/* As many ranks on every node? */
static bool is_even(const struct plx_layout *layout)
{
	for (int i = 1; i < layout->count; i++) {
		if (layout->nodes[i].ranks != layout->nodes[0].ranks)
			return false;
	}
	return true;
}

static void add_srun(struct line *line, const struct plx_step_order *order,
		     const struct plx_launch_step *step)
{
	const struct plx_layout *layout = &step->layout;

	add(line, "srun");
	add(line, "--jobid=%u", order->job_id);
	add(line, "--job-name=%s", step->name);
	add(line, "--overlap");
	add(line, "--overcommit");
	add(line, "--export=ALL");
	add(line, "--kill-on-bad-exit=1");
	add(line, "--mpi=%s", order->mpi);
	add(line, "--ntasks=%d", layout->ranks);
	add(line, "--cpus-per-task=%d", plx_layout_cpus_per_rank(layout));
	add(line, "--distribution=arbitrary");
	/* Slurm tests them as well, and has to find GPUs there. */
	if (order->spared && order->spared[0])
		add(line, "--exclude=%s", order->spared);
	if (!layout->gpus)
		return;
	/*
	 * A rank sees its node's GPUs in the step, so that LOCAL_RANK is the
	 * number of its own: they are asked for by node, as many as ranks. If
	 * that differs from node to node, each rank sees its own alone. (With
	 * --gpu-bind=none Slurm 22.05 shows none at all; its masks must name
	 * no GPU beyond the node's last one.)
	 */
	if (is_even(layout))
		add(line, "--gres=gpu:%d", layout->nodes[0].ranks);
	else
		add(line, "--gpus-per-task=1");
}

static void add_mpirun(struct line *line, const struct plx_launch_step *step)
{
	add(line, "mpirun");
	/* mpirun asks; the user of this launcher has answered already. */
	if (geteuid() == 0)
		add(line, "--allow-run-as-root");
	add(line, "--oversubscribe");
	/* pollux-rank does that. */
	add(line, "--bind-to");
	add(line, "none");
	add(line, "-n");
	add(line, "%d", step->layout.ranks);
}

char **plx_step_arguments(const struct plx_step_order *order,
			  const struct plx_launch_step *step)
{
	int others = count(order->srun_options) + count(order->wrapper) +
		     count(order->program);
	size_t list = (size_t) (LINE_ARGS + others) * sizeof(char *);
	char **args = calloc(1, list + LINE_TEXT);
	struct line line = { .args = args, .left = LINE_TEXT };

	if (!args)
		return NULL;
	line.text = (char *) args + list;
	if (order->local)
		add_mpirun(&line, step);
	else
		add_srun(&line, order, step);
	add_list(&line, order->srun_options);
	add_list(&line, order->wrapper);
	add_list(&line, order->program);
	if (line.full) {
		free(args);
		return NULL;
	}
	return args;
}
