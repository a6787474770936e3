// SPDX-License-Identifier: GPL-2.0-only
/*
 * How an owner's shard begins in engine context: with a contribution that
 * receive context took, with our own bytes to gather, or closed from the start.
 */
#include "internal.h"

/* Fields of a RESULT that the slot does not know. */
void tally_owned_identify(struct tally_engine *e, struct tally_member *m,
			  struct tally_owned *o, u32 chunk,
			  struct tally_hdr *hdr)
{
	hdr->group = tally_put16(e->config.group);
	hdr->rank = tally_put16(m->rank);
	hdr->epoch = tally_put32(e->config.epoch);
	hdr->seq = tally_put32(o->seq);
	hdr->chunk = tally_put32(chunk);
	hdr->shard = tally_put16(o->about.index);
	hdr->done = 0;
	hdr->tag = 0;
}

/* No slot of @o's collective opens after this. */
bool tally_owned_end(struct tally_owned *o)
{
	bool ours;

	spin_lock_bh(&o->lock);
	ours = o->shard.seq == o->seq;
	if (ours)
		o->shard.state = TALLY_SLOT_CLOSED;
	spin_unlock_bh(&o->lock);
	o->about.state = TALLY_SLOT_CLOSED;
	return ours;
}

/* What engine context keeps of a shard, for a collective that is new here. */
static void owned_begin(struct tally_engine *e, struct tally_member *m,
			struct tally_owned *o)
{
	struct tally_shard *about = &o->about;
	struct tally_coll *c;

	spin_lock_bh(&o->lock);
	about->seq = o->shard.seq;
	about->shape = o->shard.shape;
	about->participants = o->shard.participants;
	about->start_ns = o->shard.start_ns;
	about->close_ns = o->shard.close_ns;
	about->index = o->shard.index;
	about->state = o->shard.state;
	about->flags = o->shard.flags;
	about->lane = o->shard.lane;
	about->op = o->shard.op;
	spin_unlock_bh(&o->lock);

	c = tally_coll_active(e, m, about->seq);
	o->valid = true;
	o->seq = about->seq;
	o->closed = 0;
	o->count = 0;
	o->abort_say = 0;
	o->abort_mask = 0;
	o->ask_at = 0;
	o->ask_ns = TALLY_ASK_MIN_NS;
	o->batch_n = 0;
	o->batch_at = 0;
	bitmap_zero(o->over, e->config.shard_chunks);
	bitmap_zero(o->publish, e->config.shard_chunks);
	bitmap_zero(o->echoed, e->config.shard_chunks);
	if (c)
		o->count = tally_layout_count(&c->layout, about->index);
}

/*
 * Take note of a collective that receive context opened the shard for.
 * Return: 1 + the rank that disagreed with the others, 0 if none.
 */
u8 tally_owned_begin_newer(struct tally_engine *e, struct tally_member *m,
			   struct tally_owned *o)
{
	bool newer;
	u8 other;

	spin_lock_bh(&o->lock);
	newer = o->shard.state != TALLY_SLOT_UNUSED &&
		(!o->valid || o->seq != o->shard.seq);
	other = o->shard.other;
	spin_unlock_bh(&o->lock);
	if (newer)
		owned_begin(e, m, o);
	return other;
}

/*
 * Take the place of a shard that nothing came for, closed from the start.
 * False if a later collective has it, or contributions came just now.
 */
static bool owned_take(struct tally_engine *e, struct tally_member *m,
		       struct tally_owned *o, const struct tally_shard *about)
{
	bool taken = false;

	spin_lock_bh(&o->lock);
	if (o->shard.state == TALLY_SLOT_UNUSED ||
	    tally_seq_diff(about->seq, o->shard.seq) > 0 ||
	    tally_seq_forgotten(o->shard.seq, m->base)) {
		o->shard.seq = about->seq;
		o->shard.shape = about->shape;
		o->shard.participants = about->participants;
		o->shard.start_ns = e->now;
		o->shard.close_ns = e->now;
		o->shard.seen = 0;
		o->shard.index = about->index;
		o->shard.flags = about->flags;
		o->shard.lane = about->lane;
		o->shard.other = 0;
		o->shard.op = about->op;
		memset(o->shard.arrival_us, 0, sizeof(o->shard.arrival_us));
		o->shard.state = TALLY_SLOT_CLOSED;
		bitmap_zero(o->full, e->config.shard_chunks);
		bitmap_zero(o->opened, e->config.shard_chunks);
		taken = true;
	}
	spin_unlock_bh(&o->lock);
	if (taken)
		owned_begin(e, m, o);
	return taken;
}

static bool in_window(struct tally_engine *e, struct tally_member *m, u32 seq)
{
	return tally_seq_diff(seq, m->base) >= 0 &&
	       tally_seq_diff(seq, m->base) < (s32)e->window;
}

