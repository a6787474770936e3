// SPDX-License-Identifier: GPL-2.0-only
/* Collectives between members of a group in memory. */
#include <math.h>
#include <stdlib.h>

#include "world.h"

#define N	4
#define COUNT	3001	/* several collectives, with a rest everywhere */

static float in[WORLD_MAX][WORLD_MAX * COUNT], out[WORLD_MAX][COUNT];

static void fill_gradients(uint64_t seed, float scale)
{
	size_t i, j;

	for (i = 0; i < WORLD_MAX; i++)
		for (j = 0; j < WORLD_MAX * COUNT; j++)
			in[i][j] = gradient(&seed, scale);
}

static void all_reduce__lanes_and_types(void **state)
{
	static const uint8_t lanes[] = { TALLY_LANE_I32, TALLY_LANE_I16,
					 TALLY_LANE_I8 };
	static uint16_t half[N][COUNT], hout[N][COUNT];
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts);
	struct calls calls;
	struct world w;
	uint32_t i, j, l, dtype;
	size_t k;

	(void)state;
	fill_gradients(1, 1);
	world_open(&w, N, 4, 16, 4);
	calls_create(&w, &calls);
	for (l = 0; l < 3; l++) {
		for (dtype = TALLY_DTYPE_F32; dtype <= TALLY_DTYPE_BF16;
		     dtype++) {
			bool f32 = dtype == TALLY_DTYPE_F32;

			o.lane = lanes[l];
			o.dtype = (uint8_t)dtype;
			for (i = 0; i < N; i++) {
				for (k = 0; k < COUNT; k++)
					half[i][k] = (uint16_t)
						(next_random(&(uint64_t){ i *
						 COUNT + k }) % 0x3000);
				assert_int_equal(tally_all_reduce_init(
					calls.c[i], f32 ? (void *)in[i] :
					half[i], f32 ? (void *)out[i] :
					hout[i], COUNT, &o), 0);
			}
			calls_post(&w, &calls);
			calls_finish(&w, &calls, 0);
			for (i = 1; i < N; i++) {
				assert_memory_equal(out[0], out[i],
						    sizeof(out[0]));
				assert_memory_equal(hout[0], hout[i],
						    sizeof(hout[0]));
			}
			if (!f32)
				continue;
			for (k = 0; k < COUNT; k++) {
				double mean = 0, unit;

				for (j = 0; j < N; j++)
					mean += in[j][k] / (double)N;
				/* |x| < 2, value bits: b - 2. */
				unit = ldexp(4, 2 - (int)
					     tally_lane_bits(lanes[l]));
				assert_true(fabs(out[0][k] - mean) <=
					    unit * 1.5 + 1e-6);
			}
		}
	}
	for (i = 0; i < N; i++) {
		struct tally_report r = report_of(calls.c[i]);

		assert_int_equal(r.status, 0);
		assert_int_equal(r.mask_all, 0xf);
		assert_int_equal(r.mask_any, 0xf);
		assert_int_equal(r.partial + r.voided + r.lost, 0);
		assert_int_equal(r.weight_min, N);
		assert_int_equal(r.parts, 2);
		assert_int_equal(r.bytes, (COUNT + 7) / 8 * 8);
	}
	world_close(&w);
}

static void all_reduce__in_place_weights_and_sum(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts);
	static float buf[N][COUNT];
	struct calls calls;
	struct world w;
	uint32_t i;
	size_t k;
	int sum;

	(void)state;
	fill_gradients(2, 1);
	world_open(&w, N, 4, 8, 3);
	calls_create(&w, &calls);
	for (sum = 0; sum < 2; sum++) {
		o.reduce = sum ? TALLY_SUM : TALLY_MEAN;
		for (i = 0; i < N; i++) {
			memcpy(buf[i], in[i], sizeof(buf[i]));
			o.weight = i + 1;
			assert_int_equal(tally_all_reduce_init(calls.c[i],
				buf[i], buf[i], COUNT, &o), 0);
		}
		calls_post(&w, &calls);
		calls_finish(&w, &calls, 0);
		for (k = 0; k < COUNT; k++) {
			double want = 0;

			for (i = 0; i < N; i++)
				want += (double)in[i][k] * (sum ? 1 : i + 1);
			want /= sum ? 1 : 10;
			assert_true(fabs(buf[0][k] - want) < 1e-6);
			for (i = 1; i < N; i++)
				assert_true(buf[i][k] == buf[0][k]);
		}
		assert_int_equal(report_of(calls.c[0]).weight_max, 10);
	}
	world_close(&w);
}

