/* SPDX-License-Identifier: MIT */
/*
 * devices.h - which GPUs of a node a job gets
 *
 * Pure. Devices are numbered as on the node.
 */
#ifndef PLX_CORE_DEVICES_H
#define PLX_CORE_DEVICES_H

#include <stdbool.h>

struct plx_device {
	bool barred; /* it cannot be had: another's, or of another type */
	bool held;   /* the job has it */
	bool used;   /* its steps do: it is held, too */
	int socket;  /* its own; negative: it has none */
};

struct plx_devices {
	int size;
	const struct plx_device *at; /* [size] */
	const int *links; /* [size * size], 0 or less: none; NULL: not known */
	const int
		*capacity; /* of each socket: devices that the job's cores there
			  go with; NULL: any. More than that are not near. */
	bool only_near;	   /* it gains no other */
};

/*
 * Choose `count` devices: those of its steps, then others that it has, then
 * free ones, of both first those that are near. Among equals it takes the one
 * with the most links to those chosen before; for the first of several, with
 * the most to all that could be had. Ties: the lowest number. chosen[size] is
 * written; false when there are not as many.
 */
bool plx_devices_choose(const struct plx_devices *devices, int count,
			bool *chosen);

#endif
