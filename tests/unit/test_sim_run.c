/* SPDX-License-Identifier: MIT */
/* test_sim_run.c - the simulator's rules, one by one */

#include <math.h>

#include "core/jobs/app_profile.h"
#include "sim/batch.h"
#include "sim/summary.h"
#include "sim_world.h"

#define HEADER "name,time,application,num_replicas,batch_size\n"

static char dir[64];
static struct plx_catalog catalog = { .dir = dir };

/* Intervals of 60 s and pauses of 30 s on 2 nodes with 4 GPUs each. */
static const struct plx_setting two_nodes = {
	.node_count = 2,
	.node_gpus = 4,
	.interval_s = 60,
	.restart_s = 30,
	.fairness = -1,
};

static int begin(void **state)
{
	(void) state;
	sim_write(dir);
	return 0;
}

static int end(void **state)
{
	(void) state;
	plx_catalog_release(&catalog);
	sim_remove(dir);
	return 0;
}

static void load(const char *rows, struct plx_workload *workload)
{
	char text[4096];
	char path[128];
	struct plx_error err;

	snprintf(text, sizeof(text), HEADER "%s", rows);
	sim_rewrite(dir, "workload.csv", text);
	snprintf(path, sizeof(path), "%s/workload.csv", dir);
	if (plx_workload_load(path, &catalog, workload, &err) < 0)
		fail_msg("%s", err.text);
}

/* A workload and what became of it. */
struct played {
	struct plx_workload workload;
	struct plx_run_result run_result;
};

static void play(const struct plx_setting *setting, const char *policy,
		 const char *rows, struct played *played)
{
	struct plx_error err;

	load(rows, &played->workload);
	if (plx_simulate(setting, plx_policy_find(policy), &played->workload,
			 &played->run_result, &err) < 0)
		fail_msg("%s", err.text);
}

static void release(struct played *played)
{
	plx_run_result_release(&played->run_result);
	plx_workload_release(&played->workload);
}

static void a_job_waits_for_the_interval_and_starts_with_a_pause(void **state)
{
	struct played p;

	(void) state;
	/* Decided at 60, trains from 90 for 300 s at one base batch a s. */
	play(&two_nodes, "fifo", "a,0,toy,1,10\n", &p);
	assert_true(p.run_result.job_results[0].start_s == 60);
	assert_true(p.run_result.job_results[0].finish_s == 390);
	assert_int_equal(p.run_result.job_results[0].restarts, 0);
	assert_true(p.run_result.job_results[0].gpu_s == 330);
	assert_true(p.run_result.job_results[0].trained_s == 300);
	release(&p);
}

static void more_gpus_train_faster_and_more_passes_do_not(void **state)
{
	struct played p;

	(void) state;
	/* 4 base batches a step of 1 s. */
	play(&two_nodes, "fifo", "a,0,toy,4,40\n", &p);
	assert_true(p.run_result.job_results[0].finish_s == 60 + 30 + 75);
	release(&p);
	/* Accumulation on one GPU: two passes of 1 s for two base batches. */
	play(&two_nodes, "fifo", "a,0,toy,1,20\n", &p);
	assert_true(p.run_result.job_results[0].finish_s == 390);
	release(&p);
}

static void the_end_of_an_epoch_falls_on_a_whole_second(void **state)
{
	struct played p;

	(void) state;
	/* 8 samples a GPU: 3.2 a second, 31.25 s an epoch, taken as 31. */
	play(&two_nodes, "fifo", "a,0,toy,4,30\n", &p);
	assert_true(p.run_result.job_results[0].finish_s == 60 + 30 + 3 * 31);
	release(&p);
}

static void jobs_that_meet_on_a_node_disturb_each_other(void **state)
{
	struct plx_setting three_nodes = two_nodes;
	struct played alone;
	struct played both;

	(void) state;
	three_nodes.node_count = 3;
	three_nodes.node_gpus = 2;
	three_nodes.interference = 0.5;
	play(&three_nodes, "fifo", "a,0,toy,3,15\n", &alone);
	play(&three_nodes, "fifo", "a,0,toy,3,15\nb,0,toy,3,15\n", &both);
	/* Two nodes each, the middle one together: half as fast. */
	assert_true(alone.run_result.job_results[0].trained_s == 3 * 399);
	assert_true(both.run_result.job_results[0].trained_s == 3 * 801);
	assert_true(both.run_result.job_results[0].finish_s ==
		    both.run_result.job_results[1].finish_s);
	release(&alone);
	release(&both);
}

static void tiresias_prefers_who_has_had_least(void **state)
{
	struct plx_setting small = two_nodes;
	struct played p;

	(void) state;
	small.node_count = 1;
	small.restart_s = 14390;
	/* After 14,400 s on 4 GPUs the first falls behind the second. */
	play(&small, "tiresias", "a,0,toy,4,40\nb,9000,toy,3,30\n", &p);
	assert_true(p.run_result.job_results[0].start_s == 60);
	assert_true(p.run_result.job_results[1].start_s == 60 + 14400);
	assert_true(p.run_result.job_results[1].finish_s ==
		    60 + 14400 + 14390 + 99);
	assert_int_equal(p.run_result.job_results[1].restarts, 0);
	assert_int_equal(p.run_result.job_results[0].restarts, 1);
	assert_true(p.run_result.job_results[0].finish_s >
		    p.run_result.job_results[1].finish_s);
	release(&p);
}

