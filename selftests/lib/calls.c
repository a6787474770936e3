// SPDX-License-Identifier: GPL-2.0-only
/* Calls: windows, errors, waiting, cancelling, bad arguments. */
#include <math.h>
#include <poll.h>
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

/* Several calls in flight; their parts go out in the order of posting. */
static void calls__order_and_window(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts);
	struct calls a, b, c;
	struct world w;
	struct pollfd p;
	uint32_t i;

	(void)state;
	fill_gradients(4, 1);
	world_open(&w, 2, 4, 8, 2);
	calls_create(&w, &a);
	calls_create(&w, &b);
	calls_create(&w, &c);
	for (i = 0; i < 2; i++) {
		o.user_data = 100 + i;
		tally_all_reduce_init(a.c[i], in[i], out[i], COUNT, &o);
		tally_all_reduce_init(b.c[i], in[i], out[i + 2], 10, &o);
		tally_barrier_init(c.c[i], NULL);
	}
	assert_int_equal(tally_events(w.m[0]), 0);
	assert_int_equal(tally_post(a.c[0]), 0);
	assert_int_equal(tally_post(b.c[0]), 0);
	assert_int_equal(tally_post(a.c[0]), -EBUSY);
	assert_int_equal(tally_all_reduce_init(a.c[0], in[0], out[0], 1, NULL),
			 -EBUSY);
	assert_int_equal(tally_call_destroy(a.c[0]), -EBUSY);
	/* The window is full; the second call waits for the first. */
	assert_int_equal(w.g->member[0].submits, 4);
	assert_int_equal(tally_events(w.m[0]), POLLIN);
	p.fd = tally_fd(w.m[0]);
	p.events = POLLIN;
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(tally_post(a.c[1]), 0);
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_int_equal(tally_post(b.c[1]), 0);
	assert_int_equal(tally_post(c.c[0]), 0);
	assert_int_equal(tally_post(c.c[1]), 0);
	w.n = 2;
	calls_finish(&w, &a, 0);
	calls_finish(&w, &b, 0);
	calls_finish(&w, &c, 0);
	assert_true(report_of(a.c[0]).parts > 8);
	assert_int_equal(report_of(b.c[0]).seq, report_of(a.c[0]).parts);
	assert_int_equal(report_of(a.c[1]).user_data, 101);
	assert_int_equal(tally_call_destroy(c.c[0]), 0);
	world_close(&w);
}

static bool lost_one(struct fake_group *g, uint32_t rank, uint32_t seq,
		     uint32_t at)
{
	(void)g;
	return rank == 1 && seq == 0 && at == 1;
}

static void call__stale_member(void **state)
{
	struct calls calls;
	struct tally_geometry geo = { .size = sizeof(geo) };
	struct tally_report r;
	struct world w;
	uint32_t i;

	(void)state;
	fill_gradients(5, 1);
	world_open(&w, 2, 4, 8, 2);
	w.g->lost = lost_one;
	calls_create(&w, &calls);
	for (i = 0; i < 2; i++)
		tally_all_reduce_init(calls.c[i], in[i], out[i], 80, NULL);
	memset(out[1], 0x55, sizeof(out[1]));
	calls_post(&w, &calls);
	assert_int_equal(tally_wait(calls.c[1], TALLY_WAIT_END), -ESTALE);
	r = report_of(calls.c[1]);
	assert_int_equal(r.status, -ESTALE);
	assert_int_equal(r.lost, 1);
	assert_int_equal(r.lost_values, 16);
	/* Not local data, not what was there: zeros. */
	for (i = 16; i < 32; i++)
		assert_true(out[1][i] == 0);
	assert_true(out[1][0] != 0);
	tally_get_geometry(w.m[1], &geo);
	assert_int_equal(geo.stale, 1);
	assert_int_equal(tally_post(calls.c[1]), -ESTALE);
	world_close(&w);
}

static int again_count;

static int submit_again(struct fake_group *g, uint32_t rank,
			struct tally_submit *s)
{
	(void)g;
	if (rank != 0 || !again_count)
		return 0;
	again_count--;
	s->out_missing = 2;
	return -EAGAIN;
}

