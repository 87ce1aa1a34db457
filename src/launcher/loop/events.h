/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events.h - what happens, a line of JSON each: events.jsonl and --json-log
 *
 * The fields are those of pollux-launch(1); they may grow, never change.
 */
#ifndef PLX_LAUNCHER_EVENTS_H
#define PLX_LAUNCHER_EVENTS_H

#include <jansson.h>

#include "launcher/loop/launcher.h"

/*
 * Append one, with its time, to both files; event is taken, NULL is fine. A
 * full disk must not end the training: false, with errno set.
 */
bool plx_event_write(const struct plx_settings *settings, json_t *event);

#endif
