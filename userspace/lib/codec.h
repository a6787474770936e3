/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * Values to lanes and back: the kernels, one set for each instruction set.
 * All sets give the same bits.  They assume round-to-nearest and no flushing
 * of denormals: callers stand between codec_enter() and codec_leave().
 */
#ifndef LIBTALLY_CODEC_H
#define LIBTALLY_CODEC_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

#include <tally/tally.h>

/* Bits of the magnitude of the smallest float that is not finite. */
#define CODEC_INF	0x7f800000u

/**
 * struct codec_args - one block to encode
 * @scale: multiplies each value
 * @carry: added; NULL: nothing
 * @residual: receives what is lost; NULL: nothing.  Set if @carry is
 * @inv: 2^-exponent
 * @step: 2^exponent
 * @limit: largest |u - bias|, a float
 * @bias: of a lane
 * @err_mask: all ones, or 0 where the exact error of the addition of @carry
 *	cannot be computed because values are near the end of the range
 * @key: stochastic: of this block
 * @at: stochastic: index of the first value in the block
 * @stochastic: round at random
 */
struct codec_args {
	float		scale;
	const float	*carry;
	float		*residual;
	float		inv;
	float		step;
	float		limit;
	uint32_t	bias;
	uint32_t	err_mask;
	uint32_t	key;
	uint32_t	at;
	int		stochastic;
};

/*
 * peak: largest magnitude of scale * in + carry, as bits of a float.  SIMD sets
 * do whole vectors and return how many values; the rest is the scalar set's.
 *
 * decode: values = (lane - bias) * factor.  Returns by @peak the largest
 * |lane - bias|.
 */
struct codec_ops {
	const char *name;
	size_t (*peak)(uint32_t dtype, const void *in, size_t count,
		       float scale, const float *carry, uint32_t *peak);
	size_t (*encode)(uint32_t lane, uint32_t dtype,
			 const struct codec_args *args, const void *in,
			 size_t count, void *lanes);
	size_t (*decode)(uint32_t lane, uint32_t dtype, const void *lanes,
			 size_t count, uint32_t bias, double factor, void *out,
			 uint32_t *peak);
};

extern const struct codec_ops codec_scalar;
extern const struct codec_ops codec_avx2;
extern const struct codec_ops codec_avx512;

/* The fastest set that runs here. */
const struct codec_ops *codec_best(void);
/* For tests: use this set from now on; NULL: the fastest. */
void codec_use(const struct codec_ops *ops);
/* For tests: may @ops run here? */
int codec_usable(const struct codec_ops *ops);

/* The caller's floating-point mode, while ours is in force. */
#if defined(__x86_64__)
typedef unsigned int codec_env;

static inline codec_env codec_enter(void)
{
	codec_env env = _mm_getcsr();

	_mm_setcsr(0x1f80);
	return env;
}

static inline void codec_leave(const codec_env *env)
{
	_mm_setcsr(*env);
}
#else
typedef fenv_t codec_env;

static inline codec_env codec_enter(void)
{
	codec_env env;

	fegetenv(&env);
	fesetenv(FE_DFL_ENV);
	return env;
}

static inline void codec_leave(const codec_env *env)
{
	fesetenv(env);
}
#endif

static inline uint32_t codec_dtype_bytes(uint32_t dtype)
{
	return dtype == TALLY_DTYPE_F32 ? 4 : 2;
}

static inline uint32_t codec_lane_bytes(uint32_t lane)
{
	return 8u >> lane;	/* i32, i16, i8: 1, 2, 3 */
}

_Static_assert(TALLY_LANE_I32 == 1 && TALLY_LANE_I8 == 3,
	       "a lane's width follows from its number");

/**
 * struct codec_block - how the blocks of one collective are encoded
 * @lane: enum tally_lane, fixed-point
 * @dtype: enum tally_dtype
 * @value_bits: of a lane
 * @stochastic: round at random
 * @scale: multiplies each value
 */
struct codec_block {
	uint8_t		lane;
	uint8_t		dtype;
	uint8_t		value_bits;
	uint8_t		stochastic;
	float		scale;
};

/*
 * Between codec_enter() and codec_leave().  @floor: smallest exponent, or
 * TALLY_EXP_NONE.  Pads the last word with zeros.
 */
void codec_encode(const struct codec_block *how, int floor, uint32_t key,
		  const void *in, const float *carry, float *residual,
		  size_t count, void *lanes, struct tally_block *out);
/*
 * Likewise.  Return: largest |sum| in units of the exponent; UINT32_MAX if the
 * block has no lanes.
 */
uint32_t codec_decode(uint32_t lane, uint32_t dtype, uint32_t reduce,
		      const void *lanes, const struct tally_block *block,
		      void *out, size_t count);
/* residual += value of the lanes, in f32: a contribution that was missed. */
void codec_return(uint32_t lane, const void *lanes,
		  const struct tally_block *block, float *residual,
		  size_t count);

/* residual = scale * in + carry.  Return: non-zero if not all are finite. */
int codec_hold(const struct codec_block *how, const void *in,
	       const float *carry, float *residual, size_t count);

/* A key of one member's block out of a call's seed. */
uint32_t codec_key(uint64_t seed, uint32_t rank, uint32_t seq, uint32_t chunk);

#endif
