/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node_devices.c - the devices of a node that a job gets, and cores near them
 */

#include "common/node_gpus.h"
#include "core/problem/devices.h"
#include "core/records/options.h"
#include "sched/pollux/resize/node_devices.h"

#define PLACED_MAX 128 /* of more devices of a node all count as alike */

static bool _has(bitstr_t *bits, int i)
{
	return bits && i < bit_size(bits) && bit_test(bits, i);
}

bitstr_t *pollux_devices_cores(const job_resources_t *resources, int n)
{
	const node_record_t *node = node_record_table_ptr[n];
	bitstr_t *cores = NULL;
	int first = 0;

	if (!resources || !resources->core_bitmap ||
	    !_has(resources->node_bitmap, n) || !node->tot_cores)
		return NULL;
	for (int i = pollux_slurm_first_node(resources->node_bitmap); i < n;
	     i = pollux_slurm_node_after(resources->node_bitmap, i)) {
		if (node_record_table_ptr[i])
			first += node_record_table_ptr[i]->tot_cores;
	}
	cores = bit_alloc(node->tot_cores);
	for (int c = 0; c < node->tot_cores; c++) {
		if (_has(resources->core_bitmap, first + c))
			bit_set(cores, c);
	}
	return cores;
}

/* Cores of each socket; 0: they are not known by socket. */
static int _each_socket(const node_record_t *node)
{
	return node->tot_sockets ? node->tot_cores / node->tot_sockets : 0;
}

/* The socket of device i, the first of several; -1: Cores= says none, or all.
 */
static int _socket_of(const node_record_t *node, const gres_node_state_t *gpus,
		      int i)
{
	int each = _each_socket(node);
	bitstr_t *cores = NULL;

	for (int t = 0; gpus->topo_gres_bitmap && gpus->topo_core_bitmap &&
			t < gpus->topo_cnt && !cores;
	     t++) {
		if (_has(gpus->topo_gres_bitmap[t], i))
			cores = gpus->topo_core_bitmap[t];
	}
	if (!cores || !each || bit_size(cores) != node->tot_cores ||
	    bit_set_count(cores) == node->tot_cores || bit_ffs(cores) < 0)
		return -1;
	return (int) bit_ffs(cores) / each;
}

static int _capacity_of(int cores, int for_one, enum pollux_near near)
{
	if (near == POLLUX_NEAR_ALL)
		return cores ? PLX_GPUS_MAX : 0;
	if (near == POLLUX_NEAR_MORE && !cores)
		return PLX_GPUS_MAX;
	return cores / for_one;
}

/* For each socket, GPUs that these cores, for `count` of them, go with. */
static int *_capacity(const node_record_t *node,
		      const struct pollux_cores *cores, int count)
{
	int each = _each_socket(node);
	int for_one = 1;
	int *capacity = NULL;

	if (!cores->bits || !each || bit_size(cores->bits) != node->tot_cores)
		return NULL;
	if (count)
		for_one = MAX((int) bit_set_count(cores->bits) / count, 1);
	capacity = xcalloc(node->tot_sockets + 1, sizeof(*capacity));
	for (int c = 0; c < each * node->tot_sockets; c++)
		capacity[c / each] += bit_test(cores->bits, c);
	for (int s = 0; s < node->tot_sockets; s++)
		capacity[s] = _capacity_of(capacity[s], for_one, cores->near);
	return capacity;
}

static int *_links(const gres_node_state_t *gpus, int size)
{
	int *links = NULL;

	if (!gpus->links_cnt || gpus->link_len != size || size > PLACED_MAX)
		return NULL;
	links = xcalloc((size_t) size * (size_t) size, sizeof(*links));
	for (int i = 0; i < size; i++) {
		for (int k = 0; gpus->links_cnt[i] && k < size; k++)
			links[i * size + k] = gpus->links_cnt[i][k];
	}
	return links;
}

static bool _is_free(const gres_node_state_t *gpus, int i)
{
	return !bit_test(gpus->gres_bit_alloc, i) &&
	       !pollux_node_device_shared(gpus, i);
}

static void _fill(const struct pollux_holding *held, int n,
		  const gres_node_state_t *gpus, struct plx_device *at)
{
	const node_record_t *node = node_record_table_ptr[n];

	for (int i = 0; i < bit_size(gpus->gres_bit_alloc); i++) {
		at[i].barred = !_is_free(gpus, i) ||
			       !pollux_node_device_is(gpus, i, held->types);
		at[i].held = _has(held->devices[n], i);
		at[i].used =
			at[i].held && held->in_use && _has(held->in_use[n], i);
		at[i].socket = _socket_of(node, gpus, i);
	}
}

