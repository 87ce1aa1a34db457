/* SPDX-License-Identifier: MIT */
/*
 * old_checkpoint.c - write a checkpoint as "pollux-1" was
 *
 * The library reads those still; this is what it wrote them with.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/disk/checkpoint_file.h"
#include "core/base/crc.h"
#include "old_checkpoint.h"

/* A file being written, and the checksum of what was. */
struct sink {
	int fd;
	uint32_t crc;
};

static int put(struct sink *sink, const void *data, size_t size,
	       struct plx_error *err)
{
	const char *at = data;

	sink->crc = plx_crc32c(sink->crc, data, size);
	while (size > 0) {
		ssize_t wrote = write(sink->fd, at, size);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return plx_fail(err, "cannot write: %s",
					strerror(errno));
		at += wrote;
		size -= (size_t) wrote;
	}
	return 0;
}

static json_t *entry(const char *dtype, const uint64_t *shape, int dims,
		     uint64_t begin, uint64_t end)
{
	json_t *sizes = json_array();

	for (int i = 0; i < dims; i++)
		json_array_append_new(sizes,
				      json_integer((json_int_t) shape[i]));
	return json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype, "shape", sizes,
			 "data_offsets", (json_int_t) begin, (json_int_t) end);
}

static json_t *metadata(const struct plx_saved *saved)
{
	json_t *notes = json_object();

	for (int i = 0; i < saved->note_count; i++)
		json_object_set_new(notes, saved->notes[i].key,
				    json_string(saved->notes[i].value));
	return notes;
}

/* The header's text, the caller's to free; NULL when memory is out. */
static char *header_text(const struct plx_saved *saved)
{
	const uint64_t seal_shape[1] = { PLX_SEAL_BYTES };
	json_t *root = json_object();
	uint64_t at = 0;
	char *text = NULL;

	json_object_set_new(root, PLX_METADATA, metadata(saved));
	for (int i = 0; i < saved->tensor_count; i++) {
		const struct plx_tensor *t = &saved->tensors[i];

		json_object_set_new(root, t->name,
				    entry(t->dtype, t->shape, t->dims, at,
					  at + t->bytes));
		at += t->bytes;
	}
	json_object_set_new(root, PLX_SEAL_NAME,
			    entry("U8", seal_shape, 1, at,
				  at + PLX_SEAL_BYTES));
	if (json_object_size(root) == (size_t) saved->tensor_count + 2)
		text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	return text;
}

static void put_le64(unsigned char out[8], uint64_t value)
{
	for (int i = 0; i < 8; i++)
		out[i] = (unsigned char) (value >> (8 * i));
}

static int put_header(struct sink *sink, const struct plx_saved *saved,
		      struct plx_error *err)
{
	char *text = header_text(saved);
	unsigned char length[8];
	size_t size;
	size_t padding;
	int rc = -1;

	if (!text)
		return plx_fail(err, "cannot make the header: two tensors of "
				     "one name, a name that is not UTF-8, or "
				     "no memory");
	/* Tensors begin at a multiple of 8, as other writers do. */
	size = strlen(text);
	padding = (8 - size % 8) % 8;
	put_le64(length, size + padding);
	if (put(sink, length, sizeof(length), err) == 0 &&
	    put(sink, text, size, err) == 0 &&
	    put(sink, "        ", padding, err) == 0)
		rc = 0;
	free(text);
	return rc;
}

static int put_all(struct sink *sink, const struct plx_saved *saved, bool flush,
		   struct plx_error *err)
{
	unsigned char seal[PLX_SEAL_BYTES];

	if (put_header(sink, saved, err) < 0)
		return -1;
	for (int i = 0; i < saved->tensor_count; i++) {
		const struct plx_tensor *t = &saved->tensors[i];

		if (put(sink, t->data, t->bytes, err) < 0)
			return -1;
	}
	put_le64(seal, sink->crc);
	if (put(sink, seal, sizeof(seal), err) < 0)
		return -1;
	if (flush && fsync(sink->fd) < 0)
		return plx_fail(err, "cannot flush: %s", strerror(errno));
	return 0;
}

/* A rename is on disk only when its folder is. */
static int flush_folder(const char *path, struct plx_error *err)
{
	char folder[PATH_MAX];
	char *slash;
	int fd;
	int rc;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = fd < 0 ? -1 : fsync(fd);
	if (fd >= 0)
		close(fd);
	if (rc < 0)
		return plx_fail(err, "cannot flush %s: %s", folder,
				strerror(errno));
	return 0;
}

int plx_checkpoint_write(const char *path, const struct plx_saved *saved,
			 bool flush, struct plx_error *err)
{
	char tmp[PATH_MAX];
	struct sink sink = { .fd = -1 };
	struct plx_error why = { .text = "" };
	int rc = -1;

	if (snprintf(tmp, sizeof(tmp), "%s" PLX_TMP_SUFFIX, path) >=
	    (int) sizeof(tmp))
		return plx_fail(err, "checkpoint path is too long");
	sink.fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (sink.fd < 0) {
		plx_fail(&why, "%s", strerror(errno));
		goto done;
	}
	rc = put_all(&sink, saved, flush, &why);
	if (close(sink.fd) < 0 && rc == 0)
		rc = plx_fail(&why, "cannot close: %s", strerror(errno));
	if (rc == 0 && rename(tmp, path) < 0)
		rc = plx_fail(&why, "cannot rename: %s", strerror(errno));
	if (rc == 0 && flush)
		rc = flush_folder(path, &why);
done:
	if (rc < 0) {
		unlink(tmp);
		plx_fail(err, "cannot save to %.120s: %.100s", path, why.text);
	}
	return rc;
}
