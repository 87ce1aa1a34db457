/* SPDX-License-Identifier: MIT */
/* test_lr_rule.c - how the learning rate follows the batch size */

#include <math.h>
#include <string.h>

#include "core/model/lr_rule.h"
#include "reference.h"

static enum plx_lr_rule rule_of(const char *name)
{
	enum plx_lr_rule rule;

	assert_int_equal(0, plx_lr_rule_parse(name, &rule, NULL));
	return rule;
}

static double factor(const char *name, double scale, double sqr, double var)
{
	const struct plx_lr_state state = {
		.scale = scale,
		.noise = { .sqr = sqr, .var = var },
	};

	return plx_lr_factor(rule_of(name), &state);
}

static void a_fixed_rate_is_fixed(void **state)
{
	(void) state;
	assert_true(factor("fixed", 7, 1, 2) == 1);
	assert_true(factor("fixed", 0.5, 1, 2) == 1);
}

static void at_the_base_batch_all_rules_leave_the_rate(void **state)
{
	static const char *const names[] = { "adascale", "adamscale", "linear",
					     "sqrt",	 "legw",      "fixed" };

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_true(factor(names[i], 1, 1, 3) == 1);
}

/* Twice the batch warms up for twice as many steps of the base batch. */
static void legw_warms_up_longer_at_a_larger_batch(void **state)
{
	struct plx_lr_state s = { .scale = 4, .warmup = 100 };

	(void) state;
	s.progress = 0;
	assert_true(plx_lr_factor(PLX_LR_LEGW, &s) == 0);
	s.progress = 200;
	assert_near(1.0, plx_lr_factor(PLX_LR_LEGW, &s), 1e-12);
	s.progress = 400;
	assert_near(2.0, plx_lr_factor(PLX_LR_LEGW, &s), 1e-12);
	s.progress = 1e9;
	assert_near(2.0, plx_lr_factor(PLX_LR_LEGW, &s), 1e-12);
}

static void an_unknown_rule_is_refused_in_a_sentence(void **state)
{
	enum plx_lr_rule rule = PLX_LR_SQRT;
	struct plx_error err;

	(void) state;
	assert_int_equal(-1, plx_lr_rule_parse("quadratic", &rule, &err));
	assert_string_equal("lr_scaling \"quadratic\": want adascale, "
			    "adamscale, linear, sqrt, legw or fixed",
			    err.text);
	assert_int_equal(PLX_LR_SQRT, rule);
}

static void rules_are_the_published_ones(void **state)
{
	static const char *const names[] = { "adascale", "adamscale", "linear",
					     "sqrt" };
	json_t *root = reference_load("lr_scaling_master.json");
	size_t i;
	json_t *c;

	(void) state;
	json_array_foreach(json_object_get(root, "rules"), i, c)
	{
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			assert_near(reference_number(c, names[k]),
				    factor(names[k],
					   reference_number(c, "scale"),
					   reference_number(c, "sqr"),
					   reference_number(c, "var")),
				    1e-9);
	}
	assert_true(i > 0);
	json_decref(root);
}

static void legw_is_the_published_one(void **state)
{
	json_t *root = reference_load("lr_scaling_master.json");
	size_t i;
	json_t *c;

	(void) state;
	json_array_foreach(json_object_get(root, "legw"), i, c)
	{
		const struct plx_lr_state s = {
			.scale = reference_number(c, "scale"),
			.progress = reference_number(c, "progress"),
			.warmup = reference_number(c, "base_warmup_epochs") *
				  reference_number(c, "data_size") /
				  reference_number(c, "batch_size"),
		};

		assert_near(reference_number(c, "lr_factor"),
			    plx_lr_factor(PLX_LR_LEGW, &s), 1e-9);
	}
	assert_true(i > 0);
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fixed_rate_is_fixed),
		cmocka_unit_test(at_the_base_batch_all_rules_leave_the_rate),
		cmocka_unit_test(legw_warms_up_longer_at_a_larger_batch),
		cmocka_unit_test(an_unknown_rule_is_refused_in_a_sentence),
		cmocka_unit_test(rules_are_the_published_ones),
		cmocka_unit_test(legw_is_the_published_one),
	};

	return _cmocka_run_group_tests("lr_rule", tests,
				       reference_runnable(ARRAY_SIZE(tests), 2),
				       NULL, NULL);
}
