/* SPDX-License-Identifier: MIT */
/* save_world.c - a folder, and trainings that save there */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/disk/folder.h"
#include "agent/state/rescue.h"
#include "agent/state/save.h"
#include "save_world.h"
#include "unit.h"

int world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	strcpy(w->dir, "/tmp/pollux-save.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	w->samples = 1000;
	w->seed = UINT64_MAX - 1;
	w->rows = 2;
	w->keep = 2;
	unsetenv("POLLUX_GENERATION");
	*state = w;
	return 0;
}

int world_teardown(void **state)
{
	struct world *w = *state;
	char command[128];

	unsetenv("POLLUX_GENERATION");
	snprintf(command, sizeof(command), "rm -r '%s'", w->dir);
	assert_int_equal(0, system(command));
	free(w);
	return 0;
}

static size_t note_size(void *user)
{
	return strlen(((struct world *) user)->note);
}

static int note_save(void *user, void *bytes, size_t size)
{
	memcpy(bytes, ((struct world *) user)->note, size);
	return 0;
}

static int note_load(void *user, const void *bytes, size_t size)
{
	struct world *w = user;

	if (size >= sizeof(w->note))
		return -1;
	memcpy(w->note, bytes, size);
	w->note[size] = '\0';
	return 0;
}

static void register_all(struct world *w, struct pollux *p)
{
	const struct pollux_tensor weights = {
		.name = "layer0.weight",
		.data = w->weights,
		.type = POLLUX_F32,
		.dims = 2,
		.shape = { w->rows, WORLD_WEIGHTS / w->rows },
	};
	const struct pollux_tensor counter = {
		.name = "counter",
		.data = w->counter,
		.type = POLLUX_U8,
		.dims = 1,
		.shape = { WORLD_COUNTER },
	};
	const struct pollux_tensor more = {
		.name = w->more,
		.data = w->weights,
		.type = POLLUX_F32,
	};
	const struct pollux_blob note = {
		.name = "note",
		.size = note_size,
		.save = note_save,
		.load = note_load,
		.user = w,
	};

	if (!w->no_counter)
		assert_int_equal(0, pollux_register(p, &counter));
	assert_int_equal(0, pollux_register(p, &weights));
	if (w->more)
		assert_int_equal(0, pollux_register(p, &more));
	if (!w->no_blob)
		assert_int_equal(0, pollux_register_blob(p, &note));
}

struct pollux *world_start(struct world *w, struct plx_error *err)
{
	struct pollux_config config;
	struct pollux *p;

	pollux_config_init(&config);
	config.samples = w->samples;
	config.seed = w->seed;
	config.epochs = 1000;
	config.collectives = "self";
	config.checkpoint_dir = w->dir;
	config.checkpoint_keep = w->keep;
	config.quiet = true;
	p = pollux_create(&config);
	assert_non_null(p);
	register_all(w, p);
	if (pollux_start(p) == 0)
		return p;
	snprintf(err->text, sizeof(err->text), "%s", pollux_error(p));
	pollux_destroy(p);
	return NULL;
}

struct pollux *world_run(struct world *w)
{
	struct plx_error err = { .text = "" };
	struct pollux *p = world_start(w, &err);

	if (!p)
		fail_msg("%s", err.text);
	return p;
}

static float weight_of(uint64_t step, int i)
{
	return (float) (100 * step) + (float) i;
}

void world_step(struct world *w, struct pollux *p, uint64_t step)
{
	for (int i = 0; i < WORLD_WEIGHTS; i++)
		w->weights[i] = weight_of(step, i);
	memset(w->counter, (int) step, sizeof(w->counter));
	snprintf(w->note, sizeof(w->note), "note of step %d", (int) step);
	p->cursor.step = step;
	p->cursor.position = 10 * step % w->samples;
	plx_state_settled(p);
}

void world_assert_step(const struct world *w, const struct pollux *p,
		       uint64_t step)
{
	char note[64];

	assert_int_equal(step, p->cursor.step);
	if (step == 0)
		return;
	for (int i = 0; i < WORLD_WEIGHTS; i++)
		assert_true(w->weights[i] == weight_of(step, i));
	for (int i = 0; i < WORLD_COUNTER; i++)
		assert_int_equal((int) step & 0xff, w->counter[i]);
	snprintf(note, sizeof(note), "note of step %d", (int) step);
	assert_string_equal(note, w->note);
	assert_int_equal(10 * step % w->samples, p->cursor.position);
}

int world_steps(const struct world *w, uint64_t *steps, int most)
{
	struct plx_folder_entry *list = NULL;
	struct plx_error err;
	int count = plx_folder_list(w->dir, &list, &err);

	assert_true(count >= 0 && count <= most);
	for (int i = 0; i < count; i++)
		steps[i] = list[i].step;
	free(list);
	return count;
}

void world_save_two(struct world *w)
{
	struct pollux *p = world_run(w);

	for (uint64_t step = 1; step <= 2; step++) {
		world_step(w, p, step);
		assert_int_equal(0, plx_save(p, PLX_SAVE_QUICK));
	}
	pollux_destroy(p);
}

const char *world_path(const struct world *w, const char *name)
{
	static char paths[2][192];
	static int turn;

	turn = !turn;
	snprintf(paths[turn], sizeof(paths[turn]), "%s/%s", w->dir, name);
	return paths[turn];
}
