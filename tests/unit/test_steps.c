/* SPDX-License-Identifier: MIT */
/* test_steps.c - runs that are no trainings: steps, domains, sums, a veto */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/gradient/rate.h"
#include "agent/gradient/step_size.h"
#include "agent/run/iterate.h"
#include "crew.h"
#include "unit.h"

enum { CELLS = 101, RANKS_MAX = 8 };

static char folder[64];

static void empty_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(0, system(command));
}

static struct pollux_config steps(uint64_t count)
{
	struct pollux_config config;

	pollux_config_init(&config);
	config.steps = count;
	config.quiet = true;
	config.collectives = "self";
	config.checkpoint_dir = folder;
	config.checkpoint_every_s = 0;
	return config;
}

/* ---- a domain of cells that count steps ---- */

struct cells {
	int first;
	int count;
	uint32_t value[CELLS];
	int calls;  /* of redistribute() */
	bool mute;  /* part() fails */
	bool picky; /* redistribute() does */
};

static int first_of(int rank, int ranks)
{
	return CELLS * rank / ranks;
}

static void own(struct cells *c, int rank, int ranks)
{
	c->first = first_of(rank, ranks);
	c->count = first_of(rank + 1, ranks) - c->first;
}

static int part(void *user, const void **data, size_t *bytes)
{
	struct cells *c = user;

	*data = c->value;
	*bytes = (size_t) c->count * sizeof(c->value[0]);
	return c->mute ? -1 : 0;
}

static int redistribute(void *user, const struct pollux_domain_part *from)
{
	int first = first_of(from->part, from->parts);
	const uint32_t *values = from->data;
	struct cells *c = user;

	assert_int_equal(sizeof(*from), from->size);
	assert_int_equal(c->calls % from->parts, from->part);
	c->calls++;
	own(c, from->rank, from->ranks);
	for (size_t i = 0; i < from->bytes / sizeof(*values); i++) {
		int at = first + (int) i - c->first;

		if (at >= 0 && at < c->count)
			c->value[at] = values[i];
	}
	return c->picky ? -1 : 0;
}

static struct pollux_domain domain_of(struct cells *cells)
{
	return (struct pollux_domain){
		.part = part,
		.redistribute = redistribute,
		.user = cells,
	};
}

/* All ranks' cells, and how far they are to go in this run. */
struct world {
	struct cells cells[RANKS_MAX];
	uint64_t until;
	double sum; /* of all cells in the end */
};

static int iterate(struct crew_rank *rank)
{
	struct world *world = rank->user;
	struct cells *c = &world->cells[rank->rank];
	struct pollux_domain domain = domain_of(c);
	struct pollux_info info;
	double sum = 0;
	int more;

	memset(c->value, 0xff, sizeof(c->value));
	if (pollux_register_domain(rank->p, &domain) < 0 ||
	    pollux_start(rank->p) < 0)
		return rank->p->code;
	pollux_info(rank->p, &info);
	if (!info.restored) {
		own(c, info.rank, info.gpus);
		for (int i = 0; i < c->count; i++)
			c->value[i] = (uint32_t) (c->first + i);
	}
	while ((more = pollux_step(rank->p)) > 0) {
		pollux_info(rank->p, &info);
		if (info.step == world->until)
			return pollux_finish(rank->p);
		for (int i = 0; i < c->count; i++)
			c->value[i] += 1000;
	}
	for (int i = 0; i < c->count; i++)
		sum += c->value[i];
	if (more == 0)
		more = pollux_sum(rank->p, &sum, 1);
	world->sum = sum;
	return more;
}

static int run(struct world *world, int ranks, uint64_t until)
{
	struct pollux_config config = steps(20);
	struct crew crew = { .ranks = ranks };

	world->until = until;
	for (int r = 0; r < RANKS_MAX; r++)
		world->cells[r].calls = 0;
	return crew_run(&crew, &config, iterate, world);
}

static void a_domain_goes_from_any_number_of_ranks_to_any(void **state)
{
	static const int ranks[] = { 1, 3, 2, 8, 5 };
	struct world world = { .until = 0 };

	(void) state;
	empty_folder();
	for (int i = 0; i < (int) ARRAY_SIZE(ranks); i++) {
		uint64_t until = i == 4 ? 99 : 4 * (uint64_t) (i + 1);

		assert_int_equal(0, run(&world, ranks[i], until));
		/* Each rank was given each part of those before. */
		assert_int_equal(i ? ranks[i - 1] : 0,
				 world.cells[ranks[i] - 1].calls);
	}
	assert_true(world.sum == CELLS * (CELLS - 1) / 2 + 20000.0 * CELLS);
}

