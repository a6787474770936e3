// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lanes against exact integers: shift and bias one value at a time, and masks.
 * What whole sums do is tested in sums.c.
 */
#include "unit.h"

#include <tally/lanes.h>

static const uint8_t lanes[] = {
	TALLY_LANE_I32, TALLY_LANE_I16, TALLY_LANE_I8,
};

/* @value times 2^-@k, half to even: by division, with room to spare. */
static uint64_t divide(uint64_t value, uint32_t k)
{
	wide unit, q, twice;

	if (k >= 100)
		return 0;
	unit = (wide)1 << k;
	q = value / unit;
	twice = 2 * (value % unit);
	if (twice > unit || (twice == unit && (q & 1)))
		q++;
	return (uint64_t)q;
}

/* What rs() is to do to a word, one lane after the other. */
static uint64_t divide_lanes(uint64_t word, uint32_t bits, uint32_t k)
{
	uint64_t out = 0, lane;
	uint32_t at;

	for (at = 0; at < 64; at += bits) {
		lane = word >> at & ((1ull << bits) - 1);
		if (k < bits)
			out |= divide(lane, k) << at;
	}
	return out;
}

static void lane_bits__every_lane(void **state)
{
	check_equal(tally_lane_bits(TALLY_LANE_I32), 32);
	check_equal(tally_lane_bits(TALLY_LANE_I16), 16);
	check_equal(tally_lane_bits(TALLY_LANE_I8), 8);
	check_equal(tally_lane_bits(TALLY_LANE_W64), 64);
	check_equal(tally_lane_bits(TALLY_LANE_RAW), 0);
	check_equal(tally_lane_bits(0), 0);
	check_equal(tally_lane_bits(__TALLY_LANE_END), 0);
	check_equal(tally_lane_bits(255), 0);
}

static void lane_fixed__only_lanes_with_exponent(void **state)
{
	uint32_t lane;

	for (lane = 0; lane < 256; lane++)
		check_equal(!!tally_lane_fixed(lane),
			    lane == TALLY_LANE_I32 || lane == TALLY_LANE_I16 ||
			    lane == TALLY_LANE_I8);
}

static void log2_up__every_power_and_neighbours(void **state)
{
	uint32_t k;

	check_equal(tally_log2_up(0), 0);
	check_equal(tally_log2_up(1), 0);
	for (k = 1; k < 32; k++) {
		check_equal(tally_log2_up(1u << k), k);
		if (k > 1)
			check_equal(tally_log2_up((1u << k) - 1), k);
		if (k < 31)
			check_equal(tally_log2_up((1u << k) + 1), k + 1);
	}
	check_equal(tally_log2_up(0xffffffff), 31);
}

static void lane_fill__repeats_the_value(void **state)
{
	uint64_t seed = 1, value, word;
	uint32_t i, at, bits, round;

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		bits = tally_lane_bits(lanes[i]);
		for (round = 0; round < 1000; round++) {
			value = random_next(&seed) & ((1ull << bits) - 1);
			word = tally_lane_fill(bits, value);
			for (at = 0; at < 64; at += bits)
				check_equal(word >> at & ((1ull << bits) - 1),
					    value);
		}
	}
	check_equal(tally_lane_fill(64, 0x0123456789abcdefull),
		    0x0123456789abcdefull);
}

static void lane_over__bits_at_and_above_the_limit(void **state)
{
	uint32_t i, bits, h, cap, at;
	uint64_t over, limit;

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		bits = tally_lane_bits(lanes[i]);
		for (h = 0; h < bits; h++) {
			for (cap = 0; cap <= bits; cap++) {
				over = tally_lane_over(bits, h, cap);
				limit = cap >= h ? 1ull << bits :
					1ull << (bits - h + cap);
				for (at = 0; at < 64; at += bits)
					check_equal(over >> at &
						    ((1ull << bits) - 1),
						    (1ull << bits) - limit);
			}
		}
	}
}

static void lane_bias__middle_of_a_leaf(void **state)
{
	uint32_t i, bits, h;

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		bits = tally_lane_bits(lanes[i]);
		for (h = 0; h < bits; h++)
			check_equal(2ull * tally_lane_bias(bits, h),
				    1ull << (bits - h));
	}
}

/* Every value of a lane, with every neighbour that could carry into it. */
static void shift_word__every_value(void **state)
{
	static const uint8_t narrow[] = { TALLY_LANE_I16, TALLY_LANE_I8 };
	uint64_t value, rest, word;
	struct tally_shift shift;
	uint32_t i, bits, k, at;

	for (i = 0; i < ARRAY_SIZE(narrow); i++) {
		bits = tally_lane_bits(narrow[i]);
		for (k = 0; k <= bits + 1; k++) {
			tally_shift_init(&shift, bits, k);
			for (value = 0; value < 1ull << bits; value++) {
				at = value % (64 / bits) * bits;
				rest = ~(((1ull << bits) - 1) << at);
				word = value << at;
				check_equal(tally_shift_word(&shift, word),
					    divide_lanes(word, bits, k));
				word |= rest;
				check_equal(tally_shift_word(&shift, word),
					    divide_lanes(word, bits, k));
			}
		}
	}
}

