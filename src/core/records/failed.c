/* SPDX-License-Identifier: MIT */
/* failed.c - where a job's ranks failed, as its launcher tells */

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/records/failed.h"

#define KEY "failed"
#define NAME_CHARS                                                             \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"                 \
	"0123456789._-"
#define DIGITS 10 /* of the serial */

/* Names in the list; -1: one of them is none. */
static int count_names(const char *nodes)
{
	int count = 0;

	if (!*nodes)
		return 0;
	for (;;) {
		size_t length = strspn(nodes, NAME_CHARS);

		if (!length || (nodes[length] && nodes[length] != ','))
			return -1;
		count++;
		if (!nodes[length])
			return count;
		nodes += length + 1;
	}
}

bool plx_failed_names(const struct plx_failed *failed, const char *node)
{
	size_t length = strlen(node);
	const char *at = failed->nodes;

	while (*at) {
		size_t size = strcspn(at, ",");

		if (size == length && !memcmp(at, node, length))
			return true;
		at += size;
		at += *at == ',';
	}
	return false;
}

bool plx_failed_add(struct plx_failed *failed, const char *node)
{
	size_t used = strlen(failed->nodes);

	if (count_names(node) != 1 || strchr(node, ','))
		return false;
	if (plx_failed_names(failed, node))
		return true;
	if (count_names(failed->nodes) >= PLX_FAILED_NODES ||
	    used + (used > 0) + strlen(node) >= PLX_FAILED_SIZE)
		return false;
	if (used)
		failed->nodes[used++] = ',';
	strcpy(failed->nodes + used, node);
	return true;
}

bool plx_failed_equal(const struct plx_failed *a, const struct plx_failed *b)
{
	return a->is == b->is && a->serial == b->serial &&
	       !strcmp(a->nodes, b->nodes);
}

void plx_failed_say(struct plx_failed *failed, const char *why)
{
	size_t i = 0;

	for (; why[i] && why[i] != '\n' && i + 1 < sizeof(failed->why); i++) {
		bool shown = why[i] >= ' ' && why[i] < 127;

		failed->why[i] = shown ? why[i] : '?';
	}
	failed->why[i] = '\0';
}

void plx_failed_write_why(struct plx_writer *w, const struct plx_failed *failed)
{
	if (failed->is && failed->why[0])
		plx_write_why(w, failed->why);
}

void plx_failed_write(struct plx_writer *w, const struct plx_failed *failed)
{
	char text[PLX_FAILED_SIZE + 2 * DIGITS];

	if (!failed->is)
		return;
	snprintf(text, sizeof(text), "%" PRIu32 "%s%s", failed->serial,
		 failed->nodes[0] ? ":" : "", failed->nodes);
	plx_write_text(w, KEY, text);
}

int plx_failed_read(const char *fields, struct plx_failed *failed,
		    struct plx_error *err)
{
	struct plx_failed read = { .is = true };
	char text[PLX_FAILED_SIZE + DIGITS + 2];
	char why[PLX_FAILED_WHY];
	size_t digits = 0;
	uint64_t serial = 0;
	size_t length;

	*failed = (struct plx_failed){ 0 };
	if (!plx_field_text(fields, KEY, text, sizeof(text)))
		return 0;
	length = strlen(text);
	for (; digits < DIGITS && text[digits] >= '0' && text[digits] <= '9';
	     digits++)
		serial = 10 * serial + (uint64_t) (text[digits] - '0');
	read.serial = (uint32_t) serial;
	if (!digits || serial > INT_MAX ||
	    (text[digits] && text[digits] != ':') ||
	    length - digits > PLX_FAILED_SIZE)
		return plx_fail(err, KEY ": want SERIAL or SERIAL:NODE,...");
	if (text[digits])
		strcpy(read.nodes, text + digits + 1);
	if ((text[digits] && !read.nodes[0]) || count_names(read.nodes) < 0 ||
	    count_names(read.nodes) > PLX_FAILED_NODES)
		return plx_fail(err, KEY ": want names of at most %d nodes",
				PLX_FAILED_NODES);
	if (plx_field_text(fields, "why", why, sizeof(why)))
		plx_failed_say(&read, why);
	*failed = read;
	return 1;
}
