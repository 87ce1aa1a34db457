/* SPDX-License-Identifier: MIT */
/*
 * test_handover.c - generations of ranks in one process, handing over
 *
 * The ranks are threads (crew.h) that run the real library; the test is their
 * launcher. Every sample of every epoch must be used once, and arrays and
 * blobs must be those of the step, whatever happens in between.
 */
#include <config.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crew.h"
#include "unit.h"
#include "wire/channel.h"
#include "wire/env.h"
#include "wire/message.h"

enum {
	SAMPLES = 300,
	EPOCHS = 40,
	BATCH = 30,
	STEPS = EPOCHS * SAMPLES / BATCH,
	WEIGHTS = 3000,
	BLOB_MAX = 64 + 8192 * STEPS,
	LIMIT_MS = 20000,
};

static int used[EPOCHS][SAMPLES];
static char folder[] = "/tmp/plx-handover.XXXXXX";

/* What one rank trains. */
struct state {
	float weights[WEIGHTS]; /* each is the number of steps done */
	uint64_t steps;		/* the blob is made of this, ... */
	int loads;		/* ... and was read so often */
};

struct generation {
	struct crew crew;
	pthread_t thread;
	int rc;
	int listener;
	struct plx_channel *channel;
	struct state *states;
	bool wrong; /* state that is not that of its step */
	int rows;   /* of measurements that rank 0 began with */
};

/* ---- the program ---- */

/* It grows with each step: by more than a page. */
static size_t blob_size(void *user)
{
	const struct state *state = user;

	return 64 + 8192 * state->steps;
}

static int blob_save(void *user, void *bytes, size_t size)
{
	const struct state *state = user;

	memset(bytes, (int) (state->steps % 251), size);
	memcpy(bytes, &state->steps, sizeof(state->steps));
	return 0;
}

static int blob_load(void *user, const void *bytes, size_t size)
{
	struct state *state = user;
	const unsigned char *b = bytes;

	memcpy(&state->steps, bytes, sizeof(state->steps));
	state->loads++;
	return size == blob_size(state) && b[size - 1] == state->steps % 251
		       ? 0
		       : -1;
}

static int start(struct crew_rank *rank, struct state *state)
{
	const struct pollux_tensor weights = {
		.name = "weights",
		.data = state->weights,
		.type = POLLUX_F32,
		.dims = 1,
		.shape = { WEIGHTS },
	};
	const struct pollux_blob blob = {
		.name = "blob",
		.size = blob_size,
		.save = blob_save,
		.load = blob_load,
		.user = state,
	};

	if (pollux_register(rank->p, &weights) < 0 ||
	    pollux_register_blob(rank->p, &blob) < 0)
		return -1;
	return pollux_start(rank->p);
}

static bool is_right(struct crew_rank *rank, const struct state *state)
{
	struct pollux_info info;

	pollux_info(rank->p, &info);
	for (int i = 0; i < WEIGHTS; i++) {
		if (state->weights[i] != (float) info.step)
			return false;
	}
	return state->steps == info.step;
}

static void step(struct state *state)
{
	state->steps++;
	for (int i = 0; i < WEIGHTS; i++)
		state->weights[i]++;
}

static int train(struct crew_rank *rank)
{
	struct generation *g = rank->user;
	struct state *state = &g->states[rank->rank];
	struct pollux_pass pass;
	int more = start(rank, state);

	if (more < 0)
		return more;
	if (rank->rank == 0)
		g->rows = rank->p->profile.row_count;
	while ((more = pollux_next(rank->p, &pass)) > 0) {
		float gradient = 1;

		if (!is_right(rank, state))
			g->wrong = true;
		for (size_t i = 0; i < pass.count; i++)
			__atomic_add_fetch(&used[pass.epoch][pass.samples[i]],
					   1, __ATOMIC_RELAXED);
		usleep(1000);
		if (pollux_reduce(rank->p, &gradient, 1, 1) < 0)
			return -1;
		step(state);
		if (pollux_commit(rank->p) < 0)
			return -1;
	}
	return more;
}

static void *run(void *arg)
{
	struct generation *g = arg;
	struct pollux_config config;

	pollux_config_init(&config);
	config.samples = SAMPLES;
	config.epochs = EPOCHS;
	config.batch = BATCH;
	config.checkpoint_dir = folder;
	config.checkpoint_every_s = 0;
	config.quiet = true;
	g->rc = crew_run(&g->crew, &config, train, g);
	return NULL;
}

