/* SPDX-License-Identifier: MIT */
/*
 * fuzz.c - the targets, fed with bytes that are the same on every machine
 *
 *	fuzz [--rounds=N | --seconds=S] [--seed=N] [--reached=FILE] CORPUS
 *	     WORDS TARGET...
 *	fuzz --again TARGET FILE...	what a fuzzer has found, again
 *
 * CORPUS/TARGET/ holds the inputs to begin with: each is run as it is, then
 * damaged ones are. WORDS is a dictionary of libFuzzer's.
 */

#include <dirent.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include "reached.h"

#define COUNT(a)  (sizeof(a) / sizeof((a)[0]))
#define INPUT_MAX 16384 /* bytes */
#define LIST_MAX  512	/* inputs, or words */
#define HANG_S	  20	/* for a batch of inputs */
#define BATCH	  64

struct text {
	uint8_t *data;
	size_t size;
};

struct list {
	struct text texts[LIST_MAX];
	size_t count;
};

static struct list corpus;
static struct list words;
static uint64_t state = 20210714;

static size_t below(size_t limit)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return limit ? (size_t) (state >> 33) % limit : 0;
}

/* ---- what there is to begin with ---- */

static void add(struct list *list, const void *data, size_t size)
{
	struct text *text = &list->texts[list->count++];

	MUST(list->count <= LIST_MAX);
	text->data = malloc(size + 1);
	MUST(text->data);
	memcpy(text->data, data, size);
	text->size = size;
}

static void clear(struct list *list)
{
	while (list->count)
		free(list->texts[--list->count].data);
}

static void add_file(struct list *list, const char *path)
{
	static uint8_t data[1 << 20];
	FILE *file = fopen(path, "rb");

	MUST(file);
	add(list, data, fread(data, 1, sizeof(data), file));
	fclose(file);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* In the order of their names, so that all machines do the same. */
static void read_corpus(const char *folder, const char *target)
{
	struct dirent **files;
	char path[PATH_MAX];
	int count;

	clear(&corpus);
	snprintf(path, sizeof(path), "%s/%s", folder, target);
	count = scandir(path, &files, NULL, by_name);
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s/%s", folder, target,
			 files[i]->d_name);
		if (files[i]->d_name[0] != '.')
			add_file(&corpus, path);
		free(files[i]);
	}
	if (count >= 0)
		free(files);
	if (!corpus.count) {
		fprintf(stderr, "no inputs to begin with in %s/%s\n", folder,
			target);
		exit(1);
	}
}

/* "ack=\x0a": one word a line. */
static void read_word(const char *line)
{
	uint8_t word[256];
	size_t size = 0;

	for (line++; *line && *line != '"' && size < sizeof(word); line++) {
		unsigned int byte = (unsigned char) *line;

		if (*line == '\\') {
			MUST(sscanf(line, "\\x%2x", &byte) == 1);
			line += 3;
		}
		word[size++] = (uint8_t) byte;
	}
	add(&words, word, size);
}

static void read_words(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[1024];

	MUST(file);
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '"')
			read_word(line);
	}
	fclose(file);
	MUST(words.count > 0);
}

/* ---- damage ---- */

/* Replace `gone` bytes at `at` by the word. */
static size_t splice(uint8_t *text, size_t length, size_t at, size_t gone,
		     const uint8_t *word, size_t word_length)
{
	if (at + gone > length)
		gone = length - at;
	if (length - gone + word_length >= INPUT_MAX)
		return length;
	memmove(text + at + word_length, text + at + gone, length - at - gone);
	memcpy(text + at, word, word_length);
	return length - gone + word_length;
}

