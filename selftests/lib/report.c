// SPDX-License-Identifier: GPL-2.0-only
/* Masks and reports as text; digests. */
#include <stdlib.h>

#include "common.h"

static void mask_format__ranges(void **state)
{
	static const struct {
		uint64_t	mask;
		const char	*text;
	} cases[] = {
		{ 0, "none" },
		{ 1, "0" },
		{ 3, "0,1" },
		{ 7, "0-2" },
		{ 0xf00000000000000d, "0,2,3,60-63" },
		{ ~0ull, "0-63" },
		{ 1ull << 63, "63" },
	};
	char buf[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(tally_mask_format(cases[i].mask, NULL, buf,
						   sizeof(buf)),
				 strlen(cases[i].text));
		assert_string_equal(buf, cases[i].text);
	}
}

static void mask_format__names(void **state)
{
	const char *names[TALLY_RANKS] = { [0] = "amber", [2] = "coral",
					   [3] = "dune" };
	char buf[64];

	(void)state;
	tally_mask_format(0x7f, names, buf, sizeof(buf));
	assert_string_equal(buf, "amber,1,coral,dune,4-6");
}

static void mask_format__short_buffer(void **state)
{
	char buf[8];

	(void)state;
	assert_int_equal(tally_mask_format(0x5555, NULL, buf, 4), 18);
	assert_string_equal(buf, "0,2");
	assert_int_equal(tally_mask_format(0x5555, NULL, NULL, 0), 18);
	assert_int_equal(tally_mask_format(1, NULL, NULL, 4), -EINVAL);
}

static void report_format__names_who(void **state)
{
	const char *names[TALLY_RANKS] = { [1] = "amber", [2] = "coral" };
	struct tally_report r = { .size = sizeof(r), .status = -EHOSTDOWN,
				  .seq = 7, .parts = 3, .chunks = 40,
				  .elapsed_us = 1200, .missing = 2, .late = 4,
				  .partial = 5, .flags = TALLY_F_REJOIN };
	char buf[300];
	int n;

	(void)state;
	n = tally_report_format(&r, names, buf, sizeof(buf));
	assert_int_equal(n, strlen(buf));
	assert_string_equal(buf, "collective 7..9: a chunk could not be "
			    "decided, 40 chunks in 1200 us (5 partial, 0 void, "
			    "0 repaired, 0 lost, 0 not finite); missing: amber;"
			    " late: coral; a member waits for state");
	memset(&r, 0, sizeof(r));
	r.size = sizeof(r);
	r.parts = 1;
	tally_report_format(&r, NULL, buf, sizeof(buf));
	assert_string_equal(buf, "collective 0: complete, 0 chunks in 0 us");
	assert_int_equal(tally_report_format(NULL, NULL, buf, 1), -EINVAL);
}

static void digest__differs_by_any_bit(void **state)
{
	uint8_t buf[101], odd[104];
	uint64_t whole;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)(i * 37);
	whole = tally_digest(buf, sizeof(buf));
	/* Part of the interface: digests may be stored. */
	assert_int_equal(whole, 0x3ae0c8c3aa107113ull);
	memcpy(odd + 3, buf, sizeof(buf));
	assert_int_equal(tally_digest(odd + 3, sizeof(buf)), whole);
	for (i = 0; i < 8 * sizeof(buf); i++) {
		buf[i / 8] ^= (uint8_t)(1u << i % 8);
		assert_int_not_equal(tally_digest(buf, sizeof(buf)), whole);
		buf[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	/* Zeros at the end count. */
	memset(buf, 0, sizeof(buf));
	for (i = 1; i < sizeof(buf); i++)
		assert_int_not_equal(tally_digest(buf, i),
				     tally_digest(buf, i - 1));
	/* Blocks that change places. */
	buf[0] = 1;
	whole = tally_digest(buf, 96);
	buf[0] = 0;
	buf[32] = 1;
	assert_int_not_equal(tally_digest(buf, 96), whole);
}

int main(void)
{
	const struct CMUnitTest report[] = {
		cmocka_unit_test(mask_format__ranges),
		cmocka_unit_test(mask_format__names),
		cmocka_unit_test(mask_format__short_buffer),
		cmocka_unit_test(report_format__names_who),
		cmocka_unit_test(digest__differs_by_any_bit),
	};

	return RUN_TESTS(report);
}
