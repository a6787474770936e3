// SPDX-License-Identifier: GPL-2.0-only
/*
 * What was put in is in results or in carry: values and weights, whatever the
 * masks were.
 */
#include <math.h>
#include <stdlib.h>

#include "world.h"

#define N	5
#define COUNT	2048
#define STEPS	60

static float in[N][N * COUNT], out[N][N * COUNT];

/* all_reduce, by value: put in, come out, and what is missing of it. */
static double in_at[COUNT], out_at[COUNT], gap[COUNT];

/**
 * struct totals - of all steps
 * @in: sum of weight * value
 * @out: sum of results
 * @l1: of what was put in
 * @weight: put in
 * @aligned: steps that had alignments
 * @loss: what alignment and rounding to f32 took: sum of sizes
 */
struct totals {
	double		in;
	double		out;
	double		l1;
	double		weight;
	unsigned int	aligned;
	double		loss;
};

struct run {
	struct world		w;
	struct tally_call	*call[N];
	struct tally_carry	*carry[N];
	uint8_t			op;
	struct tally_call_opts	opts;
	uint64_t		rng;
	bool			exact;	/* values that every sum can hold */
	struct totals		t;
};

static uint64_t mask_random(struct fake_group *g, uint32_t seq, uint32_t at,
			    uint64_t participants)
{
	uint64_t rng = *(uint64_t *)g->arg ^ (uint64_t)seq << 32 ^ at;
	uint64_t r = next_random(&rng);

	/* Mostly all, sometimes some, now and then none. */
	if (r % 8 < 4)
		return participants;
	return r % 8 == 7 ? 0 : r >> 8;
}

/* Now and then somebody has rejoined only just. */
static uint64_t zeroed_random(struct fake_group *g, uint32_t seq)
{
	uint64_t rng = seq, r = next_random(&rng);

	return r % 4 ? 0 : 1ull << (r >> 8) % N;
}

static void run_open(struct run *r)
{
	uint32_t i;

	world_open(&r->w, N, 4, 16, 3);
	r->w.g->mask = mask_random;
	r->w.g->zeroed = zeroed_random;
	r->w.g->arg = &r->rng;
	for (i = 0; i < N; i++) {
		tally_call_create(r->w.m[i], &r->call[i]);
		tally_carry_create(N * COUNT, &r->carry[i]);
	}
	memset(&r->t, 0, sizeof(r->t));
	memset(in_at, 0, sizeof(in_at));
	memset(out_at, 0, sizeof(out_at));
	memset(gap, 0, sizeof(gap));
}

static void run_close(struct run *r)
{
	uint32_t i;

	world_close(&r->w);
	for (i = 0; i < N; i++)
		tally_carry_destroy(r->carry[i]);
}

static void fill_step(struct run *r, size_t count)
{
	float scale = ldexpf(1, (int)(next_random(&r->rng) % 4));
	size_t i, k;

	for (i = 0; i < N; i++)
		for (k = 0; k < count; k++)
			in[i][k] = r->exact ?
				(float)(next_random(&r->rng) % 4096) - 2048 :
				gradient(&r->rng, scale);
}

static int init_call(struct run *r, uint32_t i, const struct tally_call_opts *o)
{
	if (r->op == TALLY_OP_REDUCE_SCATTER)
		return tally_reduce_scatter_init(r->call[i], in[i], out[i],
						 COUNT, o);
	return tally_all_reduce_init(r->call[i], in[i], out[i], COUNT, o);
}

