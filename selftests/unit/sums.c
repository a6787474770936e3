// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whole sums: what a slot holds after each contribution, lane by lane, against
 * exact integers, for every width, every number of participants, unequal
 * exponents and values at both ends of their range.
 */
#include "unit.h"

#include <tally/slot.h>

#define WORDS	8
#define LANES	(8 * WORDS)	/* at most: lanes of 8 bits */

typedef __int128 exact;

static const uint8_t lanes[] = {
	TALLY_LANE_I32, TALLY_LANE_I16, TALLY_LANE_I8,
};

/* One participant's block, as plain numbers. */
struct block {
	uint64_t	u[LANES];	/* value plus bias */
	uint32_t	bias;
	uint32_t	weight;
	int		exponent;
	uint32_t	zero;		/* sent as words = 0 */
};

/*
 * The same sum twice: @slot by the rule under test; @u, @bias by division of
 * plain numbers; @value without any rounding, in units of 2^@unit.
 */
struct sum {
	struct tally_rule	rule;
	struct tally_slot	slot;
	__le64			payload[WORDS];
	uint8_t			lane;
	uint32_t		bits;
	uint32_t		h;
	uint32_t		n;
	uint64_t		u[LANES];
	uint64_t		bias;
	exact			value[LANES];
	int			unit;
	int			exponent;
	uint32_t		any;
	uint32_t		weight;
	uint64_t		mask;
};

static uint64_t halve(uint64_t value, uint32_t k)
{
	wide unit = (wide)1 << (k < 100 ? k : 100), q, twice;

	q = value / unit;
	twice = 2 * (value % unit);
	return (uint64_t)q + (twice > unit || (twice == unit && (q & 1)));
}

static void sum_begin(struct sum *sum, uint8_t lane, uint32_t n,
		      const uint8_t *caps, int unit)
{
	struct tally_shard shard = { 0 };
	uint64_t leaves = 0;
	uint32_t i;

	memset(sum, 0, sizeof(*sum));
	sum->lane = lane;
	sum->bits = tally_lane_bits(lane);
	sum->n = n;
	sum->unit = unit;
	sum->rule.members = n == 64 ? ~0ull : (1ull << n) - 1;
	sum->rule.local = 1;
	sum->rule.cell_words = WORDS;
	sum->rule.shard_chunks = 1;
	sum->rule.window = 4;
	for (i = 0; i < n; i++) {
		if (caps)
			sum->rule.caps[i] = caps[i];
		sum->rule.capped |= !!sum->rule.caps[i];
		leaves += 1ull << sum->rule.caps[i];
	}
	while (1ull << sum->h < leaves)
		sum->h++;
	check_equal(tally_headroom(&sum->rule, sum->rule.members), sum->h);

	shard.participants = sum->rule.members;
	shard.close_ns = TALLY_NEVER;
	shard.lane = lane;
	tally_slot_reset(&sum->slot, &shard);
}

/* The sum's own model: align and add one number at a time. */
static void model_add(struct sum *sum, const struct block *block)
{
	uint32_t i, own = 0, other = 0, count = 64 / sum->bits * WORDS;

	if (block->zero)
		return;
	if (!sum->any) {
		sum->exponent = block->exponent;
	} else if (block->exponent > sum->exponent) {
		own = block->exponent - sum->exponent;
		sum->exponent = block->exponent;
	} else {
		other = sum->exponent - block->exponent;
	}
	sum->any = 1;
	for (i = 0; i < count; i++) {
		sum->u[i] = own < sum->bits ? halve(sum->u[i], own) : 0;
		if (other < sum->bits)
			sum->u[i] += halve(block->u[i], other);
		/* Nothing may ever leave its lane. */
		check_true(sum->u[i] < 1ull << sum->bits);
		sum->value[i] += ((exact)block->u[i] - block->bias) *
				 ((exact)1 << (block->exponent - sum->unit));
	}
	sum->bias = own < sum->bits ? halve(sum->bias, own) : 0;
	if (other < sum->bits)
		sum->bias += halve(block->bias, other);
	check_true(sum->bias <= TALLY_BIAS_MAX);
}

