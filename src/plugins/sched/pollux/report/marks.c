/* SPDX-License-Identifier: GPL-2.0-or-later */
/* marks.c - on each node that is closed to elastic jobs, why it is */

#include <string.h>

#include "common/slurm_compat.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/plan/sick_nodes.h"
#include "sched/pollux/report/marks.h"

#define PREFIX	  "pollux: "
#define TEXT_SIZE 160

static struct {
	bool begun;
	char names[PLX_SICK_NODES][PLX_SICK_NAME]; /* of nodes that have one */
	int count;
} marks;

static int _find(const char *name)
{
	for (int i = 0; i < marks.count; i++) {
		if (!strcmp(marks.names[i], name))
			return i;
	}
	return -1;
}

static bool _is_ours(const node_record_t *node)
{
	return node->comment && !strncmp(node->comment, PREFIX, strlen(PREFIX));
}

/* An administrator's own words stay. why "": take the mark away. */
static void _mark(const char *name, const char *why)
{
	node_record_t *node = NULL;

	pollux_lock(POLLUX_MARKING);
	node = find_node_record((char *) name);
	if (node && (_is_ours(node) || (why[0] && !node->comment))) {
		xfree(node->comment);
		if (why[0])
			node->comment = xstrdup_printf(PREFIX "%s", why);
		last_node_update = time(NULL);
	}
	pollux_unlock(POLLUX_MARKING);
}

/* Those that an earlier slurmctld left. */
static void _begin(const struct pollux_snapshot *snapshot)
{
	marks.begun = true;
	for (int n = 0; n < snapshot->node_count; n++) {
		if (snapshot->nodes[n].name)
			_mark(snapshot->nodes[n].name, "");
	}
}

static void _change(const char *name, int at, const char *why)
{
	_mark(name, why);
	if (at >= 0)
		memcpy(marks.names[at], marks.names[--marks.count],
		       PLX_SICK_NAME);
	else if (marks.count < PLX_SICK_NODES && strlen(name) < PLX_SICK_NAME)
		strcpy(marks.names[marks.count++], name);
}

void pollux_marks_report(const struct pollux_snapshot *snapshot, double now_s)
{
	char why[TEXT_SIZE];

	if (!marks.begun)
		_begin(snapshot);
	if (!marks.count && !pollux_sick_count(now_s))
		return;
	for (int n = 0; n < snapshot->node_count; n++) {
		const char *name = snapshot->nodes[n].name;
		int at = name ? _find(name) : -1;

		if (!name)
			continue;
		pollux_sick_of(name, now_s, why, sizeof(why));
		if ((at >= 0) != (why[0] != 0))
			_change(name, at, why);
	}
}

void pollux_marks_forget_all(void)
{
	memset(&marks, 0, sizeof(marks));
}
