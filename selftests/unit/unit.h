/* SPDX-License-Identifier: GPL-2.0-only */
/* What every test of the shared rules needs. */
#ifndef _UNIT_H
#define _UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

typedef unsigned __int128 wide;

/* A repeatable source of bits (splitmix64); never seeded by time. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* A number in [@from, @to]. */
static inline uint64_t random_range(uint64_t *state, uint64_t from, uint64_t to)
{
	return from + random_next(state) % (to - from + 1);
}

/*
 * Like assert_int_equal(), but without a function call while all is well: the
 * tests compare tens of millions of numbers.
 */
#define check_equal(a, b)						\
	do {								\
		uint64_t _a = (a), _b = (b);				\
									\
		if (_a != _b)						\
			fail_msg("%s is %#llx, %s is %#llx", #a,	\
				 (unsigned long long)_a, #b,		\
				 (unsigned long long)_b);		\
	} while (0)

#define check_true(x)							\
	do {								\
		if (!(x))						\
			fail_msg("%s does not hold", #x);		\
	} while (0)

#define UNIT_MAIN(...)							\
	int main(void)							\
	{								\
		const struct CMUnitTest tests[] = { __VA_ARGS__ };	\
									\
		cmocka_set_message_output(CM_OUTPUT_TAP);		\
		return cmocka_run_group_tests(tests, NULL, NULL);	\
	}

#endif
