/* SPDX-License-Identifier: MIT */
/* target.c - what the scheduler tells a job (docs/resize.md) */

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fields.h"
#include "core/records/options.h"
#include "core/base/section.h"
#include "core/records/target.h"

#define SPEEDUP_MAX 1e6

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const states[] = {
	[PLX_TARGET_NONE] = "none",	[PLX_TARGET_REQUESTED] = "asked",
	[PLX_TARGET_DONE] = "done",	[PLX_TARGET_REFUSED] = "refused",
	[PLX_TARGET_PARKED] = "parked", [PLX_TARGET_LENT] = "lent",
	[PLX_TARGET_MOVING] = "moving",
};

const char *plx_target_state_name(enum plx_target_state state)
{
	return (size_t) state < COUNT(states) ? states[state] : "unknown";
}

/* Values have no brackets: n[1-4] is written n(1-4), and back. */
static void swap_brackets(char *text, const char from[2], const char to[2])
{
	for (; *text; text++) {
		if (*text == from[0])
			*text = to[0];
		else if (*text == from[1])
			*text = to[1];
	}
}

static void write_on(struct plx_writer *w, const char *on)
{
	char text[PLX_ON_SIZE];

	if (!on[0])
		return;
	snprintf(text, sizeof(text), "%s", on);
	swap_brackets(text, "[]", "()");
	plx_write_text(w, "on", text);
}

static void write_limit(struct plx_writer *w, const struct plx_target *target)
{
	if (target->given_s)
		plx_write_uint(w, "given", (uint64_t) target->given_s);
	if (target->extended_min)
		plx_write_uint(w, "extended", (uint64_t) target->extended_min);
	if (target->credited)
		plx_write_uint(w, "credited", (uint64_t) target->credited);
	if (target->rounds)
		plx_write_uint(w, "rounds", (uint64_t) target->rounds);
	if (target->mark > 0)
		plx_write_doubles(w, "mark", &target->mark, 1);
}

int plx_target_write(const struct plx_target *target, char *fields, size_t size,
		     struct plx_error *err)
{
	struct plx_writer w;

	plx_writer_init(&w, fields, size);
	plx_write_uint(&w, "serial", target->serial);
	plx_write_text(&w, "state", plx_target_state_name(target->state));
	plx_write_uint(&w, "nodes", (uint64_t) target->nodes);
	plx_write_uint(&w, "gpus", (uint64_t) target->gpus_per_node);
	if (target->each[0])
		plx_write_text(&w, "each", target->each);
	if (target->cold)
		plx_write_uint(&w, "cold", 1);
	if (target->move)
		plx_write_uint(&w, "move", 1);
	if (target->accrued)
		plx_write_uint(&w, "accrued", (uint64_t) target->accrued);
	if (target->left_s)
		plx_write_uint(&w, "left", (uint64_t) target->left_s);
	write_limit(&w, target);
	write_on(&w, target->on);
	if (target->types[0])
		plx_write_text(&w, "types", target->types);
	if (target->speedup > 0)
		plx_write_doubles(&w, "speedup", &target->speedup, 1);
	plx_write_why(&w, target->why);
	if (w.overflow)
		return plx_fail(err, "the target does not fit %zu bytes", size);
	return 0;
}

static int read_state(const char *fields, enum plx_target_state *state,
		      struct plx_error *err)
{
	char text[16];

	if (plx_field_text(fields, "state", text, sizeof(text))) {
		for (size_t i = 0; i < COUNT(states); i++) {
			if (!strcmp(text, states[i])) {
				*state = (enum plx_target_state) i;
				return 0;
			}
		}
	}
	return plx_fail(err, "state: missing or unknown");
}

/* A number that must be there. */
static int read_int(const char *fields, const char *key, int min, int max,
		    int *out, struct plx_error *err)
{
	int found = plx_field_int(fields, key, min, max, out, err);

	if (found == 0)
		return plx_fail(err, "%s: missing", key);
	return found < 0 ? -1 : 0;
}

/* The number at *text, and on to what follows its comma; -1: there is none. */
static int next_count(const char **text)
{
	int count = 0;

	if (**text < '0' || **text > '9')
		return -1;
	for (; **text >= '0' && **text <= '9'; (*text)++) {
		count = count * 10 + (**text - '0');
		if (count > PLX_GPUS_MAX)
			return -1;
	}
	if (**text == ',' && (*text)[1])
		(*text)++;
	else if (**text)
		return -1;
	return count;
}

