/* SPDX-License-Identifier: MIT */
/* setting.c - what follows from the settings of a run */

#include "sim/policy.h"

int plx_setting_nodes(const struct plx_setting *setting)
{
	return setting->scaling.max_nodes ? setting->scaling.max_nodes
					  : setting->node_count;
}

double plx_setting_restart_s(const struct plx_setting *setting,
			     const struct plx_app *app)
{
	return setting->restart_auto ? app->limits.restart_s
				     : setting->restart_s;
}