/* A bounded shard is asked for that no contribution reached: it is VOID. */
void tally_owned_open_closed(struct tally_engine *e, struct tally_member *m,
			     const struct tally_shard *about)
{
	if (in_window(e, m, about->seq))
		owned_take(e, m, tally_owned_at(e, m, about->seq), about);
}

/* The shard will not end; whoever asks for it is told @say about @mask. */
static void owned_abandon(struct tally_owned *o, u8 say, u64 mask)
{
	o->abort_say = say;
	o->abort_mask = mask;
	tally_owned_end(o);
}

/**
 * tally_owned_abandon - end a shard of ours without RESULTs
 * @e: the engine
 * @m: its owner
 * @about: the shard; it may not have begun
 * @say: what those are told who ask for it: TALLY_SAY_*
 * @mask: ranks that this is about
 *
 * Return: whether it was open or had not begun; else it has RESULTs.
 */
bool tally_owned_abandon(struct tally_engine *e, struct tally_member *m,
			 const struct tally_shard *about, u8 say, u64 mask)
{
	struct tally_owned *o = tally_owned_at(e, m, about->seq);
	bool taken = in_window(e, m, about->seq) && owned_take(e, m, o, about);

	if (!taken)
		tally_owned_begin_newer(e, m, o);
	if (!o->valid || o->seq != about->seq ||
	    (!taken && o->about.state != TALLY_SLOT_OPEN))
		return false;
	owned_abandon(o, say, mask);
	return true;
}

/* Members disagree: all of them get an error, nobody waits. */
void tally_owned_mismatch(struct tally_engine *e, struct tally_member *m,
			  struct tally_owned *o, u32 other)
{
	u64 bit = 1ull << other;
	struct tally_member *local;
	struct tally_coll *c;

	spin_lock_bh(&o->lock);
	o->shard.other = 0;
	spin_unlock_bh(&o->lock);
	if (o->abort_mask & bit)
		return;
	/* Closed: the others have their RESULTs, only @other is told. */
	if (o->about.state != TALLY_SLOT_OPEN) {
		tally_abort_send(e, m, o->seq, bit, TALLY_SAY_SHAPE, bit);
	} else {
		tally_abort_send(e, m, o->seq, o->about.participants | bit,
				 TALLY_SAY_SHAPE, bit);
		owned_abandon(o, TALLY_SAY_SHAPE, o->abort_mask | bit);
	}
	tally_for_each_member(e, local) {
		c = tally_coll_active(e, local, o->seq);
		if (c && (o->abort_say || local->rank == other))
			tally_coll_fail(e, local, c, -EBADMSG, bit);
	}
}

/*
 * all_gather and broadcast begin at RESULT: our part is copied from the tx
 * cells into the slots, which outlive the process.
 */
void tally_owned_gather(struct tally_engine *e, struct tally_member *m,
			struct tally_coll *c)
{
	const struct tally_layout *layout = &c->layout;
	u32 shard = tally_shard_of(layout->n, layout->seq,
				   tally_mask_index(layout->participants,
						    m->rank));
	struct tally_shard about;
	u8 sticky = c->req.flags & TALLY_SUBMIT_STATE ? TALLY_F_REJOIN : 0;
	struct tally_owned *o = tally_owned_at(e, m, layout->seq);
	u32 i, first = tally_layout_first(layout, shard);

	tally_shard_about(c, shard, &about);
	if (!owned_take(e, m, o, &about)) {
		tally_owned_begin_newer(e, m, o);
		/* Somebody contributed to it, or we come much too late. */
		if (o->seq != layout->seq) {
			tally_coll_fail(e, m, c, -ESTALE, 0);
			return;
		}
		tally_owned_mismatch(e, m, o, m->rank);
		return;
	}
	for (i = 0; i < o->count; i++) {
		struct tally_hdr *hdr = tally_owned_cell(e, o, i);
		struct tally_slot *slot = &o->chunk[i].slot;
		u32 words = tally_layout_words(layout, first + i);

		spin_lock_bh(&o->chunk[i].lock);
		tally_slot_reset(slot, &o->about);
		/* Whoever takes it learns who takes part in it. */
		slot->mask = layout->participants;
		slot->weight = 1;
		slot->words = words;
		slot->exponent = 0;
		slot->flags |= sticky;
		memcpy(tally_cell_words(hdr),
		       tally_cell_words(tally_tx_cell(e, m, layout->seq, i)),
		       8 * words);
		tally_slot_close(slot, hdr);
		spin_unlock_bh(&o->chunk[i].lock);
		tally_owned_identify(e, m, o, i, hdr);
		o->closed++;
		set_bit(i, o->over);
		set_bit(i, o->publish);
	}
}
