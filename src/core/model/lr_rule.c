/* SPDX-License-Identifier: MIT */
/* lr_rule.c - how the learning rate follows the batch size */

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/model/lr_rule.h"

static double adascale(const struct plx_lr_state *state)
{
	return plx_noise_gain(&state->noise, state->scale);
}

static double adamscale(const struct plx_lr_state *state)
{
	return sqrt(adascale(state));
}

static double linear(const struct plx_lr_state *state)
{
	return state->scale;
}

static double square_root(const struct plx_lr_state *state)
{
	return sqrt(state->scale);
}

/* A larger batch warms up for as many epochs more. */
static double legw(const struct plx_lr_state *state)
{
	double warmup = state->warmup * state->scale;

	if (state->progress < warmup)
		return square_root(state) * state->progress / warmup;
	return square_root(state);
}

static double fixed(const struct plx_lr_state *state)
{
	(void) state;
	return 1;
}

static const struct {
	const char *name;
	double (*factor)(const struct plx_lr_state *state);
} rules[] = {
	[PLX_LR_ADASCALE] = { "adascale", adascale },
	[PLX_LR_ADAMSCALE] = { "adamscale", adamscale },
	[PLX_LR_LINEAR] = { "linear", linear },
	[PLX_LR_SQRT] = { "sqrt", square_root },
	[PLX_LR_LEGW] = { "legw", legw },
	[PLX_LR_FIXED] = { "fixed", fixed },
};

int plx_lr_rule_parse(const char *name, enum plx_lr_rule *rule,
		      struct plx_error *err)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (!strcmp(rules[i].name, name)) {
			*rule = (enum plx_lr_rule) i;
			return 0;
		}
	}
	return plx_fail(err,
			"lr_scaling \"%.40s\": want adascale, adamscale, "
			"linear, sqrt, legw or fixed",
			name);
}

double plx_lr_factor(enum plx_lr_rule rule, const struct plx_lr_state *state)
{
	return rules[rule].factor(state);
}
