/* SPDX-License-Identifier: MIT */
/* fuzz_record.c - a job's record as libslurm gives it to the launcher */

#include "fuzz.h"
#include "slurm.h"

/* pollux-top has its own. */
#define plx_gres_gpus launch_gres_gpus

/* Without Slurm, too: a job on this machine alone (fuzz_local.c) has one. */
#define by_name gres_by_name
#include "launcher/rules/layout.c"
#include "launcher/rules/gres_types.c"

#ifdef FUZZ_SLURM

#include "launcher/job/job_seen.c"

static void is_type(const char *type)
{
	MUST(!type[0] || plx_types_valid(type));
}

static void is_sound(const struct plx_layout *layout)
{
	int64_t ranks = 0;

	MUST(layout->count >= 0 && layout->ranks >= 0);
	for (int i = 0; i < layout->count; i++) {
		MUST(layout->nodes[i].ranks >= 0);
		is_type(layout->nodes[i].type);
		ranks += layout->nodes[i].ranks;
	}
	MUST(ranks == layout->ranks);
}

int fuzz_record(const uint8_t *data, size_t size)
{
	struct plx_job_who who = { .id = 7, .elastic = size & 16 };
	struct plx_job_words words = { .fields = "v=1", .bare = "v=1" };
	struct plx_job_seen job = { .id = 0 };
	char types[PLX_TYPES_SIZE];
	struct plx_error err;

	who.batch_host = size & 32 ? "n1" : NULL;
	slurm_record(data, size);
	MUST(launch_gres_gpus(slurm_text(1)) >= 0);
	plx_gres_types(slurm_text(1), slurm_text(2), slurm_text(3), types);
	is_type(types);
	if (plx_job_load(&who, &job, &err) < 0) {
		fuzz_is_a_line(err.text, sizeof(err.text));
	} else {
		is_sound(&job.layout);
		is_sound(&job.aim);
		MUST(strlen(job.where) < sizeof(job.where));
		MUST(strlen(job.status) < sizeof(job.status));
		MUST(plx_layout_equal(&job.layout, &job.layout) ||
		     job.layout.count > 1);
		MUST(plx_layout_cpus_per_rank(&job.layout) >= 1);
		plx_job_release(&job);
	}
	slurm_record(data, size);
	job.id = 0;
	if (plx_job_publish(&who, &words, &job, &err) < 0)
		fuzz_is_a_line(err.text, sizeof(err.text));
	if (job.id)
		plx_job_release(&job);
	return 0;
}

#else

/* Of a record whose fields are apart by 0x1e. */
static const char *next_field(char **rest)
{
	char *field = strsep(rest, "\036");

	return field ? field : "";
}

int fuzz_record(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX];
	char types[PLX_TYPES_SIZE];
	char *rest = text;
	const char *gres = strstr(fuzz_text(data, size, text), "gpu:");
	const char *job, *node, *used;

	MUST(launch_gres_gpus(gres ? gres : text) >= 0);
	next_field(&rest);
	job = next_field(&rest);
	node = next_field(&rest);
	used = next_field(&rest);
	plx_gres_types(job, node, used, types);
	MUST(!types[0] || plx_types_valid(types));
	return 0;
}

#endif