static void all_reduce__u64_wraps(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
		.dtype = TALLY_DTYPE_U64);
	static uint64_t x[N][500], y[N][500];
	struct calls calls;
	struct world w;
	uint32_t i;
	size_t k;

	(void)state;
	world_open(&w, N, 4, 8, 2);
	calls_create(&w, &calls);
	for (i = 0; i < N; i++) {
		for (k = 0; k < 500; k++)
			x[i][k] = k * 0x1234567890abcdefull + (i << 20);
		o.flags = i == 3 ? TALLY_CALL_ABSTAIN : 0;
		assert_int_equal(tally_all_reduce_init(calls.c[i], x[i], y[i],
						       500, &o), 0);
	}
	calls_post(&w, &calls);
	calls_finish(&w, &calls, 0);
	for (k = 0; k < 500; k++)
		for (i = 0; i < N; i++)
			assert_true(y[i][k] == x[0][k] + x[1][k] + x[2][k]);
	assert_int_equal(report_of(calls.c[0]).weight_max, 3);
	world_close(&w);
}

static void reduce_scatter__parts(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
		.participants = 0xd, .reduce = TALLY_SUM);
	static const uint32_t rank[] = { 0, 2, 3 };
	struct calls calls;
	struct world w;
	uint32_t i, j;
	size_t k;

	(void)state;
	fill_gradients(3, 1);
	world_open(&w, N, 4, 8, 3);
	calls_create(&w, &calls);
	/* Twice: the second begins at a seq that turns the owners round. */
	for (j = 0; j < 2; j++) {
		for (i = 0; i < N; i++)
			assert_int_equal(tally_reduce_scatter_init(calls.c[i],
				in[i], out[i], COUNT, &o), 0);
		calls_post(&w, &calls);
		calls_finish(&w, &calls, 0);
		for (i = 0; i < 3; i++) {
			for (k = 0; k < COUNT; k++) {
				size_t at = i * COUNT + k;
				double want = (double)in[0][at] + in[2][at] +
					      in[3][at];

				assert_true(fabs(out[rank[i]][k] - want) <
					    1e-6);
			}
			assert_int_equal(report_of(calls.c[rank[i]]).mask_all,
					 0xd);
		}
		/* The other one has used up the same numbers. */
		assert_int_equal(report_of(calls.c[1]).parts,
				 report_of(calls.c[0]).parts);
		assert_int_equal(report_of(calls.c[1]).mask_any, 0);
		assert_int_equal(w.g->member[1].next, w.g->member[0].next);
	}
	world_close(&w);
}

static void all_gather__and_broadcast(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts);
	static uint8_t part[N][999], all[N][N * 999], buf[N][5001];
	struct calls calls;
	struct world w;
	uint32_t i, j;
	size_t k;

	(void)state;
	world_open(&w, N, 4, 8, 2);
	calls_create(&w, &calls);
	for (i = 0; i < N; i++) {
		for (k = 0; k < sizeof(part[i]); k++)
			part[i][k] = (uint8_t)(k * 7 + i);
		/* Rank 2 has its part in its place already. */
		if (i == 2)
			memcpy(all[2] + 2 * 999, part[2], 999);
		assert_int_equal(tally_all_gather_init(calls.c[i], i == 2 ?
			all[2] + 2 * 999 : part[i], all[i], 999, &o), 0);
	}
	calls_post(&w, &calls);
	calls_finish(&w, &calls, 0);
	for (i = 0; i < N; i++)
		for (j = 0; j < N; j++)
			assert_memory_equal(all[i] + j * 999, part[j], 999);

	for (i = 0; i < N; i++) {
		memset(buf[i], (int)i, sizeof(buf[i]));
		o.participants = 0xb;
		assert_int_equal(tally_broadcast_init(calls.c[i], buf[i],
						      sizeof(buf[i]), 3, &o),
				 0);
	}
	calls_post(&w, &calls);
	calls_finish(&w, &calls, 0);
	for (k = 0; k < sizeof(buf[0]); k++)
		assert_true(buf[0][k] == 3 && buf[1][k] == 3 &&
			    buf[2][k] == 2 && buf[3][k] == 3);
	/* What is not sent counts as no bytes. */
	assert_int_equal(report_of(calls.c[0]).bytes, 0);
	assert_int_equal(report_of(calls.c[3]).bytes, (5001 + 7) / 8 * 8);
	world_close(&w);
}

