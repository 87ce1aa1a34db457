/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view.c - see view.h; all of it but the loading */

#define _GNU_SOURCE

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/text.h"
#include "report/view.h"

#define NAME_WIDTH  20
#define SPOTS_WIDTH 24 /* longer ones push their line only */

/* The count of one entry: the last number before '(' or its end. */
static int entry_gpus(const char *entry, size_t size)
{
	const char *paren = memchr(entry, '(', size);
	const char *colon;
	int64_t count = 0;

	if (size < 4 || strncmp(entry, "gpu:", 4) != 0)
		return 0;
	if (paren)
		size = paren - entry;
	colon = memrchr(entry, ':', size);
	for (const char *p = colon + 1; p < entry + size; p++) {
		if (*p < '0' || *p > '9' || count > INT_MAX / 16)
			return 0;
		count = 10 * count + (*p - '0');
	}
	return (int) count;
}

int plx_gres_gpus(const char *gres)
{
	int gpus = 0;
	int depth = 0;
	const char *start = gres;

	if (!gres)
		return 0;
	for (const char *p = gres;; p++) {
		depth += (*p == '(') - (*p == ')');
		if (*p && (*p != ',' || depth > 0))
			continue;
		gpus += entry_gpus(start, p - start);
		if (!*p)
			return gpus;
		start = p + 1;
	}
}

void plx_spots_add(char spots[PLX_SPOTS_SIZE], const char *node, int gpus)
{
	size_t used = strlen(spots);
	int length;

	if (used >= 3 && !strcmp(spots + used - 3, "..."))
		return;
	length = snprintf(spots + used, PLX_SPOTS_SIZE - used, "%s%s:%d",
			  used ? " " : "", node, gpus);
	if (used + length + 4 >= PLX_SPOTS_SIZE)
		snprintf(spots + used, PLX_SPOTS_SIZE - used, "...");
}

void plx_view_read(struct plx_view_job *job, const char *comment,
		   const char *system_comment)
{
	int status =
		plx_status_read(comment ? comment : "", &job->status, NULL);
	int target = plx_target_read(system_comment ? system_comment : "",
				     &job->target, NULL);

	job->told = status == 1;
	job->elastic = status != 0 || target != 0;
	if (target != 1)
		job->target = (struct plx_target){ .serial = 0 };
}

int64_t plx_view_batch(const struct plx_view_job *job)
{
	const struct plx_batch *now = &job->status.hint.now;

	if (!job->told || !job->status.has_hint || !job->running)
		return 0;
	return (int64_t) now->per_gpu * (now->accum + 1) * job->gpus;
}

/* "RUNNING", or what an elastic job is at when it does not train. */
static const char *state_text(const struct plx_view_job *job)
{
	if (job->running && job->told && job->gpus == 0)
		return "parked";
	if (job->running && job->told &&
	    job->status.phase != PLX_PHASE_TRAINING)
		return plx_phase_name(job->status.phase);
	return job->state;
}

static void finished_text(const struct plx_view_job *job, char *text,
			  size_t size)
{
	char ran[24];
	int resizes = job->told ? job->status.resizes : 0;

	plx_text_duration(job->ran_s, ran, sizeof(ran));
	if (resizes > 0)
		snprintf(text, size, "ran %s, %d resize%s", ran, resizes,
			 resizes == 1 ? "" : "s");
	else
		snprintf(text, size, "ran %s", ran);
	if (*job->reason)
		snprintf(text + strlen(text), size - strlen(text), "; %s",
			 job->reason);
}

static void why_text(const struct plx_view_job *job, char *text, size_t size)
{
	static const char *const lead[] = {
		[PLX_TARGET_NONE] = "",
		[PLX_TARGET_ASKED] = "asked for ",
		[PLX_TARGET_DONE] = "",
		[PLX_TARGET_REFUSED] = "refused ",
		[PLX_TARGET_PARKED] = "parked: ",
		[PLX_TARGET_LENT] = "moves: ",
		[PLX_TARGET_MOVING] = "moves: ",
	};
	const struct plx_target *t = &job->target;

	if (!job->running && job->ran_s > 0)
		finished_text(job, text, size);
	else if (!job->running)
		snprintf(text, size, "%s", job->reason);
	else if (t->state == PLX_TARGET_ASKED || t->state == PLX_TARGET_REFUSED)
		snprintf(text, size, "%s%d GPUs: %s", lead[t->state],
			 plx_target_gpus(t), t->why);
	else if (t->state != PLX_TARGET_NONE)
		snprintf(text, size, "%s%s", lead[t->state], t->why);
	else
		snprintf(text, size, "%s", job->elastic ? "" : "rigid");
}

