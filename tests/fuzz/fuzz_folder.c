/* SPDX-License-Identifier: MIT */
/* fuzz_folder.c - what stands in a run's folder: names, fence, notes, locks */

#include "agent/disk/fence.h"
#include "agent/disk/folder.h"
#include "fuzz.h"
#include "launcher/ranks/generation.h"
#include "launcher/rank/rank_notes.h"
#include "launcher/rank/rank_tee.h"
#include "scratch.h"

#define FENCE "fence"
#define NAMES "names/"

int fuzz_fence(const uint8_t *data, size_t size)
{
	struct scratch_input all = { data, size };
	struct plx_fence fence;
	struct plx_error err;
	int lock;

	scratch_put(FENCE, all);
	MUST(!plx_fence_init(&fence, scratch_folder(), 7, &err));
	(void) plx_generation_newest(scratch_folder());
	if (plx_fence_passed(&fence)) {
		MUST(plx_fence_enter(&fence, &err) == PLX_FENCED);
		fuzz_is_a_line(err.text, sizeof(err.text));
	}
	MUST(!plx_fence_retake(&fence, 0, &err));
	MUST(!plx_fence_passed(&fence));
	lock = plx_fence_enter(&fence, &err);
	MUST(lock >= 0);
	plx_fence_leave(lock);
	scratch_put(FENCE, (struct scratch_input){ NULL, 0 });
	return 0;
}

/* The text as a file's name, where it can be one, behind the folder's. */
static bool name_of(const uint8_t *data, size_t size, char path[256])
{
	size_t folder = strlen(NAMES);

	if (size == 0 || size > 200 || memchr(data, '/', size))
		return false;
	memcpy(path, NAMES, folder);
	memcpy(path + folder, data, size);
	path[folder + size] = '\0';
	return strcmp(path, NAMES ".") != 0 && strcmp(path, NAMES "..") != 0 &&
	       path[folder];
}

/* Names that others gave: those that are ours are written as we would. */
int fuzz_folder(const uint8_t *data, size_t size)
{
	static const struct scratch_input byte = { (const uint8_t *) "x", 1 };
	static const struct scratch_input none = { NULL, 0 };
	struct plx_folder_entry *entries = NULL;
	char again[PLX_FOLDER_NAME];
	struct plx_error err;
	char folder[4200];
	char path[256];
	int count;

	scratch_make(NAMES);
	snprintf(folder, sizeof(folder), "%s/" NAMES, scratch_folder());
	if (!name_of(data, size, path))
		return 0;
	scratch_put(path, byte);
	count = plx_folder_list(folder, &entries, &err);
	MUST(count == 0 || count == 1);
	if (count == 1) {
		plx_folder_name(&entries[0], again);
		MUST(!strcmp(path + strlen(NAMES), again));
	}
	free(entries);
	plx_folder_clean(folder, 5, "1a2b3c4d");
	plx_notes_clear(folder, 0);
	plx_folder_prune(folder, 0, 0);
	scratch_put(path, none);
	return 0;
}

static void is_prose(const char *text)
{
	for (; *text; text++)
		MUST((unsigned char) *text >= ' ' && *text != 127);
}

/* What libpollux leaves beside it. */
static void read_rank_files(const char *folder, struct scratch_input all)
{
	const struct scratch_input none = { NULL, 0 };
	struct plx_rank_word word;
	struct plx_pulse *list;
	int count;

	scratch_put("pulse-3.17", all);
	count = plx_pulse_list(folder, 3, &list);
	MUST(count == 0 || count == 1);
	if (count == 1) {
		MUST(list->rank == 17 && list->at < PLX_AT_COUNT);
		MUST(list->since_s >= 0 && list->quiet_s >= 0);
		MUST(strlen(list->node) < sizeof(list->node));
		(void) plx_pulse_is_busy(list);
		list->rank = 18;
		plx_pulse_write(folder, 3, list);
		free(list);
		MUST(plx_pulse_list(folder, 3, &list) == 2);
		plx_pulse_remove(folder, 3, 18);
	}
	free(list);
	scratch_put("pulse-3.17", none);
	scratch_put("error-3", all);
	if (plx_rank_word_read(folder, PLX_WORD_ERROR, 3, &word)) {
		MUST(word.rank >= 0);
		is_prose(word.why);
		MUST(plx_rank_word_write(folder, PLX_WORD_ERROR, 4, &word) ==
		     1);
		MUST(plx_rank_word_write(folder, PLX_WORD_ERROR, 4, &word) ==
		     0);
	}
	scratch_put("error-3", none);
}

/* How a rank ended, as it says so in a file. */
int fuzz_note(const uint8_t *data, size_t size)
{
	const struct scratch_input all = { data, size };
	const struct scratch_input none = { NULL, 0 };
	struct plx_exit again;
	struct plx_error err;
	struct plx_exit how;
	char folder[4096];
	char text[512];

	snprintf(folder, sizeof(folder), "%s", scratch_folder());
	plx_notes_clear(folder, 4);
	read_rank_files(folder, all);
	scratch_put("exit-3", all);
	if (!plx_exit_read(folder, 3, &how)) {
		scratch_put("exit-3", none);
		return 0;
	}
	scratch_put("exit-3", none);
	MUST(plx_exit_code(&how) > 0 && plx_exit_code(&how) < 256);
	MUST(strlen(how.node) < sizeof(how.node));
	plx_exit_say(&how, text, sizeof(text));
	MUST(strlen(text) < sizeof(text));
	MUST(!plx_exit_write(folder, 4, &how, &err));
	if (!strpbrk(how.node, " \n")) {
		MUST(plx_exit_read(folder, 4, &again));
		MUST(again.code == how.code && again.signal == how.signal);
		MUST(!strcmp(again.lines, how.lines));
	}
	plx_notes_clear(folder, 4);
	return 0;
}

/* What a rank prints, in pieces. */
int fuzz_tail(const uint8_t *data, size_t size)
{
	struct plx_tail *tail = calloc(1, sizeof(*tail));
	char text[PLX_EXIT_TEXT];
	int lines = 0;

	MUST(tail);
	for (size_t at = 0, step; at < size; at += step) {
		step = 1 + data[at] % 64u;
		if (step > size - at)
			step = size - at;
		plx_tail_add(tail, (const char *) data + at, step);
	}
	plx_tail_text(tail, text);
	MUST(strlen(text) < sizeof(text));
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	MUST(lines <= PLX_EXIT_LINES);
	MUST(!text[0] || text[strlen(text) - 1] == '\n');
	free(tail);
	return 0;
}
