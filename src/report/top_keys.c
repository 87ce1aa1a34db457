/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_keys.c - what keys do in pollux-top (top.h) */

#include <stdio.h>
#include <string.h>

#include "report/top.h"

static void go_to(struct plx_top *top, size_t row)
{
	if (!top->shown)
		return;
	top->row = row < top->shown ? row : top->shown - 1;
	top->at = plx_top_job(top)->number;
}

/* Rows of the table, or lines of a story; false: no key for that. */
static bool move(struct plx_top *top, enum plx_key key)
{
	bool story = top->mode == PLX_TOP_STORY;
	size_t at = story ? top->story_first : top->row;
	size_t page = top->page > 1 ? top->page - 1 : 1;

	switch (key) {
	case PLX_KEY_UP:
		at -= at > 0;
		break;
	case PLX_KEY_DOWN:
		at++;
		break;
	case PLX_KEY_PAGE_UP:
		at -= at > page ? page : at;
		break;
	case PLX_KEY_PAGE_DOWN:
		at += page;
		break;
	case PLX_KEY_FIRST:
		at = 0;
		break;
	case PLX_KEY_END:
		at = (size_t) 1 << 30; /* drawing knows where that is */
		break;
	default:
		return false;
	}
	if (story)
		top->story_first = at;
	else
		go_to(top, at);
	return true;
}

static enum plx_top_wish open_story(struct plx_top *top)
{
	if (!plx_top_job(top))
		return PLX_TOP_WAIT;
	top->mode = PLX_TOP_STORY;
	top->story_first = 0;
	if (top->told != top->at)
		plx_top_notify(top, 0, NULL, false);
	return PLX_TOP_ASK;
}

/* The job whose id was typed; what is typed waits for the first look. */
static enum plx_top_wish open_typed(struct plx_top *top)
{
	if (!top->seen)
		return PLX_TOP_WAIT;
	for (size_t i = 0; i < top->shown; i++) {
		if (!strcmp(top->view.jobs[top->order[i]].id, top->typed)) {
			top->typed[0] = '\0';
			go_to(top, i);
			return open_story(top);
		}
	}
	snprintf(top->message, sizeof(top->message), "no job %s here",
		 top->typed);
	top->typed[0] = '\0';
	return PLX_TOP_WAIT;
}

/* False: the key is not for what is typed. */
static bool type(struct plx_top *top, enum plx_key key)
{
	size_t length = strlen(top->typed);
	bool inner = key == '_' || key == '+';

	if ((key >= '0' && key <= '9') || (inner && length > 0)) {
		if (length + 1 < sizeof(top->typed)) {
			top->typed[length] = (char) key;
			top->typed[length + 1] = '\0';
		}
		return true;
	}
	if (length == 0)
		return false;
	if (key == PLX_KEY_BACKSPACE)
		top->typed[length - 1] = '\0';
	else if (key == PLX_KEY_ESCAPE || key == 'q')
		top->typed[0] = '\0';
	else
		return false;
	return true;
}

static void sort_by(struct plx_top *top, const struct plx_top_column *column)
{
	top->reverse = top->sort == column && !top->reverse;
	top->sort = column;
	plx_top_arrange(top);
}

static enum plx_top_wish table_key(struct plx_top *top, enum plx_key key)
{
	const struct plx_top_column *column = plx_top_column_keyed((int) key);

	if (column) {
		sort_by(top, column);
	} else if (key == PLX_KEY_ENTER) {
		return top->typed[0] ? open_typed(top) : open_story(top);
	} else if (key == 'r') {
		top->reverse = !top->reverse;
		plx_top_arrange(top);
	} else if (key == 'm' && top->me) {
		top->user = top->user ? NULL : top->me;
		plx_top_arrange(top);
	} else if (key == 'f') {
		top->no_ended = !top->no_ended;
		plx_top_arrange(top);
	} else if (key == 'a') {
		top->mode = PLX_TOP_NODES;
	}
	return PLX_TOP_WAIT;
}

enum plx_top_wish plx_top_key(struct plx_top *top, enum plx_key key)
{
	bool back = key == 'q' || key == PLX_KEY_ESCAPE;

	top->message[0] = '\0';
	if (key == ' ')
		return PLX_TOP_LOOK;
	if (top->mode == PLX_TOP_TABLE && type(top, key))
		return PLX_TOP_WAIT;
	if (back && top->mode != PLX_TOP_TABLE) {
		top->mode = PLX_TOP_TABLE;
		plx_top_arrange(top);
		return PLX_TOP_WAIT;
	}
	if (key == 'q')
		return PLX_TOP_LEAVE;
	if (key == 'h' || key == '?') {
		top->mode = PLX_TOP_HELP;
		return PLX_TOP_WAIT;
	}
	if ((top->mode == PLX_TOP_TABLE || top->mode == PLX_TOP_STORY) &&
	    move(top, key))
		return PLX_TOP_WAIT;
	if (top->mode == PLX_TOP_TABLE)
		return table_key(top, key);
	return PLX_TOP_WAIT;
}
