/* SPDX-License-Identifier: MIT */
/* test_calls.c - calls that are refused, and what is said of them */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/gradient/rate.h"
#include "crew.h"
#include "unit.h"

static struct pollux_config usual(void)
{
	struct pollux_config config;

	pollux_config_init(&config);
	config.samples = 1000;
	config.quiet = true;
	config.collectives = "self";
	return config;
}

static void calls_out_of_order_are_told(void **state)
{
	struct pollux_config config = usual();
	struct pollux_pass pass;
	struct pollux *p;
	float gradient[4] = { 0 };

	(void) state;
	p = pollux_create(&config);
	assert_int_equal(POLLUX_ECALL, pollux_next(p, &pass));
	assert_string_equal("pollux_next() is called where pollux_start() is "
			    "due",
			    pollux_error(p));
	/* The first sentence stays, whatever is called then. */
	assert_int_equal(POLLUX_ECALL, pollux_start(p));
	assert_int_equal(POLLUX_ECALL, pollux_commit(p));
	assert_non_null(strstr(pollux_error(p), "pollux_next()"));
	pollux_destroy(p);

	p = pollux_create(&config);
	assert_int_equal(POLLUX_OK, pollux_start(p));
	assert_int_equal(1, pollux_next(p, &pass));
	assert_int_equal(POLLUX_EINVAL, pollux_reduce(p, gradient, 0, 1));
	pollux_destroy(p);

	p = pollux_create(&config);
	assert_int_equal(POLLUX_OK, pollux_start(p));
	assert_int_equal(1, pollux_next(p, &pass));
	assert_int_equal(POLLUX_ECALL, pollux_sync(p, 1));
	pollux_destroy(p);
}

static void what_is_registered_is_checked(void **state)
{
	const struct pollux_bucket empty = { .count = 0 };
	const struct pollux_bucket far = { .count = 1, .group = 99 };
	const struct pollux_blob blob = { .name = "weights" };
	double number;
	const struct pollux_tensor good = { .name = "weights",
					    .data = &number,
					    .type = POLLUX_F64 };
	struct pollux_tensor bad = good;
	struct pollux_config config = usual();
	struct pollux *p;

	(void) state;
	p = pollux_create(&config);
	assert_int_equal(POLLUX_OK, pollux_register(p, &good));
	assert_int_equal(POLLUX_EINVAL, pollux_register(p, &good));
	assert_int_equal(POLLUX_EINVAL, pollux_register_blob(p, &blob));
	assert_string_equal("blob \"weights\" is registered twice",
			    pollux_error(p));
	bad.name = "pollux.x";
	assert_int_equal(POLLUX_EINVAL, pollux_register(p, &bad));
	bad.name = "\xff";
	assert_int_equal(POLLUX_EINVAL, pollux_register(p, &bad));
	assert_string_equal("a tensor's name is not UTF-8", pollux_error(p));
	bad.name = "x";
	bad.memory = 7;
	assert_int_equal(POLLUX_EINVAL, pollux_register(p, &bad));
	assert_int_equal(POLLUX_EINVAL, pollux_bucket(p, &empty));
	assert_int_equal(POLLUX_EINVAL, pollux_bucket(p, &far));
	/* A refusal is not the end. */
	assert_int_equal(POLLUX_OK, pollux_start(p));
	assert_int_equal(POLLUX_ECALL, pollux_register(p, &good));
	assert_int_equal(POLLUX_EINVAL, pollux_loss_scale(p, 0));
	assert_int_equal(POLLUX_EINVAL, pollux_loss_scale(p, INFINITY));
	pollux_destroy(p);
}

/* Where there is a GPU, it is not refused. */
static void device_memory_without_a_device_is_refused(void **state)
{
	const struct pollux_bucket bucket = { .count = 8,
					      .memory = POLLUX_CUDA };
	struct pollux_config config = usual();
	struct pollux *p = pollux_create(&config);
	int rc;

	(void) state;
	assert_int_equal(0, pollux_bucket(p, &bucket));
	rc = pollux_start(p);
	assert_true(rc == POLLUX_OK || rc == POLLUX_EINVAL);
	print_message("# %s\n", pollux_error(p));
	assert_true(rc == POLLUX_OK || strstr(pollux_error(p), "CUDA") ||
		    strstr(pollux_error(p), "cuda"));
	pollux_destroy(p);
}

