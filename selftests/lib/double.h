/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A group in memory that stands in for the kernel module: it sums by the slot
 * rule, at the moment when the last participant has submitted, with the masks
 * that the test chooses.  Members may live in different threads.
 */
#ifndef SELFTESTS_LIB_DOUBLE_H
#define SELFTESTS_LIB_DOUBLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <tally/slot.h>

#include "transport.h"

struct fake_group;

/**
 * struct fake_member - one rank
 * @queue: completions that were not fetched
 * @pending: by seq modulo window: what was submitted and is not complete
 * @rejoining: a REJOIN is pending
 */
struct fake_member {
	struct fake_group	*group;
	uint32_t		rank;
	bool			attached;
	bool			stale;
	bool			rejoining;
	struct tally_submit	rejoin;
	uint32_t		next;
	int			fd;
	uint8_t			*tx;
	uint8_t			*result;
	struct tally_submit	pending[TALLY_RANKS_MAX];
	bool			active[TALLY_RANKS_MAX];
	struct tally_completion	queue[TALLY_RANKS_MAX + 1];
	uint32_t		queued;
	uint64_t		submits;
};

/**
 * struct fake_group - all ranks
 * @mask: which of @participants are in a chunk; NULL: all
 * @lost: rank never learns what became of the chunk; NULL: it does
 * @status: of rank's completion; NULL: 0, or -ESTALE where chunks are lost.
 *	What leaves a rank behind makes it STALE, as in the module
 * @submit: error of a submit; NULL: none
 * @zeroed: participants for which zeros count; NULL: none
 * @deaf: nothing can be cancelled
 * @arg: for them
 * @weight: sum over all values that were summed of their weight
 * @aligned: alignments of unequal exponents
 *
 * The rest is made by fake_group_create().
 */
struct fake_group {
	uint64_t (*mask)(struct fake_group *g, uint32_t seq, uint32_t at,
			 uint64_t participants);
	bool (*lost)(struct fake_group *g, uint32_t rank, uint32_t seq,
		     uint32_t at);
	int (*status)(struct fake_group *g, uint32_t rank, uint32_t seq);
	int (*submit)(struct fake_group *g, uint32_t rank,
		      struct tally_submit *s);
	uint64_t (*zeroed)(struct fake_group *g, uint32_t seq);
	bool		deaf;
	void		*arg;
	double		weight;
	uint64_t	aligned;

	struct tally_rule	rule;
	uint32_t		ranks;
	uint32_t		window;
	uint32_t		cells;
	uint32_t		cell_bytes;
	uint32_t		timeout_us;
	void			*scratch;
	pthread_mutex_t		lock;
	pthread_cond_t		cond;
	struct fake_member	member[TALLY_RANKS_MAX];
};

struct fake_group *fake_group_create(uint32_t ranks, uint32_t window,
				     uint32_t cell_words,
				     uint32_t shard_chunks);
void fake_group_destroy(struct fake_group *g);
/* @rank is STALE from now on, as if it had lost its results. */
void fake_stale(struct fake_group *g, uint32_t rank);

/* For open_with(); `where` is the group. */
extern const struct transport_ops fake_ops;

#endif
