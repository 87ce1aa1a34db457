/* SPDX-License-Identifier: MIT */
/* ckpt_write.c - one checkpoint being written, this rank's part in it */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/callback.h"
#include "agent/disk/checkpoint.h"
#include "agent/state/ckpt_write.h"
#include "wire/dir.h"

#define ROUND_UP(n, to) (((n) + (to) -1) / (to) * (to))

/* ---- what goes in ---- */

static struct plx_tensor bytes_tensor(const char *name, void *data,
				      size_t bytes)
{
	struct plx_tensor tensor = {
		.dtype = "U8",
		.dims = 1,
		.shape = { bytes },
		.data = data,
		.bytes = bytes,
	};

	snprintf(tensor.name, sizeof(tensor.name), "%s", name);
	return tensor;
}

/* The program turns its other state into bytes. */
static int save_blobs(struct plx_ckpt_write *job,
		      const struct plx_registered *r)
{
	struct plx_error *err = &job->report.why;
	size_t total = 0;
	size_t at = 0;

	for (int i = 0; i < r->blob_count; i++)
		total += ROUND_UP(plx_call_size(&r->blobs[i].is), 8);
	job->blobs = calloc(1, total + 1);
	if (!job->blobs)
		return plx_fail(err, "cannot get memory for %zu bytes of blobs",
				total);
	for (int i = 0; i < r->blob_count; i++) {
		const struct plx_blob *b = &r->blobs[i];
		size_t size = plx_call_size(&b->is);

		if (at + size > total)
			return plx_fail(err, "blob \"%s\" changes its size",
					b->name);
		if (plx_call_save(&b->is, job->blobs + at, size) < 0)
			return plx_fail(err, "blob \"%s\" cannot be saved",
					b->name);
		job->tensors[job->count++] =
			bytes_tensor(b->name, job->blobs + at, size);
		at += ROUND_UP(size, 8);
	}
	return 0;
}

static int list_tensors(struct plx_ckpt_write *job,
			const struct plx_registered *r)
{
	size_t size = (size_t) r->tensor_count + (size_t) r->blob_count + 1;

	if (r->domain.part)
		size += (size_t) job->who.ranks;
	job->tensors = calloc(size, sizeof(*job->tensors));
	if (!job->tensors)
		return plx_fail(&job->report.why, "out of memory");
	for (int i = 0; i < r->tensor_count; i++) {
		job->tensors[i] = r->tensors[i];
		job->state_bytes += r->tensors[i].bytes;
	}
	job->shared = job->count = r->tensor_count;
	if (job->who.rank != 0)
		return 0;
	job->tensors[job->count++] = bytes_tensor(PLX_AGENT_NAME, &job->profile,
						  sizeof(job->profile));
	return save_blobs(job, r);
}

/* What this rank has of it; the other ranks' sizes are in their reports. */
static int list_domain(struct plx_ckpt_write *job,
		       const struct plx_registered *r)
{
	const void *data = NULL;
	size_t bytes = 0;

	if (!r->domain.part)
		return 0;
	if (plx_call_part(&r->domain, &data, &bytes) < 0 || (bytes && !data))
		return plx_fail(&job->report.why,
				"the program does not give its part of the "
				"domain");
	job->has_domain = true;
	job->report.domain_bytes = bytes;
	job->state_bytes += bytes;
	for (int i = 0; i < job->who.ranks; i++) {
		bool own = i == job->who.rank;
		char name[PLX_NAME_SIZE];

		snprintf(name, sizeof(name), PLX_DOMAIN_NAME "%05d", i);
		job->tensors[job->count + i] = bytes_tensor(
			name, own ? (void *) data : NULL, own ? bytes : 0);
	}
	return 0;
}

static int deal(struct plx_ckpt_write *job)
{
	int shards =
		plx_partition_shards(job->tensors, job->shared, job->who.ranks);

	if (job->has_domain)
		shards = job->who.ranks;
	if (plx_partition_make(&job->parts, job->tensors, job->shared,
			       job->count, shards) < 0)
		return -1;
	return job->has_domain ? plx_partition_append(&job->parts, job->tensors,
						      job->count)
			       : 0;
}

