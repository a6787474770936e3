// SPDX-License-Identifier: GPL-2.0-only
/* Calls that the transport does not end in time. */
#include "world.h"

/* The library believes in a short timeout, the group never says so. */
static void open_silent(struct world *w)
{
	world_open(w, 2, 4, 8, 2);
	w->g->timeout_us = 1000;
	tally_detach(w->m[0]);
	assert_int_equal(tally_attach(w->t, 7, 0, &w->m[0]), 0);
}

/* A function that has returned does not write to its caller's buffers. */
static void scratch__gives_up(void **state)
{
	struct tally_state_opts so = TALLY_OPTS(tally_state_opts,
						.timeout_us = 1000);
	struct tally_report r = { .size = sizeof(r) };
	struct tally_call *call;
	float mine[8], theirs[8], zero[8] = { 0 };
	struct world w;
	uint32_t i;
	int deaf;

	(void)state;
	for (deaf = 0; deaf < 2; deaf++) {
		open_silent(&w);
		w.g->deaf = deaf;
		for (i = 0; i < 8; i++)
			mine[i] = 1;
		assert_int_equal(tally_all_reduce(w.m[0], mine, mine, 8, NULL,
						  &r), -ETIME);
		/* No sum, so no local data in place of one. */
		assert_memory_equal(mine, zero, sizeof(mine));
		assert_int_equal(r.lost_values, 8);
		for (i = 0; i < 8; i++)
			mine[i] = 42;
		/* Now it ends. */
		tally_call_create(w.m[1], &call);
		tally_all_reduce_init(call, zero, theirs, 8, NULL);
		tally_post(call);
		/* A bounded one: who gave up is behind, and nothing else. */
		assert_int_equal(tally_barrier(w.m[0], NULL, NULL), -ESTALE);
		assert_int_equal(tally_rejoin(w.m[0], theirs, 8, &so, NULL),
				 -ETIMEDOUT);
		for (i = 0; i < 8; i++)
			assert_true(mine[i] == 42);
		world_close(&w);
	}
}

/* The vote's buffer is gone when tally_sync() has returned. */
static void scratch__vote_gives_up(void **state)
{
	struct tally_call *call;
	struct world w;
	char byte = 0;

	(void)state;
	open_silent(&w);
	w.g->deaf = true;
	assert_int_equal(tally_sync(w.m[0], &byte, 1, NULL, NULL), -ESTALE);
	assert_int_equal(tally_sync(w.m[1], &byte, 1, NULL, NULL), -EAGAIN);
	tally_call_create(w.m[0], &call);
	tally_barrier_init(call, NULL);
	assert_int_equal(tally_post(call), -ESTALE);
	world_close(&w);
}

static int submit_timeout(struct fake_group *g, uint32_t rank,
			  struct tally_submit *s)
{
	(void)rank;
	*(uint32_t *)g->arg = s->timeout_us;
	return 0;
}

/* The group's timeout may change, what the library counts on does not. */
static void call__submits_its_timeout(void **state)
{
	struct tally_state_opts so = TALLY_OPTS(tally_state_opts);
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts);
	uint32_t seen = 0;
	struct world w;
	char byte = 0;

	(void)state;
	o.participants = 2;	/* over at once */
	open_silent(&w);
	w.g->submit = submit_timeout;
	w.g->arg = &seen;
	assert_int_equal(tally_barrier(w.m[0], &o, NULL), 0);
	assert_int_equal(seen, 1000);
	o.timeout_us = 77;
	assert_int_equal(tally_barrier(w.m[0], &o, NULL), 0);
	assert_int_equal(seen, 77);
	fake_stale(w.g, 0);
	assert_int_equal(tally_barrier(w.m[0], NULL, NULL), -ESTALE);
	assert_int_equal(tally_rejoin(w.m[0], &byte, 1, &so, NULL),
			 -ETIMEDOUT);
	assert_int_equal(seen, 1000);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest timeouts[] = {
		cmocka_unit_test(scratch__gives_up),
		cmocka_unit_test(scratch__vote_gives_up),
		cmocka_unit_test(call__submits_its_timeout),
	};

	return RUN_TESTS(timeouts);
}