static void call__slow_peer(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
		.flags = TALLY_CALL_RELIABLE, .timeout_us = 20000);
	struct calls calls;
	struct world w;
	uint32_t i;

	(void)state;
	fill_gradients(6, 1);
	world_open(&w, 2, 4, 8, 2);
	w.g->submit = submit_again;
	calls_create(&w, &calls);
	for (i = 0; i < 2; i++)
		tally_all_reduce_init(calls.c[i], in[i], out[i], COUNT, &o);
	again_count = 5;
	calls_post(&w, &calls);
	assert_int_equal(tally_events(w.m[0]), POLLOUT);
	calls_finish(&w, &calls, 0);
	assert_memory_equal(out[0], out[1], sizeof(out[0]));
	/* Encoded once, however often it was tried. */
	assert_int_equal(report_of(calls.c[0]).bytes, (COUNT + 1) / 2 * 8);

	/* It never comes: the wait is bounded and names it. */
	again_count = INT32_MAX;
	for (i = 0; i < 2; i++)
		tally_all_reduce_init(calls.c[i], in[i], out[i], 8, &o);
	assert_int_equal(tally_post(calls.c[0]), 0);
	assert_int_equal(tally_wait(calls.c[0], 1000), -ETIME);
	assert_int_equal(tally_wait(calls.c[0], TALLY_WAIT_END), -ETIMEDOUT);
	assert_int_equal(report_of(calls.c[0]).missing, 2);
	world_close(&w);
}

static int status_down(struct fake_group *g, uint32_t rank, uint32_t seq)
{
	(void)g;
	return seq == 1 && rank == 0 ? -EHOSTDOWN : 0;
}

/* One collective fails: the others of the call run all the same. */
static void call__error_keeps_step(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
		.flags = TALLY_CALL_RELIABLE);
	struct calls calls;
	struct world w;
	uint32_t i;

	(void)state;
	fill_gradients(7, 1);
	world_open(&w, 2, 4, 8, 2);
	w.g->status = status_down;
	calls_create(&w, &calls);
	for (i = 0; i < 2; i++)
		tally_all_reduce_init(calls.c[i], in[i], out[i], COUNT, &o);
	calls_post(&w, &calls);
	while (tally_test(calls.c[0]) == -EAGAIN)
		tally_test(calls.c[1]);
	assert_int_equal(tally_test(calls.c[0]), -EHOSTDOWN);
	assert_int_equal(tally_wait(calls.c[1], TALLY_WAIT_END), 0);
	assert_int_equal(w.g->member[0].next, w.g->member[1].next);
	world_close(&w);
}

static int status_arg(struct fake_group *g, uint32_t rank, uint32_t seq)
{
	(void)seq;
	return rank == 0 ? *(int *)g->arg : 0;
}

/* What ends a bounded collective so ends a reliable one without harm. */
static void call__left_behind(void **state)
{
	static const int errors[] = { -EHOSTDOWN, -ERANGE, -ECANCELED };
	struct tally_state_opts so = TALLY_OPTS(tally_state_opts,
						.timeout_us = 1000);
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts);
	struct tally_geometry geo = { .size = sizeof(geo) };
	struct calls calls;
	struct world w;
	uint32_t i, k;
	char byte = 0;

	(void)state;
	for (k = 0; k < 6; k++) {
		int err = errors[k % 3];

		o.flags = k < 3 ? 0 : TALLY_CALL_RELIABLE;
		world_open(&w, 2, 4, 8, 2);
		w.g->status = status_arg;
		w.g->arg = &err;
		calls_create(&w, &calls);
		for (i = 0; i < 2; i++)
			tally_all_reduce_init(calls.c[i], in[i], out[i], 8, &o);
		calls_post(&w, &calls);
		assert_int_equal(tally_wait(calls.c[0], TALLY_WAIT_END), err);
		assert_int_equal(tally_wait(calls.c[1], TALLY_WAIT_END), 0);
		tally_get_geometry(w.m[0], &geo);
		assert_int_equal(geo.stale, k < 3);
		assert_int_equal(w.g->member[0].stale, k < 3);
		/* It may ask for state, but nobody sends any here. */
		assert_int_equal(tally_rejoin(w.m[0], &byte, 1, &so, NULL),
				 k < 3 ? -ETIMEDOUT : -EALREADY);
		world_close(&w);
	}
}

