// SPDX-License-Identifier: GPL-2.0-only
/* Blocks: every kernel gives the same bits, and the bits are right. */
#include <fenv.h>
#include <math.h>
#include <stdlib.h>

#include "common.h"

#define COUNT		1000	/* not a multiple of any vector */
#define ROUNDS		40

static const struct codec_ops *const sets[] = {
	&codec_scalar, &codec_avx2, &codec_avx512,
};

/* Kinds of values. */
enum kind {
	BITS,		/* any bit pattern that is finite */
	DENORMAL,
	HUGE_MAGNITUDE,
	TIES,		/* halves of the unit */
	GRADIENT,
	SPARSE,		/* mostly 0 and -0 */
	KINDS,
};

static float value(enum kind kind, uint64_t *rng)
{
	uint32_t r = (uint32_t)next_random(rng);

	switch (kind) {
	case BITS:
		if ((r & CODEC_INF) == CODEC_INF)
			r ^= 0x40000000;
		return float_from(r);
	case DENORMAL:
		return float_from(r & 0x807fffff);
	case HUGE_MAGNITUDE:
		return float_from((r & 0x807fffff) + 0x7e000000 +
				  (r % 3 << 23));
	case TIES:
		return (float)((int)(r % 513) - 256) / 2;
	case SPARSE:
		return r % 16 ? (r & 32 ? -0.f : 0.f) : gradient(rng, 1);
	default:
		return gradient(rng, 1e-3f);
	}
}

static uint16_t half_of(float x, uint32_t dtype)
{
	uint32_t u = bits_from(x);

	/* Any bits will do; not those of NaN and Inf. */
	if (dtype == TALLY_DTYPE_BF16)
		return (uint16_t)(u >> 16);
	return (uint16_t)((u >> 16 & 0x8000) | (u >> 13 & 0x7bff));
}

static void fill_values(void *to, uint32_t dtype, enum kind kind, size_t count,
			uint64_t *rng)
{
	uint16_t *h = to;
	float *f = to;
	size_t i;

	for (i = 0; i < count; i++) {
		if (dtype == TALLY_DTYPE_F32)
			f[i] = value(kind, rng);
		else
			h[i] = half_of(value(kind, rng), dtype);
	}
}

struct outcome {
	struct tally_block	block;
	uint64_t		lanes[COUNT];
	float			residual[COUNT];
	uint8_t			out[COUNT * 4];
};

/* Encode and decode by the set in use. */
static void run(const struct codec_block *how, const void *in,
		const float *carry, int keep, size_t count, int floor,
		uint32_t reduce, struct outcome *o)
{
	codec_env env;

	memset(o, 0, sizeof(*o));
	env = codec_enter();
	codec_encode(how, floor, 77, in, carry, keep ? o->residual : NULL,
		     count, o->lanes, &o->block);
	o->block.weight = 3;
	codec_decode(how->lane, how->dtype, reduce, o->lanes, &o->block,
		     o->out, count);
	codec_leave(&env);
}

static struct codec_block random_block(uint64_t *rng)
{
	struct codec_block how;
	uint32_t bits;

	how.lane = (uint8_t)(1 + next_random(rng) % 3);
	how.dtype = (uint8_t)(1 + next_random(rng) % 3);
	bits = tally_lane_bits(how.lane);
	how.value_bits = (uint8_t)(2 + next_random(rng) % (bits - 1));
	how.stochastic = next_random(rng) % 3 == 0;
	how.scale = next_random(rng) % 2 ? 1 : 3.25f;
	return how;
}

