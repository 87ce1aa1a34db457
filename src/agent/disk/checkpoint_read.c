/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_read.c - read state back, and believe it only when it is whole
 *
 * The seal is checked before anything is parsed; parsing is bounded all the
 * same, for a file may have been made to fit.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/disk/checkpoint.h"
#include "agent/disk/checkpoint_file.h"
#include "agent/gpu/device.h"
#include "core/base/crc.h"
#include "wire/dir.h"

struct plx_checkpoint {
	unsigned char *bytes; /* the file */
	size_t size;
	json_t *header;
	const unsigned char *data; /* tensors, in bytes */
	size_t data_size;
};

static uint64_t get_le64(const unsigned char *in)
{
	uint64_t value = 0;

	for (int i = 7; i >= 0; i--)
		value = value << 8 | in[i];
	return value;
}

static int read_bytes(int fd, unsigned char *bytes, size_t size,
		      struct plx_error *err)
{
	while (size > 0) {
		ssize_t got = read(fd, bytes, size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return plx_fail(err, "cannot read: %s",
					strerror(errno));
		if (got == 0)
			return plx_fail(err, "it became shorter");
		bytes += got;
		size -= (size_t) got;
	}
	return 0;
}

static int load(struct plx_checkpoint *c, const char *folder, const char *name,
		struct plx_error *err)
{
	struct stat st;
	int fd = plx_dir_file_at(folder, name, O_RDONLY, err);
	int rc = -1;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0) {
		plx_fail(err, "%s", strerror(errno));
		goto done;
	}
	c->size = (size_t) st.st_size;
	if (c->size < PLX_LENGTH_SIZE + PLX_SEAL_BYTES) {
		plx_fail(err, "only %zu bytes long", c->size);
		goto done;
	}
	c->bytes = malloc(c->size);
	if (!c->bytes) {
		plx_fail(err, "out of memory for %zu bytes", c->size);
		goto done;
	}
	rc = read_bytes(fd, c->bytes, c->size, err);
done:
	close(fd);
	return rc;
}

static int check_seal(const struct plx_checkpoint *c, struct plx_error *err)
{
	size_t sealed = c->size - PLX_SEAL_BYTES;
	uint64_t want = get_le64(c->bytes + sealed);
	uint32_t is = plx_crc32c(0, c->bytes, sealed);

	if (is == want)
		return 0;
	return plx_fail(err,
			"checksum is %08" PRIx32 ", its seal says %08" PRIx64,
			is, want);
}

static int parse(struct plx_checkpoint *c, struct plx_error *err)
{
	uint64_t length = get_le64(c->bytes);
	json_error_t why;

	if (length > c->size - PLX_LENGTH_SIZE)
		return plx_fail(err, "its header is longer than the file");
	c->header = json_loadb((const char *) c->bytes + PLX_LENGTH_SIZE,
			       (size_t) length, JSON_REJECT_DUPLICATES, &why);
	if (!json_is_object(c->header))
		return plx_fail(err, "its header is no JSON object");
	c->data = c->bytes + PLX_LENGTH_SIZE + length;
	c->data_size = c->size - PLX_LENGTH_SIZE - (size_t) length;
	return 0;
}

struct plx_checkpoint *plx_checkpoint_read(const char *folder, const char *name,
					   struct plx_error *err)
{
	struct plx_checkpoint *c = calloc(1, sizeof(*c));
	struct plx_error why = { .text = "out of memory" };

	if (c && load(c, folder, name, &why) == 0 && check_seal(c, &why) == 0 &&
	    parse(c, &why) == 0)
		return c;
	plx_fail(err, "%s", why.text);
	plx_checkpoint_destroy(c);
	return NULL;
}

void plx_checkpoint_destroy(struct plx_checkpoint *checkpoint)
{
	if (!checkpoint)
		return;
	json_decref(checkpoint->header);
	free(checkpoint->bytes);
	free(checkpoint);
}

const char *plx_checkpoint_note(const struct plx_checkpoint *checkpoint,
				const char *key)
{
	json_t *notes = json_object_get(checkpoint->header, PLX_METADATA);

	return json_string_value(json_object_get(notes, key));
}

static bool same_shape(json_t *shape, const struct plx_tensor *want)
{
	if (!json_is_array(shape) ||
	    json_array_size(shape) != (size_t) want->dims)
		return false;
	for (int i = 0; i < want->dims; i++) {
		json_t *size = json_array_get(shape, (size_t) i);

		if (!json_is_integer(size) ||
		    (uint64_t) json_integer_value(size) != want->shape[i])
			return false;
	}
	return true;
}

/* Where the tensor's bytes are; NULL with err set. */
static const unsigned char *find(const struct plx_checkpoint *c,
				 const struct plx_tensor *want,
				 struct plx_error *err)
{
	json_t *e = json_object_get(c->header, want->name);
	json_t *offsets = json_object_get(e, "data_offsets");
	const char *dtype = json_string_value(json_object_get(e, "dtype"));
	json_int_t begin = json_integer_value(json_array_get(offsets, 0));
	json_int_t end = json_integer_value(json_array_get(offsets, 1));

	if (!e) {
		plx_fail(err, "it has no tensor \"%s\"", want->name);
		return NULL;
	}
	if (!dtype || strcmp(dtype, want->dtype) != 0 ||
	    !same_shape(json_object_get(e, "shape"), want)) {
		plx_fail(err, "tensor \"%s\" has another type or shape there",
			 want->name);
		return NULL;
	}
	if (begin < 0 || end < begin || (uint64_t) end > c->data_size ||
	    (uint64_t) (end - begin) != want->bytes) {
		plx_fail(err, "tensor \"%s\" is not where it should be",
			 want->name);
		return NULL;
	}
	return c->data + begin;
}

int plx_checkpoint_has(const struct plx_checkpoint *checkpoint,
		       const struct plx_tensor *want, struct plx_error *err)
{
	return find(checkpoint, want, err) ? 0 : -1;
}

int plx_checkpoint_fill(const struct plx_checkpoint *checkpoint,
			const struct plx_tensor *tensor, struct plx_error *err)
{
	const unsigned char *bytes = find(checkpoint, tensor, err);

	if (!bytes)
		return -1;
	return plx_device_write(tensor->data, bytes, tensor->bytes,
				tensor->memory, err);
}