/* Parts that were never submitted are in the report: as in the carry. */
static void call__unsent_parts(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts);
	struct tally_carry_stats s = { .size = sizeof(s) };
	struct tally_carry *carry;
	struct tally_call *call;
	struct tally_report r;
	struct world w;

	(void)state;
	world_open(&w, 2, 4, 8, 2);
	tally_carry_create(COUNT, &carry);
	o.carry = carry;
	tally_call_create(w.m[0], &call);
	tally_all_reduce_init(call, in[0], out[0], COUNT, &o);
	fake_stale(w.g, 0);
	assert_int_equal(tally_post(call), 0);
	assert_int_equal(tally_test(call), -ESTALE);
	r = report_of(call);
	tally_carry_commit(carry);
	tally_carry_get_stats(carry, &s);
	assert_int_equal(s.missed, COUNT);
	assert_int_equal(r.missed, COUNT);
	assert_int_equal(r.mask_all, 0);
	assert_int_equal(r.mask_any, 0);
	world_close(&w);
	tally_carry_destroy(carry);
}

static void call__cancel(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
		.flags = TALLY_CALL_RELIABLE);
	struct calls calls;
	struct world w;

	(void)state;
	fill_gradients(8, 1);
	world_open(&w, 2, 4, 8, 2);
	calls_create(&w, &calls);
	tally_all_reduce_init(calls.c[0], in[0], out[0], COUNT, &o);
	assert_int_equal(tally_cancel(calls.c[0]), -EINVAL);
	assert_int_equal(tally_test(calls.c[0]), -EINVAL);
	tally_post(calls.c[0]);
	assert_int_equal(tally_cancel(calls.c[0]), 0);
	assert_int_equal(tally_wait(calls.c[0], TALLY_WAIT_END), -ECANCELED);
	assert_int_equal(tally_cancel(calls.c[0]), -EALREADY);
	/* All parts were submitted, if only to be cancelled. */
	assert_int_equal(w.g->member[0].next, report_of(calls.c[0]).parts);
	assert_false(w.m[0]->stale);
	/* Bounded: the member is left behind, the rest not submitted. */
	tally_all_reduce_init(calls.c[0], in[0], out[0], COUNT, NULL);
	tally_post(calls.c[0]);
	tally_cancel(calls.c[0]);
	assert_int_equal(tally_wait(calls.c[0], TALLY_WAIT_END), -ECANCELED);
	assert_int_equal(tally_post(calls.c[0]), -ESTALE);
	world_close(&w);
}

static void member__detach_under_way(void **state)
{
	struct tally_carry *carry;
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts);
	struct tally_carry_stats s = { .size = sizeof(s) };
	struct tally_call *call;
	struct world w;

	(void)state;
	fill_gradients(9, 1);
	world_open(&w, 2, 4, 8, 2);
	tally_carry_create(COUNT, &carry);
	o.carry = carry;
	tally_call_create(w.m[0], &call);
	tally_all_reduce_init(call, in[0], out[0], COUNT, &o);
	tally_post(call);
	assert_int_equal(tally_carry_commit(carry), -EBUSY);
	assert_int_equal(tally_close(w.t), -EBUSY);
	assert_int_equal(tally_detach(w.m[0]), 0);
	/* Four collectives may have been counted, the rest was not. */
	assert_int_equal(tally_carry_commit(carry), 0);
	tally_carry_get_stats(carry, &s);
	assert_int_equal(s.lost, 4 * 64);
	assert_int_equal(s.missed, COUNT - 4 * 64);
	assert_int_equal(tally_attach(w.t, 7, 0, &w.m[0]), 0);
	tally_carry_destroy(carry);
	world_close(&w);
}