static void refused(struct pollux_config *config, const char *sentence)
{
	struct pollux *p;

	p = pollux_create(config);
	assert_int_equal(POLLUX_EINVAL, pollux_start(p));
	if (!strstr(pollux_error(p), sentence))
		fail_msg("\"%s\", want \"%s\"", pollux_error(p), sentence);
	pollux_destroy(p);
}

static void wrong_configurations_are_refused_in_a_sentence(void **state)
{
	struct pollux_config c;

	(void) state;
	c = usual();
	c.samples = 0;
	refused(&c, "the dataset has no samples");
	c = usual();
	c.order = 3;
	refused(&c, "order is 3, want");
	c = usual();
	c.counting = 3;
	refused(&c, "counting is 3, want");
	c = usual();
	c.lr_scaling = "cubic";
	refused(&c, "lr_scaling \"cubic\": want adascale");
	c = usual();
	c.lr_scaling = "a rule with a very long name";
	refused(&c, "lr_scaling \"a rule with ...\" is too long");
	c = usual();
	c.lr_warmup_epochs = NAN;
	refused(&c, "lr_warmup_epochs is nan");
	c = usual();
	c.timeout_s = -1;
	refused(&c, "timeout_s is -1");
	c = usual();
	c.checkpoint_every_s = -2;
	refused(&c, "checkpoint_every_s is -2, want 0 or more, or -1");
	c = usual();
	c.noise_window = 0.5;
	refused(&c, "noise_window is 0.5");
	c.noise_window = 1000;
	c.checkpoint_keep = 0;
	refused(&c, "checkpoint_keep is 0");
	c = usual();
	c.size = 0;
	refused(&c, "call pollux_config_init() first");
}

/* A caller built with a later header, or an earlier one. */
static void callers_of_other_versions_are_served(void **state)
{
	struct {
		struct pollux_config config;
		char later[64];
	} large;
	union {
		struct pollux_config config;
		char bytes[sizeof(struct pollux_config)];
	} small;
	struct {
		struct pollux_info info;
		char later[64];
	} info;
	const size_t early = offsetof(struct pollux_config, lr_scaling);
	struct pollux *p;

	(void) state;
	pollux_config_init_sized(&large.config, sizeof(large));
	assert_int_equal(sizeof(large), large.config.size);
	assert_int_equal(0, large.later[63]);
	large.config.samples = 10;
	large.config.collectives = "self";
	large.config.quiet = true;
	p = pollux_create(&large.config);
	assert_int_equal(POLLUX_OK, pollux_start(p));
	memset(&info, 1, sizeof(info));
	pollux_info_sized(p, &info.info, sizeof(info));
	assert_int_equal(sizeof(info), info.info.size);
	assert_int_equal(0, info.later[63]);
	assert_int_equal(1, info.info.gpus);
	pollux_destroy(p);

	memset(small.bytes, 1, sizeof(small));
	pollux_config_init_sized(&small.config, early);
	assert_int_equal(1, small.bytes[early]);
	small.config.samples = 10;
	p = pollux_create(&small.config);
	/* What it knows nothing of has its default. */
	assert_string_equal("adascale", p->lr_scaling);
	assert_true(p->config.timeout_s == 600);
	pollux_destroy(p);
}

/* Structs of a program that was built with a later pollux.h, or with none. */
static void structs_of_another_release_are_told_by_their_size(void **state)
{
	float weight = 0;
	struct {
		struct pollux_tensor tensor;
		char later[16];
	} more = { .tensor = { .name = "w",
			       .data = &weight,
			       .dims = 1,
			       .shape = { 1 } } };
	struct {
		struct pollux_pass pass;
		char later[16];
	} pass;
	struct pollux_config config = usual();
	struct pollux *p = pollux_create(&config);

	(void) state;
	more.later[15] = 1;
	assert_int_equal(POLLUX_EINVAL,
			 pollux_register_sized(p, &more.tensor, sizeof(more)));
	assert_non_null(strstr(pollux_error(p),
			       "pollux_register(): tensor sets a field that "
			       "libpollux 0.1.0"
			       " does not know: it is older than the program"));
	assert_int_equal(POLLUX_EINVAL,
			 pollux_register_sized(p, &more.tensor, 8));
	assert_non_null(strstr(pollux_error(p), "tensor has 8 bytes, want"));
	more.later[15] = 0;
	assert_int_equal(POLLUX_OK,
			 pollux_register_sized(p, &more.tensor, sizeof(more)));
	assert_int_equal(POLLUX_OK, pollux_start(p));
	memset(&pass, 1, sizeof(pass));
	assert_int_equal(1, pollux_next_sized(p, &pass.pass, sizeof(pass)));
	assert_int_equal(0, pass.later[0] | pass.later[15]);
	assert_true(pass.pass.sync && pass.pass.samples);
	memset(&pass, 1, sizeof(pass));
	assert_int_equal(1, pollux_peek_sized(p, 0, &pass.pass, sizeof(pass)));
	assert_int_equal(0, pass.later[15]);
	assert_int_equal(POLLUX_EINVAL, pollux_peek_sized(p, 0, &pass.pass, 4));
	pollux_destroy(p);
}

