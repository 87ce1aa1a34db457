/* SPDX-License-Identifier: MIT */
/* names.c - which tensor or blob has a name */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "agent/state/registered.h"
#include "core/base/crc.h"

#define CAPACITY_MIN 64

static uint32_t pack(int number, bool is_blob)
{
	return 2 * (uint32_t) number + 1 + is_blob;
}

static const char *name_of(const struct plx_registered *r, uint32_t slot)
{
	uint32_t number = (slot - 1) / 2;

	return (slot - 1) % 2 ? r->blobs[number].name : r->tensors[number].name;
}

/* Where that name is, or would be. */
static uint32_t *slot_of(struct plx_registered *r, const char *name)
{
	struct plx_names *n = &r->names;
	size_t at = plx_crc32c(0, name, strlen(name)) & (n->capacity - 1);

	while (n->slots[at]) {
		n->looks++;
		if (!strcmp(name_of(r, n->slots[at]), name))
			break;
		at = (at + 1) & (n->capacity - 1);
	}
	return &n->slots[at];
}

static int find(struct plx_registered *r, const char *name, bool is_blob)
{
	uint32_t slot = r->names.capacity ? *slot_of(r, name) : 0;

	return slot && (slot - 1) % 2 == is_blob ? (int) ((slot - 1) / 2) : -1;
}

int plx_names_tensor(struct plx_registered *r, const char *name)
{
	return find(r, name, false);
}

int plx_names_blob(struct plx_registered *r, const char *name)
{
	return find(r, name, true);
}

/* Never more than half full. */
static int grow(struct plx_registered *r)
{
	struct plx_names *n = &r->names;
	struct plx_names old = *n;

	if (2 * n->used < n->capacity)
		return 0;
	n->capacity = n->capacity ? 2 * n->capacity : CAPACITY_MIN;
	n->slots = calloc(n->capacity, sizeof(*n->slots));
	if (!n->slots) {
		*n = old;
		return -1;
	}
	for (size_t i = 0; i < old.capacity; i++) {
		if (old.slots[i])
			*slot_of(r, name_of(r, old.slots[i])) = old.slots[i];
	}
	free(old.slots);
	return 0;
}

int plx_names_add(struct plx_registered *r, int number, bool is_blob)
{
	uint32_t slot = pack(number, is_blob);

	if (grow(r) < 0)
		return -1;
	*slot_of(r, name_of(r, slot)) = slot;
	r->names.used++;
	return 0;
}

void plx_names_release(struct plx_names *names)
{
	free(names->slots);
	*names = (struct plx_names){ 0 };
}
