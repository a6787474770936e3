// SPDX-License-Identifier: GPL-2.0-only
/* Numbers, sizes, durations, addresses, names, and near words. */
#include "model.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef const char *(*parser)(const char *text, uint64_t *value);

struct row {
	parser		parse;
	const char	*text;
	bool		good;
	uint64_t	value;
};

static const struct row rows[] = {
	{ units_number, "0", true, 0 },
	{ units_number, "18446744073709551615", true, UINT64_MAX },
	{ units_number, "18446744073709551616", false, 0 },
	{ units_number, "99999999999999999999999", false, 0 },
	{ units_number, "", false, 0 },
	{ units_number, "-1", false, 0 },
	{ units_number, "+1", false, 0 },
	{ units_number, " 1", false, 0 },
	{ units_number, "1 ", false, 0 },
	{ units_number, "0x10", false, 0 },
	{ units_number, "1e3", false, 0 },

	{ units_size, "0", true, 0 },
	{ units_size, "4096", true, 4096 },
	{ units_size, "4096B", true, 4096 },
	{ units_size, "4k", true, 4096 },
	{ units_size, "4K", true, 4096 },
	{ units_size, "4KiB", true, 4096 },
	{ units_size, "4M", true, 4 << 20 },
	{ units_size, "4 MiB", true, 4 << 20 },
	{ units_size, "1.5M", true, 3 << 19 },
	{ units_size, "1G", true, 1 << 30 },
	{ units_size, "17179869183G", true, 17179869183ull << 30 },
	{ units_size, "17179869184G", false, 0 },
	{ units_size, "4MB", false, 0 },
	{ units_size, "4m", false, 0 },
	{ units_size, "1.3", false, 0 },
	{ units_size, "1.3K", false, 0 },
	{ units_size, "1.K", false, 0 },
	{ units_size, ".5K", false, 0 },
	{ units_size, "1.0000000K", false, 0 },
	{ units_size, "-4K", false, 0 },
	{ units_size, "K", false, 0 },
	{ units_size, "4K # four", false, 0 },

	{ units_time, "0", true, 0 },
	{ units_time, "0.0", false, 0 },
	{ units_time, "250us", true, 250 },
	{ units_time, "20ms", true, 20000 },
	{ units_time, "20 ms", true, 20000 },
	{ units_time, "0.5ms", true, 500 },
	{ units_time, "1.5s", true, 1500000 },
	{ units_time, "2min", true, 120000000 },
	{ units_time, "0.25us", false, 0 },
	{ units_time, "20", false, 0 },
	{ units_time, "20m", false, 0 },
	{ units_time, "20MS", false, 0 },
	{ units_time, "ms", false, 0 },
	{ units_time, "20msx", false, 0 },
	{ units_time, "307445734562min", false, 0 },

	{ units_gid, "0", true, 0 },
	{ units_gid, "1000", true, 1000 },
	{ units_gid, "root", true, 0 },
	{ units_gid, "no-such-users", false, 0 },
	{ units_gid, "", false, 0 },
};

static void units__parse(void **state)
{
	const char *wrong;
	uint64_t value;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		value = 12345;
		wrong = rows[i].parse(rows[i].text, &value);
		if (!wrong != rows[i].good)
			fail_msg("'%s': %s", rows[i].text,
				 wrong ? wrong : "taken");
		if (rows[i].good && value != rows[i].value)
			fail_msg("'%s' became %llu", rows[i].text,
				 (unsigned long long)value);
	}
}

static void units__exact_parses_back(void **state)
{
	static const uint64_t values[] = {
		0, 1, 999, 1000, 1001, 1024, 1344, 4 << 20, 20000, 1500000,
		60000000, 3600000000ull, UINT32_MAX, 1ull << 40, UINT64_MAX,
	};
	char text[UNITS_TEXT];
	uint64_t back;
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		units_size_exact(values[i], text, sizeof(text));
		assert_null(units_size(text, &back));
		assert_true(back == values[i]);
		units_time_exact(values[i], text, sizeof(text));
		assert_null(units_time(text, &back));
		assert_true(back == values[i]);
	}
}

static void units__human(void **state)
{
	char t[UNITS_TEXT];

	assert_string_equal(units_size_human(0, t, sizeof(t)), "0 B");
	assert_string_equal(units_size_human(1344, t, sizeof(t)), "1344 B");
	assert_string_equal(units_size_human(8960, t, sizeof(t)), "8960 B");
	assert_string_equal(units_size_human(4 << 20, t, sizeof(t)), "4 MiB");
	assert_string_equal(units_size_human(1610612736, t, sizeof(t)),
			    "1.5 GiB");
	assert_string_equal(units_size_human(UINT64_MAX, t, sizeof(t)),
			    "17179869183 GiB");
	assert_string_equal(units_time_human(0, t, sizeof(t)), "0 us");
	assert_string_equal(units_time_human(999, t, sizeof(t)), "999 us");
	assert_string_equal(units_time_human(20000, t, sizeof(t)), "20 ms");
	assert_string_equal(units_time_human(1550000, t, sizeof(t)), "1.5 s");
	assert_string_equal(units_time_human(90000000, t, sizeof(t)),
			    "1.5 min");
	assert_string_equal(units_count_human(0, t, sizeof(t)), "0");
	assert_string_equal(units_count_human(999, t, sizeof(t)), "999");
	assert_string_equal(units_count_human(1000, t, sizeof(t)), "1,000");
	assert_string_equal(units_count_human(UINT64_MAX, t, sizeof(t)),
			    "18,446,744,073,709,551,615");
}

