// SPDX-License-Identifier: GPL-2.0-only
/* What this node knows of the other ranks: alive, how far, how far away. */
#include "internal.h"

/* Receive context: a verified packet of hdr->rank. */
void tally_peer_seen(struct tally_engine *e, const struct tally_hdr *hdr,
		     u64 now)
{
	struct tally_peer *peer = &e->peer[tally_get16(hdr->rank)];
	u32 done = tally_get32(hdr->done);
	u32 known = READ_ONCE(peer->done);

	WRITE_ONCE(peer->seen_ns, now);
	while (tally_seq_diff(done, known) > 0) {
		u32 was = cmpxchg(&peer->done, known, done);

		if (was == known)
			break;
		known = was;
	}
}

/**
 * tally_majority - how far most of the other participants are
 * @e: the engine
 * @participants: of a collective
 * @m: the local rank that they are the others for
 *
 * Return: most of them have finished every seq before it.  Any context.
 */
u32 tally_majority(struct tally_engine *e, u64 participants,
		   const struct tally_member *m)
{
	u64 others = participants & e->config.members & ~(1ull << m->rank);
	u32 need = tally_mask_count(others) / 2 + 1;
	u32 rank, other, best = READ_ONCE(e->floor);

	for (rank = 0; others && rank < TALLY_RANKS_MAX; rank++) {
		u32 done = READ_ONCE(e->peer[rank].done), n = 0;

		if (!(others >> rank & 1) || tally_seq_diff(done, best) <= 0)
			continue;
		for (other = 0; other < TALLY_RANKS_MAX; other++) {
			if (others >> other & 1 &&
			    tally_seq_diff(READ_ONCE(e->peer[other].done),
					   done) >= 0)
				n++;
		}
		if (n >= need)
			best = done;
	}
	return best;
}

static void mark_follow(u32 *mark, u32 at)
{
	if (tally_seq_diff(at, *mark) > (s32)TALLY_SEQ_FAR)
		WRITE_ONCE(*mark, at - TALLY_SEQ_FAR);
}

/* What a rank that died long ago has finished, as others have. */
static void peers_follow(struct tally_engine *e)
{
	u32 rank, i;

	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		u32 done = READ_ONCE(e->peer[rank].done);

		if (tally_seq_diff(e->floor, done) > 0)
			cmpxchg(&e->peer[rank].done, done, e->floor);
		if (tally_seq_diff(e->floor, e->node[rank].refuse_seq) > 0)
			WRITE_ONCE(e->node[rank].refuse_seq, e->floor);
	}
	for (i = 0; i < e->ring; i++) {
		struct tally_ledger *ledger = &e->ledger[i];

		if (!ledger->valid ||
		    tally_seq_diff(e->floor, ledger->seq) <= 0)
			continue;
		tally_refuse_keep(e, ledger);
		ledger->valid = false;
	}
}

/**
 * tally_marks_follow - leave no seq behind by 2^31
 * @e: the engine
 * @m: a local rank whose base has moved
 *
 * Seqs compare as signed differences: a mark of something that happened long
 * ago would seem to lie ahead.
 */
void tally_marks_follow(struct tally_engine *e, struct tally_member *m)
{
	mark_follow(&m->jumped, m->base);
	mark_follow(&m->zeroed, m->base);
	mark_follow(&m->gap_from, m->base);
	mark_follow(&m->gap_to, m->base);
	if (tally_seq_diff(m->base, e->floor) < (s32)(2 * TALLY_SEQ_FAR))
		return;
	WRITE_ONCE(e->floor, m->base - TALLY_SEQ_FAR);
	peers_follow(e);
}

static void probe_send(struct tally_engine *e, struct tally_member *m,
		       u32 node)
{
	struct tally_hdr hdr;

	tally_packet_init(e, &hdr, TALLY_PROBE, m);
	tally_packet_send(e, node, &hdr, NULL);
}

