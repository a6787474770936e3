// SPDX-License-Identifier: GPL-2.0-only
/* Members that were left behind receive state.  A thread for each member. */
#include <stdlib.h>
#include <unistd.h>

#include "world.h"

#define N	4
#define BYTES	5003	/* several collectives, and no whole word */

/**
 * struct actor - one member's thread
 * @late: microseconds to wait before the first collective
 * @err: what tally_sync() or tally_rejoin() returned
 * @after: what an all_reduce after that returned
 */
struct actor {
	struct world			*w;
	uint32_t			rank;
	unsigned int			late;
	bool				rejoin;
	struct tally_state_opts		opts;
	uint8_t				state[BYTES];
	struct tally_state_report	report;
	int				err;
	int				after;
	float				sum;
};

static struct actor actors[N];

static void *act(void *arg)
{
	struct actor *a = arg;
	struct tally_member *m = a->w->m[a->rank];
	float one = 1;
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
					      .reduce = TALLY_SUM);

	usleep(a->late);
	a->report.size = sizeof(a->report);
	if (a->rejoin)
		a->err = tally_rejoin(m, a->state, BYTES, &a->opts, &a->report);
	else
		a->err = tally_sync(m, a->state, BYTES, &a->opts, &a->report);
	a->after = a->err && a->err != -EAGAIN ? a->err :
		   tally_all_reduce(m, &one, &a->sum, 1, &o, NULL);
	return NULL;
}

static void setup(struct world *w)
{
	uint32_t i;

	world_open(w, N, 4, 16, 2);
	memset(actors, 0, sizeof(actors));
	for (i = 0; i < N; i++) {
		actors[i].w = w;
		actors[i].rank = i;
		actors[i].opts.size = sizeof(actors[i].opts);
		memset(actors[i].state, 0x11, BYTES);
	}
}

/* @rank has to come back: its process attaches anew. */
static void leave_behind(struct world *w, uint32_t rank)
{
	assert_int_equal(tally_detach(w->m[rank]), 0);
	fake_stale(w->g, rank);
	assert_int_equal(tally_attach(w->t, 7, rank, &w->m[rank]), 0);
	actors[rank].rejoin = true;
	memset(actors[rank].state, 0x22, BYTES);
}

/* Rank 0 has to come back, and follows before the others go on. */
static void setup_left_behind(struct world *w)
{
	uint32_t i;

	setup(w);
	leave_behind(w, 0);
	for (i = 1; i < N; i++)
		actors[i].late = 20000;
}

static void run_actors(uint32_t without)
{
	pthread_t thread[N];
	uint32_t i;

	for (i = 0; i < N; i++)
		if (!(without >> i & 1))
			pthread_create(&thread[i], NULL, act, &actors[i]);
	for (i = 0; i < N; i++)
		if (!(without >> i & 1))
			pthread_join(thread[i], NULL);
}

static void sync__brings_one_back(void **state)
{
	uint8_t expected[BYTES];
	struct world w;
	uint32_t i;

	(void)state;
	setup(&w);
	leave_behind(&w, 0);
	/* The group went on since: the library is told the right number. */
	w.g->member[0].next += 5;
	for (i = 1; i < N; i++)
		actors[i].late = 20000;	/* the rank is following by then */
	memset(expected, 0x11, sizeof(expected));
	run_actors(0);
	for (i = 0; i < N; i++) {
		struct tally_state_report *r = &actors[i].report;

		assert_int_equal(actors[i].err, 0);
		assert_memory_equal(actors[i].state, expected, BYTES);
		/* The lowest that has state: not the one that needs it. */
		assert_int_equal(r->root, 1);
		assert_int_equal(r->participants, 0xf);
		assert_int_equal(r->received, 1);
		assert_int_equal(r->digest, tally_digest(expected, BYTES));
		assert_true(i == 0 ? r->before != r->digest :
			    r->before == r->digest);
		assert_int_equal(r->answered, i == 0 ? 0 : 0xe);
		assert_true(r->parts > 4);
		/* And all go on together. */
		assert_int_equal(actors[i].after, 0);
		assert_true(actors[i].sum == N);
	}
	world_close(&w);
}

static void sync__two_at_once(void **state)
{
	struct world w;
	uint32_t i;

	(void)state;
	setup(&w);
	leave_behind(&w, 1);
	leave_behind(&w, 3);
	actors[0].late = 20000;
	actors[2].late = 20000;
	run_actors(0);
	for (i = 0; i < N; i++) {
		assert_int_equal(actors[i].err, 0);
		assert_int_equal(actors[i].state[BYTES - 1], 0x11);
		assert_int_equal(actors[i].report.root, 0);
		assert_int_equal(actors[i].report.digest,
				 actors[0].report.digest);
		assert_int_equal(actors[i].after, 0);
	}
	world_close(&w);
}

/* Replicas that drifted apart show it, and are the same afterwards. */
static void sync__heals_and_tells(void **state)
{
	struct world w;
	uint32_t i;

	(void)state;
	setup(&w);
	leave_behind(&w, 3);
	for (i = 0; i < 3; i++)
		actors[i].late = 20000;
	actors[2].state[77] ^= 1;
	run_actors(0);
	for (i = 0; i < N; i++)
		assert_int_equal(actors[i].report.digest,
				 actors[0].report.digest);
	assert_int_equal(actors[1].report.before, actors[1].report.digest);
	assert_int_not_equal(actors[2].report.before,
			     actors[2].report.digest);
	assert_int_equal(actors[2].state[77], 0x11);
	world_close(&w);
}

