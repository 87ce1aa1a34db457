/* SPDX-License-Identifier: MIT */
/* test_sim_scale.c - changing clusters, own restart costs, timelines */

#include <math.h>

#include "sim/autoscale.h"
#include "sim/simulate.h"
#include "sim/summary.h"
#include "sim_world.h"

#define HEADER "name,time,application,num_replicas,batch_size\n"

static const char rows[] = "a,0,toy,1,10\nb,30,toy,1,10\nc,90,toy,1,10\n"
			   "d,400,toy,1,10\ne,410,toy,1,10\nf,900,toy,1,10\n";

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-6 * (1 + fabs(b));
}

static char dir[64];

static const struct plx_setting four_nodes = {
	.node_count = 4,
	.node_gpus = 2,
	.interval_s = 60,
	.restart_s = 30,
	.fairness = -1,
	.timeline = true,
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
	sim_remove(dir);
	return 0;
}

/* Traces, a workload, and what became of it. */
struct played {
	struct plx_catalog catalog;
	struct plx_workload workload;
	struct plx_run_result run_result;
};

static void play(const struct plx_setting *setting, const char *policy,
		 const char *jobs, struct played *played)
{
	char text[1024];
	char path[128];
	struct plx_error err;

	*played = (struct played){ .catalog.dir = dir };
	snprintf(text, sizeof(text), HEADER "%s", jobs);
	sim_rewrite(dir, "workload.csv", text);
	snprintf(path, sizeof(path), "%s/workload.csv", dir);
	if (plx_workload_load(path, &played->catalog, &played->workload, &err) <
		    0 ||
	    plx_simulate(setting, plx_policy_find(policy), &played->workload,
			 &played->run_result, &err) < 0)
		fail_msg("%s", err.text);
}

static void release(struct played *played)
{
	plx_run_result_release(&played->run_result);
	plx_workload_release(&played->workload);
	plx_catalog_release(&played->catalog);
}

static struct plx_setting scaled(int min_nodes, int max_nodes, double target)
{
	struct plx_setting setting = four_nodes;

	setting.node_count = min_nodes;
	setting.scaling.min_nodes = min_nodes;
	setting.scaling.max_nodes = max_nodes;
	setting.scaling.target = target;
	return setting;
}

static double mean_s(const struct played *played)
{
	struct plx_summary summary;
	struct plx_error err;

	assert_int_equal(plx_summarize(&played->run_result, &summary, &err), 0);
	return summary.avg_jct_s;
}

static void a_cluster_that_may_not_change_is_like_any_other(void **state)
{
	struct plx_setting scaling = scaled(4, 4, 0.5);
	struct played fixed;
	struct played p;

	(void) state;
	play(&four_nodes, "pollux", rows, &fixed);
	play(&scaling, "pollux", rows, &p);
	for (int i = 0; i < p.workload.count; i++)
		assert_true(p.run_result.job_results[i].finish_s ==
			    fixed.run_result.job_results[i].finish_s);
	assert_true(near(p.run_result.node_s, fixed.run_result.node_s));
	assert_true(near(p.run_result.node_s, 4 * p.run_result.end_s));
	release(&fixed);
	release(&p);
}

static void a_higher_target_takes_less_node_time(void **state)
{
	struct plx_setting generous = scaled(1, 4, 0.2);
	struct plx_setting tight = scaled(1, 4, 0.95);
	struct played wide;
	struct played narrow;

	(void) state;
	play(&generous, "pollux", rows, &wide);
	play(&tight, "pollux", rows, &narrow);
	assert_true(narrow.run_result.node_s < 0.7 * wide.run_result.node_s);
	/* There is a node at least, and no more than four. */
	assert_true(narrow.run_result.node_s > narrow.run_result.end_s);
	assert_true(wide.run_result.node_s < 4 * wide.run_result.end_s);
	/* The jobs that want more nodes are short: nobody waits for them. */
	assert_true(mean_s(&narrow) < 1.1 * mean_s(&wide));
	release(&wide);
	release(&narrow);
}

