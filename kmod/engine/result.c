// SPDX-License-Identifier: GPL-2.0-only
/*
 * RESULTs and RECEIPTs enter a member's result cells.  A cell is claimed by
 * its word (seq and state), so that copies need no lock and a late copy never
 * lands in the next collective's cell.
 */
#include "internal.h"

u32 tally_cell_state(struct tally_coll *c, u32 at)
{
	/* Pairs with the release of a FULL cell: its bytes are there. */
	return smp_load_acquire(&c->cell[at]) & 7;
}

/* Move a cell of collective @seq from one state to another. */
static bool cell_claim(struct tally_coll *c, u32 seq, u32 at, u32 from, u32 to)
{
	seq <<= 3;
	return cmpxchg(&c->cell[at], seq | from, seq | to) == (seq | from);
}

/* Likewise, of the collective that @c is about; engine context. */
bool tally_cell_move(struct tally_coll *c, u32 at, u32 from, u32 to)
{
	return cell_claim(c, c->layout.seq, at, from, to);
}

/* The owner's own word, or a copy that somebody else holds? */
static bool result_from_owner(struct tally_engine *e,
			      const struct tally_layout *layout,
			      const struct tally_hdr *hdr)
{
	u32 owner = tally_shard_owner(layout->participants, layout->n,
				      layout->seq, tally_get16(hdr->shard));

	return e->config.node[owner] ==
	       e->config.node[tally_get16(hdr->rank)];
}

/* Does @hdr fit the collective?  @at receives its place in the buffer. */
static enum tally_drop result_check(struct tally_engine *e,
				    struct tally_member *m,
				    struct tally_coll *c,
				    const struct tally_layout *layout,
				    const struct tally_hdr *hdr, u32 *at)
{
	u32 shard = tally_get16(hdr->shard), chunk = tally_get32(hdr->chunk);
	u32 words = tally_get16(hdr->words);
	u64 mask = tally_get64(hdr->mask);

	if (shard >= layout->n || chunk >= tally_layout_count(layout, shard))
		return TALLY_DROP_CHUNK;
	if (!(layout->participants >> tally_get16(hdr->rank) & 1) ||
	    mask & ~layout->participants)
		return TALLY_DROP_PARTICIPANTS;
	if (tally_get32(hdr->shape) != READ_ONCE(c->shape) ||
	    hdr->lane != READ_ONCE(c->lane))
		return TALLY_DROP_MISMATCH;
	/* Only a reduce_scatter does without the values, but not its own. */
	if (hdr->type == TALLY_RECEIPT &&
	    (layout->op != TALLY_OP_REDUCE_SCATTER || (mask &&
	     tally_shard_owner(layout->participants, layout->n, layout->seq,
			       shard) == m->rank)))
		return TALLY_DROP_MISMATCH;
	*at = tally_layout_first(layout, shard) + chunk;
	if (*at >= e->cells)
		return TALLY_DROP_CHUNK;
	if (words && words != tally_layout_words(layout, *at))
		return TALLY_DROP_MALFORMED;
	if (!mask != !!(hdr->flags & TALLY_F_VOID) || (!mask && words))
		return TALLY_DROP_MALFORMED;
	return TALLY_KEEP;
}

static void cell_copy(struct tally_engine *e, struct tally_member *m,
		      u32 at, const struct tally_hdr *hdr,
		      const struct tally_payload *payload)
{
	u8 *cell = tally_result_cell(e, m, tally_get32(hdr->seq), at);
	u8 *to = cell + sizeof(*hdr);
	u32 i;

	memcpy(cell, hdr, sizeof(*hdr));
	for (i = 0; payload && i < payload->parts; i++) {
		memcpy(to, payload->part[i], 8 * payload->words[i]);
		to += 8 * payload->words[i];
	}
}

/* What the report will say of a filled cell; the usual one costs nothing. */
static void cell_note(struct tally_coll *c, u64 participants,
		      const struct tally_hdr *hdr)
{
	u64 mask = tally_get64(hdr->mask);
	u64 flags = hdr->flags & (TALLY_F_STICKY | TALLY_F_PARTIAL |
				  TALLY_F_VOID);

	if ((u64)atomic64_read(&c->any) != (atomic64_read(&c->any) | mask))
		atomic64_or(mask, &c->any);
	if (mask != participants) {
		atomic64_and(mask, &c->all);
		atomic_inc(&c->partial);
	}
	if (flags)
		atomic64_or(flags, &c->flags);
	if (hdr->flags & TALLY_F_VOID)
		atomic_inc(&c->voided);
	if (hdr->flags & TALLY_F_REPAIR)
		atomic_inc(&c->repaired);
}

/**
 * tally_cell_fill - take a RESULT into a local rank's cell
 * @e: the engine
 * @m: the local rank
 * @hdr: checked; a copy from who is not the owner carries REPAIR
 * @payload: NULL for a RECEIPT, whose @hdr->words is 0 whatever was summed
 * @now: nanoseconds
 * @done: set to true if the collective has all its chunks now
 *
 * Any context, bottom halves off.  The collective may end and another take its
 * place at any time until a cell is claimed: what was read of @c before is only
 * believed because a cell of this very @hdr->seq was still open after it.
 */
