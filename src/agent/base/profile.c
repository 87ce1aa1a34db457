/* SPDX-License-Identifier: MIT */
/* profile.c - what was measured on each shape, and the batch it advises */
#include <config.h>

#include <limits.h>
#include <math.h>
#include <string.h>

#include "agent/base/profile.h"
#include "core/model/fit_loss.h"
#include "core/model/measured.h"
#include "core/records/options.h"

/* A row says something only after a few measurements. */
#define STEPS_MIN 3
/* A time this many times the mean, or the reverse, is no measurement. */
#define FAR 4.0
/* So many times may all have been disturbed. */
#define FEW 8
/* A mean follows the last so many: nodes need not be as busy as they were. */
#define WINDOW 64.0
/* So far from the model, a mean that has had a window of time is news. */
#define MOVED 1.1
/* A row so far above what a later one says was disturbed. */
#define CONTRADICTED 1.5
/* No two GPUs differ more in speed. */
#define RATIO_MAX 1000.0

void plx_profile_init(struct plx_profile *profile)
{
	/* Saved as bytes: padding must not differ between runs. */
	memset(profile, 0, sizeof(*profile));
	profile->version = PLX_PROFILE_VERSION;
	profile->size = sizeof(*profile);
	profile->noise.count = 1;
}

static bool is_amount(double value)
{
	return isfinite(value) && value >= 0;
}

/* It came as a byte, which need not be one of the two. */
static bool is_flag(const bool *flag)
{
	unsigned char byte;

	memcpy(&byte, flag, sizeof(byte));
	return byte <= 1;
}

static bool is_row(const struct plx_profile_row *row)
{
	return row->shape.nodes >= 1 && row->shape.gpus >= row->shape.nodes &&
	       row->shape.gpus <= PLX_GPUS_MAX && row->shape.further >= 0 &&
	       row->shape.further <= PLX_FURTHER_MAX && row->per_gpu >= 1 &&
	       row->per_gpu <= PLX_BATCH_MAX && row->type >= 0 &&
	       row->type < PLX_PROFILE_TYPES && is_amount(row->passes) &&
	       is_amount(row->pass_s) && is_amount(row->steps) &&
	       is_amount(row->step_s) && is_amount(row->fitted);
}

static bool is_tracker(const struct plx_noise_tracker *t)
{
	return isfinite(t->sqr_biased) && isfinite(t->var_biased) &&
	       is_amount(t->sqr_weight) && is_amount(t->var_weight) &&
	       t->updates >= 0 && t->updates < LONG_MAX / 2;
}

static bool are_types(const struct plx_profile *profile)
{
	for (int i = 0; i < PLX_PROFILE_TYPES; i++) {
		if (profile->types[i][0] && !plx_types_valid(profile->types[i]))
			return false;
	}
	return is_flag(&profile->has_base) && profile->type >= 0 &&
	       profile->type < PLX_PROFILE_TYPES && profile->base_type >= 0 &&
	       profile->base_type < PLX_PROFILE_TYPES;
}

/* Models are checked where they are used. */
bool plx_profile_valid(const struct plx_profile *profile)
{
	if (profile->version != PLX_PROFILE_VERSION ||
	    profile->size != sizeof(*profile) || profile->row_count < 0 ||
	    profile->row_count > PLX_ROWS_MAX || profile->noise.count < 1 ||
	    profile->noise.count > PLX_NOISE_GROUPS ||
	    !is_flag(&profile->has_model) || !is_flag(&profile->differenced) ||
	    !is_amount(profile->progress) || !is_amount(profile->restart_s) ||
	    profile->fits < 0 || profile->fits_not < 0 ||
	    !is_amount(profile->free_bytes) || !are_types(profile))
		return false;
	for (int i = 0; i < profile->row_count; i++) {
		if (!is_row(&profile->rows[i]))
			return false;
	}
	for (int i = 0; i < profile->noise.count; i++) {
		if (!is_tracker(&profile->noise.of[i]))
			return false;
	}
	return true;
}

void plx_profile_take(struct plx_profile *profile, const void *data,
		      uint64_t bytes)
{
	plx_profile_init(profile);
	if (bytes == sizeof(*profile))
		memcpy(profile, data, sizeof(*profile));
	if (!plx_profile_valid(profile))
		plx_profile_init(profile);
}

static bool same_shape(struct plx_shape a, struct plx_shape b)
{
	return a.gpus == b.gpus && a.nodes == b.nodes && a.further == b.further;
}

