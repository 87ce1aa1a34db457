/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_compat.h - Slurm's internals as this project sees them
 *
 * The only place that asks which Slurm this is. 22.05 is the release that is
 * built and tested; a new one gets its differences here and nowhere else.
 * Include this before any other header of Slurm.
 */
#ifndef POLLUX_SLURM_COMPAT_H
#define POLLUX_SLURM_COMPAT_H

#include "common/slurm_weak.h"

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0) ||                      \
	(SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0) &&                \
	 SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 0)) ||               \
	SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 11, 0)
#error "sched/pollux knows Slurm 22.05 and 24.11 to 26.05 only"
#endif

/* 23.02 moved the plugin interfaces, 24.05 what stepmgr needs. */
#define POLLUX_SLURM_24 (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0))

#include "src/common/assoc_mgr.h"
#include "src/common/job_resources.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/macros.h"
#include "src/common/node_conf.h"
#include "src/common/plugin.h"
#include "src/common/read_config.h"
#include "src/common/forward.h"
#include "src/common/uid.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/acct_policy.h"
#include "src/slurmctld/agent.h"
#include "src/slurmctld/gang.h"
#include "src/slurmctld/job_scheduler.h"
#include "src/slurmctld/licenses.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/node_scheduler.h"
#include "src/slurmctld/ping_nodes.h"
#include "src/slurmctld/reservation.h"
#include "src/slurmctld/slurmctld.h"
#include "src/slurmctld/state_save.h"

#if POLLUX_SLURM_24
#include "src/common/job_features.h"
#include "src/common/job_state_reason.h"
#include "src/interfaces/accounting_storage.h"
#include "src/interfaces/cgroup.h"
#include "src/interfaces/cred.h"
#include "src/interfaces/gres.h"
#include "src/interfaces/mcs.h"
#include "src/interfaces/preempt.h"
#include "src/interfaces/select.h"
#include "src/interfaces/topology.h"
#include "src/stepmgr/gres_stepmgr.h"
#include "src/slurmctld/proc_req.h"
#include "src/stepmgr/stepmgr.h"
#else
#include "src/common/cgroup.h"
#include "src/common/gres.h"
#include "src/common/select.h"
#include "src/common/slurm_cred.h"
#include "src/common/slurm_mcs.h"
#include "src/common/slurm_topology.h"
#include "src/common/slurm_accounting_storage.h"
#include "src/slurmctld/gres_ctld.h"
#include "src/slurmctld/preempt.h"
#include "src/slurmctld/srun_comm.h"
#endif

/* Names that came or went between the two. */
#if POLLUX_SLURM_24
typedef list_t *List;
typedef list_itr_t *ListIterator;
typedef hostlist_t *pollux_hostlist_t;
#define gres_ctld_set_job_tres_cnt	gres_stepmgr_set_job_tres_cnt
#define gres_ctld_job_select_whole_node gres_stepmgr_job_select_whole_node
#define FEATURE_OP_XOR			FEATURE_OP_MOR
#define power_node_bitmap		power_down_node_bitmap
#define job_reason_string		job_state_reason_string
#else
typedef struct job_details job_details_t;
typedef hostlist_t pollux_hostlist_t;
#endif

/* 25.05 asks preempt plugins by a function for each kind of data. */
#define POLLUX_PREEMPT_GET_DATA                                                \
	(SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 5, 0))

/* A flag of PreemptMode of 24.11 and later. */
#ifdef PREEMPT_MODE_PRIORITY
#define POLLUX_PREEMPT_MODE_PRIORITY PREEMPT_MODE_PRIORITY
#else
#define POLLUX_PREEMPT_MODE_PRIORITY 0
#endif

/* job_modify(): 22.05 has a sentence of its own for each error. */
#if POLLUX_SLURM_24
#define POLLUX_MODIFY_ARGS                                                     \
	job_desc_msg_t *job_desc, job_record_t *job_ptr, uint32_t submit_uid,  \
		char **err_msg
