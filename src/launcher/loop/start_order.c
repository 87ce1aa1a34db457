/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start_order.c - what the next start of ranks is to be */

#include "launcher/loop/state.h"

void plx_order_generation(struct plx_launcher *l,
			  struct plx_generation_order *order)
{
	const struct plx_settings *s = l->settings;

	*order = (struct plx_generation_order){
		.step = l->order,
		.number = ++l->newest,
		.start = l->starts++,
		.relay = s->relay == PLX_RELAY_ALWAYS ||
			 (s->relay == PLX_RELAY_AUTO && l->job.away),
		.layout = &l->job.layout,
		.where = l->job.where,
		.spared = l->job.spared,
	};
	plx_folder_lock_note(&l->folder_lock, l->newest);
}