static void block_pack(const struct sum *sum, const struct block *block,
		       uint64_t words[WORDS])
{
	uint32_t i, per = 64 / sum->bits;

	memset(words, 0, 8 * WORDS);
	for (i = 0; i < per * WORDS; i++)
		words[i / per] |= block->u[i] << i % per * sum->bits;
}

/* Add @block as participant @rank by the rule under test and by the model. */
static void sum_add(struct sum *sum, uint32_t rank, const struct block *block)
{
	struct tally_hdr hdr = {
		.version = TALLY_VERSION,
		.type = TALLY_CONTRIB,
		.lane = sum->lane,
		.rank = tally_put16(rank),
		.words = tally_put16(block->zero ? 0 : WORDS),
		.exponent = block->zero ? TALLY_EXP_NONE : block->exponent,
		.mask = tally_put64(sum->rule.members),
		.bias = tally_put32(block->zero ? 0 : block->bias),
		.weight = tally_put32(block->weight),
	};
	uint32_t owner = 99, i, per = 64 / sum->bits, run;
	struct tally_scan scan = { 0 };
	static struct tally_keys keys;
	uint64_t words[WORDS], over;
	struct tally_add add;
	uint8_t bytes[8 * WORDS + 3];

	block_pack(sum, block, words);
	memcpy(bytes + 3, words, sizeof(words));	/* at an odd address */
	run = block->zero ? 0 : WORDS;
	tally_scan_words(&scan, &keys, 0, bytes + 3, run);
	hdr.tag = tally_tag(&keys, &hdr, scan.hash);

	check_equal(tally_contrib_check(&sum->rule, &hdr, &owner), TALLY_KEEP);
	check_equal(owner, 0);
	over = tally_contrib_over(&sum->rule, &hdr);
	check_equal(tally_scan_check(&keys, &hdr, &scan, over), TALLY_KEEP);
	check_equal(tally_slot_admit(&sum->slot, 0, 4, &hdr, 0), TALLY_KEEP);
	tally_slot_align(&sum->slot, sum->payload, &hdr, over, &add);
	/* In two runs, as with fragments. */
	run = add.words / 2;
	tally_slot_add(sum->payload, bytes + 3, run, &add);
	tally_slot_add(sum->payload + run, bytes + 3 + 8 * run,
		       add.words - run, &add);
	sum->mask |= 1ull << rank;
	sum->weight += block->weight;
	check_equal(tally_slot_commit(&sum->slot, &hdr),
		    sum->mask == sum->rule.members);

	model_add(sum, block);
	check_equal(sum->slot.words, sum->any ? WORDS : 0);
	check_equal(sum->slot.bias, sum->bias);
	check_equal(sum->slot.weight, sum->weight);
	check_equal(sum->slot.mask, sum->mask);
	assert_int_equal(sum->slot.exponent,
			 sum->any ? sum->exponent : TALLY_EXP_NONE);
	if (!sum->any)
		return;
	for (i = 0; i < per * WORDS; i++)
		check_equal(tally_get_le64(sum->payload[i / per]) >>
			    i % per * sum->bits & ((1ull << sum->bits) - 1),
			    sum->u[i]);
}

/* Lost at most half a unit of the sum's exponent for each participant. */
static void check_error(const struct sum *sum)
{
	exact unit = (exact)1 << (sum->exponent - sum->unit), got, error;
	uint32_t i;

	for (i = 0; i < 64 / sum->bits * WORDS; i++) {
		got = ((exact)sum->u[i] - (exact)sum->bias) * unit;
		error = got > sum->value[i] ? got - sum->value[i] :
					      sum->value[i] - got;
		if (!sum->slot.aligned)
			check_true(!error);
		check_true(2 * error <= sum->n * unit);
	}
}

enum fill { LEAST, MOST, MIXED, ANY };

