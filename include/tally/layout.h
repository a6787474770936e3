/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * How a collective's buffer is cut into shards and chunks, and who owns them.
 *
 * Participant i of n is the i-th set bit of the participants mask.  Shard s of
 * collective `seq` belongs to participant (s + seq) mod n, whatever the
 * operation: that rule is all a packet needs to find its owner.  What part of
 * the buffer a shard is depends on the operation:
 *
 *   all_reduce       the buffer's chunks are dealt out as evenly as they go,
 *                    in order, over min(n, chunks) shards
 *   reduce_scatter   part i (`words` long) is the shard that participant i owns
 *   all_gather       likewise; part i comes from participant i
 *   broadcast        one shard, owned by the root
 *   barrier          one shard of one empty chunk
 */
#ifndef _TALLY_LAYOUT_H
#define _TALLY_LAYOUT_H

#include "wire.h"
#include "lanes.h"

enum tally_op {
	TALLY_OP_ALL_REDUCE = 1,
	TALLY_OP_REDUCE_SCATTER,
	TALLY_OP_ALL_GATHER,
	TALLY_OP_BROADCAST,
	TALLY_OP_BARRIER,
	TALLY_OP_REJOIN,	/* follows the group until it sends state */
	__TALLY_OP_END,
};

/* True for operations whose data begins as a RESULT: nothing is summed. */
static inline int tally_op_gathers(__u8 op)
{
	return op == TALLY_OP_ALL_GATHER || op == TALLY_OP_BROADCAST;
}

