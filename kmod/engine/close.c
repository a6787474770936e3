// SPDX-License-Identifier: GPL-2.0-only
/*
 * The owner's side in engine context: shards close when all their chunks are
 * full or their deadline passes, and the window moves on.
 */
#include "internal.h"

/*
 * Close one chunk.  @force: also one that participants are missing from, or
 * that nothing came for.
 */
static void owned_close(struct tally_engine *e, struct tally_member *m,
			struct tally_owned *o, u32 chunk, bool force)
{
	struct tally_hdr *hdr = tally_owned_cell(e, o, chunk);
	struct tally_chunk *c = &o->chunk[chunk];
	struct tally_slot *slot = &c->slot;
	s32 d;

	spin_lock_bh(&c->lock);
	d = slot->state == TALLY_SLOT_UNUSED ||
	    tally_seq_forgotten(slot->seq, m->base) ? -1 :
	    tally_seq_diff(slot->seq, o->seq);
	if (force && d < 0) {
		tally_slot_reset(slot, &o->about);
		d = 0;
	}
	if (d > 0) {
		/* The bit belongs to the collective that took our place. */
		spin_unlock_bh(&c->lock);
		set_bit(chunk, o->full);
		return;
	}
	if (d < 0 || slot->state == TALLY_SLOT_CLOSED ||
	    (slot->state == TALLY_SLOT_OPEN && !force)) {
		spin_unlock_bh(&c->lock);
		return;
	}
	tally_slot_close(slot, hdr);
	spin_unlock_bh(&c->lock);

	tally_owned_identify(e, m, o, chunk, hdr);
	o->closed++;
	set_bit(chunk, o->over);
	set_bit(chunk, o->publish);
	tally_count(e, hdr->flags & TALLY_F_PARTIAL ?
		    TALLY_COUNT_CLOSES_PARTIAL : TALLY_COUNT_CLOSES_FULL, 1);
	tally_count(e, TALLY_COUNT_ALIGNED, slot->aligned);
	tally_event(e, TALLY_TRACE_CLOSE, m->rank, o->seq, o->about.index,
		    chunk, slot->mask, 0);
}

/* Close all that is open: the deadline has passed, or nobody will come. */
void tally_owned_expire(struct tally_engine *e, struct tally_member *m,
			struct tally_owned *o)
{
	u32 i;

	if (!tally_owned_end(o))
		return;
	/* Ranks here that wait for it have run before. */
	e->again = true;
	for_each_set_bit(i, o->opened, e->config.shard_chunks)
		owned_close(e, m, o, i, true);
	for (i = 0; i < o->count; i++) {
		if (!test_bit(i, o->opened))
			owned_close(e, m, o, i, true);
	}
}

/* Somebody asks for a chunk of a closed shard that nothing came for. */
void tally_owned_void(struct tally_engine *e, struct tally_member *m,
		      struct tally_owned *o, u32 chunk)
{
	owned_close(e, m, o, chunk, true);
}

/*
 * Ranks that a chunk lacks.  One that nothing came for lacks all, if it is
 * known to exist.
 */
static u64 owned_lacks(struct tally_owned *o, u32 chunk)
{
	u64 lacks = chunk < o->count ? o->about.participants : 0;
	struct tally_chunk *c = &o->chunk[chunk];

	spin_lock_bh(&c->lock);
	if (c->slot.state != TALLY_SLOT_UNUSED && c->slot.seq == o->seq)
		lacks = o->about.participants & ~c->slot.mask;
	spin_unlock_bh(&c->lock);
	return lacks;
}

/* Reliable: ask each participant for the chunks that lack it. */
static void owned_ask(struct tally_engine *e, struct tally_member *m,
		      struct tally_owned *o)
{
	u32 rank, i, n = o->count ? o->count : e->config.shard_chunks;
	u64 waits = tally_owned_waits(e, o) & ~e->rule.local;
	const struct tally_shard *about = &o->about;
	unsigned long *missing = e->spare;

	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		bool any = false;