static void init__bad_arguments(void **state)
{
	struct tally_call_opts good = TALLY_OPTS(tally_call_opts), o;
	struct tally_carry *carry;
	struct tally_member *m;
	struct tally_call *call;
	struct tally *t;
	struct world w;

	(void)state;
	tally_carry_create(10, &carry);
	world_open(&w, N, 4, 8, 2);
	tally_call_create(w.m[0], &call);
	assert_int_equal(tally_post(call), -EINVAL);
#define REFUSED(change, error) do {					\
	o = good;							\
	change;								\
	assert_int_equal(tally_all_reduce_init(call, in[0], out[0], 20,	\
					       &o), error);		\
} while (0)
	REFUSED(o.flags = 1 << 20, -EINVAL);
	REFUSED(o.dtype = TALLY_DTYPE_BYTES, -EINVAL);
	REFUSED(o.dtype = 99, -EINVAL);
	REFUSED(o.lane = TALLY_LANE_RAW, -EINVAL);
	REFUSED(o.lane = TALLY_LANE_W64, -EINVAL);
	REFUSED(o.reduce = 2, -EINVAL);
	REFUSED(o.weight = TALLY_WEIGHT_MAX + 1, -EINVAL);
	REFUSED(o.scale = INFINITY, -EINVAL);
	REFUSED(o.participants = 0x10, -EINVAL);
	REFUSED(o.bound_us = TALLY_TIME_MAX_US + 1, -EINVAL);
	REFUSED(o.timeout_us = TALLY_TIME_MAX_US + 1, -EINVAL);
	REFUSED(o.size = 2, -EINVAL);
	REFUSED(o.__reserved = 1, -EINVAL);
	REFUSED((o.dtype = TALLY_DTYPE_U64, o.carry = carry), -EINVAL);
	REFUSED((o.dtype = TALLY_DTYPE_U64, o.lane = TALLY_LANE_I32), -EINVAL);
#undef REFUSED
	assert_int_equal(tally_all_reduce_init(call, NULL, out[0], 1, NULL),
			 -EINVAL);
	assert_int_equal(tally_all_reduce_init(call, in[0], NULL, 1, NULL),
			 -EINVAL);
	assert_int_equal(tally_all_reduce_init(NULL, in[0], out[0], 1, NULL),
			 -EINVAL);
	assert_int_equal(tally_broadcast_init(call, out[0], 1, 4, NULL),
			 -EINVAL);
	o = good;
	o.participants = 3;
	assert_int_equal(tally_broadcast_init(call, out[0], 1, 2, &o),
			 -EINVAL);
	o.weight = 1;
	assert_int_equal(tally_barrier_init(call, &o), -EINVAL);
	/* The carry is too short: found when it is used. */
	o = good;
	o.carry = carry;
	assert_int_equal(tally_all_reduce_init(call, in[0], out[0], 11, &o),
			 0);
	assert_int_equal(tally_post(call), -EINVAL);
	assert_int_equal(tally_open("process", &t), -EOPNOTSUPP);
	assert_int_equal(tally_open("/dev/null", &t), -ENOTTY);
	assert_int_equal(tally_open("/nowhere/tally", &t), -ENOENT);
	assert_int_equal(tally_attach(w.t, 7, 0, &m), -EBUSY);
	assert_int_equal(tally_attach(w.t, 8, 0, &m), -ENOENT);
	assert_int_equal(tally_attach(w.t, 7, 64, &m), -EINVAL);
	world_close(&w);
	tally_carry_destroy(carry);

	/* 8 lanes of 8 bits for 32 leaves leave 3 bits. */
	world_open(&w, 2, 4, 8, 2);
	w.g->rule.capped = 1;
	w.g->rule.caps[0] = 4;
	w.g->rule.caps[1] = 4;
	tally_detach(w.m[0]);
	assert_int_equal(tally_attach(w.t, 7, 0, &w.m[0]), 0);
	tally_call_create(w.m[0], &call);
	o = good;
	o.lane = TALLY_LANE_I8;
	assert_int_equal(tally_all_reduce_init(call, in[0], out[0], 1, &o),
			 -ERANGE);
	world_close(&w);
}