/* As many counts as nodes, the fewest of which is gpus_per_node. */
static int check_each(const struct plx_target *target, struct plx_error *err)
{
	const char *text = target->each;
	int least = PLX_GPUS_MAX;

	for (int i = 0; i < target->nodes; i++) {
		int count = next_count(&text);

		if (count < 1)
			return plx_fail(err, "each: want a number of GPUs for "
					     "each node");
		least = count < least ? count : least;
	}
	if (*text || least != target->gpus_per_node)
		return plx_fail(err, "each: does not agree with nodes and "
				     "gpus");
	return 0;
}

static int read_each(const char *fields, struct plx_target *target,
		     struct plx_error *err)
{
	if (!plx_field_text(fields, "each", target->each, sizeof(target->each)))
		return 0;
	if (!target->on[0])
		return plx_fail(err, "each: without on");
	return check_each(target, err);
}

int plx_target_each(const struct plx_target *target, int i)
{
	const char *text = target->each;

	if (!text[0])
		return target->gpus_per_node;
	for (; i > 0 && *text; i--)
		next_count(&text);
	return *text ? next_count(&text) : 0;
}

int plx_target_gpus(const struct plx_target *target)
{
	const char *text = target->each;
	int sum = 0;

	if (!text[0])
		return target->nodes * target->gpus_per_node;
	for (int i = 0; i < target->nodes && *text; i++)
		sum += next_count(&text);
	return sum;
}

int plx_target_count(struct plx_target *target, const int *counts, int nodes,
		     struct plx_error *err)
{
	char each[PLX_ON_SIZE] = "";
	bool differ = false;
	size_t used = 0;
	int least = nodes ? counts[0] : 0;

	for (int i = 0; i < nodes; i++) {
		differ = differ || counts[i] != counts[0];
		least = counts[i] < least ? counts[i] : least;
		if (used < sizeof(each))
			used += (size_t) snprintf(each + used,
						  sizeof(each) - used, "%s%d",
						  i ? "," : "", counts[i]);
	}
	if (differ && (used >= sizeof(each) || !target->on[0]))
		return plx_fail(err,
				"its GPUs on %d nodes are too many "
				"different counts to be told",
				nodes);
	target->nodes = nodes;
	target->gpus_per_node = least;
	strcpy(target->each, differ ? each : "");
	return 0;
}

static int read_limit(const char *fields, struct plx_target *target,
		      struct plx_error *err)
{
	if (plx_field_int(fields, "given", 0, INT_MAX, &target->given_s, err) <
		    0 ||
	    plx_field_int(fields, "extended", 0, INT_MAX, &target->extended_min,
			  err) < 0 ||
	    plx_field_int(fields, "credited", 0, INT_MAX, &target->credited,
			  err) < 0 ||
	    plx_field_int(fields, "rounds", 0, INT_MAX, &target->rounds, err) <
		    0 ||
	    plx_field_doubles(fields, "mark", 0, 1, &target->mark, 1, err) < 0)
		return -1;
	return 0;
}

int plx_target_read(const char *system_comment, struct plx_target *target,
		    struct plx_error *err)
{
	struct plx_target read = { 0 };
	char fields[PLX_FIELDS_MAX];
	int serial;
	int cold = 0;
	int move = 0;

	if (!plx_section_get(system_comment, fields, sizeof(fields))) {
		*target = read;
		return 0;
	}
	if (read_state(fields, &read.state, err) < 0 ||
	    read_int(fields, "serial", read.state != PLX_TARGET_NONE, INT_MAX,
		     &serial, err) < 0 ||
	    read_int(fields, "nodes", 0, PLX_GPUS_MAX, &read.nodes, err) < 0 ||
	    read_int(fields, "gpus", 0, PLX_GPUS_MAX, &read.gpus_per_node,
		     err) < 0 ||
	    plx_field_int(fields, "cold", 0, 1, &cold, err) < 0 ||
	    plx_field_int(fields, "move", 0, 1, &move, err) < 0 ||
	    plx_field_int(fields, "accrued", 0, INT_MAX, &read.accrued, err) <
		    0 ||
	    plx_field_int(fields, "left", 0, INT_MAX, &read.left_s, err) < 0 ||
	    read_limit(fields, &read, err) < 0 ||
	    plx_field_doubles(fields, "speedup", 0, SPEEDUP_MAX, &read.speedup,
			      1, err) < 0)
		return -1;
	read.serial = (uint32_t) serial;
	read.cold = cold > 0;
	read.move = move > 0;
	if (plx_field_text(fields, "on", read.on, sizeof(read.on)))
		swap_brackets(read.on, "()", "[]");
	if (read_each(fields, &read, err) < 0)
		return -1;
	plx_field_text(fields, "types", read.types, sizeof(read.types));
	plx_field_text(fields, "why", read.why, sizeof(read.why));
	*target = read;
	return 1;
}