static size_t mutate(uint8_t *text, size_t length)
{
	const struct text *other = &corpus.texts[below(corpus.count)];
	const struct text *word = &words.texts[below(words.count)];
	static uint8_t filler[INPUT_MAX];
	size_t from = below(other->size);
	uint8_t byte = (uint8_t) below(256);
	size_t at = below(length + 1);

	switch (below(8)) {
	case 0:
		return splice(text, length, at, 1, &byte, 1);
	case 1:
		return splice(text, length, at, below(8), &byte, 0);
	case 2:
		return splice(text, length, at, below(2) * below(6), word->data,
			      word->size);
	case 3:
		return splice(text, length, at, below(40), other->data + from,
			      below(other->size - from));
	case 4: /* a digit */
		byte = (uint8_t) ('0' + below(10));
		return splice(text, length, at, 1, &byte, 1);
	case 5: /* longer than anything */
		memset(filler, 'x', sizeof(filler));
		return splice(text, length, at, 0, filler,
			      below(8) ? below(8) : below(sizeof(filler)));
	case 6: /* a bit */
		if (at < length)
			text[at] ^= (uint8_t) (1u << below(8));
		return length;
	default:
		memcpy(filler, text, length);
		return splice(text, length, at, 0, filler + at,
			      below(length - at + 1));
	}
}

/* Exactly as many bytes as there are, so that reading beyond is seen. */
static void feed(fuzz_function *run, const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	MUST(copy);
	memcpy(copy, data, size);
	run(copy, size);
	free(copy);
}

static void round_of(fuzz_function *run)
{
	static uint8_t text[INPUT_MAX];
	const struct text *seed = &corpus.texts[below(corpus.count)];
	size_t length = seed->size < INPUT_MAX ? seed->size : INPUT_MAX - 1;
	size_t edits = 1 + below(1 + below(8));

	memcpy(text, seed->data, length);
	if (below(16) == 0) {
		length = below(2048);
		for (size_t i = 0; i < length; i++)
			text[i] = (uint8_t) below(256);
	}
	for (size_t i = 0; i < edits; i++)
		length = mutate(text, length);
	feed(run, text, length);
}

static void run_target(const char *name, long rounds, double seconds)
{
	fuzz_function *run = fuzz_find(name);
	time_t end = time(NULL) + (time_t) seconds;
	long done = 0;

	for (size_t i = 0; i < corpus.count; i++) {
		alarm(HANG_S);
		feed(run, corpus.texts[i].data, corpus.texts[i].size);
	}
	while (seconds > 0 ? done % BATCH || time(NULL) < end : done < rounds) {
		if (done % BATCH == 0)
			alarm(HANG_S);
		round_of(run);
		done++;
	}
	alarm(0);
	printf("%-10s %zu kept inputs, %ld damaged ones\n", name, corpus.count,
	       done);
	fflush(stdout);
}

static int again(int count, char **words_given)
{
	fuzz_function *run = count ? fuzz_find(words_given[0]) : NULL;

	MUST(run);
	for (int i = 1; i < count; i++)
		add_file(&corpus, words_given[i]);
	for (size_t i = 0; i < corpus.count; i++)
		feed(run, corpus.texts[i].data, corpus.texts[i].size);
	clear(&corpus);
	return 0;
}

int main(int argc, char **argv)
{
	const char *reached = NULL;
	double seconds = 0;
	long rounds = 10000;
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		const char *value = strchr(argv[i], '=');

		if (!strcmp(argv[i], "--again"))
			return again(argc - i - 1, argv + i + 1);
		MUST(value);
		if (!strncmp(argv[i], "--rounds", 8))
			rounds = atol(value + 1);
		else if (!strncmp(argv[i], "--seconds", 9))
			seconds = atof(value + 1);
		else if (!strncmp(argv[i], "--reached", 9))
			reached = value + 1;
		else
			state = (uint64_t) atoll(value + 1);
	}
	MUST(argc - i > 2);
	read_words(argv[i + 1]);
	for (int t = i + 2; t < argc; t++) {
		if (!fuzz_find(argv[t])) {
			fprintf(stderr, "no target is called %s\n", argv[t]);
			return 1;
		}
		read_corpus(argv[i], argv[t]);
		run_target(argv[t], rounds, seconds);
	}
	if (reached)
		reached_write(reached);
	clear(&corpus);
	clear(&words);
	return 0;
}