/* Who takes no part borrows nothing from the carry, and gives nothing back. */
static void member__detach_outsider(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
					      .participants = 2);
	struct tally_call *call, *before;
	struct tally_carry *carry;
	struct world w;

	(void)state;
	world_open(&w, 2, 1, 8, 2);
	tally_carry_create(COUNT, &carry);
	o.carry = carry;
	/* The window is full: the call cannot be over at once. */
	tally_call_create(w.m[0], &before);
	tally_barrier_init(before, NULL);
	tally_post(before);
	tally_call_create(w.m[0], &call);
	tally_all_reduce_init(call, in[0], out[0], COUNT, &o);
	assert_int_equal(tally_post(call), 0);
	assert_int_equal(tally_test(call), -EAGAIN);
	assert_int_equal(tally_detach(w.m[0]), 0);
	assert_int_equal(tally_carry_commit(carry), 0);
	assert_int_equal(tally_carry_destroy(carry), 0);
	assert_int_equal(tally_attach(w.t, 7, 0, &w.m[0]), 0);
	world_close(&w);
}

/* A wait is bounded by what is under way, not by all that ever was. */
static void calls__overlap_for_ever(void **state)
{
	struct calls calls[2], *next;
	struct world w;
	uint32_t i, k;

	(void)state;
	world_open(&w, 2, 4, 8, 2);
	for (k = 0; k < 2; k++) {
		calls_create(&w, &calls[k]);
		for (i = 0; i < 2; i++)
			tally_all_reduce_init(calls[k].c[i], in[i], out[i], 8,
					      NULL);
	}
	calls_post(&w, &calls[0]);
	for (k = 1; k < 100; k++) {
		next = &calls[k & 1];
		/* At rank 0, something is under way at every moment. */
		assert_int_equal(tally_post(next->c[0]), 0);
		calls_finish(&w, &calls[!(k & 1)], 0);
		assert_int_equal(tally_post(next->c[1]), 0);
		/* A timeout is 2 s. */
		assert_true(next->c[0]->deadline_ns <
			    now_ns() + 2 * 2000000000ull + 2 * GRACE_NS);
	}
	/* What waits for its turn has time for those before it. */
	tally_barrier_init(calls[0].c[0], NULL);
	calls_finish(&w, &calls[1], 0);
	tally_all_reduce_init(calls[1].c[0], in[0], out[0], COUNT, NULL);
	assert_int_equal(tally_post(calls[1].c[0]), 0);
	assert_int_equal(tally_post(calls[0].c[0]), 0);
	assert_true(calls[1].c[0]->deadline_ns > now_ns() + (COUNT / 64 / 4) *
		    2000000000ull);
	assert_true(calls[0].c[0]->deadline_ns > calls[1].c[0]->deadline_ns);
	world_close(&w);
}

static void *come_and_go(void *arg)
{
	struct tally_member *m = arg;
	struct tally *t = m->t;
	uint32_t rank = m->link.geo.rank, i;

	for (i = 0; i < 20000; i++) {
		tally_detach(m);
		if (tally_attach(t, 7, rank, &m))
			abort();
	}
	return m;
}

/* Members of one handle may be attached by different threads. */
static void member__threads_count(void **state)
{
	pthread_t thread[N];
	struct world w;
	void *m;
	uint32_t i;

	(void)state;
	world_open(&w, N, 1, 1, 1);
	for (i = 0; i < N; i++)
		pthread_create(&thread[i], NULL, come_and_go, w.m[i]);
	for (i = 0; i < N; i++) {
		pthread_join(thread[i], &m);
		w.m[i] = m;
	}
	assert_int_equal(w.t->members, N);
	world_close(&w);
}

/* Nothing to do is done, and uses up no number. */
static void init__empty(void **state)
{
	struct tally_report r = { .size = sizeof(r) };
	struct world w;

	(void)state;
	world_open(&w, 2, 4, 8, 2);
	assert_int_equal(tally_all_reduce(w.m[0], NULL, NULL, 0, NULL, &r), 0);
	assert_int_equal(r.parts, 0);
	assert_int_equal(w.g->member[0].next, 0);
	world_close(&w);
}