static void what_a_domain_lacks_is_told(void **state)
{
	struct pollux_config config = steps(3);
	struct cells cells = { .count = 1 };
	struct pollux_domain domain = domain_of(&cells);
	struct pollux_domain bad = domain;
	struct pollux *p = pollux_create(&config);

	(void) state;
	empty_folder();
	assert_int_equal(POLLUX_EINVAL,
			 pollux_register_domain_sized(p, &domain, 8));
	bad.redistribute = NULL;
	assert_int_equal(POLLUX_EINVAL, pollux_register_domain(p, &bad));
	assert_string_equal("the domain needs part() and redistribute()",
			    pollux_error(p));
	assert_int_equal(POLLUX_EINVAL, pollux_register_domain(p, NULL));
	assert_int_equal(0, pollux_register_domain(p, &domain));
	assert_int_equal(POLLUX_EINVAL, pollux_register_domain(p, &domain));
	/* It does not say what it has: nothing is saved. */
	cells.mute = true;
	assert_int_equal(0, pollux_start(p));
	assert_int_equal(POLLUX_ECALL, pollux_register_domain(p, &domain));
	assert_int_equal(1, pollux_step(p));
	assert_true(pollux_finish(p) < 0);
	assert_non_null(
		strstr(pollux_error(p), "the program does not give its part"));
	pollux_destroy(p);
}

static int start_with(struct cells *cells, char why[256])
{
	struct pollux_config config = steps(20);
	struct pollux_domain domain = domain_of(cells);
	struct pollux *p = pollux_create(&config);
	int rc = 0;

	if (cells->count)
		rc = pollux_register_domain(p, &domain);
	if (rc == 0)
		rc = pollux_start(p);
	snprintf(why, 256, "%s", pollux_error(p));
	pollux_destroy(p);
	return rc;
}

static void another_program_is_not_given_a_domain(void **state)
{
	struct world world = { .until = 0 };
	struct cells none = { .count = 0 };
	struct cells picky = { .count = 1, .picky = true };
	char why[256];

	(void) state;
	empty_folder();
	assert_int_equal(0, run(&world, 2, 4));
	assert_int_equal(POLLUX_ESTATE, start_with(&none, why));
	assert_non_null(strstr(why, "its domain is not registered here"));
	assert_int_equal(POLLUX_ESTATE, start_with(&picky, why));
	assert_non_null(strstr(why, "does not take part 0 of 2"));
}

/* ---- the loop ---- */

static void steps_are_counted_and_may_become_more(void **state)
{
	static const uint64_t counts[] = { 7, 7, 12 };
	static const int done[] = { 7, 0, 5 };

	(void) state;
	empty_folder();
	for (int i = 0; i < (int) ARRAY_SIZE(counts); i++) {
		struct pollux_config config = steps(counts[i]);
		struct pollux *p = pollux_create(&config);
		struct pollux_info info;
		int more;
		int n = 0;

		assert_int_equal(0, pollux_start(p));
		while ((more = pollux_step(p)) > 0)
			n++;
		assert_int_equal(0, more);
		assert_int_equal(done[i], n);
		pollux_info(p, &info);
		assert_int_equal(counts[i], info.step);
		pollux_destroy(p);
	}
}

static void a_training_has_no_such_steps(void **state)
{
	struct pollux_config config = steps(0);
	struct pollux *p;

	(void) state;
	empty_folder();
	config.samples = 10;
	p = pollux_create(&config);
	assert_int_equal(0, pollux_start(p));
	assert_int_equal(POLLUX_ECALL, pollux_step(p));
	assert_non_null(strstr(pollux_error(p), "without config.steps"));
	pollux_destroy(p);
	assert_int_equal(POLLUX_EINVAL, pollux_step(NULL));
	assert_int_equal(POLLUX_EINVAL, pollux_hold(NULL, true));
	assert_int_equal(POLLUX_EINVAL, pollux_sum(NULL, NULL, 0));
}

/* What the scheduler is told: more GPUs are judged by speed alone. */
static void the_batch_of_a_step_never_changes(void **state)
{
	struct pollux_config config = steps(5);
	struct pollux *p;
	struct plx_noise noise;

	(void) state;
	empty_folder();
	assert_int_equal(0, setenv("POLLUX_PARAMS",
				   "pollux,min=1,max=4,batch=64,max-batch=512",
				   1));
	p = pollux_create(&config);
	assert_int_equal(0, pollux_start(p));
	assert_int_equal(1, pollux_step(p));
	assert_int_equal(1, pollux_step(p));
	assert_int_equal(p->limits.base_batch, p->limits.max_batch);
	assert_int_equal(PLX_STEP_CELLS, plx_step_total(p));
	assert_true(plx_rate_noise(p, &noise));
	assert_true(plx_rate_efficiency(p, PLX_STEP_CELLS) == 1);
	pollux_destroy(p);
	unsetenv("POLLUX_PARAMS");
}

