/* SPDX-License-Identifier: MIT */
/* image_word.h - a number in shared memory that other processes wait for */
#ifndef PLX_AGENT_IMAGE_WORD_H
#define PLX_AGENT_IMAGE_WORD_H

#include <stdbool.h>
#include <stdint.h>

/* What was written before is seen by those that see the number. */
void plx_image_word_set(uint32_t *word, uint32_t value);
uint32_t plx_image_word_get(const uint32_t *word);

/* At most timeout_s: true when it has that value. */
bool plx_image_word_wait(const uint32_t *word, uint32_t value,
			 double timeout_s);

#endif