static void sync__nobody_rejoins(void **state)
{
	struct world w;
	uint32_t i;

	(void)state;
	setup(&w);
	run_actors(0);
	for (i = 0; i < N; i++) {
		assert_int_equal(actors[i].err, -EAGAIN);
		assert_int_equal(actors[i].report.answered, 0xf);
		assert_int_equal(actors[i].report.received, 0);
		assert_int_equal(actors[i].after, 0);
	}
	world_close(&w);
}

static uint64_t mask_vote(struct fake_group *g, uint32_t seq, uint32_t at,
			  uint64_t participants)
{
	return seq == 0 && at == 0 ? *(uint64_t *)g->arg : participants;
}

static void sync__vote_is_void(void **state)
{
	uint64_t mask = 0;
	struct world w;
	uint32_t i;

	(void)state;
	setup(&w);
	w.g->mask = mask_vote;
	w.g->arg = &mask;
	run_actors(0);
	for (i = 0; i < N; i++) {
		assert_int_equal(actors[i].err, -EAGAIN);
		assert_int_equal(actors[i].report.answered, 0);
		assert_int_equal(actors[i].after, 0);
	}
	world_close(&w);
}

/* One that holds state voted late: it is left out, and stays in step. */
static void sync__late_voter(void **state)
{
	uint64_t mask = 0xb;
	struct world w;
	uint32_t i;

	(void)state;
	setup_left_behind(&w);
	w.g->mask = mask_vote;
	w.g->arg = &mask;
	run_actors(0);
	for (i = 0; i < N; i++) {
		assert_int_equal(actors[i].err, 0);
		assert_int_equal(actors[i].report.participants, 0xb);
		assert_int_equal(actors[i].report.received, i != 2);
		assert_int_equal(actors[i].after, 0);
		assert_true(actors[i].sum == N);
	}
	world_close(&w);
}

static int status_of_transfer(struct fake_group *g, uint32_t rank, uint32_t seq)
{
	(void)g;
	(void)rank;
	return seq == 1 ? -ECONNABORTED : 0;
}

/* The module takes the rank for a member again when the transfer begins. */
static void rejoin__after_a_failed_transfer(void **state)
{
	struct tally_geometry geo = { .size = sizeof(geo) };
	struct world w;
	uint32_t i;

	(void)state;
	setup_left_behind(&w);
	w.g->status = status_of_transfer;
	run_actors(0);
	for (i = 0; i < N; i++) {
		assert_int_equal(actors[i].err, -ECONNABORTED);
		tally_get_geometry(w.m[i], &geo);
		assert_int_equal(geo.stale, i == 0);
	}
	assert_false(w.g->member[0].stale);
	run_actors(0);
	for (i = 0; i < N; i++) {
		assert_int_equal(actors[i].err, 0);
		assert_int_equal(actors[i].report.participants, 0xf);
		assert_int_equal(actors[i].report.digest,
				 actors[1].report.digest);
		assert_int_equal(actors[i].after, 0);
		assert_true(actors[i].sum == N);
	}
	world_close(&w);
}

static void rejoin__is_bounded(void **state)
{
	struct tally_state_opts o = TALLY_OPTS(tally_state_opts,
					       .timeout_us = 1000);
	struct world w;

	(void)state;
	setup(&w);
	assert_int_equal(tally_rejoin(w.m[0], actors[0].state, BYTES, &o, NULL),
			 -EALREADY);
	leave_behind(&w, 0);
	assert_int_equal(tally_sync(w.m[0], actors[0].state, BYTES, &o, NULL),
			 -ESTALE);
	assert_int_equal(tally_rejoin(w.m[0], actors[0].state, BYTES, &o, NULL),
			 -ETIMEDOUT);
	/* It can be tried again, and the state is as it was. */
	assert_int_equal(tally_rejoin(w.m[0], actors[0].state, BYTES, &o, NULL),
			 -ETIMEDOUT);
	assert_int_equal(actors[0].state[0], 0x22);
	world_close(&w);
}

static void sync__bad_arguments(void **state)
{
	struct tally_state_opts o = TALLY_OPTS(tally_state_opts, .flags = 1);
	struct tally_call *call;
	struct world w;

	(void)state;
	setup(&w);
	assert_int_equal(tally_sync(NULL, actors, 1, NULL, NULL), -EINVAL);
	assert_int_equal(tally_sync(w.m[0], NULL, 1, NULL, NULL), -EINVAL);
	assert_int_equal(tally_sync(w.m[0], actors, 0, NULL, NULL), -EINVAL);
	assert_int_equal(tally_sync(w.m[0], actors, 1, &o, NULL), -EINVAL);
	tally_call_create(w.m[0], &call);
	tally_barrier_init(call, NULL);
	tally_post(call);
	assert_int_equal(tally_sync(w.m[0], actors, 1, NULL, NULL), -EBUSY);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest sync[] = {
		cmocka_unit_test(sync__brings_one_back),
		cmocka_unit_test(sync__two_at_once),
		cmocka_unit_test(sync__heals_and_tells),
		cmocka_unit_test(sync__nobody_rejoins),
		cmocka_unit_test(sync__vote_is_void),
		cmocka_unit_test(sync__late_voter),
		cmocka_unit_test(rejoin__after_a_failed_transfer),
		cmocka_unit_test(rejoin__is_bounded),
		cmocka_unit_test(sync__bad_arguments),
	};

	return RUN_TESTS(sync);
}
