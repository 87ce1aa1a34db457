/* SPDX-License-Identifier: MIT */
/*
 * restore_read.c - the state out of a checkpoint, on however many ranks
 *
 * On few nodes every rank reads and checks all of it: the page cache, or the
 * file system's, has it after the first. On many, rank 0 reads, and it goes
 * over their network, which is faster than so many readers of one file.
 */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/callback.h"
#include "agent/disk/checkpoint.h"
#include "agent/gpu/device.h"
#include "agent/state/restore_read.h"
#include "agent/state/restore_shard.h"
#include "agent/state/store.h"

#define READERS_MAX 4 /* nodes that read for themselves */
#define BOUNCE	    (UINT64_C(8) << 20)

/* What is read, where it goes. */
struct incoming {
	const struct plx_manifest *manifest;
	struct plx_source from;
	struct plx_tensor *to; /* one for each tensor of the manifest */
	unsigned char **own;   /* memory for what is no array */
	uint32_t crc;	       /* of the arrays, as far as read */
};

/* What a rank has to say; plain data. */
struct verdict {
	enum plx_read read;
	struct plx_error why;
};

/* ---- where it goes ---- */

static const struct plx_tensor *find_array(struct plx_registered *r,
					   const char *name)
{
	int i = plx_names_tensor(r, name);

	return i >= 0 ? &r->tensors[i] : NULL;
}

static const struct plx_blob *find_blob(struct plx_registered *r,
					const char *name)
{
	int i = plx_names_blob(r, name);

	return i >= 0 ? &r->blobs[i] : NULL;
}

/* Not the program's bytes of rank 0, but a part of the domain. */
static bool is_domain(const struct plx_tensor *t)
{
	return !strncmp(t->name, PLX_DOMAIN_NAME, strlen(PLX_DOMAIN_NAME));
}

static int count_parts(const struct plx_manifest *m)
{
	int parts = 0;

	for (int i = m->shared; i < m->count; i++)
		parts += is_domain(&m->tensors[i]);
	return parts;
}

static bool same_layout(const struct plx_tensor *a, const struct plx_tensor *b)
{
	if (strcmp(a->dtype, b->dtype) != 0 || a->dims != b->dims)
		return false;
	for (int i = 0; i < a->dims; i++) {
		if (a->shape[i] != b->shape[i])
			return false;
	}
	return true;
}

static int place_array(struct plx_registered *r, struct plx_tensor *to,
		       struct plx_error *err)
{
	const struct plx_tensor *want = find_array(r, to->name);

	if (!want)
		return plx_fail(err, "its tensor \"%s\" is not registered here",
				to->name);
	if (!same_layout(want, to))
		return plx_fail(err,
				"tensor \"%s\" has another type or shape there",
				to->name);
	to->data = want->data;
	to->memory = want->memory;
	return 0;
}

static int place_other(struct plx_registered *r, struct incoming *in, int i,
		       struct plx_error *err)
{
	struct plx_tensor *to = &in->to[i];

	/* Memory for a part of the domain is got when it is read. */
	if (is_domain(to))
		return r->domain.part
			       ? 0
			       : plx_fail(err, "its domain is not registered "
					       "here");
	if (strcmp(to->name, PLX_AGENT_NAME) != 0 && !find_blob(r, to->name))
		return plx_fail(err, "its blob \"%s\" is not registered here",
				to->name);
	in->own[i] = calloc(1, to->bytes + 1);
	if (!in->own[i])
		return plx_fail(err, "no memory for blob \"%s\"", to->name);
	to->data = in->own[i];
	return 0;
}

/* What is registered must be there. */
static int check_all_there(struct plx_registered *r, const struct incoming *in,
			   struct plx_error *err)
{
	const struct plx_manifest *m = in->manifest;
	int blobs = 0;

	/* Names are unique on both sides, and all of theirs are ours. */
	if (m->shared != r->tensor_count) {
		for (int i = 0; i < r->tensor_count; i++) {
			int k = 0;

			while (k < m->shared && strcmp(m->tensors[k].name,
						       r->tensors[i].name) != 0)
				k++;
			if (k == m->shared)
				return plx_fail(err, "it has no tensor \"%s\"",
						r->tensors[i].name);
		}
	}
	for (int i = m->shared; i < m->count; i++)
		blobs += find_blob(r, m->tensors[i].name) != NULL;
	if (r->domain.part && !count_parts(m))
		return plx_fail(err, "it has no domain");
	if (blobs != r->blob_count)
		return plx_fail(err, "it has %d of the %d registered blobs",
				blobs, r->blob_count);
	return 0;
}

