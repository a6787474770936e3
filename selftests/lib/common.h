/* SPDX-License-Identifier: GPL-2.0-only */
/* What the library's tests share. */
#ifndef SELFTESTS_LIB_COMMON_H
#define SELFTESTS_LIB_COMMON_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "internal.h"

/* Reproducible, the same everywhere. */
static inline uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline float float_from(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static inline uint32_t bits_from(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* About normal around 0, with @scale: what gradients look like. */
static inline float gradient(uint64_t *state, float scale)
{
	float sum = 0;
	int i;

	for (i = 0; i < 4; i++)
		sum += (float)(next_random(state) >> 40) * 0x1p-24f - 0.5f;
	return sum * scale;
}

#define RUN_TESTS(tests) \
	(cmocka_set_message_output(CM_OUTPUT_TAP), \
	 cmocka_run_group_tests_name(#tests, tests, NULL, NULL))

#endif
