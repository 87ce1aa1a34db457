/* SPDX-License-Identifier: MIT */
/* sheet.h - a text that grows as it is written */
#ifndef PLX_CORE_SHEET_H
#define PLX_CORE_SHEET_H

#include <stdbool.h>
#include <stddef.h>

#define PLX_NUMBER_SIZE 40

/* After a failure nothing is added any more. */
struct plx_sheet {
	char *text;
	size_t used;
	size_t size;
	size_t most; /* bytes that it may have */
	bool failed;
};

/* Empty; plx_sheet_take() is to follow. */
struct plx_sheet plx_sheet_create(size_t most);

void plx_sheet_add(struct plx_sheet *sheet, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The text, the caller's to free(); NULL: no memory, or it is too long. */
char *plx_sheet_take(struct plx_sheet *sheet);

/* %.{digits}g with a point, whatever the locale says. Returns text. */
const char *plx_number(double value, int digits, char text[PLX_NUMBER_SIZE]);

#endif
