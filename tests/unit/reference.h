/* SPDX-License-Identifier: MIT */
/*
 * reference.h - numeric cases recorded from the published code
 *
 * They lie in $POLLUX_SHARED, by default the folder shared/ beside the
 * source tree. A user's clone has none: such tests are then left out.
 */
#ifndef PLX_UNIT_REFERENCE_H
#define PLX_UNIT_REFERENCE_H

#include <stdbool.h>
#include <jansson.h>

#include "core/model/goodput.h"
#include "unit.h"

/*
 * How many of a program's tests can run, the last `recorded` of which need
 * the cases: says so when they are absent. CMocka's own skip() is a failure
 * to TAP.
 */
size_t reference_runnable(size_t tests, size_t recorded);

/* Where a file of them is, present or not. */
void reference_path(const char *file, char *path, size_t size);

/* The file's content, the caller's to json_decref(). */
json_t *reference_load(const char *file);

/* The number at this key, or at this place of the list at this key. */
double reference_number(const json_t *object, const char *key);
double reference_at(const json_t *object, const char *key, size_t index);
const char *reference_text(const json_t *object, const char *key);

/* The object's parameters of the published code, in our terms. */
struct plx_model reference_model(const json_t *params);
struct plx_noise reference_noise(const json_t *params);

/* |a - b| <= relative * max(|a|, |b|), which no NaN is. */
bool nearly(double a, double b, double relative);

#define assert_near(a, b, relative)                                            \
	do {                                                                   \
		if (!nearly(a, b, relative))                                   \
			fail_msg("%.17g is not near %.17g", a, b);             \
	} while (0)

#endif
