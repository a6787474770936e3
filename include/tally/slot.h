/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The slot rule: what an owner does with a contribution.  One source for the
 * module's kfunc and socket path, BPF over maps, the process transport, the
 * simulator and the tests.
 *
 * A caller goes through these steps; a step that returns a reason ends it:
 *
 *   tally_contrib_check()  header against the group, no lock
 *   tally_scan_words()     one pass over the payload, no lock
 *   tally_scan_check()     tag and headroom, no lock
 *   tally_slot_admit()     slot's lock held from here on
 *   tally_shard_admit()    shard's lock inside the slot's; only for the first
 *   tally_slot_reset()     packet of a seq in this slot
 *   tally_slot_align()     make exponents equal (BPF: tally_slot_take(), and
 *                          tally_shift_slot() in a function of its own)
 *   tally_slot_add()       one pass over the payload
 *   tally_slot_commit()    count it; true if the slot is complete
 */
#ifndef _TALLY_SLOT_H
#define _TALLY_SLOT_H

#include "drops.h"
#include "layout.h"
#include "lanes.h"
#include "tag.h"
#include "wire.h"

#define TALLY_NEVER	(~0ull)		/* no deadline, nanoseconds */

/* tally_slot_admit(): first packet of its seq here, ask the shard. */
#define TALLY_SLOT_FRESH	__TALLY_DROP_END

/**
 * struct tally_rule - what the receive path must know of a group
 * @local: ranks that live on this node
 * @members: all ranks
 * @bound_max_ns: longest bound that a packet may ask for; may change under way
 * @epoch: current epoch
 * @shard_chunks: most chunks of one shard
 * @group: id
 * @cell_words: most words of payload
 * @window: W, collectives in flight
 * @capped: non-zero if any of @caps is
 * @caps: by rank: log2 of the leaves that one contribution may sum
 *
 * Constant during an epoch.
 */
struct tally_rule {
	__u64	local;
	__u64	members;
	__u64	bound_max_ns;
	__u32	epoch;
	__u32	shard_chunks;
	__u16	group;
	__u16	cell_words;
	__u16	window;
	__u8	capped;
	__u8	__reserved;
	__u8	caps[TALLY_RANKS_MAX];
};

enum tally_slot_state {
	TALLY_SLOT_UNUSED,
	TALLY_SLOT_OPEN,
	TALLY_SLOT_FULL,	/* all participants are in, not yet published */
	TALLY_SLOT_CLOSED,
};

/**
 * struct tally_shard - one owned shard of one collective
 * @seq: which collective
 * @shape: digest that all contributors must share
 * @participants: who may contribute
 * @start_ns: first contribution
 * @close_ns: deadline, or TALLY_NEVER
 * @seen: ranks that a packet came from, late ones included
 * @index: number of the shard in the collective
 * @state: UNUSED, OPEN or CLOSED
 * @flags: TALLY_F_RELIABLE or 0
 * @lane: enum tally_lane
 * @other: the last rank whose participants or shape differed, plus 1
 * @op: enum tally_op
 * @arrival_us: by rank: its latest packet, microseconds after @start_ns
 *
 * Times of arrival are hints for people and deadlines: written without lock.
 */
struct tally_shard {
	__u32	seq;
	__u32	shape;
	__u64	participants;
	__u64	start_ns;
	__u64	close_ns;
	__u64	seen;
	__u16	index;
	__u8	state;
	__u8	flags;
	__u8	lane;
	__u8	other;
	__u8	op;
	__u8	__reserved;
	__u32	arrival_us[TALLY_RANKS_MAX];
};

/**
 * struct tally_slot - one chunk being summed; its payload lies beside it
 * @participants: copied from the shard, as are @close_ns, @shape, @lane
 * @mask: ranks already in the sum
 * @close_ns: deadline, or TALLY_NEVER
 * @seq: which collective
 * @shape: digest
 * @bias: sum of biases, in units of @exponent
 * @weight: sum of weights
 * @aligned: alignments of unequal exponents so far
 * @words: length of the payload; 0 while only blocks of zeros came
 * @exponent: of the payload
 * @state: enum tally_slot_state
 * @flags: TALLY_F_* collected from contributions
 * @lane: enum tally_lane
 */
