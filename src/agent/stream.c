/* SPDX-License-Identifier: MIT */
/*
 * stream.c - scattered memory to a file and back, fast and checked
 *
 * The file is cut into chunks, which threads take one after the other. Where
 * chunk c meets segment s, the checksum of what they share is noted in place
 * c + s: along the file one of the two grows at each border, so no two
 * places are the same. plx_crc32c_join() then puts them together.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/device.h"
#include "agent/stream.h"
#include "agent/thread.h"
#include "core/crc.h"

#define CHUNK	    (UINT64_C(8) << 20)
#define HUGE_PAGE   (2u << 20)
#define CACHED	    (UINT64_C(256) << 10)
#define THREADS_MAX 4
#define DIRECT_MIN  (UINT64_C(1) << 20) /* below, the page cache is as good */

/* One file under way, shared by its threads. */
struct run {
	struct plx_stream *stream;
	uint64_t *starts; /* of each segment in the file, and the end */
	uint32_t *crcs;
	uint64_t bytes;
	uint64_t chunks;
	int fd;
	int direct_fd; /* reading: the same file past the page cache, or -1 */
	_Atomic bool direct;
	int (*work)(struct run *run, uint64_t chunk, unsigned char *buffer,
		    struct plx_error *err);

	pthread_mutex_t lock; /* of all below */
	uint64_t next;	      /* chunk */
	bool failed;
	struct plx_error err; /* of the first failure */
};

