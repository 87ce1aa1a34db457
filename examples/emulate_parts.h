/* SPDX-License-Identifier: MIT */
/* emulate_parts.h - the two kinds of emulation, for emulate.c */
#ifndef TRAIN_EMULATE_PARTS_H
#define TRAIN_EMULATE_PARTS_H

#include "emulate.h"

struct traces; /* recorded times */

struct traces *traces_read(const char *folder, char error[EMULATE_ERROR_SIZE]);
void traces_destroy(struct traces *traces); /* accepts NULL */
struct emulated traces_times(const struct traces *traces, int nodes, int gpus,
			     int per_gpu);

/* Format the sentence. Always -1. */
int emulate_fail(char error[EMULATE_ERROR_SIZE], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
