/* SPDX-License-Identifier: MIT */
/*
 * checkpoint.c - a checkpoint to disk and back, beside dd
 *
 *	checkpoint [--mb=1024] [--dir=DIR] [--ranks=N] [--rounds=5] [--json]
 *
 * In turn, several rounds in one run, on the disk of DIR: the state written
 * and flushed by N ranks, the same bytes by dd (from memory, oflag=direct,
 * conv=fsync), the state read back and checked, the copy that a save in the
 * background makes training wait for, and the copy into the node's memory
 * that a handover makes. Prints gigabytes a second, median and worst of all
 * rounds, and ours over dd's:
 *
 *	{"mb":N,"ranks":N,"write_gbps":F,"dd_gbps":F,"write_over_dd":F,
 *	 "restore_gbps":F,"copy_gbps":F,"resident_gbps":F,...}
 *
 * One directory is made in DIR (default: the present one) and removed.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/disk/folder.h"
#include "agent/memory/memory_image.h"
#include "agent/state/agent.h"
#include "agent/state/restore.h"
#include "agent/state/save.h"
#include "wire/now.h"

#define TENSORS	   16
#define ROUNDS_MAX 99
#define MEMORY	   "/dev/shm"

enum what { WRITE, DD, RESTORE, COPY, RESIDENT, WHAT_COUNT };

static const char *const names[WHAT_COUNT] = {
	[WRITE] = "write",	 [DD] = "dd",
	[RESTORE] = "restore",	 [COPY] = "copy",
	[RESIDENT] = "resident",
};

struct bench {
	int mb;
	int ranks;
	int rounds;
	bool json;
	const char *dir;
	char folder[PATH_MAX];
	char source[128]; /* the state in memory, for dd */
	char *state;
	size_t bytes;
	struct pollux *p;
	double seconds[WHAT_COUNT][ROUNDS_MAX];
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "checkpoint: %s: %s\n", what, why);
	exit(EXIT_FAILURE);
}

static int number(const char *text, int most)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (!*text || *end || value < 1 || value > most)
		die(text, "not a number that can be meant");
	return (int) value;
}

static void read_options(struct bench *b, int argc, char **argv)
{
	static const struct option options[] = {
		{ "mb", required_argument, NULL, 'm' },
		{ "dir", required_argument, NULL, 'd' },
		{ "ranks", required_argument, NULL, 'r' },
		{ "rounds", required_argument, NULL, 'n' },
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	*b = (struct bench){ .mb = 1024, .ranks = 1, .rounds = 5, .dir = "." };
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'm')
			b->mb = number(optarg, 1 << 20);
		else if (c == 'd')
			b->dir = optarg;
		else if (c == 'r')
			b->ranks = number(optarg, 4096);
		else if (c == 'n')
			b->rounds = number(optarg, ROUNDS_MAX);
		else if (c == 'j')
			b->json = true;
		else
			exit(EXIT_FAILURE);
	}
}

/* Several ranks: once more, under mpirun. */
static void spread_out(const struct bench *b, char **argv)
{
	char ranks[16];
	const char *args[16] = { "mpirun", "-n", ranks, "--oversubscribe" };
	int n = 4;

	if (b->ranks == 1 || getenv("OMPI_COMM_WORLD_SIZE"))
		return;
	snprintf(ranks, sizeof(ranks), "%d", b->ranks);
	while (*argv && n < 15)
		args[n++] = *argv++;
	execvp(args[0], (char **) args);
	die(args[0], strerror(errno));
}

/* ---- the state ---- */

static void fill(struct bench *b)
{
	uint64_t x = 88172645463325252u;

	b->bytes = (size_t) b->mb << 20;
	b->state = malloc(b->bytes);
	if (!b->state)
		die("state", "no memory");
	for (size_t i = 0; i < b->bytes; i += sizeof(x)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(b->state + i, &x, sizeof(x));
	}
}