static void codec__sets_agree(void **state)
{
	static float carry[COUNT], in[COUNT];
	static struct outcome first, other;
	uint64_t rng = 1;
	size_t count, i;
	int round, kind, keep, tested = 0;

	(void)state;
	for (round = 0; round < ROUNDS * KINDS; round++) {
		struct codec_block how = random_block(&rng);
		int floor = (int)(next_random(&rng) % 256) - 128;
		uint32_t reduce = next_random(&rng) & 1;

		kind = round % KINDS;
		if (round & 1)
			floor = TALLY_EXP_NONE;
		count = 1 + next_random(&rng) % COUNT;
		keep = (int)(next_random(&rng) % 3);
		fill_values(in, how.dtype, (enum kind)kind, count, &rng);
		fill_values(carry, TALLY_DTYPE_F32, (enum kind)kind, count,
			    &rng);
		codec_use(&codec_scalar);
		run(&how, in, keep == 2 ? carry : NULL, keep, count, floor,
		    reduce, &first);
		for (i = 1; i < 3; i++) {
			if (!codec_usable(sets[i]))
				continue;
			codec_use(sets[i]);
			run(&how, in, keep == 2 ? carry : NULL, keep, count,
			    floor, reduce, &other);
			assert_memory_equal(&first, &other, sizeof(first));
			tested++;
		}
	}
	codec_use(NULL);
	if (!tested)
		skip();
}

static void codec__caller_mode_does_not_matter(void **state)
{
	static struct outcome plain, odd;
	static float in[COUNT];
	struct tally_encode_opts e = TALLY_OPTS(tally_encode_opts,
		.lane = TALLY_LANE_I16, .dtype = TALLY_DTYPE_F32,
		.value_bits = 14);
	struct tally_decode_opts d = TALLY_OPTS(tally_decode_opts,
		.lane = TALLY_LANE_I16, .dtype = TALLY_DTYPE_F32);
	uint64_t rng = 2;
	int i, round;

	(void)state;
	for (round = 0; round < 2; round++) {
		fill_values(in, TALLY_DTYPE_F32, round ? DENORMAL : GRADIENT,
			    COUNT, &rng);
		for (i = 0; i < 2; i++) {
			struct outcome *o = i ? &odd : &plain;

			if (i) {
				fesetround(FE_DOWNWARD);
#if defined(__x86_64__)
				_mm_setcsr(_mm_getcsr() | 0x8040);
#endif
			}
			assert_int_equal(tally_encode_block(&e, in, COUNT,
							    o->lanes,
							    &o->block), 0);
			o->block.weight = 3;
			assert_int_equal(tally_decode_block(&d, o->lanes,
							    &o->block, o->out,
							    COUNT), 0);
			if (i) {
				assert_int_equal(fegetround(), FE_DOWNWARD);
#if defined(__x86_64__)
				assert_int_equal(_mm_getcsr() & 0x8040, 0x8040);
#endif
				fesetenv(FE_DFL_ENV);
			}
		}
		assert_true(plain.block.words);
		assert_memory_equal(&plain, &odd, sizeof(plain));
	}
}

static int64_t lane_at(uint32_t lane, const uint64_t *lanes, size_t i)
{
	uint32_t bits = tally_lane_bits((uint8_t)lane), per = 64 / bits;

	return (int64_t)(lanes[i / per] >> i % per * bits &
			 ((1ull << bits) - 1));
}

