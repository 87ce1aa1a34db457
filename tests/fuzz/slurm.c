/* SPDX-License-Identifier: MIT */
/* slurm.c - as much of libslurm as its readers need, for fuzzers alone */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "scratch.h"
#include "slurm.h"

#ifdef FUZZ_SLURM

#define NAMES_MAX 16

struct hostlist {
	char *names[NAMES_MAX];
	int count;
};

static char texts[SLURM_TEXTS][SLURM_TEXT];
static slurm_job_info_t record;

char *slurm_text(int i)
{
	return texts[i];
}

slurm_job_info_t *slurm_record(const uint8_t *data, size_t size)
{
	static char *gres[2] = { texts[1], texts[2] };
	struct scratch_input input = { data, size };

	for (int i = 0; i < SLURM_TEXTS; i++) {
		struct scratch_input part = scratch_part(&input);
		size_t most =
			part.size < SLURM_TEXT - 1 ? part.size : SLURM_TEXT - 1;

		if (most)
			memcpy(texts[i], part.data, most);
		texts[i][most] = '\0';
	}
	record = (slurm_job_info_t){ .job_id = 7 };
	record.nodes = texts[0][0] ? texts[0] : NULL;
	record.gres_detail_str = gres;
	record.gres_detail_cnt = size % 3;
	record.comment = texts[3];
	record.system_comment = texts[4];
	record.name = texts[5];
	record.state_desc = texts[6][0] ? texts[6] : NULL;
	record.account = texts[7];
	record.partition = texts[8];
	record.user_name = texts[9];
	record.array_task_str = texts[10][0] ? texts[10] : NULL;
	record.array_job_id = size & 1 ? 5 : 0;
	record.array_task_id = size & 2 ? NO_VAL : 3;
	record.job_state = size & 4 ? JOB_PENDING : JOB_RUNNING;
	record.num_tasks = (uint32_t) (size % 7);
	record.time_limit = size & 8 ? INFINITE : 60;
	record.start_time = 100;
	record.end_time = 4000;
	return &record;
}

/* Names between commas; Slurm's own grammar of ranges is Slurm's. */
hostlist_t slurm_hostlist_create(const char *list)
{
	struct hostlist *hosts = calloc(1, sizeof(*hosts));

	MUST(hosts);
	while (list && *list && hosts->count < NAMES_MAX) {
		size_t length = strcspn(list, ",");

		hosts->names[hosts->count++] = strndup(list, length);
		list += length + (list[length] == ',');
	}
	return hosts;
}

void slurm_hostlist_destroy(hostlist_t hosts)
{
	for (int i = 0; hosts && i < hosts->count; i++)
		free(hosts->names[i]);
	free(hosts);
}

int slurm_hostlist_push_host(hostlist_t hosts, const char *name)
{
	if (hosts->count < NAMES_MAX)
		hosts->names[hosts->count++] = strdup(name);
	return 1;
}

char *slurm_hostlist_shift(hostlist_t hosts)
{
	char *first;

	if (!hosts || !hosts->count)
		return NULL;
	first = hosts->names[0];
	memmove(hosts->names, hosts->names + 1,
		sizeof(hosts->names[0]) * (size_t) --hosts->count);
	return first;
}

int slurm_hostlist_find(hostlist_t hosts, const char *name)
{
	for (int i = 0; i < hosts->count; i++) {
		if (!strcmp(hosts->names[i], name))
			return i;
	}
	return -1;
}

/* As there, -1 when it does not fit. */
ssize_t slurm_hostlist_ranged_string(hostlist_t hosts, size_t size, char *text)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < hosts->count; i++) {
		size_t length = strlen(hosts->names[i]);

		if (used + length + 2 > size)
			return -1;
		if (used)
			text[used++] = ',';
		memcpy(text + used, hosts->names[i], length + 1);
		used += length;
	}
	return (ssize_t) used;
}

int slurm_load_job(job_info_msg_t **answer, uint32_t id, uint16_t flags)
{
	static job_info_msg_t message;

	(void) id;
	(void) flags;
	message = (job_info_msg_t){ .record_count = 1,
				    .job_array = &record,
				    .last_update = 3000 };
	*answer = &message;
	return SLURM_SUCCESS;
}

void slurm_free_job_info_msg(job_info_msg_t *message)
{
	MUST(message->record_count == 1);
}

void slurm_xfree(void **memory);

void slurm_xfree(void **memory)
{
	*memory = NULL;
}

int slurm_load_node_single(node_info_msg_t **answer, char *name, uint16_t flags)
{
	static node_info_msg_t message;
	static node_info_t node;

	(void) flags;
	node.node_hostname = name;
	node.gres = texts[11];
	node.gres_used = texts[10];
	message = (node_info_msg_t){ .record_count = 1, .node_array = &node };
	*answer = &message;
	return SLURM_SUCCESS;
}

void slurm_free_node_info_msg(node_info_msg_t *message)
{
	MUST(message->record_count == 1);
}

char *slurm_strerror(int code)
{
	return strerror(code);
}

void slurm_init_job_desc_msg(job_desc_msg_t *job)
{
	memset(job, 0, sizeof(*job));
}

/* What is written into a comment fits, and is a section. */
int slurm_update_job(job_desc_msg_t *job)
{
	MUST(job->comment && strlen(job->comment) < 1024);
	MUST(strstr(job->comment, "[pollux v=1]"));
	return SLURM_SUCCESS;
}

#endif
