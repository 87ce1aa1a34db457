/* SPDX-License-Identifier: MIT */
/* fuzz_keys.c - what a terminal sends to pollux-top */

#include "fuzz.h"
#include "report/keys.h"

int fuzz_keys(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *) data;

	for (size_t at = 0; at < size;) {
		enum plx_key key = PLX_KEY_NONE;
		size_t took = plx_key_take(bytes + at, size - at, false, &key);

		if (!took)
			took = plx_key_take(bytes + at, size - at, true, &key);
		MUST(took > 0 && took <= size - at);
		MUST(key <= PLX_KEY_END);
		at += took;
	}
	return 0;
}