/* What differs on rank 2, and what all say. */
struct odd {
	int what;
	int told;
};

static const char *const odd_sentences[] = {
	"rank 2 has other data set, seed or order of samples than rank 0",
	"rank 2 has other batch sizes or learning rate than rank 0",
	"rank 2 has other registered state than rank 0",
	"rank 2 has other buckets than rank 0",
};

static int start_oddly(struct crew_rank *rank)
{
	struct odd *odd = rank->user;
	const struct pollux_bucket bucket = { .count = 1 };
	const struct pollux_tensor tensor = { .name = "odd",
					      .shape = { 0 },
					      .dims = 1 };
	bool is_odd = rank->rank == 2;
	int rc;

	if (is_odd && odd->what == 0)
		rank->p->config.seed++;
	if (is_odd && odd->what == 1)
		rank->p->config.lr *= 2;
	if (is_odd && odd->what == 2)
		pollux_register(rank->p, &tensor);
	if (is_odd && odd->what == 3)
		pollux_bucket(rank->p, &bucket);
	rc = pollux_start(rank->p);
	if (rc == POLLUX_EINVAL &&
	    !strcmp(pollux_error(rank->p), odd_sentences[odd->what]))
		__atomic_add_fetch(&odd->told, 1, __ATOMIC_RELAXED);
	return rc;
}

static void ranks_that_differ_are_refused_by_all(void **state)
{
	struct pollux_config config = usual();

	(void) state;
	for (int i = 0; i < (int) ARRAY_SIZE(odd_sentences); i++) {
		struct crew crew = { .ranks = 4 };
		struct odd odd = { .what = i };

		assert_int_equal(POLLUX_EINVAL,
				 crew_run(&crew, &config, start_oddly, &odd));
		assert_int_equal(4, odd.told);
	}
}

/* Where only one rank wants it, and no other knows. */
static int ask_alone(struct crew_rank *rank)
{
	struct pollux_pass pass;
	float gradient = 1;
	int more = pollux_start(rank->p);

	while (more >= 0 && (more = pollux_next(rank->p, &pass)) > 0) {
		if (rank->rank == 1 && pass.step == 2)
			more = pollux_checkpoint(rank->p);
		if (more < 0 || pollux_reduce(rank->p, &gradient, 1, 1) < 0 ||
		    pollux_commit(rank->p) < 0)
			return -1;
	}
	return more;
}

static void one_rank_may_ask_for_a_checkpoint(void **state)
{
	char folder[] = "/tmp/plx-calls.XXXXXX";
	struct crew crew = { .ranks = 3 };
	struct pollux_config config = usual();
	char path[64];

	(void) state;
	assert_non_null(mkdtemp(folder));
	config.batch = 100;
	config.checkpoint_dir = folder;
	config.checkpoint_every_s = 0;
	assert_int_equal(0, crew_run(&crew, &config, ask_alone, NULL));
	snprintf(path, sizeof(path), "%s/step-000000000003", folder);
	assert_int_equal(0, access(path, F_OK));
	snprintf(path, sizeof(path), "rm -r %s", folder);
	assert_int_equal(0, system(path));
}

/* ---- NULL ---- */

