// SPDX-License-Identifier: GPL-2.0-only
/*
 * RESULT or VOID for a chunk whose owner is silent.
 *
 * A member that lacks it asks the nodes of all participants but the owner's.
 * Each sends the RESULT that it holds, or promises to take none from the owner
 * any more, for good.  If all have promised, nobody holds it and nobody can
 * come to hold it: it is VOID.  If anybody holds it, nobody can ever collect
 * all promises.  So any number of members may ask at the same time.
 *
 * The owner alone may have taken its own RESULT: see refuse.c.
 */
#include "internal.h"

/*
 * Who submits that seq now would not know what this node promised for it: the
 * others have gone on without.
 */
static void ledger_forget(struct tally_engine *e, struct tally_ledger *ledger)
{
	struct tally_member *m;

	if (bitmap_empty(ledger->promised, e->cells) &&
	    bitmap_empty(ledger->voided, e->cells))
		return;
	tally_for_each_member(e, m) {
		spin_lock_bh(&m->lock);
		if (tally_seq_diff(m->next, ledger->seq) <= 0 &&
		    tally_seq_diff(m->jumped, ledger->seq) <= 0)
			WRITE_ONCE(m->jumped, ledger->seq + 1);
		spin_unlock_bh(&m->lock);
	}
}

/* What is known of @seq; NULL if its place in the ring is needed for later. */
static struct tally_ledger *ledger_at(struct tally_engine *e, u32 seq)
{
	struct tally_ledger *ledger = &e->ledger[seq & (e->ring - 1)];

	if (ledger->valid && ledger->seq == seq)
		return ledger;
	if (ledger->valid && tally_seq_diff(ledger->seq, seq) > 0)
		return NULL;
	if (ledger->valid) {
		tally_refuse_keep(e, ledger);
		ledger_forget(e, ledger);
	}
	ledger->valid = true;
	ledger->seq = seq;
	ledger->participants = 0;
	bitmap_zero(ledger->promised, e->cells);
	bitmap_zero(ledger->voided, e->cells);
	bitmap_zero(ledger->acked, e->cells);
	return ledger;
}

/* A seq that this node cannot place: too old, or made up. */
static bool seq_strange(struct tally_engine *e, u32 seq)
{
	s32 d = tally_seq_diff(seq, tally_engine_seq(e));

	return d > 4 * (s32)e->window;
}

/* The local ranks' cell of a chunk takes no RESULT from the owner's node. */
static void promise_cells(struct tally_engine *e, u32 seq, u32 shard, u32 chunk)
{
	struct tally_member *m;

	tally_for_each_member(e, m) {
		struct tally_coll *c = tally_coll_active(e, m, seq);

		if (c && chunk < tally_layout_count(&c->layout, shard))
			tally_cell_move(c, tally_layout_first(&c->layout, shard)
					   + chunk, CELL_EMPTY, CELL_PROMISED);
	}
}

enum promise {
	PROMISE_MADE,
	PROMISE_HELD,	/* the RESULT is here, and was sent */
	PROMISE_VOID,	/* known to be VOID */
	PROMISE_GONE,	/* too late to say */
	PROMISE_LATER,	/* the RESULT is just being copied: ask again */
};

/* Is a local rank's cell of this chunk being filled? */
static bool chunk_filling(struct tally_engine *e, u32 seq, u32 shard, u32 chunk)
{
	struct tally_member *m;

	tally_for_each_member(e, m) {
		struct tally_coll *c = tally_coll_active(e, m, seq);

		if (c && chunk < tally_layout_count(&c->layout, shard) &&
		    tally_cell_state(c, tally_layout_first(&c->layout, shard) +
					chunk) == CELL_FILLING)
			return true;
	}
	return false;
}

/* This node's answer for one chunk, to @node. */
static enum promise promise_make(struct tally_engine *e, u32 node, u32 seq,
				 u32 shard, u32 chunk)
{
	struct tally_ledger *ledger = ledger_at(e, seq);
	u32 bit = tally_ledger_bit(e, shard, chunk);
	bool gone = false;

	if (!ledger)
		return PROMISE_GONE;
	if (test_bit(bit, ledger->voided))
		return PROMISE_VOID;
	if (test_bit(bit, ledger->promised) &&
	    !tally_serve_held(e, node, seq, shard, chunk, &gone))
		return PROMISE_MADE;
	if (tally_serve_held(e, node, seq, shard, chunk, &gone))
		return PROMISE_HELD;
	if (chunk_filling(e, seq, shard, chunk))
		return PROMISE_LATER;
	if (gone)
		return PROMISE_GONE;
	set_bit(bit, ledger->promised);
	promise_cells(e, seq, shard, chunk);
	/* The owner's RESULT may have come in between: then nothing is said. */
	gone = false;
	if (!chunk_filling(e, seq, shard, chunk) &&
	    !tally_serve_held(e, e->config.self, seq, shard, chunk, &gone))
		return PROMISE_MADE;
	clear_bit(bit, ledger->promised);
	return PROMISE_LATER;
}

