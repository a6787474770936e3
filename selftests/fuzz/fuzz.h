/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fuzzer is one function of bytes, as libFuzzer wants it (make fuzz), with
 * seeds for the bounded runs of driver.c (make check).
 */
#ifndef TALLY_SELFTEST_FUZZ_H
#define TALLY_SELFTEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/**
 * struct fuzz_seed - bytes to begin with
 * @data: the bytes
 * @size: how many
 */
struct fuzz_seed {
	const char	*data;
	size_t		size;
};

#define FUZZ_SEED(text) { text, sizeof(text) - 1 }

/* Words that the input likes; the last has size 0, as with the seeds. */
extern const struct fuzz_seed fuzz_seeds[];
extern const struct fuzz_seed fuzz_words[];
extern const char fuzz_name[];		/* of the test */
extern const unsigned int fuzz_runs;	/* in make check */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A condition that must hold for any input. */
#define FUZZ_HOLDS(condition)						\
	do {								\
		if (!(condition)) {					\
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, \
				__LINE__, #condition);			\
			abort();					\
		}							\
	} while (0)

#endif
