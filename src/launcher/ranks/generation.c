/* SPDX-License-Identifier: GPL-2.0-or-later */
/* generation.c - one start of the ranks: its step, its socket, what it said */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/rules/clock.h"
#include "launcher/ranks/generation.h"
#include "wire/dir.h"

#define FENCE	    "fence" /* as libpollux calls it, beside checkpoints */
#define NUMBER_SIZE 32	    /* enough for the number it begins with */

void plx_generation_init(struct plx_generation *g)
{
	*g = (struct plx_generation){ 0 };
	plx_peer_init(&g->peer);
}

/* A socket that rank 0 can reach, wherever it runs. */
static int open_socket(struct plx_generation *g,
		       const struct plx_generation_order *order,
		       struct plx_step_order *step, struct plx_error *err)
{
	if (plx_peer_open(&g->peer, err) < 0)
		return -1;
	step->dir = g->peer.dir;
	step->socket = g->peer.path;
	if (!order->relay)
		return 0;
	if (plx_relay_start(&g->relay, step->job_id,
			    order->layout->nodes[0].name, g->peer.dir,
			    g->peer.path, err) < 0)
		return -1;
	step->socket = g->relay.path;
	return 0;
}

int plx_generation_start(struct plx_generation *g,
			 const struct plx_generation_order *order,
			 struct plx_error *err)
{
	struct plx_step_order step = order->step;

	g->number = order->number;
	g->warm = order->warm;
	g->said = (struct plx_said){ 0 };
	g->kill_s = 0;
	g->step.number = order->start;
	snprintf(g->where, sizeof(g->where), "%s", order->where);
	step.generation = order->number;
	step.warm = order->warm;
	step.spared = order->spared;
	if (open_socket(g, order, &step, err) < 0)
		return -1;
	snprintf(g->socket, sizeof(g->socket), "%s", step.socket);
	return plx_step_start(&g->step, &step, order->layout, err);
}

bool plx_generation_lives(const struct plx_generation *g)
{
	return g->step.pid != 0;
}

void plx_generation_close(struct plx_generation *g)
{
	plx_relay_stop(&g->relay);
	plx_peer_close(&g->peer);
}

int plx_generation_fd(const struct plx_generation *g)
{
	if (g->peer.channel)
		return plx_channel_fd(g->peer.channel);
	return g->peer.listener;
}

void plx_generation_release(struct plx_generation *g)
{
	plx_generation_close(g);
	plx_step_release(&g->step);
}

uint64_t plx_generation_newest(const char *folder)
{
	int fd = plx_dir_file_at(folder, FENCE, O_RDONLY, NULL);
	char text[NUMBER_SIZE] = "";
	ssize_t got;

	if (fd < 0)
		return 0;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	return got > 0 ? strtoull(text, NULL, 10) : 0;
}
