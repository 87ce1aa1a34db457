/* SPDX-License-Identifier: MIT */
/* fuzz_local.c - a job without Slurm: what it is asked, and its parameters */

#include <signal.h>
#include <stdlib.h>

#include "fuzz.h"

#define kill(pid, signal) ((void) (pid), (void) (signal), 0)

#include "launcher/job/local.c"

#undef kill

int fuzz_local(const uint8_t *data, size_t size)
{
	struct plx_local local = { .has = 2, .wanted = 2 };
	const char *request;
	char text[TEXT_MAX];
	char answer[512];
	struct plx_error err;
	struct plx_job_words words = { .bare = "" };
	struct plx_job_seen job;

	request = fuzz_text(data, size, text);
	pthread_mutex_init(&local.mutex, NULL);
	if (read_params(&local, request, &err) < 0)
		fuzz_is_a_line(err.text, sizeof(err.text));
	local.limits.min_gpus = 1;
	local.limits.max_gpus = 8;
	strcpy(local.node, "n1");
	words.fields = request;
	(void) publish(&local, &words, &job, &err);
	if (size & 1)
		strcpy(local.status, "v=1 launcher=batch ack=1");
	for (int i = 0; i < 2; i++) {
		answer_line(&local, request, answer, sizeof(answer));
		MUST(!strncmp(answer, "ok", 2) || !strncmp(answer, "error", 5));
		MUST(local.wanted >= 0 && local.wanted <= 8);
	}
	MUST(!load(&local, &job, &err));
	MUST(job.layout.ranks == local.has);
	plx_layout_release(&job.layout);
	plx_layout_release(&job.aim);
	pthread_mutex_destroy(&local.mutex);
	return 0;
}
