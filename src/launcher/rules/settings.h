/* SPDX-License-Identifier: GPL-2.0-or-later */
/* settings.h - what the user and the job ask of pollux-launch */
#ifndef PLX_LAUNCHER_SETTINGS_H
#define PLX_LAUNCHER_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#define PLX_LIMIT_OFF -1.0 /* limit_margin_s: no save for the limit */
#define PLX_WARM_AUTO -1   /* warm_timeout_s: from the starts seen so far */

enum plx_loudness { PLX_QUIET, PLX_NORMAL, PLX_VERBOSE };

/* Reach rank 0 through a step on its node? AUTO: if it is away. */
enum plx_relaying { PLX_RELAY_AUTO, PLX_RELAY_ALWAYS, PLX_RELAY_NEVER };

/* How ranks are told to save: by a message, or by a signal; AUTO: see man. */
enum plx_on_resize {
	PLX_ON_RESIZE_AUTO,
	PLX_ON_RESIZE_LIBPOLLUX,
	PLX_ON_RESIZE_SIGNAL,
};

struct plx_registry;

/* All borrowed for the launcher's life. */
struct plx_settings {
	uint32_t job_id;
	uint32_t wake;	  /* our step, or PLX_WAKE_* of core/records/status.h */
	const char *node; /* ours, NULL: not a node of the cluster */
	const char *params;	   /* --scheduler-params, NULL: not elastic */
	const char *folder;	   /* of checkpoints; absolute, exists */
	const char *mpi;	   /* for srun --mpi= */
	char *const *srun_options; /* NULL-terminated, may be NULL */
	char *const *program;	   /* and its arguments, NULL-terminated */
	enum plx_loudness loudness;
	double poll_s;		/* between looks at the job's record */
	double hint_interval_s; /* between hints passed on, at least */
	double save_timeout_s;	/* for ranks to save and leave */
	double limit_margin_s;	/* before the time limit, to save */
	int max_restarts;	/* after faults, without progress */
	enum plx_relaying relay;
	bool prewarm;	       /* start ahead what is to follow */
	double warm_timeout_s; /* for it to be ready, as in start_time.h */
	double hang_timeout_s; /* as in hang.h */
	enum plx_on_resize on_resize;
	int stop_signal;      /* of programs without libpollux */
	int saved_code;	      /* their exit code: saved, start me again */
	char *const *wrapper; /* what starts each rank, NULL-terminated */
	const char *notes;    /* folder it leaves notes in (rank_notes.h) */
	const char *json_log; /* of events, NULL: only DIR/events.jsonl */
	bool progress;	      /* a line on the terminal, if there is one */
	/* Without Slurm: who keeps the record. NULL: slurmctld. */
	const struct plx_registry *registry;
	const char *devices; /* of this machine, "0,1"; "": none wanted */
};

#endif
