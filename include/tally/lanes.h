/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * Carry-free lanes: several fixed-point values side by side in one 64-bit
 * word, so that one addition sums 2, 4 or 8 of them.
 *
 * b is the width of a lane in bits, h the headroom: the bits that the sum of
 * all participants may need above one leaf's value.  A block with exponent e
 * stores u = round(x / 2^e) + B with B = 2^(b-1-h), 1 <= u < 2^(b-h).
 */
#ifndef _TALLY_LANES_H
#define _TALLY_LANES_H

#include "wire.h"

/* Fewest value bits a lane keeps; groups with fewer are refused. */
#define TALLY_LANE_BITS_MIN	4

/* Width of one lane in bits; 0 for lanes that are never summed. */
static inline __u32 tally_lane_bits(__u8 lane)
{
	switch (lane) {
	case TALLY_LANE_I32:
		return 32;
	case TALLY_LANE_I16:
		return 16;
	case TALLY_LANE_I8:
		return 8;
	case TALLY_LANE_W64:
		return 64;
	default:
		return 0;
	}
}

/* True for lanes with exponent, bias and headroom. */
static inline int tally_lane_fixed(__u8 lane)
{
	return lane >= TALLY_LANE_I32 && lane <= TALLY_LANE_I8;
}

/* A word with @value in each lane of @bits; @value must fit the lane. */
static inline __u64 tally_lane_fill(__u32 bits, __u64 value)
{
	if (bits <= 8)
		value |= value << 8;
	if (bits <= 16)
		value |= value << 16;
	if (bits <= 32)
		value |= value << 32;
	return value;
}

/* Smallest k with 2^k >= @x; 0 for @x <= 1. */
static inline __u32 tally_log2_up(__u32 x)
{
	__u32 k = 0;

	while (k < 31 && (1u << k) < x)
		k++;
	return k;
}

/* B, the bias of one leaf, in units of the exponent. */
static inline __u32 tally_lane_bias(__u32 bits, __u32 headroom)
{
	return 1u << (bits - 1 - headroom);
}

/*
 * The bits that must be clear in each lane of a contribution of up to 2^@cap
 * leaves: those at and above 2^(bits - headroom + cap).
 */
static inline __u64 tally_lane_over(__u32 bits, __u32 headroom, __u32 cap)
{
	__u32 used;

	if (cap >= headroom)
		return 0;
	used = bits - headroom + cap;
	return tally_lane_fill(bits, ((1ull << bits) - 1) ^ ((1ull << used) - 1));
}

/**
 * struct tally_shift - constants of one lane-wise right shift
 * @keep: the lowest b - k bits of each lane
 * @low: the lowest k bits of each lane
 * @half: (2^(k-1) - 1) in each lane
 * @one: 1 in each lane
 * @k: bits to shift; 0 shifts nothing and leaves the others unset
 * @zero: non-zero if nothing is left of any value (k >= b): all masks are 0,
 *	and @k is 1
 */
struct tally_shift {
	__u64	keep;
	__u64	low;
	__u64	half;
	__u64	one;
	__u32	k;
	__u32	zero;
};

static inline void tally_shift_init(struct tally_shift *shift, __u32 bits,
				    __u32 k)
{
	shift->k = k;
	shift->zero = k >= bits;
	if (!k)
		return;
	if (shift->zero) {
		shift->k = 1;
		shift->keep = 0;
		shift->low = 0;
		shift->half = 0;
		shift->one = 0;
		return;
	}
	shift->keep = tally_lane_fill(bits, (1ull << (bits - k)) - 1);
	shift->low = tally_lane_fill(bits, (1ull << k) - 1);
	shift->half = tally_lane_fill(bits, (1ull << (k - 1)) - 1);
	shift->one = tally_lane_fill(bits, 1);
}

/*
 * rs(s, k) for k > 0: every lane of @s times 2^-k, rounded half to even.  A
 * rounding add of half a unit before the shift could overflow a full lane; this
 * adds to the k low bits only.
 */
static inline __u64 tally_shift_lanes(const struct tally_shift *shift, __u64 s)
{
	__u64 q = (s >> shift->k) & shift->keep;

	return q + ((((s & shift->low) + shift->half + (q & shift->one)) >>
		     shift->k) & shift->one);
}

/* rs(s, k) for any k. */
static inline __u64 tally_shift_word(const struct tally_shift *shift, __u64 s)
{
	return shift->k ? tally_shift_lanes(shift, s) : s;
}

/*
 * The bias that goes with a block shifted by @k lanes of @bits.  It is one
 * number, not a lane: a sum of biases may be 2^31 in lanes of any width.
 */
static inline __u32 tally_shift_bias(__u32 bias, __u32 bits, __u32 k)
{
	__u64 q, rest;

	if (!k)
		return bias;
	if (k >= bits)
		return 0;
	q = (__u64)bias >> k;
	rest = bias & ((1ull << k) - 1);
	return (__u32)(q + ((rest + (1ull << (k - 1)) - 1 + (q & 1)) >> k));
}

#endif