static void null_is_refused_in_a_sentence(void **state)
{
	struct pollux_config config = usual();
	struct pollux_pass pass;
	struct pollux *p = pollux_create(&config);

	(void) state;
	assert_int_equal(POLLUX_EINVAL, pollux_register(p, NULL));
	assert_string_equal("pollux_register(): tensor is NULL",
			    pollux_error(p));
	assert_int_equal(POLLUX_EINVAL, pollux_register_blob(p, NULL));
	assert_int_equal(POLLUX_EINVAL, pollux_bucket(p, NULL));
	/* Up to here nothing has begun. */
	assert_int_equal(POLLUX_OK, pollux_start(p));
	pollux_info(p, NULL);
	assert_int_equal(POLLUX_EINVAL, pollux_next(p, NULL));
	assert_string_equal("pollux_next(): pass is NULL", pollux_error(p));
	assert_int_equal(POLLUX_EINVAL, pollux_commit(p));
	pollux_destroy(p);

	p = pollux_create(&config);
	assert_int_equal(POLLUX_OK, pollux_start(p));
	assert_int_equal(1, pollux_next(p, &pass));
	assert_int_equal(POLLUX_EINVAL, pollux_peek(p, 0, NULL));
	assert_string_equal("pollux_peek(): pass is NULL", pollux_error(p));
	pollux_destroy(p);

	p = pollux_create(&config);
	assert_int_equal(POLLUX_OK, pollux_start(p));
	assert_int_equal(1, pollux_next(p, &pass));
	assert_int_equal(POLLUX_EINVAL, pollux_reduce(p, NULL, 1, 0));
	assert_string_equal("bucket 0 of 1: no data", pollux_error(p));
	pollux_destroy(p);

	p = pollux_create(NULL);
	assert_int_equal(POLLUX_EINVAL, pollux_start(p));
	assert_non_null(strstr(pollux_error(p), "pollux_config_init()"));
	pollux_destroy(p);
}

static void no_run_at_all_is_refused(void **state)
{
	struct pollux_pass pass;
	struct pollux_info info;
	float gradient = 1;

	(void) state;
	memset(&info, 1, sizeof(info));
	pollux_info(NULL, &info);
	assert_int_equal(0, info.gpus);
	assert_int_equal(sizeof(info), info.size);
	assert_int_equal(POLLUX_EINVAL, pollux_start(NULL));
	assert_int_equal(POLLUX_EINVAL, pollux_next(NULL, &pass));
	assert_int_equal(POLLUX_EINVAL, pollux_reduce(NULL, &gradient, 1, 0));
	assert_int_equal(POLLUX_EINVAL, pollux_gradient(NULL, 0, &gradient));
	assert_int_equal(POLLUX_EINVAL, pollux_sync(NULL, 0));
	assert_int_equal(POLLUX_EINVAL, pollux_out_of_memory(NULL));
	assert_int_equal(POLLUX_EINVAL, pollux_loss_scale(NULL, 1));
	assert_int_equal(POLLUX_EINVAL, pollux_commit(NULL));
	assert_int_equal(POLLUX_EINVAL, pollux_checkpoint(NULL));
	assert_int_equal(POLLUX_EINVAL, pollux_register(NULL, NULL));
	assert_false(pollux_stopped(NULL) || pollux_skipped(NULL));
	assert_true(pollux_lr(NULL) == 0 && pollux_progress(NULL) == 0);
	assert_true(pollux_lr_factor(NULL, 0) == 1);
	assert_int_equal(0, pollux_crc(NULL));
	pollux_timing(NULL, 1, 1);
	pollux_config_init(NULL);
	assert_string_equal("there is no run: its pointer is NULL",
			    pollux_error(NULL));
}

/* ---- gradients of different sizes ---- */

/* In which step rank 2 has fewer numbers, and how many ranks say so. */
struct uneven {
	uint64_t step;
	const char *sentence;
	int told;
};

static int reduce_unevenly(struct crew_rank *rank)
{
	struct uneven *uneven = rank->user;
	float gradient[7] = { 0 };
	struct pollux_pass pass;
	int more = pollux_start(rank->p);

	while (more >= 0 && (more = pollux_next(rank->p, &pass)) > 0) {
		bool few = rank->rank == 2 && pass.step >= uneven->step;

		more = pollux_reduce(rank->p, gradient, few ? 5 : 7, 1);
		if (more >= 0 && pass.sync)
			more = pollux_commit(rank->p);
	}
	if (!strcmp(pollux_error(rank->p), uneven->sentence))
		__atomic_add_fetch(&uneven->told, 1, __ATOMIC_RELAXED);
	return more;
}