/* Against the definition, in exact arithmetic. */
static void codec__defined_values(void **state)
{
	static float in[COUNT], residual[COUNT];
	static uint64_t lanes[COUNT];
	struct tally_block block;
	uint64_t rng = 3;
	codec_env env;
	int round;
	size_t i;

	(void)state;
	for (round = 0; round < ROUNDS * KINDS; round++) {
		struct codec_block how = random_block(&rng);
		double limit, unit, q, peak = 0;

		how.dtype = TALLY_DTYPE_F32;
		how.stochastic = 0;
		how.scale = 1;
		fill_values(in, TALLY_DTYPE_F32, (enum kind)(round % KINDS),
			    COUNT, &rng);
		for (i = 0; i < COUNT; i++)
			peak = fmax(peak, fabs((double)in[i]));
		env = codec_enter();
		codec_encode(&how, TALLY_EXP_NONE, 0, in, NULL, residual,
			     COUNT, lanes, &block);
		codec_leave(&env);
		assert_int_equal(block.words, (COUNT + 64 /
			tally_lane_bits(how.lane) - 1) /
			(64 / tally_lane_bits(how.lane)));
		assert_int_equal(block.bias, 1ull << (how.value_bits - 1));
		unit = ldexp(1, block.exponent);
		limit = ldexp(1, how.value_bits - 1);
		/* It fits, and half the unit would not. */
		assert_true(peak < unit * limit);
		if (block.exponent > -127)
			assert_true(peak >= unit / 2 * limit);
		for (i = 0; i < COUNT; i++) {
			q = rint(in[i] / unit);
			q = fmin(fmax(q, 1 - limit), limit - 1);
			assert_int_equal(lane_at(how.lane, lanes, i),
					 (int64_t)q + block.bias);
			assert_true(in[i] - q * unit == (double)residual[i]);
		}
		for (; i % (64 / tally_lane_bits(how.lane)); i++)
			assert_int_equal(lane_at(how.lane, lanes, i),
					 block.bias);
	}
}

static void codec__carry_is_exact(void **state)
{
	static float in[COUNT], carry[COUNT], residual[COUNT];
	static uint64_t lanes[COUNT];
	int round, overflows = 0;
	struct tally_block block;
	uint64_t rng = 4;
	codec_env env;
	size_t i;

	(void)state;
	for (round = 0; round < ROUNDS * KINDS; round++) {
		struct codec_block how = random_block(&rng);
		enum kind kind = (enum kind)(round % KINDS);
		double unit;

		how.dtype = TALLY_DTYPE_F32;
		how.stochastic = 0;
		how.scale = 1;
		if (kind == BITS)
			kind = GRADIENT;
		fill_values(in, TALLY_DTYPE_F32, kind, COUNT, &rng);
		fill_values(carry, TALLY_DTYPE_F32, kind, COUNT, &rng);
		/* Of huge ones only some sums are finite. */
		for (i = 0; kind == HUGE_MAGNITUDE && i < COUNT; i++)
			if (!isfinite(in[i] + carry[i]))
				carry[i] = round % 4 ? carry[i] : -carry[i];
		env = codec_enter();
		codec_encode(&how, TALLY_EXP_NONE, 0, in, carry, residual,
			     COUNT, lanes, &block);
		codec_leave(&env);
		if (block.flags) {	/* huge ones whose sum overflows */
			overflows++;
			continue;
		}
		unit = ldexp(1, block.exponent);
		for (i = 0; i < COUNT; i++) {
			double q = (double)(lane_at(how.lane, lanes, i) -
					    block.bias);
			double left = (double)in[i] + carry[i] - q * unit;
			double whole = kind == HUGE_MAGNITUDE ?
				       (double)in[i] + carry[i] : left;

			/* One rounding to f32: of what is left. */
			assert_true(fabs(left - residual[i]) <=
				    fabs(whole) * 0x1p-24 + 0x1p-150);
			assert_true(fabs(left) <= unit +
				    fabs(in[i] + carry[i]) * 0x1p-24);
		}
	}
	assert_true(overflows > 0 && overflows < ROUNDS);
}