static void start(struct bench *b)
{
	struct pollux_config config;
	size_t part = b->bytes / TENSORS;

	pollux_config_init(&config);
	config.samples = 1;
	config.collectives = b->ranks == 1 ? "self" : "mpi";
	config.checkpoint_dir = b->folder;
	config.checkpoint_every_s = 0;
	config.checkpoint_keep = 1;
	config.quiet = true;
	b->p = pollux_create(&config);
	for (int i = 0; i < TENSORS; i++) {
		char name[24];
		struct pollux_tensor t = {
			.name = name,
			.data = b->state + (size_t) i * part,
			.type = POLLUX_U8,
			.dims = 1,
			.shape = { part },
		};

		snprintf(name, sizeof(name), "layer%d", i);
		if (pollux_register(b->p, &t) < 0)
			die("register", pollux_error(b->p));
	}
	if (pollux_start(b->p) < 0)
		die("start", pollux_error(b->p));
}

/* dd wants a file: in memory, so that only its writing counts. */
static void make_source(struct bench *b)
{
	FILE *out;

	snprintf(b->source, sizeof(b->source), MEMORY "/pollux-bench.%ld",
		 (long) getpid());
	out = fopen(b->source, "wx");
	if (!out || fwrite(b->state, 1, b->bytes, out) != b->bytes ||
	    fclose(out) != 0) {
		unlink(b->source);
		die(b->source, strerror(errno));
	}
}

static void make_folder(struct bench *b)
{
	snprintf(b->folder, sizeof(b->folder), "%s/checkpoint.XXXXXX", b->dir);
	if (b->p == NULL && !mkdtemp(b->folder))
		die(b->dir, strerror(errno));
}

/* ---- what is measured ---- */

static int rank_of(const struct bench *b)
{
	return b->p->coll->rank;
}

static void together(struct bench *b)
{
	if (b->p->coll->ops->barrier(b->p->coll, &b->p->err) < 0)
		die("barrier", b->p->err.text);
}

static void run_write(struct bench *b)
{
	b->p->cursor.step++;
	if (plx_save(b->p, PLX_SAVE_FLUSHED) != 0)
		die("save", b->p->err.text);
}

static void run_dd(struct bench *b)
{
	char command[3 * PATH_MAX];

	if (rank_of(b) != 0)
		return;
	snprintf(command, sizeof(command),
		 "dd if='%s' of='%s/dd.out' bs=8M oflag=direct conv=fsync "
		 "2>/dev/null",
		 b->source, b->folder);
	if (system(command) != 0)
		die("dd", "failed");
}

static void run_restore(struct bench *b)
{
	plx_save_release(b->p);
	if (plx_restore(b->p) < 0)
		die("restore", b->p->err.text);
}

/* What training waits for; the rest goes on behind the next ones. */
static void run_copy(struct bench *b)
{
	b->p->cursor.step++;
	if (plx_save(b->p, PLX_SAVE_ASYNC) != 0)
		die("save", b->p->err.text);
}

static void *image_memory(struct bench *b, struct plx_parts *parts)
{
	static struct plx_image_part list[TENSORS];
	static void *memory;

	for (int i = 0; i < TENSORS; i++) {
		const struct plx_tensor *t = &b->p->registered.tensors[i];

		list[i] = (struct plx_image_part){
			.data = t->data,
			.bytes = t->bytes,
			.memory = t->memory,
			.kind = (uint32_t) i,
			.name = t->name,
		};
	}
	*parts = (struct plx_parts){ list, TENSORS, TENSORS, 0 };
	if (!memory) {
		size_t size = plx_memory_image_size(parts);

		memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
		if (!memory)
			die("room", "no memory");
		memset(memory, 1, size);
	}
	return memory;
}

static void run_resident(struct bench *b)
{
	const struct plx_memory_image_facts facts = { .job = "bench" };
	struct plx_slice slice = {
		.mine = b->p->coll->local_rank,
		.of = b->p->coll->local_ranks,
	};
	struct plx_parts parts;
	void *memory = image_memory(b, &parts);
	struct plx_error err;

	plx_memory_image_lay(memory, &parts, &facts);
	if (plx_memory_image_write(memory, &parts, slice, &err) < 0)
		die("resident", err.text);
}

