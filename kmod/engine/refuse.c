// SPDX-License-Identifier: GPL-2.0-only
/*
 * A chunk was voided without its owner, which may have taken its own RESULT.
 * The ranks of the owner's node do not count here until it says that it holds
 * none, or until they rejoin; meanwhile it is told what was voided.
 */
#include "internal.h"

/* A voided shard of @node that it has not acknowledged.  False if none. */
static bool ledger_owes(struct tally_engine *e,
			const struct tally_ledger *ledger, u32 node, u32 *shard)
{
	u32 n = tally_mask_count(ledger->participants), s, i, bit;

	for (s = 0; ledger->valid && s < n; s++) {
		u32 owner = tally_shard_owner(ledger->participants, n,
					      ledger->seq, s);

		if (e->config.node[owner] != node)
			continue;
		for (i = 0; i < e->config.shard_chunks; i++) {
			bit = tally_ledger_bit(e, s, i);
			if (!test_bit(bit, ledger->voided) ||
			    test_bit(bit, ledger->acked))
				continue;
			*shard = s;
			return true;
		}
	}
	return false;
}

void tally_refuse_owner(struct tally_engine *e, u32 owner, u32 seq, u32 shard,
			u64 participants)
{
	struct tally_node *node = &e->node[e->config.node[owner]];

	/* The latest counts: a REJOIN after it clears all that came before. */
	if (!node->refuse_left || tally_seq_diff(seq, node->refuse_seq) > 0) {
		WRITE_ONCE(node->refuse_seq, seq);
		node->refuse_left = TALLY_REMINDERS;
		node->remind_at = e->now + TALLY_REMIND_NS;
	}
	atomic64_or(node->ranks, &e->refuse);
}

/*
 * A place in the ledger is needed again.  What is still owed is remembered by
 * one chunk: the owner has moved on, too, and is STALE if it cannot tell.
 */
void tally_refuse_keep(struct tally_engine *e, struct tally_ledger *ledger)
{
	u32 node, shard;

	if (!ledger->participants)
		return;
	for (node = 0; node < e->config.nodes; node++) {
		if (node == e->config.self ||
		    !(atomic64_read(&e->refuse) & e->node[node].ranks) ||
		    !ledger_owes(e, ledger, node, &shard))
			continue;
		e->node[node].kept = true;
		e->node[node].kept_seq = ledger->seq;
		e->node[node].kept_shard = shard;
		e->node[node].kept_mask = ledger->participants;
	}
}

static bool node_owes(struct tally_engine *e, u32 node)
{
	u32 i, shard;

	for (i = 0; i < e->ring; i++) {
		if (ledger_owes(e, &e->ledger[i], node, &shard))
			return true;
	}
	return e->node[node].kept;
}

/* The owner holds no RESULT of these either. */
void tally_refuse_ack(struct tally_engine *e, const struct tally_hdr *hdr,
		      const void *payload)
{
	u32 seq = tally_get32(hdr->seq), shard = tally_get16(hdr->shard), i;
	struct tally_ledger *ledger = &e->ledger[seq & (e->ring - 1)];
	u32 node = e->config.node[tally_get16(hdr->rank)];
	struct tally_node *peer = &e->node[node];

	if (peer->kept && peer->kept_seq == seq)
		peer->kept = false;
	if (ledger->valid && ledger->seq == seq) {
		tally_for_each_bit(i, hdr, payload, tally_get32(hdr->chunk),
				   e->config.shard_chunks)
			set_bit(tally_ledger_bit(e, shard, i), ledger->acked);
	}
	if (!node_owes(e, node))
		atomic64_and(~peer->ranks, &e->refuse);
}

/* Tell a node of all that was voided behind its back. */
static void remind_node(struct tally_engine *e, u32 node)
{
	struct tally_node *peer = &e->node[node];
	u32 k, i, shard;

	for (k = 0; k < e->ring; k++) {
		struct tally_ledger *ledger = &e->ledger[k];

		if (!ledger_owes(e, ledger, node, &shard))
			continue;
		bitmap_zero(e->spare, e->config.shard_chunks);
		for (i = 0; i < e->config.shard_chunks; i++) {
			if (test_bit(tally_ledger_bit(e, shard, i),
				     ledger->voided))
				set_bit(i, e->spare);
		}
		tally_void_tell(e, tally_local_of(e, ledger->participants),
				node, TALLY_SAY_VOID, ledger->seq, shard,
				ledger->participants, e->spare);
	}
	if (!peer->kept)
		return;
	bitmap_zero(e->spare, e->config.shard_chunks);
	set_bit(0, e->spare);
	tally_void_tell(e, tally_local_of(e, peer->kept_mask), node,
			TALLY_SAY_VOID, peer->kept_seq, peer->kept_shard,
			peer->kept_mask, e->spare);
}

/* All ranks of a node that rejoined have a state that is newer. */
static void refuse_rejoined(struct tally_engine *e, u64 rejoined)
{
	u32 node, i;

	atomic64_and(~rejoined, &e->rejoined);
	atomic64_and(~rejoined, &e->refuse);
	for (node = 0; node < e->config.nodes; node++) {
		if (!(e->node[node].ranks & rejoined) ||
		    atomic64_read(&e->refuse) & e->node[node].ranks)
			continue;
		e->node[node].kept = false;
		for (i = 0; i < e->ring; i++) {
			struct tally_ledger *ledger = &e->ledger[i];
			u32 shard, chunk;

			while (ledger_owes(e, ledger, node, &shard)) {
				for (chunk = 0; chunk < e->config.shard_chunks;
				     chunk++)
					set_bit(tally_ledger_bit(e, shard,
								 chunk),
						ledger->acked);
			}
		}
	}
}

/*
 * Refused nodes are reminded a few times, then whenever they send something;
 * or they are taken back.  Return: when to look again.
 */
u64 tally_refuse_run(struct tally_engine *e)
{
	u64 rejoined = atomic64_read(&e->rejoined), remind, refuse;
	u64 next = TALLY_NEVER;
	u32 node;

	if (rejoined)
		refuse_rejoined(e, rejoined);
	refuse = atomic64_read(&e->refuse);
	remind = atomic64_read(&e->remind);
	for (node = 0; refuse && node < e->config.nodes; node++) {
		struct tally_node *peer = &e->node[node];

		if (!(refuse & peer->ranks) ||
		    (!(remind & peer->ranks) && !peer->refuse_left))
			continue;
		if (e->now >= peer->remind_at) {
			atomic64_and(~peer->ranks, &e->remind);
			if (peer->refuse_left)
				peer->refuse_left--;
			peer->remind_at = e->now + TALLY_REMIND_NS *
				(TALLY_REMINDERS + 1 - peer->refuse_left);
			remind_node(e, node);
		}
		if (peer->refuse_left || remind & peer->ranks)
			next = min(next, peer->remind_at);
	}
	return next;
}
