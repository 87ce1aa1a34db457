/* SPDX-License-Identifier: MIT */
/* test_top.c - what pollux-top makes of Slurm's texts */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/top_columns.h"
#include "unit.h"

#define STATUS                                                                 \
	"[pollux v=1 launcher=batch ack=3 phase=%s resizes=2 pause=0.4,0.9"    \
	" batch=64,1024,1,256,1 model=0.1,0.01,0.1,0.01,0.1,0.01,1.5"          \
	" noise=1,2 profiled=1,2 now=16,1 progress=0.25 restart=0.5 lr=0.1"    \
	" goodput=123.4 loss=0.5]"
#define TARGET "[pollux serial=3 state=%s nodes=2 gpus=2 why=more \033 room]"

static void gpus_are_counted_by_device_whatever_their_type(void **state)
{
	static const struct {
		const char *gres;
		int gpus;
	} cases[] = {
		{ NULL, 0 },
		{ "", 0 },
		{ "gpu:2(IDX:0-1)", 2 },
		{ "gpu:t4:4(IDX:0-3)", 4 },
		{ "gpu:t4:1(IDX:0),gpu:a100:2(IDX:1,3)", 3 },
		{ "gpu:0", 0 },
		{ "(null)", 0 },
		{ "craynet:1,gpu:3", 3 },
		{ "gpu:99999999999999999999", 0 },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(cases[i].gpus, plx_gres_gpus(cases[i].gres));
}

static void devices_are_told_by_their_indexes(void **state)
{
	static const struct {
		const char *gres;
		uint64_t which;
	} cases[] = {
		{ NULL, 0 },
		{ "gpu:4", 0 },
		{ "gpu:2(IDX:0-1)", 3 },
		{ "gpu:t4:1(IDX:0),gpu:a100:2(IDX:1,3)", 11 },
		{ "gpu:3,shard:4(IDX:1)", 0 },
		{ "shard:4(IDX:1,2),gpu:1(IDX:5)", 32 },
		{ "gpu:1(IDX:N/A)", 0 },
		{ "gpu:1(IDX:63,64,99999999999999999999)", 1ULL << 63 },
		{ "gpu:1(IDX:3-1)", 0 },
		{ "gpu:1(IDX:1-", 0 },
		{ "gpu:64(IDX:0-99)", UINT64_MAX },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(cases[i].which, plx_gres_which(cases[i].gres));
}

/* Two nodes of four GPUs: a job on n1, and one that no job tells of. */
static void each_gpu_shows_who_holds_it(void **state)
{
	struct plx_view_job jobs[2] = { { .running = true },
					{ .running = true } };
	struct plx_view_node nodes[2] = {
		{ .name = "n10", .state = "up", .gpus = 4, .busy = 2 },
		{ .name = "n2", .state = "up", .gpus = 4, .busy = 4 },
	};
	struct plx_view view = {
		.nodes = nodes, .node_count = 2, .jobs = jobs, .count = 2
	};
	static const int32_t n2[] = { 1, 0, PLX_HOLDER_UNKNOWN, 0 };
	static const int32_t n10[] = { PLX_HOLDER_NONE, PLX_HOLDER_UNKNOWN,
				       PLX_HOLDER_NONE, PLX_HOLDER_UNKNOWN };

	(void) state;
	plx_view_sort_nodes(&view);
	assert_string_equal("n2", nodes[0].name);
	plx_view_hold(&view, 0, "n2", "gpu:2(IDX:1,3)");
	/* One whose place is taken, by a look at another moment. */
	plx_view_hold(&view, 1, "n2", "gpu:1(IDX:3)");
	plx_view_hold(&view, 1, "n99", "gpu:1(IDX:0)");
	plx_view_hold(&view, 1, "n10", "gpu:0");
	plx_view_unknown(&view, "n2", "gpu:4(IDX:0-3)");
	plx_view_unknown(&view, "n10", "gpu:2(IDX:1,3)");
	plx_view_unknown(&view, "n99", "gpu:2(IDX:1,3)");
	assert_memory_equal(n2, nodes[0].holders, sizeof(n2));
	assert_memory_equal(n10, nodes[1].holders, sizeof(n10));
	assert_string_equal("n2:2", jobs[0].placement);
	assert_string_equal("n2:1 n99:1", jobs[1].placement);
	assert_int_equal(2, jobs[1].nodes);
}

static void spots_that_do_not_fit_end_in_dots(void **state)
{
	char placement[PLX_PLACEMENT_SIZE] = "";

	(void) state;
	plx_placement_add(placement, "n1", 2);
	plx_placement_add(placement, "n3", 1);
	assert_string_equal("n1:2 n3:1", placement);
	for (int i = 0; i < 200; i++)
		plx_placement_add(placement, "node", 4);
	assert_true(strlen(placement) < PLX_PLACEMENT_SIZE);
	assert_string_equal("...", placement + strlen(placement) - 3);
}

/* One job with this phase and state of its target, printed. */
static char *print(struct plx_view_job *job, const char *phase,
		   const char *target)
{
	struct plx_view view = { .gpus = 16, .jobs = job, .count = 1 };
	size_t first = 0;
	char comment[512];
	char system_comment[256];
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	snprintf(comment, sizeof(comment), "mine " STATUS, phase);
	snprintf(system_comment, sizeof(system_comment), TARGET, target);
	plx_view_read(job, comment, system_comment);
	plx_top_print(&view, &first, 1, out);
	fclose(out);
	return text;
}

static struct plx_view_job running(int gpus)
{
	struct plx_view_job job = { .id = "7",
				    .name = "x\033y",
				    .state = "RUNNING",
				    .running = true,
				    .gpus = gpus,
				    .placement = "n1:2 n2:2" };

	return job;
}

static void a_training_job_shows_its_batch_and_goodput(void **state)
{
	struct plx_view_job job = running(4);
	char *text = print(&job, "training", "done");

	(void) state;
	assert_int_equal(16 * 2 * 4, plx_view_batch(&job));
	assert_non_null(strstr(text, " 7  x?y "));
	assert_non_null(strstr(text, "RUNNING"));
	assert_non_null(strstr(text, "n1:2 n2:2"));
	assert_non_null(strstr(text, "128"));
	assert_non_null(strstr(text, "123/s"));
	assert_non_null(strstr(text, "25%"));
	assert_non_null(strstr(text, "more"));
	assert_null(strchr(text, '\033'));
	free(text);
}

static void what_a_job_still_takes_follows_from_its_goodput(void **state)
{
	struct plx_view_job job = running(4);

	(void) state;
	free(print(&job, "training", "done"));
	assert_int_equal(-1, plx_view_left_s(&job)); /* not told */
	job.status.hint.samples_left = 1234;
	assert_int_equal(10, plx_view_left_s(&job));
	job.status.hint.goodput = 0;
	assert_int_equal(-1, plx_view_left_s(&job));
	job.status.hint.goodput = 1e-300;
	assert_int_equal(-1, plx_view_left_s(&job));
}

static void efficiency_is_as_measured_or_as_the_noise_says(void **state)
{
	struct plx_view_job job = running(4);

	(void) state;
	free(print(&job, "training", "done"));
	/* 128 samples in place of 64, var = 2 sqr: 3 / (2 / 2 + 1) / 2. */
	assert_float_equal(0.75, plx_view_efficiency(&job), 1e-9);
	job.status.hint.speed = 2 * job.status.hint.goodput;
	assert_float_equal(0.5, plx_view_efficiency(&job), 1e-9);
	job.running = false;
	assert_true(isnan(plx_view_efficiency(&job)));
}

static void utility_counts_jobs_by_what_their_gpus_bring(void **state)
{
	struct plx_view_node nodes[3] = {
		{ .state = "up", .gpus = 4, .busy = 4 },
		{ .state = "up", .gpus = 4, .busy = 2 },
		{ .state = "drained", .gpus = 4, .busy = 1 },
	};
	struct plx_view_job job = running(4);
	struct plx_view view = { .nodes = nodes,
				 .node_count = 3,
				 .gpus = 12,
				 .gpus_busy = 7,
				 .jobs = &job,
				 .count = 1 };
	double alone;

	(void) state;
	/* Nobody has told a model. */
	assert_float_equal(7.0 / 9, plx_view_utility(&view), 1e-9);
	job.nodes = 2;
	free(print(&job, "training", "done"));
	alone = plx_view_promised(&job, 4, 2) / plx_view_promised(&job, 1, 1);
	assert_in_range((int) (100 * alone), 101, 399);
	assert_float_equal((3 + alone) / 9, plx_view_utility(&view), 1e-9);
	view.node_count = 0;
	assert_true(isnan(plx_view_utility(&view)));
}

static void json_says_null_of_what_is_not_known(void **state)
{
	struct plx_view_node node = { .name = "n1", .state = "up", .gpus = 2 };
	struct plx_view_job jobs[2] = { running(0), running(2) };
	struct plx_view view = {
		.nodes = &node, .node_count = 1, .jobs = jobs, .count = 2
	};
	const size_t order[] = { 1, 0 };
	json_t *json;
	const json_t *first;

	(void) state;
	plx_view_sort_nodes(&view);
	plx_view_hold(&view, 0, "n1", "gpu:1(IDX:1)");
	free(print(&jobs[1], "training", "done"));
	json = plx_view_json(&view, order, 2);
	assert_non_null(json);
	first = json_array_get(json_object_get(json, "jobs"), 0);
	assert_true(json_is_null(json_object_get(first, "changed")));
	first = json_object_get(first, "elastic");
	assert_true(json_is_null(json_object_get(first, "left_s")));
	assert_true(json_is_null(json_object_get(first, "speedup")));
	assert_true(json_is_real(json_object_get(first, "efficiency")));
	assert_true(json_is_null(json_object_get(first, "switch_cost")));
	first = json_array_get(json_object_get(json, "by_node"), 0);
	first = json_object_get(first, "jobs");
	assert_true(json_is_null(json_array_get(first, 0)));
	assert_string_equal("7", json_string_value(json_array_get(first, 1)));
	json_decref(json);
	jobs[1].status.hint.job.model.per_switch = 0.4;
	json = plx_view_json(&view, order, 1);
	first = json_array_get(json_object_get(json, "jobs"), 0);
	first = json_object_get(first, "elastic");
	assert_float_equal(
		0.4, json_real_value(json_object_get(first, "switch_cost")),
		1e-9);
	json_decref(json);
}

static void a_request_under_way_says_what_is_asked(void **state)
{
	struct plx_view_job job = running(2);
	char *text = print(&job, "saving", "asked");

	(void) state;
	assert_non_null(strstr(text, "saving"));
	assert_non_null(strstr(text, "asked for 4 GPUs: more"));
	free(text);
}

static void a_job_without_gpus_is_parked(void **state)
{
	struct plx_view_job job = running(0);
	char *text = print(&job, "waiting", "parked");

	(void) state;
	assert_int_equal(0, plx_view_batch(&job));
	assert_non_null(strstr(text, "parked     -"));
	assert_non_null(strstr(text, "parked: more"));
	free(text);
}

static void a_parked_job_is_called_so_once(void **state)
{
	struct plx_view_job job = running(0);
	char text[PLX_WHY_SIZE + 64];

	(void) state;
	job.target.state = PLX_TARGET_PARKED;
	snprintf(job.target.why, sizeof(job.target.why), "%s",
		 "parked: no GPU left for it");
	assert_string_equal("parked: no GPU left for it",
			    plx_view_why(&job, text, sizeof(text)));
}

static void a_rigid_job_is_called_so(void **state)
{
	struct plx_view_job job = running(2);

	(void) state;
	plx_view_read(&job, "just a note", NULL);
	assert_false(job.elastic);
	assert_false(job.told);
	assert_int_equal(0, plx_view_batch(&job));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			gpus_are_counted_by_device_whatever_their_type),
		cmocka_unit_test(devices_are_told_by_their_indexes),
		cmocka_unit_test(each_gpu_shows_who_holds_it),
		cmocka_unit_test(spots_that_do_not_fit_end_in_dots),
		cmocka_unit_test(
			what_a_job_still_takes_follows_from_its_goodput),
		cmocka_unit_test(
			efficiency_is_as_measured_or_as_the_noise_says),
		cmocka_unit_test(utility_counts_jobs_by_what_their_gpus_bring),
		cmocka_unit_test(json_says_null_of_what_is_not_known),
		cmocka_unit_test(a_training_job_shows_its_batch_and_goodput),
		cmocka_unit_test(a_request_under_way_says_what_is_asked),
		cmocka_unit_test(a_job_without_gpus_is_parked),
		cmocka_unit_test(a_parked_job_is_called_so_once),
		cmocka_unit_test(a_rigid_job_is_called_so),
	};

	return cmocka_run_group_tests_name("top", tests, NULL, NULL);
}
