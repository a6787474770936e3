/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * The kernels' loops, in terms of vectors of VN values.  A file that includes
 * this has defined the set's name, VN, the types vf (floats), vi (32-bit
 * integers) and the functions v_*() on them.
 *
 * DTYPE, LANE and MODE are constants wherever the loops are used: each
 * combination compiles to a loop of its own.
 */

/* What becomes of rounding errors. */
enum {
	MODE_DROP,
	MODE_KEEP,	/* into the residual */
	MODE_CARRY,	/* likewise, and a carry comes in */
	MODES,
};

#define always_inline inline __attribute__((always_inline))

static always_inline size_t peak_loop(const uint32_t dtype, const int carried,
				      const uint8_t *in, size_t count,
				      float scale, const float *carry,
				      uint32_t *peak)
{
	const vf vscale = v_set(scale);
	vi top = v_seti(0);
	size_t i;

	for (i = 0; i + VN <= count; i += VN) {
		vf y = v_mul(v_load(dtype, in + i * codec_dtype_bytes(dtype)),
			     vscale);

		if (carried)
			y = v_add(y, v_loadf(carry + i));
		top = v_maxi(top, v_magnitude(y));
	}
	if (v_topi(top) > *peak)
		*peak = v_topi(top);
	return i;
}

static size_t peak(uint32_t dtype, const void *in, size_t count, float scale,
		   const float *carry, uint32_t *top)
{
	switch (dtype * 2 + !!carry) {
	case TALLY_DTYPE_F32 * 2:
		return peak_loop(TALLY_DTYPE_F32, 0, in, count, scale, NULL,
				 top);
	case TALLY_DTYPE_F32 * 2 + 1:
		return peak_loop(TALLY_DTYPE_F32, 1, in, count, scale, carry,
				 top);
	case TALLY_DTYPE_F16 * 2:
		return peak_loop(TALLY_DTYPE_F16, 0, in, count, scale, NULL,
				 top);
	case TALLY_DTYPE_F16 * 2 + 1:
		return peak_loop(TALLY_DTYPE_F16, 1, in, count, scale, carry,
				 top);
	case TALLY_DTYPE_BF16 * 2:
		return peak_loop(TALLY_DTYPE_BF16, 0, in, count, scale, NULL,
				 top);
	default:
		return peak_loop(TALLY_DTYPE_BF16, 1, in, count, scale, carry,
				 top);
	}
}

/*
 * Counter-based: every value's random bits follow from the block's key and the
 * value's place.  Two multiply-xorshift rounds mix them.
 */
static always_inline vf uniform(vi index, vi key)
{
	vi h = v_xori(v_muli(index, v_seti(0x9e3779b9u)), key);

	h = v_muli(v_xori(h, v_shri(h, 16)), v_seti(0x7feb352du));
	h = v_muli(v_xori(h, v_shri(h, 15)), v_seti(0x846ca68bu));
	h = v_shri(v_xori(h, v_shri(h, 16)), 8);
	return v_mul(v_float(h), v_set(0x1p-24f));
}