/* Values around each multiple of half a unit, where rounding turns. */
static void shift_word__around_halves(void **state)
{
	uint64_t seed = 2, word, half, lane;
	struct tally_shift shift;
	uint32_t i, bits, k, at, round;

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		bits = tally_lane_bits(lanes[i]);
		for (k = 1; k < bits; k++) {
			tally_shift_init(&shift, bits, k);
			half = 1ull << (k - 1);
			for (round = 0; round < 20000; round++) {
				word = 0;
				for (at = 0; at < 64; at += bits) {
					lane = random_next(&seed);
					lane = (lane & ~(half - 1)) +
					       random_range(&seed, 0, 2) - 1;
					word |= (lane & ((1ull << bits) - 1))
						<< at;
				}
				check_equal(tally_shift_word(&shift, word),
					    divide_lanes(word, bits, k));
			}
		}
	}
}

static void shift_word__random_and_extreme(void **state)
{
	static const uint64_t extreme[] = {
		0, ~0ull, 1, 1ull << 63, 0x5555555555555555ull,
		0xaaaaaaaaaaaaaaaaull, 0x00ff00ff00ff00ffull,
		0x0000ffff0000ffffull, 0x00000000ffffffffull,
		0x0101010101010101ull, 0x8080808080808080ull,
		0x7f7f7f7f7f7f7f7full, 0xfefefefefefefefeull,
	};
	uint64_t seed = 3, word;
	struct tally_shift shift;
	uint32_t i, j, bits, k;

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		bits = tally_lane_bits(lanes[i]);
		/* Distances of two exponents in -127..127. */
		for (k = 0; k <= 254; k++) {
			tally_shift_init(&shift, bits, k);
			for (j = 0; j < ARRAY_SIZE(extreme); j++)
				check_equal(tally_shift_word(&shift,
							     extreme[j]),
					    divide_lanes(extreme[j], bits, k));
			for (j = 0; j < 20000; j++) {
				word = random_next(&seed);
				check_equal(tally_shift_word(&shift, word),
					    divide_lanes(word, bits, k));
			}
		}
	}
}

/* Shifting twice never leaves a lane, and adding half before would. */
static void shift_word__full_lane_does_not_overflow(void **state)
{
	struct tally_shift shift;
	uint32_t i, bits, k, at;
	uint64_t word;

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		bits = tally_lane_bits(lanes[i]);
		for (k = 1; k < bits; k++) {
			tally_shift_init(&shift, bits, k);
			word = tally_shift_word(&shift, ~0ull);
			for (at = 0; at < 64; at += bits)
				check_equal(word >> at & ((1ull << bits) - 1),
					    1ull << (bits - k));
		}
	}
}

static void shift_bias__follows_the_lanes(void **state)
{
	uint64_t seed = 4, bias;
	uint32_t i, j, bits, k;

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		bits = tally_lane_bits(lanes[i]);
		for (k = 0; k <= 254; k++) {
			for (j = 0; j < 5000; j++) {
				bias = j < 33 ? (1ull << j) % (1ull << 32) :
					random_range(&seed, 0, TALLY_BIAS_MAX);
				if (j % 3 == 0 && k && k < 32)
					bias = bias >> (k - 1) << (k - 1);
				check_equal(tally_shift_bias(bias, bits, k),
					    k < bits ? divide(bias, k) : 0);
			}
			check_equal(tally_shift_bias(TALLY_BIAS_MAX, bits, k),
				    k < bits ? divide(TALLY_BIAS_MAX, k) : 0);
		}
	}
}

/* A bias that fits a lane is shifted exactly as a lane that holds it. */
static void shift_bias__equals_shifted_lane(void **state)
{
	struct tally_shift shift;
	uint32_t i, bits, k, h;
	uint64_t bias;

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		bits = tally_lane_bits(lanes[i]);
		for (h = 0; h < bits; h++) {
			bias = tally_lane_bias(bits, h);
			for (k = 0; k <= bits; k++) {
				tally_shift_init(&shift, bits, k);
				check_equal(tally_shift_word(&shift, bias),
					    tally_shift_bias(bias, bits, k));
			}
		}
	}
}

UNIT_MAIN(
	cmocka_unit_test(lane_bits__every_lane),
	cmocka_unit_test(lane_fixed__only_lanes_with_exponent),
	cmocka_unit_test(log2_up__every_power_and_neighbours),
	cmocka_unit_test(lane_fill__repeats_the_value),
	cmocka_unit_test(lane_over__bits_at_and_above_the_limit),
	cmocka_unit_test(lane_bias__middle_of_a_leaf),
	cmocka_unit_test(shift_word__every_value),
	cmocka_unit_test(shift_word__around_halves),
	cmocka_unit_test(shift_word__random_and_extreme),
	cmocka_unit_test(shift_word__full_lane_does_not_overflow),
	cmocka_unit_test(shift_bias__follows_the_lanes),
	cmocka_unit_test(shift_bias__equals_shifted_lane),
)