#define POLLUX_MODIFY_SAYS err_msg
#else
#define POLLUX_MODIFY_ARGS                                                     \
	job_desc_msg_t *job_desc, job_record_t *job_ptr, uint32_t submit_uid
#define POLLUX_MODIFY_SAYS NULL
#endif

/* Memory is given out like CPUs: 25.11 calls it so. */
#ifndef CR_MEMORY
#define CR_MEMORY SELECT_MEMORY
#endif

#if POLLUX_SLURM_24
#define POLLUX_TRES_GPU "gres/gpu"
#else
#define POLLUX_TRES_GPU "gres:gpu"
#endif

/*
 * A request for GPUs on each node as it is written; type: "" or NULL for any.
 * Slurm takes a count of 0 for no request. The caller's to xfree().
 */
static inline char *pollux_slurm_gpu_text(const char *type, int gpus)
{
	if (!type || !type[0])
		return xstrdup_printf(POLLUX_TRES_GPU ":%d", gpus);
	return xstrdup_printf(POLLUX_TRES_GPU ":%s:%d", type, gpus);
}

/*
 * The first bit from this one on that is set; size: none. A job's nodes are few
 * of many, so words without a bit are passed over at once where it is known how
 * a release keeps them.
 */
static inline int pollux_slurm_next_bit(bitstr_t *bits, int n, int size)
{
#if !POLLUX_SLURM_24 && !defined(SLURM_BIGENDIAN)
	const int word = 8 * sizeof(*bits);

	while (n < size) {
		uint64_t left =
			(uint64_t) bits[n / word + BITSTR_OVERHEAD] >> n % word;

		if (left)
			return MIN(n + __builtin_ctzll(left), size);
		n = (n / word + 1) * word;
	}
	return size;
#else
	while (n < size && !bit_test(bits, n))
		n++;
	return n;
#endif
}

/* A number that is mostly another one for other bits, of as many. */
static inline uint64_t pollux_slurm_bits_digest(bitstr_t *bits)
{
	uint64_t digest = 0xcbf29ce484222325u;
#if POLLUX_SLURM_24
	int count = (int) bit_size(bits);
#else
	const int word = 8 * sizeof(*bits);
	int count = ((int) bit_size(bits) + word - 1) / word;
#endif

	for (int i = 0; i < count; i++) {
#if POLLUX_SLURM_24
		digest ^= (uint64_t) bit_test(bits, i);
#else
		digest ^= (uint64_t) bits[i + BITSTR_OVERHEAD];
#endif
		digest *= 0x9e3779b97f4a7c15u;
		digest ^= digest >> 32; /* a product moves bits up alone */
	}
	return digest;
}

/* The first of these nodes, and the next one; node_record_count: none. */
static inline int pollux_slurm_first_node(bitstr_t *nodes)
{
	return pollux_slurm_next_bit(nodes, 0, node_record_count);
}

static inline int pollux_slurm_node_after(bitstr_t *nodes, int n)
{
	return pollux_slurm_next_bit(nodes, n + 1, node_record_count);
}

/* What reservations keep from a job on nodes that it may use. */
#if POLLUX_SLURM_24
typedef resv_exc_t pollux_barred_t;
#else
typedef struct {
	bitstr_t *core_bitmap; /* NULL: nothing */
} pollux_barred_t;
#endif

static inline void pollux_slurm_barred_release(pollux_barred_t *barred)
{
#if POLLUX_SLURM_24
	reservation_delete_resv_exc_parts(barred);
#else
	FREE_NULL_BITMAP(barred->core_bitmap);
#endif
}

/* Do reservations keep cores of nodes from a job that it may use? */
static inline bool pollux_slurm_bars_cores(const pollux_barred_t *barred)
{
#if POLLUX_SLURM_24
	return barred->exc_cores || barred->gres_list_exc;
#else
	return barred->core_bitmap;
#endif
}

