/* SPDX-License-Identifier: MIT */
/* stream_run.c - threads that walk over a stream's file, chunk by chunk */
#include <config.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/disk/stream_run.h"
#include "agent/gpu/device.h"
#include "core/base/crc.h"
#include "wire/thread.h"

#define THREADS_MAX 4
#define HUGE_PAGE   (2u << 20)

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t plx_stream_bytes(const struct plx_stream *stream)
{
	uint64_t bytes = 0;

	for (int i = 0; i < stream->count; i++)
		bytes += stream->segments[i].bytes;
	return bytes;
}

uint64_t plx_run_chunk(const struct plx_run *run, uint64_t chunk)
{
	return smaller(PLX_CHUNK, run->bytes - chunk * PLX_CHUNK);
}

/* The first segment that has something in this chunk or after it. */
int plx_run_first(const struct plx_run *run, uint64_t chunk)
{
	int low = 0;
	int high = run->stream->count;

	while (low < high) {
		int middle = (low + high) / 2;

		if (run->starts[middle + 1] > chunk * PLX_CHUNK)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* False when the segment, and so all after it, begins behind the chunk. */
bool plx_run_share(const struct plx_run *run, uint64_t chunk, int segment,
		   struct plx_shared *out)
{
	uint64_t begin = chunk * PLX_CHUNK;
	uint64_t end = begin + plx_run_chunk(run, chunk);
	uint64_t first = run->starts[segment];
	uint64_t last = smaller(end, run->starts[segment + 1]);

	if (first >= end)
		return false;
	if (first < begin)
		first = begin;
	*out = (struct plx_shared){ first, last > first ? last - first : 0 };
	return true;
}

/* ---- all of them ---- */

static bool take_chunk(struct plx_run *run, uint64_t *chunk)
{
	bool more;

	pthread_mutex_lock(&run->lock);
	more = run->next < run->chunks && !run->failed;
	*chunk = run->next;
	run->next += more;
	pthread_mutex_unlock(&run->lock);
	return more;
}

static void note_failure(struct plx_run *run, const struct plx_error *why)
{
	pthread_mutex_lock(&run->lock);
	if (!run->failed)
		run->err = *why;
	run->failed = true;
	pthread_mutex_unlock(&run->lock);
}

static void *worker(void *arg)
{
	struct plx_run *run = arg;
	struct plx_error why;
	unsigned char *buffer = aligned_alloc(HUGE_PAGE, PLX_CHUNK);
	uint64_t chunk;

	/* One that has memory is enough. */
	if (!buffer)
		return NULL;
	/* As few page faults as can be. */
	madvise(buffer, PLX_CHUNK, MADV_HUGEPAGE);
	while (take_chunk(run, &chunk)) {
		if (run->work(run, chunk, buffer, &why) < 0)
			note_failure(run, &why);
	}
	free(buffer);
	return NULL;
}

static void *thread_main(void *run)
{
	plx_device_adopt(NULL);
	return worker(run);
}

/* The calling thread works as well, so it can be done with no other. */
int plx_run_work(struct plx_run *run, struct plx_error *err)
{
	pthread_t threads[THREADS_MAX - 1];
	int begun = 0;

	while (begun + 1 < THREADS_MAX && (uint64_t) begun + 1 < run->chunks &&
	       plx_thread_begin(&threads[begun], thread_main, run) == 0)
		begun++;
	worker(run);
	while (begun > 0)
		pthread_join(threads[--begun], NULL);
	if (!run->failed && run->next < run->chunks)
		return plx_fail(err, "cannot get %d MB of memory",
				(int) (PLX_CHUNK >> 20));
	return run->failed ? plx_fail(err, "%s", run->err.text) : 0;
}

/* From the parts to the segments and the whole. */
void plx_run_join(struct plx_run *run)
{
	struct plx_stream *stream = run->stream;

	stream->crc = 0;
	for (int s = 0; s < stream->count; s++) {
		struct plx_segment *segment = &stream->segments[s];
		uint64_t chunk = run->starts[s] / PLX_CHUNK;
		struct plx_shared part;

		segment->crc = 0;
		for (; chunk < run->chunks &&
		       chunk * PLX_CHUNK < run->starts[s + 1];
		     chunk++) {
			if (plx_run_share(run, chunk, s, &part) && part.bytes)
				segment->crc = plx_crc32c_join(
					segment->crc,
					run->crcs[chunk + (uint64_t) s],
					part.bytes);
		}
		stream->crc = plx_crc32c_join(stream->crc, segment->crc,
					      segment->bytes);
	}
}

int plx_run_init(struct plx_run *run, struct plx_stream *stream,
		 struct plx_error *err)
{
	size_t count = (size_t) stream->count;

	*run = (struct plx_run){ .stream = stream, .fd = -1, .direct_fd = -1 };
	pthread_mutex_init(&run->lock, NULL);
	run->bytes = plx_stream_bytes(stream);
	run->chunks = (run->bytes + PLX_CHUNK - 1) / PLX_CHUNK;
	run->starts = calloc(count + 1, sizeof(*run->starts));
	run->crcs = calloc(count + run->chunks + 1, sizeof(*run->crcs));
	if (!run->starts || !run->crcs)
		return plx_fail(err, "cannot get memory for %zu tensors",
				count);
	for (size_t i = 0; i < count; i++)
		run->starts[i + 1] = run->starts[i] + stream->segments[i].bytes;
	return 0;
}

void plx_run_release(struct plx_run *run)
{
	if (run->fd >= 0)
		close(run->fd);
	if (run->direct_fd >= 0)
		close(run->direct_fd);
	free(run->starts);
	free(run->crcs);
	pthread_mutex_destroy(&run->lock);
}