static void units__ranks(void **state)
{
	char t[UNITS_TEXT];
	uint64_t widest = 0;
	int i;

	assert_string_equal(units_ranks(0, t, sizeof(t)), "none");
	assert_string_equal(units_ranks(1, t, sizeof(t)), "0");
	assert_string_equal(units_ranks(3, t, sizeof(t)), "0,1");
	assert_string_equal(units_ranks(0x8f, t, sizeof(t)), "0-3,7");
	assert_string_equal(units_ranks(1ull << 63, t, sizeof(t)), "63");
	assert_string_equal(units_ranks(UINT64_MAX, t, sizeof(t)), "0-63");
	for (i = 0; i < 64; i++)
		if (i % 3)
			widest |= 1ull << i;
	units_ranks(widest, t, sizeof(t));
	assert_string_equal(t + strlen(t) - 6, ",61,62");
	units_ranks(widest, t, 8);
	assert_int_equal(strlen(t), 7);
}

static void units__address(void **state)
{
	static const char *const bad[] = {
		"", "10.0.0", "10.0.0.256", "0.0.0.0", "224.0.0.1",
		"255.255.255.255", "::", "ff02::1", "fe80::1", "fe80::1%eth0",
		"::ffff:10.0.0.1", "host.example", "10.0.0.1/24", "10.0.0.1 ",
	};
	struct addr a, b;
	char t[UNITS_TEXT];
	size_t i;

	assert_null(units_addr("10.0.0.1", &a));
	assert_int_equal(a.family, AF_INET);
	assert_string_equal(units_addr_text(&a, t, sizeof(t)), "10.0.0.1");
	assert_null(units_addr("fd00:0::1", &b));
	assert_int_equal(b.family, AF_INET6);
	assert_string_equal(units_addr_text(&b, t, sizeof(t)), "fd00::1");
	assert_false(units_addr_equal(&a, &b));
	assert_null(units_addr("fd00::1", &a));
	assert_true(units_addr_equal(&a, &b));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!units_addr(bad[i], &a))
			fail_msg("'%s' was taken", bad[i]);
}

static void model__members_stay_in_order(void **state)
{
	struct group *g = calloc(1, sizeof(*g));
	uint32_t i;

	for (i = 0; i < TALLY_RANKS; i++)
		assert_non_null(group_insert_member(g, i * 37 % 64));
	assert_null(group_insert_member(g, 5));
	assert_int_equal(g->nr_members, TALLY_RANKS);
	for (i = 0; i < TALLY_RANKS; i++)
		assert_int_equal(g->members[i].rank, i);
	group_remove_member(g, 0);
	group_remove_member(g, 0);
	group_remove_member(g, 63);
	group_remove_member(g, 30);
	assert_int_equal(g->nr_members, TALLY_RANKS - 3);
	assert_null(group_member(g, 30));
	assert_int_equal(group_member(g, 31)->rank, 31);
	free(g);
}

static void model__group_names(void **state)
{
	static const char *const good[] = {
		"a", "digits", "a-b_c.d", "_1", "7a",
		"abcdefghijklmnopqrstuvwxyz01234",
	};
	static const char *const bad[] = {
		"", "7", "1.2", "-a", "--", "a b", "a/b", "a\n", "\xc3\xa4",
		"abcdefghijklmnopqrstuvwxyz012345",
	};
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!group_name_ok(good[i], &why))
			fail_msg("'%s' was refused", good[i]);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (group_name_ok(bad[i], &why))
			fail_msg("'%s' was taken", bad[i]);
}

static void error__nearest(void **state)
{
	static const char *const words[] = {
		"show", "stats", "monitor", "doctor", "group", "member", NULL
	};
	static const struct {
		const char *word, *near;
	} table[] = {
		{ "shwo", "show" }, { "stat", "stats" }, { "mon", "monitor" },
		{ "gruop", "group" }, { "doktor", "doctor" },
		{ "memebr", "member" }, { "xyzzy", NULL }, { "", NULL },
		{ "x", NULL },
	};
	char longest[200];
	const char *near;
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		near = cli_nearest(table[i].word, words, sizeof(words[0]));
		if (!table[i].near)
			assert_null(near);
		else
			assert_string_equal(near, table[i].near);
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	assert_null(cli_nearest(longest, words, sizeof(words[0])));
}

static void error__printable(void **state)
{
	char text[] = "a\nb\x1b[31mc\x7f\td";

	assert_string_equal(cli_printable(text), "a?b?[31mc??d");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units__parse),
		cmocka_unit_test(units__exact_parses_back),
		cmocka_unit_test(units__human),
		cmocka_unit_test(units__ranks),
		cmocka_unit_test(units__address),
		cmocka_unit_test(model__members_stay_in_order),
		cmocka_unit_test(model__group_names),
		cmocka_unit_test(error__nearest),
		cmocka_unit_test(error__printable),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