/* @poison: somebody has a NaN, and the step is skipped. */
static void step(struct run *r, bool poison)
{
	bool rs = r->op == TALLY_OP_REDUCE_SCATTER;
	size_t count = rs ? N * COUNT : COUNT, k;
	double weight_before = r->w.g->weight;
	uint64_t aligned_before = r->w.g->aligned;
	struct tally_call_opts o = r->opts;
	bool nonfinite = false;
	uint32_t i, rounds, left = N;

	fill_step(r, count);
	if (poison)
		in[2][next_random(&r->rng) % count] = NAN;
	for (i = 0; i < N; i++) {
		o.carry = r->carry[i];
		o.weight = 1 + (uint32_t)(next_random(&r->rng) % 3);
		o.scale = (float)o.weight;
		assert_int_equal(init_call(r, i, &o), 0);
		assert_int_equal(tally_post(r->call[i]), 0);
		if (poison)
			continue;
		r->t.weight += (double)o.weight * count;
		for (k = 0; k < count; k++) {
			r->t.in += (double)(in[i][k] * o.scale);
			r->t.l1 += fabs((double)(in[i][k] * o.scale));
			if (!rs)
				in_at[k] += (double)(in[i][k] * o.scale);
		}
	}
	for (rounds = 0; left && rounds < 1000; rounds++)
		for (left = 0, i = 0; i < N; i++)
			left += tally_test(r->call[i]) == -EAGAIN;
	for (i = 0; i < N; i++) {
		struct tally_report rep = { .size = sizeof(rep) };

		assert_int_equal(tally_get_report(r->call[i], &rep), 0);
		assert_int_equal(rep.status, 0);
		nonfinite |= rep.nonfinite;
	}
	assert_true(poison || !nonfinite);
	if (poison) {
		for (i = 0; i < N; i++)
			assert_int_equal(tally_carry_rollback(r->carry[i]), 0);
		r->w.g->weight = weight_before;
		r->w.g->aligned = aligned_before;
		return;
	}
	for (i = 0; i < N; i++)
		assert_int_equal(tally_carry_commit(r->carry[i]), 0);
	r->t.aligned += r->w.g->aligned != aligned_before;
	for (i = 0; i < (rs ? N : 1); i++)
		for (k = 0; k < COUNT; k++)
			r->t.out += out[i][k];
	for (k = 0; k < COUNT; k++)
		out_at[k] += out[0][k];
}

/* What this step took from the values, all losses counted: sum of sizes. */
static double step_loss(const struct run *r)
{
	static float carry[COUNT];
	static double now[COUNT];
	double loss = 0;
	uint32_t i;
	size_t k;

	for (k = 0; k < COUNT; k++)
		now[k] = in_at[k] - out_at[k];
	for (i = 0; i < N; i++) {
		tally_carry_read(r->carry[i], 0, COUNT, carry);
		for (k = 0; k < COUNT; k++)
			now[k] -= carry[k];
	}
	for (k = 0; k < COUNT; k++) {
		loss += fabs(now[k] - gap[k]);
		gap[k] = now[k];
	}
	return loss;
}

static void check(struct run *r)
{
	struct tally_carry_stats s = { .size = sizeof(s) };
	double values = 0, weight = 0, bound = 0, missing;
	uint32_t i;

	for (i = 0; i < N; i++) {
		assert_int_equal(tally_carry_get_stats(r->carry[i], &s), 0);
		values += s.values;
		weight += s.weight;
		bound += s.align_bound;
	}
	assert_true(weight + r->w.g->weight == r->t.weight);
	missing = fabs(r->t.in - r->t.out - values);
	if (r->exact)
		assert_true(missing == 0);
	else	/* f32 outputs and carries: half a last place each */
		assert_true(missing <= bound + r->t.l1 * 0x1p-23);
	/* The bound is none where nothing was aligned. */
	assert_true(r->t.aligned || bound == 0);
	if (r->op == TALLY_OP_ALL_REDUCE) {
		r->t.loss += step_loss(r);
		assert_true(r->t.loss <= bound + r->t.l1 * 0x1p-22);
	}
}

/* A step in which rank 0 has nothing but NaN is applied all the same. */
static void keeps_carry(struct run *r)
{
	struct tally_carry_stats before = { .size = sizeof(before) };
	struct tally_carry_stats after = { .size = sizeof(after) };
	uint32_t i, rounds, left = N;
	size_t k;

	tally_carry_get_stats(r->carry[0], &before);
	for (k = 0; k < N * COUNT; k++)
		in[0][k] = NAN;
	for (i = 0; i < N; i++) {
		struct tally_call_opts o = r->opts;

		o.carry = r->carry[i];
		assert_int_equal(init_call(r, i, &o), 0);
		assert_int_equal(tally_post(r->call[i]), 0);
	}
	for (rounds = 0; left && rounds < 1000; rounds++)
		for (left = 0, i = 0; i < N; i++)
			left += tally_test(r->call[i]) == -EAGAIN;
	assert_int_equal(tally_carry_commit(r->carry[0]), 0);
	tally_carry_get_stats(r->carry[0], &after);
	assert_true(after.values == before.values);
	assert_true(after.weight == before.weight);
}

