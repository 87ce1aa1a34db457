/* SPDX-License-Identifier: MIT */
/*
 * store.h - what is known of a run's checkpoints, by all who write or read them
 *
 * From top to bottom:
 *
 * save.c	saving, all ranks together; alike.c
 * restore.c	which checkpoint to go on from; restore_read.c
 * sigterm.c	we are told to leave
 * rescue.c	saving, one rank alone
 * background.c	saving while training goes on
 * store.c	this
 * ckpt_write.c	one checkpoint, one rank's share
 * manifest.c, shard.c, shard_split.c, stream.c, folder.c, fence.c
 *		how it lies on disk
 */
#ifndef PLX_AGENT_STORE_H
#define PLX_AGENT_STORE_H

#include <pthread.h>

#include "agent/disk/fence.h"
#include "agent/state/agent.h"
#include "agent/state/ckpt_write.h"

/* Not saved (a line says why), the last good one stands. */
#define PLX_SAVE_LATER 1

/* How a save ended. */
struct plx_outcome {
	int rc; /* 0, PLX_SAVE_LATER or of enum pollux_status */
	uint32_t crc;
	bool flushed;
	uint64_t step;
	size_t bytes;		    /* of the state */
	double seconds;		    /* from its begin to its commit */
	char left[PLX_FOLDER_NAME]; /* what a failed one may have left behind */
	bool stands;		    /* there is one before it, ... */
	uint64_t newest;	    /* ... of this step */
	struct plx_error err;
};

/* After plx_job_commit() said rc. */
void plx_outcome_fill(struct plx_outcome *outcome,
		      const struct plx_ckpt_write *job, int rc);

/* A save in the background; its thread's while that runs. */
struct plx_background {
	pthread_t thread;
	bool pending;	   /* all ranks have one, and have not met since */
	bool begun;	   /* the thread is there, to be joined */
	bool deferred;	   /* rank 0 could not have a thread */
	_Atomic bool done; /* joining will not block */
	_Atomic bool stop; /* give up waiting for other ranks */
	bool written;	   /* the own share, before the thread began */
	struct plx_report *reports; /* of all ranks, once ... */
	_Atomic bool told;	    /* ... this is set */
	double begin_s;
	struct plx_ckpt_write job;
	const struct plx_fence *fence;
	struct plx_outcome outcome; /* rank 0's */
};

struct plx_guard;

struct plx_store {
	struct plx_fence fence;
	uint32_t number; /* in the names of files being written; all ranks' */
	uint32_t serial; /* saves begun, by all ranks */

	/* Rank 0's view of what was. */
	double tried_s; /* end of the last try; 0: none */
	int failures;	/* of tries, in a row */
	double cost_s;	/* what a save costs training, 0: unknown */
	double disk_s;	/* how long it takes in all */
	bool fenced;	/* a newer generation is there: */
	struct plx_error why;
	uint64_t newest; /* step of the newest that is there, ... */
	bool has_newest; /* ... if there is one ... */
	bool is_flushed; /* ... and it would survive a loss of power */
	uint32_t crc;	 /* of its state */
	char left[PLX_FOLDER_NAME]; /* of one that failed, "" for none */

	struct plx_background background;
	unsigned char *image; /* room for a copy of the own share */
	size_t image_bytes;
	pthread_t toucher; /* gets its pages ... */
	bool touching;	   /* ... if there is one */
	uint64_t commits;

	pthread_mutex_t lock;  /* of all below */
	pthread_cond_t moved;  /* one of the next two changed */
	bool changing;	       /* the program changes the state */
	_Atomic bool rescuing; /* it is being read for a rescue */
	bool has_commit;       /* there is something to rescue: */
	struct plx_cursor cursor;
	struct plx_profile profile;

	struct plx_guard *guard;
};

/* Whether what was saved is this training's: dataset and seed. */
int plx_store_fits(const struct pollux *p, const struct plx_facts *facts,
		   struct plx_error *err);

/* Where training is, as a manifest says it. */
struct plx_facts plx_store_facts(const struct pollux *p,
				 const struct plx_cursor *cursor, bool flush);

/* Who writes to where; borrows p's folder. */
struct plx_ckpt_order plx_store_order(const struct pollux *p,
				      struct plx_writer_rank who);

/* The name for files of the next save. */
void plx_store_tag(const struct plx_store *store, const char *kind,
		   char tag[PLX_TAG_SIZE]);

/* Rank 0 learns how a save ended, and tells. */
void plx_store_note(struct pollux *p, const struct plx_outcome *outcome);

#endif
