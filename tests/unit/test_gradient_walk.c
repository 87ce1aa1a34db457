/* SPDX-License-Identifier: MIT */
/*
 * test_gradient_walk.c - one pass over the numbers of a gradient, against plain
 * loops
 */

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "agent/gradient/gradient_walk.h"
#include "unit.h"

enum { ROOM = 80 };

struct arrays {
	float in[ROOM];
	float out[ROOM];
	float previous[ROOM];
	float precondition[ROOM];
};

static void fill(struct arrays *a, uint64_t *seed)
{
	for (int i = 0; i < ROOM; i++) {
		a->in[i] = (float) unit_uniform(seed, -3, 3);
		a->out[i] = (float) unit_uniform(seed, -3, 3);
		a->previous[i] = (float) unit_uniform(seed, -3, 3);
		a->precondition[i] = (float) unit_uniform(seed, 0.1, 4);
	}
}

/* What is asked for, number by number. */
static struct plx_gradient_norms plainly(const struct plx_gradient_walk *f)
{
	struct plx_gradient_norms folded = { 0 };

	for (size_t i = 0; i < f->n; i++) {
		double by = f->precondition ? (double) f->precondition[i] : 1;
		float in = f->in[i];
		float out = f->out ? f->weight * in : in;
		double seen = (double) (f->previous ? out : in) / by;

		folded.sqr += seen * seen;
		if (f->previous && f->compare)
			folded.cross += seen * (double) f->previous[i] / by;
		if (f->previous && f->keep)
			f->previous[i] = out;
		if (f->out)
			f->out[i] = f->add ? f->out[i] + out : out;
	}
	return folded;
}

static struct plx_gradient_walk walk_of(struct arrays *a, unsigned int kind,
					size_t from, size_t n)
{
	struct plx_gradient_walk f = {
		.in = a->in + from,
		.out = kind & 1 ? a->out + from : NULL,
		.add = (kind & 3) == 3 && !(kind & 4),
		.weight = kind & 1 ? 0.37f : 1,
		.previous = kind & 4 ? a->previous + from : NULL,
		.compare = (kind & 36) != 36,
		.keep = (kind & 68) != 68 || (kind & 36) == 36,
		.precondition = kind & 8 ? a->precondition + from : NULL,
		.n = n,
	};

	if (kind & 16 && f.out)
		f.out = a->in + from;
	return f;
}

static void near(double want, double is)
{
	if (!(fabs(want - is) <= 1e-12 * (1 + fabs(want))))
		fail_msg("%.17g, want %.17g", is, want);
}

/* All that can be asked for, at any length and wherever it begins. */
static void a_walk_does_what_plain_loops_do(void **state)
{
	uint64_t seed = 3;

	(void) state;
	for (unsigned int kind = 0; kind < 128; kind++) {
		for (size_t n = 0; n < 40; n++) {
			struct arrays a;
			struct arrays b;
			struct plx_gradient_walk f;
			struct plx_gradient_norms want;
			struct plx_gradient_norms is;

			fill(&a, &seed);
			b = a;
			f = walk_of(&a, kind, kind % 5, n);
			is = plx_gradient_walk(&f);
			f = walk_of(&b, kind, kind % 5, n);
			want = plainly(&f);
			near(want.sqr, is.sqr);
			near(want.cross, is.cross);
			assert_memory_equal(&b, &a, sizeof(a));
		}
	}
}

static void a_number_that_is_none_shows_in_the_norm(void **state)
{
	const float bad[] = { NAN, INFINITY, -INFINITY };
	uint64_t seed = 4;

	(void) state;
	for (size_t k = 0; k < ARRAY_SIZE(bad); k++) {
		for (size_t at = 0; at < 19; at++) {
			struct arrays a;
			struct plx_gradient_walk f;

			fill(&a, &seed);
			a.in[at] = bad[k];
			f = walk_of(&a, 0, 0, 19);
			assert_false(isfinite(plx_gradient_walk(&f).sqr));
		}
	}
}

/* Floats' squares overflow, doubles' do not. */
static void large_numbers_are_no_infinite_ones(void **state)
{
	struct arrays a = { .in = { 1e30f, 3e38f } };
	struct plx_gradient_walk f = walk_of(&a, 0, 0, ROOM);

	(void) state;
	assert_true(isfinite(plx_gradient_walk(&f).sqr));
}

static void plain_walks_find_what_is_not_finite(void **state)
{
	enum { N = 37 };
	static const float odd[] = { INFINITY, -INFINITY, NAN };
	float in[N];
	float out[N];

	(void) state;
	for (int i = 0; i < N; i++)
		in[i] = (float) i - 18.5f;
	/* A sum would overflow. */
	in[0] = in[1] = FLT_MAX;
	assert_true(plx_gradient_walk_plain(in, NULL, 1, N));
	assert_true(plx_gradient_walk_plain(in, out, 0.5f, N));
	for (int i = 0; i < N; i++)
		assert_true(out[i] == in[i] * 0.5f);
	for (int i = 0; i < N; i++) {
		float was = in[i];

		for (int k = 0; k < 3; k++) {
			in[i] = odd[k];
			assert_false(plx_gradient_walk_plain(in, NULL, 1, N));
			assert_false(plx_gradient_walk_plain(in, out, 2, N));
		}
		in[i] = was;
	}
	assert_true(plx_gradient_walk_plain(in, in, 0.5f, N) &&
		    in[20] == 0.75f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_walks_find_what_is_not_finite),
		cmocka_unit_test(a_walk_does_what_plain_loops_do),
		cmocka_unit_test(a_number_that_is_none_shows_in_the_norm),
		cmocka_unit_test(large_numbers_are_no_infinite_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
