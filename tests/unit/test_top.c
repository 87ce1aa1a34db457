/* SPDX-License-Identifier: MIT */
/* test_top.c - what pollux-top makes of Slurm's texts */

#include <stdlib.h>
#include <string.h>

#include "report/view.h"
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

static void spots_that_do_not_fit_end_in_dots(void **state)
{
	char spots[PLX_SPOTS_SIZE] = "";

	(void) state;
	plx_spots_add(spots, "n1", 2);
	plx_spots_add(spots, "n3", 1);
	assert_string_equal("n1:2 n3:1", spots);
	for (int i = 0; i < 200; i++)
		plx_spots_add(spots, "node", 4);
	assert_true(strlen(spots) < PLX_SPOTS_SIZE);
	assert_string_equal("...", spots + strlen(spots) - 3);
}

/* One job with this phase and state of its target, printed. */
static char *print(struct plx_view_job *job, const char *phase,
		   const char *target)
{
	struct plx_view view = {
		.nodes = 4, .gpus = 16, .jobs = job, .count = 1
	};
	char comment[512];
	char system_comment[256];
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	snprintf(comment, sizeof(comment), "mine " STATUS, phase);
	snprintf(system_comment, sizeof(system_comment), TARGET, target);
	plx_view_read(job, comment, system_comment);
	plx_view_print(&view, out);
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
				    .spots = "n1:2 n2:2" };

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
		cmocka_unit_test(spots_that_do_not_fit_end_in_dots),
		cmocka_unit_test(a_training_job_shows_its_batch_and_goodput),
		cmocka_unit_test(a_request_under_way_says_what_is_asked),
		cmocka_unit_test(a_job_without_gpus_is_parked),
		cmocka_unit_test(a_rigid_job_is_called_so),
	};

	return cmocka_run_group_tests_name("top", tests, NULL, NULL);
}