static void block_fill(struct block *block, const struct sum *sum,
		       uint32_t cap, enum fill fill, uint64_t *seed)
{
	uint64_t most = (1ull << (sum->bits - sum->h + cap)) - 1;
	uint32_t i;

	memset(block, 0, sizeof(*block));
	if (sum->bits - sum->h + cap >= sum->bits)
		most = (1ull << sum->bits) - 1;
	for (i = 0; i < LANES; i++) {
		switch (fill) {
		case LEAST:
			block->u[i] = 1;
			break;
		case MOST:
			block->u[i] = most;
			break;
		case MIXED:
			block->u[i] = random_next(seed) & 1 ? most : 1;
			break;
		default:
			block->u[i] = random_range(seed, 0, most);
		}
	}
	block->bias = tally_lane_bias(sum->bits, sum->h - cap);
	block->weight = random_range(seed, 0, TALLY_WEIGHT_MAX);
}

/* True if lanes of @bits have a value bit left for @n participants. */
static int fits(uint32_t bits, uint32_t n)
{
	return tally_log2_up(n) < bits;
}

static void sum__equal_exponents_are_exact(void **state)
{
	uint32_t i, n, rank, fill;
	uint64_t seed = 1;
	struct block block;
	struct sum sum;

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		for (n = 1; n <= 64; n++) {
			if (!fits(tally_lane_bits(lanes[i]), n))
				continue;
			for (fill = LEAST; fill <= ANY; fill++) {
				sum_begin(&sum, lanes[i], n, NULL, -5);
				for (rank = 0; rank < n; rank++) {
					block_fill(&block, &sum, 0, fill,
						   &seed);
					block.exponent = -5;
					sum_add(&sum, rank, &block);
				}
				check_equal(sum.slot.state, TALLY_SLOT_FULL);
				check_equal(sum.slot.aligned, 0);
				check_error(&sum);
			}
		}
	}
}

/* The same blocks in any order give the same bytes. */
static void sum__equal_exponents_any_order(void **state)
{
	struct block blocks[16];
	uint32_t i, n = 16, rank, order[16], round, j, was;
	uint64_t seed = 2;
	struct sum sum;
	__le64 first[WORDS];

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		for (round = 0; round < 50; round++) {
			sum_begin(&sum, lanes[i], n, NULL, 0);
			for (rank = 0; rank < n; rank++) {
				order[rank] = rank;
				if (!round)
					block_fill(&blocks[rank], &sum, 0, ANY,
						   &seed);
			}
			for (rank = n - 1; round && rank; rank--) {
				j = random_range(&seed, 0, rank);
				was = order[j];
				order[j] = order[rank];
				order[rank] = was;
			}
			for (rank = 0; rank < n; rank++)
				sum_add(&sum, order[rank],
					&blocks[order[rank]]);
			if (!round)
				memcpy(first, sum.payload, sizeof(first));
			assert_memory_equal(first, sum.payload, sizeof(first));
		}
	}
}

/* One participant apart from the others by every distance, at every place. */
static void sum__one_apart_by_every_distance(void **state)
{
	static const uint32_t counts[] = { 2, 3, 5, 8 };
	uint32_t i, c, n, rank, odd, fill;
	uint64_t seed = 3;
	struct block block;
	struct sum sum;
	int d;

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		for (c = 0; c < ARRAY_SIZE(counts); c++) {
			n = counts[c];
			for (d = -40; d <= 40; d++) {
				odd = random_range(&seed, 0, n - 1);
				fill = random_range(&seed, LEAST, ANY);
				sum_begin(&sum, lanes[i], n, NULL, -40);
				for (rank = 0; rank < n; rank++) {
					block_fill(&block, &sum, 0, fill,
						   &seed);
					block.exponent = rank == odd ? d : 0;
					sum_add(&sum, rank, &block);
				}
				check_error(&sum);
				if (d)
					check_true(sum.slot.aligned > 0);
			}
		}
	}
}

/* Exponents at both ends of their range: 254 apart. */
static void sum__exponents_at_the_ends(void **state)
{
	static const int ends[] = { -127, 127, -127, 0, 127 };
	struct block block;
	uint64_t seed = 4;
	uint32_t i, rank;
	struct sum sum;

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		sum_begin(&sum, lanes[i], 5, NULL, -127);
		for (rank = 0; rank < 5; rank++) {
			block_fill(&block, &sum, 0, ANY, &seed);
			block.exponent = ends[rank];
			/* Too far for the exact sum; the model still holds. */
			sum.unit = block.exponent;
			sum_add(&sum, rank, &block);
		}
		check_equal(sum.slot.exponent, 127);
		check_equal(sum.slot.bias,
			    2 * tally_lane_bias(sum.bits, sum.h));
	}
}

