// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ranks of the example train in a group in memory, a thread for each, while
 * something happens to one of them; and so does the manual's example.
 */
#include <math.h>
#include <stdlib.h>

#include "common.h"
#include "double.h"
#include "train.h"

#define N		4
#define SAMPLES		200
#define EPOCHS		2

int __wrap_tally_open(const char *where, struct tally **out);

static struct fake_group *group;

int __wrap_tally_open(const char *where, struct tally **out)
{
	(void)where;
	return open_with(&fake_ops, (const char *)group, out);
}

float __real_net_gradient(const struct net *net, const struct digit *all,
			  const uint32_t *index, size_t n,
			  struct net *gradient);
float __wrap_net_gradient(const struct net *net, const struct digit *all,
			  const uint32_t *index, size_t n,
			  struct net *gradient);

/* The gradient of so many calls from now, of whichever rank, has a NaN. */
static int nan_in;

float __wrap_net_gradient(const struct net *net, const struct digit *all,
			  const uint32_t *index, size_t n,
			  struct net *gradient)
{
	float loss = __real_net_gradient(net, all, index, n, gradient);

	if (!__atomic_sub_fetch(&nan_in, 1, __ATOMIC_RELAXED))
		gradient->out_bias[3] = NAN;
	return loss;
}

/**
 * struct trainer - one rank's thread
 * @err: what train_rank() returned
 */
struct trainer {
	const struct plan	*plan;
	const struct digits	*d;
	struct link		link;
	struct outcome		o;
	int			err;
};

static struct trainer trainers[N];

static void *train(void *arg)
{
	struct trainer *t = arg;

	t->err = train_rank(t->plan, t->d, &t->link, &t->o);
	return NULL;
}

static void begin(void)
{
	group = fake_group_create(N, 4, 64, 8);
}

/* All come to the end, with the same weights. */
static void run(void)
{
	static const struct plan plan = {
		.ranks = N, .epochs = EPOCHS, .batch = 10, .rate = 0.1f,
		.keep = 0.9f, .seed = 1,
	};
	struct digits d = { .nr = SAMPLES, .train = SAMPLES * 4 / 5 };
	pthread_t thread[N];
	uint64_t rng = 5;
	uint32_t i, k;

	d.all = calloc(SAMPLES, sizeof(*d.all));
	for (i = 0; i < SAMPLES; i++) {
		d.all[i].label = i % DIGIT_CLASSES;
		for (k = 0; k < DIGIT_PIXELS; k++)
			d.all[i].pixel[k] = gradient(&rng, 1);
	}
	memset(trainers, 0, sizeof(trainers));
	for (i = 0; i < N; i++) {
		trainers[i].plan = &plan;
		trainers[i].d = &d;
		trainers[i].link.group = 7;
		trainers[i].link.rank = i;
		trainers[i].link.lane = TALLY_LANE_I32;
		pthread_create(&thread[i], NULL, train, &trainers[i]);
	}
	for (i = 0; i < N; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < N; i++) {
		assert_int_equal(trainers[i].err, 0);
		assert_int_equal(trainers[i].o.digest, trainers[0].o.digest);
		assert_int_equal(trainers[i].o.unfinished, 0);
		/* With a NaN it would be about 69. */
		assert_true(trainers[i].o.loss < 10);
		free(trainers[i].o.step_us);
	}
	free(d.all);
	fake_group_destroy(group);
}

static void rank__trains(void **state)
{
	uint32_t i;

	(void)state;
	begin();
	run();
	for (i = 0; i < N; i++) {
		assert_int_equal(trainers[i].o.steps, 4 * EPOCHS);
		assert_int_equal(trainers[i].o.rejoins, 0);
	}
}

static int status_down(struct fake_group *g, uint32_t rank, uint32_t seq)
{
	(void)g;
	return rank == 1 && seq == 3 ? -EHOSTDOWN : 0;
}

/* A step that could not be decided here: it comes back, nobody ends. */
static void rank__host_down(void **state)
{
	(void)state;
	begin();
	group->status = status_down;
	run();
	assert_int_equal(trainers[1].o.rejoins, 1);
	assert_int_equal(trainers[0].o.syncs, 1);
}

/* The first part of the first broadcast fails, at everybody. */
static int status_transfer(struct fake_group *g, uint32_t rank, uint32_t seq)
{
	struct fake_member *m = &g->member[rank];
	static uint32_t failed;

	if (rank == 1 && seq == 3)
		return -EHOSTDOWN;
	if (seq <= 3)
		failed = UINT32_MAX;
	if (m->pending[seq % g->window].op != TALLY_OP_BROADCAST)
		return 0;
	if (failed == UINT32_MAX)
		failed = seq;
	return seq == failed ? *(int *)g->arg : 0;
}

/* Who cannot receive state does not take those that hold it along. */
static void rank__transfer_fails(void **state)
{
	int err[] = { -ECONNABORTED, -ETIMEDOUT };
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		begin();
		group->status = status_transfer;
		group->arg = &err[i];
		run();
		assert_int_equal(trainers[1].o.rejoins, 1);
		assert_int_equal(trainers[0].o.syncs, 1);
	}
}

/* One NaN at one rank does not spoil the weights of all. */
static void rank__not_finite(void **state)
{
	uint32_t i;

	(void)state;
	begin();
	nan_in = 11;
	run();
	for (i = 0; i < N; i++)
		assert_int_equal(trainers[i].o.steps, 4 * EPOCHS);
}

int example_main(int argc, char **argv);

static struct tally_submit submits[100];

static int note_submit(struct fake_group *g, uint32_t rank,
		       struct tally_submit *s)
{
	(void)g;
	(void)rank;
	assert_in_range(s->seq, 0, 99);
	submits[s->seq] = *s;
	return 0;
}

/* The manual's example: all meet before the first step and after the last. */
static void example__begins_and_ends_together(void **state)
{
	char *argv[] = { "example", "7", "0", NULL };
	uint32_t i;

	(void)state;
	group = fake_group_create(1, 4, 64, 256);
	group->submit = note_submit;
	assert_int_equal(example_main(3, argv), 0);
	assert_int_equal(submits[0].op, TALLY_OP_BARRIER);
	assert_true(submits[0].timeout_us > 30000000);
	for (i = 1; i <= 50; i++)
		assert_int_equal(submits[i].dtype, TALLY_DTYPE_F32);
	assert_int_equal(submits[51].dtype, TALLY_DTYPE_U64);
	assert_true(submits[51].bound_us > 500000);
	assert_int_equal(group->member[0].next, 52);
	fake_group_destroy(group);
}

int main(void)
{
	const struct CMUnitTest rank[] = {
		cmocka_unit_test(rank__trains),
		cmocka_unit_test(rank__host_down),
		cmocka_unit_test(rank__transfer_fails),
		cmocka_unit_test(rank__not_finite),
		cmocka_unit_test(example__begins_and_ends_together),
	};

	return RUN_TESTS(rank);
}
