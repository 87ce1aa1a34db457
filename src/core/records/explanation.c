/* SPDX-License-Identifier: MIT */
/* explanation.c - why a running job has what it has, in one line at any time */

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/records/explanation.h"

#define MEANING_S 5
#define FIGURES_S 60

static const char *const holds[PLX_HOLDS] = {
	[PLX_HOLD_NONE] = "",
	[PLX_HOLD_OFF] = "resizing is switched off, pollux_enabled=no",
	[PLX_HOLD_SILENT] = "no launcher has spoken yet",
	[PLX_HOLD_NODES] = "slurmctld has just begun and has not heard from "
			   "all nodes",
	[PLX_HOLD_BOUND] = "may not be resized",
	[PLX_HOLD_STARTING] = "its ranks are starting",
	[PLX_HOLD_REFUSED] = "left alone for a while after it was refused",
	[PLX_HOLD_DONE] = "its training is done",
	[PLX_HOLD_MOLDABLE] = "not requeued for other ones",
};

void plx_explanation_text(const struct plx_explanation *explanation, char *text,
			  size_t size)
{
	const char *refused = explanation->refused ? explanation->refused : "";
	const char *plan = explanation->plan ? explanation->plan : "";
	const char *plural = explanation->gpus == 1 ? "" : "s";

	if (explanation->hold != PLX_HOLD_NONE)
		snprintf(text, size, "stays: %d GPU%s, %s%s%s",
			 explanation->gpus, plural, holds[explanation->hold],
			 *refused ? ": " : "", refused);
	else if (explanation->changes && *refused)
		snprintf(text, size, "stays: %d GPU%s, refused: %s",
			 explanation->gpus, plural, refused);
	else if (explanation->changes)
		snprintf(text, size,
			 "stays: %d GPU%s until others give theirs: %s",
			 explanation->gpus, plural, plan);
	else if (*refused)
		snprintf(text, size, "%s; refused before: %s", plan, refused);
	else
		snprintf(text, size, "%s", plan);
}

/* Past a number, if one begins here. */
static const char *skip_number(const char *at)
{
	while (isdigit((unsigned char) *at) ||
	       (*at == '.' && isdigit((unsigned char) at[1])))
		at++;
	return at;
}

bool plx_explanation_same(const char *a, const char *b)
{
	bool first = true;

	while (*a && *b) {
		const char *past_a = skip_number(a);
		const char *past_b = skip_number(b);

		if (past_a == a || past_b == b) {
			if (*a != *b)
				return false;
			a++;
			b++;
			continue;
		}
		if (first && (past_a - a != past_b - b ||
			      strncmp(a, b, (size_t) (past_a - a)) != 0))
			return false;
		first = false;
		a = past_a;
		b = past_b;
	}
	return *a == *b;
}

bool plx_explanation_is_news(const char *told, const char *now, double ago_s)
{
	if (!strcmp(told, now))
		return false;
	if (!told[0])
		return true;
	return ago_s >=
	       (plx_explanation_same(told, now) ? FIGURES_S : MEANING_S);
}
