/* SPDX-License-Identifier: MIT */
/* fuzz_look.c - records of jobs and nodes as libslurm gives them to pollux-top
 */

#include "fuzz.h"
#include "slurm.h"

#ifdef FUZZ_SLURM

#include "report/load.c"

static void is_text(const char *text, size_t size)
{
	MUST(strlen(text) < size);
}

int fuzz_look(const uint8_t *data, size_t size)
{
	slurm_job_info_t *record = slurm_record(data, size);
	struct plx_view view = { .now_s = 5000 };
	struct plx_view_job *job;
	node_info_t node = { .name = slurm_text(0) };

	node.comment = slurm_text(11);
	node.gres = slurm_text(1);
	node.gres_used = slurm_text(2);
	node.node_state = (uint32_t) (size % 9);
	view.jobs = calloc(1, sizeof(*view.jobs));
	view.nodes = calloc(1, sizeof(*view.nodes));
	MUST(view.jobs && view.nodes);
	read_node(&node, &view);
	plx_view_sort_nodes(&view);
	read_job(record, &view);
	plx_view_unknown(&view, slurm_text(0), slurm_text(2));
	job = &view.jobs[0];
	is_text(job->id, sizeof(job->id));
	is_text(job->name, sizeof(job->name));
	is_text(job->user, sizeof(job->user));
	is_text(job->placement, sizeof(job->placement));
	is_text(job->reason, sizeof(job->reason));
	MUST(job->gpus >= 0 && view.gpus >= 0 && view.gpus_busy >= 0);
	MUST(job->ran_s >= 0);
	plx_view_release(&view);
	return 0;
}

#else

int fuzz_look(const uint8_t *data, size_t size)
{
	(void) data;
	(void) size;
	return 0;
}

#endif
