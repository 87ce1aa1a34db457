/* SPDX-License-Identifier: MIT */
/* fuzz_traces.c - recorded applications and workloads of the simulator */

#include <math.h>

#include "fuzz.h"
#include "scratch.h"
#include "sim/app.h"
#include "sim/workload.h"

static const char *const files[] = {
	"app/limits.csv",      "app/placements.csv", "app/validation-8.csv",
	"app/scalability.csv", "app/restart.csv",    "app/interpolated.csv.gz",
};

static void put_files(struct scratch_input *input)
{
	scratch_make("app");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		scratch_put(files[i], scratch_part(input));
}

/* Times and progress that can be computed with. */
static void use(const struct plx_app *app)
{
	static const int counts[][3] = { { 1 }, { 4, 4, 1 }, { 9, 1 } };
	static const int nodes[] = { 1, 3, 2 };
	int epochs = app->limits.epochs;

	MUST(app->unit_rate > 0 && epochs >= 1);
	MUST(app->limits.restart_s >= 0);
	for (int i = 0; i < 3; i++) {
		struct plx_app_times t =
			plx_app_step(app, counts[i], nodes[i], 7 + i);

		MUST(!isnan(t.step) && !isnan(t.sync));
		MUST(t.step >= 0);
		(void) plx_app_noise(app, epochs - 1, 64 * (i + 1));
		MUST(!isnan(plx_app_iterations_left(app, 0, 64 * (i + 1))));
	}
	MUST(plx_app_boundary(app, epochs - 1) > 0);
}

int fuzz_traces(const uint8_t *data, size_t size)
{
	struct scratch_input input = { data, size };
	struct plx_error err;
	struct plx_app *app;

	put_files(&input);
	app = plx_app_load(scratch_folder(), "app", &err);
	if (app)
		use(app);
	else
		fuzz_is_a_line(err.text, sizeof(err.text));
	plx_app_destroy(app);
	return 0;
}

/* The application that a workload may name. */
static void make_app(void)
{
	static const char text[] =
		"base_batch,max_batch,min_gpu_batch,max_gpu_batch,epochs,"
		"fixed_batch\n8,64,1,32,1,0\n\x1e"
		"placement,local_bsz,step_time,sync_time\n1,8,0.1,0\n2,8,0.1,"
		"0.01\n\x1eprogress,iteration,grad_sqr,grad_var\n5,5,1,2\n";
	struct scratch_input input = { (const uint8_t *) text,
				       sizeof(text) - 1 };

	put_files(&input);
}

int fuzz_workload(const uint8_t *data, size_t size)
{
	const struct scratch_input all = { data, size };
	struct plx_workload workload = { .count = 0 };
	struct plx_catalog catalog = { .count = 0 };
	char path[4200];
	struct plx_error err;

	make_app();
	scratch_put("work.csv", all);
	catalog.dir = scratch_folder();
	snprintf(path, sizeof(path), "%s/work.csv", catalog.dir);
	if (plx_workload_load(path, &catalog, &workload, &err) < 0)
		MUST(strlen(err.text) < sizeof(err.text));
	for (int i = 0; i < workload.count; i++) {
		const struct plx_workload_entry *entry = &workload.entries[i];

		MUST(entry->app && entry->gpus >= 1);
		MUST(i == 0 || entry[-1].submit_s <= entry->submit_s);
	}
	plx_workload_release(&workload);
	plx_catalog_release(&catalog);
	return 0;
}