enum tally_drop tally_cell_fill(struct tally_engine *e, struct tally_member *m,
				const struct tally_hdr *hdr,
				const struct tally_payload *payload, u64 now,
				bool *done)
{
	u32 seq = tally_get32(hdr->seq), at;
	struct tally_coll *c = tally_coll_at(e, m, seq);
	struct tally_layout layout;
	enum tally_drop why;
	bool owner;

	/* Pairs with the release in tally_rejoin_begin(). */
	if (smp_load_acquire(&m->rejoining))
		tally_rejoin_seen(e, m, hdr);
	/* Pairs with the activation's release. */
	if (smp_load_acquire(&c->live) != tally_live(seq))
		return tally_seq_diff(seq, READ_ONCE(m->next)) >= 0 ?
			TALLY_DROP_AHEAD : TALLY_DROP_UNWANTED;
	tally_words_get(&layout, &c->layout, sizeof(layout));
	why = result_check(e, m, c, &layout, hdr, &at);
	if (why)
		return why;
	owner = result_from_owner(e, &layout, hdr);
	if (!owner && !(hdr->flags & TALLY_F_REPAIR))
		return TALLY_DROP_OWNER;

	if (!cell_claim(c, seq, at, CELL_EMPTY, CELL_FILLING)) {
		if (owner && tally_cell_state(c, at) == CELL_PROMISED)
			return TALLY_DROP_PROMISED;
		if (owner ||
		    !cell_claim(c, seq, at, CELL_PROMISED, CELL_FILLING))
			return TALLY_DROP_DUPLICATE;
	}
	cell_copy(e, m, at, hdr, payload);
	cell_note(c, layout.participants, hdr);
	/* Whoever finds it FULL may read it. */
	smp_store_release(&c->cell[at], seq << 3 | CELL_FULL);
	WRITE_ONCE(c->progress_ns, now);
	if (atomic_dec_and_test(&c->missing))
		*done = true;
	return TALLY_KEEP;
}

/* A chunk from a cell of another local rank, as if that had sent it. */
static void cell_share(struct tally_engine *e, struct tally_member *m,
		       struct tally_member *from, u32 seq, u32 at, bool *done)
{
	u8 *cell = tally_result_cell(e, from, seq, at);
	struct tally_hdr hdr = *(struct tally_hdr *)cell;
	u32 words = tally_get16(hdr.words);
	struct tally_payload payload = {
		.part = { tally_cell_words(cell) }, .words = { words },
		.parts = words ? 1 : 0, .total = words,
	};

	hdr.rank = tally_put16(from->rank);
	hdr.flags |= TALLY_F_REPAIR;
	local_bh_disable();
	tally_cell_fill(e, m, &hdr, &payload, e->now, done);
	local_bh_enable();
}

/**
 * tally_coll_share - take chunks that other local ranks hold
 * @e: the engine
 * @m: the local rank
 * @c: its active collective
 * @shard: of it
 *
 * One that submits late finds there what came before.  Engine context: no cell
 * that is FULL is given to another collective meanwhile.
 */
void tally_coll_share(struct tally_engine *e, struct tally_member *m,
		      struct tally_coll *c, u32 shard)
{
	u32 first = tally_layout_first(&c->layout, shard), i, state;
	u32 count = tally_layout_count(&c->layout, shard);
	struct tally_member *from;
	bool done = false;

	tally_for_each_member(e, from) {
		struct tally_coll *other = tally_coll_at(e, from, c->req.seq);

		if (from == m || !from->result ||
		    READ_ONCE(other->live) != tally_live(c->req.seq) ||
		    memcmp(&other->layout, &c->layout, sizeof(c->layout)))
			continue;
		for (i = first; i < first + count; i++) {
			state = tally_cell_state(c, i);
			if ((state == CELL_EMPTY || state == CELL_PROMISED) &&
			    tally_cell_state(other, i) == CELL_FULL)
				cell_share(e, m, from, c->req.seq, i, &done);
		}
	}
	if (done)
		e->ops->kick(e->host);
}

/* RECEIPTs: outcomes without values, from the owner or who holds them. */
enum tally_drop tally_receipt_control(struct tally_engine *e,
				      const struct tally_hdr *hdr,
				      const void *payload)
{
	enum tally_drop best = TALLY_DROP_UNWANTED, why;
	u32 i, n = tally_get16(hdr->words) / 2;
	struct tally_receipt receipt;
	struct tally_hdr one = *hdr;
	struct tally_member *m;
	bool done = false;

	one.words = 0;
	one.bias = 0;
	for (i = 0; i < n; i++) {
		/* A packet's payload need not be aligned. */
		memcpy(&receipt, payload + i * sizeof(receipt),
		       sizeof(receipt));
		one.chunk = tally_put32(tally_get32(hdr->chunk) + i);
		one.mask = receipt.mask;
		one.weight = receipt.weight;
		one.exponent = receipt.exponent;
		one.flags = receipt.flags | (hdr->flags & TALLY_F_REPAIR);
		tally_for_each_member(e, m) {
			why = tally_cell_fill(e, m, &one, NULL, e->now, &done);
			if (why == TALLY_KEEP || best == TALLY_DROP_UNWANTED)
				best = why;
		}
	}
	if (done)
		e->ops->kick(e->host);
	return best;
}