/* GPUs that the cores are for: those that it held, where they are from then. */
static int _served(const struct pollux_holding *held, int n, int count,
		   const struct pollux_cores *cores)
{
	if (cores->near == POLLUX_NEAR_EACH || !held->devices[n])
		return count;
	return (int) bit_set_count(held->devices[n]);
}

bitstr_t *pollux_devices_pick(const struct pollux_holding *held, int n,
			      int count, const struct pollux_cores *cores)
{
	const node_record_t *node = node_record_table_ptr[n];
	const gres_node_state_t *gpus = pollux_node_gpus(node);
	int size = (int) bit_size(gpus->gres_bit_alloc);
	struct plx_device *at = xcalloc(size, sizeof(*at));
	bool *chosen = xcalloc(size, sizeof(*chosen));
	int *links = _links(gpus, size);
	int *capacity = size > PLACED_MAX
				? NULL
				: _capacity(node, cores,
					    _served(held, n, count, cores));
	struct plx_devices devices = { .size = size,
				       .at = at,
				       .links = links,
				       .capacity = capacity,
				       .only_near = cores->bound };
	bitstr_t *picked = NULL;

	_fill(held, n, gpus, at);
	if (plx_devices_choose(&devices, count, chosen)) {
		picked = bit_alloc(size);
		for (int i = 0; i < size; i++) {
			if (chosen[i])
				bit_set(picked, i);
		}
	}
	xfree(capacity);
	xfree(links);
	xfree(chosen);
	xfree(at);
	return picked;
}

/* Do GPUs of the node belong to sockets, of which it has several? */
static bool _has_places(const node_record_t *node,
			const gres_node_state_t *gpus)
{
	for (int t = 0; node->tot_sockets > 1 && gpus->topo_core_bitmap &&
			t < gpus->topo_cnt;
	     t++) {
		if (gpus->topo_core_bitmap[t])
			return true;
	}
	return false;
}

/* What Slurm is to choose cores for on node n; NULL: any of its types. */
static bitstr_t *_meant(int count, const struct pollux_holding *held, int n,
			enum pollux_near near)
{
	const node_record_t *node = node_record_table_ptr[n];
	struct pollux_cores cores = { .near = near };
	bitstr_t *devices = NULL;

	if (!held->devices[n] || !_has_places(node, pollux_node_gpus(node)))
		return NULL;
	cores.bits = pollux_devices_cores(held->resources, n);
	devices = pollux_devices_pick(held, n, count, &cores);
	FREE_NULL_BITMAP(cores.bits);
	return devices;
}

/* Free ones that are not meant, or of another type; NULL: there are none. */
static bitstr_t *_not_meant(const gres_node_state_t *gpus, const char *types,
			    bitstr_t *meant)
{
	bitstr_t *devices = bit_alloc(bit_size(gpus->gres_bit_alloc));

	for (int i = 0; i < bit_size(devices); i++) {
		bool counts = meant ? bit_test(meant, i)
				    : pollux_node_device_is(gpus, i, types);

		if (!counts && _is_free(gpus, i))
			bit_set(devices, i);
	}
	if (bit_ffs(devices) < 0)
		FREE_NULL_BITMAP(devices);
	return devices;
}

bitstr_t **pollux_devices_hide(const struct pollux_shape *shape,
			       const struct pollux_holding *held,
			       enum pollux_near near)
{
	bitstr_t **hidden = NULL;

	for (int n = pollux_slurm_first_node(shape->nodes);
	     n < node_record_count;
	     n = pollux_slurm_node_after(shape->nodes, n)) {
		const node_record_t *node = node_record_table_ptr[n];
		const gres_node_state_t *there = NULL;
		int count = pollux_shape_on(shape, n);
		bitstr_t *meant = NULL;
		bitstr_t *others = NULL;

		there = count > 0 ? pollux_node_gpus(node) : NULL;
		if (!there || !there->gres_bit_alloc || !there->topo_cnt)
			continue;
		meant = _meant(count, held, n, near);
		others = _not_meant(there, held->types, meant);
		FREE_NULL_BITMAP(meant);
		if (!others)
			continue;
		if (!hidden)
			hidden = xcalloc(node_record_count, sizeof(*hidden));
		hidden[n] = others;
		pollux_node_hide(node, others);
	}
	return hidden;
}

void pollux_devices_show(bitstr_t **hidden)
{
	for (int n = 0; hidden && n < node_record_count; n++) {
		if (hidden[n])
			pollux_node_show(node_record_table_ptr[n], hidden[n]);
		FREE_NULL_BITMAP(hidden[n]);
	}
	xfree(hidden);
}
