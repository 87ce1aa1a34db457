/* SPDX-License-Identifier: GPL-2.0-or-later */
/* power.c - nodes that Slurm has suspended */

#include "common/slurm_compat.h"
#include "sched/pollux/locks.h"
#include "sched/pollux/start/power.h"

bool pollux_power_up(const struct pollux_snapshot *snapshot, int n)
{
	update_node_msg_t request;
	int rc = SLURM_SUCCESS;

	slurm_init_update_node_msg(&request);
	request.node_names = snapshot->nodes[n].name;
	request.node_state = NODE_STATE_POWER_UP;
	pollux_lock(POLLUX_POWER);
	rc = update_node(&request, slurm_conf.slurm_user_id);
	pollux_unlock(POLLUX_POWER);
	if (rc == SLURM_SUCCESS)
		info("sched/pollux: node %s is woken: more nodes are wanted",
		     snapshot->nodes[n].name);
	else
		error("sched/pollux: node %s cannot be woken: %s",
		      snapshot->nodes[n].name, slurm_strerror(rc));
	return rc == SLURM_SUCCESS;
}