/*
 * Which nodes do reservations leave to the job from now on? A Slurm error, or
 * *nodes and *barred, which was zeroed, for the caller to free.
 */
static inline int pollux_slurm_test_resv(job_record_t *job, time_t now,
					 bitstr_t **nodes,
					 pollux_barred_t *barred)
{
	bool overlap = false;
#if POLLUX_SLURM_24
	return job_test_resv(job, &now, false, nodes, barred, &overlap, false);
#else
	return job_test_resv(job, &now, false, nodes, &barred->core_bitmap,
			     &overlap, false);
#endif
}

/* details->feature_list from details->features; a Slurm error. */
static inline int pollux_slurm_read_features(job_record_t *job)
{
#if POLLUX_SLURM_24
	return build_feature_list(job, false, false);
#else
	return build_feature_list(job, false);
#endif
}

/* Is its QOS allowed in its partition? A Slurm error. */
static inline int pollux_slurm_valid_qos(const job_record_t *job)
{
#if POLLUX_SLURM_24
	return part_policy_valid_qos(job->part_ptr, job->qos_ptr, job->user_id,
				     NULL);
#else
	return part_policy_valid_qos(job->part_ptr, job->qos_ptr, NULL);
#endif
}

/* Was it no limit of accounting that kept it waiting when it was last tried? */
static inline bool pollux_slurm_within_limits(job_record_t *job)
{
#if POLLUX_SLURM_24
	return !job_state_reason_check(job->state_reason, JSR_QOS_ASSOC);
#else
	return acct_policy_job_runnable_state(job);
#endif
}

/* Nobody else's jobs are on its nodes, not even of its user. */
static inline bool pollux_slurm_whole_nodes(const job_record_t *job)
{
#if POLLUX_SLURM_24
	return job->details->whole_node & WHOLE_NODE_REQUIRED;
#else
	return job->details->whole_node == WHOLE_NODE_REQUIRED;
#endif
}

/* Who else gives out a node's GPUs, by parts: shards, MPS; NULL: nobody. */
static inline const gres_node_state_t *pollux_slurm_shared(
	const gres_node_state_t *gpus)
{
#if POLLUX_SLURM_24
	return gpus->alt_gres ? gpus->alt_gres->gres_data : NULL;
#else
	return gpus->alt_gres_ns;
#endif
}

/* Its steps are known to a node alone, in a copy of its record. */
static inline bool pollux_slurm_has_stepmgr(const job_record_t *job)
{
#if POLLUX_SLURM_24
	return job->bit_flags & STEPMGR_ENABLED;
#else
	(void) job;
	return false;
#endif
}

/*
 * Does it matter to the select plugin which cores the jobs of this partition
 * have? 22.05 copies those of all nodes to find out, each time that it is
 * asked. It reads them for MaxCPUsPerNode, for whole sockets, and where jobs of
 * a partition share cores.
 */
static inline bool pollux_slurm_counts_cores(const part_record_t *part)
{
#if POLLUX_SLURM_24
	(void) part;
	return true;
#else
	uint16_t kind = slurm_conf.select_type_param | part->cr_type;

	return part->max_share != 1 || part->max_cpus_per_node != INFINITE ||
	       kind & CR_SOCKET || slurm_conf.preempt_mode & PREEMPT_MODE_GANG;
#endif
}

/*
 * Have the select plugin place the running job on just these nodes, now.
 * Newer ones want its licences to be free, too, though it holds them.
 */
static inline int pollux_slurm_job_test(job_record_t *job, bitstr_t *nodes,
					uint32_t count, pollux_barred_t *barred)
{
#if POLLUX_SLURM_24
	list_t *licenses = job->license_list;
	int rc = SLURM_ERROR;

	job->license_list = NULL;
	rc = select_g_job_test(job, nodes, count, count, count,
			       SELECT_MODE_RUN_NOW, NULL, NULL, barred, NULL);
	job->license_list = licenses;
	return rc;
#else
	return select_g_job_test(job, nodes, count, count, count,
				 SELECT_MODE_RUN_NOW, NULL, NULL,
				 barred->core_bitmap);
#endif
}

