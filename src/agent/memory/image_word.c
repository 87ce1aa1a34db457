/* SPDX-License-Identifier: MIT */
/* image_word.c - a number in shared memory that other processes wait for */
#include <config.h>

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/memory/image_word.h"
#include "wire/now.h"

void plx_image_word_set(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

uint32_t plx_image_word_get(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

bool plx_image_word_wait(const uint32_t *word, uint32_t value, double timeout_s)
{
	double end_s = plx_now_s() + timeout_s;
	uint32_t now;

	while ((now = plx_image_word_get(word)) != value) {
		double left_s = end_s - plx_now_s();
		struct timespec t = { .tv_sec = (time_t) left_s };

		if (left_s <= 0)
			return false;
		t.tv_nsec = (long) ((left_s - (double) t.tv_sec) * 1e9);
		syscall(SYS_futex, word, FUTEX_WAIT, now, &t, NULL, 0);
	}
	return true;
}
