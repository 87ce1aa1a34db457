/* SPDX-License-Identifier: MIT */
/*
 * traces_restart.c - what an application's restart costs
 *
 * The published traces do not tell: there every restart counts 30 s. Under
 * pollux-launch the ranks stay where they can, and a resize takes about a
 * second and the time to write and read the checkpoint. So, where no
 * restart.csv says better, RESIZE_S and the bytes of parameters and
 * optimiser state, once out and once in, over STORAGE_MB_S.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "sim/csv.h"
#include "sim/traces.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define RESIZE_S      1.0
#define STORAGE_MB_S  1000.0
#define CHECKPOINT_MB 100 /* of an application not named here */

/* Estimates: parameters times 8 bytes (SGD with momentum) or 12 (Adam). */
static const struct {
	const char *name;
	int checkpoint_mb;
} known[] = {
	/* clang-format off */
	{ "bert",	 1320 }, /* base: 110 million, Adam */
	{ "cifar10",	   90 }, /* ResNet-18: 11 million */
	{ "deepspeech2",  320 }, /* 40 million */
	{ "imagenet",	  205 }, /* ResNet-50: 26 million */
	{ "ncf",	   40 }, /* 3 million, Adam */
	{ "yolov3",	  495 }, /* 62 million */
	/* clang-format on */
};

static double estimate_s(const char *name)
{
	int size_mb = CHECKPOINT_MB;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].name, name) == 0)
			size_mb = known[i].checkpoint_mb;
	}
	return RESIZE_S + 2 * size_mb / STORAGE_MB_S;
}

int plx_trace_restart(struct plx_app *app, const char *dir,
		      struct plx_error *err)
{
	static const char *const columns[] = { "restart_s", NULL };
	static const double range[] = { 0, 86400 };
	struct plx_csv csv = { 0 };
	char path[PATH_MAX];
	int rc = -1;

	app->limits.restart_s = estimate_s(app->name);
	if (plx_csv_path(dir, "restart.csv", path, err) < 0)
		return -1;
	if (access(path, F_OK) < 0)
		return 0;
	if (plx_csv_load(path, columns, &csv, err) < 0)
		return -1;
	if (csv.row_count != 1)
		plx_fail(err, "%s: %d rows: want one", path, csv.row_count);
	else
		rc = plx_csv_real(&csv, 0, 0, range, &app->limits.restart_s,
				  err);
	plx_csv_release(&csv);
	return rc;
}