static always_inline size_t encode_loop(const uint32_t lane,
					const uint32_t dtype, const int mode,
					const struct codec_args *a,
					const uint8_t *in, size_t count,
					uint8_t *lanes)
{
	const vf scale = v_set(a->scale), inv = v_set(a->inv);
	const vf step = v_set(a->step);
	const vf hi = v_set(a->limit), lo = v_set(-a->limit);
	const vi bias = v_seti(a->bias), mask = v_seti(a->err_mask);
	const vi key = v_seti(a->key);
	const int stochastic = a->stochastic;
	/* Copies: stores through @lanes could alias *a for all GCC knows. */
	const float *carry = a->carry;
	float *residual = a->residual;
	vi index = v_iota(a->at);
	vf err = v_set(0);
	size_t i;

	for (i = 0; i + VN <= count; i += VN) {
		vf y = v_mul(v_load(dtype, in + i * codec_dtype_bytes(dtype)),
			     scale);
		vf t, q;
		vi u;

		if (mode == MODE_CARRY) {
			vf c = v_loadf(carry + i);
			vf s = v_add(y, c), b = v_sub(s, y);

			/* What the addition rounded off, exactly (Knuth). */
			err = v_and(v_add(v_sub(y, v_sub(s, b)),
					  v_sub(c, b)), mask);
			y = s;
		}
		t = v_max(v_min(v_mul(y, inv), hi), lo);
		if (stochastic) {
			q = v_floor(t);
			q = v_add(q, v_and(v_set(1),
					   v_above(v_sub(t, q),
						   uniform(index, key))));
			index = v_addi(index, v_seti(VN));
			u = v_int(q);
		} else {
			/* By way of the integer, which has no -0. */
			u = v_round(t);
			q = v_float(u);
		}
		if (mode != MODE_DROP) {
			vf r = v_sub(y, v_mul(q, step));

			if (mode == MODE_CARRY)
				r = v_add(r, err);
			v_storef(residual + i, r);
		}
		v_store_lanes(lane, lanes + i * codec_lane_bytes(lane),
			      v_addi(u, bias));
	}
	return i;
}

#define ENCODE_CASE(lane, dtype, mode)					\
	case ((lane) * 4 + (dtype)) * MODES + (mode):			\
		return encode_loop(lane, dtype, mode, a, in, count, lanes)
#define ENCODE_MODES(lane, dtype)					\
	ENCODE_CASE(lane, dtype, MODE_DROP);				\
	ENCODE_CASE(lane, dtype, MODE_KEEP);				\
	ENCODE_CASE(lane, dtype, MODE_CARRY)
#define ENCODE_DTYPES(lane)						\
	ENCODE_MODES(lane, TALLY_DTYPE_F32);				\
	ENCODE_MODES(lane, TALLY_DTYPE_F16);				\
	ENCODE_MODES(lane, TALLY_DTYPE_BF16)

static size_t encode(uint32_t lane, uint32_t dtype, const struct codec_args *a,
		     const void *in, size_t count, void *lanes)
{
	int mode = a->carry ? MODE_CARRY : a->residual ? MODE_KEEP : MODE_DROP;

	switch ((lane * 4 + dtype) * MODES + mode) {
	ENCODE_DTYPES(TALLY_LANE_I32);
	ENCODE_DTYPES(TALLY_LANE_I16);
	ENCODE_DTYPES(TALLY_LANE_I8);
	}
	return 0;
}

static always_inline size_t decode_loop(const uint32_t lane,
					const uint32_t dtype,
					const uint8_t *lanes, size_t count,
					uint32_t bias, double factor,
					uint8_t *out, uint32_t *peak)
{
	const vi vbias = v_seti(bias);
	const vd vfactor = v_setd(factor);
	vi top = v_seti(0);
	size_t i;

	for (i = 0; i + VN <= count; i += VN) {
		vi d = v_subi(v_load_lanes(lane,
					   lanes + i * codec_lane_bytes(lane)),
			      vbias);

		top = v_maxu(top, v_absi(d));
		v_store(dtype, out + i * codec_dtype_bytes(dtype),
			v_times(d, vfactor));
	}
	if (v_topi(top) > *peak)
		*peak = v_topi(top);
	return i;
}

#define DECODE_CASE(lane, dtype)					\
	case (lane) * 4 + (dtype):					\
		return decode_loop(lane, dtype, lanes, count, bias,	\
				   factor, out, top)
#define DECODE_DTYPES(lane)						\
	DECODE_CASE(lane, TALLY_DTYPE_F32);				\
	DECODE_CASE(lane, TALLY_DTYPE_F16);				\
	DECODE_CASE(lane, TALLY_DTYPE_BF16)

static size_t decode(uint32_t lane, uint32_t dtype, const void *lanes,
		     size_t count, uint32_t bias, double factor, void *out,
		     uint32_t *top)
{
	switch (lane * 4 + dtype) {
	DECODE_DTYPES(TALLY_LANE_I32);
	DECODE_DTYPES(TALLY_LANE_I16);
	DECODE_DTYPES(TALLY_LANE_I8);
	}
	return 0;
}
