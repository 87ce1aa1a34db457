/* SPDX-License-Identifier: MIT */
/* fuzz_checkpoint.c - checkpoints of the former kind: one file of safetensors
 */

#include "agent/disk/checkpoint_file.h"
#include "agent/state/restore_old.h"
#include "agent/state/restore_read.h"
#include "core/base/crc.h"
#include "fuzz.h"
#include "scratch.h"

#define NAME "step-000000000001.safetensors"

/* registered.c's. */
uint32_t plx_registered_crc(const struct plx_registered *r)
{
	(void) r;
	return 0x0011aabb;
}

/* With one array, by way of what goes on from it. */
static void restore(void)
{
	float numbers[3];
	struct plx_tensor w = { .name = "w",
				.dtype = "F32",
				.dims = 1,
				.shape = { 3 },
				.data = numbers,
				.bytes = sizeof(numbers) };
	struct pollux p = { .registered = { .tensors = &w,
					    .tensor_count = 1 } };
	struct plx_facts facts;
	struct plx_error err;

	snprintf(p.folder, sizeof(p.folder), "%s", scratch_folder());
	if (plx_restore_old(&p, NAME, &facts, &err) != PLX_READ_GOOD)
		fuzz_is_a_line(err.text, sizeof(err.text));
	else
		MUST(plx_profile_valid(&p.profile));
}

static void look_at(const struct plx_checkpoint *c)
{
	static const char *const keys[] = { "format", "epoch", "crc", "x" };
	unsigned char room[64];
	struct plx_tensor want[] = {
		{ .name = "w",
		  .dtype = "F32",
		  .dims = 1,
		  .shape = { 3 },
		  .data = room,
		  .bytes = 12 },
		{ .name = "b", .dtype = "U8", .data = room, .bytes = 1 },
		{ .name = "none",
		  .dtype = "F32",
		  .dims = 2,
		  .shape = { 0, 5 },
		  .data = room },
	};
	struct plx_error err;

	for (size_t i = 0; i < 4; i++) {
		const char *note = plx_checkpoint_note(c, keys[i]);

		MUST(!note || strlen(note) < 1 << 20);
	}
	for (size_t i = 0; i < 3; i++) {
		int has = plx_checkpoint_has(c, &want[i], &err);

		MUST(has == plx_checkpoint_fill(c, &want[i], &err));
		if (has < 0)
			fuzz_is_a_line(err.text, sizeof(err.text));
	}
}

static void read_file(const uint8_t *data, size_t size)
{
	struct plx_checkpoint *c;
	struct plx_error err;

	scratch_put(NAME, (struct scratch_input){ data, size });
	c = plx_checkpoint_read(scratch_folder(), NAME, &err);
	if (c) {
		look_at(c);
		restore();
	} else {
		fuzz_is_a_line(err.text, sizeof(err.text));
	}
	plx_checkpoint_destroy(c);
}

/* With the length of its header before it and a seal behind it. */
int fuzz_checkpoint(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, SCRATCH_END, size) : NULL;
	size_t header = end ? (size_t) (end - data) : size;
	size_t front = PLX_LENGTH_SIZE + size;
	uint8_t *whole = calloc(1, front + PLX_SEAL_BYTES);
	uint32_t crc;

	MUST(whole);
	read_file(data, size);
	memcpy(whole + PLX_LENGTH_SIZE, data, size);
	for (int i = 0; i < 4; i++)
		whole[i] = (uint8_t) (header >> (8 * i));
	crc = plx_crc32c(0, whole, front);
	for (int i = 0; i < 4; i++)
		whole[front + (size_t) i] = (uint8_t) (crc >> (8 * i));
	read_file(whole, front + PLX_SEAL_BYTES);
	free(whole);
	return 0;
}
