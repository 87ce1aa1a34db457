/* SPDX-License-Identifier: MIT */
/* hint.c - what a job's agent tells the scheduler */

#include <math.h>
#include <stdio.h>

#include "core/records/hint.h"
#include "core/records/options.h"

#define SECONDS_MAX 1e6	 /* of one pass or all-reduce */
#define NORM_MAX    1e30 /* squared gradient norms */
#define SHOWN_MAX   1e30 /* numbers that are only shown */
#define LEFT_MAX    1e18 /* samples */

enum { BATCH_PARTS = 5, MODEL_PARTS = 7, NOISE_PARTS = 2, PAIR = 2 };

/* Counts need all their digits, which %.6g would round away. */
static void write_counts(struct plx_writer *w, const char *key,
			 const int *counts, int count)
{
	char text[128];
	size_t used = 0;

	for (int i = 0; i < count; i++)
		used += snprintf(text + used, sizeof(text) - used, "%s%d",
				 i ? "," : "", counts[i]);
	plx_write_text(w, key, text);
}

static void write_number(struct plx_writer *w, const char *key, double value)
{
	/* A diverged loss must not make the whole hint unreadable. */
	if (isfinite(value))
		plx_write_doubles(w, key, &value, 1);
}

void plx_hint_write(struct plx_writer *w, const struct plx_hint *hint)
{
	const struct plx_limits *l = &hint->job.limits;
	const struct plx_model *m = &hint->job.model;

	write_counts(w, "batch",
		     (int[BATCH_PARTS]){ l->base_batch, l->max_batch,
					 l->min_per_gpu, l->max_per_gpu,
					 l->accumulate },
		     BATCH_PARTS);
	plx_write_doubles(w, "model",
			  (double[MODEL_PARTS]){
				  m->alpha_c, m->beta_c, m->alpha_n, m->beta_n,
				  m->alpha_r, m->beta_r, m->gamma },
			  MODEL_PARTS);
	/* The paper's model has neither, and was all there once was. */
	if (m->growth != PLX_BY_GPU || m->two_nodes > 0)
		plx_write_doubles(w, "sync",
				  (double[PAIR]){ m->growth, m->two_nodes },
				  PAIR);
	if (m->per_switch > 0 || m->further > 0)
		plx_write_doubles(w, "switches",
				  (double[PAIR]){ m->per_switch, m->further },
				  PAIR);
	plx_write_doubles(w, "noise",
			  (double[NOISE_PARTS]){ hint->job.noise.sqr,
						 hint->job.noise.var },
			  NOISE_PARTS);
	write_counts(w, "profiled",
		     (int[PAIR]){ hint->profiled.nodes, hint->profiled.gpus },
		     PAIR);
	write_counts(w, "now",
		     (int[PAIR]){ hint->now.per_gpu, hint->now.accum }, PAIR);
	plx_write_doubles(w, "progress", &hint->progress, 1);
	if (hint->samples_left > 0)
		plx_write_doubles(w, "left", &hint->samples_left, 1);
	plx_write_doubles(w, "restart", &hint->restart_s, 1);
	write_number(w, "lr", hint->lr);
	write_number(w, "speed", hint->speed);
	write_number(w, "goodput", hint->goodput);
	write_number(w, "loss", hint->loss);
	if (hint->type[0])
		plx_write_text(w, "type", hint->type);
}

/* Numbers that must be there. */
static int need(const char *fields, const char *key, double max, double *out,
		int count, struct plx_error *err)
{
	int found = plx_field_doubles(fields, key, 0, max, out, count, err);

	if (found == 0)
		return plx_fail(err, "%s: missing", key);
	return found < 0 ? -1 : 0;
}

static int need_counts(const char *fields, const char *key, int *out, int count,
		       struct plx_error *err)
{
	double numbers[BATCH_PARTS];

	if (need(fields, key, PLX_BATCH_MAX, numbers, count, err) < 0)
		return -1;
	for (int i = 0; i < count; i++) {
		if (numbers[i] != floor(numbers[i]))
			return plx_fail(err, "%s: want whole numbers", key);
		out[i] = (int) numbers[i];
	}
	return 0;
}

/* Of a model that is not the paper's. */
static int read_sync(const char *fields, struct plx_model *model,
		     struct plx_error *err)
{
	double sync[PAIR] = { PLX_BY_GPU, 0 };

	if (plx_field_doubles(fields, "sync", 0, PLX_TWO_NODES_MAX, sync, PAIR,
			      err) < 0)
		return -1;
	if (sync[0] != PLX_BY_GPU && sync[0] != PLX_BY_DOUBLING)
		return plx_fail(err, "sync: growth is 0 or 1");
	model->growth = sync[0] == PLX_BY_GPU ? PLX_BY_GPU : PLX_BY_DOUBLING;
	model->two_nodes = sync[1];
	return 0;
}

/* Of one that was measured on several switches. */
static int read_switches(const char *fields, struct plx_model *model,
			 struct plx_error *err)
{
	double switches[PAIR] = { 0, 0 };