static void codec__values_come_back(void **state)
{
	struct tally_encode_opts e = TALLY_OPTS(tally_encode_opts,
		.lane = TALLY_LANE_I32, .value_bits = 32);
	struct tally_decode_opts d = TALLY_OPTS(tally_decode_opts,
		.lane = TALLY_LANE_I32);
	uint32_t dtype, u, inf, least;
	struct tally_block block;
	uint64_t lanes;
	uint16_t h, back;

	(void)state;
	/*
	 * One value a block: nothing changes on the way but -0, and what is
	 * finer than the smallest exponent.
	 */
	for (dtype = TALLY_DTYPE_F16; dtype <= TALLY_DTYPE_BF16; dtype++) {
		inf = dtype == TALLY_DTYPE_F16 ? 0x7c00 : 0x7f80;
		least = dtype == TALLY_DTYPE_F16 ? 0 : 7 << 7;
		e.dtype = (uint8_t)dtype;
		d.dtype = (uint8_t)dtype;
		for (u = 0; u < 0x10000; u++) {
			h = (uint16_t)u;
			assert_int_equal(tally_encode_block(&e, &h, 1, &lanes,
							    &block), 0);
			block.weight = 1;
			assert_int_equal(tally_decode_block(&d, &lanes, &block,
							    &back, 1), 0);
			if ((u & 0x7fff) >= inf) {
				assert_int_equal(block.flags,
						 TALLY_F_NONFINITE);
				assert_int_equal(block.words, 0);
				assert_true((back & 0x7fff) > inf);
			} else if ((u & 0x7fff) >= least || !(u & 0x7fff)) {
				assert_int_equal(back, u == 0x8000 ? 0 : u);
			} else {
				assert_true((back & 0x7fff) <= least);
			}
		}
	}
}

static void codec__nonfinite_and_zero(void **state)
{
	struct tally_encode_opts e = TALLY_OPTS(tally_encode_opts,
		.lane = TALLY_LANE_I8, .dtype = TALLY_DTYPE_F32,
		.value_bits = 6);
	struct tally_decode_opts d = TALLY_OPTS(tally_decode_opts,
		.lane = TALLY_LANE_I8, .dtype = TALLY_DTYPE_F32);
	float in[50], carry[50], residual[50], out[50];
	static const float odd[] = { NAN, INFINITY, -INFINITY };
	struct tally_block block;
	uint64_t lanes[7];
	size_t i, j;

	(void)state;
	for (i = 0; i < 50; i++)
		carry[i] = (float)i;
	e.carry = carry;
	e.residual = residual;
	for (j = 0; j < 3; j++) {
		memset(in, 0, sizeof(in));
		in[17 * j] = odd[j];
		assert_int_equal(tally_encode_block(&e, in, 50, lanes, &block),
				 0);
		assert_int_equal(block.flags, TALLY_F_NONFINITE);
		assert_int_equal(block.words, 0);
		assert_int_equal(block.bias, 0);
		assert_int_equal(block.exponent, TALLY_EXP_NONE);
		assert_memory_equal(residual, carry, sizeof(carry));
		assert_int_equal(tally_decode_block(&d, lanes, &block, out, 50),
				 0);
		for (i = 0; i < 50; i++)
			assert_true(isnan(out[i]));
	}
	/* A scale or a carry can overflow, too. */
	in[0] = 3e38f;
	in[34] = 0;
	e.scale = 2;
	assert_int_equal(tally_encode_block(&e, in, 50, lanes, &block), 0);
	assert_int_equal(block.flags, TALLY_F_NONFINITE);

	/* Carry and values that cancel leave zeros: nothing is sent. */
	for (i = 0; i < 50; i++)
		in[i] = -carry[i];
	e.scale = 0;
	assert_int_equal(tally_encode_block(&e, in, 50, lanes, &block), 0);
	assert_int_equal(block.flags, 0);
	assert_int_equal(block.words, 0);
	for (i = 0; i < 50; i++)
		assert_true(residual[i] == 0);
	assert_int_equal(tally_decode_block(&d, lanes, &block, out, 50), 0);
	for (i = 0; i < 50; i++)
		assert_int_equal(bits_from(out[i]), 0);
}