static bool same_row(const struct plx_profile *profile,
		     const struct plx_profile_row *row, struct plx_shape shape,
		     int per_gpu)
{
	return row->type == profile->type && same_shape(row->shape, shape) &&
	       row->per_gpu == per_gpu;
}

static struct plx_profile_row *least_recent(struct plx_profile *profile)
{
	struct plx_profile_row *oldest = &profile->rows[0];

	for (int i = 1; i < profile->row_count; i++) {
		if (profile->rows[i].used < oldest->used)
			oldest = &profile->rows[i];
	}
	return oldest;
}

struct plx_profile_row *plx_profile_row(struct plx_profile *profile,
					struct plx_shape shape, int per_gpu,
					uint64_t step)
{
	struct plx_profile_row *row = NULL;

	for (int i = 0; i < profile->row_count && !row; i++) {
		if (same_row(profile, &profile->rows[i], shape, per_gpu))
			row = &profile->rows[i];
	}
	if (!row) {
		row = profile->row_count < PLX_ROWS_MAX
			      ? &profile->rows[profile->row_count++]
			      : least_recent(profile);
		memset(row, 0, sizeof(*row));
		row->shape = shape;
		row->per_gpu = per_gpu;
		row->type = profile->type;
	}
	row->used = step;
	return row;
}

/*
 * A rank that was suspended for seconds must not make a shape look slow for
 * good: what is far above the mean counts as little as it can, and among the
 * first few one far below says that those before were disturbed. A shape that
 * has become slow shows after a while all the same.
 */
static void add_time(double *count, double *mean_s, double time_s)
{
	if (*count > 0 && *count<FEW && * mean_s> FAR * time_s)
		*count = 0;
	if (*count > 0 && *mean_s > 0 && time_s > FAR * *mean_s)
		time_s = FAR * *mean_s;
	++*count;
	*mean_s += (time_s - *mean_s) / fmin(*count, WINDOW);
}

void plx_row_add_pass(struct plx_profile_row *row, double pass_s)
{
	add_time(&row->passes, &row->pass_s, pass_s);
}

void plx_row_add_step(struct plx_profile_row *row, double step_s)
{
	add_time(&row->steps, &row->step_s, step_s);
	if (row->steps < row->fitted)
		row->fitted = 0; /* to something else */
}

static bool has_moved(const struct plx_profile *profile,
		      const struct plx_profile_row *row)
{
	double model_s;

	if (!profile->has_model || row->steps < row->fitted + WINDOW)
		return false;
	model_s = plx_iter_seconds(&profile->model, row->shape, row->per_gpu);
	return fabs(log(row->step_s / model_s)) > log(MOVED);
}

bool plx_profile_stale(const struct plx_profile *profile)
{
	for (int i = 0; i < profile->row_count; i++) {
		const struct plx_profile_row *row = &profile->rows[i];

		if (row->type == profile->type && row->steps >= STEPS_MIN &&
		    (row->steps >= 2 * row->fitted || has_moved(profile, row)))
			return true;
	}
	return false;
}

/*
 * Was the same shape seen later to do as many samples, or more, in far less
 * time? More samples take no less time, nor any of them longer. What is slower
 * now is not held against what was measured before: it may pass.
 */
static bool is_contradicted(const struct plx_profile *profile,
			    const struct plx_profile_row *row)
{
	for (int i = 0; i < profile->row_count; i++) {
		const struct plx_profile_row *other = &profile->rows[i];
		double more = fmax((double) row->per_gpu / other->per_gpu, 1);

		if (other->type == row->type && other->used > row->used &&
		    other->steps >= STEPS_MIN &&
		    same_shape(other->shape, row->shape) &&
		    row->step_s > CONTRADICTED * more * other->step_s)
			return true;
	}
	return false;
}

/*
 * What the rows of a type say that were measured often enough, and are still
 * believed. Of each shape, that which was used last is.
 */
static size_t rows_of(const struct plx_profile *profile, int type,
		      struct plx_sample samples[PLX_ROWS_MAX])
{
	size_t count = 0;

	for (int i = 0; i < profile->row_count; i++) {
		const struct plx_profile_row *row = &profile->rows[i];

		if (row->steps < STEPS_MIN || row->type != type ||
		    is_contradicted(profile, row))
			continue;
		samples[count++] = (struct plx_sample){
			.shape = row->shape,
			.per_gpu = row->per_gpu,
			.pass_seconds = row->pass_s,
			.iter_seconds = fmax(row->step_s, row->pass_s),
		};
	}
	return count;
}