/* VOID goes into the local ranks' cells, as if a holder had sent it. */
static void void_fill(struct tally_engine *e, u32 seq, u32 shard, u32 chunk,
		      u32 from)
{
	struct tally_member *m;
	struct tally_hdr hdr;
	bool done = false;

	tally_packet_init(e, &hdr, TALLY_RESULT, e->member);
	hdr.rank = tally_put16(from);
	hdr.flags = TALLY_F_VOID | TALLY_F_PARTIAL | TALLY_F_REPAIR;
	hdr.seq = tally_put32(seq);
	hdr.shard = tally_put16(shard);
	hdr.chunk = tally_put32(chunk);
	tally_for_each_member(e, m) {
		struct tally_coll *c = tally_coll_active(e, m, seq);

		if (!c)
			continue;
		hdr.lane = c->req.lane;
		hdr.shape = tally_put32(c->shape);
		tally_cell_fill(e, m, &hdr, NULL, e->now, &done);
	}
	if (done)
		e->ops->kick(e->host);
}

static void void_note(struct tally_engine *e, u64 participants, u32 owner,
		      u32 seq, u32 shard, u32 chunk, u32 from)
{
	struct tally_ledger *ledger = ledger_at(e, seq);
	u32 bit = tally_ledger_bit(e, shard, chunk);

	if (ledger) {
		if (test_bit(bit, ledger->voided))
			return;
		ledger->participants = participants;
		set_bit(bit, ledger->voided);
		set_bit(bit, ledger->promised);
	}
	tally_count(e, TALLY_COUNT_VOIDS, 1);
	tally_event(e, TALLY_TRACE_DECIDE, owner, seq, shard, chunk, 0, 0);
	if (!e->by_rank[owner])
		tally_refuse_owner(e, owner, seq, shard, participants);
	void_fill(e, seq, shard, chunk, from);
}

void tally_void_tell(struct tally_engine *e, struct tally_member *m, u32 node,
		     u8 say, u32 seq, u32 shard, u64 participants,
		      const unsigned long *chunks)
{
	struct tally_shard about = {};

	tally_packet_chunks(e, m, node, TALLY_DECIDE, say, seq, shard, &about,
			    participants, chunks, e->config.shard_chunks);
}

/* Chunks that all but the owner's node have promised are VOID; tell all. */
static void decide_check(struct tally_engine *e, struct tally_member *m,
			 struct tally_coll *c, u32 shard)
{
	u64 participants = c->layout.participants;
	u32 owner = tally_shard_owner(participants, c->layout.n, c->req.seq,
				      shard);
	u64 need = participants & ~e->node[e->config.node[owner]].ranks;
	u32 first = tally_layout_first(&c->layout, shard), i, node;
	u64 nodes = tally_nodes_of(e, participants);
	bool any = false;

	bitmap_zero(e->spare, e->config.shard_chunks);
	for (i = 0; i < tally_layout_count(&c->layout, shard); i++) {
		if ((c->promised[first + i] & need) != need ||
		    tally_cell_state(c, first + i) != CELL_PROMISED)
			continue;
		set_bit(i, e->spare);
		any = true;
	}
	if (!any)
		return;
	for (node = 0; node < e->config.nodes; node++) {
		if (nodes >> node & 1 && node != e->config.self)
			tally_void_tell(e, m, node, TALLY_SAY_VOID, c->req.seq,
					shard, participants, e->spare);
	}
	for_each_set_bit(i, e->spare, e->config.shard_chunks)
		void_note(e, participants, owner, c->req.seq, shard, i,
			  m->rank);
}

/* Put the chunks of a shard that @c lacks to a decision. */
void tally_decide_ask(struct tally_engine *e, struct tally_member *m,
		      struct tally_coll *c, u32 shard)
{
	u32 owner = tally_shard_owner(c->layout.participants, c->layout.n,
				      c->req.seq, shard);
	u32 first = tally_layout_first(&c->layout, shard), i, node, n = 0;
	u64 nodes = tally_nodes_of(e, c->layout.participants);
	bool gone = false;

