/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_seen.c - the job's record in slurmctld, read and written with libslurm */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/libslurm.h"
#include "core/base/section.h"
#include "launcher/rules/clock.h"
#include "launcher/rules/gres_types.h"
#include "launcher/job/job_seen.h"

#define KNOWN_S 300.0 /* a node's machine is taken to be the same */

const bool plx_job_slurm = true;

void plx_job_setup(void)
{
	slurm_init(NULL);
}

/*
 * libslurm forgets a record's system_comment (22.05). Its memory is not ours to
 * give to free(), and this function of libslurm is in no public header.
 */
extern void slurm_xfree(void **memory);

static void free_answer(job_info_msg_t *answer)
{
	for (uint32_t i = 0; i < answer->record_count; i++)
		slurm_xfree((void **) &answer->job_array[i].system_comment);
	slurm_free_job_info_msg(answer);
}

static int fail_slurm(struct plx_error *err, const char *what, uint32_t id)
{
	return plx_fail(err, "cannot %s of job %u: %s", what, id,
			slurm_strerror(errno));
}

static const char *gres_of(const slurm_job_info_t *record, uint32_t j)
{
	return j < record->gres_detail_cnt && record->gres_detail_str[j]
		       ? record->gres_detail_str[j]
		       : "";
}

/* CPUs go with GPUs. A node without one still has CPUs. */
static int part_of(const slurm_job_info_t *record, uint32_t j)
{
	int gpus = plx_gres_gpus(gres_of(record, j));

	return gpus > 0 ? gpus : 1;
}

static int all_parts(const slurm_job_info_t *record)
{
	int parts = 0;

	for (uint32_t j = 0; j < record->num_nodes; j++)
		parts += part_of(record, j);
	return parts;
}

/* The j-th node of the job. Its GPUs, or none yet. */
static void describe_node(const slurm_job_info_t *record, uint32_t j, int parts,
			  const char *name, struct plx_layout_node *node)
{
	const char *gres = gres_of(record, j);
	int cpus = plx_slurm_cpus(record, name, part_of(record, j), parts);

	*node = (struct plx_layout_node){
		.ranks = plx_gres_gpus(gres),
		.cpus = cpus > 0 ? cpus : 0,
	};
	snprintf(node->name, sizeof(node->name), "%s", name);
	snprintf(node->gres, sizeof(node->gres), "%s", gres);
}

static void write_list(plx_hostlist hosts, char *text, size_t size)
{
	if (slurm_hostlist_ranged_string(hosts, size, text) < 0)
		text[0] = '\0';
}

/*
 * All nodes of the job that have a GPU, or all; their names as a list in where,
 * those of the others in spared.
 */
static int read_nodes(const slurm_job_info_t *record, bool gpus,
		      struct plx_job_seen *job, struct plx_error *err)
{
	plx_hostlist all = slurm_hostlist_create(record->nodes);
	plx_hostlist used = slurm_hostlist_create(NULL);
	plx_hostlist spared = slurm_hostlist_create(NULL);
	struct plx_layout_node node;
	int parts = all_parts(record);
	char *name;
	int rc = -1;

	for (uint32_t j = 0; (name = slurm_hostlist_shift(all)); j++) {
		bool wanted;

		describe_node(record, j, parts, name, &node);
		wanted = !gpus || node.ranks > 0;
		slurm_hostlist_push_host(wanted ? used : spared, name);
		free(name);
		if (wanted && plx_layout_add(&job->layout, &node, err) < 0)
			goto done;
	}
	if (slurm_hostlist_ranged_string(used, sizeof(job->where), job->where) <
	    0)
		snprintf(job->where, sizeof(job->where), "%d nodes",
			 job->layout.count);
	write_list(spared, job->spared, sizeof(job->spared));
	rc = 0;
done:
	slurm_hostlist_destroy(spared);
	slurm_hostlist_destroy(used);
	slurm_hostlist_destroy(all);
	return rc;
}

/* Machines of nodes are as they are for a while: by the Slurm client's thread
 * alone.
 */
static struct known {
	char node[PLX_NODE_NAME_SIZE];
	bool away;
	double until_s;
} known[2];

static int ask_away(const char *first, bool *away, struct plx_error *err)
{
	char own[PLX_NODE_NAME_SIZE] = "";
	node_info_msg_t *answer = NULL;

	if (slurm_load_node_single(&answer, (char *) first, SHOW_ALL) !=
	    SLURM_SUCCESS)
		return plx_fail(err, "cannot read the record of node %s: %s",
				first, slurm_strerror(errno));
	gethostname(own, sizeof(own) - 1);
	own[strcspn(own, ".")] = '\0';
	*away = answer->record_count < 1 ||
		!answer->node_array->node_hostname ||
		strcmp(answer->node_array->node_hostname, own) != 0;
	slurm_free_node_info_msg(answer);
	return 0;
}