static int place(struct plx_registered *r, struct incoming *in,
		 struct plx_error *err)
{
	const struct plx_manifest *m = in->manifest;
	size_t count = (size_t) m->count;

	in->to = calloc(count + 1, sizeof(*in->to));
	in->own = calloc(count + 1, sizeof(*in->own));
	if (!in->to || !in->own)
		return plx_fail(err, "out of memory");
	memcpy(in->to, m->tensors, count * sizeof(*in->to));
	for (int i = 0; i < m->count; i++) {
		int rc = i < m->shared ? place_array(r, &in->to[i], err)
				       : place_other(r, in, i, err);

		if (rc < 0)
			return -1;
	}
	in->from.to = in->to;
	return check_all_there(r, in, err);
}

static void release(struct incoming *in)
{
	for (int i = 0; in->own && i < in->manifest->count; i++)
		free(in->own[i]);
	free(in->own);
	free(in->to);
}

/* ---- all ranks ---- */

/* The tensor that is this shard's part of the domain; -1: none. */
static int part_of(const struct plx_manifest *m, int shard)
{
	for (int i = 0; i < m->parts.count; i++) {
		const struct plx_piece *piece = &m->parts.pieces[i];

		if (piece->shard == shard && piece->tensor >= m->shared &&
		    is_domain(&m->tensors[piece->tensor]))
			return piece->tensor;
	}
	return -1;
}

/* A part is read, given to the program, and forgotten. */
static int give_part(struct pollux *p, const struct incoming *in, int tensor,
		     struct plx_error *err)
{
	const struct plx_tensor *t = &in->to[tensor];
	const struct pollux_domain_part part = {
		.size = sizeof(part),
		.data = t->data,
		.bytes = t->bytes,
		.part = atoi(t->name + strlen(PLX_DOMAIN_NAME)),
		.parts = count_parts(in->manifest),
		.rank = p->coll->rank,
		.ranks = p->coll->ranks,
	};

	if (part.part < 0 || part.part >= part.parts)
		return plx_fail(err, "\"%s\" is no part of %d", t->name,
				part.parts);
	if (plx_call_redistribute(&p->registered.domain, &part) >= 0)
		return 0;
	return plx_fail(err,
			"the program does not take part %d of %d of its domain",
			part.part, part.parts);
}

static enum plx_read read_shard(struct pollux *p, struct incoming *in,
				int shard, struct plx_error *err)
{
	int tensor = part_of(in->manifest, shard);
	enum plx_read read = PLX_READ_GOOD;

	if (tensor >= 0) {
		in->own[tensor] = malloc(in->to[tensor].bytes + 1);
		in->to[tensor].data = in->own[tensor];
		if (!in->own[tensor]) {
			plx_fail(err, "no memory for a part of the domain");
			return PLX_READ_FOREIGN;
		}
	}
	if (plx_restore_shard(in->manifest, &in->from, shard, &in->crc, err) <
	    0)
		read = PLX_READ_BROKEN;
	else if (tensor >= 0 && give_part(p, in, tensor, err) < 0)
		read = PLX_READ_FOREIGN;
	if (tensor >= 0) {
		free(in->own[tensor]);
		in->own[tensor] = NULL;
	}
	return read;
}

static void read_own(struct pollux *p, struct incoming *in, bool reader,
		     struct verdict *verdict)
{
	if (plx_store_fits(p, &in->manifest->facts, &verdict->why) < 0 ||
	    place(&p->registered, in, &verdict->why) < 0) {
		verdict->read = PLX_READ_FOREIGN;
		return;
	}
	for (int i = 0; reader && verdict->read == PLX_READ_GOOD &&
			i < in->manifest->parts.shards;
	     i++)
		verdict->read = read_shard(p, in, i, &verdict->why);
}

/* The worst that a rank has to say is what all go by. */
static int agree(struct pollux *p, struct verdict *verdict)
{
	size_t ranks = (size_t) p->coll->ranks;
	struct verdict *all = NULL;
	int rc;

	if (p->coll->rank == 0) {
		all = calloc(ranks, sizeof(*all));
		if (!all)
			return plx_fail(&p->err, "out of memory");
	}
	rc = p->coll->ops->gather(p->coll, verdict, sizeof(*verdict), all,
				  &p->err);
	for (size_t i = 0; rc == 0 && all && i < ranks; i++) {
		if (all[i].read > verdict->read)
			*verdict = all[i];
	}
	free(all);
	if (rc == 0)
		rc = p->coll->ops->spread(p->coll, verdict, sizeof(*verdict),
					  &p->err);
	return rc;
}