static void the_cluster_stays_within_its_limits(void **state)
{
	struct plx_setting scaling = scaled(2, 3, 0.5);
	struct played p;
	double node_s = 0;

	(void) state;
	play(&scaling, "pollux", rows, &p);
	for (int i = 0; i < p.run_result.timeline.tick_count; i++) {
		const struct plx_tick *tick = &p.run_result.timeline.ticks[i];

		assert_true(tick->node_s >= 2 * tick->seconds);
		assert_true(tick->node_s <= 3 * tick->seconds);
		assert_true(tick->gpu_s <= 2 * tick->node_s + 1e-6);
		node_s += tick->node_s;
	}
	/* The last tick goes on to the end of the interval. */
	assert_true(node_s >= p.run_result.node_s);
	assert_true(node_s < p.run_result.node_s + 3 * 60);
	release(&p);
}

/* When the last job is done nodes go, but only then. */
static void the_last_interval_is_paid_to_the_last_jobs_end(void **state)
{
	struct plx_setting scaling = scaled(1, 4, 0.2);
	const struct plx_sim_timeline *timeline;
	const struct plx_tick *last;
	struct played p;
	double node_s = 0;
	double seconds = 0;

	(void) state;
	scaling.interval_s = 300;
	play(&scaling, "pollux", rows, &p);
	timeline = &p.run_result.timeline;
	for (int i = 0; i < timeline->tick_count; i++) {
		node_s += timeline->ticks[i].node_s;
		seconds += timeline->ticks[i].seconds;
	}
	last = &timeline->ticks[timeline->tick_count - 1];
	assert_true(timeline->tick_s == 300 && seconds > p.run_result.end_s);
	assert_true(last->node_s > 300);
	assert_true(near(p.run_result.node_s,
			 node_s - (seconds - p.run_result.end_s) *
					  last->node_s / last->seconds));
	release(&p);
}

static void a_node_that_boots_is_paid_for_and_not_used(void **state)
{
	struct plx_setting booting = scaled(1, 4, 0.2);
	struct plx_setting one = four_nodes;
	struct played fixed;
	struct played p;

	(void) state;
	one.node_count = 1;
	booting.scaling.boot_s = 1e6;
	play(&one, "pollux", rows, &fixed);
	play(&booting, "pollux", rows, &p);
	for (int i = 0; i < p.workload.count; i++)
		assert_true(p.run_result.job_results[i].finish_s ==
			    fixed.run_result.job_results[i].finish_s);
	/* Three more boot as soon as the next decision asks for them. */
	assert_true(p.run_result.node_s > 3.5 * p.run_result.end_s);
	assert_true(p.run_result.node_s < 4 * p.run_result.end_s);
	release(&fixed);
	release(&p);
}

static void placement(struct plx_simjob *job, int node, int gpus)
{
	job->place.parts[0] =
		(struct plx_sim_part){ .node = node, .gpus = gpus };
	job->place.count = 1;
	job->place.gpus = gpus;
}