	bitmap_zero(e->spare, e->config.shard_chunks);
	for (i = 0; i < tally_layout_count(&c->layout, shard); i++) {
		enum promise mine;

		if (tally_cell_state(c, first + i) != CELL_EMPTY &&
		    tally_cell_state(c, first + i) != CELL_PROMISED)
			continue;
		mine = promise_make(e, e->config.self, c->req.seq, shard, i);
		if (mine == PROMISE_GONE)
			gone = true;
		if (mine != PROMISE_MADE)
			continue;
		c->promised[first + i] |= e->rule.local;
		set_bit(i, e->spare);
		n++;
	}
	if (gone)
		tally_coll_fail(e, m, c, -ESTALE, 1ull << owner);
	if (gone || !n)
		return;
	tally_count(e, TALLY_COUNT_DECIDES, n);
	for (node = 0; node < e->config.nodes; node++) {
		if (nodes >> node & 1 && node != e->config.self &&
		    node != e->config.node[owner])
			tally_void_tell(e, m, node, TALLY_ASK_PROMISE, c->req.seq,
					shard, c->layout.participants, e->spare);
	}
	decide_check(e, m, c, shard);
}

/* A rank that submits late is bound by what its node promised. */
void tally_promise_import(struct tally_engine *e, struct tally_coll *c)
{
	struct tally_ledger *ledger = &e->ledger[c->req.seq & (e->ring - 1)];
	const struct tally_layout *layout = &c->layout;
	u32 shard, chunk, owner, bit;
	u64 others;

	if (!ledger->valid || ledger->seq != c->req.seq)
		return;
	for (shard = 0; shard < layout->n; shard++) {
		owner = tally_shard_owner(layout->participants, layout->n,
					  layout->seq, shard);
		others = layout->participants &
			 ~e->node[e->config.node[owner]].ranks;
		for (chunk = 0; chunk < tally_layout_count(layout, shard);
		     chunk++) {
			bit = tally_ledger_bit(e, shard, chunk);
			if (!test_bit(bit, ledger->promised))
				continue;
			tally_cell_move(c, tally_layout_first(layout, shard) +
					   chunk, CELL_EMPTY, CELL_PROMISED);
			if (test_bit(bit, ledger->voided) && others)
				void_fill(e, c->req.seq, shard, chunk,
					  tally_mask_rank(others, 0));
		}
	}
}

/* ASK_PROMISE: somebody lacks chunks that the owner does not send. */
static enum tally_drop asked_promise(struct tally_engine *e,
				     const struct tally_hdr *hdr,
				     const void *payload, u32 owner)
{
	u32 seq = tally_get32(hdr->seq), shard = tally_get16(hdr->shard), i;
	u32 node = e->config.node[tally_get16(hdr->rank)];
	u64 participants = tally_get64(hdr->mask);
	unsigned long *voided = e->spare2;
	bool made = false, is_void = false;
	struct tally_member *m = tally_local_of(e, participants);
	struct tally_hdr busy;

	if (e->config.node[owner] == e->config.self ||
	    !(participants & e->rule.local))
		return TALLY_DROP_PARTICIPANTS;
	if (seq_strange(e, seq))
		return TALLY_DROP_AHEAD;
	bitmap_zero(e->spare, e->config.shard_chunks);
	bitmap_zero(voided, e->config.shard_chunks);
	tally_for_each_bit(i, hdr, payload, tally_get32(hdr->chunk),
			   e->config.shard_chunks) {
		switch (promise_make(e, node, seq, shard, i)) {
		case PROMISE_MADE:
			set_bit(i, e->spare);
			made = true;
			break;
		case PROMISE_VOID:
			set_bit(i, voided);
			is_void = true;
			break;
		case PROMISE_GONE:
			tally_packet_init(e, &busy, TALLY_BUSY, m);
			busy.incast = TALLY_SAY_GONE;
			busy.seq = hdr->seq;
			busy.shard = hdr->shard;
			tally_packet_send(e, node, &busy, NULL);
			return TALLY_KEEP;
		case PROMISE_HELD:
		case PROMISE_LATER:
			break;
		}
	}
	if (made)
		tally_void_tell(e, m, node, TALLY_SAY_PROMISE, seq, shard,
				participants, e->spare);
	if (is_void)
		tally_void_tell(e, m, node, TALLY_SAY_VOID, seq, shard,
				participants, voided);
	return TALLY_KEEP;
}

static void promise_add(struct tally_coll *c, u32 shard, u32 chunk, u64 ranks)
{
	c->promised[tally_layout_first(&c->layout, shard) + chunk] |= ranks;
}

