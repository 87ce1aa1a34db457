/* SPDX-License-Identifier: MIT */
/*
 * background.c - save while training goes on
 *
 * At the step's boundary each rank copies its share; a thread writes it. No
 * collective may be used beside the training's, so the others tell rank 0's
 * thread through a small file beside their share, which is removed before
 * the commit. What rank 0 has not heard when all ranks meet for the next save
 * it is told then.
 */
#include <config.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/disk/folder.h"
#include "agent/state/background.h"
#include "agent/state/say.h"
#include "agent/state/store.h"
#include "wire/dir.h"
#include "wire/free_memory.h"
#include "wire/now.h"
#include "wire/thread.h"

#define NAP_MIN_NS 1000000
#define NAP_MAX_NS 50000000

#define FOR_OTHERS (UINT64_C(1) << 20) /* header, profile, small blobs */

/* No more than this part of the memory that is left is used for copies. */
#define SHARE_OF_MEMORY 0.5

/* ---- the word to rank 0 ---- */

static void word_name(int rank, const char *end, char name[PLX_FOLDER_NAME])
{
	snprintf(name, PLX_FOLDER_NAME, "report-%05d%s", rank, end);
}

static FILE *open_word(int dir, const char *name, int flags, const char *mode)
{
	int fd = plx_dir_file(dir, name, flags, NULL);
	FILE *file = fd >= 0 ? fdopen(fd, mode) : NULL;

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

static bool write_word(int dir, const char *name, const struct plx_report *r)
{
	FILE *out = open_word(dir, name, O_WRONLY | O_CREAT | O_TRUNC, "w");

	if (!out)
		return false;
	fprintf(out,
		"%d %08" PRIx32 " %08" PRIx32 " %" PRIu64 " %" PRIu64
		" %" PRIu64 " %s\n",
		r->rc, r->crc, r->part, r->bytes, r->data_at, r->domain_bytes,
		r->why.text);
	return fclose(out) == 0;
}

/* Best effort: what is not heard so is heard at the next save. */
static void tell(struct plx_ckpt_write *job)
{
	char draft[PLX_FOLDER_NAME];
	char last[PLX_FOLDER_NAME];
	int dir;

	plx_folder_tmp(job->facts.step, job->tag, job->tmp);
	dir = plx_folder_enter(job->folder, job->tmp, true, NULL);
	if (dir < 0)
		return;
	word_name(job->who.rank, ".new", draft);
	word_name(job->who.rank, "", last);
	if (write_word(dir, draft, &job->report))
		plx_dir_rename(dir, draft, last);
	close(dir);
}

static bool read_word(int dir, const char *name, struct plx_report *r)
{
	FILE *in = open_word(dir, name, O_RDONLY, "r");
	int got;

	if (!in)
		return false;
	got = fscanf(in,
		     "%d %" SCNx32 " %" SCNx32 " %" SCNu64 " %" SCNu64
		     " %" SCNu64 " %255[^\n]",
		     &r->rc, &r->crc, &r->part, &r->bytes, &r->data_at,
		     &r->domain_bytes, r->why.text);
	fclose(in);
	return got >= 6;
}

static bool hear(const struct plx_ckpt_write *job, int rank,
		 struct plx_report *r)
{
	int dir = plx_folder_enter(job->folder, job->tmp, false, NULL);
	char name[PLX_FOLDER_NAME];
	bool heard;

	if (dir < 0)
		return false;
	word_name(rank, "", name);
	heard = read_word(dir, name, r);
	close(dir);
	return heard;
}

/* All ranks' words. */
static void remove_words(const struct plx_ckpt_write *job)
{
	int dir = plx_folder_enter(job->folder, job->tmp, false, NULL);
	char name[PLX_FOLDER_NAME];

	if (dir < 0)
		return;
	for (int rank = 1; rank < job->parts.shards; rank++) {
		word_name(rank, "", name);
		plx_dir_remove(dir, name);
	}
	close(dir);
}

/* Rank 0 waits for all; false when it is to give up. */
static bool hear_all(struct plx_background *b, struct plx_report *reports)
{
	struct timespec nap = { .tv_nsec = NAP_MIN_NS };
	int rank = 1;

	while (rank < b->job.parts.shards) {
		if (b->told) {
			reports[rank] = b->reports[rank];
			rank++;
		} else if (hear(&b->job, rank, &reports[rank])) {
			nap.tv_nsec = NAP_MIN_NS;
			rank++;
		} else if (b->stop) {
			return false;
		} else {
			nanosleep(&nap, NULL);
			if (nap.tv_nsec < NAP_MAX_NS)
				nap.tv_nsec *= 2;
		}
	}
	remove_words(&b->job);
	return true;
}

/* ---- the thread ---- */

static void commit(struct plx_background *b)
{
	struct plx_outcome *out = &b->outcome;
	struct plx_ckpt_write *job = &b->job;
	struct plx_report *reports;
	int rc = -1;

	reports = calloc((size_t) job->who.ranks, sizeof(*reports));
	if (!reports) {
		plx_fail(&out->err, "out of memory");
	} else {
		reports[0] = job->report;
		if (job->report.rc < 0)
			rc = plx_fail(&out->err, "%s", job->report.why.text);
		else if (!hear_all(b, reports))
			rc = plx_fail(&out->err, "training has ended");
		else
			rc = plx_job_commit(job, reports, b->fence, &out->err);
	}
	free(reports);
	if (rc < 0)
		plx_job_drop(job);
	plx_outcome_fill(out, job, rc);
	out->seconds = plx_now_s() - b->begin_s;
}

static void *run(void *arg)
{
	struct plx_background *b = arg;
	struct plx_ckpt_write *job = &b->job;

	if (!b->written)
		plx_job_write(job);
	if (job->who.rank == 0)
		commit(b);
	else if (job->has_shard || job->report.rc < 0)
		tell(job);
	b->done = true;
	return NULL;
}

/* ---- the copy ---- */

/* Pages are got when they are first touched, which takes longest. */
static void *touch(void *arg)
{
	struct plx_store *s = arg;

	for (uint64_t at = 0; at < s->image_bytes; at += PLX_PAGE)
		((volatile unsigned char *) s->image)[at] = 0;
	return NULL;
}

static void end_touch(struct plx_store *s)
{
	if (s->touching)
		pthread_join(s->toucher, NULL);
	s->touching = false;
}

/* Kept for the next time; NULL when it would be too much. */
static unsigned char *get_image(struct pollux *p, uint64_t bytes)
{
	struct plx_store *s = p->store;
	double most = SHARE_OF_MEMORY * (double) plx_free_memory("");
	void *image;

	end_touch(s);
	if (s->image_bytes >= bytes)
		return s->image;
	(void) plx_background_forget(s);
	/* All ranks of this node do the same now. */
	if ((double) bytes * p->coll->local_ranks > most)
		return NULL;
	image = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (image == MAP_FAILED)
		return NULL;
	/* Not for children, as data loaders are: they would have to pay. */
	madvise(image, bytes, MADV_DONTFORK);
	madvise(image, bytes, MADV_HUGEPAGE);
	s->image = image;
	s->image_bytes = bytes;
	return image;
}

bool plx_background_forget(struct plx_store *store)
{
	end_touch(store);
	if (!store->image)
		return false;
	munmap(store->image, store->image_bytes);
	store->image = NULL;
	store->image_bytes = 0;
	return true;
}

void plx_background_prepare(struct pollux *p)
{
	struct plx_store *s = p->store;
	struct plx_partition parts;
	struct plx_piece *pieces;
	uint64_t bytes = FOR_OTHERS;
	int count;

	if (s->image || s->touching)
		return;
	if (plx_partition_make(&parts, p->registered.tensors,
			       p->registered.tensor_count,
			       p->registered.tensor_count,
			       plx_partition_shards(p->registered.tensors,
						    p->registered.tensor_count,
						    p->coll->ranks)) == 0 &&
	    p->coll->rank < parts.shards) {
		count = plx_partition_of(&parts, p->coll->rank, &pieces);
		for (int i = 0; i < count; i++)
			bytes += pieces[i].bytes;
		s->touching = get_image(p, bytes) &&
			      plx_thread_begin(&s->toucher, touch, s) == 0;
	}
	plx_partition_release(&parts);
}

static void copy(struct pollux *p, struct plx_background *b)
{
	unsigned char *image;

	if (!b->job.has_shard || b->job.report.rc < 0)
		return;
	image = get_image(p, plx_job_bytes(&b->job));
	if (image) {
		(void) plx_job_copy(&b->job, image);
		return;
	}
	plx_say(p, "no memory for a copy of the state: training waits for "
		   "the disk");
	plx_job_write(&b->job);
	b->written = true;
}

void plx_background_begin(struct pollux *p)
{
	struct plx_background *b = &p->store->background;

	b->pending = true;
	b->begun = true;
	b->done = false;
	b->told = false;
	b->written = false;
	b->fence = &p->store->fence;
	b->begin_s = plx_now_s();
	b->outcome = (struct plx_outcome){ .rc = PLX_SAVE_LATER };
	copy(p, b);
	if (plx_thread_begin(&b->thread, run, b) == 0)
		return;
	/* Without a thread; rank 0 commits when all ranks meet again. */
	b->begun = false;
	b->deferred = p->coll->rank == 0;
	if (!b->deferred)
		run(b);
}

void plx_background_look(struct pollux *p)
{
	struct plx_background *b = &p->store->background;

	if (!b->begun || !b->done)
		return;
	pthread_join(b->thread, NULL);
	b->begun = false;
	plx_store_note(p, &b->outcome);
}

/* Reports of all to rank 0, whose thread may be waiting for some. */
static int gather(struct pollux *p, struct plx_background *b)
{
	size_t ranks = (size_t) p->coll->ranks;
	struct plx_report own = { .rc = 0 };
	int rc;

	if (p->coll->rank != 0) {
		own = b->job.report;
	} else {
		b->reports = calloc(ranks, sizeof(*b->reports));
		if (!b->reports) {
			b->stop = true;
			return plx_fail(&p->err, "out of memory");
		}
	}
	rc = p->coll->ops->gather(p->coll, &own, sizeof(own), b->reports,
				  &p->err);
	b->told = rc == 0;
	b->stop = rc < 0;
	return rc;
}

int plx_background_end(struct pollux *p)
{
	struct plx_background *b = &p->store->background;
	int rc;

	if (!b->pending)
		return 0;
	b->pending = false;
	if (p->coll->rank != 0 && b->begun)
		pthread_join(b->thread, NULL);
	rc = gather(p, b);
	if (p->coll->rank == 0 && b->begun)
		pthread_join(b->thread, NULL);
	if (b->deferred)
		run(b);
	if (b->begun || b->deferred)
		plx_store_note(p, &b->outcome);
	b->begun = false;
	b->deferred = false;
	free(b->reports);
	b->reports = NULL;
	plx_job_release(&b->job);
	return rc;
}

void plx_background_release(struct plx_store *store)
{
	struct plx_background *b = &store->background;

	b->stop = true;
	if (b->begun)
		pthread_join(b->thread, NULL);
	b->begun = false;
	if (b->pending)
		plx_job_release(&b->job);
	b->pending = false;
	(void) plx_background_forget(store);
}