static void (*const runs[WHAT_COUNT])(struct bench *) = {
	[WRITE] = run_write,	   [DD] = run_dd,
	[RESTORE] = run_restore,   [COPY] = run_copy,
	[RESIDENT] = run_resident,
};

/* The disk's files of the round before are no part of this one. */
static void clean(struct bench *b)
{
	char path[PATH_MAX + 16];

	if (plx_save_wait(b->p) < 0)
		die("save", b->p->err.text);
	snprintf(path, sizeof(path), "%s/dd.out", b->folder);
	if (rank_of(b) == 0) {
		unlink(path);
		sync();
	}
	together(b);
}

/* Memory that is kept from one time to the next is got once. */
static void warm_up(struct bench *b, enum what what)
{
	struct plx_parts parts;

	if (what == COPY)
		run_copy(b);
	if (what == RESIDENT)
		(void) image_memory(b, &parts);
}

static void measure(struct bench *b)
{
	for (int round = 0; round < b->rounds; round++) {
		for (int what = 0; what < WHAT_COUNT; what++) {
			double begin_s;

			warm_up(b, (enum what) what);
			clean(b);
			begin_s = plx_now_s();
			runs[what](b);
			together(b);
			b->seconds[what][round] = plx_now_s() - begin_s;
		}
	}
	clean(b);
}

/* ---- what is said ---- */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

static void tell(struct bench *b)
{
	double gb = 1e-9 * (double) b->bytes;
	double median[WHAT_COUNT];
	double worst[WHAT_COUNT];

	for (int i = 0; i < WHAT_COUNT; i++) {
		qsort(b->seconds[i], (size_t) b->rounds, sizeof(double),
		      ascending);
		median[i] = gb / b->seconds[i][b->rounds / 2];
		worst[i] = gb / b->seconds[i][b->rounds - 1];
	}
	if (!b->json) {
		for (int i = 0; i < WHAT_COUNT; i++)
			printf("%-8s  median %6.3f GB/s, worst %6.3f\n",
			       names[i], median[i], worst[i]);
		printf("write over dd: %.2f\n", median[WRITE] / median[DD]);
		return;
	}
	printf("{\"mb\":%d,\"ranks\":%d,\"rounds\":%d,"
	       "\"write_over_dd\":%.3f",
	       b->mb, b->ranks, b->rounds, median[WRITE] / median[DD]);
	for (int i = 0; i < WHAT_COUNT; i++)
		printf(",\"%s_gbps\":%.3f,\"%s_worst_gbps\":%.3f", names[i],
		       median[i], names[i], worst[i]);
	printf("}\n");
}

int main(int argc, char **argv)
{
	struct bench b;
	int rank = 0;

	read_options(&b, argc, argv);
	spread_out(&b, argv);
	if (b.ranks > 1) {
		MPI_Init(NULL, NULL);
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	}
	if (rank == 0)
		make_folder(&b);
	if (b.ranks > 1)
		MPI_Bcast(b.folder, sizeof(b.folder), MPI_BYTE, 0,
			  MPI_COMM_WORLD);
	fill(&b);
	start(&b);
	if (rank == 0)
		make_source(&b);
	measure(&b);
	if (rank == 0) {
		tell(&b);
		unlink(b.source);
	}
	b.p->config.checkpoint_every_s = 0;
	pollux_destroy(b.p);
	if (b.ranks > 1)
		MPI_Finalize();
	if (rank == 0) {
		char command[PATH_MAX + 16];

		snprintf(command, sizeof(command), "rm -r '%s'", b.folder);
		if (system(command) != 0)
			die(b.folder, "cannot be removed");
	}
	free(b.state);
	return EXIT_SUCCESS;
}
