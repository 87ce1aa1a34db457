/* SPDX-License-Identifier: MIT */
/*
 * message.h - what launcher and rank 0 say to each other (docs/resize.md)
 *
 * A message is a word and, for some, fields as in core/fields.h.
 */
#ifndef PLX_WIRE_MESSAGE_H
#define PLX_WIRE_MESSAGE_H

#define PLX_MSG_HELLO "hello" /* ranks=R nodes=N */
#define PLX_MSG_BEGAN "began" /* first optimiser step committed */
#define PLX_MSG_HINT  "hint"  /* fields of core/hint.h */
#define PLX_MSG_SAVED "saved" /* samples=S crc=HEX bytes=B seconds=T idle=I */
#define PLX_MSG_DONE  "done"  /* training has ended */
#define PLX_MSG_STOP  "stop"  /* to rank 0: save and leave */

/* The fields after word when line is that message, else NULL. */
const char *plx_message(const char *line, const char *word);

#endif
