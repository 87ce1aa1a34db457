/* SPDX-License-Identifier: GPL-2.0-or-later */
/* layout.c - where the ranks run: one a GPU, node by node */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/rules/layout.h"

#define GPUS_MAX 65536 /* of a node: more are no count of GPUs */

/* The count in "gpu:2(IDX..." or "gpu:tesla:2(IDX...": before the bracket. */
static int entry_gpus(const char *entry, size_t length)
{
	const char *end = memchr(entry, '(', length);
	const char *at = end ? end : entry + length;
	long count;

	while (at > entry && at[-1] >= '0' && at[-1] <= '9')
		at--;
	if (at == entry || at[-1] != ':')
		return 0;
	count = strtol(at, NULL, 10);
	return count > 0 && count <= GPUS_MAX ? (int) count : 0;
}

size_t plx_gres_entry(const char *at)
{
	int depth = 0;
	size_t i;

	for (i = 0; at[i] && (depth > 0 || at[i] != ','); i++) {
		depth += at[i] == '(';
		depth -= at[i] == ')';
	}
	return i;
}

int plx_gres_gpus(const char *gres)
{
	int gpus = 0;

	while (gres && *gres) {
		size_t length = plx_gres_entry(gres);

		if (!strncmp(gres, "gpu:", 4))
			gpus += entry_gpus(gres, length);
		if (gpus > GPUS_MAX)
			return 0;
		gres += length;
		gres += *gres == ',';
	}
	return gpus;
}

int plx_layout_add(struct plx_layout *layout,
		   const struct plx_layout_node *node, struct plx_error *err)
{
	size_t size = ((size_t) layout->count + 1) * sizeof(*layout->nodes);
	struct plx_layout_node *nodes = realloc(layout->nodes, size);

	if (!nodes)
		return plx_fail(err, "out of memory");
	nodes[layout->count++] = *node;
	layout->nodes = nodes;
	layout->ranks += node->ranks;
	return 0;
}

void plx_layout_spread(struct plx_layout *layout, int tasks)
{
	int each = layout->count ? tasks / layout->count : 0;
	int rest = layout->count ? tasks % layout->count : 0;

	for (int i = 0; i < layout->count; i++)
		layout->nodes[i].ranks = each + (i < rest);
	layout->ranks = layout->count ? tasks : 0;
	/* The nodes behind the last task have no rank. */
	if (layout->count > tasks)
		layout->count = tasks;
}

void plx_layout_lead(struct plx_layout *layout, const char *first)
{
	for (int i = 1; i < layout->count; i++) {
		struct plx_layout_node node = layout->nodes[i];

		if (strcmp(node.name, first) != 0)
			continue;
		memmove(layout->nodes + 1, layout->nodes,
			(size_t) i * sizeof(node));
		layout->nodes[0] = node;
		return;
	}
}

static const struct plx_layout_node *find(const struct plx_layout *layout,
					  const char *name)
{
	for (int i = 0; i < layout->count; i++) {
		if (!strcmp(layout->nodes[i].name, name))
			return &layout->nodes[i];
	}
	return NULL;
}

bool plx_layout_equal(const struct plx_layout *a, const struct plx_layout *b)
{
	if (a->count != b->count || a->ranks != b->ranks)
		return false;
	for (int i = 0; i < a->count; i++) {
		const struct plx_layout_node *mine = &a->nodes[i];
		const struct plx_layout_node *other = find(b, mine->name);

		if (!other || other->ranks != mine->ranks ||
		    (other->gres[0] && mine->gres[0] &&
		     strcmp(other->gres, mine->gres) != 0))
			return false;
	}
	return true;
}

int plx_layout_on(const struct plx_layout *layout, const char *node)
{
	const struct plx_layout_node *found =
		layout && node ? find(layout, node) : NULL;

	return found ? found->ranks : 0;
}

bool plx_layout_within(const struct plx_layout *part,
		       const struct plx_layout *whole)
{
	for (int i = 0; i < part->count; i++) {
		const struct plx_layout_node *mine = &part->nodes[i];
		const struct plx_layout_node *other = find(whole, mine->name);

		if (!other || other->ranks < mine->ranks)
			return false;
	}
	return true;
}

void plx_layout_learn(struct plx_layout *layout, const struct plx_layout *known)
{
	for (int i = 0; i < layout->count; i++) {
		struct plx_layout_node *node = &layout->nodes[i];
		const struct plx_layout_node *other = find(known, node->name);

		if (other && other->ranks == node->ranks && !node->gres[0])
			strcpy(node->gres, other->gres);
	}
}

void plx_layout_keep(struct plx_layout_node *node, int ranks, int cpus)
{
	int share = node->ranks ? node->cpus * ranks / node->ranks : 0;

	if (ranks == node->ranks)
		return;
	if (share < cpus * ranks)
		share = cpus * ranks;
	if (share < node->cpus)
		node->cpus = share;
	node->ranks = ranks;
	node->gres[0] = '\0';
}

void plx_layout_trim(struct plx_layout *layout, int ranks)
{
	while (layout->count > 0 && layout->ranks > ranks) {
		struct plx_layout_node *last =
			&layout->nodes[layout->count - 1];
		int over = layout->ranks - ranks;

		if (over >= last->ranks) {
			layout->ranks -= last->ranks;
			layout->count--;
		} else {
			plx_layout_keep(last, last->ranks - over, 0);
			layout->ranks = ranks;
		}
	}
}

int plx_layout_cpus_per_rank(const struct plx_layout *layout)
{
	int least = INT_MAX;

	for (int i = 0; i < layout->count; i++) {
		const struct plx_layout_node *node = &layout->nodes[i];
		int each = node->ranks ? node->cpus / node->ranks : 1;

		if (each < least)
			least = each;
	}
	return layout->count && least > 1 ? least : 1;
}

void plx_layout_write_hosts(const struct plx_layout *layout, FILE *out)
{
	for (int i = 0; i < layout->count; i++) {
		for (int rank = 0; rank < layout->nodes[i].ranks; rank++)
			fprintf(out, "%s\n", layout->nodes[i].name);
	}
}

int plx_layout_copy(struct plx_layout *to, const struct plx_layout *from,
		    struct plx_error *err)
{
	size_t size = (size_t) from->count * sizeof(*from->nodes);
	struct plx_layout copy = *from;

	copy.nodes = malloc(size ? size : 1);
	if (!copy.nodes)
		return plx_fail(err, "out of memory");
	if (size)
		memcpy(copy.nodes, from->nodes, size);
	plx_layout_release(to);
	*to = copy;
	return 0;
}

void plx_layout_release(struct plx_layout *layout)
{
	free(layout->nodes);
	*layout = (struct plx_layout){ 0 };
}
