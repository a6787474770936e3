// SPDX-License-Identifier: GPL-2.0-only
/* Byte order, sequence numbers and durations on the wire. */
#include "unit.h"

#include <tally/wire.h>

static void hdr__bytes_where_the_protocol_says(void **state)
{
	static const uint8_t want[64] = {
		1, 2, 3, 0x84,			/* version type lane flags */
		0x12, 0x34, 0x00, 0x3f,		/* group rank */
		0xde, 0xad, 0xbe, 0xef,		/* epoch */
		0xff, 0xff, 0xff, 0xfe,		/* seq */
		0x00, 0x01, 0x02, 0x03,		/* chunk */
		0x00, 0x11, 0x04, 0x60,		/* shard words */
		0x81, 0x07, 0xab, 0xcd,		/* exponent incast time */
		0x01, 0x02, 0x03, 0x04,		/* sent_us */
		0x80, 0, 0, 0, 0, 0, 0, 0x05,	/* mask */
		0x80, 0, 0, 0,			/* bias */
		0x03, 0xff, 0xff, 0xff,		/* weight */
		0x0a, 0x0b, 0x0c, 0x0d,		/* shape */
		0x00, 0x00, 0x01, 0x00,		/* done */
		1, 2, 3, 4, 5, 6, 7, 8,		/* tag */
	};
	struct tally_hdr hdr = {
		.version = TALLY_VERSION,
		.type = TALLY_RESULT,
		.lane = TALLY_LANE_I8,
		.flags = TALLY_F_CE | TALLY_F_REPAIR,
		.group = tally_put16(0x1234),
		.rank = tally_put16(63),
		.epoch = tally_put32(0xdeadbeef),
		.seq = tally_put32(0xfffffffe),
		.chunk = tally_put32(0x010203),
		.shard = tally_put16(17),
		.words = tally_put16(TALLY_WORDS_MAX),
		.exponent = -127,
		.incast = 7,
		.time = tally_put16(0xabcd),
		.sent_us = tally_put32(0x01020304),
		.mask = tally_put64(1ull << 63 | 5),
		.bias = tally_put32(TALLY_BIAS_MAX),
		.weight = tally_put32(TALLY_WEIGHT_MAX),
		.shape = tally_put32(0x0a0b0c0d),
		.done = tally_put32(256),
		.tag = tally_put64(0x0102030405060708ull),
	};

	assert_memory_equal(&hdr, want, sizeof(want));
	check_equal(tally_get16(hdr.group), 0x1234);
	check_equal(tally_get32(hdr.epoch), 0xdeadbeef);
	check_equal(tally_get64(hdr.mask), 1ull << 63 | 5);
}

static void put_le64__lowest_byte_first(void **state)
{
	static const uint8_t want[8] = { 8, 7, 6, 5, 4, 3, 2, 1 };
	__le64 word = tally_put_le64(0x0102030405060708ull);

	assert_memory_equal(&word, want, sizeof(want));
	check_equal(tally_get_le64(word), 0x0102030405060708ull);
}

static void seq_diff__across_the_wrap(void **state)
{
	assert_int_equal(tally_seq_diff(5, 3), 2);
	assert_int_equal(tally_seq_diff(3, 5), -2);
	assert_int_equal(tally_seq_diff(1, 0xffffffff), 2);
	assert_int_equal(tally_seq_diff(0xffffffff, 1), -2);
	assert_int_equal(tally_seq_diff(0x7fffffff, 0), 0x7fffffff);
	assert_int_equal(tally_seq_diff(7, 7), 0);
}

/* The duration that @us is rounded up to. */
static uint64_t time_up(uint64_t us)
{
	uint64_t unit = 1;

	if (us >= TALLY_TIME_MAX_US)
		return TALLY_TIME_MAX_US;
	while ((us + unit - 1) / unit > 2047)
		unit *= 2;
	return (us + unit - 1) / unit * unit;
}

static void check_time(uint64_t us)
{
	uint16_t packed = tally_time_pack(us);
	uint64_t back = tally_time_unpack(packed);

	check_equal(back, time_up(us));
	check_true(us >= TALLY_TIME_MAX_US || back >= us);
	/* At most one part in 1024 longer. */
	check_true(back - (us < back ? us : back) <= us / 1024);
	check_equal(tally_time_pack(back), packed);
}

static void time_pack__never_shortens(void **state)
{
	uint64_t seed = 1, us;
	uint32_t i;

	for (us = 0; us < 1 << 20; us++)
		check_time(us);
	for (i = 0; i < 31; i++) {
		check_time((1ull << i) - 1);
		check_time(1ull << i);
		check_time((1ull << i) + 1);
		check_time(2047ull << i);
		check_time((2047ull << i) + 1);
		check_time((2047ull << i) - 1);
	}
	for (i = 0; i < 1000000; i++)
		check_time(random_next(&seed) >> (32 + i % 32));
}

static void time_pack__longest(void **state)
{
	check_equal(tally_time_unpack(tally_time_pack(~0ull)),
		    TALLY_TIME_MAX_US);
	check_equal(tally_time_unpack(tally_time_pack(TALLY_TIME_MAX_US)),
		    TALLY_TIME_MAX_US);
	check_equal(tally_time_unpack(tally_time_pack(TALLY_TIME_MAX_US - 1)),
		    TALLY_TIME_MAX_US);
}

/* Exponents that pack() never writes, from a stranger. */
static void time_unpack__any_bits(void **state)
{
	uint32_t i;

	for (i = 0; i < 65536; i++)
		check_true(tally_time_unpack(i) <= TALLY_TIME_MAX_US);
	check_equal(tally_time_unpack(2047 << 5 | 31), TALLY_TIME_MAX_US);
	check_equal(tally_time_unpack(1 << 5 | 21), 1 << 20);
}

UNIT_MAIN(
	cmocka_unit_test(hdr__bytes_where_the_protocol_says),
	cmocka_unit_test(put_le64__lowest_byte_first),
	cmocka_unit_test(seq_diff__across_the_wrap),
	cmocka_unit_test(time_pack__never_shortens),
	cmocka_unit_test(time_pack__longest),
	cmocka_unit_test(time_unpack__any_bits),
)
