/* SPDX-License-Identifier: MIT */
/* test_launch_step.c - the inner srun: its environment and command line */

#include <stdlib.h>
#include <string.h>

#include "launcher/ranks/environ.h"
#include "launcher/ranks/step_line.h"
#include "unit.h"

static void stale_shapes_never_reach_the_inner_srun(void **state)
{
	static const char *const stale[] = {
		"SLURM_JOB_ID=5",
		"SLURM_JOBID=5",
		"SLURM_NTASKS=4",
		"SLURM_NNODES=2",
		"SLURM_NPROCS=4",
		"SLURM_JOB_NODELIST=n[1-2]",
		"SLURM_JOB_NUM_NODES=2",
		"SLURM_GPUS_PER_NODE=2",
		"SLURM_GPUS_ON_NODE=2",
		"SLURM_TRES_PER_TASK=gres:gpu:1",
		"SLURM_CPU_BIND=quiet,mask_cpu:0x1",
		"SLURM_CPU_BIND_TYPE=mask_cpu:",
		"SLURM_MEM_PER_CPU=100",
		"SLURM_DISTRIBUTION=cyclic",
		"SLURM_EXPORT_ENV=NONE",
		"SLURM_MPI_TYPE=none",
		"SLURM_HOSTFILE=/tmp/x",
		"SLURM_STEP_ID=0",
		"SLURM_PMIX_MAPPING_SERV=(vector,(0,1,1))",
		"SLURM_PMIXP_ABORT_AGENT_PORT=41357",
		"SLURMD_NODENAME=n1",
		"_SLURM_SPANK_OPTION_pollux_scheduler_params=pollux",
		"SRUN_CPUS_PER_TASK=3",
		"PMIX_RANK=0",
		"PMIX_NAMESPACE=slurm.pmix.1.0",
		"PMI_RANK=0",
		"OMPI_COMM_WORLD_RANK=0",
		"CUDA_VISIBLE_DEVICES=0,1",
		"GPU_DEVICE_ORDINAL=0,1",
		"ROCR_VISIBLE_DEVICES=0",
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(stale); i++) {
		if (plx_environ_passes(stale[i]))
			fail_msg("%s passes", stale[i]);
	}
}

static void what_the_user_set_passes(void **state)
{
	static const char *const kept[] = {
		"PATH=/bin",
		"HOME=/root",
		"SLURM_CONF=/etc/slurm/slurm.conf",
		"SLURM_PMIX_FENCE=ring",
		"SLURM_UNBUFFEREDIO=1",
		"PMIX_MCA_gds=hash",
		"OMPI_MCA_btl=tcp,self",
		"CUDA_HOME=/usr/local/cuda",
		"POLLUX_PARAMS=pollux,max=8",
		"NCCL_DEBUG=INFO",
		"MY_SLURM_THING=1",
		"EMPTY=",
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		if (!plx_environ_passes(kept[i]))
			fail_msg("%s does not pass", kept[i]);
	}
}

static void a_variable_is_set_or_replaced(void **state)
{
	char *const outer[] = { (char *) "A=1", (char *) "AB=2",
				(char *) "SLURM_NTASKS=4", NULL };
	struct plx_environ env;

	(void) state;
	assert_int_equal(0, plx_environ_init(&env, outer, NULL));
	assert_int_equal(2, env.count);
	assert_int_equal(0, plx_environ_set(&env, "A", "3", NULL));
	assert_int_equal(0, plx_environ_set(&env, "B", "", NULL));
	assert_string_equal("A=3", env.vars[0]);
	assert_string_equal("AB=2", env.vars[1]);
	assert_string_equal("B=", env.vars[2]);
	assert_null(env.vars[3]);
	plx_environ_release(&env);
}

static const struct plx_step_order order = {
	.job_id = 42,
	.mpi = "pmix",
	.program = (char *[]){ (char *) "./train", (char *) "-x",
			       (char *) "a b", NULL },
};

static bool has(char **args, const char *wanted)
{
	for (; *args; args++) {
		if (!strcmp(*args, wanted))
			return true;
	}
	return false;
}

static void the_inner_srun_takes_a_gpu_a_rank(void **state)
{
	struct plx_layout_node nodes[] = {
		{ .name = "n1", .ranks = 2, .cpus = 4 },
		{ .name = "n2", .ranks = 1, .cpus = 4 },
	};
	struct plx_launch_step step = {
		.name = "pollux.3",
		.layout = { nodes, 2, 3, true },
	};
	char **args = plx_step_arguments(&order, &step);

	(void) state;
	assert_non_null(args);
	assert_string_equal("srun", args[0]);
	assert_true(has(args, "--jobid=42"));
	assert_true(has(args, "--overlap"));
	assert_true(has(args, "--overcommit"));
	assert_true(has(args, "--mpi=pmix"));
	assert_true(has(args, "--ntasks=3"));
	assert_true(has(args, "--cpus-per-task=2"));
	assert_true(has(args, "--gpus-per-task=1"));
	assert_true(has(args, "--distribution=arbitrary"));
	free(args);
}

static void ranks_see_their_nodes_gpus_where_nodes_are_alike(void **state)
{
	struct plx_layout_node nodes[] = {
		{ .name = "n1", .ranks = 2, .cpus = 4 },
		{ .name = "n2", .ranks = 2, .cpus = 4 },
	};
	struct plx_launch_step step = { .layout = { nodes, 2, 4, true } };
	char **args = plx_step_arguments(&order, &step);

	(void) state;
	assert_non_null(args);
	assert_true(has(args, "--gres=gpu:2"));
	assert_false(has(args, "--gpus-per-task=1"));
	free(args);
}

static void without_gpus_none_is_asked_for(void **state)
{
	struct plx_layout_node node = { .name = "n1", .ranks = 2, .cpus = 1 };
	struct plx_launch_step step = { .layout = { &node, 1, 2, false } };
	char **args = plx_step_arguments(&order, &step);

	(void) state;
	assert_non_null(args);
	assert_false(has(args, "--gpus-per-task=1"));
	free(args);
}

static void the_program_comes_last_and_whole(void **state)
{
	struct plx_layout_node node = { .name = "n1", .ranks = 1 };
	struct plx_launch_step step = { .layout = { &node, 1, 1, true } };
	struct plx_step_order with = order;
	char **args;
	int n = 0;

	(void) state;
	with.srun_options = (char *[]){ (char *) "--label", NULL };
	args = plx_step_arguments(&with, &step);
	assert_non_null(args);
	while (args[n])
		n++;
	assert_string_equal("--label", args[n - 4]);
	assert_string_equal("./train", args[n - 3]);
	assert_string_equal("-x", args[n - 2]);
	assert_string_equal("a b", args[n - 1]);
	free(args);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stale_shapes_never_reach_the_inner_srun),
		cmocka_unit_test(what_the_user_set_passes),
		cmocka_unit_test(a_variable_is_set_or_replaced),
		cmocka_unit_test(the_inner_srun_takes_a_gpu_a_rank),
		cmocka_unit_test(
			ranks_see_their_nodes_gpus_where_nodes_are_alike),
		cmocka_unit_test(without_gpus_none_is_asked_for),
		cmocka_unit_test(the_program_comes_last_and_whole),
	};

	return cmocka_run_group_tests_name("launch_step", tests, NULL, NULL);
}