		if (!(waits >> rank & 1))
			continue;
		bitmap_zero(missing, n);
		for (i = 0; i < n; i++) {
			if (!(owned_lacks(o, i) >> rank & 1))
				continue;
			set_bit(i, missing);
			any = true;
		}
		if (!any)
			continue;
		tally_packet_chunks(e, m, e->config.node[rank], TALLY_NACK,
				    TALLY_ASK_CONTRIB, o->seq, about->index,
				    about, 1ull << rank, missing, n);
		tally_count(e, TALLY_COUNT_NACKS_SENT, 1);
		tally_event(e, TALLY_TRACE_NACK, rank, o->seq, about->index, 0,
			    1ull << rank, 0);
	}
}

/* Ranks that an open shard waits for. */
u64 tally_owned_waits(struct tally_engine *e, struct tally_owned *o)
{
	u32 i, n = o->count ? o->count : e->config.shard_chunks;
	u64 waits = 0;

	for (i = 0; i < n; i++)
		waits |= owned_lacks(o, i);
	return waits;
}

/*
 * Reliable: most of the others went on without it, and our process does not
 * wait for it either.  They have all given it up: nobody can have had it whole.
 */
static bool owned_forsaken(struct tally_engine *e, struct tally_member *m,
			   struct tally_owned *o)
{
	struct tally_shard about = o->about;

	if (!(about.flags & TALLY_F_RELIABLE) ||
	    tally_coll_active(e, m, o->seq) ||
	    tally_seq_diff(tally_majority(e, about.participants, m),
			   o->seq) <= 0)
		return false;
	return tally_owned_abandon(e, m, &about, TALLY_SAY_SILENT,
				   tally_owned_waits(e, o));
}

/* Return: when to look at the shard again. */
u64 tally_owned_run(struct tally_engine *e, struct tally_member *m,
		    struct tally_owned *o)
{
	u8 other = tally_owned_begin_newer(e, m, o);
	u64 close_ns = o->about.close_ns;
	u32 i;

	if (!o->valid)
		return TALLY_NEVER;
	if (other)
		tally_owned_mismatch(e, m, o, other - 1);

	if (o->about.state == TALLY_SLOT_OPEN) {
		for_each_set_bit(i, o->full, e->config.shard_chunks) {
			clear_bit(i, o->full);
			owned_close(e, m, o, i, false);
		}
		if (o->count && o->closed >= o->count)
			tally_owned_end(o);
		else if (e->now >= close_ns)
			tally_owned_expire(e, m, o);
	}
	tally_owned_publish(e, m, o);
	if (o->about.state != TALLY_SLOT_OPEN)
		return TALLY_NEVER;
	if (!(o->about.flags & TALLY_F_RELIABLE))
		return close_ns;
	if (!o->ask_at)
		o->ask_at = o->about.start_ns + TALLY_ASK_MIN_NS;
	if (e->now >= o->ask_at) {
		if (owned_forsaken(e, m, o))
			return TALLY_NEVER;
		owned_ask(e, m, o);
		o->ask_at = e->now + o->ask_ns;
		o->ask_ns = min(2 * o->ask_ns, TALLY_ASK_MAX_NS);
	}
	return o->ask_at;
}

/*
 * May the window move past @seq?  If its shard is closed and published or was
 * forsaken, if it has none for us, or if it is before @past and nothing is known
 * of it here: our rank received a later state, or a contribution from beyond
 * the window shows that the others went on.  Likewise if our process is done
 * with it.
 */
static bool base_passes(struct tally_engine *e, struct tally_member *m, u32 seq,
			u32 majority, u32 past)
{
	struct tally_owned *o = tally_owned_at(e, m, seq);

	tally_owned_begin_newer(e, m, o);
	if (o->valid && o->seq == seq) {
		if (o->about.state == TALLY_SLOT_OPEN &&
		    tally_seq_diff(majority, seq) > 0)
			return owned_forsaken(e, m, o);
		return o->about.state == TALLY_SLOT_CLOSED &&
		       !tally_owned_publishing(e, o);
	}
	if (m->skip[seq & (e->ring - 1)] == tally_live(seq))
		return true;
	/* Our own contribution to it waits for the window. */
	if (tally_coll_active(e, m, seq))
		return false;
	/*
	 * Our process has all its outcomes: the others voided what is ours, or
	 * the window stood still so long that @skip has forgotten.
	 */
	if (!READ_ONCE(m->stale) && tally_seq_diff(m->done, seq) > 0)
		return true;
	return tally_seq_diff(past, seq) > 0;
}

