// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* The kernels in portable C, one value at a time. */
#include <math.h>
#include <string.h>

#include "codec.h"

#define VN 1

typedef float vf;
typedef double vd;
typedef uint32_t vi;

static inline uint32_t bits_of(float x)
{
	uint32_t u;

	memcpy(&u, &x, sizeof(u));
	return u;
}

static inline float float_of(uint32_t u)
{
	float x;

	memcpy(&x, &u, sizeof(x));
	return x;
}

static inline float half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16;
	uint32_t exp = h >> 10 & 31, frac = h & 0x3ff;

	if (!exp)	/* zero or denormal: frac * 2^-24 */
		return float_of(bits_of((float)frac * 0x1p-24f) | sign);
	if (exp == 31)
		return float_of(sign | CODEC_INF | frac << 13);
	return float_of(sign | (exp + 112) << 23 | frac << 13);
}

/* Round to nearest even; @x is not NaN. */
static inline uint16_t float_to_half(float x)
{
	uint32_t u = bits_of(x), sign = u >> 16 & 0x8000;

	u &= 0x7fffffff;
	if (u >= 0x47800000)			/* 2^16 and above, Inf */
		return (uint16_t)(sign | 0x7c00);
	if (u < 0x38800000)			/* below 2^-14: denormal */
		return (uint16_t)(sign | (bits_of(float_of(u) + 0.5f) -
					  bits_of(0.5f)));
	/* May carry into the exponent, up to Inf. */
	u += 0xfff + (u >> 13 & 1);
	return (uint16_t)(sign | ((u - (112u << 23)) >> 13));
}

static inline uint16_t float_to_bfloat(float x)
{
	uint32_t u = bits_of(x);

	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static inline vf v_set(float x) { return x; }
static inline vd v_setd(double x) { return x; }
static inline vi v_seti(uint32_t x) { return x; }
static inline vi v_iota(uint32_t x) { return x; }
static inline vf v_add(vf a, vf b) { return a + b; }
static inline vf v_sub(vf a, vf b) { return a - b; }
static inline vf v_mul(vf a, vf b) { return a * b; }
static inline vf v_min(vf a, vf b) { return a < b ? a : b; }
static inline vf v_max(vf a, vf b) { return a > b ? a : b; }
static inline vf v_and(vf a, vi b) { return float_of(bits_of(a) & b); }
static inline vi v_above(vf a, vf b) { return a > b ? ~0u : 0; }
static inline vi v_addi(vi a, vi b) { return a + b; }
static inline vi v_subi(vi a, vi b) { return a - b; }
static inline vi v_muli(vi a, vi b) { return a * b; }
static inline vi v_xori(vi a, vi b) { return a ^ b; }
static inline vi v_shri(vi a, int n) { return a >> n; }
static inline vi v_maxi(vi a, vi b) { return a > b ? a : b; }
static inline vi v_maxu(vi a, vi b) { return a > b ? a : b; }
static inline vi v_absi(vi a) { return a >> 31 ? -a : a; }
static inline uint32_t v_topi(vi a) { return a; }
static inline vi v_magnitude(vf a) { return bits_of(a) & 0x7fffffff; }
static inline vf v_float(vi a) { return (float)(int32_t)a; }
static inline vi v_int(vf a) { return (uint32_t)(int32_t)a; }
static inline vf v_loadf(const float *p) { return *p; }
static inline void v_storef(float *p, vf x) { *p = x; }

/* |a| is below 2^31. */
static inline vi v_round(vf a)
{
	return (uint32_t)lrintf(a);
}

static inline vf v_floor(vf a)
{
	float q = (float)(int32_t)a;

	return q > a ? q - 1 : q;
}

static inline vf v_times(vi d, vd factor)
{
	return (float)((double)(int32_t)d * factor);
}

static inline vf v_load(uint32_t dtype, const uint8_t *p)
{
	uint16_t h;
	float x;

	if (dtype == TALLY_DTYPE_F32) {
		memcpy(&x, p, sizeof(x));
		return x;
	}
	memcpy(&h, p, sizeof(h));
	return dtype == TALLY_DTYPE_F16 ? half_to_float(h) :
					  float_of((uint32_t)h << 16);
}

static inline void v_store(uint32_t dtype, uint8_t *p, vf x)
{
	uint16_t h;

	if (dtype == TALLY_DTYPE_F32) {
		memcpy(p, &x, sizeof(x));
		return;
	}
	h = dtype == TALLY_DTYPE_F16 ? float_to_half(x) : float_to_bfloat(x);
	memcpy(p, &h, sizeof(h));
}

/* Lanes lie little-endian in a little-endian word: an array of integers. */
static inline vi v_load_lanes(uint32_t lane, const uint8_t *p)
{
	switch (lane) {
	case TALLY_LANE_I32:
		return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
		       (uint32_t)p[3] << 24;
	case TALLY_LANE_I16:
		return p[0] | (uint32_t)p[1] << 8;
	default:
		return p[0];
	}
}

static inline void v_store_lanes(uint32_t lane, uint8_t *p, vi u)
{
	p[0] = (uint8_t)u;
	if (lane != TALLY_LANE_I8)
		p[1] = (uint8_t)(u >> 8);
	if (lane == TALLY_LANE_I32) {
		p[2] = (uint8_t)(u >> 16);
		p[3] = (uint8_t)(u >> 24);
	}
}

#include "codec_body.h"

int codec_hold(const struct codec_block *how, const void *in,
	       const float *carry, float *residual, size_t count)
{
	const uint8_t *p = in;
	uint32_t top = 0;
	size_t i;

	for (i = 0; i < count; i++, p += codec_dtype_bytes(how->dtype)) {
		residual[i] = v_load(how->dtype, p) * how->scale + carry[i];
		top = v_maxi(top, v_magnitude(residual[i]));
	}
	return top >= CODEC_INF;
}

const struct codec_ops codec_scalar = {
	.name	= "scalar",
	.peak	= peak,
	.encode	= encode,
	.decode	= decode,
};