/* Is what a job wants of this licence? Later ones have a number each. */
static inline bool pollux_slurm_license_is(const bf_license_t *licence,
					   const licenses_t *wanted)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
	return licence->id.lic_id == wanted->id.lic_id &&
	       licence->id.hres_id == wanted->id.hres_id;
#else
	return !xstrcmp(licence->name, wanted->name);
#endif
}

/* Does one of those that the job asks for suffice (--licenses=a|b)? */
static inline bool pollux_slurm_license_or(const licenses_t *wanted)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
	return wanted->op_or;
#else
	(void) wanted;
	return false;
#endif
}

/* gres_list_req from tres_per_node and cpus_per_tres; a Slurm error. */
static inline int pollux_slurm_validate_gres(job_record_t *job)
{
	job_details_t *details = job->details;
	uint16_t tasks_per_socket = NO_VAL16;
	uint16_t sockets_per_node = NO_VAL16;
	uint16_t tasks_per_tres = NO_VAL16;
#if POLLUX_SLURM_24
	gres_job_state_validate_t request = {
		.cpus_per_tres = job->cpus_per_tres,
		.mem_per_tres = job->mem_per_tres,
		.tres_freq = job->tres_freq,
		.tres_per_job = job->tres_per_job,
		.tres_per_node = job->tres_per_node,
		.tres_per_socket = job->tres_per_socket,
		.tres_per_task = job->tres_per_task,
		.cpus_per_task = &details->cpus_per_task,
		.max_nodes = &details->max_nodes,
		.min_cpus = &details->min_cpus,
		.min_nodes = &details->min_nodes,
		.ntasks_per_node = &details->ntasks_per_node,
		.ntasks_per_socket = &tasks_per_socket,
		.ntasks_per_tres = &tasks_per_tres,
		.num_tasks = &details->num_tasks,
		.sockets_per_node = &sockets_per_node,
		.gres_list = &job->gres_list_req,
	};

	return gres_job_state_validate(&request);
#else
	return gres_job_state_validate(
		job->cpus_per_tres, job->tres_freq, job->tres_per_job,
		job->tres_per_node, job->tres_per_socket, job->tres_per_task,
		job->mem_per_tres, &details->num_tasks, &details->min_nodes,
		&details->max_nodes, &details->ntasks_per_node,
		&tasks_per_socket, &sockets_per_node, &details->cpus_per_task,
		&tasks_per_tres, &job->gres_list_req);
#endif
}

/* What scontrol shows of the job's GPUs. */
static inline void pollux_slurm_gres_details(job_record_t *job)
{
#if POLLUX_SLURM_24
	gres_stepmgr_job_build_details(job->gres_list_alloc, job->nodes,
				       &job->gres_detail_cnt,
				       &job->gres_detail_str, &job->gres_used);
#else
	gres_ctld_job_build_details(job->gres_list_alloc, &job->gres_detail_cnt,
				    &job->gres_detail_str, &job->gres_used);
#endif
}

/*
 * At any update of a job, newer ones multiply its nodes with the tasks of each,
 * and where that is not the number of its tasks they refuse the update.
 */
#define POLLUX_SLURM_MULTIPLIES_TASKS POLLUX_SLURM_24

/* Nodes of the job are to be in groups of so many; 0: they are not. */
static inline uint16_t pollux_slurm_segment(const job_desc_msg_t *job)
{
#if POLLUX_SLURM_24
	return job->segment_size == NO_VAL16 ? 0 : job->segment_size;
#else
	(void) job;
	return 0;
#endif
}

/*
 * The switches above the node, or its block, as "root.leaf"; by the topology
 * that partitions have by default. NULL: nothing is known of them. The caller's
 * to xfree(). READ lock on nodes.
 */
