/* SPDX-License-Identifier: MIT */
/* fuzz_load.c - snapshots from anybody, for pollux-alloc and pollux-sim */

#include "core/snapshot/snapshot.h"
#include "fuzz.h"
#include "sim/snapshot_load.h"

/* What was read is written, and read the same. */
static void returns(const struct plx_snapshot *snapshot)
{
	const char *const *nodes = (const char *const *) snapshot->nodes;
	struct plx_snapshot *again = NULL;
	struct plx_error err;
	char *first;
	char *second;

	first = plx_snapshot_text(snapshot->problem, nodes, NULL, &err);
	MUST(first);
	if (plx_snapshot_parse(first, strlen(first), "again", NULL, &again,
			       &err) < 0) {
		fprintf(stderr, "%s\n%s\n", err.text, first);
		MUST(!"read again");
	}
	nodes = (const char *const *) again->nodes;
	second = plx_snapshot_text(again->problem, nodes, NULL, &err);
	MUST(second && !strcmp(first, second));
	plx_snapshot_destroy(again);
	free(second);
	free(first);
}

int fuzz_load(const uint8_t *data, size_t size)
{
	struct plx_snapshot *snapshot = NULL;
	char *text = malloc(size + 1);
	struct plx_error err;

	MUST(text);
	memcpy(text, data, size);
	text[size] = '\0';
	if (plx_snapshot_parse(text, size, "x.json", NULL, &snapshot, &err) < 0)
		fuzz_is_a_line(err.text, sizeof(err.text));
	else
		returns(snapshot);
	plx_snapshot_destroy(snapshot);
	free(text);
	return 0;
}