	if (plx_field_doubles(fields, "switches", 0, PLX_PER_SWITCH_MAX,
			      switches, PAIR, err) < 0)
		return -1;
	if (switches[1] != floor(switches[1]) || switches[1] > PLX_FURTHER_MAX)
		return plx_fail(err, "switches: want 0 to %d further ones",
				PLX_FURTHER_MAX);
	model->per_switch = switches[0];
	model->further = (int) switches[1];
	return 0;
}

static int read_job(const char *fields, struct plx_goodput *job,
		    struct plx_error *err)
{
	double model[MODEL_PARTS];
	double noise[NOISE_PARTS];
	int batch[BATCH_PARTS];

	if (need_counts(fields, "batch", batch, BATCH_PARTS, err) < 0 ||
	    need(fields, "model", SECONDS_MAX, model, MODEL_PARTS, err) < 0 ||
	    need(fields, "noise", NORM_MAX, noise, NOISE_PARTS, err) < 0)
		return -1;
	if (batch[4] > 1)
		return plx_fail(err, "batch: accumulation is 0 or 1");
	*job = (struct plx_goodput){
		.model = { .alpha_c = model[0],
			   .beta_c = model[1],
			   .alpha_n = model[2],
			   .beta_n = model[3],
			   .alpha_r = model[4],
			   .beta_r = model[5],
			   .gamma = model[6] },
		.noise = { .sqr = noise[0], .var = noise[1] },
		.limits = { .base_batch = batch[0],
			    .max_batch = batch[1],
			    .min_per_gpu = batch[2],
			    .max_per_gpu = batch[3],
			    .accumulate = batch[4] },
	};
	if (read_sync(fields, &job->model, err) < 0 ||
	    read_switches(fields, &job->model, err) < 0)
		return -1;
	if (!plx_goodput_valid(job))
		return plx_fail(err, "model, noise or batch out of range");
	return 0;
}

static int read_present(const char *fields, struct plx_hint *hint,
			struct plx_error *err)
{
	int profiled[PAIR];
	int now[PAIR];

	if (need_counts(fields, "profiled", profiled, PAIR, err) < 0 ||
	    need_counts(fields, "now", now, PAIR, err) < 0 ||
	    need(fields, "progress", 1, &hint->progress, 1, err) < 0 ||
	    need(fields, "restart", PLX_RESTART_MAX_S, &hint->restart_s, 1,
		 err) < 0)
		return -1;
	if (profiled[0] < 1 || profiled[1] < profiled[0] ||
	    profiled[1] > PLX_GPUS_MAX)
		return plx_fail(err, "profiled: no such shape");
	if (now[0] < 1)
		return plx_fail(err, "now: want at least one sample");
	hint->profiled =
		(struct plx_shape){ .nodes = profiled[0], .gpus = profiled[1] };
	hint->now = (struct plx_batch){ .per_gpu = now[0], .accum = now[1] };
	return 0;
}

/* It may be missing, but what cannot be compared is no type. */
static int read_type(const char *fields, struct plx_hint *hint,
		     struct plx_error *err)
{
	char text[PLX_FIELDS_MAX];

	if (!plx_field_text(fields, "type", text, sizeof(text)))
		return 0;
	if (!plx_types_valid(text))
		return plx_fail(err, "type: want names of types of GPUs");
	snprintf(hint->type, sizeof(hint->type), "%.*s",
		 (int) sizeof(hint->type) - 1, text);
	return 0;
}

/* Each may be missing; all but the first are for people to look at. */
static int read_others(const char *fields, struct plx_hint *hint,
		       struct plx_error *err)
{
	if (plx_field_doubles(fields, "left", 0, LEFT_MAX, &hint->samples_left,
			      1, err) < 0 ||
	    plx_field_doubles(fields, "lr", 0, SHOWN_MAX, &hint->lr, 1, err) <
		    0 ||
	    plx_field_doubles(fields, "speed", 0, SHOWN_MAX, &hint->speed, 1,
			      err) < 0 ||
	    plx_field_doubles(fields, "goodput", 0, SHOWN_MAX, &hint->goodput,
			      1, err) < 0 ||
	    plx_field_doubles(fields, "loss", -SHOWN_MAX, SHOWN_MAX,
			      &hint->loss, 1, err) < 0)
		return -1;
	return 0;
}

static bool has_any(const char *fields)
{
	static const char *const parts[] = { "batch", "model", "noise",
					     "profiled", "now" };
	char value[PLX_FIELDS_MAX];

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (plx_field_text(fields, parts[i], value, sizeof(value)))
			return true;
	}
	return false;
}

int plx_hint_read(const char *fields, struct plx_hint *hint,
		  struct plx_error *err)
{
	struct plx_hint read = { 0 };

	if (!has_any(fields))
		return 0;
	if (read_job(fields, &read.job, err) < 0 ||
	    read_present(fields, &read, err) < 0 ||
	    read_others(fields, &read, err) < 0 ||
	    read_type(fields, &read, err) < 0)
		return -1;
	*hint = read;
	return 1;
}
