/* SPDX-License-Identifier: MIT */
/* message.c - the words of the socket protocol (docs/resize.md, part 4) */
#include <string.h>

#include "wire/message.h"

const char *plx_message(const char *line, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(line, word, length) != 0)
		return NULL;
	if (line[length] == '\0')
		return line + length;
	if (line[length] != ' ')
		return NULL;
	return line + length + 1;
}
