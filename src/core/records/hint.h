/* SPDX-License-Identifier: MIT */
/*
 * hint.h - what a job's agent tells the scheduler
 *
 * Fields of the status section (docs/resize.md): "batch=M0,max,minm,maxm,acc"
 * "model=7 numbers" "sync=growth,two" "switches=part,further" "noise=sqr,var"
 * "profiled=nodes,gpus" "now=m,s" "progress=0..1" "left=samples" "restart=s"
 * "lr=" "speed=" "goodput=" "loss=" "type=". Under 770 bytes.
 */
#ifndef PLX_CORE_HINT_H
#define PLX_CORE_HINT_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/fields.h"
#include "core/model/goodput.h"
#include "core/records/gpu_type.h"

#define PLX_RESTART_MAX_S 3600.0

struct plx_hint {
	struct plx_goodput job;	   /* model, noise, limits */
	struct plx_shape profiled; /* largest shape measured, >= 1 GPU */
	struct plx_batch now;	   /* in use */
	double progress;	   /* 0 to 1, share of the training done */
	/* To be trained on, at what one of the base batch is worth; 0: untold.
	 */
	double samples_left;
	double restart_s; /* training lost by a resize, from 0 */
	double lr;	  /* in use */
	double speed;	  /* measured now, samples/s */
	double goodput;	  /* the same, times statistical efficiency */
	double loss;	  /* last mean training loss */
	/* Of GPU, that the model is of; "": untold. */
	char type[PLX_TYPES_SIZE];
};

void plx_hint_write(struct plx_writer *w, const struct plx_hint *hint);

/*
 * 1 when fields hold a whole, sane hint; 0 when they hold none; -1 with err
 * set when it is broken (NaN, out of range, missing part).
 */
int plx_hint_read(const char *fields, struct plx_hint *hint,
		  struct plx_error *err);

#endif
