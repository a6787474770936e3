// SPDX-License-Identifier: GPL-2.0-only
/*
 * What others ask for: RESULTs that this node owns or holds, contributions
 * that an owner lacks.
 */
#include "internal.h"

/* Send one chunk again, from a cell of ours; a RECEIPT of a reduce_scatter. */
static void serve_cell(struct tally_engine *e, struct tally_member *m, u32 node,
		       const struct tally_hdr *cell, u8 op)
{
	struct tally_receipt *receipt;
	struct tally_hdr hdr = *cell;

	hdr.rank = tally_put16(m->rank);
	hdr.flags |= TALLY_F_REPAIR;
	hdr.done = tally_put32(m->done);
	hdr.sent_us = tally_put32((u32)div_u64(e->now, 1000));
	if (op == TALLY_OP_REDUCE_SCATTER) {
		receipt = tally_scratch(e);
		receipt->mask = hdr.mask;
		receipt->weight = hdr.weight;
		receipt->exponent = hdr.exponent;
		receipt->flags = cell->flags;
		receipt->__reserved = 0;
		hdr.type = TALLY_RECEIPT;
		hdr.words = tally_put16(2);
		hdr.mask = 0;
		hdr.weight = 0;
		hdr.bias = 0;
		hdr.flags = TALLY_F_REPAIR;
		tally_packet_send(e, node, &hdr, receipt);
	} else {
		tally_packet_send(e, node, &hdr, tally_cell_words((void *)cell));
	}
	tally_count(e, TALLY_COUNT_NACKS_SERVED, 1);
}

/**
 * tally_serve_held - send a chunk that a local rank holds the outcome of
 * @e: the engine
 * @node: to whom; this node: only look
 * @seq: collective
 * @shard: its shard
 * @chunk: and chunk
 * @gone: set to true if a local rank held it and no longer does: there is no
 *	saying that this node holds none
 *
 * A cell that is just being filled is neither: it is asked for again.
 * Return: whether it is held.
 */
bool tally_serve_held(struct tally_engine *e, u32 node, u32 seq, u32 shard,
		      u32 chunk, bool *gone)
{
	struct tally_member *m;
	struct tally_coll *c;
	u32 at;

	tally_for_each_member(e, m) {
		c = tally_coll_at(e, m, seq);
		if (READ_ONCE(c->live) != tally_live(seq)) {
			if (tally_seq_diff(m->done, seq) > 0 &&
			    !(tally_seq_diff(seq, m->gap_from) >= 0 &&
			      tally_seq_diff(seq, m->gap_to) < 0))
				*gone = true;
			continue;
		}
		if (chunk >= tally_layout_count(&c->layout, shard))
			continue;
		at = tally_layout_first(&c->layout, shard) + chunk;
		if (tally_cell_state(c, at) != CELL_FULL || !m->result)
			continue;
		if (node != e->config.self)
			serve_cell(e, m, node, (struct tally_hdr *)
				   tally_result_cell(e, m, seq, at),
				   c->layout.op);
		return true;
	}
	return false;
}

static void busy_send(struct tally_engine *e, struct tally_member *m, u32 node,
		      const struct tally_hdr *about, u8 say, u64 mask)
{
	struct tally_hdr hdr;

	tally_packet_init(e, &hdr, TALLY_BUSY, m);
	hdr.incast = say;
	hdr.seq = about->seq;
	hdr.shard = about->shard;
	hdr.mask = tally_put64(mask);
	tally_packet_send(e, node, &hdr, NULL);
}

/* The owner's own answer for one chunk.  False: nothing to say of it yet. */
static bool serve_owned(struct tally_engine *e, struct tally_member *m,
			struct tally_owned *o, u32 node, u32 chunk)
{
	if (test_bit(chunk, o->over)) {
		if (!test_bit(chunk, o->publish))
			serve_cell(e, m, node, tally_owned_cell(e, o, chunk),
				   o->about.op);
		return true;
	}
	if (o->about.state != TALLY_SLOT_CLOSED)
		return false;
	/* Nothing came for it before the shard closed: it is VOID, for all. */
	tally_owned_void(e, m, o, chunk);
	return test_bit(chunk, o->over);
}

/* A shard of ours that is asked for and that nothing has come for. */
static void nack_unopened(struct tally_engine *e, struct tally_member *m,
			  const struct tally_hdr *hdr)
{
	struct tally_shard about = {
		.seq = tally_get32(hdr->seq),
		.shape = tally_get32(hdr->shape),
		.participants = tally_get64(hdr->mask),
		.index = tally_get16(hdr->shard),
		.lane = hdr->lane,
	};

	if (hdr->flags & TALLY_F_VOID)
		tally_owned_open_closed(e, m, &about);
}

