/* SPDX-License-Identifier: MIT */
/*
 * slurm_memory.h - Slurm's memory and its last words, for tests without Slurm
 *
 * Include once, behind headers of Slurm. What is counted or may fail is a
 * test's own.
 */
#ifndef PLX_SLURM_MEMORY_H
#define PLX_SLURM_MEMORY_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *slurm_xcalloc(size_t count, size_t size, bool clear, bool try,
		    const char *file, int line, const char *function)
{
	(void) clear, (void) try, (void) file, (void) line, (void) function;
	return calloc(count, size);
}

void *slurm_xrecalloc(void **item, size_t count, size_t size, bool clear,
		      bool try, const char *file, int line,
		      const char *function)
{
	(void) clear, (void) try, (void) file, (void) line, (void) function;
	*item = realloc(*item, count * size);
	return *item;
}

void slurm_xfree(void **item)
{
	free(*item);
	*item = NULL;
}

char *xstrdup(const char *text)
{
	return text ? strdup(text) : NULL;
}

char *xstrdup_printf(const char *format, ...)
{
	char text[1024];
	va_list list;

	va_start(list, format);
	if (vsnprintf(text, sizeof(text), format, list) >= (int) sizeof(text))
		abort();
	va_end(list);
	return strdup(text);
}

void fatal(const char *format, ...)
{
	(void) format;
	abort();
}

/* The same, as newer releases have it. */
void fatal_abort(const char *format, ...)
{
	(void) format;
	abort();
}

#endif