/* Any order of any exponents, any number of participants. */
static void sum__random_exponents(void **state)
{
	static const int spreads[] = { 1, 3, 8, 17, 35, 60 };
	uint32_t i, n, rank, round;
	uint64_t seed = 5;
	struct block block;
	struct sum sum;

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		for (n = 1; n <= 64; n++) {
			if (!fits(tally_lane_bits(lanes[i]), n))
				continue;
			for (round = 0; round < 60; round++) {
				sum_begin(&sum, lanes[i], n, NULL, 0);
				for (rank = 0; rank < n; rank++) {
					block_fill(&block, &sum, 0, round % 4,
						   &seed);
					block.exponent =
						random_range(&seed, 0,
							     spreads[round %
								     6]);
					block.zero = random_next(&seed) % 9 ==
						0;
					sum_add(&sum, rank, &block);
				}
				if (sum.any)
					check_error(&sum);
			}
		}
	}
}

/* Ever coarser contributions: the slot is shifted each time. */
static void sum__staircase(void **state)
{
	uint32_t i, n, rank, fill, down;
	uint64_t seed = 6;
	struct block block;
	struct sum sum;

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		for (n = 2; n <= 64; n++) {
			if (!fits(tally_lane_bits(lanes[i]), n))
				continue;
			for (fill = LEAST; fill <= ANY; fill++) {
				for (down = 0; down < 2; down++) {
					sum_begin(&sum, lanes[i], n, NULL, 0);
					for (rank = 0; rank < n; rank++) {
						block_fill(&block, &sum, 0,
							   fill, &seed);
						block.exponent = down ?
							n - 1 - rank : rank;
						sum_add(&sum, rank, &block);
					}
					check_error(&sum);
					check_equal(sum.slot.aligned, n - 1);
				}
			}
		}
	}
}

/* Contributions that are sums already: 2^cap leaves, 2^cap biases. */
static void sum__edges_with_caps(void **state)
{
	uint32_t i, n, rank, round, h;
	uint64_t seed = 7, leaves;
	uint8_t caps[64];
	struct block block;
	struct sum sum;

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		for (round = 0; round < 4000; round++) {
			n = random_range(&seed, 1, 64);
			leaves = 0;
			for (rank = 0; rank < n; rank++) {
				caps[rank] = random_next(&seed) % 3 ? 0 :
					random_range(&seed, 0, 6);
				leaves += 1ull << caps[rank];
			}
			for (h = 0; 1ull << h < leaves; h++)
				;
			if (h >= tally_lane_bits(lanes[i]))
				continue;
			sum_begin(&sum, lanes[i], n, caps, 0);
			for (rank = 0; rank < n; rank++) {
				block_fill(&block, &sum, caps[rank], round % 4,
					   &seed);
				block.exponent = round & 4 ?
					random_range(&seed, 0, 9) : 0;
				sum_add(&sum, rank, &block);
			}
			check_true(sum.bias <= TALLY_BIAS_MAX);
			if (!(round & 4))
				check_error(&sum);
		}
	}
}

/* Blocks of zeros only: no words, no exponent, all weights. */
static void sum__zeros_only(void **state)
{
	struct block block = { .zero = 1, .weight = TALLY_WEIGHT_MAX };
	struct tally_hdr hdr = { 0 };
	uint32_t i, rank;
	struct sum sum;

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		sum_begin(&sum, lanes[i], 8, NULL, 0);
		for (rank = 0; rank < 8; rank++)
			sum_add(&sum, rank, &block);
		check_equal(sum.slot.weight, 8 * TALLY_WEIGHT_MAX);
		tally_slot_close(&sum.slot, &hdr);
		check_equal(tally_get16(hdr.words), 0);
		assert_int_equal(hdr.exponent, TALLY_EXP_NONE);
		check_equal(tally_get32(hdr.bias), 0);
		check_equal(hdr.flags, 0);
	}
}