static void gradients_of_two_sizes_are_told_by_all_ranks(void **state)
{
	static const struct uneven cases[] = {
		{ 0, "pollux_reduce() gets 5 numbers on rank 2, 7 on rank 0",
		  0 },
		{ 3, "pollux_reduce() gets 5 numbers on rank 2, want 7", 0 },
	};
	struct pollux_config config = usual();

	(void) state;
	config.batch = 60;
	for (int passes = 1; passes < 3; passes++) {
		config.max_gpu_batch = passes == 1 ? 20 : 10;
		for (int i = 0; i < (int) ARRAY_SIZE(cases); i++) {
			struct crew crew = { .ranks = 3 };
			struct uneven uneven = cases[i];

			assert_int_equal(POLLUX_EINVAL,
					 crew_run(&crew, &config,
						  reduce_unevenly, &uneven));
			assert_int_equal(3, uneven.told);
		}
	}
}

/* ---- large gradients ---- */

enum { LARGE = 1 << 20, STEPS = 20, NOISY = 1000 };

/* What is run, and what came of it. */
struct walk {
	size_t size; /* of the gradient; 0: LARGE */
	int every;   /* this often, whatever a look costs; 0: as it decides */
	bool finite; /* all but one are, and the program says all */
	bool odd;    /* one step's gradient is not */
	bool looks;  /* the program looks by itself */
	bool sees;   /* ... on the last rank, what is not in the gradient */
	bool unread; /* nobody else sees what is odd */
	int watched; /* steps, rank 0 */
	double sqr;  /* of the gradient, as estimated */
	double var;
};

/* Uniform in -1 to 1; another number for each step, rank and place. */
static float noise_at(uint64_t step, int rank, int i)
{
	uint64_t x = (step * 64 + (uint64_t) rank) * NOISY + (uint64_t) i;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return (float) (x >> 40) / (float) (1 << 23) - 1;
}

static int walk_step(struct crew_rank *rank, float *gradient,
		     const struct pollux_pass *pass)
{
	struct walk *walk = rank->user;
	bool odd = walk->odd && pass->step == 9;
	bool last = rank->rank == rank->crew->ranks - 1;

	for (int i = 0; i < NOISY; i++)
		gradient[i] = 1 + noise_at(pass->step, rank->rank, i);
	gradient[walk->size - 1] = odd && !walk->sees ? NAN : 0;
	if (walk->looks &&
	    pollux_finite(rank->p, !(odd && walk->sees && last)) < 0)
		return -1;
	if (pollux_reduce(rank->p, gradient, walk->size, 1) < 0 ||
	    pollux_skipped(rank->p) != (odd && !walk->unread))
		return -1;
	if (rank->rank == 0)
		walk->watched += plx_rate_watches(rank->p);
	if (pollux_commit(rank->p) < 0)
		return -1;
	if (walk->every)
		rank->p->watch.every = walk->every;
	return 0;
}

static int descend(struct crew_rank *rank)
{
	struct walk *walk = rank->user;
	float *gradient = calloc(walk->size, sizeof(*gradient));
	struct pollux_pass pass;
	struct plx_noise noise;
	int more = pollux_start(rank->p);

	rank->p->watch.every = walk->every;
	while (more >= 0 && (more = pollux_next(rank->p, &pass)) > 0) {
		if (walk_step(rank, gradient, &pass) < 0)
			break;
	}
	free(gradient);
	if (rank->rank || more)
		return more;
	if (!plx_rate_noise(rank->p, &noise))
		return -1;
	walk->sqr = noise.sqr;
	walk->var = noise.var;
	return 0;
}

static struct walk walk_for(int ranks, struct walk walk, int steps,
			    int max_batch)
{
	struct pollux_config config = usual();
	struct crew crew = { .ranks = ranks, .begins = ranks % 2 == 0 };

	walk.size = walk.size ? walk.size : LARGE;
	config.batch = 100;
	config.max_batch = max_batch;
	config.samples = 100 * (uint64_t) steps;
	config.finite = walk.finite;
	/* At another batch the step count would be another one. */
	config.max_gpu_batch = (100 + ranks - 1) / ranks;
	config.accumulate = false;
	assert_int_equal(0, crew_run(&crew, &config, descend, &walk));
	return walk;
}

static void what_is_not_finite_is_seen_in_each_step(void **state)
{
	(void) state;
	for (int ranks = 1; ranks <= 2; ranks++) {
		walk_for(ranks, (struct walk){ .odd = true }, STEPS, 0);
		walk_for(ranks, (struct walk){ .odd = true }, STEPS, 101);
	}
}