/* Exponents of the last results are used again, and fall when values do. */
static void call__exponents_stick(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
		.lane = TALLY_LANE_I16);
	struct calls calls;
	struct world w;
	uint32_t i, k, step, aligned = 0;
	uint64_t rng = 11;
	float scale = 1, last = 0;

	(void)state;
	world_open(&w, N, 4, 16, 4);
	calls_create(&w, &calls);
	for (step = 0; step < 40; step++) {
		/* Once the values are 256 times as large. */
		scale = step == 10 ? 256 : 1;
		for (i = 0; i < N; i++) {
			for (k = 0; k < 1024; k++)
				in[i][k] = gradient(&rng, scale);
			assert_int_equal(tally_all_reduce_init(calls.c[i],
				in[i], out[i], 1024, &o), 0);
		}
		calls_post(&w, &calls);
		calls_finish(&w, &calls, 0);
		if (step > 0 && step < 10)
			aligned += report_of(calls.c[0]).aligned;
		last = 0;
		for (k = 0; k < 1024; k++)
			last = fmaxf(last, fabsf(out[0][k] - (in[0][k] +
				in[1][k] + in[2][k] + in[3][k]) / N));
		/* After the large ones a value's unit is 256 times as large. */
		if (step == 11)
			assert_true(last > 0x1p-8f / 4);
	}
	/* What was learnt with one lane does not coarsen another. */
	o.lane = TALLY_LANE_I32;
	for (i = 0; i < N; i++)
		tally_all_reduce_init(calls.c[i], in[i], out[i], 512, &o);
	calls_post(&w, &calls);
	calls_finish(&w, &calls, 0);
	for (k = 0; k < 512; k++)
		assert_true(fabsf(out[0][k] - (in[0][k] + in[1][k] + in[2][k] +
			    in[3][k]) / N) < 0x1p-20f);
	/* 16 chunks, 9 steps: without memory about every second is aligned. */
	assert_true(aligned < 16);
	assert_true(last < 0x1p-10f);
	world_close(&w);
}

/* Of the sanitizer's run-time library; compilers come without its header. */
int __sanitizer_install_malloc_and_free_hooks(
	void (*on_malloc)(const volatile void *p, size_t bytes),
	void (*on_free)(const volatile void *p));

static unsigned int allocations;
static void *volatile memory;

static void note_malloc(const volatile void *p, size_t bytes)
{
	(void)p;
	(void)bytes;
	allocations++;
}

static void note_free(const volatile void *p)
{
	(void)p;
}

/* Steps after the first one take no memory, the carry's part neither. */
static void call__posts_without_memory(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
					      .lane = TALLY_LANE_I8);
	struct tally_carry *carry[2];
	struct calls calls;
	struct world w;
	uint32_t i, step;

	(void)state;
	fill_gradients(12, 1);
	world_open(&w, 2, 4, 8, 2);
	calls_create(&w, &calls);
	for (i = 0; i < 2; i++) {
		tally_carry_create(COUNT, &carry[i]);
		o.carry = carry[i];
		tally_all_reduce_init(calls.c[i], in[i], out[i], COUNT, &o);
	}
	assert_true(__sanitizer_install_malloc_and_free_hooks(note_malloc,
							      note_free) > 0);
	memory = malloc(1);
	free(memory);
	assert_int_equal(allocations, 1);
	for (step = 0; step < 5; step++) {
		allocations = 0;
		for (i = 0; i < 2; i++)
			assert_int_equal(tally_post(calls.c[i]), 0);
		calls_finish(&w, &calls, 0);
		for (i = 0; i < 2; i++)
			assert_int_equal(tally_carry_commit(carry[i]), 0);
		/* At first, chunks begin in new places. */
		if (step)
			assert_int_equal(allocations, 0);
	}
	world_close(&w);
	for (i = 0; i < 2; i++)
		tally_carry_destroy(carry[i]);
}

int main(void)
{
	const struct CMUnitTest calls[] = {
		cmocka_unit_test(calls__order_and_window),
		cmocka_unit_test(calls__overlap_for_ever),
		cmocka_unit_test(call__stale_member),
		cmocka_unit_test(call__slow_peer),
		cmocka_unit_test(call__error_keeps_step),
		cmocka_unit_test(call__left_behind),
		cmocka_unit_test(call__unsent_parts),
		cmocka_unit_test(call__cancel),
		cmocka_unit_test(member__detach_under_way),
		cmocka_unit_test(member__detach_outsider),
		cmocka_unit_test(member__threads_count),
		cmocka_unit_test(call__posts_without_memory),
		cmocka_unit_test(init__bad_arguments),
		cmocka_unit_test(init__empty),
		cmocka_unit_test(call__exponents_stick),
	};

	return RUN_TESTS(calls);
}
