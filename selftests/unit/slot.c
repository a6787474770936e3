// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parts of the slot rule that the vector file cannot show: what a drop
 * leaves alone byte for byte, times of arrival, who was named in a mismatch,
 * and headers of any bits at all.
 */
#include "unit.h"

#include <tally/slot.h>

#define WORDS	8

static const struct tally_rule rule = {
	.local = 1,
	.members = 0xf,
	.bound_max_ns = 50000000,
	.epoch = 3,
	.shard_chunks = 4,
	.group = 7,
	.cell_words = WORDS,
	.window = 4,
};

static struct tally_hdr contrib(uint32_t rank, uint32_t seq)
{
	struct tally_hdr hdr = {
		.version = TALLY_VERSION,
		.type = TALLY_CONTRIB,
		.lane = TALLY_LANE_I32,
		.group = tally_put16(7),
		.rank = tally_put16(rank),
		.epoch = tally_put32(3),
		.seq = tally_put32(seq),
		.shard = tally_put16(tally_shard_of(4, seq, 0)),
		.words = tally_put16(WORDS),
		.incast = TALLY_OP_REDUCE_SCATTER,
		.time = tally_put16(tally_time_pack(20000)),
		.mask = tally_put64(0xf),
		.bias = tally_put32(1u << 29),
		.weight = tally_put32(1),
		.shape = tally_put32(0xabcd),
	};

	return hdr;
}

static void headroom__every_count(void **state)
{
	struct tally_rule r = { .members = ~0ull };
	uint32_t n, want;

	for (n = 1; n <= 64; n++) {
		for (want = 0; 1u << want < n; want++)
			;
		check_equal(tally_headroom(&r, n == 64 ? ~0ull :
					   (1ull << n) - 1), want);
	}
}

static void headroom__caps_add_up(void **state)
{
	struct tally_rule r = { .members = ~0ull, .capped = 1 };

	r.caps[0] = 3;
	r.caps[5] = 3;
	check_equal(tally_headroom(&r, 1ull << 0 | 1ull << 5), 4);
	check_equal(tally_headroom(&r, 1ull << 0 | 1ull << 1), 4);
	check_equal(tally_headroom(&r, 1ull << 0), 3);
	check_equal(tally_headroom(&r, 1ull << 1), 0);
	/* More leaves than any lane has room for. */
	r.caps[0] = 31;
	check_true(tally_headroom(&r, 1) >= 31);
	r.caps[0] = 255;
	check_true(tally_headroom(&r, ~0ull) >= 31);
}

/* What b - h says of groups of 64 with lanes of 8 bits must not be undefined. */
static void contrib_check__headroom_beyond_the_lane(void **state)
{
	struct tally_rule r = rule;
	struct tally_hdr hdr = contrib(1, 100);
	uint32_t cap, owner;

	r.capped = 1;
	for (cap = 0; cap < 256; cap++) {
		r.caps[2] = cap;
		hdr.lane = TALLY_LANE_I8;
		hdr.bias = tally_put32(1);
		hdr.words = tally_put16(WORDS);
		check_equal(tally_contrib_check(&r, &hdr, &owner),
			    (cap & 31) < 7 ? TALLY_KEEP : TALLY_DROP_MALFORMED);
		/* Without words there is nothing to have room for. */
		hdr.words = 0;
		hdr.bias = 0;
		hdr.exponent = TALLY_EXP_NONE;
		check_equal(tally_contrib_check(&r, &hdr, &owner), TALLY_KEEP);
		hdr.exponent = 0;
	}
}

/* A step that refuses must not have written anything. */
static void any_header__is_refused_or_sound(void **state)
{
	uint64_t seed = 1, kept = 0, over;
	struct tally_hdr hdr;
	uint32_t i, j, owner;
	uint8_t *bytes = (uint8_t *)&hdr;

	for (i = 0; i < 2000000; i++) {
		hdr = contrib(1, 100);
		/* A few random bytes, or all of them. */
		for (j = 0; j < (i % 16 ? i % 4 + 1 : sizeof(hdr)); j++)
			bytes[i % 16 ? random_next(&seed) % sizeof(hdr) : j] =
				random_next(&seed);
		owner = 99;
		if (tally_hdr_check(&rule, &hdr) ||
		    tally_contrib_check(&rule, &hdr, &owner))
			continue;
		kept++;
		over = tally_contrib_over(&rule, &hdr);
		check_equal(owner, 0);
		check_true(tally_get32(hdr.chunk) < rule.shard_chunks);
		check_true(tally_get16(hdr.words) <= rule.cell_words);
		check_true(tally_get32(hdr.weight) <= TALLY_WEIGHT_MAX);
		check_true(!!over == (tally_lane_fixed(hdr.lane) &&
				      tally_get64(hdr.mask) != 2));
	}
	check_true(kept > 1000);
}

static void shard_admit__starts_the_clock(void **state)
{
	struct tally_shard shard = { 0 };
	struct tally_hdr hdr = contrib(2, 100);

	check_equal(tally_shard_admit(&shard, 100, &rule, &hdr, 5000), 0);
	check_equal(shard.seq, 100);
	check_equal(shard.start_ns, 5000);
	check_equal(shard.close_ns, 5000 + 20000000);
	check_equal(shard.participants, 0xf);
	check_equal(shard.op, TALLY_OP_REDUCE_SCATTER);
	check_equal(shard.state, TALLY_SLOT_OPEN);
	check_equal(shard.other, 0);
	check_equal(shard.index, tally_shard_of(4, 100, 0));
	/* The second contribution does not move it. */
	hdr = contrib(1, 100);
	check_equal(tally_shard_admit(&shard, 100, &rule, &hdr, 9000), 0);
	check_equal(shard.start_ns, 5000);
}