static inline char *pollux_slurm_switch(const node_record_t *node)
{
	char *address = NULL;
	char *pattern = NULL;
	char *end = NULL;
#if POLLUX_SLURM_24
	int rc = topology_g_get_node_addr(node->name, &address, &pattern);
#else
	int rc = slurm_topo_get_node_addr(node->name, &address, &pattern);
#endif

	/* The pattern is "switch.switch.node", "block.node" or "node". */
	if (rc == SLURM_SUCCESS && address && pattern &&
	    xstrcmp(pattern, "node") &&
	    strlen(address) > strlen(node->name) + 1)
		end = address + strlen(address) - strlen(node->name) - 1;
	xfree(pattern);
	if (end)
		*end = '\0';
	else
		xfree(address);
	return address;
}

/* In which order the nodes are near each other: for steps' task numbers. */
static inline void pollux_slurm_rank_nodes(const job_record_t *job,
					   job_resources_t *resources)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
	uint32_t count = 0;

	if (resources->nhosts < 2 ||
	    (slurm_conf.select_type_param & SELECT_NO_DIST_TOPO_BLOCK))
		return;
	if (topology_g_get_rank(resources->node_bitmap, &resources->node_ranks,
				&count, job->part_ptr->topology_idx) ||
	    count != resources->nhosts)
		xfree(resources->node_ranks);
#else
	(void) job;
	(void) resources;
#endif
}

/* node_cnt and the batch host from node_bitmap. */
static inline void pollux_slurm_node_details(job_record_t *job)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
	build_node_details(job);
#else
	build_node_details(job, true);
#endif
}

/*
 * Newer ones number a job's rows in slurmctld, so a resize waits for nobody;
 * 22.05 has slurmdbd number them and waits (sched/pollux/acct/acct.h).
 */
#define POLLUX_SLURMDBD_NUMBERS (!POLLUX_SLURM_24)

/*
 * The number of the job's present row if it is its first one, and the end of
 * the last step will write into it (sched/pollux/acct/first_row.h); else 0.
 */
static inline uint64_t pollux_slurm_first_row(const job_record_t *job)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
	return job->db_index == job->step_id.sluid ? job->db_index : 0;
#else
	(void) job;
	return 0;
#endif
}

/* As job_post_resize_acctg(), but that accounting is not told. */
static inline void pollux_slurm_begin_shape(job_record_t *job)
{
#if POLLUX_SLURMDBD_NUMBERS
	acct_policy_add_job_submit(job);
	/* acct_policy_job_begin() wants to know these. */
	job_set_alloc_tres(job, false);
	acct_policy_job_begin(job);
	job_claim_resv(job);
	job->job_state &= ~JOB_RESIZING;
	job->end_time_exp = job->end_time;
	if (job->step_list && list_count(job->step_list) > 0)
		job->bit_flags |= JOB_RESIZED;
#else
	job_post_resize_acctg(job);
#endif
}

/* "n[1-4]" as a bitmap, the caller's to free; a Slurm error. */
static inline int pollux_slurm_nodes(char *names, bitstr_t **nodes)
{
#if POLLUX_SLURM_24
	return node_name2bitmap(names, false, nodes, NULL);
#else
	return node_name2bitmap(names, false, nodes);
#endif
}

static inline bool pollux_slurm_is_coordinator(uint32_t uid, char *account)
{
#if POLLUX_SLURM_24
	return assoc_mgr_is_user_acct_coord(acct_db_conn, uid, account, false);
#else
	return assoc_mgr_is_user_acct_coord(acct_db_conn, uid, account);
#endif
}

/*
 * Run the prolog of a job on its nodes. Where that fails slurmd asks for the
 * heterogeneous job it is part of to be requeued: for het_job_id. 25.11 would
 * find the job by the identity of its present run first, so that is not told.
 */