/**
 * tally_rtt_measure - how far away are the nodes that a collective waits for?
 * @e: the engine
 * @m: a local rank that begins one
 * @nodes: mask of nodes that take part
 *
 * A RESULT that a far node sends in time comes late: without its round trip it
 * would be taken for silent.
 */
void tally_rtt_measure(struct tally_engine *e, struct tally_member *m,
		       u64 nodes)
{
	u32 node;

	for (node = 0; node < e->config.nodes; node++) {
		struct tally_node *peer = &e->node[node];

		if (node == e->config.self || !(nodes >> node & 1) ||
		    e->now < peer->rtt_at)
			continue;
		peer->rtt_at = e->now + (peer->rtt_ns ? TALLY_RTT_EVERY_NS :
							TALLY_PROBE_NS);
		probe_send(e, m, node);
	}
}

/* SUBMIT waits for slow ranks: ask them how far they are. */
u64 tally_wait_run(struct tally_engine *e, struct tally_member *m)
{
	u64 wait_for, nodes, left = 0;
	u32 rank, node, seq;

	spin_lock_bh(&m->lock);
	wait_for = m->wait_for;
	seq = m->wait_seq;
	spin_unlock_bh(&m->lock);
	if (!wait_for)
		return TALLY_NEVER;
	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		if (wait_for >> rank & 1 &&
		    tally_seq_diff(seq, READ_ONCE(e->peer[rank].done)) >= 0)
			left |= 1ull << rank;
	}
	spin_lock_bh(&m->lock);
	if (m->wait_for == wait_for)
		m->wait_for = left;
	spin_unlock_bh(&m->lock);
	if (!left) {
		e->ops->wake(e->host, m->rank);
		return TALLY_NEVER;
	}
	if (e->now < m->probe_at)
		return m->probe_at;
	/* Quick at first, then ten a second. */
	m->probe_ns = m->probe_seq == seq && m->probe_ns ?
		      min(2 * m->probe_ns, TALLY_PROBE_NS) : TALLY_ASK_MIN_NS;
	m->probe_seq = seq;
	m->probe_at = e->now + m->probe_ns;
	nodes = tally_nodes_of(e, left);
	for (node = 0; node < e->config.nodes; node++) {
		if (nodes >> node & 1)
			probe_send(e, m, node);
	}
	return m->probe_at;
}

/* A burst, then one per interval: an answer is larger than the question. */
static bool probe_too_soon(struct tally_engine *e, struct tally_node *peer)
{
	u64 more = div_u64(e->now - peer->probes_ns, TALLY_PROBE_NS);

	if (more) {
		peer->probes = min_t(u64, more + peer->probes,
				     TALLY_PROBE_BURST);
		peer->probes_ns = e->now;
	}
	if (!peer->probes)
		return true;
	peer->probes--;
	return false;
}

/* PROBE: each rank here answers.  PROBE_ACK: a round trip is measured. */
enum tally_drop tally_probe_control(struct tally_engine *e,
				    const struct tally_hdr *hdr)
{
	u32 node = e->config.node[tally_get16(hdr->rank)];
	u32 us = (u32)div_u64(e->now, 1000) - tally_get32(hdr->sent_us);
	struct tally_node *peer = &e->node[node];
	struct tally_member *m;
	struct tally_hdr ack;

	if (hdr->type == TALLY_PROBE) {
		if (probe_too_soon(e, peer))
			return TALLY_DROP_RATE;
		tally_for_each_member(e, m) {
			tally_packet_init(e, &ack, TALLY_PROBE_ACK, m);
			ack.sent_us = hdr->sent_us;
			tally_packet_send(e, node, &ack, NULL);
		}
		return TALLY_KEEP;
	}
	/* An echo from before the clock's wrap, or made up. */
	if (us > 10 * 1000 * 1000)
		return TALLY_DROP_STALE;
	peer->rtt_ns = peer->rtt_ns ? (7 * peer->rtt_ns + 1000ull * us) / 8 :
				      1000ull * us + 1;
	return TALLY_KEEP;
}
