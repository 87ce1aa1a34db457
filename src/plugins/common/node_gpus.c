/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node_gpus.c - the GPUs of a node as slurmctld counts them */

#include <string.h>

#include "common/node_gpus.h"

uint32_t pollux_gpu_id(void)
{
	char name[] = "gpu";

	return gres_build_id(name);
}

const gres_node_state_t *pollux_node_gpus(const node_record_t *node)
{
	uint32_t gpu = pollux_gpu_id();
	gres_state_t *state = NULL;

	if (node->gres_list)
		state = list_find_first(node->gres_list, gres_find_id, &gpu);
	return state ? state->gres_data : NULL;
}

static bool _is_any(const char *type)
{
	return !type || !type[0];
}

/* GPUs whose types are known by device are told apart by that. */
static bool _has_devices(const gres_node_state_t *gpus)
{
	return gpus->gres_bit_alloc && gpus->topo_cnt &&
	       gpus->topo_gres_bitmap && gpus->topo_type_name;
}

const char *pollux_node_device_type(const gres_node_state_t *gpus, int i)
{
	if (!_has_devices(gpus))
		return gpus->type_cnt && gpus->type_name[0] ? gpus->type_name[0]
							    : POLLUX_NO_TYPE;
	for (int t = 0; t < gpus->topo_cnt; t++) {
		bitstr_t *bits = gpus->topo_gres_bitmap[t];
		const char *name = gpus->topo_type_name[t];

		if (name && name[0] && bits && i < bit_size(bits) &&
		    bit_test(bits, i))
			return name;
	}
	return POLLUX_NO_TYPE;
}

bool pollux_node_device_is(const gres_node_state_t *gpus, int i,
			   const char *type)
{
	if (_is_any(type))
		return true;
	if (!_has_devices(gpus))
		return pollux_node_count(gpus, type) > 0;
	return pollux_type_among(type, pollux_node_device_type(gpus, i));
}

bool pollux_node_device_shared(const gres_node_state_t *gpus, int i)
{
	const gres_node_state_t *parts = pollux_slurm_shared(gpus);
	bitstr_t *taken = parts ? parts->gres_bit_alloc : NULL;

	return taken && i < bit_size(taken) && bit_test(taken, i);
}

/* GPUs that nobody has as a whole, and somebody has a part of. */
static int _parted(const gres_node_state_t *gpus)
{
	int count = 0;

	for (int i = 0; gpus->gres_bit_alloc && pollux_slurm_shared(gpus) &&
			i < bit_size(gpus->gres_bit_alloc);
	     i++)
		count += !bit_test(gpus->gres_bit_alloc, i) &&
			 pollux_node_device_shared(gpus, i);
	return count;
}

/* A defunct node says NO_VAL64. */
static int _sane(uint64_t count)
{
	return count > PLX_GPUS_MAX ? 0 : (int) count;
}

/* How many of counts[], one for each type and `all` for GPUs, are of that type.
 */
static int _of_type(const gres_node_state_t *gpus, const char *type,
		    const uint64_t *counts, uint64_t all)
{
	int typed = 0;
	int count = 0;

	for (int t = 0; t < gpus->type_cnt; t++) {
		typed += _sane(counts[t]);
		if (pollux_type_among(type, gpus->type_name[t]))
			count += _sane(counts[t]);
	}
	if (pollux_type_among(type, POLLUX_NO_TYPE))
		count += MAX(_sane(all) - typed, 0);
	return MIN(count, _sane(all));
}

int pollux_node_count(const gres_node_state_t *gpus, const char *type)
{
	if (!gpus)
		return 0;
	if (_is_any(type))
		return _sane(gpus->gres_cnt_avail);
	return _of_type(gpus, type, gpus->type_cnt_avail, gpus->gres_cnt_avail);
}

static int _free_devices(const gres_node_state_t *gpus, const char *type)
{
	int count = 0;

	for (int i = 0; i < bit_size(gpus->gres_bit_alloc); i++) {
		if (!bit_test(gpus->gres_bit_alloc, i) &&
		    !pollux_node_device_shared(gpus, i) &&
		    pollux_node_device_is(gpus, i, type))
			count++;
	}
	return count;
}

int pollux_node_free(const gres_node_state_t *gpus, const char *type)
{
	int all = 0;
	int used = 0;

	if (!gpus)
		return 0;
	all = _sane(gpus->gres_cnt_avail) - _sane(gpus->gres_cnt_alloc) -
	      _parted(gpus);
	if (_is_any(type) || all <= 0)
		return MAX(all, 0);
	if (_has_devices(gpus))
		return MIN(all, _free_devices(gpus, type));
	used = _of_type(gpus, type, gpus->type_cnt_alloc, gpus->gres_cnt_alloc);
	return MIN(all, MAX(pollux_node_count(gpus, type) - used, 0));
}

/* How many devices of topology entry t are in use. */
static uint64_t _in_use(const gres_node_state_t *gpus, int t)
{
	bitstr_t *bits = gpus->topo_gres_bitmap[t];

	if (!bits || bit_size(bits) != bit_size(gpus->gres_bit_alloc))
		return 0;
	return (uint64_t) bit_overlap(bits, gpus->gres_bit_alloc);
}

static uint64_t _type_in_use(const gres_node_state_t *gpus, int type)
{
	uint64_t count = 0;

	for (int t = 0; t < gpus->topo_cnt; t++) {
		if (gpus->topo_type_name[t] &&
		    gpus->topo_type_id[t] == gpus->type_id[type])
			count += _in_use(gpus, t);
	}
	return count;
}

