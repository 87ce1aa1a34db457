/* SPDX-License-Identifier: MIT */
/* image_lanes.c - the pieces of a memory image, shared out to threads */
#include <config.h>

#include <sched.h>
#include <stdbool.h>

#include "agent/gpu/bounce.h"
#include "agent/gpu/device.h"
#include "agent/memory/image_lanes.h"
#include "wire/thread.h"

/*
 * Each lane takes one slice after the other, so that one on a busy processor
 * holds the others up for a part of its work only.
 */
#define SLICES_A_LANE 4
#define PIECES_A_LANE 4 /* for less no thread is begun */

struct lane_run;

struct lane_thread {
	struct lane_run *run;
	pthread_t thread;
	struct plx_lane lane;
	struct plx_error err;
	bool failed;
};

struct lane_run {
	const struct plx_lanes *lanes;
	struct lane_thread threads[PLX_LANES_MAX];
	int slices;
	int next;    /* slice that nobody has taken; atomic */
	bool failed; /* some lane; atomic */
};

/* Machines may have more of them than fit into a cpu_set_t. */
static int processors(void)
{
	cpu_set_t sets[8];
	int count = 0;

	if (sched_getaffinity(0, sizeof(sets), sets) == 0)
		count = CPU_COUNT_S(sizeof(sets), sets);
	return count > 1 ? count : 1;
}

static int count_threads(const struct plx_lanes *lanes)
{
	int most = lanes->threads ? lanes->threads : processors();

	if (most > PLX_LANES_MAX)
		most = PLX_LANES_MAX;
	if (lanes->pieces / PIECES_A_LANE < (size_t) most)
		most = (int) (lanes->pieces / PIECES_A_LANE);
	return most > 1 ? most : 1;
}

static void work(struct lane_thread *own)
{
	struct lane_run *run = own->run;
	const struct plx_lanes *lanes = run->lanes;
	struct plx_slice slice = { .of = run->slices };

	while (!__atomic_load_n(&run->failed, __ATOMIC_RELAXED)) {
		slice.mine =
			__atomic_fetch_add(&run->next, 1, __ATOMIC_RELAXED);
		if (slice.mine >= slice.of)
			break;
		if (lanes->work(lanes->what, slice, &own->lane, &own->err) < 0)
			own->failed = true;
		if (own->failed)
			__atomic_store_n(&run->failed, true, __ATOMIC_RELAXED);
	}
	plx_bounce_destroy(own->lane.bounce);
}

static void *thread_main(void *arg)
{
	struct lane_thread *own = arg;

	plx_device_adopt(own->run->lanes->gpu);
	work(own);
	return NULL;
}

int plx_lanes_run(const struct plx_lanes *lanes, struct plx_error *err)
{
	struct lane_run run = { .lanes = lanes };
	int wanted = count_threads(lanes);
	int begun = 1;
	int rc = 0;

	run.slices = wanted > 1 ? wanted * SLICES_A_LANE : 1;
	for (int i = 0; i < wanted; i++)
		run.threads[i].run = &run;
	/* Fewer threads than wanted take more slices each. */
	while (begun < wanted &&
	       plx_thread_begin(&run.threads[begun].thread, thread_main,
				&run.threads[begun]) == 0)
		begun++;
	work(&run.threads[0]);
	for (int i = 1; i < begun; i++)
		pthread_join(run.threads[i].thread, NULL);
	for (int i = 0; i < begun && rc == 0; i++) {
		if (!run.threads[i].failed)
			continue;
		rc = plx_fail(err, "%s", run.threads[i].err.text);
	}
	return rc;
}
