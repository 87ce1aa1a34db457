/* SPDX-License-Identifier: MIT */
/*
 * data.h - what is learnt from: a generated dataset, or images in IDX files
 *
 * Every rank sees the whole dataset; libpollux says which samples are whose.
 */
#ifndef TRAIN_DATA_H
#define TRAIN_DATA_H

#include <stddef.h>
#include <stdint.h>

#define DATA_ERROR_SIZE 256

struct data {
	uint64_t samples;
	int features;
	int classes;
	uint64_t seed;	       /* teacher: everything follows from it */
	float *teacher;	       /* teacher: its weights; else NULL */
	unsigned char *images; /* IDX: [samples][features] */
	unsigned char *labels; /* IDX: [samples] */
};

/*
 * A small fixed random network, the teacher, labels uniform random points;
 * one label in twenty is wrong. Samples are made when asked for.
 */
int data_teacher(struct data *data, uint64_t samples, int features,
		 uint64_t seed);

/* Images and labels in the format of MNIST. -1 with a sentence in error. */
int data_idx(struct data *data, const char *images, const char *labels,
	     char error[DATA_ERROR_SIZE]);

void data_release(struct data *data);

/* Sample i < samples: its features, and its label as the result. */
int data_get(const struct data *data, uint64_t i, float *features);

#endif