/* ---- a veto ---- */

static bool is_saved(int step)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/step-%012d", folder, step);
	return access(path, F_OK) == 0;
}

static int hold(struct crew_rank *rank)
{
	bool *seen = rank->user;
	int more = pollux_start(rank->p);

	while (more >= 0 && (more = pollux_step(rank->p)) > 0) {
		uint64_t step = rank->p->cursor.step;

		/* Rank 2 holds from step 2 on; rank 1 wants a checkpoint. */
		if (rank->rank == 2 && (step == 2 || step == 6))
			pollux_hold(rank->p, step == 2);
		if (rank->rank == 1 && step == 4)
			pollux_checkpoint(rank->p);
		if (rank->rank == 0)
			seen[step] = is_saved(5) || is_saved(7);
	}
	return more;
}

static void while_one_rank_holds_nothing_is_saved(void **state)
{
	struct pollux_config config = steps(10);
	struct crew crew = { .ranks = 3 };
	bool seen[10] = { false };

	(void) state;
	empty_folder();
	assert_int_equal(0, crew_run(&crew, &config, hold, seen));
	assert_false(is_saved(5));
	assert_false(seen[6]);
	/* It is done when nobody holds any more. */
	assert_true(is_saved(7) && seen[7]);
}

/* ---- sums ---- */

static int sum(struct crew_rank *rank)
{
	double values[3] = { 1, 1e17, rank->rank == 1 ? 1e-9 : 0 };

	if (pollux_start(rank->p) < 0 || pollux_sum(rank->p, values, 3) < 0)
		return -1;
	return values[0] == 3 && values[1] == 3e17 && values[2] == 1e-9 ? 0
									: -2;
}

static void sums_are_in_double_precision(void **state)
{
	struct pollux_config config = steps(1);
	struct crew crew = { .ranks = 3 };

	(void) state;
	empty_folder();
	assert_int_equal(0, crew_run(&crew, &config, sum, NULL));
}

/* ---- many tensors ---- */

/* Looks at other names that registering so many took. */
static double looks_a_tensor(int count)
{
	struct pollux_config config = steps(1);
	struct pollux *p = pollux_create(&config);
	static char byte;
	double looks;

	for (int i = 0; i < count; i++) {
		char name[32];
		struct pollux_tensor tensor = {
			.name = name,
			.data = &byte,
			.type = POLLUX_U8,
		};

		snprintf(name, sizeof(name), "layer.%d.weight", i);
		assert_int_equal(0, pollux_register(p, &tensor));
		assert_int_equal(POLLUX_EINVAL, pollux_register(p, &tensor));
	}
	looks = (double) p->registered.names.looks / count;
	for (int i = 0; i < count; i += 997) {
		char name[32];

		snprintf(name, sizeof(name), "layer.%d.weight", i);
		assert_int_equal(i, plx_names_tensor(&p->registered, name));
		assert_int_equal(-1, plx_names_blob(&p->registered, name));
	}
	pollux_destroy(p);
	return looks;
}

static void each_tensor_costs_as_much_however_many_there_are(void **state)
{
	double few = looks_a_tensor(1000);
	double many = looks_a_tensor(64000);

	(void) state;
	print_message("# looks a tensor: %.2f of 1000, %.2f of 64000\n", few,
		      many);
	assert_true(many < 2 * few);
	assert_true(many < 20);
}

static int remove_folder(void **state)
{
	(void) state;
	empty_folder();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_domain_goes_from_any_number_of_ranks_to_any),
		cmocka_unit_test(what_a_domain_lacks_is_told),
		cmocka_unit_test(another_program_is_not_given_a_domain),
		cmocka_unit_test(steps_are_counted_and_may_become_more),
		cmocka_unit_test(a_training_has_no_such_steps),
		cmocka_unit_test(the_batch_of_a_step_never_changes),
		cmocka_unit_test(while_one_rank_holds_nothing_is_saved),
		cmocka_unit_test(sums_are_in_double_precision),
		cmocka_unit_test(
			each_tensor_costs_as_much_however_many_there_are),
	};

	snprintf(folder, sizeof(folder), "/tmp/plx-steps.%d", (int) getpid());
	return cmocka_run_group_tests(tests, NULL, remove_folder);
}
