// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* The kernels for AVX-512 (F, BW, DQ, VL), sixteen values at a time. */
#include "codec.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && \
	defined(__AVX512DQ__) && defined(__AVX512VL__)
#include <immintrin.h>

#define VN 16

typedef __m512 vf;
typedef __m512d vd;
typedef __m512i vi;

static inline vf v_set(float x) { return _mm512_set1_ps(x); }
static inline vd v_setd(double x) { return _mm512_set1_pd(x); }
static inline vi v_seti(uint32_t x) { return _mm512_set1_epi32((int)x); }
static inline vf v_add(vf a, vf b) { return _mm512_add_ps(a, b); }
static inline vf v_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
static inline vf v_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
static inline vf v_min(vf a, vf b) { return _mm512_min_ps(a, b); }
static inline vf v_max(vf a, vf b) { return _mm512_max_ps(a, b); }
static inline vf v_float(vi a) { return _mm512_cvtepi32_ps(a); }
static inline vi v_round(vf a) { return _mm512_cvtps_epi32(a); }
static inline vi v_int(vf a) { return _mm512_cvttps_epi32(a); }
static inline vi v_addi(vi a, vi b) { return _mm512_add_epi32(a, b); }
static inline vi v_subi(vi a, vi b) { return _mm512_sub_epi32(a, b); }
static inline vi v_muli(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
static inline vi v_xori(vi a, vi b) { return _mm512_xor_si512(a, b); }
static inline vi v_maxi(vi a, vi b) { return _mm512_max_epi32(a, b); }
static inline vi v_maxu(vi a, vi b) { return _mm512_max_epu32(a, b); }
static inline vi v_absi(vi a) { return _mm512_abs_epi32(a); }
static inline uint32_t v_topi(vi a) { return _mm512_reduce_max_epu32(a); }
static inline vf v_loadf(const float *p) { return _mm512_loadu_ps(p); }
static inline void v_storef(float *p, vf x) { _mm512_storeu_ps(p, x); }

static inline vi v_shri(vi a, unsigned int n)
{
	return _mm512_srli_epi32(a, n);
}

static inline vi v_iota(uint32_t x)
{
	return v_addi(v_seti(x), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8,
						   9, 10, 11, 12, 13, 14, 15));
}

static inline vf v_floor(vf a)
{
	return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF |
				       _MM_FROUND_NO_EXC);
}

static inline vf v_and(vf a, vi b)
{
	return _mm512_and_ps(a, _mm512_castsi512_ps(b));
}

static inline vi v_above(vf a, vf b)
{
	return _mm512_movm_epi32(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ));
}

static inline vi v_magnitude(vf a)
{
	return _mm512_and_si512(_mm512_castps_si512(a), v_seti(0x7fffffff));
}

static inline vf v_times(vi d, vd factor)
{
	__m512d lo = _mm512_cvtepi32_pd(_mm512_castsi512_si256(d));
	__m512d hi = _mm512_cvtepi32_pd(_mm512_extracti32x8_epi32(d, 1));
	__m256 l = _mm512_cvtpd_ps(_mm512_mul_pd(lo, factor));
	__m256 h = _mm512_cvtpd_ps(_mm512_mul_pd(hi, factor));

	return _mm512_insertf32x8(_mm512_castps256_ps512(l), h, 1);
}

static inline vf v_load(uint32_t dtype, const uint8_t *p)
{
	__m256i h;

	if (dtype == TALLY_DTYPE_F32)
		return _mm512_loadu_ps(p);
	h = _mm256_loadu_si256((const __m256i *)p);
	if (dtype == TALLY_DTYPE_F16)
		return _mm512_cvtph_ps(h);
	return _mm512_castsi512_ps(
		_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}

static inline void v_store(uint32_t dtype, uint8_t *p, vf x)
{
	__m256i h;
	vi u;

	if (dtype == TALLY_DTYPE_F32) {
		_mm512_storeu_ps(p, x);
		return;
	}
	if (dtype == TALLY_DTYPE_F16) {
		h = _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
	} else {
		u = _mm512_castps_si512(x);
		u = v_addi(v_addi(u, v_seti(0x7fff)),
			   _mm512_and_si512(v_shri(u, 16), v_seti(1)));
		h = _mm512_cvtepi32_epi16(v_shri(u, 16));
	}
	_mm256_storeu_si256((__m256i *)p, h);
}

static inline vi v_load_lanes(uint32_t lane, const uint8_t *p)
{
	switch (lane) {
	case TALLY_LANE_I32:
		return _mm512_loadu_si512(p);
	case TALLY_LANE_I16:
		return _mm512_cvtepu16_epi32(
			_mm256_loadu_si256((const __m256i *)p));
	default:
		return _mm512_cvtepu8_epi32(
			_mm_loadu_si128((const __m128i *)p));
	}
}

static inline void v_store_lanes(uint32_t lane, uint8_t *p, vi u)
{
	switch (lane) {
	case TALLY_LANE_I32:
		_mm512_storeu_si512(p, u);
		break;
	case TALLY_LANE_I16:
		_mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(u));
		break;
	default:
		_mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(u));
	}
}

#include "codec_body.h"

const struct codec_ops codec_avx512 = {
	.name	= "avx512",
	.peak	= peak,
	.encode	= encode,
	.decode	= decode,
};

#else

const struct codec_ops codec_avx512;

#endif
