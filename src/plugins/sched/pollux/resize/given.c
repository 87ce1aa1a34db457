/* SPDX-License-Identifier: GPL-2.0-or-later */
/* given.c - CPUs and memory that Slurm gives with so many GPUs on a node */

#include "sched/pollux/fingerprint.h"
#include "sched/pollux/resize/given.h"

#define KEPT 1024 /* answers; one for another with the same place */

static struct given {
	uint64_t key; /* of request, node and GPUs; 0: none */
	int cpus;
	uint64_t memory;
} answers[KEPT];

static uint64_t _add_number(uint64_t sum, uint64_t number)
{
	return pollux_fingerprint(sum, &number, sizeof(number));
}

static uint64_t _add_text(uint64_t sum, const char *text)
{
	return pollux_fingerprint_text(sum, text ? text : "");
}

/*
 * Where the select plugin counts what others have, or writes a job's request
 * from defaults, it is asked each time.
 */
static bool _counts_more(const job_record_t *job)
{
	return pollux_slurm_counts_cores(job->part_ptr) ||
	       job->details->whole_node || slurm_conf.job_defaults_list ||
	       job->part_ptr->job_defaults_list;
}

uint64_t pollux_given_for(const job_record_t *job,
			  const struct pollux_request *saved)
{
	const job_details_t *details = job->details;
	const uint64_t numbers[] = {
		saved->needs.cpus,
		saved->needs.node_cpus,
		saved->needs.memory,
		saved->needs.node_memory,
		saved->cpus_per_task,
		saved->pn_min_memory,
		details->orig_cpus_per_task,
		details->overcommit,
		details->core_spec,
		details->task_dist,
		job->bit_flags & (JOB_MEM_SET | GRES_ENFORCE_BIND),
		(uint64_t) slurm_conf.last_update,
		(uint64_t) last_part_update,
	};
	uint64_t sum = POLLUX_FINGERPRINT_FROM;

	if (_counts_more(job))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sum = _add_number(sum, numbers[i]);
	sum = _add_text(sum, saved->cpus_per_tres);
	sum = _add_text(sum, saved->mem_per_tres);
	sum = _add_text(sum, saved->type);
	sum = _add_text(sum, job->part_ptr->name);
	if (details->mc_ptr)
		sum = pollux_fingerprint(sum, details->mc_ptr,
					 sizeof(*details->mc_ptr));
	return sum ? sum : 1;
}

static uint64_t _key(uint64_t request, int n, int gpus)
{
	const node_record_t *node = node_record_table_ptr[n];
	uint64_t key = _add_number(request, node->real_memory);

	key = _add_number(key, node->mem_spec_limit);
	key = _add_number(key, (uint64_t) node->core_spec_cnt << 32 |
				       (uint64_t) node->tpc << 16 |
				       (uint64_t) gpus);
	key = _add_number(key, (uint64_t) node->tot_sockets << 32 |
				       (uint64_t) node->tot_cores);
	return key ? key : 1;
}

static struct given *_answer(uint64_t key)
{
	return &answers[(key ^ key >> 32) % KEPT];
}

void pollux_given_learn(const job_resources_t *resources, int gpus,
			uint64_t request)
{
	int i = 0;

	for (int n = pollux_slurm_first_node(resources->node_bitmap);
	     request && n < node_record_count;
	     n = pollux_slurm_node_after(resources->node_bitmap, n), i++) {
		uint64_t key = _key(request, n, gpus);

		*_answer(key) = (struct given){
			.key = key,
			.cpus = resources->cpus[i],
			.memory = resources->memory_allocated
					  ? resources->memory_allocated[i]
					  : 0,
		};
	}
}

/* Is the i-th node of the resources, n, with what is given for so many? */
static bool _is_as_given(const job_resources_t *resources, int i, int n,
			 int gpus, uint64_t request)
{
	uint64_t key = _key(request, n, gpus);
	const struct given *given = _answer(key);

	return given->key == key && given->cpus == resources->cpus[i] &&
	       (!resources->memory_allocated ||
		resources->memory_allocated[i] >= given->memory);
}

/* All its nodes are there, and have as many cores as when it got them. */
static bool _is_whole(const job_resources_t *resources)
{
	int cores = 0;

	if (!resources || !resources->core_bitmap)
		return false;
	for (int n = pollux_slurm_first_node(resources->node_bitmap);
	     n < node_record_count;
	     n = pollux_slurm_node_after(resources->node_bitmap, n)) {
		if (!node_record_table_ptr[n])
			return false;
		cores += node_record_table_ptr[n]->tot_cores;
	}
	return bit_size(resources->core_bitmap) == cores;
}

bitstr_t *pollux_given_kept(const struct pollux_shape *shape,
			    const struct pollux_holding *held, uint64_t request)
{
	const job_resources_t *resources = held->resources;
	bitstr_t *kept = NULL;
	int i = 0;

	if (!request || !_is_whole(resources) ||
	    pollux_slurm_bars_cores(&held->barred))
		return NULL;
	kept = bit_alloc(node_record_count);
	for (int n = pollux_slurm_first_node(resources->node_bitmap);
	     n < node_record_count;
	     n = pollux_slurm_node_after(resources->node_bitmap, n), i++) {
		if (bit_test(shape->nodes, n) &&
		    _is_as_given(resources, i, n,
				 pollux_shape_cpus_for(shape, n), request))
			bit_set(kept, n);
	}
	if (bit_ffs(kept) < 0)
		FREE_NULL_BITMAP(kept);
	return kept;
}

static void _copy_cores(const job_resources_t *from, int from_core,
			job_resources_t *to, int to_core, int count)
{
	for (int c = 0; c < count; c++) {
		if (bit_test(from->core_bitmap, from_core + c))
			bit_set(to->core_bitmap, to_core + c);
	}
}

void pollux_given_keep(const struct pollux_shape *shape,
		       const struct pollux_holding *held, uint64_t request,
		       bitstr_t *kept, job_resources_t *all)
{
	const job_resources_t *had = held->resources;
	bitstr_t *either = bit_copy(all->node_bitmap);
	int from_core = 0, to = 0, to_core = 0;

	all->node_req = had->node_req;
	all->cr_type = had->cr_type;
	all->whole_node = had->whole_node;
	all->threads_per_core = had->threads_per_core;
	bit_or(either, had->node_bitmap);
	for (int n = pollux_slurm_first_node(either); n < node_record_count;
	     n = pollux_slurm_node_after(either, n)) {
		int cores = node_record_table_ptr[n]->tot_cores;

		if (bit_test(kept, n)) {
			const struct given *given = _answer(_key(
				request, n, pollux_shape_cpus_for(shape, n)));

			all->cpus[to] = (uint16_t) given->cpus;
			all->ncpus += (uint32_t) given->cpus;
			all->memory_allocated[to] = given->memory;
			_copy_cores(had, from_core, all, to_core, cores);
		}
		if (bit_test(had->node_bitmap, n))
			from_core += cores;
		if (bit_test(all->node_bitmap, n)) {
			to_core += cores;
			to++;
		}
	}
	FREE_NULL_BITMAP(either);
}