/* A tensor from rank 0 to all, through the host's memory if need be. */
static int spread_tensor(struct pollux *p, const struct plx_tensor *t)
{
	const struct plx_coll_ops *ops = p->coll->ops;
	char *bounce;
	int rc = 0;

	if (t->memory == POLLUX_HOST)
		return ops->spread(p->coll, t->data, t->bytes, &p->err);
	bounce = malloc(BOUNCE);
	if (!bounce)
		return plx_fail(&p->err, "out of memory");
	for (uint64_t at = 0; rc == 0 && at < t->bytes; at += BOUNCE) {
		uint64_t left = t->bytes - at;
		size_t size = left < BOUNCE ? left : BOUNCE;
		char *data = (char *) t->data + at;

		if (p->coll->rank == 0)
			rc = plx_device_read(bounce, data, size, t->memory,
					     &p->err);
		if (rc == 0)
			rc = ops->spread(p->coll, bounce, size, &p->err);
		if (rc == 0 && p->coll->rank != 0)
			rc = plx_device_write(data, bounce, size, t->memory,
					      &p->err);
	}
	free(bounce);
	return rc;
}

int plx_restore_spread(struct pollux *p)
{
	for (int i = 0; i < p->registered.tensor_count; i++) {
		if (spread_tensor(p, &p->registered.tensors[i]) < 0)
			return -1;
	}
	return p->coll->ops->spread(p->coll, &p->profile, sizeof(p->profile),
				    &p->err);
}

/* ---- what was read ---- */

/* It is in place; is it what was saved? Who has read it knows. */
static void check_crc(const struct incoming *in, bool reader,
		      struct verdict *verdict)
{
	const struct plx_manifest *m = in->manifest;
	uint32_t crc = reader ? in->crc : 0;

	for (int i = 0; !reader && i < m->shared; i++) {
		const struct plx_tensor *t = &in->to[i];

		if (plx_device_crc(&crc, t->data, t->bytes, t->memory,
				   &verdict->why) < 0) {
			verdict->read = PLX_READ_LOST;
			return;
		}
	}
	if (crc == m->facts.crc)
		return;
	plx_fail(&verdict->why,
		 "restored state has crc %08" PRIx32 ", saved was %08" PRIx32,
		 crc, m->facts.crc);
	verdict->read = PLX_READ_FOREIGN;
}

static void take_others(struct pollux *p, const struct incoming *in,
			struct verdict *verdict)
{
	for (int i = in->manifest->shared; i < in->manifest->count; i++) {
		const struct plx_tensor *t = &in->to[i];
		const struct plx_blob *blob =
			find_blob(&p->registered, t->name);

		if (is_domain(t))
			continue;
		if (!blob) {
			plx_profile_take(&p->profile, t->data, t->bytes);
		} else if (plx_call_load(&blob->is, t->data, t->bytes) < 0) {
			plx_fail(&verdict->why,
				 "the program does not take its blob \"%s\"",
				 t->name);
			verdict->read = PLX_READ_FOREIGN;
		}
	}
}

enum plx_read plx_restore_read(struct pollux *p,
			       const struct plx_manifest *manifest,
			       const char *name, struct plx_error *err)
{
	/* Each rank takes another part of a domain. */
	bool all_read =
		p->coll->nodes <= READERS_MAX || p->registered.domain.part;
	struct incoming in = {
		.manifest = manifest,
		.from.folder = p->folder,
		.from.name = name,
		.from.alone = !all_read || p->coll->local_ranks == 1,
	};
	struct verdict verdict = { .read = PLX_READ_GOOD };
	bool reader = all_read || p->coll->rank == 0;
	int rc;

	read_own(p, &in, reader, &verdict);
	rc = agree(p, &verdict);
	if (rc < 0 || verdict.read != PLX_READ_GOOD)
		goto done;
	for (int i = 0; rc == 0 && !all_read && i < manifest->count; i++)
		rc = spread_tensor(p, &in.to[i]);
	if (rc < 0)
		goto done;
	check_crc(&in, reader, &verdict);
	if (verdict.read == PLX_READ_GOOD)
		take_others(p, &in, &verdict);
	rc = agree(p, &verdict);
done:
	release(&in);
	*err = rc < 0 ? p->err : verdict.why;
	return rc < 0 ? PLX_READ_LOST : verdict.read;
}
