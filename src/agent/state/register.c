/* SPDX-License-Identifier: MIT */
/* register.c - what the program hands over: tensors, blobs, buckets */
#include <config.h>

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/sized.h"
#include "agent/state/agent.h"
#include "agent/state/call.h"
#include "agent/state/register.h"

#define OWN_PREFIX "pollux." /* names of tensors that are the library's */

static const struct {
	const char *dtype; /* as safetensors calls it */
	size_t bytes;
} types[] = {
	[POLLUX_F32] = { "F32", 4 }, [POLLUX_F64] = { "F64", 8 },
	[POLLUX_F16] = { "F16", 2 }, [POLLUX_BF16] = { "BF16", 2 },
	[POLLUX_I32] = { "I32", 4 }, [POLLUX_I64] = { "I64", 8 },
	[POLLUX_U8] = { "U8", 1 },
};

/* The sentence is in err; the run is not over for it. */
static int refuse(struct pollux *p, enum pollux_status code, const char *fmt,
		  ...) __attribute__((format(printf, 3, 4)));

static int refuse(struct pollux *p, enum pollux_status code, const char *fmt,
		  ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(p->err.text, sizeof(p->err.text), fmt, args);
	va_end(args);
	return code;
}

/*
 * Room for one more in an array, which doubles; NULL when memory is out. What
 * is there has moved then, if it is to.
 */
static void *grow(void *array, int count, size_t size)
{
	size_t capacity = count ? 2 * (size_t) count : 1;

	if (count & (count - 1))
		return array;
	return realloc(array, capacity * size);
}

/* ---- tensors and blobs ---- */

static bool name_taken(struct pollux *p, const char *name)
{
	return plx_names_tensor(&p->registered, name) >= 0 ||
	       plx_names_blob(&p->registered, name) >= 0;
}

/* Checkpoints name it in JSON, which has no other bytes. */
static bool is_utf8(const char *name)
{
	json_t *text = json_string(name);
	bool good = text;

	json_decref(text);
	return good;
}

static int check_name(struct pollux *p, const char *what, const char *name)
{
	if (p->stage != PLX_STAGE_NEW)
		return refuse(p, POLLUX_ECALL,
			      "%s \"%.63s\" is registered after pollux_start()",
			      what, name ? name : "");
	if (!name || !*name || strlen(name) >= POLLUX_NAME_MAX)
		return refuse(p, POLLUX_EINVAL,
			      "a %s's name has 1 to %d bytes: \"%.80s\"", what,
			      POLLUX_NAME_MAX - 1, name ? name : "");
	if (!is_utf8(name))
		return refuse(p, POLLUX_EINVAL, "a %s's name is not UTF-8",
			      what);
	if (!strncmp(name, OWN_PREFIX, strlen(OWN_PREFIX)) || name[0] == '_')
		return refuse(p, POLLUX_EINVAL, "%s name \"%s\" is reserved",
			      what, name);
	if (name_taken(p, name))
		return refuse(p, POLLUX_EINVAL, "%s \"%s\" is registered twice",
			      what, name);
	return 0;
}

static int check_tensor(struct pollux *p, const struct pollux_tensor *t)
{
	int rc = check_name(p, "tensor", t->name);

	if (rc < 0)
		return rc;
	if ((unsigned int) t->type >= sizeof(types) / sizeof(types[0]))
		return refuse(p, POLLUX_EINVAL,
			      "tensor \"%s\" has no known type", t->name);
	if (t->memory != POLLUX_HOST && t->memory != POLLUX_CUDA)
		return refuse(p, POLLUX_EINVAL,
			      "tensor \"%s\" is in no known memory", t->name);
	if (t->dims < 0 || t->dims > POLLUX_DIMS_MAX)
		return refuse(p, POLLUX_EINVAL,
			      "tensor \"%s\": %d dimensions, want 0 to %d",
			      t->name, t->dims, POLLUX_DIMS_MAX);
	return 0;
}

static const struct plx_sized tensors = {
	.call = "pollux_register()",
	.name = "tensor",
	.first = PLX_UP_TO(pollux_tensor, memory),
	.now = sizeof(struct pollux_tensor),
};

int pollux_register_sized(struct pollux *p, const struct pollux_tensor *given,
			  size_t size)
{
	struct pollux_tensor own;
	const struct pollux_tensor *tensor = &own;
	struct plx_tensor new = { .dims = 0 };
	struct plx_tensor *more;
	int rc = plx_given_struct(p, &tensors, given, size, &own);

	if (rc == 0)
		rc = check_tensor(p, tensor);
	if (rc < 0)
		return rc;
	new.dims = tensor->dims;
	new.data = tensor->data;
	snprintf(new.name, sizeof(new.name), "%s", tensor->name);
	new.dtype = types[tensor->type].dtype;
	new.bytes = types[tensor->type].bytes;
	new.memory = tensor->memory;
	for (int i = 0; i < tensor->dims; i++) {
		new.shape[i] = tensor->shape[i];
		if (__builtin_mul_overflow(new.bytes, new.shape[i], &new.bytes))
			return refuse(p, POLLUX_EINVAL,
				      "tensor \"%s\" is too large", new.name);
	}
	if (new.bytes && !new.data)
		return refuse(p, POLLUX_EINVAL, "tensor \"%s\" has no data",
			      new.name);
	more = grow(p->registered.tensors, p->registered.tensor_count,
		    sizeof(*more));
	if (!more)
		return refuse(p, POLLUX_ENOMEM, "out of memory");
	p->registered.tensors = more;
	more[p->registered.tensor_count] = new;
	if (plx_names_add(&p->registered, p->registered.tensor_count, false) <
	    0)
		return refuse(p, POLLUX_ENOMEM, "out of memory");
	p->registered.tensor_count++;
	return 0;
}