/* ---- the launcher ---- */

static void begin(struct generation *g, int number, int ranks, bool warm)
{
	struct plx_error err = { .text = "" };
	char path[64];
	char text[16];

	*g = (struct generation){ .crew = { .ranks = ranks } };
	snprintf(path, sizeof(path), "%s/s.%d", folder, number);
	snprintf(text, sizeof(text), "%d", number);
	setenv(PLX_ENV_SOCKET, path, 1);
	setenv(PLX_ENV_JOB, folder, 1);
	setenv(PLX_ENV_KEY, "0123456789abcdef0123456789abcdef", 1);
	setenv(PLX_ENV_GENERATION, text, 1);
	setenv(PLX_ENV_WARM, warm ? "1" : "0", 1);
	g->states = calloc((size_t) ranks, sizeof(*g->states));
	g->listener = plx_listen(path, &err);
	assert_true(g->listener >= 0);
	assert_int_equal(0, pthread_create(&g->thread, NULL, run, g));
}

/* Wait until rank 0 says this; its fields are copied. */
static void hear(struct generation *g, const char *word,
		 char fields[PLX_LINE_MAX])
{
	char line[PLX_LINE_MAX];

	for (int ms = 0; ms < LIMIT_MS; ms++) {
		struct plx_error err = { .text = "" };
		const char *found;

		if (!g->channel)
			g->channel = plx_accept(g->listener, &err);
		if (!g->channel ||
		    plx_channel_receive(g->channel, line, &err) <= 0) {
			usleep(1000);
			continue;
		}
		found = plx_message(line, word);
		if (!found)
			continue;
		snprintf(fields, PLX_LINE_MAX, "%s", found);
		return;
	}
	fail_msg("\"%s\" was never said", word);
}

static void say(struct generation *g, const char *line)
{
	struct plx_error err = { .text = "" };

	assert_int_equal(0, plx_channel_send(g->channel, line, &err));
}

static void end(struct generation *g)
{
	pthread_join(g->thread, NULL);
	assert_int_equal(0, g->rc);
	assert_false(g->wrong);
	plx_channel_destroy(g->channel);
	close(g->listener);
	free(g->states);
}

/* The old one holds its state. */
static void hand(struct generation *g)
{
	char fields[PLX_LINE_MAX];

	say(g, PLX_MSG_HAND);
	hear(g, PLX_MSG_SAVED, fields);
	assert_non_null(strstr(fields, "held=1"));
}

static void all_samples_were_used_once(void)
{
	for (int e = 0; e < EPOCHS; e++) {
		for (int i = 0; i < SAMPLES; i++)
			assert_int_equal(1, used[e][i]);
	}
}

