/* SPDX-License-Identifier: GPL-2.0-or-later */
/* address.c - the address that Slurm knows a node by */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "client/libslurm.h"
#include "launcher/job/address.h"
#include "launcher/rules/layout.h"

void plx_address_of(const char *node, char *address, size_t size)
{
	static char last[PLX_NODE_NAME_SIZE];
	static char found[PLX_NODE_NAME_SIZE];
	node_info_msg_t *answer = NULL;

	if (strcmp(node, last) != 0) {
		snprintf(found, sizeof(found), "%s", node);
		if (slurm_load_node_single(&answer, (char *) node, SHOW_ALL) ==
			    SLURM_SUCCESS &&
		    answer->record_count > 0 && answer->node_array->node_addr)
			snprintf(found, sizeof(found), "%s",
				 answer->node_array->node_addr);
		if (answer)
			slurm_free_node_info_msg(answer);
		snprintf(last, sizeof(last), "%s", node);
	}
	snprintf(address, size, "%s", found);
}

int plx_address_slurmd(const char *node, char *address, size_t size, char *port,
		       size_t port_size)
{
	node_info_msg_t *answer = NULL;
	int rc = -1;

	if (slurm_load_node_single(&answer, (char *) node, SHOW_ALL) !=
	    SLURM_SUCCESS)
		return -1;
	if (answer->record_count > 0 && answer->node_array->node_addr) {
		snprintf(address, size, "%s", answer->node_array->node_addr);
		snprintf(port, port_size, "%u", answer->node_array->port);
		rc = 0;
	}
	slurm_free_node_info_msg(answer);
	return rc;
}