static const struct plx_sized blobs = {
	.call = "pollux_register_blob()",
	.name = "blob",
	.first = PLX_UP_TO(pollux_blob, user),
	.now = sizeof(struct pollux_blob),
};

int pollux_register_blob_sized(struct pollux *p,
			       const struct pollux_blob *given, size_t size)
{
	struct pollux_blob own;
	const struct pollux_blob *blob = &own;
	struct plx_blob *more;
	int rc = plx_given_struct(p, &blobs, given, size, &own);

	if (rc == 0)
		rc = check_name(p, "blob", blob->name);
	if (rc < 0)
		return rc;
	if (!blob->size || !blob->save || !blob->load)
		return refuse(p, POLLUX_EINVAL,
			      "blob \"%s\" needs size(), save() and load()",
			      blob->name);
	more = grow(p->registered.blobs, p->registered.blob_count,
		    sizeof(*more));
	if (!more)
		return refuse(p, POLLUX_ENOMEM, "out of memory");
	p->registered.blobs = more;
	more += p->registered.blob_count;
	more->is = *blob;
	snprintf(more->name, sizeof(more->name), "%s", blob->name);
	/* The array moves as it grows: who wants the name takes ours. */
	more->is.name = NULL;
	if (plx_names_add(&p->registered, p->registered.blob_count, true) < 0)
		return refuse(p, POLLUX_ENOMEM, "out of memory");
	p->registered.blob_count++;
	return 0;
}

/* ---- a domain ---- */

static const struct plx_sized domains = {
	.call = "pollux_register_domain()",
	.name = "domain",
	.first = PLX_UP_TO(pollux_domain, user),
	.now = sizeof(struct pollux_domain),
};

int pollux_register_domain_sized(struct pollux *p,
				 const struct pollux_domain *given, size_t size)
{
	struct pollux_domain own;
	const struct pollux_domain *domain = &own;
	int rc = plx_given_struct(p, &domains, given, size, &own);

	if (rc < 0)
		return rc;
	if (p->stage != PLX_STAGE_NEW)
		return refuse(p, POLLUX_ECALL,
			      "the domain is registered after pollux_start()");
	if (p->registered.domain.part)
		return refuse(p, POLLUX_EINVAL,
			      "a second domain is registered, want one");
	if (!domain->part || !domain->redistribute)
		return refuse(p, POLLUX_EINVAL,
			      "the domain needs part() and redistribute()");
	p->registered.domain = own;
	return 0;
}

/* ---- buckets ---- */

static const struct plx_sized buckets = {
	.call = "pollux_bucket()",
	.name = "bucket",
	.first = PLX_UP_TO(pollux_bucket, precondition),
	.now = sizeof(struct pollux_bucket),
};

int pollux_bucket_sized(struct pollux *p, const struct pollux_bucket *given,
			size_t size)
{
	struct pollux_bucket own;
	const struct pollux_bucket *bucket = &own;
	int rc = plx_given_struct(p, &buckets, given, size, &own);
	int number;

	if (rc < 0)
		return rc;
	number = p->bucket_count;
	if (p->stage != PLX_STAGE_NEW)
		return refuse(p, POLLUX_ECALL,
			      "bucket %d comes after pollux_start()", number);
	if (bucket->count < 1)
		return refuse(p, POLLUX_EINVAL, "bucket %d is empty", number);
	if (bucket->group < 0 || bucket->group >= POLLUX_GROUPS_MAX)
		return refuse(p, POLLUX_EINVAL,
			      "bucket %d is of group %d, want 0 to %d", number,
			      bucket->group, POLLUX_GROUPS_MAX - 1);
	if (bucket->memory != POLLUX_HOST && bucket->memory != POLLUX_CUDA)
		return refuse(p, POLLUX_EINVAL,
			      "bucket %d is in no known memory", number);
	if (plx_bucket_add(p, bucket) < 0)
		return refuse(p, POLLUX_ENOMEM, "out of memory");
	return number;
}

int plx_bucket_add(struct pollux *p, const struct pollux_bucket *bucket)
{
	struct plx_bucket *more =
		grow(p->buckets, p->bucket_count, sizeof(*more));

	if (!more)
		return plx_fail(&p->err, "out of memory");
	p->buckets = more;
	more[p->bucket_count++] = (struct plx_bucket){
		.is = *bucket,
		.first = p->step.n,
	};
	p->step.n += bucket->count;
	if (bucket->group >= p->groups)
		p->groups = bucket->group + 1;
	return 0;
}
