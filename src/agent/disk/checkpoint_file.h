/* SPDX-License-Identifier: MIT */
/* checkpoint_file.h - names inside a checkpoint, for its writer and reader */
#ifndef PLX_AGENT_CHECKPOINT_FILE_H
#define PLX_AGENT_CHECKPOINT_FILE_H

#define PLX_METADATA	"__metadata__"
#define PLX_SEAL_NAME	"pollux.seal"
#define PLX_SEAL_BYTES	8 /* CRC-32C as a little-endian number */
#define PLX_TMP_SUFFIX	".tmp"
#define PLX_LENGTH_SIZE 8
#define PLX_DOMAIN_NAME "pollux.domain." /* and the number of the rank */
#define PLX_AGENT_NAME                                                         \
	"pollux.agent" /* what was measured, struct plx_profile */

#endif