static void fifo_backfills_without_delaying_the_first(void **state)
{
	struct played p;

	(void) state;
	/*
	 * a has 6 of 8 GPUs until 291; b wants all. c would last longer, so
	 * it waits although it fits; d is done by then.
	 */
	play(&two_nodes, "fifo",
	     "a,0,toy,6,60\nb,1,toy,8,80\nc,2,toy,1,10\nd,3,toy,2,20\n", &p);
	assert_true(p.run_result.job_results[0].finish_s == 291);
	assert_true(p.run_result.job_results[1].start_s == 300);
	assert_true(p.run_result.job_results[2].start_s >=
		    p.run_result.job_results[1].finish_s);
	assert_true(p.run_result.job_results[3].start_s == 60);
	release(&p);
}

static void optimus_gives_gpus_as_long_as_they_help(void **state)
{
	struct played p;

	(void) state;
	/* 4 passes on a GPU, 2 on two of them; a third changes nothing. */
	play(&two_nodes, "optimus", "a,0,toy,1,40\n", &p);
	assert_true(p.run_result.job_results[0].finish_s == 60 + 30 + 150);
	assert_true(p.run_result.job_results[0].gpu_s == 2 * 180);
	release(&p);
}

static void pollux_lets_a_job_grow_and_adapt(void **state)
{
	struct played p;

	(void) state;
	play(&two_nodes, "pollux", "a,0,toy,1,10\n", &p);
	/* Sooner than at 390 s, on the one GPU it starts with. */
	assert_true(p.run_result.job_results[0].finish_s < 390);
	assert_true(p.run_result.job_results[0].restarts >= 1);
	assert_true(p.run_result.job_results[0].gpu_s >
		    p.run_result.job_results[0].finish_s - 60);
	release(&p);
}

/* GPUs held by all jobs together cannot be more than there were. */
/* Where a job that is parked, and was on the second node first, starts. */
static int comes_back_to(bool batch_host)
{
	const struct plx_policy *policy = plx_policy_find("pollux");
	struct plx_setting setting = two_nodes;
	struct plx_sim_placement second = {
		.parts = &(struct plx_sim_part){ .node = 1, .gpus = 1 },
		.count = 1,
		.gpus = 1,
	};
	struct plx_sim_part parts[2];
	struct plx_sim_placement next = { .parts = parts };
	struct plx_simjob job;
	struct plx_simjob *list[] = { &job };
	struct plx_app_profiles profiles = { .count = 0 };
	struct plx_round round = {
		.setting = &setting,
		.now_s = 600,
		.jobs = list,
		.job_count = 1,
		.next = &next,
		.run = &profiles,
	};
	struct plx_workload workload;
	struct plx_error err;

	setting.batch_host = batch_host;
	load("a,0,toy,1,10\n", &workload);
	assert_int_equal(0, plx_simjob_init(&job, workload.entries, 2, &err));
	assert_int_equal(0, plx_simjob_place(&job, &second, 30, &err));
	job.place.count = 0;
	job.place.gpus = 0;
	assert_int_equal(0, policy->decide(&round, NULL, &err));
	assert_int_equal(1, next.count);
	plx_simjob_release(&job);
	plx_workload_release(&workload);
	return next.parts[0].node;
}

static void a_job_with_a_home_comes_back_to_it(void **state)
{
	(void) state;
	assert_int_equal(0, comes_back_to(false));
	assert_int_equal(1, comes_back_to(true));
}

static void no_policy_hands_out_more_than_there_is(void **state)
{
	static const char rows[] = "a,0,toy,4,40\nb,1,toy,2,20\nc,2,toy,8,80\n"
				   "d,70,toy,1,10\ne,75,toy,3,30\n"
				   "f,200,toy,6,60\ng,300,toy,2,40\n";

	(void) state;
	for (int i = 0; plx_policies[i]; i++) {
		struct played p;
		double gpu_s = 0;
		double last_s = 0;

		play(&two_nodes, plx_policies[i]->name, rows, &p);
		for (int j = 0; j < p.workload.count; j++) {
			const struct plx_job_result *job_result =
				&p.run_result.job_results[j];

			assert_true(job_result->start_s >=
				    job_result->entry->submit_s);
			assert_true(job_result->finish_s > job_result->start_s);
			assert_true(job_result->trained_s <= job_result->gpu_s);
			assert_true(job_result->efficiency_s <=
				    job_result->trained_s * (1 + 1e-9));
			gpu_s += job_result->gpu_s;
			last_s = fmax(last_s, job_result->finish_s);
		}
		assert_true(gpu_s <= 8 * last_s);
		release(&p);
	}
}