/* Most of the others finished what is before it, or a rank of this node did. */
static u32 base_majority(struct tally_engine *e, struct tally_member *m,
			 u64 ahead)
{
	u32 majority = tally_majority(e, ahead, m);
	struct tally_member *local;

	tally_for_each_member(e, local) {
		if (local != m && ahead >> local->rank & 1 &&
		    tally_seq_diff(local->done, majority) > 0)
			majority = local->done;
	}
	return majority;
}

/*
 * The window has moved by a whole ring: nothing is known of what follows up to
 * @past but our own submissions.  Where to go on, without a look at each seq
 * between: a member can say that it is 2^31 further.
 */
static u32 base_leap(struct tally_engine *e, struct tally_member *m, u32 base,
		     u32 past)
{
	u32 i, seq;

	for (i = 0; i < e->window; i++) {
		seq = READ_ONCE(m->next) + i - e->window;
		if (tally_coll_active(e, m, seq) &&
		    tally_seq_diff(seq, base) >= 0 &&
		    tally_seq_diff(past, seq) > 0)
			past = seq;
	}
	return tally_seq_diff(past, base) > 0 ? past : base;
}

void tally_base_advance(struct tally_engine *e, struct tally_member *m)
{
	u64 ahead = READ_ONCE(m->ahead);
	u32 base = m->base, majority = base, past, n = 0;

	if (ahead)
		majority = base_majority(e, m, ahead);
	/* Not so far at once that marks left behind would seem to be ahead. */
	if (tally_seq_diff(majority, base) > (s32)TALLY_SEQ_FAR)
		majority = base + TALLY_SEQ_FAR;
	past = tally_seq_diff(m->gap_to, majority) > 0 ? m->gap_to : majority;
	while (base_passes(e, m, base, majority, past)) {
		base++;
		if (++n == e->ring)
			base = base_leap(e, m, base, past);
	}
	/* What our process did not see is lost to it. */
	if (tally_seq_diff(majority, m->base) > 0 &&
	    tally_seq_diff(base, m->jumped) > 0)
		WRITE_ONCE(m->jumped, base);
	if (ahead && base != m->base)
		WRITE_ONCE(m->ahead, 0);
	if (base == m->base)
		return;
	WRITE_ONCE(m->base, base);
	tally_marks_follow(e, m);
	/* Contributions of this node may have waited for it. */
	e->again |= e->waiting;
}

/* Of a shard that closed already, chunks that nothing came for are VOID. */
static void owned_complete(struct tally_engine *e, struct tally_member *m,
			   struct tally_owned *o, u32 count)
{
	u32 i;

	o->count = count;
	if (o->about.state != TALLY_SLOT_CLOSED || o->abort_say)
		return;
	for (i = 0; i < count; i++)
		owned_close(e, m, o, i, true);
}

/* A local submit tells how many chunks our shard has, or that we have none. */
void tally_owned_count(struct tally_engine *e, struct tally_member *m,
		       struct tally_coll *c)
{
	const struct tally_layout *layout = &c->layout;
	u32 seq = layout->seq, shard, count = 0;
	struct tally_owned *o = tally_owned_at(e, m, seq);

	if (layout->participants >> m->rank & 1) {
		shard = tally_shard_of(layout->n, seq,
				       tally_mask_index(layout->participants,
							m->rank));
		count = tally_layout_count(layout, shard);
	}
	if (!count)
		m->skip[seq & (e->ring - 1)] = tally_live(seq);
	else if (o->valid && o->seq == seq)
		owned_complete(e, m, o, count);
}