struct tally_slot {
	__u64	participants;
	__u64	mask;
	__u64	close_ns;
	__u32	seq;
	__u32	shape;
	__u32	bias;
	__u32	weight;
	__u32	aligned;
	__u16	words;
	__s8	exponent;
	__u8	state;
	__u8	flags;
	__u8	lane;
	__u16	__reserved[3];
};

_Static_assert(sizeof(struct tally_slot) == 56, "slots lie in maps");

/* h: bits that the sum over all @participants may need above one leaf. */
static inline __u32 tally_headroom(const struct tally_rule *rule,
				   __u64 participants)
{
	__u64 leaves = 0;
	__u32 rank;

	if (!rule->capped)
		return tally_log2_up(tally_mask_count(participants));
	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		if (participants >> rank & 1)
			leaves += 1ull << (rule->caps[rank] & 31);
	}
	return leaves >> 31 ? 32 : tally_log2_up((__u32)leaves);
}

/* Checks that every packet of a group must pass, whatever its type. */
static inline enum tally_drop tally_hdr_check(const struct tally_rule *rule,
					      const struct tally_hdr *hdr)
{
	__u32 rank = tally_get16(hdr->rank);

	if (hdr->version != TALLY_VERSION)
		return TALLY_DROP_VERSION;
	if (!hdr->type || hdr->type >= __TALLY_TYPE_END)
		return TALLY_DROP_TYPE;
	if (tally_get16(hdr->group) != rule->group)
		return TALLY_DROP_GROUP;
	if (tally_get32(hdr->epoch) != rule->epoch)
		return TALLY_DROP_EPOCH;
	if (rank >= TALLY_RANKS_MAX || !(rule->members >> rank & 1))
		return TALLY_DROP_MEMBER;
	if (tally_get16(hdr->words) > rule->cell_words)
		return TALLY_DROP_OVERSIZED;
	return TALLY_KEEP;
}

/**
 * tally_contrib_check - the header of a contribution, after tally_hdr_check()
 * @rule: the group
 * @hdr: the header
 * @owner: receives the rank that owns the shard; a local one
 */
static inline enum tally_drop tally_contrib_check(const struct tally_rule *rule,
						  const struct tally_hdr *hdr,
						  __u32 *owner)
{
	__u64 participants = tally_get64(hdr->mask);
	__u32 words = tally_get16(hdr->words);
	__u32 rank = tally_get16(hdr->rank) & (TALLY_RANKS_MAX - 1);
	__u32 bits = tally_lane_bits(hdr->lane);
	__u32 bias = tally_get32(hdr->bias);
	__u32 n, h, cap;

	if (!bits)
		return TALLY_DROP_LANE;
	if (!(participants >> rank & 1) || participants & ~rule->members)
		return TALLY_DROP_PARTICIPANTS;
	if (tally_get32(hdr->weight) > TALLY_WEIGHT_MAX)
		return TALLY_DROP_MALFORMED;
	if (!words) {
		if (bias || hdr->exponent != TALLY_EXP_NONE)
			return TALLY_DROP_MALFORMED;
	} else if (!tally_lane_fixed(hdr->lane)) {
		if (bias || hdr->exponent)
			return TALLY_DROP_MALFORMED;
	} else {
		h = tally_headroom(rule, participants);
		cap = rule->caps[rank];
		if (h >= bits || cap > h ||
		    bias > tally_lane_bias(bits, h - cap) ||
		    hdr->exponent == TALLY_EXP_NONE)
			return TALLY_DROP_MALFORMED;
	}
	n = tally_mask_count(participants);
	if (tally_get16(hdr->shard) >= n)
		return TALLY_DROP_MALFORMED;
	*owner = tally_shard_owner(participants, n, tally_get32(hdr->seq),
				   tally_get16(hdr->shard));
	if (!(rule->local >> (*owner & (TALLY_RANKS_MAX - 1)) & 1))
		return TALLY_DROP_OWNER;
	if (tally_get32(hdr->chunk) >= rule->shard_chunks)
		return TALLY_DROP_CHUNK;
	return TALLY_KEEP;
}

