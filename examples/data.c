/* SPDX-License-Identifier: MIT */
/* data.c - what is learnt from */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "chance.h"
#include "data.h"

#define TEACHER_CLASSES 4
#define TEACHER_HIDDEN	8
#define WRONG_ONE_IN	20

/* IDX: two zero bytes, type 8 (unsigned byte), number of dimensions. */
#define IDX_IMAGES    0x00000803u
#define IDX_LABELS    0x00000801u
#define IDX_BYTES_MAX INT32_MAX /* so that sizes fit an int */

/* Streams of random numbers that must not be the same. */
enum { STREAM_TEACHER = 1, STREAM_FEATURES, STREAM_WRONG };

static uint64_t stream(const struct data *data, int which)
{
	return data->seed * 8 + (uint64_t) which;
}

int data_teacher(struct data *data, uint64_t samples, int features,
		 uint64_t seed)
{
	size_t n =
		(size_t) TEACHER_HIDDEN * ((size_t) features + TEACHER_CLASSES);

	*data = (struct data){
		.samples = samples,
		.features = features,
		.classes = TEACHER_CLASSES,
		.seed = seed,
		.teacher = calloc(n, sizeof(float)),
	};
	if (!data->teacher)
		return -1;
	for (size_t i = 0; i < n; i++)
		data->teacher[i] =
			(float) chance(stream(data, STREAM_TEACHER), i);
	return 0;
}

/* What the teacher thinks of a point. */
static int teacher_label(const struct data *data, const float *features)
{
	const float *out = data->teacher +
			   (size_t) TEACHER_HIDDEN * (size_t) data->features;
	float scores[TEACHER_CLASSES] = { 0 };
	int best = 0;

	for (int h = 0; h < TEACHER_HIDDEN; h++) {
		const float *in =
			data->teacher + (size_t) h * (size_t) data->features;
		float sum = 0;

		for (int f = 0; f < data->features; f++)
			sum += in[f] * features[f];
		sum = tanhf(sum);
		for (int c = 0; c < TEACHER_CLASSES; c++)
			scores[c] += out[h * TEACHER_CLASSES + c] * sum;
	}
	for (int c = 1; c < TEACHER_CLASSES; c++)
		best = scores[c] > scores[best] ? c : best;
	return best;
}

static int teacher_get(const struct data *data, uint64_t i, float *features)
{
	uint64_t dice = chance_bits(stream(data, STREAM_WRONG), i);
	uint64_t first = i * (uint64_t) data->features;

	for (int f = 0; f < data->features; f++)
		features[f] = (float) chance(stream(data, STREAM_FEATURES),
					     first + (uint64_t) f);
	if (dice % WRONG_ONE_IN == 0)
		return (int) (dice / WRONG_ONE_IN % TEACHER_CLASSES);
	return teacher_label(data, features);
}

/* ---- IDX files ---- */

static int fail(char error[DATA_ERROR_SIZE], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int fail(char error[DATA_ERROR_SIZE], const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(error, DATA_ERROR_SIZE, fmt, args);
	va_end(args);
	return -1;
}

/* A header of big-endian numbers: magic, then `count` sizes. */
static int idx_header(FILE *file, uint32_t magic, uint32_t *sizes, int count)
{
	unsigned char bytes[16];

	if (fread(bytes, 4, (size_t) count + 1, file) != (size_t) count + 1)
		return -1;
	for (int i = 0; i <= count; i++) {
		const unsigned char *b = bytes + 4 * i;
		uint32_t value = (uint32_t) b[0] << 24 | (uint32_t) b[1] << 16 |
				 (uint32_t) b[2] << 8 | b[3];

		if (i == 0 && value != magic)
			return -1;
		if (i > 0)
			sizes[i - 1] = value;
	}
	return 0;
}

/* Has it that many more? No memory is taken for what is not there. */
static bool has_more(FILE *file, uint64_t bytes)
{
	struct stat st;
	long at = ftell(file);

	return at >= 0 && fstat(fileno(file), &st) == 0 &&
	       st.st_size - at >= (off_t) bytes;
}

/* All bytes of an IDX file; sizes[count] are its dimensions. */
static unsigned char *idx_read(const char *path, uint32_t magic,
			       uint32_t *sizes, char error[DATA_ERROR_SIZE])
{
	const int count = (int) (magic & 0xff);
	unsigned char *bytes = NULL;
	uint64_t total = 1;
	FILE *file = fopen(path, "rb");

	if (!file) {
		fail(error, "%.150s: %s", path, strerror(errno));
		return NULL;
	}
	if (idx_header(file, magic, sizes, count) < 0) {
		fail(error,
		     "%.150s: not an IDX file with %d dimensions of bytes (is "
		     "it compressed?)",
		     path, count);
		goto done;
	}
	/* Both factors are below 2^32: no overflow. */
	for (int i = 0; i < count && total <= UINT32_MAX; i++)
		total *= sizes[i];
	if (total == 0 || total > IDX_BYTES_MAX) {
		fail(error, "%.150s: its header says %" PRIu64 " bytes", path,
		     total);
		goto done;
	}
	bytes = has_more(file, total) ? malloc(total) : NULL;
	if (!bytes || fread(bytes, 1, total, file) != total) {
		fail(error, "%.150s: cut short, want %" PRIu64 " bytes of data",
		     path, total);
		free(bytes);
		bytes = NULL;
	}
done:
	fclose(file);
	return bytes;
}

int data_idx(struct data *data, const char *images, const char *labels,
	     char error[DATA_ERROR_SIZE])
{
	uint32_t shape[3] = { 0 };
	uint32_t count = 0;
	int top = 0;

	*data = (struct data){ 0 };
	data->images = idx_read(images, IDX_IMAGES, shape, error);
	if (!data->images)
		return -1;
	data->labels = idx_read(labels, IDX_LABELS, &count, error);
	if (!data->labels)
		return -1;
	if (count != shape[0])
		return fail(error, "%u images, but %u labels", shape[0], count);
	for (uint32_t i = 0; i < count; i++)
		top = data->labels[i] > top ? data->labels[i] : top;
	data->samples = shape[0];
	data->features = (int) (shape[1] * shape[2]);
	data->classes = top + 1;
	return 0;
}

static int idx_get(const struct data *data, uint64_t i, float *features)
{
	const unsigned char *image =
		data->images + i * (uint64_t) data->features;

	for (int f = 0; f < data->features; f++)
		features[f] = (float) image[f] / 255.0f;
	return data->labels[i];
}

void data_release(struct data *data)
{
	free(data->teacher);
	free(data->images);
	free(data->labels);
	*data = (struct data){ 0 };
}

int data_get(const struct data *data, uint64_t i, float *features)
{
	return data->teacher ? teacher_get(data, i, features)
			     : idx_get(data, i, features);
}
