/* SPDX-License-Identifier: GPL-2.0-only */
/* What slots.bpf.c and the programs that test it share. */
#ifndef _SLOTS_H
#define _SLOTS_H

#include <tally/slot.h>

#define SLOTS_RING	8	/* 2 W */
#define SLOTS_OWNERS	2	/* ranks of this node */
#define SLOTS_CHUNKS	4	/* of a shard */
#define SLOTS_SHARDS	(SLOTS_OWNERS * SLOTS_RING)
#define SLOTS_CELLS	(SLOTS_SHARDS * SLOTS_CHUNKS)

/*
 * So that one packet can be counted again and again while its cost is measured:
 * the slot forgets who is in it; that it has words (the next are stored, not
 * added); what its exponent was (the next are shifted).
 */
#define SLOTS_FORGET_RANKS	(1u << 0)
#define SLOTS_FORGET_WORDS	(1u << 1)
#define SLOTS_FORGET_EXPONENT	(1u << 2)

/**
 * struct slots_group - the one group
 * @rule: see there
 * @base: first seq that is not closed here
 * @address: of this node, as in struct tally_flow
 * @member: by rank: address
 */
struct slots_group {
	struct tally_rule	rule;
	__u32			base;
	__u32			__reserved;
	__u64			address[2];
	__u64			member[TALLY_RANKS_MAX][2];
};

/**
 * struct slots_cell - a slot in a map that processes may map
 * @lock: 0, or 1 while somebody works on it
 * @slot: what is known of the sum
 * @payload: the sum
 */
struct slots_cell {
	__u32			lock;
	__u32			__reserved;
	struct tally_slot	slot;
	__le64			payload[TALLY_WORDS_MAX];
};

struct slots_shard {
	__u32			lock;
	__u32			__reserved;
	struct tally_shard	shard;
};

struct slots_drops {
	__u64			n[__TALLY_DROP_END];
};

#endif