/* Bits that @hdr's sender must leave clear in each word. */
static inline __u64 tally_contrib_over(const struct tally_rule *rule,
				       const struct tally_hdr *hdr)
{
	__u32 rank = tally_get16(hdr->rank) & (TALLY_RANKS_MAX - 1);

	if (!tally_lane_fixed(hdr->lane))
		return 0;
	return tally_lane_over(tally_lane_bits(hdr->lane),
			       tally_headroom(rule, tally_get64(hdr->mask)),
			       rule->caps[rank]);
}

/* The payload of a contribution from the network, after the pass over it. */
static inline enum tally_drop tally_scan_check(const struct tally_keys *keys,
					       const struct tally_hdr *hdr,
					       const struct tally_scan *scan,
					       __u64 over)
{
	if (tally_tag(keys, hdr, scan->hash) != hdr->tag)
		return TALLY_DROP_TAG;
	if (scan->over & over)
		return TALLY_DROP_MALFORMED;
	return TALLY_KEEP;
}

/*
 * True for the seq of a slot or shard that was last used about 2^31 or more
 * collectives ago, so that its signed distance has turned: nothing is ever
 * opened that far beyond @base.  The margin of 2^16 is for a window, and for
 * a @base that another thread has moved on meanwhile.
 */
static inline int tally_seq_forgotten(__u32 seq, __u32 base)
{
	return seq - base - (1u << 16) <= 1u << 31;
}

/**
 * tally_slot_admit - may this contribution be added?  Slot's lock held.
 * @slot: the chunk's slot in the ring
 * @base: first seq that this owner has not closed
 * @window: W
 * @hdr: checked header
 * @now: nanoseconds
 *
 * Return: TALLY_KEEP, TALLY_SLOT_FRESH or a reason to drop.
 */
static inline __u32 tally_slot_admit(const struct tally_slot *slot, __u32 base,
				     __u32 window, const struct tally_hdr *hdr,
				     __u64 now)
{
	__u32 seq = tally_get32(hdr->seq);
	__u32 words = tally_get16(hdr->words);
	__u32 rank = tally_get16(hdr->rank) & (TALLY_RANKS_MAX - 1);
	__s32 d = tally_seq_diff(seq, slot->seq);

	if (tally_seq_diff(seq, base) >= (__s32)window)
		return TALLY_DROP_AHEAD;
	if (slot->state == TALLY_SLOT_UNUSED || d > 0 ||
	    tally_seq_forgotten(slot->seq, base))
		return TALLY_SLOT_FRESH;
	if (d < 0)
		return TALLY_DROP_STALE;
	if (slot->participants != tally_get64(hdr->mask) ||
	    slot->shape != tally_get32(hdr->shape) ||
	    slot->lane != hdr->lane ||
	    (words && slot->words && slot->words != words))
		return TALLY_DROP_MISMATCH;
	if (slot->state == TALLY_SLOT_CLOSED || now >= slot->close_ns)
		return TALLY_DROP_LATE;
	if (slot->mask >> rank & 1)
		return TALLY_DROP_DUPLICATE;
	return TALLY_KEEP;
}

/**
 * tally_shard_admit - may this contribution open a slot?  Shard's lock held.
 * @shard: the owned shard's place in the ring
 * @base: first seq that this owner has not closed
 * @rule: the group
 * @hdr: checked header
 * @now: nanoseconds; the first contribution starts the shard's clock
 */