static int lay_shard(struct plx_ckpt_write *job)
{
	struct plx_piece *pieces;
	int count;

	if (deal(job) < 0)
		return plx_fail(&job->report.why, "out of memory");
	job->has_shard = job->who.rank < job->parts.shards;
	if (!job->has_shard)
		return 0;
	count = plx_partition_of(&job->parts, job->who.rank, &pieces);
	return plx_shard_lay(&job->shard, job->tensors, pieces, count,
			     &job->report.why);
}

int plx_job_init(struct plx_ckpt_write *job, const struct plx_registered *r,
		 const struct plx_ckpt_order *order,
		 const struct plx_facts *facts,
		 const struct plx_profile *profile)
{
	*job = (struct plx_ckpt_write){
		.who = order->who,
		.facts = *facts,
		.profile = *profile,
		.keep = order->keep,
	};
	if (job->keep < 1)
		job->keep = 1;
	snprintf(job->folder, sizeof(job->folder), "%s", order->folder);
	job->report.rc = -1;
	if (list_tensors(job, r) < 0 || list_domain(job, r) < 0 ||
	    lay_shard(job) < 0)
		return -1;
	job->report.rc = 0;
	return 0;
}

void plx_job_release(struct plx_ckpt_write *job)
{
	plx_shard_release(&job->shard);
	plx_partition_release(&job->parts);
	free(job->tensors);
	free(job->blobs);
	job->tensors = NULL;
	job->blobs = NULL;
}

/* ---- the own file ---- */

uint64_t plx_job_bytes(const struct plx_ckpt_write *job)
{
	return ROUND_UP(plx_stream_bytes(&job->shard.stream), PLX_PAGE);
}

int plx_job_copy(struct plx_ckpt_write *job, unsigned char *image)
{
	job->report.rc =
		plx_stream_copy(&job->shard.stream, image, &job->report.why);
	job->shard.stream.image = job->report.rc == 0 ? image : NULL;
	return job->report.rc;
}

static int write_shard(struct plx_ckpt_write *job, struct plx_error *err)
{
	char name[PLX_SHARD_NAME];
	struct plx_error why;
	int dir = plx_folder_enter(job->folder, job->tmp, true, &why);
	int rc;

	if (dir < 0)
		return plx_fail(err, "cannot make its folder: %.200s",
				why.text);
	plx_shard_name(name, job->who.rank, job->parts.shards);
	rc = plx_stream_write(&job->shard.stream, dir, name, job->flush, err);
	close(dir);
	return rc;
}

void plx_job_write(struct plx_ckpt_write *job)
{
	struct plx_report *r = &job->report;
	struct plx_piece *pieces;
	int count;

	if (!job->has_shard || r->rc < 0)
		return;
	plx_folder_tmp(job->facts.step, job->tag, job->tmp);
	r->rc = write_shard(job, &r->why);
	if (r->rc < 0)
		return;
	count = plx_partition_of(&job->parts, job->who.rank, &pieces);
	r->crc = job->shard.stream.crc;
	r->bytes = plx_stream_bytes(&job->shard.stream);
	r->data_at = job->shard.segments[0].bytes;
	for (int i = 0; i < count; i++)
		r->part ^= plx_piece_crc(&pieces[i], job->shared,
					 job->shard.segments[i + 1].crc);
}

/* ---- commit ---- */

/* How much of the domain the other ranks have written. */
static void size_domain(struct plx_ckpt_write *job,
			const struct plx_report *reports)
{
	for (int i = 0; job->has_domain && i < job->parts.count; i++) {
		struct plx_piece *piece = &job->parts.pieces[i];
		struct plx_tensor *t = &job->tensors[piece->tensor];

		if (piece->tensor < job->count)
			continue;
		t->bytes = reports[piece->shard].domain_bytes;
		t->shape[0] = t->bytes;
		piece->bytes = t->bytes;
		piece->rows = t->bytes;
	}
}

