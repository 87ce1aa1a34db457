/* SPDX-License-Identifier: MIT */
/* setting.c - what follows from the settings of a run */

#include "sim/policy.h"

double plx_setting_restart_s(const struct plx_setting *setting,
			     const struct plx_app *app)
{
	return setting->restart_auto ? app->limits.restart_s
				     : setting->restart_s;
}