/* The one carry whose addition has no exact error: it must not become NaN. */
static void codec__largest_carry(void **state)
{
	struct tally_encode_opts e = TALLY_OPTS(tally_encode_opts,
		.lane = TALLY_LANE_I32, .dtype = TALLY_DTYPE_F32,
		.value_bits = 30);
	float in[40], carry[40], residual[40];
	struct tally_block block;
	uint64_t lanes[20];
	size_t i;

	(void)state;
	for (i = 0; i < 40; i++) {
		carry[i] = i % 2 ? 0x1.fffffep127f : -0x1.fffffep127f;
		in[i] = i % 2 ? -0x1.8p104f : 0x1.8p104f;
	}
	e.carry = carry;
	e.residual = residual;
	assert_int_equal(tally_encode_block(&e, in, 40, lanes, &block), 0);
	assert_int_equal(block.flags, 0);
	for (i = 0; i < 40; i++)
		assert_true(fabs((double)residual[i]) <= 0x1p104);
}

static void codec__sticky_exponent(void **state)
{
	struct tally_encode_opts e = TALLY_OPTS(tally_encode_opts,
		.flags = TALLY_ENCODE_STICKY, .lane = TALLY_LANE_I16,
		.dtype = TALLY_DTYPE_F32, .value_bits = 14,
		.exponent_min = 3);
	float in[2] = { 1, 100 };
	struct tally_block block;
	uint64_t lanes;

	(void)state;
	assert_int_equal(tally_encode_block(&e, in, 2, &lanes, &block), 0);
	assert_int_equal(block.exponent, 3);
	assert_int_equal(lane_at(TALLY_LANE_I16, &lanes, 1) - block.bias, 12);
	e.exponent_min = -128;
	assert_int_equal(tally_encode_block(&e, in, 2, &lanes, &block), 0);
	assert_int_equal(block.exponent, 6 + 2 - 14);
	/* All members would be asked to clamp alike. */
	in[0] = in[1] = 1e-40f;
	assert_int_equal(tally_encode_block(&e, in, 2, &lanes, &block), 0);
	assert_int_equal(block.exponent, -127);
}

static void codec__stochastic_is_unbiased(void **state)
{
	static float in[8000], residual[8000];
	static uint64_t lanes[1000], again[1000];
	struct tally_encode_opts e = TALLY_OPTS(tally_encode_opts,
		.flags = TALLY_ENCODE_STOCHASTIC | TALLY_ENCODE_STICKY,
		.lane = TALLY_LANE_I8, .dtype = TALLY_DTYPE_F32,
		.value_bits = 6, .exponent_min = 0, .residual = residual);
	struct tally_block block;
	double sum = 0;
	size_t i, ups = 0;

	(void)state;
	for (i = 0; i < 8000; i++)
		in[i] = i & 1 ? 2.3f : -2.3f;
	assert_int_equal(tally_encode_block(&e, in, 8000, lanes, &block), 0);
	for (i = 0; i < 8000; i++) {
		int64_t q = lane_at(TALLY_LANE_I8, lanes, i) - block.bias;

		assert_true(i & 1 ? q == 2 || q == 3 : q == -2 || q == -3);
		ups += q == 3;
		sum += (double)q;
		assert_true((double)in[i] - (double)q == (double)residual[i]);
	}
	/* 4000 draws at p = 0.3: five standard deviations are 145. */
	assert_in_range(ups, 1200 - 145, 1200 + 145);
	assert_true(fabs(sum) < 250);
	assert_int_equal(tally_encode_block(&e, in, 8000, again, &block), 0);
	assert_memory_equal(lanes, again, sizeof(lanes));
	e.key = 1;
	assert_int_equal(tally_encode_block(&e, in, 8000, again, &block), 0);
	assert_memory_not_equal(lanes, again, sizeof(lanes));
}