/*
 * Is rank 0's node another machine? One machine may play several nodes. What a
 * node was not long ago is kept in that place.
 */
static int check_away(const char *batch_host, const struct plx_layout *layout,
		      struct known *was, bool *away, struct plx_error *err)
{
	const char *first;

	*away = false;
	if (!layout->ranks)
		return 0;
	first = layout->nodes[0].name;
	if (batch_host && !strcmp(first, batch_host))
		return 0;
	if (strcmp(was->node, first) != 0 || plx_now_s() >= was->until_s) {
		if (ask_away(first, &was->away, err) < 0)
			return -1;
		snprintf(was->node, sizeof(was->node), "%s", first);
		was->until_s = plx_now_s() + KNOWN_S;
	}
	*away = was->away;
	return 0;
}

/* What a node's GPUs are stays for a while, too. */
static struct known_type {
	char node[PLX_NODE_NAME_SIZE];
	char gres[PLX_GRES_SIZE]; /* the job's there */
	char type[PLX_TYPES_SIZE];
	double until_s;
} known_types[2];

static void ask_type(struct known_type *was)
{
	node_info_msg_t *answer = NULL;
	const node_info_t *node;

	was->type[0] = '\0';
	if (slurm_load_node_single(&answer, was->node,
				   SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
		return;
	node = answer->record_count ? answer->node_array : NULL;
	if (node)
		plx_gres_types(was->gres, node->gres ? node->gres : "",
			       node->gres_used ? node->gres_used : "",
			       was->type);
	slurm_free_node_info_msg(answer);
}

/*
 * The type of rank 0's GPUs, whose times are measured. slurmctld is asked only
 * where the job's record does not say it. Not to know it is no failure.
 */
static void read_type(struct plx_layout *layout, struct known_type *was)
{
	struct plx_layout_node *first = layout->nodes;

	if (!layout->ranks || !layout->gpus)
		return;
	if (plx_gres_named(first->gres)) {
		plx_gres_types(first->gres, "", "", first->type);
		return;
	}
	if (strcmp(was->node, first->name) != 0 ||
	    strcmp(was->gres, first->gres) != 0 ||
	    plx_now_s() >= was->until_s) {
		snprintf(was->node, sizeof(was->node), "%s", first->name);
		snprintf(was->gres, sizeof(was->gres), "%s", first->gres);
		was->until_s = plx_now_s() + KNOWN_S;
		ask_type(was);
	}
	memcpy(first->type, was->type, sizeof(first->type));
}

/* Before trim(): of a part of a node it is not known which GPUs. */
static void read_types(struct plx_job_seen *job)
{
	struct plx_layout_node *now = job->layout.nodes;
	struct plx_layout_node *next = job->aim.nodes;

	read_type(&job->layout, &known_types[0]);
	if (job->layout.count && job->aim.count &&
	    !strcmp(now->name, next->name) && now->type[0])
		memcpy(next->type, now->type, sizeof(next->type));
	else
		read_type(&job->aim, &known_types[1]);
}

static int read_layout(const slurm_job_info_t *record, bool elastic,
		       struct plx_job_seen *job, struct plx_error *err)
{
	if (read_nodes(record, true, job, err) < 0)
		return -1;
	job->layout.gpus = true;
	/* A target is only ever given to a job that runs on GPUs. */
	if (job->layout.ranks > 0 ||
	    (elastic && job->target.state != PLX_TARGET_NONE))
		return 0;
	if (read_nodes(record, false, job, err) < 0)
		return -1;
	job->layout.gpus = false;
	plx_layout_spread(&job->layout,
			  record->num_tasks ? (int) record->num_tasks : 1);
	return 0;
}

/* GPUs that the target gives it on this node; 0: none. */
static int aimed_gpus(const struct plx_target *target, const char *name)
{
	plx_hostlist hosts = slurm_hostlist_create(target->on);
	int at = hosts ? slurm_hostlist_find(hosts, name) : -1;

	if (hosts)
		slurm_hostlist_destroy(hosts);
	return at >= 0 ? plx_target_each(target, at) : 0;
}

/* Of what is lent, the target's nodes with as many GPUs as it says. */
static int read_aim(const slurm_job_info_t *record, struct plx_job_seen *job,
		    struct plx_error *err)
{
	const struct plx_target *target = &job->target;
	int cpus = record->cpus_per_task < NO_VAL16 ? record->cpus_per_task : 0;
	plx_hostlist spared;
	int rc = 0;

	if (target->state != PLX_TARGET_LENT) {
		snprintf(job->aim_where, sizeof(job->aim_where), "%s",
			 job->where);
		return plx_layout_copy(&job->aim, &job->layout, err);
	}
	spared = slurm_hostlist_create(job->spared);
	for (int i = 0; rc == 0 && i < job->layout.count; i++) {
		struct plx_layout_node node = job->layout.nodes[i];
		int ranks = aimed_gpus(target, node.name);

		if (!ranks || node.ranks < ranks) {
			slurm_hostlist_push_host(spared, node.name);
			continue;
		}
		plx_layout_keep(&node, ranks, cpus);
		rc = plx_layout_add(&job->aim, &node, err);
	}
	write_list(spared, job->spared, sizeof(job->spared));
	slurm_hostlist_destroy(spared);
	job->aim.gpus = job->layout.gpus;
	snprintf(job->aim_where, sizeof(job->aim_where), "%s", target->on);
	return rc;
}

/* By slurmctld's clock at both ends: ours may be another. */
static void read_limit(const slurm_job_info_t *record, time_t now,
		       struct plx_job_seen *job)
{
	if (record->time_limit == INFINITE || record->time_limit == NO_VAL ||
	    !record->end_time || !now)
		return;
	job->limit_s = 60.0 * record->time_limit;
	job->left_s = difftime(record->end_time, now);
}

static int read_record(const slurm_job_info_t *record, bool elastic,
		       struct plx_job_seen *job, struct plx_error *err)
{
	uint32_t state = record->job_state & JOB_STATE_BASE;

	job->over = state != JOB_RUNNING && state != JOB_SUSPENDED;
	job->bad_target =
		plx_target_read(record->system_comment, &job->target, err) < 0;
	if (!plx_section_get(record->comment, job->status, sizeof(job->status)))
		job->status[0] = '\0';
	if (job->over || !record->nodes)
		return 0;
	if (read_layout(record, elastic, job, err) < 0)
		return -1;
	return read_aim(record, job, err);
}

/* Its ranks are as many as one of its sizes. */
static void trim(const struct plx_sizes *sizes, struct plx_layout *layout)
{
	if (layout->gpus && layout->ranks > 0)
		plx_layout_trim(layout, plx_sizes_down(sizes, layout->ranks));
}

static int read_answer(const struct plx_job_who *who,
		       const job_info_msg_t *answer, struct plx_job_seen *job,
		       struct plx_error *err)
{
	if (answer->record_count < 1) {
		job->over = true;
		return 0;
	}
	read_limit(answer->job_array, answer->last_update, job);
	if (read_record(answer->job_array, who->elastic, job, err) < 0)
		return -1;
	if (who->batch_host) {
		plx_layout_lead(&job->layout, who->batch_host);
		plx_layout_lead(&job->aim, who->batch_host);
	}
	read_types(job);
	/* With both shapes its ranks use one of them. */
	if (job->target.state != PLX_TARGET_LENT) {
		trim(&who->sizes, &job->layout);
		trim(&who->sizes, &job->aim);
	}
	if (check_away(who->batch_host, &job->layout, &known[0], &job->away,
		       err) < 0)
		return -1;
	return check_away(who->batch_host, &job->aim, &known[1], &job->aim_away,
			  err);
}

int plx_job_load(const struct plx_job_who *who, struct plx_job_seen *job,
		 struct plx_error *err)
{
	struct plx_job_seen read = { .id = who->id };
	job_info_msg_t *answer = NULL;
	int rc;

	if (slurm_load_job(&answer, who->id, SHOW_DETAIL | SHOW_LOCAL) !=
	    SLURM_SUCCESS) {
		if (errno != ESLURM_INVALID_JOB_ID)
			return fail_slurm(err, "read the record", who->id);
		read.over = true;
		*job = read;
		return 0;
	}
	rc = read_answer(who, answer, &read, err);
	free_answer(answer);
	if (rc < 0)
		plx_job_release(&read);
	else
		*job = read;
	return rc;
}

void plx_job_release(struct plx_job_seen *job)
{
	plx_layout_release(&job->layout);
	plx_layout_release(&job->aim);
}

/* Remove these nodes; their names go to spared, those of the others to where.
 */
static void remove_nodes(struct plx_layout *layout,
			 const struct plx_layout *gone, plx_hostlist spared,
			 char where[PLX_WHERE_SIZE])
{
	plx_hostlist kept = slurm_hostlist_create(NULL);
	int count = 0;

	for (int i = 0; i < layout->count; i++) {
		struct plx_layout_node *node = &layout->nodes[i];

		if (!plx_layout_on(gone, node->name)) {
			slurm_hostlist_push_host(kept, node->name);
			layout->nodes[count++] = *node;
			continue;
		}
		layout->ranks -= node->ranks;
		if (slurm_hostlist_find(spared, node->name) < 0)
			slurm_hostlist_push_host(spared, node->name);
	}
	layout->count = count;
	write_list(kept, where, PLX_WHERE_SIZE);
	slurm_hostlist_destroy(kept);
}

static bool has_any(const struct plx_layout *layout,
		    const struct plx_layout *gone)
{
	for (int i = 0; i < layout->count; i++) {
		if (plx_layout_on(gone, layout->nodes[i].name))
			return true;
	}
	return false;
}

void plx_job_without(struct plx_job_seen *job, const struct plx_layout *gone)
{
	plx_hostlist spared;

	if (!has_any(&job->layout, gone) && !has_any(&job->aim, gone))
		return;
	spared = slurm_hostlist_create(job->spared);
	remove_nodes(&job->layout, gone, spared, job->where);
	remove_nodes(&job->aim, gone, spared, job->aim_where);
	write_list(spared, job->spared, sizeof(job->spared));
	slurm_hostlist_destroy(spared);
}

/* The user's text may have changed, so it is read each time. */
static int load_comment(const struct plx_job_who *who,
			char comment[PLX_COMMENT_MAX],
			struct plx_job_seen *seen, struct plx_error *err)
{
	struct plx_job_seen read = { .id = who->id };
	job_info_msg_t *answer = NULL;
	uint32_t id = who->id;
	struct plx_error why;
	int rc = 0;

	if (slurm_load_job(&answer, id, SHOW_DETAIL | SHOW_LOCAL) !=
	    SLURM_SUCCESS)
		return fail_slurm(err, "read the comment", id);
	if (read_answer(who, answer, &read, &why) == 0)
		*seen = read;
	else
		plx_job_release(&read);
	comment[0] = '\0';
	if (answer->record_count > 0 && answer->job_array->comment) {
		const char *text = answer->job_array->comment;

		if (strlen(text) < PLX_COMMENT_MAX)
			strcpy(comment, text);
		else
			rc = plx_fail(err,
				      "the comment of job %u is longer than "
				      "%d bytes: no room for Pollux",
				      id, PLX_COMMENT_MAX - 1);
	}
	free_answer(answer);
	return rc;
}

int plx_job_publish(const struct plx_job_who *who, struct plx_job_words *words,
		    struct plx_job_seen *seen, struct plx_error *err)
{
	char comment[PLX_COMMENT_MAX];
	char text[PLX_COMMENT_MAX];
	job_desc_msg_t update;

	seen->id = 0;
	words->shortened = false;
	if (load_comment(who, comment, seen, err) < 0)
		return -1;
	if (plx_section_put(comment, words->fields, text, sizeof(text), err) <
	    0) {
		words->shortened = true;
		if (plx_section_put(comment, words->bare, text, sizeof(text),
				    err) < 0)
			return -1;
	}
	slurm_init_job_desc_msg(&update);
	plx_slurm_name_job(&update, who->id);
	update.comment = text;
	if (slurm_update_job(&update) != SLURM_SUCCESS)
		return fail_slurm(err, "write the comment", who->id);
	return 0;
}

int plx_job_signal_step(uint32_t id, const char *name, int signal,
			struct plx_error *err)
{
	job_step_info_response_msg_t *answer = NULL;
	int rc = 0;

	if (plx_slurm_steps(id, &answer) != SLURM_SUCCESS)
		return fail_slurm(err, "list the steps", id);
	for (uint32_t i = 0; i < answer->job_step_count; i++) {
		const job_step_info_t *step = &answer->job_steps[i];

		if (!step->name || strcmp(step->name, name) != 0)
			continue;
		if (plx_slurm_kill_step(id, step->step_id.step_id, signal) !=
			    SLURM_SUCCESS &&
		    errno != ESLURM_ALREADY_DONE)
			rc = fail_slurm(err, "signal a step", id);
	}
	slurm_free_job_step_info_response_msg(answer);
	return rc;
}

int plx_job_left_steps(uint32_t id, const char *prefix, int signal,
		       struct plx_error *err)
{
	job_step_info_response_msg_t *answer = NULL;
	int left = 0;

	if (plx_slurm_steps(id, &answer) != SLURM_SUCCESS)
		return fail_slurm(err, "list the steps", id);
	for (uint32_t i = 0; i < answer->job_step_count; i++) {
		const job_step_info_t *step = &answer->job_steps[i];

		if (!step->name || strncmp(step->name, prefix, strlen(prefix)))
			continue;
		left++;
		/* One that cannot be killed shows by being left. */
		if (signal)
			plx_slurm_kill_step(id, step->step_id.step_id, signal);
	}
	slurm_free_job_step_info_response_msg(answer);
	return left;
}