static void fairness_is_against_a_share_of_the_cluster(void **state)
{
	struct played p;
	struct plx_summary summary;
	struct plx_error err;

	(void) state;
	/* Its share is all 8 GPUs, and there it had not waited 60 s. */
	play(&two_nodes, "fifo", "a,0,toy,8,80\n", &p);
	assert_true(fabs(p.run_result.job_results[0].fairness -
			 p.run_result.job_results[0].finish_s /
				 (p.run_result.job_results[0].finish_s - 60)) <
		    1e-9);
	assert_int_equal(plx_summarize(&p.run_result, &summary, &err), 0);
	assert_true(summary.unfair_jobs == 1);
	assert_int_equal(summary.jobs, 1);
	assert_true(summary.avg_jct_s == p.run_result.job_results[0].finish_s);
	release(&p);
}

static void quantiles_are_numpys(void **state)
{
	static const double sorted[] = { 1, 2, 4, 8 };

	(void) state;
	assert_true(plx_quantile(sorted, 4, 0) == 1);
	assert_true(plx_quantile(sorted, 4, 0.5) == 3);
	assert_true(plx_quantile(sorted, 4, 1) == 8);
	assert_true(fabs(plx_quantile(sorted, 4, 0.99) - 7.88) < 1e-12);
	assert_true(plx_quantile(sorted, 0, 0.5) == 0);
}

static void a_job_larger_than_the_cluster_is_refused_by_line(void **state)
{
	struct plx_workload workload;
	struct plx_error err;

	(void) state;
	load("a,0,toy,1,10\nb,5,toy,9,80\n", &workload);
	assert_int_equal(plx_simulate_check(&two_nodes, plx_policy_find("fifo"),
					    &workload, &err),
			 -1);
	assert_non_null(strstr(err.text, "workload.csv:3: job b wants 9 GPUs: "
					 "the cluster has 8"));
	assert_int_equal(plx_simulate_check(&two_nodes,
					    plx_policy_find("pollux"),
					    &workload, &err),
			 0);
	plx_workload_release(&workload);
}

static void a_job_of_an_unknown_application_is_refused_by_line(void **state)
{
	static const char *const rows[] = {
		"a,0,nothing,1,10\n", "a,0,../toy,1,10\n", "a,0,toy,1,81\n",
		"a,0,toy,4,3\n",      "a,-1,toy,1,10\n",   "a,0,toy,0,10\n",
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct plx_workload workload;
		struct plx_error err;
		char text[256];
		char path[128];

		snprintf(text, sizeof(text), HEADER "%s", rows[i]);
		sim_rewrite(dir, "workload.csv", text);
		snprintf(path, sizeof(path), "%s/workload.csv", dir);
		assert_int_equal(
			plx_workload_load(path, &catalog, &workload, &err), -1);
		assert_non_null(strstr(err.text, "workload.csv:2: "));
	}
}

static void threads_do_not_change_results(void **state)
{
	static const char rows[] = "a,0,toy,4,40\nb,1,toy,2,20\n"
				   "c,70,toy,1,10\nd,80,toy,8,80\n";
	struct plx_workload workload;
	struct plx_task tasks[8] = { 0 };
	struct plx_error err;

	(void) state;
	load(rows, &workload);
	for (size_t i = 0; i < ARRAY_SIZE(tasks); i++) {
		tasks[i].setting = &two_nodes;
		tasks[i].policy = plx_policies[i % 4];
		tasks[i].workload = &workload;
	}
	assert_int_equal(plx_tasks_run(tasks, 4, 1, false, &err), 0);
	assert_int_equal(plx_tasks_run(tasks + 4, 4, 3, false, &err), 0);
	for (int i = 0; i < 4; i++) {
		for (int j = 0; j < workload.count; j++)
			assert_true(
				tasks[i].run_result.job_results[j].finish_s ==
				tasks[i + 4]
					.run_result.job_results[j]
					.finish_s);
	}
	for (size_t i = 0; i < ARRAY_SIZE(tasks); i++)
		plx_run_result_release(&tasks[i].run_result);
	plx_workload_release(&workload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_job_waits_for_the_interval_and_starts_with_a_pause),
		cmocka_unit_test(more_gpus_train_faster_and_more_passes_do_not),
		cmocka_unit_test(the_end_of_an_epoch_falls_on_a_whole_second),
		cmocka_unit_test(jobs_that_meet_on_a_node_disturb_each_other),
		cmocka_unit_test(tiresias_prefers_who_has_had_least),
		cmocka_unit_test(fifo_backfills_without_delaying_the_first),
		cmocka_unit_test(optimus_gives_gpus_as_long_as_they_help),
		cmocka_unit_test(pollux_lets_a_job_grow_and_adapt),
		cmocka_unit_test(a_job_with_a_home_comes_back_to_it),
		cmocka_unit_test(no_policy_hands_out_more_than_there_is),
		cmocka_unit_test(fairness_is_against_a_share_of_the_cluster),
		cmocka_unit_test(quantiles_are_numpys),
		cmocka_unit_test(
			a_job_larger_than_the_cluster_is_refused_by_line),
		cmocka_unit_test(
			a_job_of_an_unknown_application_is_refused_by_line),
		cmocka_unit_test(threads_do_not_change_results),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