static void print_head(const struct plx_view *view, FILE *out)
{
	time_t now = (time_t) view->now_s;
	char when[16] = "";
	struct tm tm;
	int running = 0;
	int waiting = 0;

	for (size_t i = 0; i < view->count; i++) {
		running += view->jobs[i].running;
		waiting += !strcmp(view->jobs[i].state, "PENDING");
	}
	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%H:%M:%S", &tm);
	fprintf(out,
		"%s  %d nodes, %d of %d GPUs busy; %d jobs running, "
		"%d waiting\n",
		when, view->nodes, view->gpus_busy, view->gpus, running,
		waiting);
	fprintf(out, "%5s  %-*s  %-9s  %-*s  %6s  %8s  %5s  %s\n", "JOB",
		NAME_WIDTH, "NAME", "STATE", SPOTS_WIDTH, "GPUS", "BATCH",
		"GOODPUT", "DONE", "WHY");
}

static void print_job(const struct plx_view_job *job, FILE *out)
{
	const struct plx_hint *hint = &job->status.hint;
	int64_t batch_size = plx_view_batch(job);
	char name[NAME_WIDTH + 1];
	char batch[24] = "-";
	char goodput[24] = "-";
	char done[16] = "-";
	char why[PLX_WHY_SIZE + 64];
	char clean[sizeof(why)];

	if (batch_size > 0) {
		snprintf(batch, sizeof(batch), "%" PRId64, batch_size);
		snprintf(goodput, sizeof(goodput), "%.0f/s", hint->goodput);
	}
	if (job->told && job->status.has_hint && job->running)
		snprintf(done, sizeof(done), "%.0f%%", 100 * hint->progress);
	why_text(job, why, sizeof(why));
	fprintf(out, "%5s  %-*s  %-9s  %-*s  %6s  %8s  %5s  %s\n", job->id,
		NAME_WIDTH, plx_text_clean(job->name, name, sizeof(name)),
		state_text(job), SPOTS_WIDTH, job->gpus ? job->spots : "-",
		batch, goodput, done,
		plx_text_clean(why, clean, sizeof(clean)));
}

void plx_view_print(const struct plx_view *view, FILE *out)
{
	print_head(view, out);
	for (size_t i = 0; i < view->count; i++)
		print_job(&view->jobs[i], out);
}

static json_t *clean_string(const char *text)
{
	char clean[512];

	return json_string(plx_text_clean(text, clean, sizeof(clean)));
}

static json_t *elastic_json(const struct plx_view_job *job)
{
	const struct plx_hint *h = &job->status.hint;
	json_t *out = json_pack("{s:I, s:s, s:o}", "serial",
				(json_int_t) job->target.serial, "target",
				plx_target_state_name(job->target.state), "why",
				clean_string(job->target.why));

	if (!out || !job->told)
		return out;
	json_object_set_new(out, "phase",
			    json_string(plx_phase_name(job->status.phase)));
	json_object_set_new(out, "resizes", json_integer(job->status.resizes));
	if (job->status.has_hint)
		json_object_update_new(
			out,
			json_pack("{s:I, s:f, s:f, s:f, s:f}", "batch",
				  (json_int_t) plx_view_batch(job), "goodput",
				  h->goodput, "progress", h->progress, "lr",
				  h->lr, "loss", h->loss));
	return out;
}

static json_t *job_json(const struct plx_view_job *job)
{
	json_t *elastic = job->elastic ? elastic_json(job) : json_null();

	return json_pack("{s:o, s:o, s:s, s:i, s:o, s:I, s:o, s:o}", "job",
			 clean_string(job->id), "name", clean_string(job->name),
			 "state", job->state, "gpus", job->gpus, "nodes",
			 clean_string(job->spots), "ran_s",
			 (json_int_t) job->ran_s, "reason",
			 clean_string(job->reason), "elastic", elastic);
}

json_t *plx_view_json(const struct plx_view *view)
{
	json_t *jobs = json_array();

	for (size_t i = 0; i < view->count; i++)
		json_array_append_new(jobs, job_json(&view->jobs[i]));
	return json_pack("{s:I, s:i, s:i, s:i, s:o}", "time",
			 (json_int_t) view->now_s, "nodes", view->nodes, "gpus",
			 view->gpus, "gpus_busy", view->gpus_busy, "jobs",
			 jobs);
}

void plx_view_release(struct plx_view *view)
{
	free(view->jobs);
	*view = (struct plx_view){ .count = 0 };
}