static void barrier__waits_for_all(void **state)
{
	struct calls calls;
	struct world w;
	uint32_t i;

	(void)state;
	world_open(&w, N, 4, 8, 2);
	calls_create(&w, &calls);
	for (i = 0; i < N; i++)
		assert_int_equal(tally_barrier_init(calls.c[i], NULL), 0);
	for (i = 0; i < N - 1; i++)
		assert_int_equal(tally_post(calls.c[i]), 0);
	assert_int_equal(tally_test(calls.c[0]), -EAGAIN);
	assert_int_equal(tally_wait(calls.c[0], 1000), -ETIME);
	assert_int_equal(tally_post(calls.c[N - 1]), 0);
	calls_finish(&w, &calls, 0);
	world_close(&w);
}

static uint64_t mask_partial(struct fake_group *g, uint32_t seq, uint32_t at,
			     uint64_t participants)
{
	(void)g;
	(void)seq;
	/* Chunk 1 lacks rank 2, chunk 2 is void, chunk 3 is rank 0 alone. */
	return at == 1 ? participants & ~4ull : at == 2 ? 0 :
	       at == 3 ? 1 : participants;
}

static void report__partial_and_void(void **state)
{
	struct calls calls;
	struct tally_report r;
	struct world w;
	uint32_t i, k;

	(void)state;
	world_open(&w, N, 4, 8, 2);
	w.g->mask = mask_partial;
	calls_create(&w, &calls);
	/* 16 values a chunk: 5 chunks. */
	for (i = 0; i < N; i++) {
		for (k = 0; k < 80; k++)
			in[i][k] = (float)(i + 1);
		tally_all_reduce_init(calls.c[i], in[i], out[i], 80, NULL);
	}
	calls_post(&w, &calls);
	calls_finish(&w, &calls, 0);
	for (i = 0; i < N; i++) {
		assert_true(out[i][0] == 2.5f && out[i][79] == 2.5f);
		/* (1 + 2 + 4) / 3 */
		assert_true(fabs(out[i][16] - 7. / 3) < 1e-6);
		assert_true(out[i][32] == 0 && out[i][47] == 0);
		assert_true(out[i][48] == 1);
		r = report_of(calls.c[i]);
		assert_int_equal(r.chunks, 5);
		assert_int_equal(r.partial, 3);
		assert_int_equal(r.voided, 1);
		assert_int_equal(r.mask_all, 0);
		assert_int_equal(r.mask_any, 0xf);
		assert_int_equal(r.weight_min, 1);
		assert_int_equal(r.weight_max, 4);
		assert_int_equal(r.missed, i == 0 ? 16 : i == 2 ? 48 : 32);
	}
	world_close(&w);
}

static uint64_t mask_first(struct fake_group *g, uint32_t seq, uint32_t at,
			   uint64_t participants)
{
	(void)seq;
	return at == 0 ? *(uint64_t *)g->arg : participants;
}

/* The least weight is that of a chunk that has only who abstains. */
static void report__weight_of_abstention(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts);
	uint64_t first = 1;
	struct tally_report r;
	struct calls calls;
	struct world w;
	uint32_t i;

	(void)state;
	world_open(&w, N, 4, 8, 2);
	w.g->mask = mask_first;
	w.g->arg = &first;
	calls_create(&w, &calls);
	for (i = 0; i < N; i++) {
		o.weight = i ? 8 : 0;
		o.flags = i ? 0 : TALLY_CALL_ABSTAIN;
		tally_all_reduce_init(calls.c[i], in[i], out[i], 80, &o);
	}
	calls_post(&w, &calls);
	calls_finish(&w, &calls, 0);
	for (i = 0; i < N; i++) {
		r = report_of(calls.c[i]);
		assert_int_equal(r.weight_min, 0);
		assert_int_equal(r.weight_max, 24);
	}
	/* A chunk without a value has no weight, not a weight of 0. */
	first = 0;
	calls_post(&w, &calls);
	calls_finish(&w, &calls, 0);
	assert_int_equal(report_of(calls.c[1]).weight_min, 24);
	/* Nor has a call of such chunks alone. */
	for (i = 0; i < N; i++)
		tally_all_reduce_init(calls.c[i], in[i], out[i], 8, NULL);
	calls_post(&w, &calls);
	calls_finish(&w, &calls, 0);
	assert_int_equal(report_of(calls.c[1]).weight_min, 0);
	assert_int_equal(report_of(calls.c[1]).weight_max, 0);
	world_close(&w);
}

