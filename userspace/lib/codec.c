// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* Blocks: which exponent, which kernels, and the public calls for one block. */
#include <errno.h>
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "codec.h"
#include "internal.h"

/*
 * From here on, 2^126, a carry may be FLT_MAX: the differences that give the
 * exact error of its addition could overflow.
 */
#define PEAK_SAFE	0x7e800000u

static const struct codec_ops *chosen;

#if defined(__x86_64__)
/* Not among what all compilers' __builtin_cpu_supports() know. */
static int has_f16c(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#endif

int codec_usable(const struct codec_ops *ops)
{
	if (!ops->name)
		return 0;
#if defined(__x86_64__)
	if (ops == &codec_avx2)
		return __builtin_cpu_supports("avx2") && has_f16c();
	if (ops == &codec_avx512)
		return __builtin_cpu_supports("avx512f") &&
		       __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512dq") &&
		       __builtin_cpu_supports("avx512vl");
#endif
	return ops == &codec_scalar;
}

const struct codec_ops *codec_best(void)
{
	const struct codec_ops *ops = __atomic_load_n(&chosen,
						      __ATOMIC_RELAXED);

	if (ops)
		return ops;
	/* Threads that race here come to the same answer. */
	ops = codec_usable(&codec_avx512) ? &codec_avx512 :
	      codec_usable(&codec_avx2) ? &codec_avx2 : &codec_scalar;
	codec_use(ops);
	return ops;
}

void codec_use(const struct codec_ops *ops)
{
	__atomic_store_n(&chosen, ops, __ATOMIC_RELAXED);
}

/* Number @n of the numbers that @seed gives. */
static uint64_t mix(uint64_t seed, uint64_t n)
{
	uint64_t z = seed + 0x9e3779b97f4a7c15ull * (n + 1);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint32_t codec_key(uint64_t seed, uint32_t rank, uint32_t seq, uint32_t chunk)
{
	/* Members that round alike make errors that add up in the sum. */
	return (uint32_t)(mix(mix(seed, rank), (uint64_t)seq << 32 | chunk) >>
			  32);
}

/* 2^@e for any exponent that the lanes may have. */
static double pow2(int e)
{
	uint64_t bits = (uint64_t)(e + 1023) << 52;
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Largest float that is at most 2^(@value_bits - 1) - 1. */
static float limit_of(int value_bits)
{
	if (value_bits <= 25)
		return (float)((1u << (value_bits - 1)) - 1);
	return (float)(pow2(value_bits - 1) - pow2(value_bits - 25));
}

/*
 * Smallest exponent at which a value of magnitude @peak (bits of a float)
 * fits: x < 2^(E+1) needs 2^(E+1-e) <= 2^(value_bits-1).  What rounds up to
 * the bound itself is clipped: a whole exponent more would cost all values
 * a bit.
 */
static int exponent_of(uint32_t peak, int value_bits)
{
	int e = (int)(peak >> 23) - 127;

	if (!(peak >> 23))	/* denormal: 2^-149 is bit 0 */
		e = 31 - __builtin_clz(peak) - 149;
	return e + 2 - value_bits;
}

static int clamp_exponent(int e)
{
	return e < -TALLY_EXP_MAX ? -TALLY_EXP_MAX :
	       e > TALLY_EXP_MAX ? TALLY_EXP_MAX : e;
}

static uint32_t peak_of(const struct codec_block *how, const void *in,
			const float *carry, size_t count)
{
	const struct codec_ops *ops = codec_best();
	uint32_t peak = 0;
	size_t done;

	done = ops->peak(how->dtype, in, count, how->scale, carry, &peak);
	if (done < count)
		codec_scalar.peak(how->dtype, (const uint8_t *)in +
				  done * codec_dtype_bytes(how->dtype),
				  count - done, how->scale,
				  carry ? carry + done : NULL, &peak);
	return peak;
}

static void no_words(struct tally_block *out, const float *carry,
		     float *residual, size_t count, int keep)
{
	out->words = 0;
	out->bias = 0;
	out->exponent = TALLY_EXP_NONE;
	if (!residual)
		return;
	if (!carry || !keep)
		memset(residual, 0, count * sizeof(*residual));
	else if (carry != residual)
		memcpy(residual, carry, count * sizeof(*residual));
}

/* Lanes past @count in the last word hold zeros: the bias. */
static void pad(uint32_t lane, uint8_t *lanes, size_t count, uint32_t bias)
{
	uint32_t bytes = codec_lane_bytes(lane), i;
	size_t at = count * bytes;

	for (; at % 8; at += bytes)
		for (i = 0; i < bytes; i++)
			lanes[at + i] = (uint8_t)(bias >> 8 * i);
}

void codec_encode(const struct codec_block *how, int floor, uint32_t key,
		  const void *in, const float *carry, float *residual,
		  size_t count, void *lanes, struct tally_block *out)
{
	const struct codec_ops *ops = codec_best();
	uint32_t peak = peak_of(how, in, carry, count);
	uint32_t bytes = codec_lane_bytes(how->lane);
	struct codec_args args;
	size_t done;
	int e;

	out->flags = peak >= CODEC_INF ? TALLY_F_NONFINITE : 0;
	if (!peak || out->flags) {
		no_words(out, carry, residual, count, !!out->flags);
		return;
	}
	e = exponent_of(peak, how->value_bits);
	e = clamp_exponent(e > floor ? e : floor);
	out->exponent = (int8_t)e;
	out->bias = tally_lane_bias(how->value_bits, 0);
	out->words = (uint16_t)((count * bytes + 7) / 8);

	args.scale = how->scale;
	args.carry = carry;
	args.residual = residual;
	args.inv = (float)pow2(-e);
	args.step = (float)pow2(e);
	args.limit = limit_of(how->value_bits);
	args.bias = out->bias;
	args.err_mask = peak < PEAK_SAFE ? ~0u : 0;
	args.key = key;
	args.at = 0;
	args.stochastic = how->stochastic;
	done = ops->encode(how->lane, how->dtype, &args, in, count, lanes);
	if (done < count) {
		args.at = (uint32_t)done;
		args.carry = carry ? carry + done : NULL;
		args.residual = residual ? residual + done : NULL;
		codec_scalar.encode(how->lane, how->dtype, &args,
				    (const uint8_t *)in +
				    done * codec_dtype_bytes(how->dtype),
				    count - done,
				    (uint8_t *)lanes + done * bytes);
	}
	pad(how->lane, lanes, count, out->bias);
}

static void fill(uint32_t dtype, void *out, size_t count, int nan)
{
	uint32_t *w = out;
	uint16_t *h = out;
	size_t i;

	if (!nan)
		memset(out, 0, count * codec_dtype_bytes(dtype));
	else if (dtype == TALLY_DTYPE_F32)
		for (i = 0; i < count; i++)
			w[i] = 0x7fc00000;
	else
		for (i = 0; i < count; i++)
			h[i] = dtype == TALLY_DTYPE_F16 ? 0x7e00 : 0x7fc0;
}

uint32_t codec_decode(uint32_t lane, uint32_t dtype, uint32_t reduce,
		      const void *lanes, const struct tally_block *block,
		      void *out, size_t count)
{
	const struct codec_ops *ops = codec_best();
	uint32_t peak = 0;
	double factor;
	size_t done;

	if (block->flags & TALLY_F_NONFINITE || !block->words ||
	    (reduce == TALLY_MEAN && !block->weight)) {
		fill(dtype, out, count, block->flags & TALLY_F_NONFINITE);
		return UINT32_MAX;
	}
	factor = pow2(block->exponent);
	if (reduce == TALLY_MEAN)
		factor /= block->weight;
	done = ops->decode(lane, dtype, lanes, count, block->bias, factor, out,
			   &peak);
	if (done < count)
		codec_scalar.decode(lane, dtype, (const uint8_t *)lanes +
				    done * codec_lane_bytes(lane),
				    count - done, block->bias, factor,
				    (uint8_t *)out +
				    done * codec_dtype_bytes(dtype), &peak);
	return peak;
}

void codec_return(uint32_t lane, const void *lanes,
		  const struct tally_block *block, float *residual,
		  size_t count)
{
	uint32_t bytes = codec_lane_bytes(lane), i;
	const uint8_t *p = lanes;
	double step;
	uint32_t u;

	if (!block->words)
		return;
	step = pow2(block->exponent);
	for (; count--; p += bytes, residual++) {
		for (u = 0, i = 0; i < bytes; i++)
			u |= (uint32_t)p[i] << 8 * i;
		/* One rounding: the sum is exact in a double but for extremes. */
		*residual = (float)((int32_t)(u - block->bias) * step +
				    *residual);
	}
}

size_t tally_dtype_bytes(uint32_t dtype)
{
	switch (dtype) {
	case TALLY_DTYPE_F32:
		return 4;
	case TALLY_DTYPE_F16:
	case TALLY_DTYPE_BF16:
		return 2;
	case TALLY_DTYPE_U64:
		return 8;
	case TALLY_DTYPE_BYTES:
		return 1;
	default:
		return 0;
	}
}

int tally_value_bits(uint32_t lane, uint64_t leaves, uint64_t own)
{
	int bits, h, cap;

	if (!tally_lane_fixed((uint8_t)lane) || lane > TALLY_LANE_I8 ||
	    !leaves || !own || own > leaves || leaves > 1ull << 31)
		return -EINVAL;
	h = (int)tally_log2_up((uint32_t)leaves);
	cap = (int)tally_log2_up((uint32_t)own);
	bits = (int)tally_lane_bits((uint8_t)lane) - h + cap;
	return bits < 2 ? -EINVAL : bits;
}

static int floating(uint32_t dtype)
{
	return dtype >= TALLY_DTYPE_F32 && dtype <= TALLY_DTYPE_BF16;
}

int tally_encode_block(const struct tally_encode_opts *opts, const void *in,
		       size_t count, void *lanes, struct tally_block *out)
{
	struct tally_encode_opts o;
	struct codec_block how;
	codec_env env;
	int err;

	err = opts_get(&o, sizeof(o), opts);
	if (err)
		return err;
	if (!in || !lanes || !out || !tally_lane_fixed(o.lane) ||
	    !floating(o.dtype) ||
	    o.flags & ~(TALLY_ENCODE_STOCHASTIC | TALLY_ENCODE_STICKY) ||
	    o.value_bits < 2 || o.value_bits > tally_lane_bits(o.lane) ||
	    count > TALLY_PAYLOAD_MAX / codec_lane_bytes(o.lane) ||
	    !isfinite(o.scale) || (o.carry && !o.residual))
		return -EINVAL;
	how.lane = o.lane;
	how.dtype = o.dtype;
	how.value_bits = o.value_bits;
	how.stochastic = !!(o.flags & TALLY_ENCODE_STOCHASTIC);
	how.scale = o.scale == 0 ? 1 : o.scale;
	env = codec_enter();
	codec_encode(&how, o.flags & TALLY_ENCODE_STICKY ? o.exponent_min :
		     TALLY_EXP_NONE, o.key, in, o.carry, o.residual, count,
		     lanes, out);
	codec_leave(&env);
	return 0;
}

int tally_decode_block(const struct tally_decode_opts *opts, const void *lanes,
		       const struct tally_block *block, void *out,
		       size_t count)
{
	struct tally_decode_opts o;
	codec_env env;
	int err;

	err = opts_get(&o, sizeof(o), opts);
	if (err)
		return err;
	if (!lanes || !block || !out || o.flags || o.__reserved ||
	    !tally_lane_fixed(o.lane) || !floating(o.dtype) ||
	    o.reduce > TALLY_SUM ||
	    (block->words && (count * codec_lane_bytes(o.lane) + 7) / 8 !=
	     block->words))
		return -EINVAL;
	env = codec_enter();
	codec_decode(o.lane, o.dtype, o.reduce, lanes, block, out, count);
	codec_leave(&env);
	return 0;
}
