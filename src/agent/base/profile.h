/* SPDX-License-Identifier: MIT */
/*
 * profile.h - what was measured on each shape, and the batch it advises
 *
 * Times are of one type of GPU. On another type there is no model until steps
 * were timed there. Then what the former type's GPUs took for a pass is scaled
 * by one ratio, measured over predicted. All-reduces are taken to last as long.
 * The noise of gradients is of the training, whatever computes it.
 *
 * Plain data, saved with the state as bytes: a restarted training knows all
 * its former shapes. Rank 0's times count. Pure: times come as arguments.
 */
#ifndef PLX_AGENT_PROFILE_H
#define PLX_AGENT_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/model/goodput.h"
#include "core/model/noise.h"
#include "core/records/gpu_type.h"

#define PLX_ROWS_MAX	    128
#define PLX_PROFILE_VERSION 5
#define PLX_PROFILE_TYPES   4

/*
 * Running means of one type, shape and batch per GPU, of the last 64 times or
 * so: when nodes are not busy any more, that shows after some hundred steps.
 */
struct plx_profile_row {
	struct plx_shape shape;
	int per_gpu;
	int type;      /* index of the profile's types */
	double passes; /* how many were timed */
	double pass_s; /* their mean */
	double steps;  /* synchronising passes timed */
	double step_s; /* mean of a pass with its all-reduce and update */
	double fitted; /* steps when the model last saw this row */
	uint64_t used; /* optimiser step of the last use, for eviction */
};

struct plx_profile {
	uint32_t version;
	uint32_t size; /* of this struct: else it is another layout */
	int row_count;
	bool has_model;
	bool differenced; /* noise holds estimates of one GPU */
	struct plx_profile_row rows[PLX_ROWS_MAX];
	struct plx_model model;
	struct plx_noise_groups noise;
	double progress;   /* iterations at the base batch so far */
	double restart_s;  /* last seen cost of a restart, 0: not seen */
	int fits;	   /* samples of the largest pass that went well */
	int fits_not;	   /* of the smallest that did not, 0: none */
	double free_bytes; /* of a GPU when it did not; 0: not known */
	char types[PLX_PROFILE_TYPES][PLX_TYPES_SIZE]; /* ""; not known */
	int type;	       /* of these GPUs; model is of this one */
	int base_type;	       /* another, and ... */
	struct plx_model base; /* ... the model that was fitted there */
	bool has_base;
};

void plx_profile_init(struct plx_profile *profile);

/* Read from a file that may be of another version. */
bool plx_profile_valid(const struct plx_profile *profile);

/* As it was saved; one of another version, or layout, is begun anew. */
void plx_profile_take(struct plx_profile *profile, const void *data,
		      uint64_t bytes);

/*
 * Times are of this type from now on; "": it is not known, and taken for the
 * same. A type that was not known before is taken for this one.
 */
void plx_profile_on(struct plx_profile *profile, const char *type);

/* The row of (shape, m), made if new: the least recently used goes. */
struct plx_profile_row *plx_profile_row(struct plx_profile *profile,
					struct plx_shape shape, int per_gpu,
					uint64_t step);

void plx_row_add_pass(struct plx_profile_row *row, double pass_s);
void plx_row_add_step(struct plx_profile_row *row, double step_s);

/*
 * Some row is new, has twice the measurements the model was fitted to, or 64
 * more and is not where the model says.
 */
bool plx_profile_stale(const struct plx_profile *profile);

/*
 * Fit a model of this growth to the rows of this type and, by the measured
 * ratio, of the base, from the last one if it is of the same. On failure it
 * stays as it was. A row does not count while one of the same shape that was
 * used later shows that it was disturbed.
 */
int plx_profile_fit(struct plx_profile *profile, enum plx_growth growth,
		    struct plx_error *err);

/*
 * The shape with most GPUs that was measured, here or on the type that the
 * model is scaled from; zeros when none was.
 */
struct plx_shape plx_profile_largest(const struct plx_profile *profile);

/* The goodput function so far; false until both halves are known. */
bool plx_profile_goodput(const struct plx_profile *profile,
			 const struct plx_limits *limits,
			 struct plx_goodput *job);

/* The smallest batch that is not below base_batch: for the unprofiled. */
struct plx_batch plx_batch_base(const struct plx_limits *limits, int gpus);

/* A change of batch must be worth it: estimates wander by a few percent. */
#define PLX_CHANGE_GAIN 1.05

/*
 * The batch to use on this shape: the best, by the model and what was measured
 * there, if it is `gain` times as good as `now`, else now. now.per_gpu = 0:
 * none in use yet.
 */
struct plx_batch plx_profile_advise(const struct plx_profile *profile,
				    const struct plx_limits *limits,
				    struct plx_shape shape,
				    struct plx_batch now, double gain);

/* gpus * m * (s + 1), at most max_batch. */
uint64_t plx_batch_total(const struct plx_limits *limits, int gpus,
			 struct plx_batch batch);

#endif