/* With one seed for all, the mean's error falls as if all had their own. */
static void all_reduce__rounds_apart(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
		.flags = TALLY_CALL_STOCHASTIC, .lane = TALLY_LANE_I8);
	double error[2] = { 0 };
	struct calls calls;
	struct world w;
	uint32_t i, k, step, own;

	(void)state;
	world_open(&w, N, 4, 8, 2);
	calls_create(&w, &calls);
	for (step = 0; step < 2000; step++) {
		own = step & 1;
		for (i = 0; i < N; i++) {
			for (k = 0; k < 64; k++)
				in[i][k] = k ? 0.33f / 16 : 1;
			o.seed = own ? i * 7777 + 1 : 1;
			tally_all_reduce_init(calls.c[i], in[i], out[i], 64,
					      &o);
		}
		calls_post(&w, &calls);
		calls_finish(&w, &calls, 0);
		for (k = 1; k < 64; k++)
			error[own] += pow(out[0][k] - in[0][k], 2);
	}
	/* If all rounded alike it would be four times as large. */
	assert_true(error[0] < 1.2 * error[1]);
	assert_true(error[0] > 0.8 * error[1]);
	world_close(&w);
}

static void all_reduce__nonfinite_chunk(void **state)
{
	struct calls calls;
	struct world w;
	uint32_t i, k;

	(void)state;
	world_open(&w, N, 4, 8, 2);
	calls_create(&w, &calls);
	for (i = 0; i < N; i++) {
		for (k = 0; k < 80; k++)
			in[i][k] = 1;
		if (i == 2)
			in[i][20] = INFINITY;
		tally_all_reduce_init(calls.c[i], in[i], out[i], 80, NULL);
	}
	calls_post(&w, &calls);
	calls_finish(&w, &calls, 0);
	for (i = 0; i < N; i++) {
		for (k = 0; k < 80; k++)
			assert_true(k / 16 == 1 ? isnan(out[i][k]) :
				    out[i][k] == 1);
		assert_int_equal(report_of(calls.c[i]).nonfinite, 1);
		assert_int_equal(report_of(calls.c[i]).flags &
				 TALLY_F_NONFINITE, TALLY_F_NONFINITE);
	}
	world_close(&w);
}

/* Members whose contribution sums several leaves have as much more range. */
static void all_reduce__edges(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
		.lane = TALLY_LANE_I16, .reduce = TALLY_SUM);
	struct calls calls;
	struct world w;
	uint32_t i, k;

	(void)state;
	fill_gradients(10, 1);
	world_open(&w, 3, 4, 8, 2);
	w.g->rule.capped = 1;
	w.g->rule.caps[1] = 3;
	for (i = 0; i < 3; i++) {
		tally_detach(w.m[i]);
		assert_int_equal(tally_attach(w.t, 7, i, &w.m[i]), 0);
	}
	calls_create(&w, &calls);
	for (k = 0; k < COUNT; k++)
		in[1][k] *= 8;
	for (i = 0; i < 3; i++)
		assert_int_equal(tally_all_reduce_init(calls.c[i], in[i],
						       out[i], COUNT, &o), 0);
	calls_post(&w, &calls);
	calls_finish(&w, &calls, 0);
	for (k = 0; k < COUNT; k++)
		assert_true(fabs(out[0][k] - ((double)in[0][k] + in[1][k] +
			    in[2][k])) <= 4 * 0x1p-11);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest collectives[] = {
		cmocka_unit_test(all_reduce__lanes_and_types),
		cmocka_unit_test(all_reduce__in_place_weights_and_sum),
		cmocka_unit_test(all_reduce__u64_wraps),
		cmocka_unit_test(reduce_scatter__parts),
		cmocka_unit_test(all_gather__and_broadcast),
		cmocka_unit_test(barrier__waits_for_all),
		cmocka_unit_test(report__partial_and_void),
		cmocka_unit_test(report__weight_of_abstention),
		cmocka_unit_test(all_reduce__rounds_apart),
		cmocka_unit_test(all_reduce__nonfinite_chunk),
		cmocka_unit_test(all_reduce__edges),
	};

	return RUN_TESTS(collectives);
}
