/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/* Handwritten digits of 8x8 pixels: reading, splitting, sharding. */
#ifndef TALLY_EXAMPLES_DATA_H
#define TALLY_EXAMPLES_DATA_H

#include <stddef.h>
#include <stdint.h>

#define DIGIT_PIXELS	64
#define DIGIT_CLASSES	10

/**
 * struct digit - one sample
 * @pixel: 0 (white) to 1 (black)
 * @label: what was written
 */
struct digit {
	float		pixel[DIGIT_PIXELS];
	uint32_t	label;
};

/**
 * struct digits - all samples, in an order that a fixed seed gave
 * @all: @nr samples: those to train on, then those held out
 * @nr: how many
 * @train: how many of them to train on
 */
struct digits {
	struct digit	*all;
	size_t		nr;
	size_t		train;
};

/**
 * digits_read - read a file of lines of 65 numbers: pixels of 0 to 16, label
 * @path: plain or compressed by gzip
 * @out: to be freed with digits_free()
 * @why: receives what is wrong, with the line's number
 * @size: of @why
 *
 * Four fifths of the samples are to train on, and the rest is held out; which
 * ones is the same for every caller.
 *
 * Return: 0 or -errno, with @why written.
 */
int digits_read(const char *path, struct digits *out, char *why, size_t size);
void digits_free(struct digits *d);

/* Samples that @rank of @ranks trains on: disjoint, together all. */
void digits_shard(const struct digits *d, uint32_t rank, uint32_t ranks,
		  size_t *first, size_t *count);

/* Uniform in 0 ... @below - 1; steps @state. */
uint32_t random_below(uint64_t *state, uint32_t below);
/* Put @order, filled with 0 ... @count - 1, into an order that @seed gives. */
void random_order(uint32_t *order, size_t count, uint64_t seed);

#endif
