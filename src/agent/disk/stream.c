/* SPDX-License-Identifier: MIT */
/* stream.c - scattered memory to a file and back, fast and checked */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/disk/stream_run.h"
#include "agent/gpu/device.h"
#include "core/base/crc.h"
#include "wire/dir.h"

#define CACHED	   (UINT64_C(256) << 10) /* of a processor, surely */
#define DIRECT_MIN (UINT64_C(1) << 20)	 /* below, the page cache is as good */

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t up_to_page(uint64_t bytes)
{
	return (bytes + PLX_PAGE - 1) / PLX_PAGE * PLX_PAGE;
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

static int put(struct plx_run *run, const unsigned char *from, uint64_t bytes,
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

static int write_chunk(struct plx_run *run, uint64_t chunk,
		       unsigned char *buffer, struct plx_error *err)
{
	const struct plx_stream *stream = run->stream;
	uint64_t begin = chunk * PLX_CHUNK;
	uint64_t bytes = plx_run_chunk(run, chunk);
	const unsigned char *image =
		stream->image ? stream->image + begin : NULL;
	struct plx_shared part;

	for (int s = plx_run_first(run, chunk);
	     s < stream->count && plx_run_share(run, chunk, s, &part); s++) {
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
static int get_direct(struct plx_run *run, unsigned char *to, uint64_t bytes,
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

static int get(struct plx_run *run, unsigned char *to, uint64_t bytes,
	       uint64_t at, struct plx_error *err)
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
static bool is_cached(const struct plx_run *run, uint64_t chunk)
{
	char byte;
	struct iovec one = { .iov_base = &byte, .iov_len = 1 };

	return preadv2(run->fd, &one, 1, (off_t) (chunk * PLX_CHUNK),
		       RWF_NOWAIT) == 1;
}

/*
 * Bytes of a segment: from the chunk in the buffer if it is there, else from
 * the file.
 */
static int get_part(struct plx_run *run, const unsigned char *buffer,
		    const struct plx_shared *part, unsigned char *to,
		    struct plx_error *err)
{
	if (!buffer)
		return get(run, to, part->bytes, part->first, err);
	memcpy(to, buffer + part->first % PLX_CHUNK, part->bytes);
	return 0;
}

static int read_chunk(struct plx_run *run, uint64_t chunk,
		      unsigned char *buffer, struct plx_error *err)
{
	const struct plx_stream *stream = run->stream;
	uint64_t bytes = plx_run_chunk(run, chunk);
	const unsigned char *from = NULL;
	struct plx_shared part;

	if (run->direct_fd >= 0 && !is_cached(run, chunk) &&
	    get_direct(run, buffer, bytes, chunk * PLX_CHUNK) == 0)
		from = buffer;
	else
		posix_fadvise(run->fd, (off_t) (chunk * PLX_CHUNK),
			      (off_t) bytes, POSIX_FADV_WILLNEED);
	for (int s = plx_run_first(run, chunk);
	     s < stream->count && plx_run_share(run, chunk, s, &part); s++) {
		const struct plx_segment *segment = &stream->segments[s];
		unsigned char *data = segment->data;
		unsigned char *to;

		if (!part.bytes)
			continue;
		data += part.first - run->starts[s];
		to = data;
		if (segment->memory != POLLUX_HOST)
			to = buffer + part.first % PLX_CHUNK;
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

static int open_new(struct plx_run *run, int dir, const char *name, bool flush,
		    struct plx_error *err)
{
	int flags = O_WRONLY | O_CREAT | O_TRUNC;
	struct plx_error why;

	run->direct = flush && run->bytes >= DIRECT_MIN;
	if (run->direct)
		run->fd = plx_dir_file(dir, name, flags | O_DIRECT, &why);
	if (run->fd < 0) {
		run->direct = false;
		run->fd = plx_dir_file(dir, name, flags, &why);
	}
	if (run->fd < 0)
		return plx_fail(err, "cannot make its file: %.160s", why.text);
	return 0;
}

int plx_stream_write(struct plx_stream *stream, int dir, const char *name,
		     bool flush, struct plx_error *err)
{
	struct plx_run run;
	int rc = -1;

	if (plx_run_init(&run, stream, err) < 0)
		goto done;
	run.work = write_chunk;
	if (open_new(&run, dir, name, flush, err) < 0)
		goto done;
	/* A full disk is better known before than after. */
	if (run.bytes > PLX_CHUNK &&
	    fallocate(run.fd, 0, 0, (off_t) run.bytes) < 0 &&
	    (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
		plx_fail(err, "cannot write: %s", strerror(errno));
		goto done;
	}
	if (plx_run_work(&run, err) < 0)
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
	plx_run_join(&run);
done:
	plx_run_release(&run);
	return rc;
}

int plx_stream_read(struct plx_stream *stream, int dir, const char *name,
		    bool alone, struct plx_error *err)
{
	struct plx_run run;
	struct stat st;
	int rc = -1;

	if (plx_run_init(&run, stream, err) < 0)
		goto done;
	run.work = read_chunk;
	run.fd = plx_dir_file(dir, name, O_RDONLY, err);
	if (run.fd < 0)
		goto done;
	if (fstat(run.fd, &st) < 0) {
		plx_fail(err, "%s", strerror(errno));
		goto done;
	}
	if ((uint64_t) st.st_size != run.bytes) {
		plx_fail(err, "it has %lld bytes, not %" PRIu64,
			 (long long) st.st_size, run.bytes);
		goto done;
	}
	if (alone && run.bytes >= DIRECT_MIN)
		run.direct_fd =
			plx_dir_file(dir, name, O_RDONLY | O_DIRECT, NULL);
	if (plx_run_work(&run, err) < 0)
		goto done;
	plx_run_join(&run);
	rc = 0;
done:
	plx_run_release(&run);
	return rc;
}
