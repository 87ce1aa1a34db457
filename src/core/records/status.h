/* SPDX-License-Identifier: MIT */
/* status.h - what a job's launcher tells the scheduler (docs/resize.md) */
#ifndef PLX_CORE_STATUS_H
#define PLX_CORE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/records/failed.h"
#include "core/records/hint.h"

enum plx_phase {
	PLX_PHASE_STARTING,
	PLX_PHASE_TRAINING,
	PLX_PHASE_SAVING,
	PLX_PHASE_WAITING,
	PLX_PHASE_DONE,
};

#define PLX_WAKE_NONE  UINT32_MAX	/* launcher only polls */
#define PLX_WAKE_BATCH (UINT32_MAX - 1) /* launcher runs in the batch step */

#define PLX_LEAD_MAX_S 86400

struct plx_status {
	uint32_t launcher; /* step number, or PLX_WAKE_* */
	uint32_t ack;	   /* serial of the last target answered, 0: none */
	bool live;	   /* its ranks train on meanwhile */
	bool busy; /* they are to leave, and one is busy between steps */
	enum plx_phase phase;
	int want;	   /* GPUs that the program asks for; 0: as many as are
			      of use */
	int lead_s;	   /* before its time limit it is to be asked to save;
			      0: untold */
	int resizes;	   /* of this job so far */
	double pause_s[2]; /* median and worst pause of them */
	struct plx_failed failed; /* ranks that were to train */
	bool has_hint;		  /* false: unprofiled */
	struct plx_hint hint;
};

const char *plx_phase_name(enum plx_phase phase);

/* The section's fields. -1 when they do not fit. */
int plx_status_write(const struct plx_status *status, char *fields, size_t size,
		     struct plx_error *err);

/*
 * Read a job's comment. 1: a status (has_hint false and err set when its
 * hint is broken); 0: no section at all; -1: a broken section, err says why.
 */
int plx_status_read(const char *comment, struct plx_status *status,
		    struct plx_error *err);

/* The same, for who needs no hint: it is not read, and has_hint is false. */
int plx_status_read_answer(const char *comment, struct plx_status *status,
			   struct plx_error *err);

#endif