/*
 * How many times as long passes take here as on the base's GPUs, the mean of
 * what was measured over what that model says; 0: not known.
 */
static double ratio_of(const struct plx_profile *profile,
		       const struct plx_sample *own, size_t count)
{
	double sum = 0;
	double ratio;
	int usable = 0;

	if (!profile->has_base || profile->base_type == profile->type)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (!plx_fit_usable(&own[i]))
			continue;
		sum += log(own[i].pass_seconds /
			   plx_grad_seconds(&profile->base, own[i].per_gpu));
		usable++;
	}
	ratio = usable ? exp(sum / usable) : 0;
	return ratio >= 1 / RATIO_MAX && ratio <= RATIO_MAX ? ratio : 0;
}

static bool has_shape(const struct plx_sample *samples, size_t count,
		      struct plx_shape shape)
{
	for (size_t i = 0; i < count; i++) {
		if (same_shape(samples[i].shape, shape))
			return true;
	}
	return false;
}

/* Behind this type's rows, the base's as they would be here. */
static size_t samples_of(const struct plx_profile *profile,
			 struct plx_sample samples[PLX_ROWS_MAX])
{
	struct plx_model scaled = profile->base;
	size_t own = rows_of(profile, profile->type, samples);
	double ratio = ratio_of(profile, samples, own);
	struct plx_sample *base = samples + own;
	size_t all = own;
	size_t others;

	if (!(ratio > 0))
		return own;
	scaled.alpha_c *= ratio;
	scaled.beta_c *= ratio;
	/* A row is of one type, so that both fit. */
	others = rows_of(profile, profile->base_type, base);
	for (size_t i = 0; i < others; i++) {
		struct plx_sample row = base[i];

		if (has_shape(samples, own, row.shape))
			continue;
		row.pass_seconds *= ratio;
		row.iter_seconds *=
			plx_iter_seconds(&scaled, row.shape, row.per_gpu) /
			plx_iter_seconds(&profile->base, row.shape,
					 row.per_gpu);
		samples[all++] = row;
	}
	return all;
}

static bool any_usable(const struct plx_sample *samples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (plx_fit_usable(&samples[i]))
			return true;
	}
	return false;
}

int plx_profile_fit(struct plx_profile *profile, enum plx_growth growth,
		    struct plx_error *err)
{
	struct plx_model model = { .growth = growth };
	struct plx_sample samples[PLX_ROWS_MAX];
	size_t count = rows_of(profile, profile->type, samples);

	/* Nothing of a base that explains nothing here is believed. */
	if (any_usable(samples, count) && profile->base_type != profile->type &&
	    !(ratio_of(profile, samples, count) > 0))
		profile->has_base = false;
	count = samples_of(profile, samples);
	if (profile->has_model && profile->model.growth == growth)
		model = profile->model;
	for (int i = 0; i < profile->row_count; i++) {
		if (profile->rows[i].steps >= STEPS_MIN &&
		    profile->rows[i].type == profile->type)
			profile->rows[i].fitted = profile->rows[i].steps;
	}
	if (plx_fit_from(&model, samples, count, &model, err) < 0)
		return -1;
	profile->model = model;
	profile->has_model = true;
	return 0;
}

static struct plx_shape largest_of(const struct plx_profile *profile, int type)
{
	struct plx_shape largest = { 0 };

	for (int i = 0; i < profile->row_count; i++) {
		const struct plx_profile_row *row = &profile->rows[i];

		if (row->type == type && row->steps >= STEPS_MIN &&
		    row->shape.gpus > largest.gpus)
			largest = row->shape;
	}
	return largest;
}

struct plx_shape plx_profile_largest(const struct plx_profile *profile)
{
	struct plx_shape here = largest_of(profile, profile->type);
	struct plx_shape there = { 0 };

	if (profile->has_base)
		there = largest_of(profile, profile->base_type);
	return there.gpus > here.gpus ? there : here;
}

/* ---- types ---- */

static uint64_t last_used(const struct plx_profile *profile, int type)
{
	uint64_t last = 0;

	for (int i = 0; i < profile->row_count; i++) {
		const struct plx_profile_row *row = &profile->rows[i];

		if (row->type == type && row->used > last)
			last = row->used;
	}
	return last;
}

static void forget_type(struct plx_profile *profile, int type)
{
	int kept = 0;

	for (int i = 0; i < profile->row_count; i++) {
		if (profile->rows[i].type != type)
			profile->rows[kept++] = profile->rows[i];
	}
	memset(&profile->rows[kept], 0,
	       sizeof(profile->rows[0]) * (size_t) (PLX_ROWS_MAX - kept));
	profile->row_count = kept;
}

