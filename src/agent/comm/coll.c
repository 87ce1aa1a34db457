/* SPDX-License-Identifier: MIT */
/* coll.c - which collectives to use */
#include <config.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/comm/coll.h"

/* What mpirun (Open MPI 4, 5) and srun --mpi=pmix leave in the environment. */
static bool started_by_mpi(void)
{
	static const char *const signs[] = {
		"OMPI_COMM_WORLD_SIZE",
		"PMIX_RANK",
		"PMI_RANK",
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (getenv(signs[i]))
			return true;
	}
	return false;
}

#ifndef HAVE_NCCL
struct plx_coll *plx_coll_nccl_create(struct plx_coll *base,
				      struct plx_error *err)
{
	(void) base;
	plx_fail(err, "this libpollux was built without NCCL");
	return NULL;
}
#endif

/* Over MPI where there are other ranks. */
static struct plx_coll *create_base(struct plx_error *err)
{
	return started_by_mpi() ? plx_coll_mpi_create(err)
				: plx_coll_self_create(err);
}

/* NCCL on top when it is wanted, or of use and not unwanted. */
static struct plx_coll *with_nccl(bool needed, struct plx_error *err)
{
	struct plx_coll *base = create_base(err);
	struct plx_coll *nccl = NULL;
	struct plx_error unsaid; /* who did not ask for it need not know */

	if (!base || (!needed && base->ranks == 1))
		return base;
	nccl = plx_coll_nccl_create(base, needed ? err : &unsaid);
	if (nccl)
		return nccl;
	if (!needed)
		return base;
	base->ops->destroy(base);
	return NULL;
}

struct plx_coll *plx_coll_create(const char *name, struct plx_error *err)
{
	if (!name || !strcmp(name, "auto"))
		return with_nccl(false, err);
	if (!strcmp(name, "self"))
		return plx_coll_self_create(err);
	if (!strcmp(name, "mpi"))
		return plx_coll_mpi_create(err);
	if (!strcmp(name, "nccl"))
		return with_nccl(true, err);
	plx_fail(err, "collectives \"%s\": want auto, self, mpi or nccl", name);
	return NULL;
}