static void run_all(struct run *r)
{
	struct tally_carry_stats s = { .size = sizeof(s) };
	uint64_t seed;
	int i;

	for (seed = 1; seed <= 3; seed++) {
		r->rng = seed;
		run_open(r);
		for (i = 0; i < STEPS; i++) {
			step(r, i % 7 == 3);
			check(r);
		}
		tally_carry_get_stats(r->carry[1], &s);
		assert_true(s.missed > 0);
		/* When nobody misses any more, all weight is delivered. */
		r->w.g->mask = NULL;
		r->w.g->zeroed = NULL;
		step(r, false);
		check(r);
		tally_carry_get_stats(r->carry[1], &s);
		assert_true(s.weight == 0 && s.weight_max == 0);
		/* Who has no number drops it, and keeps what was carried. */
		r->w.g->mask = mask_random;
		r->w.g->zeroed = zeroed_random;
		step(r, false);
		check(r);
		keeps_carry(r);
		run_close(r);
	}
}

static void conservation__exact(void **state)
{
	struct run r = { .op = TALLY_OP_ALL_REDUCE, .exact = true,
			 .opts = TALLY_OPTS(tally_call_opts,
					    .lane = TALLY_LANE_I32,
					    .reduce = TALLY_SUM) };

	(void)state;
	run_all(&r);
}

static void conservation__narrow_lanes(void **state)
{
	struct run r = { .op = TALLY_OP_ALL_REDUCE,
			 .opts = TALLY_OPTS(tally_call_opts,
					    .reduce = TALLY_SUM) };

	(void)state;
	for (r.opts.lane = TALLY_LANE_I32; r.opts.lane <= TALLY_LANE_I8;
	     r.opts.lane++)
		run_all(&r);
	r.opts.flags = TALLY_CALL_STOCHASTIC;
	r.opts.lane = TALLY_LANE_I8;
	run_all(&r);
}

static void conservation__reduce_scatter(void **state)
{
	struct run r = { .op = TALLY_OP_REDUCE_SCATTER, .exact = true,
			 .opts = TALLY_OPTS(tally_call_opts,
					    .lane = TALLY_LANE_I32,
					    .reduce = TALLY_SUM) };

	(void)state;
	run_all(&r);
	r.exact = false;
	r.opts.lane = TALLY_LANE_I8;
	run_all(&r);
}

/* Largest error of the mean over many steps with the same gradients. */
static double mean_error(bool carried)
{
	struct run r = { .rng = 9, .op = TALLY_OP_ALL_REDUCE,
			 .opts = TALLY_OPTS(tally_call_opts,
					    .lane = TALLY_LANE_I8) };
	uint32_t i, rounds, left, steps;
	static double sum[COUNT];
	double worst = 0, want;
	size_t k;

	run_open(&r);
	r.w.g->mask = NULL;
	r.w.g->zeroed = NULL;
	fill_step(&r, COUNT);
	memset(sum, 0, sizeof(sum));
	for (steps = 0; steps < 200; steps++) {
		for (i = 0; i < N; i++) {
			r.opts.carry = carried ? r.carry[i] : NULL;
			assert_int_equal(init_call(&r, i, &r.opts), 0);
			assert_int_equal(tally_post(r.call[i]), 0);
		}
		for (rounds = 0, left = N; left && rounds < 1000; rounds++)
			for (left = 0, i = 0; i < N; i++)
				left += tally_test(r.call[i]) == -EAGAIN;
		for (i = 0; i < N; i++)
			tally_carry_commit(r.carry[i]);
		for (k = 0; k < COUNT; k++)
			sum[k] += out[0][k];
	}
	for (k = 0; k < COUNT; k++) {
		want = 0;
		for (i = 0; i < N; i++)
			want += in[i][k] / (double)N;
		worst = fmax(worst, fabs(sum[k] / steps - want));
	}
	run_close(&r);
	return worst;
}

/* With five bits a value, what rounding loses today comes tomorrow. */
static void conservation__mean_converges(void **state)
{
	double with = mean_error(true), without = mean_error(false);

	(void)state;
	assert_true(with < without / 20);
}

int main(void)
{
	const struct CMUnitTest conservation[] = {
		cmocka_unit_test(conservation__exact),
		cmocka_unit_test(conservation__narrow_lanes),
		cmocka_unit_test(conservation__reduce_scatter),
		cmocka_unit_test(conservation__mean_converges),
	};

	return RUN_TESTS(conservation);
}
