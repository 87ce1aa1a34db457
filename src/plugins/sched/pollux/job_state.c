/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_state.c - what the plugin remembers of each elastic job */

#include <string.h>

#include "common/slurm_compat.h"
#include "sched/pollux/job_state.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/monotonic.h"

static struct {
	struct pollux_track *at;
	int count;
	int size;
	int next; /* behind the last one found: jobs come in their order */
} tracks;

struct pollux_track *pollux_track_find(uint32_t job_id)
{
	for (int i = 0; i < tracks.count; i++) {
		int k = (tracks.next + i) % tracks.count;

		if (tracks.at[k].job_id == job_id) {
			tracks.next = k + 1;
			return &tracks.at[k];
		}
	}
	return NULL;
}

struct pollux_track *pollux_track_get(uint32_t job_id)
{
	struct pollux_track *track = pollux_track_find(job_id);

	if (track)
		return track;
	if (tracks.count == tracks.size) {
		tracks.size = tracks.size ? 2 * tracks.size : 16;
		xrecalloc(tracks.at, tracks.size, sizeof(*tracks.at));
	}
	track = &tracks.at[tracks.count++];
	memset(track, 0, sizeof(*track));
	track->job_id = job_id;
	return track;
}

struct pollux_track *pollux_track_at(int i)
{
	return i < tracks.count ? &tracks.at[i] : NULL;
}

void pollux_track_outlive(struct pollux_track *track, void **outlived,
			  int count)
{
	for (int n = 0; track->outlived && n < track->outlived_count; n++)
		FREE_NULL_BITMAP(track->outlived[n]);
	xfree(track->outlived);
	track->outlived = outlived;
	track->outlived_count = count;
}

static void _free_strings(struct pollux_track *track)
{
	xfree(track->nodes);
	xfree(track->want);
	xfree(track->from_nodes);
	xfree(track->complaint);
	xfree(track->had);
	xfree(track->back);
	xfree(track->shuns);
	xfree(track->fresh);
	FREE_NULL_BITMAP(track->left);
	pollux_track_outlive(track, NULL, 0);
}

void pollux_track_remove(struct pollux_track *track)
{
	_free_strings(track);
	*track = tracks.at[--tracks.count];
}

void pollux_track_remove_all(void)
{
	for (int i = 0; i < tracks.count; i++)
		_free_strings(&tracks.at[i]);
	xfree(tracks.at);
	memset(&tracks, 0, sizeof(tracks));
}

void pollux_track_hold(struct pollux_track *track, const char *nodes, int gpus,
		       time_t since)
{
	track->most_gpus = MAX(track->most_gpus, gpus);
	if (track->since == since && track->gpus == gpus &&
	    !xstrcmp(track->nodes, nodes))
		return;
	if (track->since != since)
		pollux_track_close(track, since);
	xfree(track->nodes);
	track->nodes = xstrdup(nodes);
	track->gpus = gpus;
	track->since = since;
}

void pollux_track_close(struct pollux_track *track, time_t end)
{
	if (!track->since)
		return;
	end = MAX(end, track->since);
	pollux_info("sched/pollux: JobId=%u held %d GPUs on %s from %ld to "
		    "%ld: %ld "
		    "GPU-seconds",
		    track->job_id, track->gpus, track->nodes,
		    (long) track->since, (long) end,
		    (long) (end - track->since) * track->gpus);
	track->service_s += (double) (end - track->since) * track->gpus;
	track->since = 0;
}

double pollux_track_service(const struct pollux_track *track, time_t now)
{
	double present = track->since && now > track->since
				 ? (double) (now - track->since) * track->gpus
				 : 0;

	return track->service_s + present;
}

void pollux_track_adopt(uint32_t job_id, const struct plx_target *target)
{
	struct pollux_track *track = pollux_track_get(job_id);

	if (track->phase == POLLUX_MOVING)
		return;
	track->target = *target;
	xfree(track->want);
	track->want = xstrdup(target->on);
	xfree(track->from_nodes);
	track->phase = POLLUX_MOVING;
	track->departed_s = pollux_now_s();
	track->freed_s = 0;
	track->deadline_s = 0;
	pollux_info("sched/pollux: JobId=%u was on its way to %s before "
		    "slurmctld was "
		    "started",
		    job_id, track->want);
}

bool pollux_track_any_busy(void)
{
	for (int i = 0; i < tracks.count; i++) {
		if (tracks.at[i].phase != POLLUX_IDLE)
			return true;
	}
	return false;
}
