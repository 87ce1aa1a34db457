/* SPDX-License-Identifier: MIT */
/* fuzz_resident.c - the head of state in a node's memory */

#include "agent/memory/memory_image.c"
#include "fuzz.h"

#define PARTS	   3
#define ARRAY_SIZE 24

struct kept {
	unsigned char array[ARRAY_SIZE];
	unsigned char handed[8];
	size_t blob;
};

static int load_blob(void *user, const void *data, size_t bytes)
{
	struct kept *kept = user;
	const unsigned char *at = data;

	for (size_t i = 0; i < bytes; i++)
		kept->blob += at[i];
	return bytes == 1 ? -1 : 0;
}

/* A head as this version writes it, and a checksum that fits. */
static void repair(unsigned char *base, size_t bytes)
{
	struct head *head = (struct head *) base;

	if (bytes < sizeof(*head))
		return;
	head->word = PLX_MEMORY_IMAGE_GOOD;
	memcpy(head->magic, MAGIC, sizeof(head->magic));
	head->version = LAYOUT;
	if (head->parts <= PARTS_MAX &&
	    front_bytes(head->parts, head->pieces) <= bytes)
		head->crc = front_crc(base);
}

static void read_all(const unsigned char *base, size_t bytes)
{
	static const struct plx_memory_image_facts want = { .job = "5" };
	struct kept kept = { .blob = 0 };
	const struct pollux_blob blob = { .load = load_blob, .user = &kept };
	const struct plx_image_part list[PARTS] = {
		{ .data = kept.array,
		  .bytes = ARRAY_SIZE,
		  .kind = 1,
		  .name = "w" },
		{ .kind = 2, .name = "b", .blob = &blob },
		{ .data = kept.handed, .bytes = 8, .kind = 3, .name = "own" },
	};
	const struct plx_parts parts = { list, PARTS, 1, 0 };
	struct plx_error err;

	if (plx_memory_image_check(base, bytes, &parts, &want, &err) < 0 ||
	    plx_memory_image_take(base, &parts, (struct plx_slice){ 0, 1 },
				  &err) < 0 ||
	    plx_memory_image_load(base, &parts, &err) < 0) {
		fuzz_is_a_line(err.text, sizeof(err.text));
		return;
	}
	(void) plx_memory_image_step(base);
	(void) plx_memory_image_crc(base);
	MUST(plx_memory_image_bytes(base) == ARRAY_SIZE);
}

/* As it is, and with a head that is believed. */
int fuzz_resident(const uint8_t *data, size_t size)
{
	unsigned char *base = malloc(size ? size : 1);

	MUST(base);
	memcpy(base, data, size);
	read_all(base, size);
	repair(base, size);
	read_all(base, size);
	free(base);
	return 0;
}