/* What a chunk and a segment share, as places in the file. */
struct shared {
	uint64_t first;
	uint64_t bytes;
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t up_to_page(uint64_t bytes)
{
	return (bytes + PLX_PAGE - 1) / PLX_PAGE * PLX_PAGE;
}

static uint64_t chunk_bytes(const struct run *run, uint64_t chunk)
{
	return smaller(CHUNK, run->bytes - chunk * CHUNK);
}

/* The first segment that has something in this chunk or after it. */
static int first_segment(const struct run *run, uint64_t chunk)
{
	int low = 0;
	int high = run->stream->count;

	while (low < high) {
		int middle = (low + high) / 2;

		if (run->starts[middle + 1] > chunk * CHUNK)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* False when the segment, and so all after it, begins behind the chunk. */
static bool share(const struct run *run, uint64_t chunk, int segment,
		  struct shared *out)
{
	uint64_t begin = chunk * CHUNK;
	uint64_t end = begin + chunk_bytes(run, chunk);
	uint64_t first = run->starts[segment];
	uint64_t last = smaller(end, run->starts[segment + 1]);

	if (first >= end)
		return false;
	if (first < begin)
		first = begin;
	*out = (struct shared){ first, last > first ? last - first : 0 };
	return true;
}

uint64_t plx_stream_bytes(const struct plx_stream *stream)
{
	uint64_t bytes = 0;

	for (int i = 0; i < stream->count; i++)
		bytes += stream->segments[i].bytes;
	return bytes;
}

int plx_stream_copy(const struct plx_stream *stream, unsigned char *image,
		    struct plx_error *err)
{
	uint64_t at = 0;

	for (int i = 0; i < stream->count; i++) {
		const struct plx_segment *s = &stream->segments[i];

		if (plx_device_read(image + at, s->data, s->bytes, s->memory,
				    err) < 0)
			return -1;
		at += s->bytes;
	}
	memset(image + at, 0, up_to_page(at) - at);
	return 0;
}

/* ---- one chunk ---- */

static int put(struct run *run, const unsigned char *from, uint64_t bytes,
	       uint64_t at, struct plx_error *err)
{
	while (bytes > 0) {
		ssize_t wrote = pwrite(run->fd, from, bytes, (off_t) at);

		if (wrote < 0 && errno == EINTR)
			continue;
		/* Some file systems refuse only now. */
		if (wrote < 0 && errno == EINVAL && run->direct &&
		    fcntl(run->fd, F_SETFL, 0) == 0) {
			run->direct = false;
			continue;
		}
		if (wrote < 0)
			return plx_fail(err, "cannot write: %s",
					strerror(errno));
		from += wrote;
		at += (uint64_t) wrote;
		bytes -= (uint64_t) wrote;
	}
	return 0;
}

/*
 * A part of a segment into the buffer, and its checksum while it is in the
 * processor's cache.
 */
static int take_part(const struct plx_segment *segment, uint64_t at,
		     unsigned char *to, uint64_t bytes, uint32_t *crc,
		     struct plx_error *err)
{
	const char *data = (const char *) segment->data + at;

	*crc = 0;
	for (uint64_t done = 0; done < bytes; done += CACHED) {
		uint64_t now = smaller(CACHED, bytes - done);

		if (plx_device_read(to + done, data + done, now,
				    segment->memory, err) < 0)
			return -1;
		*crc = plx_crc32c(*crc, to + done, now);
	}
	return 0;
}

static int write_chunk(struct run *run, uint64_t chunk, unsigned char *buffer,
		       struct plx_error *err)
{
	const struct plx_stream *stream = run->stream;
	uint64_t begin = chunk * CHUNK;
	uint64_t bytes = chunk_bytes(run, chunk);
	const unsigned char *image =
		stream->image ? stream->image + begin : NULL;
	struct shared part;

	for (int s = first_segment(run, chunk);
	     s < stream->count && share(run, chunk, s, &part); s++) {
		uint32_t *crc = &run->crcs[chunk + (uint64_t) s];
		uint64_t at = part.first - begin;

		if (!part.bytes)
			continue;
		if (image)
			*crc = plx_crc32c(0, image + at, part.bytes);
		else if (take_part(&stream->segments[s],
				   part.first - run->starts[s], &buffer[at],
				   part.bytes, crc, err) < 0)
			return -1;
	}
	if (!image)
		memset(buffer + bytes, 0, up_to_page(bytes) - bytes);
	return put(run, image ? image : buffer,
		   run->direct ? up_to_page(bytes) : bytes, begin, err);
}

/* From a page border on; less than wanted only at the end of the file. */
static int get_direct(struct run *run, unsigned char *to, uint64_t bytes,
		      uint64_t at)
{
	uint64_t have = 0;

	while (have < bytes) {
		ssize_t got =
			pread(run->direct_fd, to + have,
			      up_to_page(bytes) - have, (off_t) (at + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		have += (uint64_t) got;
	}
	return 0;
}

static int get(struct run *run, unsigned char *to, uint64_t bytes, uint64_t at,
	       struct plx_error *err)
{
	while (bytes > 0) {
		ssize_t got = pread(run->fd, to, bytes, (off_t) at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return plx_fail(err, "cannot read: %s",
					strerror(errno));
		if (got == 0)
			return plx_fail(err, "it became shorter");
		to += got;
		at += (uint64_t) got;
		bytes -= (uint64_t) got;
	}
	return 0;
}

/* A page of it is in the cache, so the rest will be. */
static bool is_cached(const struct run *run, uint64_t chunk)
{
	char byte;
	struct iovec one = { .iov_base = &byte, .iov_len = 1 };

	return preadv2(run->fd, &one, 1, (off_t) (chunk * CHUNK), RWF_NOWAIT) ==
	       1;
}

/*
 * Bytes of a segment: from the chunk in the buffer if it is there, else from
 * the file.
 */
static int get_part(struct run *run, const unsigned char *buffer,
		    const struct shared *part, unsigned char *to,
		    struct plx_error *err)
{
	if (!buffer)
		return get(run, to, part->bytes, part->first, err);
	memcpy(to, buffer + part->first % CHUNK, part->bytes);
	return 0;
}

static int read_chunk(struct run *run, uint64_t chunk, unsigned char *buffer,
		      struct plx_error *err)
{
	const struct plx_stream *stream = run->stream;
	uint64_t bytes = chunk_bytes(run, chunk);
	const unsigned char *from = NULL;
	struct shared part;

	if (run->direct_fd >= 0 && !is_cached(run, chunk) &&
	    get_direct(run, buffer, bytes, chunk * CHUNK) == 0)
		from = buffer;
	else
		posix_fadvise(run->fd, (off_t) (chunk * CHUNK), (off_t) bytes,
			      POSIX_FADV_WILLNEED);
	for (int s = first_segment(run, chunk);
	     s < stream->count && share(run, chunk, s, &part); s++) {
		const struct plx_segment *segment = &stream->segments[s];
		unsigned char *data = segment->data;
		unsigned char *to;

		if (!part.bytes)
			continue;
		data += part.first - run->starts[s];
		to = data;
		if (segment->memory != POLLUX_HOST)
			to = buffer + part.first % CHUNK;
		if ((to == data || !from) &&
		    get_part(run, from, &part, to, err) < 0)
			return -1;
		run->crcs[chunk + (uint64_t) s] = plx_crc32c(0, to, part.bytes);
		if (to != data && plx_device_write(data, to, part.bytes,
						   segment->memory, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- all of them ---- */

static bool take_chunk(struct run *run, uint64_t *chunk)
{
	bool more;

	pthread_mutex_lock(&run->lock);
	more = run->next < run->chunks && !run->failed;
	*chunk = run->next;
	run->next += more;
	pthread_mutex_unlock(&run->lock);
	return more;
}

static void note_failure(struct run *run, const struct plx_error *why)
{
	pthread_mutex_lock(&run->lock);
	if (!run->failed)
		run->err = *why;
	run->failed = true;
	pthread_mutex_unlock(&run->lock);
}

static void *worker(void *arg)
{
	struct run *run = arg;
	struct plx_error why;
	unsigned char *buffer = aligned_alloc(HUGE_PAGE, CHUNK);
	uint64_t chunk;

	if (!buffer) {
		plx_fail(&why, "cannot get %d MB of memory",
			 (int) (CHUNK >> 20));
		note_failure(run, &why);
	}
	/* As few page faults as can be. */
	if (buffer)
		madvise(buffer, CHUNK, MADV_HUGEPAGE);
	while (take_chunk(run, &chunk)) {
		if (run->work(run, chunk, buffer, &why) < 0)
			note_failure(run, &why);
	}
	free(buffer);
	return NULL;
}

/* The calling thread works as well, so it can be done with no other. */
static int work(struct run *run, struct plx_error *err)
{
	pthread_t threads[THREADS_MAX - 1];
	int begun = 0;

	while (begun + 1 < THREADS_MAX && (uint64_t) begun + 1 < run->chunks &&
	       plx_thread_begin(&threads[begun], worker, run) == 0)
		begun++;
	worker(run);
	while (begun > 0)
		pthread_join(threads[--begun], NULL);
	return run->failed ? plx_fail(err, "%s", run->err.text) : 0;
}

/* From the parts to the segments and the whole. */
static void join_crcs(struct run *run)
{
	struct plx_stream *stream = run->stream;

	stream->crc = 0;
	for (int s = 0; s < stream->count; s++) {
		struct plx_segment *segment = &stream->segments[s];
		uint64_t chunk = run->starts[s] / CHUNK;
		struct shared part;

		segment->crc = 0;
		for (;
		     chunk < run->chunks && chunk * CHUNK < run->starts[s + 1];
		     chunk++) {
			if (share(run, chunk, s, &part) && part.bytes)
				segment->crc = plx_crc32c_join(
					segment->crc,
					run->crcs[chunk + (uint64_t) s],
					part.bytes);
		}
		stream->crc = plx_crc32c_join(stream->crc, segment->crc,
					      segment->bytes);
	}
}

static int run_init(struct run *run, struct plx_stream *stream,
		    struct plx_error *err)
{
	size_t count = (size_t) stream->count;

	*run = (struct run){ .stream = stream, .fd = -1, .direct_fd = -1 };
	pthread_mutex_init(&run->lock, NULL);
	run->bytes = plx_stream_bytes(stream);
	run->chunks = (run->bytes + CHUNK - 1) / CHUNK;
	run->starts = calloc(count + 1, sizeof(*run->starts));
	run->crcs = calloc(count + run->chunks + 1, sizeof(*run->crcs));
	if (!run->starts || !run->crcs)
		return plx_fail(err, "cannot get memory for %zu tensors",
				count);
	for (size_t i = 0; i < count; i++)
		run->starts[i + 1] = run->starts[i] + stream->segments[i].bytes;
	return 0;
}

static void run_release(struct run *run)
{
	if (run->fd >= 0)
		close(run->fd);
	if (run->direct_fd >= 0)
		close(run->direct_fd);
	free(run->starts);
	free(run->crcs);
	pthread_mutex_destroy(&run->lock);
}

static int open_new(struct run *run, const char *path, bool flush)
{
	int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;

	run->direct = flush && run->bytes >= DIRECT_MIN;
	if (run->direct)
		run->fd = open(path, flags | O_DIRECT, 0666);
	if (run->fd < 0) {
		run->direct = false;
		run->fd = open(path, flags, 0666);
	}
	return run->fd < 0 ? -1 : 0;
}

int plx_stream_write(struct plx_stream *stream, const char *path, bool flush,
		     struct plx_error *err)
{
	struct run run;
	int rc = -1;

	if (run_init(&run, stream, err) < 0)
		goto done;
	run.work = write_chunk;
	if (open_new(&run, path, flush) < 0) {
		plx_fail(err, "cannot make its file: %s", strerror(errno));
		goto done;
	}
	/* A full disk is better known before than after. */
	if (run.bytes > CHUNK &&
	    fallocate(run.fd, 0, 0, (off_t) run.bytes) < 0 &&
	    (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
		plx_fail(err, "cannot write: %s", strerror(errno));
		goto done;
	}
	if (work(&run, err) < 0)
		goto done;
	if (ftruncate(run.fd, (off_t) run.bytes) < 0 ||
	    (flush && fsync(run.fd) < 0)) {
		plx_fail(err, "cannot flush: %s", strerror(errno));
		goto done;
	}
	rc = close(run.fd);
	run.fd = -1;
	if (rc < 0)
		plx_fail(err, "cannot close: %s", strerror(errno));
	join_crcs(&run);
done:
	run_release(&run);
	return rc;
}

int plx_stream_read(struct plx_stream *stream, const char *path, bool alone,
		    struct plx_error *err)
{
	struct run run;
	struct stat st;
	int rc = -1;

	if (run_init(&run, stream, err) < 0)
		goto done;
	run.work = read_chunk;
	run.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (run.fd < 0 || fstat(run.fd, &st) < 0) {
		plx_fail(err, "%s", strerror(errno));
		goto done;
	}
	if (!S_ISREG(st.st_mode) || (uint64_t) st.st_size != run.bytes) {
		plx_fail(err, "it has %lld bytes, not %" PRIu64,
			 (long long) st.st_size, run.bytes);
		goto done;
	}
	if (alone && run.bytes >= DIRECT_MIN)
		run.direct_fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (work(&run, err) < 0)
		goto done;
	join_crcs(&run);
	rc = 0;
done:
	run_release(&run);
	return rc;
}
