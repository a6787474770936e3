// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* The kernels for AVX2 and F16C, eight values at a time. */
#include "codec.h"

#if defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>

#define VN 8

typedef __m256 vf;
typedef __m256d vd;
typedef __m256i vi;

static inline vf v_set(float x) { return _mm256_set1_ps(x); }
static inline vd v_setd(double x) { return _mm256_set1_pd(x); }
static inline vi v_seti(uint32_t x) { return _mm256_set1_epi32((int)x); }
static inline vf v_add(vf a, vf b) { return _mm256_add_ps(a, b); }
static inline vf v_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
static inline vf v_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
static inline vf v_min(vf a, vf b) { return _mm256_min_ps(a, b); }
static inline vf v_max(vf a, vf b) { return _mm256_max_ps(a, b); }
static inline vf v_float(vi a) { return _mm256_cvtepi32_ps(a); }
static inline vi v_round(vf a) { return _mm256_cvtps_epi32(a); }
static inline vi v_int(vf a) { return _mm256_cvttps_epi32(a); }
static inline vf v_floor(vf a) { return _mm256_floor_ps(a); }
static inline vi v_addi(vi a, vi b) { return _mm256_add_epi32(a, b); }
static inline vi v_subi(vi a, vi b) { return _mm256_sub_epi32(a, b); }
static inline vi v_muli(vi a, vi b) { return _mm256_mullo_epi32(a, b); }
static inline vi v_xori(vi a, vi b) { return _mm256_xor_si256(a, b); }
static inline vi v_shri(vi a, int n) { return _mm256_srli_epi32(a, n); }
static inline vi v_maxi(vi a, vi b) { return _mm256_max_epi32(a, b); }
static inline vi v_maxu(vi a, vi b) { return _mm256_max_epu32(a, b); }
static inline vi v_absi(vi a) { return _mm256_abs_epi32(a); }
static inline vf v_loadf(const float *p) { return _mm256_loadu_ps(p); }
static inline void v_storef(float *p, vf x) { _mm256_storeu_ps(p, x); }

static inline vi v_iota(uint32_t x)
{
	return v_addi(v_seti(x), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline vf v_and(vf a, vi b)
{
	return _mm256_and_ps(a, _mm256_castsi256_ps(b));
}

static inline vi v_above(vf a, vf b)
{
	return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_GT_OQ));
}

static inline vi v_magnitude(vf a)
{
	return _mm256_and_si256(_mm256_castps_si256(a), v_seti(0x7fffffff));
}

static inline uint32_t v_topi(vi a)
{
	__m128i m = _mm_max_epu32(_mm256_castsi256_si128(a),
				  _mm256_extracti128_si256(a, 1));

	m = _mm_max_epu32(m, _mm_srli_si128(m, 8));
	m = _mm_max_epu32(m, _mm_srli_si128(m, 4));
	return (uint32_t)_mm_cvtsi128_si32(m);
}

static inline vf v_times(vi d, vd factor)
{
	__m256d lo = _mm256_cvtepi32_pd(_mm256_castsi256_si128(d));
	__m256d hi = _mm256_cvtepi32_pd(_mm256_extracti128_si256(d, 1));

	return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_mul_pd(hi, factor)),
			       _mm256_cvtpd_ps(_mm256_mul_pd(lo, factor)));
}

static inline vf v_load(uint32_t dtype, const uint8_t *p)
{
	__m128i h;

	if (dtype == TALLY_DTYPE_F32)
		return _mm256_loadu_ps((const float *)p);
	h = _mm_loadu_si128((const __m128i *)p);
	if (dtype == TALLY_DTYPE_F16)
		return _mm256_cvtph_ps(h);
	return _mm256_castsi256_ps(
		_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

static inline void v_store(uint32_t dtype, uint8_t *p, vf x)
{
	__m128i h;
	vi u;

	if (dtype == TALLY_DTYPE_F32) {
		_mm256_storeu_ps((float *)p, x);
		return;
	}
	if (dtype == TALLY_DTYPE_F16) {
		h = _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
	} else {
		u = _mm256_castps_si256(x);
		u = v_addi(v_addi(u, v_seti(0x7fff)),
			   _mm256_and_si256(v_shri(u, 16), v_seti(1)));
		u = v_shri(u, 16);
		h = _mm_packus_epi32(_mm256_castsi256_si128(u),
				     _mm256_extracti128_si256(u, 1));
	}
	_mm_storeu_si128((__m128i *)p, h);
}

static inline vi v_load_lanes(uint32_t lane, const uint8_t *p)
{
	switch (lane) {
	case TALLY_LANE_I32:
		return _mm256_loadu_si256((const __m256i *)p);
	case TALLY_LANE_I16:
		return _mm256_cvtepu16_epi32(
			_mm_loadu_si128((const __m128i *)p));
	default:
		return _mm256_cvtepu8_epi32(
			_mm_loadl_epi64((const __m128i *)p));
	}
}

static inline void v_store_lanes(uint32_t lane, uint8_t *p, vi u)
{
	__m128i h;

	if (lane == TALLY_LANE_I32) {
		_mm256_storeu_si256((__m256i *)p, u);
		return;
	}
	h = _mm_packus_epi32(_mm256_castsi256_si128(u),
			     _mm256_extracti128_si256(u, 1));
	if (lane == TALLY_LANE_I16)
		_mm_storeu_si128((__m128i *)p, h);
	else
		_mm_storel_epi64((__m128i *)p, _mm_packus_epi16(h, h));
}

#include "codec_body.h"

const struct codec_ops codec_avx2 = {
	.name	= "avx2",
	.peak	= peak,
	.encode	= encode,
	.decode	= decode,
};

#else

const struct codec_ops codec_avx2;

#endif