static inline void pollux_slurm_launch_prolog(job_record_t *job,
					      uint32_t het_job_id)
{
	uint32_t own = job->het_job_id;
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	sluid_t run = job->step_id.sluid;

	job->step_id.sluid = 0;
#endif
	job->het_job_id = het_job_id;
	launch_prolog(job);
	job->het_job_id = own;
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	job->step_id.sluid = run;
#endif
}

/* Does cgroup.conf keep jobs from devices that they were not given? */
static inline bool pollux_slurm_constrains_devices(void)
{
	return slurm_cgroup_conf.constrain_devices;
}

/* A message that slurmd alone may read. */
static inline void pollux_slurm_to_slurmd(slurm_msg_t *message)
{
	slurm_msg_set_r_uid(message, slurm_conf.slurmd_user_id);
}

/* A socket that slurmstepd can answer to as it does to srun; -1: none. */
static inline int pollux_slurm_listen(void)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
	return -1;
#else
	uint16_t *ports = slurm_get_srun_port_range();

	return ports ? slurm_init_msg_engine_ports(ports)
		     : slurm_init_msg_engine_port(0);
#endif
}

/* Tell slurmstepd at the other end that its message was taken. */
static inline void pollux_slurm_confirm(int connection, uint16_t version)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 5, 0)
	return_code_msg_t code = { .return_code = SLURM_SUCCESS };
	slurm_msg_t message;

	slurm_msg_t_init(&message);
	pollux_slurm_to_slurmd(&message);
	message.msg_type = RESPONSE_SLURM_RC;
	message.protocol_version = version;
	message.data = &code;
	(void) slurm_send_node_msg(connection, &message);
#endif
}

static inline slurm_step_id_t pollux_slurm_step_id(const job_record_t *job,
						   uint32_t step)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	slurm_step_id_t id = job->step_id;

	id.step_id = step;
	id.step_het_comp = NO_VAL;
	return id;
#else
	return (slurm_step_id_t){ .job_id = job->job_id,
				  .step_id = step,
				  .step_het_comp = NO_VAL };
#endif
}

/*
 * Make the step one of this job, on these of its nodes: credential, owner and
 * limits of memory as the record has them now. slurmd takes it from
 * slurmctld's user without a signature. step->cred_version says in which
 * protocol; step->cred is NULL where it fails.
 */
static inline void pollux_slurm_step_of(job_record_t *job, char *nodes,
					launch_tasks_request_msg_t *step)
{
	job_resources_t *resources = job->job_resrcs;
	slurm_cred_arg_t arg;

	setup_cred_arg(&arg, job);
	memcpy(&arg.step_id, &step->step_id, sizeof(arg.step_id));
	arg.step_hostlist = nodes;
	arg.step_core_bitmap = resources->core_bitmap;
	if (resources->memory_allocated)
		slurm_array64_to_value_reps(resources->memory_allocated,
					    resources->nhosts,
					    &arg.job_mem_alloc,
					    &arg.job_mem_alloc_rep_count,
					    &arg.job_mem_alloc_size);
	step->het_job_node_offset = NO_VAL;
	step->het_job_id = NO_VAL;
	step->het_job_nnodes = NO_VAL;
	step->het_job_ntasks = NO_VAL;
	step->het_job_offset = NO_VAL;
	step->het_job_step_cnt = NO_VAL;
	step->het_job_task_offset = NO_VAL;
#if POLLUX_SLURM_24
	step->mpi_plugin_id = NO_VAL; /* none: it has no number */
	step->cred = slurm_cred_create(&arg, true, step->cred_version);
#else
	step->uid = job->user_id;
	step->gid = job->group_id;
	step->user_name = uid_to_string_or_null(job->user_id);
	step->partition = xstrdup(job->partition);
	step->alias_list = xstrdup(job->alias_list);
	arg.step_mem_limit = job->details->pn_min_memory;
	step->job_mem_lim = arg.step_mem_limit;
	step->cred = slurm_cred_create(slurmctld_config.cred_ctx, &arg, true,
				       step->cred_version);
#endif
	xfree(arg.job_mem_alloc);
	xfree(arg.job_mem_alloc_rep_count);
}

