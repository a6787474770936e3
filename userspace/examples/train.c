// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* What all ranks have in common, and training in one process. */
#include "train.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Static_assert(sizeof(struct state) ==
	       2 * sizeof(struct net) + 2 * sizeof(uint32_t),
	       "padding would be part of the digest");

double clock_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

uint32_t plan_steps(const struct plan *p, const struct digits *d)
{
	size_t together = (size_t)p->batch * p->ranks;

	return (uint32_t)((d->train + together - 1) / together);
}

int sampler_create(struct sampler *s, const struct digits *d,
		   const struct plan *p, uint32_t rank)
{
	*s = (struct sampler){
		.d = d, .plan = p, .rank = rank, .epoch = UINT32_MAX,
	};
	digits_shard(d, rank, p->ranks, &s->first, &s->count);
	s->index = calloc(s->count + 1, sizeof(*s->index));
	return s->index ? 0 : -ENOMEM;
}

void sampler_free(struct sampler *s)
{
	free(s->index);
	s->index = NULL;
}

/* It follows from @at alone: a rank that receives state needs nothing else. */
size_t sampler_batch(struct sampler *s, const struct state *at,
		     const uint32_t **index)
{
	uint32_t steps = plan_steps(s->plan, s->d);
	size_t i, from, to;

	if (s->epoch != at->epoch) {
		s->epoch = at->epoch;
		random_order(s->index, s->count,
			     s->plan->seed + ((uint64_t)s->rank << 32) +
			     s->epoch + 1);
		for (i = 0; i < s->count; i++)
			s->index[i] += (uint32_t)s->first;
	}
	from = s->count * at->step / steps;
	to = s->count * (at->step + 1) / steps;
	*index = s->index + from;
	return to - from;
}

void state_init(struct state *s, const struct plan *p)
{
	memset(s, 0, sizeof(*s));
	net_init(&s->weights, p->seed);
}

void outcome_test(struct outcome *o, const struct state *s,
		  const struct digits *d)
{
	double loss = 0;

	o->held_out = d->nr - d->train;
	o->right = net_test(&s->weights, d->all + d->train, o->held_out, &loss);
	o->loss = loss / (double)o->held_out;
	o->digest = tally_digest(&s->weights, sizeof(s->weights));
}

/* The mean over the batches of all ranks. */
static void gradient_of_all(const struct state *s, struct sampler *samplers,
			    uint32_t ranks, struct net *mean)
{
	float *to = (float *)mean;
	const uint32_t *index;
	size_t i, n, all = 0;
	struct net part;
	uint32_t r;

	memset(mean, 0, sizeof(*mean));
	for (r = 0; r < ranks; r++) {
		n = sampler_batch(&samplers[r], s, &index);
		net_gradient(&s->weights, samplers[r].d->all, index, n, &part);
		for (i = 0; i < NET_PARAMS; i++)
			to[i] += (float)n * ((float *)&part)[i];
		all += n;
	}
	for (i = 0; all && i < NET_PARAMS; i++)
		to[i] /= (float)all;
}

int train_single(const struct plan *p, const struct digits *d,
		 struct outcome *o)
{
	struct sampler samplers[TALLY_RANKS] = { 0 };
	uint32_t r, steps = plan_steps(p, d);
	double start = clock_seconds();
	struct state s;
	struct net g;
	int err = 0;

	for (r = 0; !err && r < p->ranks; r++)
		err = sampler_create(&samplers[r], d, p, r);
	state_init(&s, p);
	for (; !err && s.epoch < p->epochs; s.epoch++)
		for (s.step = 0; s.step < steps; s.step++) {
			gradient_of_all(&s, samplers, p->ranks, &g);
			net_step(&s.weights, &s.momentum, &g, p->rate, p->keep);
			o->steps++;
		}
	o->seconds = clock_seconds() - start;
	for (r = 0; r < p->ranks; r++)
		sampler_free(&samplers[r]);
	if (!err)
		outcome_test(o, &s, d);
	return err;
}