static bool _counts_types(const gres_node_state_t *gpus)
{
	return gpus && _has_devices(gpus) && gpus->topo_gres_cnt_alloc &&
	       gpus->topo_type_id && gpus->type_cnt_alloc && !gpus->no_consume;
}

bool pollux_node_miscounted(const gres_node_state_t *gpus)
{
	if (!_counts_types(gpus))
		return false;
	for (int t = 0; t < gpus->type_cnt; t++) {
		if (gpus->type_cnt_alloc[t] != _type_in_use(gpus, t))
			return true;
	}
	return false;
}

void pollux_node_recount(const node_record_t *node)
{
	const gres_node_state_t *gpus = pollux_node_gpus(node);

	if (!pollux_node_miscounted(gpus))
		return;
	for (int t = 0; t < gpus->topo_cnt; t++)
		gpus->topo_gres_cnt_alloc[t] = _in_use(gpus, t);
	for (int t = 0; t < gpus->type_cnt; t++)
		gpus->type_cnt_alloc[t] = _type_in_use(gpus, t);
}

/* Add `by` to all that counts device i. */
static void _count_device(gres_node_state_t *gpus, int i, int by)
{
	gpus->gres_cnt_alloc += (uint64_t) by;
	for (int t = 0; gpus->topo_gres_bitmap && gpus->topo_gres_cnt_alloc &&
			t < gpus->topo_cnt;
	     t++) {
		bitstr_t *bits = gpus->topo_gres_bitmap[t];

		if (bits && i < bit_size(bits) && bit_test(bits, i))
			gpus->topo_gres_cnt_alloc[t] += (uint64_t) by;
	}
}

void pollux_node_hide(const node_record_t *node, bitstr_t *devices)
{
	gres_node_state_t *gpus = (gres_node_state_t *) pollux_node_gpus(node);

	for (int i = 0; i < bit_size(devices); i++) {
		if (!bit_test(devices, i))
			continue;
		bit_set(gpus->gres_bit_alloc, i);
		_count_device(gpus, i, 1);
	}
}

void pollux_node_show(const node_record_t *node, bitstr_t *devices)
{
	gres_node_state_t *gpus = (gres_node_state_t *) pollux_node_gpus(node);

	for (int i = 0; i < bit_size(devices); i++) {
		if (!bit_test(devices, i))
			continue;
		bit_clear(gpus->gres_bit_alloc, i);
		_count_device(gpus, i, -1);
	}
}

bool pollux_node_is_mixed(const gres_node_state_t *gpus, const char *type)
{
	int count = pollux_node_count(gpus, type);

	return count && count < pollux_node_count(gpus, NULL);
}

struct shape_cluster pollux_gpu_cluster(const char *type, bitstr_t *nodes)
{
	struct shape_cluster cluster = { 0 };
	node_record_t *node = NULL;

	for (int i = 0; (node = next_node(&i)); i++) {
		const gres_node_state_t *gpus = pollux_node_gpus(node);
		uint64_t count = gpus ? gpus->gres_cnt_config : 0;

		if (!_is_any(type))
			count = (uint64_t) pollux_node_count(gpus, type);
		if (!count || count > PLX_GPUS_MAX ||
		    (nodes && !bit_test(nodes, node->index)))
			continue;
		cluster.nodes++;
		cluster.gpus = MAX(cluster.gpus, (uint32_t) count);
	}
	return cluster;
}

void pollux_job_gpu_type(const job_record_t *job,
			 char type[POLLUX_GPU_TYPE_SIZE])
{
	const char *const texts[] = { job->tres_per_node, job->tres_per_job,
				      job->tres_per_socket,
				      job->tres_per_task };
	struct pollux_gpus gpus;

	type[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(texts) && !type[0]; i++) {
		if (pollux_gpu_request(texts[i], &gpus, NULL) == 0)
			memcpy(type, gpus.type, sizeof(gpus.type));
	}
}

static uint32_t _given(uint16_t cpus)
{
	return cpus == NO_VAL16 ? 0 : cpus;
}

/* MaxMemPerCPU of its partition, or the cluster's; 0: there is none. */
static uint64_t _memory_of_cpu(const job_record_t *job)
{
	uint64_t most = slurm_conf.max_mem_per_cpu;

	if (job->part_ptr && job->part_ptr->max_mem_per_cpu)
		most = job->part_ptr->max_mem_per_cpu;
	return most & MEM_PER_CPU ? most & ~MEM_PER_CPU : 0;
}

struct pollux_needs pollux_job_needs(const job_record_t *job)
{
	const job_details_t *details = job->details;
	uint64_t memory = details->pn_min_memory;
	struct pollux_beside beside = {
		.cpus_per_tres = job->cpus_per_tres,
		.mem_per_tres = job->mem_per_tres,
		.cpus_per_task = _given(details->cpus_per_task),
		.cpus_asked = _given(details->orig_cpus_per_task),
		.memory = memory == NO_VAL64 ? 0 : memory & ~MEM_PER_CPU,
		.memory_per_cpu = memory != NO_VAL64 && memory & MEM_PER_CPU,
		.memory_asked = job->bit_flags & JOB_MEM_SET,
		.memory_of_cpu = _memory_of_cpu(job),
	};

	return pollux_needs(&beside);
}