static inline __u32 tally_mask_count(__u64 mask)
{
	mask -= mask >> 1 & 0x5555555555555555ull;
	mask = (mask & 0x3333333333333333ull) +
	       (mask >> 2 & 0x3333333333333333ull);
	mask = (mask + (mask >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (mask * 0x0101010101010101ull) >> 56;
}

/* Rank of participant @i; @i is less than the number of participants. */
static inline __u32 tally_mask_rank(__u64 mask, __u32 i)
{
	__u32 rank = 0, width, below;

	if (!(mask & (mask + 1)))	/* all up to some rank: most groups */
		return i;
	for (width = TALLY_RANKS_MAX / 2; width; width >>= 1) {
		below = tally_mask_count(mask >> rank & ((1ull << width) - 1));
		if (i >= below) {
			i -= below;
			rank += width;
		}
	}
	return rank;
}

/* Place of @rank among the participants. */
static inline __u32 tally_mask_index(__u64 mask, __u32 rank)
{
	return tally_mask_count(mask & ((1ull << rank) - 1));
}

/* Rank that owns shard @shard of collective @seq; @shard is less than @n. */
static inline __u32 tally_shard_owner(__u64 participants, __u32 n, __u32 seq,
				      __u32 shard)
{
	__u32 i = shard + seq % n;

	return tally_mask_rank(participants, i < n ? i : i - n);
}

/* Shard of collective @seq that participant number @index owns. */
static inline __u32 tally_shard_of(__u32 n, __u32 seq, __u32 index)
{
	return (index + n - seq % n) % n;
}

/**
 * struct tally_layout - one collective cut up
 * @participants: who takes part
 * @seq: number of the collective
 * @n: number of participants
 * @shards: shards with at least one chunk; all are below this but broadcast's
 * @words: length of the buffer, or of one part, in words
 * @cell_words: payload of a full chunk
 * @chunks: chunks of the whole buffer
 * @part: chunks of one shard, rounded down in all_reduce
 * @more: all_reduce: so many first shards have one chunk more
 * @root: broadcast: the root's place among the participants
 * @op: enum tally_op
 */
struct tally_layout {
	__u64	participants;
	__u32	seq;
	__u32	n;
	__u32	shards;
	__u32	words;
	__u32	cell_words;
	__u32	chunks;
	__u32	part;
	__u32	more;
	__u32	root;
	__u8	op;
};

/**
 * tally_layout_init - cut up a collective
 * @layout: to fill
 * @op: enum tally_op, not TALLY_OP_REJOIN
 * @participants: at least one
 * @seq: number of the collective
 * @words: whole buffer (all_reduce, broadcast), one part (reduce_scatter,
 *	all_gather), 0 (barrier); in 64-bit words
 * @cell_words: payload of a full chunk in words, not 0
 * @root: broadcast: rank of the root, a participant
 */
static inline void tally_layout_init(struct tally_layout *layout, __u8 op,
				     __u64 participants, __u32 seq,
				     __u32 words, __u32 cell_words, __u32 root)
{
	__u32 chunks = words / cell_words + !!(words % cell_words);

	layout->participants = participants;
	layout->seq = seq;
	layout->n = tally_mask_count(participants);
	layout->words = words;
	layout->cell_words = cell_words;
	layout->op = op;
	layout->more = 0;
	layout->root = 0;
	if (!chunks)
		chunks = 1;
	switch (op) {
	case TALLY_OP_REDUCE_SCATTER:
	case TALLY_OP_ALL_GATHER:
		layout->shards = layout->n;
		layout->part = chunks;
		layout->chunks = chunks * layout->n;
		break;
	case TALLY_OP_BROADCAST:
		layout->root = tally_mask_index(participants, root);
		layout->shards = 1;
		layout->part = chunks;
		layout->chunks = chunks;
		break;
	default:
		layout->shards = chunks < layout->n ? chunks : layout->n;
		layout->part = chunks / layout->shards;
		layout->more = chunks % layout->shards;
		layout->chunks = chunks;
	}
}

/* Index of the @i-th shard in use, @i < @shards. */
static inline __u32 tally_layout_shard(const struct tally_layout *layout,
				       __u32 i)
{
	if (layout->op == TALLY_OP_BROADCAST)
		return tally_shard_of(layout->n, layout->seq, layout->root);
	return i;
}

/* Number of chunks of shard @shard, 0 if the shard is not in use. */
static inline __u32 tally_layout_count(const struct tally_layout *layout,
				       __u32 shard)
{
	if (layout->op == TALLY_OP_BROADCAST)
		return shard == tally_layout_shard(layout, 0) ?
			layout->part : 0;
	if (shard >= layout->shards)
		return 0;
	return layout->part + (shard < layout->more);
}

/* First chunk of shard @shard, counted in the whole buffer. */
static inline __u32 tally_layout_first(const struct tally_layout *layout,
				       __u32 shard)
{
	switch (layout->op) {
	case TALLY_OP_BROADCAST:
		return 0;
	case TALLY_OP_REDUCE_SCATTER:
	case TALLY_OP_ALL_GATHER:
		return (shard + layout->seq % layout->n) % layout->n *
			layout->part;
	default:
		return shard * layout->part +
			(shard < layout->more ? shard : layout->more);
	}
}

/* Words of the chunk that stands at @at in the whole buffer. */
static inline __u32 tally_layout_words(const struct tally_layout *layout,
				       __u32 at)
{
	__u32 per = tally_op_gathers(layout->op) ||
		    layout->op == TALLY_OP_REDUCE_SCATTER ?
		    layout->part : layout->chunks;
	__u32 i = at % per;

	if (i + 1 < per)
		return layout->cell_words;
	return layout->words - (per - 1) * layout->cell_words;
}

/**
 * tally_shape - digest of what members must agree on
 * @op: enum tally_op
 * @flags: TALLY_F_RELIABLE or 0
 * @lane: enum tally_lane
 * @dtype: what the submitter calls the values' type; opaque here
 * @words: as in tally_layout_init()
 * @cell_words: payload of a full chunk
 * @root: broadcast: rank of the root, else 0
 */
static inline __u32 tally_shape(__u8 op, __u8 flags, __u8 lane, __u8 dtype,
				__u32 words, __u32 cell_words, __u32 root)
{
	__u64 mix = (__u64)op << 56 | (__u64)flags << 48 | (__u64)lane << 40 |
		    (__u64)dtype << 32 | words;

	mix *= 0x9e3779b97f4a7c15ull;
	mix ^= mix >> 32;
	mix += (__u64)root << 32 | cell_words;
	mix *= 0xd6e8feb86659fd93ull;
	return (__u32)(mix >> 32);
}

#endif