/* A place for another type: a free one, or that of the one not used longest. */
static int make_type(struct plx_profile *profile)
{
	int oldest = -1;

	for (int i = 0; i < PLX_PROFILE_TYPES; i++) {
		if (i == profile->type ||
		    (profile->has_base && i == profile->base_type))
			continue;
		if (!profile->types[i][0]) {
			oldest = i;
			break;
		}
		if (oldest < 0 ||
		    last_used(profile, i) < last_used(profile, oldest))
			oldest = i;
	}
	forget_type(profile, oldest);
	memset(profile->types[oldest], 0, sizeof(profile->types[oldest]));
	return oldest;
}

static int find_type(const struct plx_profile *profile, const char *type)
{
	for (int i = 0; i < PLX_PROFILE_TYPES; i++) {
		if (!strcmp(profile->types[i], type))
			return i;
	}
	return -1;
}

/* What fits into the memory of one type need not fit into another's. */
static void change_type(struct plx_profile *profile, int type)
{
	int most = largest_of(profile, profile->base_type).gpus;

	/* The one that knows most stands for all others. */
	if (profile->has_model &&
	    (!profile->has_base || profile->base_type == profile->type ||
	     largest_of(profile, profile->type).gpus >= most)) {
		profile->base = profile->model;
		profile->base_type = profile->type;
		profile->has_base = true;
	}
	profile->type = type;
	profile->has_model = false;
	profile->fits = 0;
	profile->fits_not = 0;
	profile->free_bytes = 0;
}

void plx_profile_on(struct plx_profile *profile, const char *type)
{
	char *now = profile->types[profile->type];
	int found;

	if (!*type || !strcmp(now, type))
		return;
	found = find_type(profile, type);
	if (found < 0 && *now)
		found = make_type(profile);
	else if (found < 0)
		found = profile->type;
	strncpy(profile->types[found], type, PLX_TYPES_SIZE - 1);
	if (found != profile->type)
		change_type(profile, found);
}

bool plx_profile_goodput(const struct plx_profile *profile,
			 const struct plx_limits *limits,
			 struct plx_goodput *job)
{
	struct plx_goodput found = {
		.model = profile->model,
		.limits = *limits,
	};

	if (!profile->has_model ||
	    !plx_noise_sum(&profile->noise, &found.noise) ||
	    !plx_goodput_valid(&found))
		return false;
	*job = found;
	return true;
}

static int divide_up(int a, int b)
{
	return (a + b - 1) / b;
}

struct plx_batch plx_batch_base(const struct plx_limits *limits, int gpus)
{
	struct plx_batch batch = { .per_gpu = divide_up(limits->base_batch,
							gpus) };

	if (batch.per_gpu > limits->max_per_gpu && limits->accumulate) {
		int passes = divide_up(batch.per_gpu, limits->max_per_gpu);

		batch.accum = passes - 1;
		batch.per_gpu = divide_up(batch.per_gpu, passes);
	}
	if (batch.per_gpu > limits->max_per_gpu)
		batch.per_gpu = limits->max_per_gpu;
	if (batch.per_gpu < limits->min_per_gpu)
		batch.per_gpu = limits->min_per_gpu;
	return batch;
}

struct plx_batch plx_profile_advise(const struct plx_profile *profile,
				    const struct plx_limits *limits,
				    struct plx_shape shape,
				    struct plx_batch now, double gain)
{
	struct plx_batch best = plx_batch_base(limits, shape.gpus);
	struct plx_sample rows[PLX_ROWS_MAX];
	size_t count = samples_of(profile, rows);
	struct plx_goodput job;

	if (!plx_profile_goodput(profile, limits, &job) ||
	    !plx_batch_measured(&job, rows, count, shape, &best))
		return now.per_gpu ? now : best;
	if (now.per_gpu &&
	    plx_goodput_measured(&job, rows, count, shape, best) <
		    gain * plx_goodput_measured(&job, rows, count, shape, now))
		return now;
	return best;
}

uint64_t plx_batch_total(const struct plx_limits *limits, int gpus,
			 struct plx_batch batch)
{
	uint64_t total = (uint64_t) gpus * (uint64_t) batch.per_gpu *
			 ((uint64_t) batch.accum + 1);

	if (total > (uint64_t) limits->max_batch)
		total = (uint64_t) limits->max_batch;
	return total;
}