/* Where in their files the other ranks' pieces are. */
static void place_pieces(struct plx_ckpt_write *job,
			 const struct plx_report *reports)
{
	uint64_t at = 0;

	for (int i = 0; i < job->parts.count; i++) {
		struct plx_piece *piece = &job->parts.pieces[i];

		if (i == 0 || piece->shard != piece[-1].shard)
			at = reports[piece->shard].data_at;
		piece->at = at;
		at += piece->bytes;
	}
}

static char *manifest_text(struct plx_ckpt_write *job, struct plx_file *files,
			   struct plx_error *err)
{
	const struct plx_manifest manifest = {
		.facts = job->facts,
		.files = files,
		.tensors = job->tensors,
		.count = job->count + (job->has_domain ? job->parts.shards : 0),
		.shared = job->shared,
		.parts = job->parts,
	};

	return plx_manifest_text(&manifest, err);
}

static int write_text(const struct plx_ckpt_write *job, const char *text,
		      struct plx_error *err)
{
	struct plx_segment segment = {
		.data = (void *) text,
		.bytes = strlen(text),
	};
	struct plx_stream stream = { .segments = &segment, .count = 1 };
	struct plx_error why;
	int dir = plx_folder_enter(job->folder, job->tmp, false, &why);
	int rc;

	if (dir < 0)
		return plx_fail(err, "cannot look into its folder: %.200s",
				why.text);
	rc = plx_stream_write(&stream, dir, PLX_MANIFEST_FILE, job->flush, err);
	close(dir);
	return rc;
}

static int write_manifest(struct plx_ckpt_write *job,
			  const struct plx_report *reports,
			  struct plx_error *err)
{
	unsigned int shards = (unsigned int) job->parts.shards;
	struct plx_file *files = calloc(shards, sizeof(*files));
	char *text = NULL;
	int rc = -1;

	if (!files)
		return plx_fail(err, "out of memory");
	job->facts.crc = 0;
	for (int i = 0; i < job->parts.shards; i++) {
		files[i] = (struct plx_file){
			.bytes = reports[i].bytes,
			.crc = reports[i].crc,
		};
		job->facts.crc ^= reports[i].part;
	}
	size_domain(job, reports);
	place_pieces(job, reports);
	text = manifest_text(job, files, err);
	if (text)
		rc = write_text(job, text, err);
	if (rc == 0 && job->flush)
		rc = plx_folder_flush_one(job->folder, job->tmp, false, err);
	free(text);
	free(files);
	return rc;
}

int plx_job_seal(struct plx_ckpt_write *job, const struct plx_report *reports,
		 struct plx_error *err)
{
	if (job->report.rc < 0)
		return plx_fail(err, "%s", job->report.why.text);
	for (int i = 0; i < job->parts.shards; i++) {
		if (reports[i].rc < 0)
			return plx_fail(err, "rank %d: %.200s", i,
					reports[i].why.text);
	}
	return write_manifest(job, reports, err);
}

/* Who holds the fence's lock: commit, remove what is old. */
static int rename_it(struct plx_ckpt_write *job, struct plx_error *err)
{
	const char *number = strchr(job->tag, '-');

	if (plx_folder_commit(job->folder, job->tmp, job->facts.step,
			      job->flush, err) < 0)
		return -1;
	plx_folder_prune(job->folder, job->keep, job->facts.flushed);
	plx_folder_clean(job->folder, job->facts.generation,
			 number ? number + 1 : "");
	return 0;
}

int plx_job_commit(struct plx_ckpt_write *job, const struct plx_report *reports,
		   const struct plx_fence *fence, struct plx_error *err)
{
	int rc = plx_job_seal(job, reports, err);
	int lock;

	if (rc == 0) {
		lock = plx_fence_enter(fence, err);
		rc = lock < 0 ? lock : rename_it(job, err);
		if (lock >= 0)
			plx_fence_leave(lock);
	}
	if (rc < 0)
		plx_job_drop(job);
	return rc;
}

void plx_job_drop(struct plx_ckpt_write *job)
{
	if (job->tmp[0])
		plx_folder_remove(job->folder, job->tmp);
}
