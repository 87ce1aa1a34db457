/* SPDX-License-Identifier: MIT */
/* section.c - our part of a comment that belongs to somebody else */

#include <stdio.h>
#include <string.h>

#include "core/base/section.h"

static const char name[] = "[pollux";

/*
 * Where the section begins, or NULL. Fields hold no brackets, so the last '['
 * before the final ']' decides; the user's own brackets are safe.
 */
static const char *find_section(const char *comment)
{
	size_t length = strlen(comment);
	const char *open = strrchr(comment, '[');
	size_t name_length = sizeof(name) - 1;

	if (!open || comment[length - 1] != ']' ||
	    strchr(open, ']') != comment + length - 1)
		return NULL;
	if (strncmp(open, name, name_length) != 0 ||
	    (open[name_length] != ' ' && open[name_length] != ']'))
		return NULL;
	if (open > comment && open[-1] != ' ')
		return NULL;
	return open;
}

bool plx_section_get(const char *comment, char *fields, size_t size)
{
	const char *open = comment ? find_section(comment) : NULL;
	size_t length;

	if (!open)
		return false;
	open += sizeof(name) - 1;
	open += *open == ' ';
	length = strlen(open) - 1;
	if (length >= size)
		return false;
	memcpy(fields, open, length);
	fields[length] = '\0';
	return true;
}

/* Bytes of the comment that are the user's. */
static size_t user_length(const char *comment)
{
	const char *open = find_section(comment);

	if (!open)
		return strlen(comment);
	return (size_t) (open - comment) - (open > comment);
}

int plx_section_put(const char *comment, const char *fields, char *out,
		    size_t size, struct plx_error *err)
{
	size_t kept = comment ? user_length(comment) : 0;
	size_t ours = 0;

	if (fields && strpbrk(fields, "[]\n"))
		return plx_fail(err, "a section's fields hold a bracket");
	if (fields)
		ours = (kept > 0) + strlen(name) + 1 + strlen(fields) + 1;
	if (kept + ours >= size)
		return plx_fail(err,
				"the user's comment of %zu bytes leaves no "
				"room for the %zu bytes of Pollux",
				kept, ours);
	if (kept)
		memmove(out, comment, kept);
	out[kept] = '\0';
	if (fields)
		snprintf(out + kept, size - kept, "%s%s %s]", kept ? " " : "",
			 name, fields);
	return 0;
}
