/* SPDX-License-Identifier: MIT */
/*
 * message.h - what launcher and rank 0 say to each other (docs/resize.md)
 *
 * A message is a word and, for some, fields as in core/base/fields.h.
 */
#ifndef PLX_WIRE_MESSAGE_H
#define PLX_WIRE_MESSAGE_H

/* rank 0 to launcher */
#define PLX_MSG_HELLO	 "hello"    /* ranks=R nodes=N */
#define PLX_MSG_READY	 "ready"    /* warm: waits for go */
#define PLX_MSG_RESTORED "restored" /* step=T from=WORD seconds=S */
#define PLX_MSG_BEGAN	 "began"    /* idle=I; first step, begun I s ago */
#define PLX_MSG_BEAT	 "beat"	    /* step=T [busy=1]; the training lives */
#define PLX_MSG_TIGHT	 "tight"    /* ranks=N used=MIB unused=MIB */
#define PLX_MSG_HINT	 "hint"	    /* fields of core/records/hint.h */
#define PLX_MSG_REQUEST	 "request"  /* gpus=N; 0: as many as are of use */
/* step=T samples=S crc=HEX bytes=B seconds=T idle=I [held=1] */
#define PLX_MSG_SAVED "saved"
/* step=T bytes=B seconds=S; written, training goes on */
#define PLX_MSG_KEPT	"kept"
#define PLX_MSG_RESUMED "resumed" /* training again after held */
#define PLX_MSG_DONE	"done"	  /* training has ended */

/* launcher to rank 0 */
#define PLX_MSG_STOP	"stop"	  /* save and leave */
#define PLX_MSG_SAVE	"save"	  /* save and train on */
#define PLX_MSG_PREPARE "prepare" /* get memory for a handover */
#define PLX_MSG_HAND	"hand"	  /* hand the state over, then wait */
#define PLX_MSG_LEAVE	"leave"	  /* after held: exit */
#define PLX_MSG_RESUME	"resume"  /* [gen=G]; after held: train on, as G */
#define PLX_MSG_GO	"go"	  /* [gen=G]; after ready: restore and train */

/* The fields after word when line is that message, else NULL. */
const char *plx_message(const char *line, const char *word);

#endif