static int set_up(void **state)
{
	(void) state;
	memset(used, 0, sizeof(used));
	snprintf(folder, sizeof(folder), "/tmp/plx-handover.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[64];

	(void) state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

/* ---- tests ---- */

static void arrays_and_blobs_pass_from_each_number_of_ranks_to_each(
	void **state)
{
	static const int ranks[] = { 3, 1, 4, 2 };
	struct generation slots[2];
	struct generation *now = &slots[0];
	struct generation *next = &slots[1];
	char fields[PLX_LINE_MAX];
	char go[32];

	(void) state;
	begin(now, 1, ranks[0], false);
	hear(now, PLX_MSG_BEGAN, fields);
	for (int i = 1; i < (int) ARRAY_SIZE(ranks); i++) {
		struct generation *old = now;

		say(now, PLX_MSG_PREPARE);
		begin(next, i + 1, ranks[i], true);
		hear(next, PLX_MSG_READY, fields);
		hand(now);
		snprintf(go, sizeof(go), PLX_MSG_GO " gen=%d", i);
		say(next, go);
		hear(next, PLX_MSG_RESTORED, fields);
		assert_non_null(strstr(fields, "from=resident"));
		hear(next, PLX_MSG_BEGAN, fields);
		say(now, PLX_MSG_LEAVE);
		end(now);
		now = next;
		next = old;
	}
	hear(now, PLX_MSG_DONE, fields);
	assert_int_equal(1, now->states[0].loads);
	end(now);
	all_samples_were_used_once();
}

/* Whichever rank writes it. */
static void what_rank_0_has_measured_passes_on(void **state)
{
	struct generation now;
	struct generation next;
	char fields[PLX_LINE_MAX];

	(void) state;
	begin(&now, 1, 3, false);
	hear(&now, PLX_MSG_BEGAN, fields);
	begin(&next, 2, 1, true);
	hear(&next, PLX_MSG_READY, fields);
	hand(&now);
	say(&next, PLX_MSG_GO " gen=1");
	hear(&next, PLX_MSG_BEGAN, fields);
	say(&now, PLX_MSG_LEAVE);
	end(&now);
	hear(&next, PLX_MSG_DONE, fields);
	end(&next);
	assert_true(next.rows > 0);
}

/* It has copied what it is not to take, and a number is not there twice. */
static void who_waits_takes_the_last_state_that_was_handed(void **state)
{
	struct generation now;
	struct generation next;
	char fields[PLX_LINE_MAX];

	(void) state;
	begin(&now, 1, 2, false);
	hear(&now, PLX_MSG_BEGAN, fields);
	begin(&next, 2, 2, true);
	hear(&next, PLX_MSG_READY, fields);
	for (int i = 0; i < 3; i++) {
		hand(&now);
		usleep(50000);
		say(&now, PLX_MSG_RESUME);
		hear(&now, PLX_MSG_RESUMED, fields);
	}
	hand(&now);
	say(&next, PLX_MSG_GO " gen=1");
	hear(&next, PLX_MSG_BEGAN, fields);
	say(&now, PLX_MSG_LEAVE);
	end(&now);
	hear(&next, PLX_MSG_DONE, fields);
	end(&next);
	all_samples_were_used_once();
}

static void who_trains_on_under_a_new_number_is_found_under_it(void **state)
{
	struct generation now;
	struct generation next;
	char fields[PLX_LINE_MAX];

	(void) state;
	begin(&now, 1, 2, false);
	hear(&now, PLX_MSG_BEGAN, fields);
	hand(&now);
	say(&now, PLX_MSG_RESUME " gen=3");
	hear(&now, PLX_MSG_RESUMED, fields);
	say(&now, PLX_MSG_PREPARE);
	begin(&next, 4, 3, true);
	hear(&next, PLX_MSG_READY, fields);
	hand(&now);
	say(&next, PLX_MSG_GO " gen=3");
	hear(&next, PLX_MSG_BEGAN, fields);
	say(&now, PLX_MSG_LEAVE);
	end(&now);
	hear(&next, PLX_MSG_DONE, fields);
	end(&next);
	all_samples_were_used_once();
}

static void what_is_held_goes_to_disk_when_asked_to_stop(void **state)
{
	struct generation now;
	struct generation next;
	char fields[PLX_LINE_MAX];

	(void) state;
	begin(&now, 1, 2, false);
	hear(&now, PLX_MSG_BEGAN, fields);
	hand(&now);
	say(&now, PLX_MSG_STOP);
	hear(&now, PLX_MSG_SAVED, fields);
	assert_null(strstr(fields, "held=1"));
	end(&now);
	begin(&next, 2, 3, false);
	hear(&next, PLX_MSG_RESTORED, fields);
	assert_non_null(strstr(fields, "from=disk"));
	hear(&next, PLX_MSG_DONE, fields);
	end(&next);
	all_samples_were_used_once();
}

/* Nobody else's state is to be taken for that of a beginning. */
static void who_has_copied_needs_a_checkpoint_to_begin_without(void **state)
{
	struct generation now;
	struct generation next;
	char fields[PLX_LINE_MAX];

	(void) state;
	begin(&now, 1, 2, false);
	hear(&now, PLX_MSG_BEGAN, fields);
	begin(&next, 2, 2, true);
	hear(&next, PLX_MSG_READY, fields);
	hand(&now);
	usleep(200000);
	say(&next, PLX_MSG_GO);
	pthread_join(next.thread, NULL);
	assert_int_equal(POLLUX_ESTATE, next.rc);
	say(&now, PLX_MSG_RESUME " gen=3");
	hear(&now, PLX_MSG_DONE, fields);
	end(&now);
	plx_channel_destroy(next.channel);
	close(next.listener);
	free(next.states);
	all_samples_were_used_once();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_rank_0_has_measured_passes_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			arrays_and_blobs_pass_from_each_number_of_ranks_to_each,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			who_waits_takes_the_last_state_that_was_handed, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			who_trains_on_under_a_new_number_is_found_under_it,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_held_goes_to_disk_when_asked_to_stop, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			who_has_copied_needs_a_checkpoint_to_begin_without,
			set_up, tear_down),
	};

	alarm(120);
	return cmocka_run_group_tests_name("handover", tests, NULL, NULL);
}