/* 2 % of the time; where the batch may change a step in 16 at least. */
static void noise_that_costs_much_is_estimated_seldom(void **state)
{
	(void) state;
	assert_int_equal(1, plx_rate_interval(0.001, 0.051));
	assert_int_equal(5, plx_rate_interval(0.001, 0.01));
	assert_int_equal(75, plx_rate_interval(0.003, 0.002));
	assert_int_equal(256, plx_rate_interval(3, 0.002));
	for (int ranks = 1; ranks <= 2; ranks++) {
		struct walk walk = { 0 };

		/* By the clock of a machine that may be busy otherwise. */
		walk = walk_for(ranks, walk, STEPS, 0);
		assert_in_range(walk.watched, 1, STEPS / 2);
		walk = (struct walk){ .every = 1000 };
		walk = walk_for(ranks, walk, STEPS, 101);
		assert_in_range(walk.watched, 2, 4);
	}
}

static void near_to(double want, double is)
{
	if (!(fabs(is - want) < 0.05 * want))
		fail_msg("%g, want about %g", is, want);
}

/*
 * However seldom it is looked at, the estimate is the same: the variance of
 * uniform numbers, 1/3 each, of which ranks see the mean.
 */
static void seldom_looks_are_unbiased(void **state)
{
	static const int intervals[] = { 1, 2, 7 };

	(void) state;
	for (int ranks = 1; ranks <= 3; ranks++) {
		for (size_t i = 0; i < ARRAY_SIZE(intervals); i++) {
			struct walk walk = { .size = NOISY + 1,
					     .every = intervals[i] };

			walk = walk_for(ranks, walk, 300, 101);

			near_to(NOISY, walk.sqr);
			near_to(NOISY / 3.0 / ranks, walk.var);
		}
	}
}

/* Told that all are finite it does not look, but where it looks anyway. */
static void gradients_said_to_be_finite_are_not_read(void **state)
{
	struct walk walk = { .finite = true };

	(void) state;
	walk = walk_for(1, walk, STEPS, 0);
	assert_in_range(walk.watched, 2, 4);
	near_to(NOISY, walk.sqr);
	/* On several ranks they are read for their mean. */
	walk_for(2, (struct walk){ .finite = true, .odd = true }, STEPS, 0);
}

/* Who has looked is believed, either way; a sum is looked at all the same. */
static void a_program_may_look_by_itself(void **state)
{
	const struct walk sees = { .odd = true, .looks = true, .sees = true };
	const struct walk misses = { .odd = true, .looks = true };
	struct walk unread = misses;
	struct pollux_config config = usual();
	struct pollux *p = pollux_create(&config);

	(void) state;
	unread.unread = true;
	for (int ranks = 1; ranks <= 3; ranks++)
		walk_for(ranks, sees, STEPS, 0);
	walk_for(1, unread, STEPS, 0);
	walk_for(2, misses, STEPS, 0);
	assert_int_equal(POLLUX_OK, pollux_start(p));
	assert_int_equal(POLLUX_ECALL, pollux_finite(p, true));
	pollux_destroy(p);
	assert_int_equal(POLLUX_EINVAL, pollux_finite(NULL, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_out_of_order_are_told),
		cmocka_unit_test(what_is_registered_is_checked),
		cmocka_unit_test(device_memory_without_a_device_is_refused),
		cmocka_unit_test(
			wrong_configurations_are_refused_in_a_sentence),
		cmocka_unit_test(callers_of_other_versions_are_served),
		cmocka_unit_test(
			structs_of_another_release_are_told_by_their_size),
		cmocka_unit_test(ranks_that_differ_are_refused_by_all),
		cmocka_unit_test(one_rank_may_ask_for_a_checkpoint),
		cmocka_unit_test(null_is_refused_in_a_sentence),
		cmocka_unit_test(no_run_at_all_is_refused),
		cmocka_unit_test(gradients_of_two_sizes_are_told_by_all_ranks),
		cmocka_unit_test(what_is_not_finite_is_seen_in_each_step),
		cmocka_unit_test(noise_that_costs_much_is_estimated_seldom),
		cmocka_unit_test(seldom_looks_are_unbiased),
		cmocka_unit_test(gradients_said_to_be_finite_are_not_read),
		cmocka_unit_test(a_program_may_look_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
