// SPDX-License-Identifier: GPL-2.0-only
/*
 * A collective's contributions leave: to remote owners as packets, to shards
 * of this node straight into their slots.
 */
#include "internal.h"

/* Chunks of @shard to contribute, from the first on. */
static void send_all(struct tally_coll *c, u32 shard)
{
	u32 first = tally_layout_first(&c->layout, shard), i;

	for (i = 0; i < tally_layout_count(&c->layout, shard); i++)
		set_bit(first + i, c->tosend);
	c->cursor[shard] = 0;
	c->sending |= 1ull << shard;
}

void tally_coll_send_init(struct tally_engine *e, struct tally_member *m,
			  struct tally_coll *c)
{
	u32 i;

	c->sending = 0;
	c->sent = 0;
	bitmap_zero(c->tosend, e->cells);
	if (tally_op_gathers(c->req.op))
		return;
	for (i = 0; i < c->layout.shards; i++)
		send_all(c, i);
}

/* The owner asks for some again; @chunks counts from the shard's first. */
void tally_coll_resend(struct tally_coll *c, u32 shard, u32 chunk)
{
	set_bit(tally_layout_first(&c->layout, shard) + chunk, c->tosend);
	c->cursor[shard] = 0;
	c->sending |= 1ull << shard;
	c->sent |= 1ull << shard;
}

/*
 * Header of a contribution.  The process can write to its cell at any time:
 * each field is read once.  False if it is out of range.
 */
static bool contrib_header(struct tally_engine *e, struct tally_member *m,
			   struct tally_coll *c, u32 shard, u32 chunk, u32 at,
			   struct tally_hdr *hdr)
{
	struct tally_hdr *cell = (struct tally_hdr *)
				 tally_tx_cell(e, m, c->req.seq, at);
	u32 count = tally_layout_count(&c->layout, shard);
	u64 weight;
	u32 owner;

	tally_packet_init(e, hdr, TALLY_CONTRIB, m);
	hdr->lane = c->req.lane;
	hdr->incast = c->req.op;
	hdr->seq = tally_put32(c->req.seq);
	hdr->chunk = tally_put32(chunk);
	hdr->shard = tally_put16(shard);
	hdr->time = tally_put16(tally_time_pack(c->req.bound_us));
	hdr->mask = tally_put64(c->layout.participants);
	hdr->shape = tally_put32(c->shape);
	hdr->weight = tally_put32(c->req.weight);
	if (tally_op_reliable(c->req.op, c->req.flags))
		hdr->flags |= TALLY_F_RELIABLE;
	if (c->sent >> shard & 1)
		hdr->flags |= TALLY_F_REPAIR;
	if (chunk + max(1u, DIV_ROUND_UP(count, 100)) >= count)
		hdr->flags |= TALLY_F_TAIL;
	if (c->req.op == TALLY_OP_BARRIER)
		return true;
	/* Owners have zeros from us: what we send now must not differ. */
	if (c->req.out_flags & TALLY_SUBMITTED_ZERO) {
		hdr->weight = 0;
		return true;
	}

	weight = (u64)c->req.weight + tally_get32(READ_ONCE(cell->weight));
	if (weight > TALLY_WEIGHT_MAX)
		return false;
	hdr->weight = tally_put32((u32)weight);
	hdr->flags |= READ_ONCE(cell->flags) & TALLY_F_NONFINITE;
	hdr->words = READ_ONCE(cell->words);
	if (hdr->words) {
		hdr->exponent = READ_ONCE(cell->exponent);
		hdr->bias = READ_ONCE(cell->bias);
		if (tally_get16(hdr->words) !=
		    tally_layout_words(&c->layout, at))
			return false;
	}
	return !tally_contrib_check(&e->rule_any, hdr, &owner);
}

/*
 * To a shard of this node: the slot rule, without a packet.  False if the
 * owner's window has yet to move; tally_base_advance() sees to another run.
 */
static bool contrib_local(struct tally_engine *e, struct tally_member *m,
			  struct tally_coll *c, struct tally_member *owner,
			  const struct tally_hdr *hdr, u32 at)
{
	u32 words = tally_get16(hdr->words);
	struct tally_payload payload = {
		.part = { tally_cell_words(tally_tx_cell(e, m, c->req.seq,
							 at)) },
		.words = { words },
		.parts = 1,
		.total = words,
	};
	u64 over = tally_contrib_over(&e->rule, hdr);
	struct tally_scan scan = {};
	enum tally_drop why;

	tally_scan_words(&scan, &e->keys, 0, payload.part[0], words);
	if (scan.over & over) {
		c->bad = true;
		return true;
	}
	local_bh_disable();
	why = tally_owned_add(e, owner, hdr, &payload, over, e->now);
	local_bh_enable();
	if (why == TALLY_KEEP)
		tally_count(e, TALLY_COUNT_LOCAL_CONTRIB, 1);
	if (why == TALLY_DROP_AHEAD &&
	    !(hdr->flags & TALLY_F_RELIABLE))
		WRITE_ONCE(owner->ahead, c->layout.participants);
	if (why != TALLY_DROP_AHEAD)
		return true;
	e->waiting = true;
	return false;
}

/* One chunk to its owner.  False if it cannot leave now. */
static bool send_chunk(struct tally_engine *e, struct tally_member *m,
		       struct tally_coll *c, u32 shard, u32 rank, u32 chunk,
		       u32 at)
{
	struct tally_hdr hdr;
	u8 *cell;

	if (!contrib_header(e, m, c, shard, chunk, at, &hdr)) {
		c->bad = true;
		return true;
	}
	if (e->by_rank[rank])
		return contrib_local(e, m, c, e->by_rank[rank], &hdr, at);
	cell = tally_tx_cell(e, m, c->req.seq, at);
	return tally_packet_send(e, e->config.node[rank], &hdr,
				 tally_cell_words(cell));
}

/* Up to a burst of chunks to one owner; how many left. */
static u32 send_burst(struct tally_engine *e, struct tally_member *m,
		      struct tally_coll *c, u32 shard)
{
	u32 first = tally_layout_first(&c->layout, shard);
	u32 end = first + tally_layout_count(&c->layout, shard);
	u32 rank = tally_shard_owner(c->layout.participants, c->layout.n,
				     c->req.seq, shard);
	u32 n, at;

	for (n = 0; n < TALLY_BURST && e->budget; n++) {
		at = find_next_bit(c->tosend, end, first + c->cursor[shard]);
		if (at >= end) {
			c->sending &= ~(1ull << shard);
			c->sent |= 1ull << shard;
			break;
		}
		if (!send_chunk(e, m, c, shard, rank, at - first, at))
			break;
		clear_bit(at, c->tosend);
		c->cursor[shard] = at - first + 1;
	}
	return n;
}

/*
 * Owners are visited in an order that begins with ourselves, so that the
 * members of a group do not all begin with the same one.
 */
void tally_coll_send(struct tally_engine *e, struct tally_member *m,
		     struct tally_coll *c)
{
	u32 n = c->layout.n, i, shard, left = 1;
	u32 index = tally_mask_index(c->layout.participants, m->rank);

	while (c->sending && e->budget && !e->full && left) {
		left = 0;
		for (i = 0; i < n && !e->full; i++) {
			shard = tally_shard_of(n, c->req.seq, (index + i) % n);
			if (c->sending >> shard & 1)
				left += send_burst(e, m, c, shard);
		}
	}
	if (c->sending && left)
		e->again = true;
}