/*
 * When a job has ended on a node, slurmd says so. Up to 24.11.5 that is heard
 * of a job that runs elsewhere: it opens the node, if it was completing for no
 * other job. Newer ones take it for an error, so slurmd is asked not to tell.
 */
#define POLLUX_SLURM_HEARS_EPILOG                                              \
	(SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 6))

/*
 * What ends the running job on a node that it has left, with these others, for
 * agent_queue_request(); gres: what it held there. 22.05 makes the epilog's
 * environment from what is requested.
 */
static inline agent_arg_t *pollux_slurm_end_on_node(job_record_t *job,
						    const node_record_t *node,
						    const char *nodes,
						    List gres)
{
#if POLLUX_SLURM_24
	List *list = &job->gres_list_alloc;
#else
	List *list = &job->gres_list_req;
#endif
	List own = *list;
	kill_job_msg_t *message = NULL;
	agent_arg_t *agent = xmalloc(sizeof(*agent));

	*list = gres;
	message = create_kill_job_msg(job, node->protocol_version);
	*list = own;
	message->nodes = xstrdup(nodes);
	agent->msg_type = POLLUX_SLURM_HEARS_EPILOG ? REQUEST_TERMINATE_JOB
						    : REQUEST_ABORT_JOB;
	agent->protocol_version = node->protocol_version;
	agent->node_count = 1;
	agent->retry = !POLLUX_SLURM_HEARS_EPILOG;
	agent->hostlist = hostlist_create(node->name);
	agent->msg_args = message;
	set_agent_arg_r_uid(agent, SLURM_AUTH_UID_ANY);
	return agent;
}

/* End a job as slurmctld does when its node is lost. */
static inline int pollux_slurm_job_lost(job_record_t *job, bool requeue)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	return job_complete(&job->step_id, slurm_conf.slurm_user_id, requeue,
			    true, NO_VAL);
#else
	return job_complete(job->job_id, slurm_conf.slurm_user_id, requeue,
			    true, NO_VAL);
#endif
}

/* Count the licences of a job that runs. */
static inline void pollux_slurm_license_get(job_record_t *job)
{
#if POLLUX_SLURM_24
	(void) license_job_get(job, true);
#else
	(void) license_job_get(job);
#endif
}

/* Put a running batch job back into the queue; a Slurm error. */
static inline int pollux_slurm_requeue(job_record_t *job)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	return job_requeue_external(slurm_conf.slurm_user_id, &job->step_id,
				    false, 0);
#else
	return job_requeue(slurm_conf.slurm_user_id, job->job_id, NULL, false,
			   0);
#endif
}

/* 22.05 has --prefer: schedulers say which features count this time. */
static inline void pollux_slurm_use_features(job_record_t *job)
{
	job->details->features_use = job->details->features;
	job->details->feature_list_use = job->details->feature_list;
}

/* Start a waiting job where it may be; 22.05: before job queue records. */
static inline int pollux_slurm_select_nodes(job_record_t *job,
					    uint32_t scheduler)
{
#if POLLUX_SLURM_24
	job_node_select_t select = { .job_ptr = job };

	return select_nodes(&select, false, false, scheduler);
#else
	return select_nodes(job, false, NULL, NULL, false, scheduler);
#endif
}

/*
 * 22.05 asks slurmctld/nonstop of each job on a node that fails, under the
 * write locks and before it decides what becomes of the job. Others are not
 * asked.
 */
#if !POLLUX_SLURM_24
#include "src/slurmctld/slurmctld_plugstack.h"
static inline void pollux_slurm_on_node_fail(void (*act)(job_record_t *job,
							 node_record_t *node))
{
	if (!nonstop_ops.node_fail || !act)
		nonstop_ops.node_fail = act;
}
#else
static inline void pollux_slurm_on_node_fail(void (*act)(job_record_t *job,
							 node_record_t *node))
{
	(void) act;
}
#endif

#endif
