/* SPDX-License-Identifier: MIT */
/*
 * fake_nccl.c - sums over ranks, through a file that all of them map
 *
 * FAKE_NCCL=error:N   the N-th sum never ends, NCCL tells of an error
 * FAKE_NCCL=stuck:N   this rank's N-th sum never ends, and nobody says so
 * FAKE_NCCL=deaf:N    the same, and ncclCommAbort() never returns
 * with RANK: before it, of that rank only, as in 1:stuck:5.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_cuda.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <nccl.h>
#pragma GCC diagnostic pop

#define EXPORT __attribute__((visibility("default")))

enum { RANKS_MAX = 16, FLOATS_MAX = 1 << 20 };

struct shared {
	atomic_int joined;
	atomic_int posted[RANKS_MAX]; /* sums that this rank has put here */
	atomic_int taken[RANKS_MAX];  /* ... and has the result of */
	float data[RANKS_MAX][FLOATS_MAX];
};

struct ncclComm {
	struct shared *shared;
	int rank;
	int ranks;
	int begun;     /* sums */
	int questions; /* to be answered by "in progress" */
	bool aborted;
	cudaStream_t stream; /* of the last sum */
	char fault[16];
	int fault_at;
};

struct reduction {
	ncclComm_t comm;
	const float *in;
	float *out;
	size_t count;
	int number; /* from 1 */
};

static bool all_at_least(const atomic_int *counts, int ranks, int number)
{
	for (int r = 0; r < ranks; r++) {
		if (atomic_load(&counts[r]) < number)
			return false;
	}
	return true;
}

static bool faulty(const struct ncclComm *c, int number)
{
	return c->fault_at && number >= c->fault_at;
}

/* Post, when the last sum is everywhere; add up, when all have posted. */
static bool reduce(void *what)
{
	struct reduction *r = what;
	struct ncclComm *c = r->comm;
	struct shared *s = c->shared;

	if (faulty(c, r->number))
		return false;
	if (atomic_load(&s->posted[c->rank]) < r->number) {
		if (!all_at_least(s->taken, c->ranks, r->number - 1))
			return false;
		memcpy(s->data[c->rank], r->in, r->count * sizeof(float));
		atomic_store(&s->posted[c->rank], r->number);
	}
	if (!all_at_least(s->posted, c->ranks, r->number))
		return false;
	for (size_t i = 0; i < r->count; i++) {
		float sum = 0;

		for (int k = 0; k < c->ranks; k++)
			sum += s->data[k][i];
		r->out[i] = sum;
	}
	atomic_store(&s->taken[c->rank], r->number);
	return true;
}

static void read_fault(struct ncclComm *c)
{
	const char *text = getenv("FAKE_NCCL");
	int rank = c->rank;

	if (!text)
		return;
	if (text[0] >= '0' && text[0] <= '9') {
		rank = atoi(text);
		text = strchr(text, ':') + 1;
	}
	if (rank == c->rank)
		sscanf(text, "%15[a-z]:%d", c->fault, &c->fault_at);
}

EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	int fd;

	memset(id, 0, sizeof(*id));
	snprintf(id->internal, sizeof(id->internal), "/tmp/fake-nccl.XXXXXX");
	fd = mkstemp(id->internal);
	if (fd < 0 || ftruncate(fd, sizeof(struct shared)) < 0)
		return ncclSystemError;
	close(fd);
	return ncclSuccess;
}

EXPORT ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks,
					   ncclUniqueId id, int rank,
					   ncclConfig_t *config)
{
	struct ncclComm *c = calloc(1, sizeof(*c));
	int fd = open(id.internal, O_RDWR);

	if (config->blocking || config->size > sizeof(*config) ||
	    config->magic != 0xcafebeef || ranks > RANKS_MAX || fd < 0)
		return ncclInvalidArgument;
	c->shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, 0);
	close(fd);
	c->rank = rank;
	c->ranks = ranks;
	read_fault(c);
	if (atomic_fetch_add(&c->shared->joined, 1) == ranks - 1)
		unlink(id.internal);
	*comm = c;
	return ncclInProgress;
}

EXPORT ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks,
				     ncclUniqueId id, int rank)
{
	(void) comm;
	(void) ranks;
	(void) id;
	(void) rank;
	fake_die("ncclCommInitRank where there is one that does not block");
}

static void check(const struct ncclComm *c)
{
	if (c->aborted)
		fake_die("a communicator is used after ncclCommAbort");
}

EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *later)
{
	check(comm);
	*later = ncclSuccess;
	if (atomic_load(&comm->shared->joined) < comm->ranks)
		*later = ncclInProgress;
	if (comm->questions && comm->questions--)
		*later = ncclInProgress;
	if (!strcmp(comm->fault, "error") && faulty(comm, comm->begun))
		*later = ncclRemoteError;
	return ncclSuccess;
}

EXPORT ncclResult_t ncclAllReduce(const void *in, void *out, size_t count,
				  ncclDataType_t type, ncclRedOp_t op,
				  ncclComm_t comm, cudaStream_t stream)
{
	struct reduction r = { comm, in, out, count, comm->begun + 1 };

	check(comm);
	if (comm->questions)
		fake_die("ncclAllReduce while the last call is in progress");
	if (type != ncclFloat32 || op != ncclSum || count > FLOATS_MAX)
		return ncclInvalidArgument;
	fake_check_device(in);
	comm->begun++;
	comm->stream = stream;
	comm->questions = comm->begun % 3;
	fake_enqueue(stream, reduce, &r, sizeof(r));
	return comm->questions ? ncclInProgress : ncclSuccess;
}

EXPORT ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
	check(comm);
	comm->questions = 3;
	return ncclInProgress;
}

EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
	check(comm);
	munmap(comm->shared, sizeof(*comm->shared));
	free(comm);
	return ncclSuccess;
}

EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm)
{
	check(comm);
	comm->aborted = true;
	while (!strcmp(comm->fault, "deaf"))
		pause();
	if (comm->begun)
		fake_drop(comm->stream, reduce);
	return ncclSuccess;
}

EXPORT const char *ncclGetErrorString(ncclResult_t code)
{
	return code == ncclRemoteError ? "remote process exited or there was a "
					 "network error"
				       : "an error of the fake";
}
