/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * Data-parallel gradient descent.  Every rank has the same weights and a part
 * of the samples of its own; each step moves the weights by the mean gradient
 * over the batches of all ranks.
 */
#ifndef TALLY_EXAMPLES_TRAIN_H
#define TALLY_EXAMPLES_TRAIN_H

#include "net.h"

#include <stdbool.h>
#include <tally/tally.h>

/**
 * struct plan - what to train; the same on all ranks
 * @ranks: among which the samples are divided
 * @epochs: times through all samples
 * @batch: samples of one rank in one step, about
 * @rate: of learning
 * @keep: share of the momentum that stays in a step
 * @seed: of the weights and the order of samples
 */
struct plan {
	uint32_t	ranks;
	uint32_t	epochs;
	uint32_t	batch;
	float		rate;
	float		keep;
	uint64_t	seed;
};

/**
 * struct state - all that a rank needs to go on where the others are
 * @epoch: passes through the samples that are done
 * @step: steps of this epoch that are done
 *
 * No padding: replicas are compared by digest.
 */
struct state {
	struct net	weights;
	struct net	momentum;
	uint32_t	epoch;
	uint32_t	step;
};

/**
 * struct link - how a rank reaches the others
 * @group: id
 * @rank: of this process
 * @lane: TALLY_LANE_I32 or _I16
 * @progress: print a line for each epoch
 */
struct link {
	uint32_t	group;
	uint32_t	rank;
	uint32_t	lane;
	bool		progress;
};

/**
 * struct outcome - what came of it
 * @right: held-out samples that are read right
 * @held_out: held-out samples
 * @loss: mean over them
 * @seconds: of training, without start and end
 * @digest: of the weights
 * @lane: in use; 0: no others
 * @bound_us: of the group
 * @steps: made by this process
 * @absent: by rank: steps whose sum lacked it, whole or in part
 * @step_us: time of each step, without transfers of state
 * @wait_max_us: longest sum
 * @absent_step_us: by rank: longest step whose sum lacked it
 * @absent_wait_us: by rank: longest sum that lacked it
 * @chunks: of all sums of gradients
 * @partial: that lacked a rank
 * @voided: without a value
 * @lost: without an outcome
 * @repaired: that had to be asked for
 * @late: ranks that came late to this rank's shards
 * @rejoins: times that this rank received state
 * @rejoin_ms: how long that took, in all
 * @syncs: times that it took part in giving state
 * @sync_ms: how long that took, in all
 * @drifted: times that its state was not the sender's
 * @lost_values: own values that may or may not be in a sum
 * @carry_missed: own values that a sum lacked, carried into a later one
 * @unfinished: ranks that did not come to the end
 */
struct outcome {
	size_t		right;
	size_t		held_out;
	double		loss;
	double		seconds;
	uint64_t	digest;
	uint32_t	lane;
	uint32_t	bound_us;
	uint32_t	steps;
	uint32_t	absent[TALLY_RANKS];
	uint32_t	*step_us;
	uint32_t	wait_max_us;
	uint32_t	absent_step_us[TALLY_RANKS];
	uint32_t	absent_wait_us[TALLY_RANKS];
	uint64_t	chunks;
	uint64_t	partial;
	uint64_t	voided;
	uint64_t	lost;
	uint64_t	repaired;
	uint64_t	late;
	uint32_t	rejoins;
	double		rejoin_ms;
	uint32_t	syncs;
	double		sync_ms;
	uint32_t	drifted;
	uint64_t	lost_values;
	uint64_t	carry_missed;
	uint64_t	unfinished;
};

/* Steps of an epoch: the same on all ranks. */
uint32_t plan_steps(const struct plan *p, const struct digits *d);

/**
 * struct sampler - batches of one rank
 * @index: samples of the rank, in the order of epoch @epoch
 */
struct sampler {
	const struct digits	*d;
	const struct plan	*plan;
	uint32_t		rank;
	uint32_t		*index;
	size_t			count;
	size_t			first;
	uint32_t		epoch;
};

int sampler_create(struct sampler *s, const struct digits *d,
		   const struct plan *p, uint32_t rank);
void sampler_free(struct sampler *s);
/* Return: how many samples; which: *@index */
size_t sampler_batch(struct sampler *s, const struct state *at,
		     const uint32_t **index);

void state_init(struct state *s, const struct plan *p);
double clock_seconds(void);
/* Fill in how good the weights are, and their digest. */
void outcome_test(struct outcome *o, const struct state *s,
		  const struct digits *d);

/* The same training in one process, without tally.  Return: 0 or -ENOMEM. */
int train_single(const struct plan *p, const struct digits *d,
		 struct outcome *o);

/* One rank of it.  Return: 0, or -errno, with a message on stderr. */
int train_rank(const struct plan *p, const struct digits *d,
	       const struct link *link, struct outcome *o);

#endif