static enum tally_drop said_promise(struct tally_engine *e,
				    const struct tally_hdr *hdr,
				    const void *payload)
{
	u32 seq = tally_get32(hdr->seq), shard = tally_get16(hdr->shard), i;
	u64 ranks = e->node[e->config.node[tally_get16(hdr->rank)]].ranks;
	enum tally_drop why = TALLY_DROP_UNWANTED;
	struct tally_member *m;
	struct tally_coll *c;

	tally_for_each_member(e, m) {
		c = tally_coll_active(e, m, seq);
		if (!c || shard >= c->layout.n)
			continue;
		why = TALLY_KEEP;
		tally_for_each_bit(i, hdr, payload, tally_get32(hdr->chunk),
				   tally_layout_count(&c->layout, shard))
			promise_add(c, shard, i, ranks);
		decide_check(e, m, c, shard);
	}
	return why;
}

/*
 * A chunk of our own is VOID by the others' decision.  False if our ranks may
 * hold its RESULT: they are STALE.
 */
static bool own_voided(struct tally_engine *e, struct tally_member *m, u32 seq,
		       u32 chunk)
{
	struct tally_owned *o = tally_owned_at(e, m, seq);
	struct tally_chunk *c = &o->chunk[chunk];
	bool clean = true;

	if (o->valid && o->seq == seq) {
		spin_lock_bh(&c->lock);
		if (c->slot.state != TALLY_SLOT_UNUSED && c->slot.seq == seq) {
			/* Nobody has seen the sum: drop it. */
			if (c->slot.state != TALLY_SLOT_CLOSED) {
				c->slot.mask = 0;
				c->slot.weight = 0;
				c->slot.bias = 0;
				c->slot.words = 0;
				c->slot.exponent = TALLY_EXP_NONE;
				c->slot.flags &= ~TALLY_F_STICKY;
			} else if (c->slot.mask) {
				clean = false;
			}
		}
		spin_unlock_bh(&c->lock);
		if (clean)
			tally_owned_void(e, m, o, chunk);
		return clean;
	}
	/* Before its time here, or so long ago that there is no telling. */
	return tally_seq_diff(seq, m->base) >= 0;
}

static enum tally_drop said_void(struct tally_engine *e,
				 const struct tally_hdr *hdr,
				 const void *payload, u32 owner)
{
	u32 seq = tally_get32(hdr->seq), shard = tally_get16(hdr->shard), i;
	u32 from = tally_get16(hdr->rank);
	struct tally_member *m = e->by_rank[owner], *local;
	bool clean = true;

	if (e->config.node[owner] == e->config.node[from])
		return TALLY_DROP_PARTICIPANTS;
	if (seq_strange(e, seq))
		return TALLY_DROP_AHEAD;
	tally_for_each_bit(i, hdr, payload, tally_get32(hdr->chunk),
			   e->config.shard_chunks) {
		if (m && !own_voided(e, m, seq, i))
			clean = false;
		void_note(e, tally_get64(hdr->mask), owner, seq, shard, i,
			  from);
	}
	if (!m)
		return TALLY_KEEP;
	if (clean) {
		bitmap_zero(e->spare, e->config.shard_chunks);
		tally_for_each_bit(i, hdr, payload, tally_get32(hdr->chunk),
				   e->config.shard_chunks)
			set_bit(i, e->spare);
		tally_void_tell(e, m, e->config.node[from],
				TALLY_SAY_VOID_ACK, seq, shard,
				tally_get64(hdr->mask), e->spare);
		return TALLY_KEEP;
	}
	tally_for_each_member(e, local) {
		if (tally_get64(hdr->mask) >> local->rank & 1)
			tally_member_stale(e, local);
	}
	return TALLY_KEEP;
}

enum tally_drop tally_decide_control(struct tally_engine *e,
				     const struct tally_hdr *hdr,
				     const void *payload)
{
	u64 participants = tally_get64(hdr->mask);
	u32 n = tally_mask_count(participants);
	u32 owner;

	if (!(participants >> tally_get16(hdr->rank) & 1) ||
	    participants & ~e->config.members)
		return TALLY_DROP_PARTICIPANTS;
	if (tally_get16(hdr->shard) >= n)
		return TALLY_DROP_MALFORMED;
	owner = tally_shard_owner(participants, n, tally_get32(hdr->seq),
				  tally_get16(hdr->shard));
	switch (hdr->incast) {
	case TALLY_ASK_PROMISE:
		return asked_promise(e, hdr, payload, owner);
	case TALLY_SAY_PROMISE:
		return said_promise(e, hdr, payload);
	case TALLY_SAY_VOID:
		return said_void(e, hdr, payload, owner);
	case TALLY_SAY_VOID_ACK:
		if (e->config.node[owner] !=
		    e->config.node[tally_get16(hdr->rank)])
			return TALLY_DROP_PARTICIPANTS;
		tally_refuse_ack(e, hdr, payload);
		return TALLY_KEEP;
	default:
		return TALLY_DROP_MALFORMED;
	}
}
