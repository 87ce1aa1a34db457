/* SPDX-License-Identifier: MIT */
/* sheet.c - a text that grows as it is written */

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/sheet.h"

#define FIRST_SIZE 4096

struct plx_sheet plx_sheet_create(size_t most)
{
	struct plx_sheet sheet = {
		.text = malloc(FIRST_SIZE),
		.size = FIRST_SIZE,
		.most = most,
	};

	sheet.failed = !sheet.text;
	if (sheet.text)
		sheet.text[0] = '\0';
	return sheet;
}

/* So that `more` bytes and a NUL go behind what is there. */
static bool reserve(struct plx_sheet *sheet, size_t more)
{
	size_t size = sheet->size;
	char *text;

	while (size - sheet->used <= more && size <= sheet->most)
		size *= 2;
	if (size == sheet->size)
		return true;
	text = size <= sheet->most ? realloc(sheet->text, size) : NULL;
	if (!text)
		return false;
	sheet->text = text;
	sheet->size = size;
	return true;
}

void plx_sheet_add(struct plx_sheet *sheet, const char *fmt, ...)
{
	size_t left = sheet->size - sheet->used;
	va_list args;
	va_list again;
	int length;

	if (sheet->failed)
		return;
	va_start(args, fmt);
	va_copy(again, args);
	length = vsnprintf(sheet->text + sheet->used, left, fmt, args);
	if (length < 0 || !reserve(sheet, (size_t) length))
		sheet->failed = true;
	else if ((size_t) length >= left)
		vsnprintf(sheet->text + sheet->used, sheet->size - sheet->used,
			  fmt, again);
	if (!sheet->failed)
		sheet->used += (size_t) length;
	va_end(again);
	va_end(args);
}

char *plx_sheet_take(struct plx_sheet *sheet)
{
	char *text = sheet->text;

	if (sheet->failed) {
		free(text);
		text = NULL;
	}
	*sheet = (struct plx_sheet){ .failed = true };
	return text;
}

const char *plx_number(double value, int digits, char text[PLX_NUMBER_SIZE])
{
	char written[PLX_NUMBER_SIZE];
	size_t used = 0;

	snprintf(written, sizeof(written), "%.*g", digits, value);
	for (const char *c = written; *c; c++) {
		if (isalnum((unsigned char) *c) || *c == '-' || *c == '+')
			text[used++] = *c;
		else if (used == 0 || text[used - 1] != '.')
			text[used++] = '.';
	}
	text[used] = '\0';
	return text;
}