/* 64 weights at their most fit 32 bits. */
static void sum__weights_do_not_wrap(void **state)
{
	check_true(64ull * TALLY_WEIGHT_MAX <= 0xffffffffull);
	check_true(64ull * (TALLY_WEIGHT_MAX + 1ull) > 0xffffffffull);
}

/* w64: plain integers that wrap, whatever the number of participants. */
static void sum__w64_wraps(void **state)
{
	static struct tally_keys keys;
	uint64_t seed = 8, want[WORDS] = { 0 }, words[WORDS];
	struct tally_shard shard = { .participants = ~0ull,
				     .close_ns = TALLY_NEVER,
				     .lane = TALLY_LANE_W64 };
	__le64 payload[WORDS] = { 0 };
	struct tally_scan scan;
	struct tally_rule rule = { .members = ~0ull, .local = 1,
				   .cell_words = WORDS, .shard_chunks = 1 };
	struct tally_slot slot;
	struct tally_add add;
	uint32_t rank, i, owner;

	tally_slot_reset(&slot, &shard);
	for (rank = 0; rank < 64; rank++) {
		struct tally_hdr hdr = {
			.lane = TALLY_LANE_W64,
			.rank = tally_put16(rank),
			.words = tally_put16(WORDS),
			.mask = tally_put64(~0ull),
		};

		memset(&scan, 0, sizeof(scan));
		for (i = 0; i < WORDS; i++) {
			words[i] = rank ? random_next(&seed) : ~0ull;
			want[i] += words[i];
		}
		tally_scan_words(&scan, &keys, 0, words, WORDS);
		hdr.tag = tally_tag(&keys, &hdr, scan.hash);
		check_equal(tally_contrib_check(&rule, &hdr, &owner),
			    TALLY_KEEP);
		check_equal(tally_contrib_over(&rule, &hdr), 0);
		check_equal(tally_slot_admit(&slot, 0, 4, &hdr, 0),
			    TALLY_KEEP);
		tally_slot_align(&slot, payload, &hdr, 0, &add);
		tally_slot_add(payload, words, WORDS, &add);
		tally_slot_commit(&slot, &hdr);
		for (i = 0; i < WORDS; i++)
			check_equal(tally_get_le64(payload[i]), want[i]);
	}
	check_equal(slot.state, TALLY_SLOT_FULL);
	check_equal(slot.exponent, 0);
	check_equal(slot.bias, 0);
}

/* Bits that a process sets after the check must not reach a neighbour. */
static void slot_add__masks_headroom(void **state)
{
	struct tally_shard shard = { .participants = 3,
				     .close_ns = TALLY_NEVER };
	struct tally_rule rule = { .members = 3 };
	uint64_t words[1] = { ~0ull };
	uint32_t i, rank, bits, at;
	struct tally_slot slot;
	struct tally_add add;
	__le64 payload[1];

	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		bits = tally_lane_bits(lanes[i]);
		shard.lane = lanes[i];
		tally_slot_reset(&slot, &shard);
		for (rank = 0; rank < 2; rank++) {
			struct tally_hdr hdr = {
				.lane = lanes[i],
				.rank = tally_put16(rank),
				.words = tally_put16(1),
				.mask = tally_put64(3),
			};

			tally_slot_align(&slot, payload, &hdr,
					 tally_contrib_over(&rule, &hdr),
					 &add);
			tally_slot_add(payload, words, 1, &add);
		}
		for (at = 0; at < 64; at += bits)
			check_equal(tally_get_le64(payload[0]) >> at &
				    ((1ull << bits) - 1),
				    (1ull << bits) - 2);
	}
}

UNIT_MAIN(
	cmocka_unit_test(sum__equal_exponents_are_exact),
	cmocka_unit_test(sum__equal_exponents_any_order),
	cmocka_unit_test(sum__one_apart_by_every_distance),
	cmocka_unit_test(sum__exponents_at_the_ends),
	cmocka_unit_test(sum__random_exponents),
	cmocka_unit_test(sum__staircase),
	cmocka_unit_test(sum__edges_with_caps),
	cmocka_unit_test(sum__zeros_only),
	cmocka_unit_test(sum__weights_do_not_wrap),
	cmocka_unit_test(sum__w64_wraps),
	cmocka_unit_test(slot_add__masks_headroom),
)