static inline enum tally_drop tally_shard_admit(struct tally_shard *shard,
						__u32 base,
						const struct tally_rule *rule,
						const struct tally_hdr *hdr,
						__u64 now)
{
	__u32 seq = tally_get32(hdr->seq);
	__u32 rank = tally_get16(hdr->rank) & (TALLY_RANKS_MAX - 1);
	__u64 bound, most;
	__u32 i;

	if (shard->state != TALLY_SLOT_UNUSED &&
	    !tally_seq_forgotten(shard->seq, base)) {
		__s32 d = tally_seq_diff(seq, shard->seq);

		if (d < 0)
			return TALLY_DROP_STALE;
		if (!d) {
			if (shard->participants != tally_get64(hdr->mask) ||
			    shard->shape != tally_get32(hdr->shape) ||
			    shard->lane != hdr->lane) {
				shard->other = rank + 1;
				return TALLY_DROP_MISMATCH;
			}
			if (shard->state == TALLY_SLOT_CLOSED ||
			    now >= shard->close_ns)
				return TALLY_DROP_LATE;
			return TALLY_KEEP;
		}
	}
	if (tally_seq_diff(seq, base) < 0)
		return TALLY_DROP_STALE;

	shard->seq = seq;
	shard->shape = tally_get32(hdr->shape);
	shard->participants = tally_get64(hdr->mask);
	shard->start_ns = now;
	shard->flags = hdr->flags & TALLY_F_RELIABLE;
	if (shard->flags & TALLY_F_RELIABLE) {
		shard->close_ns = TALLY_NEVER;
	} else {
		bound = tally_time_unpack(tally_get16(hdr->time)) * 1000;
		most = *(const volatile __u64 *)&rule->bound_max_ns;
		if (bound > most)
			bound = most;
		shard->close_ns = now + bound;
	}
	shard->seen = 0;
	shard->index = tally_get16(hdr->shard);
	shard->lane = hdr->lane;
	shard->other = 0;
	shard->op = hdr->incast;
	for (i = 0; i < TALLY_RANKS_MAX; i++)
		shard->arrival_us[i] = 0;
	shard->state = TALLY_SLOT_OPEN;
	return TALLY_KEEP;
}

/* Note when a packet of @rank came, late or not.  No lock. */
static inline void tally_shard_arrival(struct tally_shard *shard, __u32 seq,
				       __u32 rank, __u64 now)
{
	__u64 us = (now - shard->start_ns) / 1000;

	if (shard->seq != seq || now < shard->start_ns)
		return;
	rank &= TALLY_RANKS_MAX - 1;
	shard->arrival_us[rank] = us > 0xffffffffull ? 0xffffffff : (__u32)us;
	if (!(shard->seen >> rank & 1))
		shard->seen |= 1ull << rank;
}

/* Begin a slot's next collective.  Locks of slot and shard held. */
static inline void tally_slot_reset(struct tally_slot *slot,
				    const struct tally_shard *shard)
{
	slot->participants = shard->participants;
	slot->mask = 0;
	slot->close_ns = shard->close_ns;
	slot->seq = shard->seq;
	slot->shape = shard->shape;
	slot->bias = 0;
	slot->weight = 0;
	slot->aligned = 0;
	slot->words = 0;
	slot->exponent = TALLY_EXP_NONE;
	slot->flags = shard->flags;
	slot->lane = shard->lane;
	slot->state = TALLY_SLOT_OPEN;
}

/**
 * struct tally_add - how one contribution's words enter the slot
 * @shift: shift of the incoming words
 * @keep: bits of a word that may be set: protects neighbouring lanes even if a
 *	process changes its cell between check and sum
 * @words: length of the payload
 * @store: the slot has no words yet: copy
 */
struct tally_add {
	struct tally_shift	shift;
	__u64			keep;
	__u32			words;
	__u32			store;
};

/* Shift @n words of a slot; @shift is not by 0. */
static inline void tally_shift_slot(__le64 *payload, __u32 n,
				    const struct tally_shift *shift)
{
	__u32 i;

	for (i = 0; i < n && i < TALLY_WORDS_MAX; i++) {
		__u64 word = tally_get_le64(payload[i]);

		payload[i] = tally_put_le64(tally_shift_lanes(shift, word));
	}
}

/**
 * tally_slot_take - take over a contribution's header values
 * @slot: admitted; lock held
 * @hdr: of the contribution
 * @over: from tally_contrib_over()
 * @add: for tally_slot_add()
 * @own: shift of the slot's words that has to come first, if its k is not 0
 */
static inline void tally_slot_take(struct tally_slot *slot,
				   const struct tally_hdr *hdr, __u64 over,
				   struct tally_add *add,
				   struct tally_shift *own)
{
	__u32 bits = tally_lane_bits(slot->lane);
	__u32 bias = tally_get32(hdr->bias);
	int d;