static void nack_owned(struct tally_engine *e, struct tally_member *m,
		       const struct tally_hdr *hdr, const void *payload)
{
	u32 node = e->config.node[tally_get16(hdr->rank)];
	u32 seq = tally_get32(hdr->seq), from = tally_get32(hdr->chunk), i;
	struct tally_owned *o = tally_owned_at(e, m, seq);
	bool open = false, gone = false;

	if (!(o->valid && o->seq == seq) && tally_seq_diff(seq, m->base) >= 0)
		nack_unopened(e, m, hdr);
	if (!o->valid || o->seq != seq ||
	    tally_seq_diff(seq, m->base - e->window) < 0) {
		/* Who was no participant before may be ahead by any number. */
		if (tally_seq_diff(seq, m->base) >= 0 &&
		    (tally_seq_diff(seq, m->base) < (s32)e->window ||
		     hdr->flags & TALLY_F_RELIABLE))
			busy_send(e, m, node, hdr, TALLY_SAY_OPEN,
				  1ull << m->rank);
		else
			gone = true;
	} else if (o->abort_say) {
		tally_abort_send(e, m, seq, 1ull << tally_get16(hdr->rank),
				 o->abort_say, o->abort_mask);
		return;
	}
	tally_for_each_bit(i, hdr, payload, from, e->config.shard_chunks) {
		bool lost = false;

		if (gone) {
			if (tally_serve_held(e, node, seq,
					     tally_get16(hdr->shard), i, &lost))
				continue;
			busy_send(e, m, node, hdr, TALLY_SAY_GONE, 0);
			return;
		}
		if (o->valid && o->seq == seq &&
		    !serve_owned(e, m, o, node, i))
			open = true;
	}
	if (open && o->about.state == TALLY_SLOT_OPEN)
		busy_send(e, m, node, hdr, TALLY_SAY_OPEN,
			  tally_owned_waits(e, o));
	else if (open)
		busy_send(e, m, node, hdr, TALLY_SAY_GONE, 0);
}

/* ASK_RESULT: answered at most once per round trip and shard. */
static bool nack_too_soon(struct tally_engine *e, u32 node,
			  const struct tally_hdr *hdr)
{
	struct tally_node *peer = &e->node[node];
	u32 seq = tally_get32(hdr->seq), shard = tally_get16(hdr->shard);
	u32 chunk = tally_get32(hdr->chunk);

	if (peer->served_ns && peer->served_seq == seq &&
	    peer->served_shard == shard && peer->served_chunk == chunk &&
	    e->now - peer->served_ns < tally_rtt(e, node) / 2)
		return true;
	peer->served_seq = seq;
	peer->served_shard = shard;
	peer->served_chunk = chunk;
	peer->served_ns = e->now;
	return false;
}

static enum tally_drop nack_result(struct tally_engine *e,
				   const struct tally_hdr *hdr,
				   const void *payload)
{
	u32 rank = tally_get16(hdr->rank), node = e->config.node[rank];
	u64 participants = tally_get64(hdr->mask);
	u32 seq = tally_get32(hdr->seq), shard = tally_get16(hdr->shard);
	u32 n = tally_mask_count(participants), from, i;
	struct tally_member *owner;
	bool gone = false;

	if (!(participants >> rank & 1) || participants & ~e->config.members)
		return TALLY_DROP_PARTICIPANTS;
	if (shard >= n)
		return TALLY_DROP_MALFORMED;
	if (nack_too_soon(e, node, hdr))
		return TALLY_DROP_RATE;
	owner = e->by_rank[tally_shard_owner(participants, n, seq, shard)];
	if (owner) {
		nack_owned(e, owner, hdr, payload);
		return TALLY_KEEP;
	}
	from = tally_get32(hdr->chunk);
	tally_for_each_bit(i, hdr, payload, from, e->config.shard_chunks) {
		if (!tally_serve_held(e, node, seq, shard, i, &gone) && gone) {
			busy_send(e, tally_local_of(e, participants), node,
				  hdr, TALLY_SAY_GONE, 0);
			break;
		}
	}
	return TALLY_KEEP;
}

/* An owner waits for what this rank has given up. */
static bool contrib_given_up(struct tally_engine *e, struct tally_member *m,
			     const struct tally_hdr *hdr)
{
	u32 seq = tally_get32(hdr->seq);
	struct tally_coll *c = tally_coll_at(e, m, seq);

	if (READ_ONCE(c->live) != tally_live(seq) || c->out.seq != seq ||
	    (c->out.status != -ECANCELED && c->out.status != -ERANGE))
		return false;
	tally_abort_send(e, m, seq, 1ull << tally_get16(hdr->rank),
			 TALLY_SAY_CANCEL, 1ull << m->rank);
	return true;
}

/* ASK_CONTRIB: an owner lacks contributions of a reliable collective. */
static enum tally_drop nack_contrib(struct tally_engine *e,
				    const struct tally_hdr *hdr,
				    const void *payload)
{
	enum tally_drop why = TALLY_DROP_UNWANTED;
	u32 seq = tally_get32(hdr->seq), shard = tally_get16(hdr->shard);
	u32 from = tally_get32(hdr->chunk), i;
	u64 mask = tally_get64(hdr->mask);
	struct tally_member *m;
	struct tally_coll *c;

	tally_for_each_member(e, m) {
		if (!(mask >> m->rank & 1))
			continue;
		if (contrib_given_up(e, m, hdr))
			why = TALLY_KEEP;
		c = tally_coll_active(e, m, seq);
		if (!c || tally_op_gathers(c->req.op) || shard >= c->layout.n ||
		    tally_shard_owner(c->layout.participants, c->layout.n, seq,
				      shard) != tally_get16(hdr->rank))
			continue;
		tally_for_each_bit(i, hdr, payload, from,
				   tally_layout_count(&c->layout, shard))
			tally_coll_resend(c, shard, i);
		e->ops->kick(e->host);
		why = TALLY_KEEP;
	}
	return why;
}

enum tally_drop tally_nack_control(struct tally_engine *e,
				   const struct tally_hdr *hdr,
				   const void *payload)
{
	switch (hdr->incast) {
	case TALLY_ASK_RESULT:
		return nack_result(e, hdr, payload);
	case TALLY_ASK_CONTRIB:
		return nack_contrib(e, hdr, payload);
	default:
		return TALLY_DROP_MALFORMED;
	}
}
