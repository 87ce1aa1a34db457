/* SPDX-License-Identifier: MIT */
/*
 * reservation_group.h - jobs that start together or not at all
 *
 * The components of a heterogeneous job start in the same moment. What elastic
 * jobs gave up for some of them would lie idle until there is room for all.
 */
#ifndef PLX_CORE_RESERVATION_GROUP_H
#define PLX_CORE_RESERVATION_GROUP_H

#include "core/reserve/reservation.h"

/*
 * As plx_reservation_make(), and groups (see struct plx_request) are served as
 * a whole or take nothing, and are promised nothing. Pure; -1 with err set, and
 * the problem is to be dropped then.
 */
int plx_reservation_make_groups(struct plx_problem *problem,
				const struct plx_residual *residual,
				const struct plx_request *requests, int count,
				struct plx_grant *grants,
				struct plx_error *err);

#endif