static void codec__bad_arguments(void **state)
{
	struct tally_encode_opts good = TALLY_OPTS(tally_encode_opts,
		.lane = TALLY_LANE_I32, .dtype = TALLY_DTYPE_F32,
		.value_bits = 30), e;
	struct tally_decode_opts d = TALLY_OPTS(tally_decode_opts,
		.lane = TALLY_LANE_I32, .dtype = TALLY_DTYPE_F32);
	float in[2] = { 1, 2 }, out[2];
	struct tally_block block;
	uint64_t lanes[2];

	(void)state;
#define REFUSED(change, count) do {					\
	e = good;							\
	change;								\
	assert_int_equal(tally_encode_block(&e, in, count, lanes,	\
					    &block), -EINVAL);		\
} while (0)
	REFUSED(e.lane = 0, 2);
	REFUSED(e.lane = TALLY_LANE_W64, 2);
	REFUSED(e.dtype = 0, 2);
	REFUSED(e.dtype = TALLY_DTYPE_U64, 2);
	REFUSED(e.value_bits = 1, 2);
	REFUSED(e.value_bits = 33, 2);
	REFUSED(e.flags = 4, 2);
	REFUSED(e.scale = NAN, 2);
	REFUSED(e.carry = in, 2);
	REFUSED(e.size = 3, 2);
	REFUSED((void)0, TALLY_PAYLOAD_MAX / 4 + 1);
#undef REFUSED
	assert_int_equal(tally_encode_block(&good, in, 2, lanes, &block), 0);
	block.weight = 1;
	d.reduce = 2;
	assert_int_equal(tally_decode_block(&d, lanes, &block, out, 2),
			 -EINVAL);
	d.reduce = TALLY_SUM;
	/* More values than the block has lanes. */
	assert_int_equal(tally_decode_block(&d, lanes, &block, out, 3),
			 -EINVAL);
	assert_int_equal(tally_decode_block(&d, lanes, &block, out, 2), 0);
	assert_true(out[0] == 1 && out[1] == 2);
	assert_int_equal(tally_value_bits(TALLY_LANE_I8, 4, 1), 6);
	assert_int_equal(tally_value_bits(TALLY_LANE_I8, 5, 1), 5);
	assert_int_equal(tally_value_bits(TALLY_LANE_I16, 64, 16), 14);
	assert_int_equal(tally_value_bits(TALLY_LANE_I8, 128, 1), -EINVAL);
	assert_int_equal(tally_value_bits(TALLY_LANE_W64, 2, 1), -EINVAL);
	assert_int_equal(tally_value_bits(TALLY_LANE_I32, 0, 1), -EINVAL);
}

static void opts__sizes(void **state)
{
	struct {
		struct tally_encode_opts opts;
		uint64_t more;
	} longer = { TALLY_OPTS(tally_encode_opts, .lane = TALLY_LANE_I32,
		     .dtype = TALLY_DTYPE_F32, .value_bits = 30), 0 };
	struct tally_block block;
	uint64_t lanes;
	float in = 1;

	(void)state;
	longer.opts.size = sizeof(longer);
	assert_int_equal(tally_encode_block(&longer.opts, &in, 1, &lanes,
					    &block), 0);
	longer.more = 1;
	assert_int_equal(tally_encode_block(&longer.opts, &in, 1, &lanes,
					    &block), -E2BIG);
	/* An older program's: without what came after value_bits. */
	longer.opts.size = offsetof(struct tally_encode_opts, exponent_min);
	longer.opts.scale = NAN;
	assert_int_equal(tally_encode_block(&longer.opts, &in, 1, &lanes,
					    &block), 0);
}

int main(void)
{
	const struct CMUnitTest codec[] = {
		cmocka_unit_test(codec__sets_agree),
		cmocka_unit_test(codec__caller_mode_does_not_matter),
		cmocka_unit_test(codec__defined_values),
		cmocka_unit_test(codec__carry_is_exact),
		cmocka_unit_test(codec__values_come_back),
		cmocka_unit_test(codec__nonfinite_and_zero),
		cmocka_unit_test(codec__largest_carry),
		cmocka_unit_test(codec__sticky_exponent),
		cmocka_unit_test(codec__stochastic_is_unbiased),
		cmocka_unit_test(codec__bad_arguments),
		cmocka_unit_test(opts__sizes),
	};

	return RUN_TESTS(codec);
}