static void the_emptiest_nodes_go_first(void **state)
{
	struct plx_setting setting = scaled(1, 3, 0.5);
	struct plx_setting lowered = scaled(1, 1, 0.5);
	const struct plx_policy *policy = plx_policy_find("pollux");
	struct plx_autoscaler scaler;
	struct plx_simjob jobs[2];
	struct plx_simjob *list[] = { &jobs[0], &jobs[1] };
	struct plx_round round = { .setting = &setting, .jobs = list };
	struct played p;
	struct plx_error err;

	(void) state;
	play(&four_nodes, "fifo", rows, &p);
	for (int j = 0; j < 2; j++) {
		assert_int_equal(plx_simjob_init(&jobs[j],
						 &p.workload.entries[j], 3,
						 &err),
				 0);
		jobs[j].index = j;
	}
	placement(&jobs[0], 0, 1);
	placement(&jobs[1], 2, 2);
	round.job_count = 2;
	round.now_s = 600;
	assert_int_equal(plx_autoscaler_init(&scaler, &lowered, policy, &err),
			 0);
	scaler.paid = 3;
	scaler.usable = 3;
	if (plx_autoscale(&scaler, &round, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(scaler.usable, 1);
	assert_int_equal(scaler.paid, 1);
	assert_int_equal(jobs[0].place.count, 0);
	assert_int_equal(jobs[1].place.count, 1);
	assert_int_equal(jobs[1].place.parts[0].node, 0);
	plx_autoscaler_release(&scaler);
	plx_simjob_release(&jobs[0]);
	plx_simjob_release(&jobs[1]);
	release(&p);
}

/* What a policy adds to a turn, it adds to the imagined cluster. */
static int mark(const struct plx_round *round, struct plx_problem *problem,
		struct plx_error *err)
{
	(void) err;
	assert_int_equal(round->job_count, problem->job_count);
	assert_int_equal(2, problem->node_count);
	assert_int_equal(0, problem->jobs[0].now[0]);
	problem->jobs[0].weight = 42;
	return 0;
}

static int plan_marked(const struct plx_problem *problem,
		       struct plx_plan **plan, struct plx_error *err)
{
	assert_true(problem->jobs[0].weight == 42);
	return plx_plan_search(problem, plan, err);
}

static void nodes_are_asked_for_of_the_problem_as_refined(void **state)
{
	static const struct plx_policy marking = {
		.name = "marking",
		.refine = mark,
		.plan = plan_marked,
	};
	struct plx_setting setting = scaled(1, 3, 0.5);
	struct plx_simjob job;
	struct plx_simjob *list[] = { &job };
	struct plx_round round = {
		.setting = &setting,
		.jobs = list,
		.job_count = 1,
		.now_s = 600,
	};
	struct played p;
	struct plx_error err;
	double utility = -1;

	(void) state;
	play(&four_nodes, "fifo", rows, &p);
	assert_int_equal(0, plx_simjob_init(&job, &p.workload.entries[0], 3,
					    &err));
	placement(&job, 0, 1);
	assert_int_equal(0, plx_autoscale_utility(&marking, &round, 2, &utility,
						  &err));
	/* It never ran: one GPU of four. */
	assert_true(near(utility, 0.25));
	plx_simjob_release(&job);
	release(&p);
}

static void each_application_has_its_own_restart_cost(void **state)
{
	struct plx_setting own = four_nodes;
	struct played p;
	char path[128];

	(void) state;
	own.restart_auto = true;
	/*
	 * Of an unknown program: a second, and 100 MB out and in. Epochs end
	 * on whole seconds.
	 */
	play(&own, "fifo", "a,0,toy,1,10\n", &p);
	assert_true(fabs(p.run_result.job_results[0].finish_s - 361.2) < 1.5);
	release(&p);
	sim_rewrite(dir, "toy/restart.csv", "restart_s\n12.0\n");
	play(&own, "fifo", "a,0,toy,1,10\n", &p);
	assert_true(near(p.run_result.job_results[0].finish_s, 60 + 12 + 300));
	release(&p);
	own.restart_auto = false;
	play(&own, "fifo", "a,0,toy,1,10\n", &p);
	assert_true(near(p.run_result.job_results[0].finish_s, 60 + 30 + 300));
	release(&p);
	snprintf(path, sizeof(path), "%s/toy/restart.csv", dir);
	unlink(path);
}

static void a_bad_restart_cost_is_refused_by_line(void **state)
{
	static const char *const texts[] = {
		"restart_s\n-1\n",   "restart_s\nsoon\n", "restart_s\n1e9\n",
		"restart_s\n1\n2\n", "seconds\n1\n",	  "",
	};
	char path[128];

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct plx_error err;

		sim_rewrite(dir, "toy/restart.csv", texts[i]);
		assert_null(plx_app_load(dir, "toy", &err));
		assert_non_null(strstr(err.text, "toy/restart.csv:"));
	}
	snprintf(path, sizeof(path), "%s/toy/restart.csv", dir);
	unlink(path);
}

static void spans_are_the_times_that_jobs_held_gpus(void **state)
{
	struct played p;
	double gpu_s[8] = { 0 };

	(void) state;
	play(&four_nodes, "pollux", rows, &p);
	for (int i = 0; i < p.run_result.timeline.span_count; i++) {
		const struct plx_sim_span *span =
			&p.run_result.timeline.spans[i];

		assert_true(span->end_s > span->begin_s);
		assert_true(span->nodes >= 1 && span->nodes <= span->gpus);
		gpu_s[span->job] += span->gpus * (span->end_s - span->begin_s);
	}
	for (int j = 0; j < p.workload.count; j++)
		assert_true(near(gpu_s[j], p.run_result.job_results[j].gpu_s));
	release(&p);
}

static void parts_of_a_run_double_when_there_are_too_many(void **state)
{
	struct plx_sim_timeline timeline;
	struct plx_tick tick = { .seconds = 10, .gpu_s = 20 };
	struct plx_tick sum = { 0 };
	struct plx_error err;

	(void) state;
	assert_int_equal(plx_timeline_init(&timeline, 1, 10, &err), 0);
	for (int i = 0; i < PLX_TICKS_MAX; i++)
		plx_timeline_add(&timeline, &tick);
	assert_int_equal(timeline.tick_count, PLX_TICKS_MAX);
	assert_true(near(timeline.tick_s, 10));
	for (int i = 0; i < 2 * PLX_TICKS_MAX + 1; i++)
		plx_timeline_add(&timeline, &tick);
	assert_true(near(timeline.tick_s, 40));
	for (int i = 0; i < timeline.tick_count; i++) {
		if (i + 1 < timeline.tick_count)
			assert_true(near(timeline.ticks[i].seconds, 40));
		plx_tick_sum(&sum, &timeline.ticks[i]);
	}
	assert_true(near(sum.seconds, 10 * (3 * PLX_TICKS_MAX + 1)));
	assert_true(near(sum.gpu_s, 2 * sum.seconds));
	plx_timeline_release(&timeline);
}

static void a_share_below_a_gpu_is_one_for_part_of_the_time(void **state)
{
	struct plx_setting tiny = four_nodes;
	struct played p;

	(void) state;
	tiny.node_count = 1;
	tiny.node_gpus = 1;
	/* Alone each takes 330 s; there are 2 until one is done. */
	play(&tiny, "fifo", "a,0,toy,1,10\nb,0,toy,1,10\n", &p);
	assert_true(near(p.run_result.job_results[0].finish_s, 390));
	assert_true(near(p.run_result.job_results[0].alone_s, 2 * 330));
	assert_true(p.run_result.job_results[0].fairness < 1);
	assert_true(p.run_result.job_results[1].alone_s > 330);
	assert_true(p.run_result.job_results[1].alone_s < 2 * 330);
	release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_cluster_that_may_not_change_is_like_any_other),
		cmocka_unit_test(a_higher_target_takes_less_node_time),
		cmocka_unit_test(the_cluster_stays_within_its_limits),
		cmocka_unit_test(
			the_last_interval_is_paid_to_the_last_jobs_end),
		cmocka_unit_test(a_node_that_boots_is_paid_for_and_not_used),
		cmocka_unit_test(the_emptiest_nodes_go_first),
		cmocka_unit_test(nodes_are_asked_for_of_the_problem_as_refined),
		cmocka_unit_test(each_application_has_its_own_restart_cost),
		cmocka_unit_test(a_bad_restart_cost_is_refused_by_line),
		cmocka_unit_test(spans_are_the_times_that_jobs_held_gpus),
		cmocka_unit_test(parts_of_a_run_double_when_there_are_too_many),
		cmocka_unit_test(
			a_share_below_a_gpu_is_one_for_part_of_the_time),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