	add->keep = ~over;
	add->words = tally_get16(hdr->words);
	add->store = !slot->words;
	add->shift.k = 0;
	add->shift.zero = 0;
	own->k = 0;
	if (!add->words)
		return;
	if (add->store) {
		slot->words = (__u16)add->words;
		slot->exponent = hdr->exponent;
		slot->bias = bias;
		return;
	}
	d = hdr->exponent - slot->exponent;
	if (d < 0) {
		tally_shift_init(&add->shift, bits, (__u32)-d);
		bias = tally_shift_bias(bias, bits, (__u32)-d);
	} else if (d > 0) {
		tally_shift_init(own, bits, (__u32)d);
		slot->bias = tally_shift_bias(slot->bias, bits, (__u32)d);
		slot->exponent = hdr->exponent;
	}
	slot->aligned += !!d;
	slot->bias += bias;
}

/*
 * tally_slot_take(), and the shift of the slot's words @payload if the
 * contribution is coarser.
 */
static inline void tally_slot_align(struct tally_slot *slot, __le64 *payload,
				    const struct tally_hdr *hdr, __u64 over,
				    struct tally_add *add)
{
	struct tally_shift own;

	tally_slot_take(slot, hdr, over, add, &own);
	if (own.k)
		tally_shift_slot(payload, slot->words, &own);
}

/**
 * tally_slot_add - add a run of words; slot's lock held
 * @payload: the slot's words from the run's first one on
 * @from: the contribution's words, at any address
 * @n: how many
 * @add: from tally_slot_align()
 */
static inline void tally_slot_add(__le64 *payload, const void *from, __u32 n,
				  const struct tally_add *add)
{
	const __u8 *p = from;
	__u64 keep = add->keep;
	__u32 i;

	if (add->store) {
		for (i = 0; i < n; i++)
			payload[i] = tally_put_le64(tally_load_le64(p + 8 * i) &
						    keep);
	} else if (!add->shift.k) {
		for (i = 0; i < n; i++)
			payload[i] = tally_put_le64(tally_get_le64(payload[i]) +
				(tally_load_le64(p + 8 * i) & keep));
	} else if (!add->shift.zero) {
		for (i = 0; i < n; i++)
			payload[i] = tally_put_le64(tally_get_le64(payload[i]) +
				tally_shift_lanes(&add->shift,
						  tally_load_le64(p + 8 * i) &
						  keep));
	}
}

/**
 * tally_slot_commit - count a contribution whose words are in
 * @slot: admitted and added; lock held
 * @hdr: of the contribution
 *
 * Return: non-zero if all participants are in now.  Test and sum are under one
 * lock, so that exactly one of the last two packets sees it.
 */
static inline int tally_slot_commit(struct tally_slot *slot,
				    const struct tally_hdr *hdr)
{
	__u32 rank = tally_get16(hdr->rank) & (TALLY_RANKS_MAX - 1);

	slot->mask |= 1ull << rank;
	slot->weight += tally_get32(hdr->weight);
	slot->flags |= hdr->flags & TALLY_F_STICKY;
	if (slot->mask != slot->participants)
		return 0;
	slot->state = TALLY_SLOT_FULL;
	return 1;
}

/**
 * tally_slot_close - end a slot's sum and write what the RESULT says of it
 * @slot: OPEN or FULL; lock held
 * @hdr: the RESULT's header; the identity fields (group, rank, epoch, seq,
 *	chunk, shard, done, tag) are the caller's
 */
static inline void tally_slot_close(struct tally_slot *slot,
				    struct tally_hdr *hdr)
{
	slot->state = TALLY_SLOT_CLOSED;
	if (slot->mask != slot->participants)
		slot->flags |= TALLY_F_PARTIAL;
	if (!slot->mask)
		slot->flags |= TALLY_F_VOID;
	hdr->version = TALLY_VERSION;
	hdr->type = TALLY_RESULT;
	hdr->lane = slot->lane;
	hdr->flags = slot->flags;
	hdr->words = tally_put16(slot->words);
	hdr->exponent = slot->exponent;
	hdr->incast = 0;
	hdr->time = 0;
	hdr->sent_us = 0;
	hdr->mask = tally_put64(slot->mask);
	hdr->bias = tally_put32(slot->bias);
	hdr->weight = tally_put32(slot->weight);
	hdr->shape = tally_put32(slot->shape);
}

#endif