static void shard_admit__names_who_differs(void **state)
{
	struct tally_shard shard = { 0 };
	struct tally_hdr hdr = contrib(2, 100);

	check_equal(tally_shard_admit(&shard, 100, &rule, &hdr, 0), 0);
	hdr = contrib(3, 100);
	hdr.shape = tally_put32(1);
	check_equal(tally_shard_admit(&shard, 100, &rule, &hdr, 0),
		    TALLY_DROP_MISMATCH);
	check_equal(shard.other, 4);
	check_equal(shard.state, TALLY_SLOT_OPEN);
	check_equal(shard.shape, 0xabcd);
	/* The next collective starts without blame. */
	hdr = contrib(1, 108);
	check_equal(tally_shard_admit(&shard, 105, &rule, &hdr, 0), 0);
	check_equal(shard.other, 0);
}

static void shard_arrival__counts_the_late(void **state)
{
	struct tally_shard shard = { 0 };
	struct tally_hdr hdr = contrib(2, 100);

	check_equal(tally_shard_admit(&shard, 100, &rule, &hdr, 1000000), 0);
	tally_shard_arrival(&shard, 100, 2, 1000000);
	tally_shard_arrival(&shard, 100, 1, 1000000 + 33333 * 1000ull);
	shard.state = TALLY_SLOT_CLOSED;
	tally_shard_arrival(&shard, 100, 3, 1000000 + (1ull << 50));
	check_equal(shard.seen, 0xe);
	check_equal(shard.arrival_us[1], 33333);
	check_equal(shard.arrival_us[2], 0);
	check_equal(shard.arrival_us[3], 0xffffffff);
	/* Another seq, or a clock from before: not noted. */
	tally_shard_arrival(&shard, 101, 0, 2000000);
	tally_shard_arrival(&shard, 100, 0, 999999);
	check_equal(shard.seen, 0xe);
	/* A rank out of range stays within the table. */
	tally_shard_arrival(&shard, 100, 64, 1000000);
	check_equal(shard.seen, 0xf);
}

/* The last of n is told so, once, whatever came between. */
static void slot_commit__tells_the_last_once(void **state)
{
	struct tally_shard shard = { 0 };
	struct tally_slot slot = { 0 };
	__le64 payload[WORDS];
	struct tally_hdr hdr;
	struct tally_add add;
	uint32_t rank, again, full = 0;
	uint64_t words[WORDS] = { 0 };

	for (again = 0; again < 2; again++) {
		for (rank = 0; rank < 4; rank++) {
			hdr = contrib(rank, 100);
			if (tally_slot_admit(&slot, 100, 4, &hdr, 0) ==
			    TALLY_SLOT_FRESH) {
				check_equal(rank, 0);
				tally_shard_admit(&shard, 100, &rule, &hdr, 0);
				tally_slot_reset(&slot, &shard);
			} else if (again) {
				check_equal(tally_slot_admit(&slot, 100, 4,
							     &hdr, 0),
					    TALLY_DROP_DUPLICATE);
				continue;
			}
			tally_slot_align(&slot, payload, &hdr, 0, &add);
			tally_slot_add(payload, words, WORDS, &add);
			full += tally_slot_commit(&slot, &hdr);
			check_equal(full, rank == 3);
		}
	}
	check_equal(full, 1);
}

static void slot_close__says_partial_and_void(void **state)
{
	static const struct {
		uint64_t	mask;
		uint8_t		flags;
	} want[] = {
		{ 0xf, 0 },
		{ 0x7, TALLY_F_PARTIAL },
		{ 0x0, TALLY_F_PARTIAL | TALLY_F_VOID },
	};
	struct tally_hdr hdr;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		struct tally_slot slot = {
			.participants = 0xf,
			.mask = want[i].mask,
			.state = TALLY_SLOT_OPEN,
			.lane = TALLY_LANE_I16,
			.exponent = TALLY_EXP_NONE,
		};

		memset(&hdr, 0, sizeof(hdr));
		tally_slot_close(&slot, &hdr);
		check_equal(slot.state, TALLY_SLOT_CLOSED);
		check_equal(hdr.flags, want[i].flags);
		check_equal(tally_get64(hdr.mask), want[i].mask);
		check_equal(hdr.type, TALLY_RESULT);
	}
}

UNIT_MAIN(
	cmocka_unit_test(headroom__every_count),
	cmocka_unit_test(headroom__caps_add_up),
	cmocka_unit_test(contrib_check__headroom_beyond_the_lane),
	cmocka_unit_test(any_header__is_refused_or_sound),
	cmocka_unit_test(shard_admit__starts_the_clock),
	cmocka_unit_test(shard_admit__names_who_differs),
	cmocka_unit_test(shard_arrival__counts_the_late),
	cmocka_unit_test(slot_commit__tells_the_last_once),
	cmocka_unit_test(slot_close__says_partial_and_void),
)
