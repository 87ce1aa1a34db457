/* SPDX-License-Identifier: MIT */
/* fuzz_ask.c - what a local job answers to another terminal */

#include <stdio.h>

#include "fuzz.h"

/* The agent has its own. */
#define plx_run_release launch_run_release

#include "launcher/job/run_folder.c"

#undef LOCK
#undef SOCKET

static FILE *sheet;

#define printf(...)   fprintf(sheet, __VA_ARGS__)
#define putchar(byte) fputc(byte, sheet)

#include "launcher/job/launch_request.c"

#undef printf

int fuzz_ask(const uint8_t *data, size_t size)
{
	char line[TEXT_MAX];
	char *text = NULL;
	size_t length = 0;

	fuzz_text(data, size < PLX_LINE_MAX ? size : PLX_LINE_MAX - 1, line);
	sheet = open_memstream(&text, &length);
	MUST(sheet);
	print_status(line);
	fclose(sheet);
	MUST(length > 0 && text[length - 1] == '\n');
	for (size_t i = 0; i + 1 < length; i++)
		MUST((unsigned char) text[i] >= ' ');
	free(text);
	return 0;
}
