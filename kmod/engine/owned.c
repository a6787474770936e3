// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contributions enter an owner's slots.  Any number of contexts at once; the
 * slot's lock is the only one that every packet takes.
 */
#include "internal.h"

/*
 * First packet of a collective in this slot: the shard's clock decides whether
 * it may come in.  The chunk's lock is held.
 */
static enum tally_drop owned_open(struct tally_engine *e,
				  struct tally_member *m, struct tally_owned *o,
				  struct tally_chunk *c,
				  const struct tally_hdr *hdr, u64 now)
{
	u32 chunk = tally_get32(hdr->chunk);
	enum tally_drop why;
	u8 state;
	u32 seq;

	lockdep_assert_held(&c->lock);
	spin_lock(&o->lock);
	state = o->shard.state;
	seq = o->shard.seq;
	why = tally_shard_admit(&o->shard, READ_ONCE(m->base), &e->rule, hdr,
				now);
	if (why == TALLY_KEEP) {
		if (state == TALLY_SLOT_UNUSED || seq != o->shard.seq) {
			bitmap_zero(o->full, e->config.shard_chunks);
			bitmap_zero(o->opened, e->config.shard_chunks);
		}
		tally_slot_reset(&c->slot, &o->shard);
		set_bit(chunk, o->opened);
	}
	spin_unlock(&o->lock);
	return why;
}

/*
 * Note when a packet of @rank came, late or not.  Times of arrival are hints
 * for people: no lock, and one may be lost to the shard that comes next.
 */
static tally_hint void owned_arrival(struct tally_owned *o, u32 seq, u32 rank,
				     u64 now)
{
	struct tally_shard *shard = &o->shard;
	u64 start_ns = shard->start_ns, seen, us;

	if (shard->seq != seq || now < start_ns)
		return;
	us = div_u64(now - start_ns, 1000);
	shard->arrival_us[rank] = us > U32_MAX ? U32_MAX : (u32)us;
	do {
		seen = shard->seen;
	} while (!(seen >> rank & 1) &&
		 cmpxchg(&shard->seen, seen, seen | 1ull << rank) != seen);
}

/* By rank, for a report; stays as it is for ranks that nothing came from. */
tally_hint void tally_owned_arrivals(const struct tally_owned *o,
				     u32 *arrival_us)
{
	u32 rank;

	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		if (o->shard.seen >> rank & 1)
			arrival_us[rank] = o->shard.arrival_us[rank];
	}
}

static void owned_add_words(struct tally_engine *e, struct tally_owned *o,
			    struct tally_chunk *c, const struct tally_hdr *hdr,
			    const struct tally_payload *payload, u64 over)
{
	__le64 *words = tally_cell_words(tally_owned_cell(e, o,
							  tally_get32(hdr->chunk)));
	struct tally_add add;
	u32 i;

	tally_slot_align(&c->slot, words, hdr, over, &add);
	for (i = 0; i < payload->parts; i++) {
		tally_slot_add(words, payload->part[i], payload->words[i],
			       &add);
		words += payload->words[i];
	}
}

/**
 * tally_owned_add - apply the slot rule to a checked contribution
 * @e: the engine
 * @m: the local rank that owns the shard
 * @hdr: passed tally_contrib_check()
 * @payload: as many words as @hdr says
 * @over: bits that must be clear in each word
 * @now: nanoseconds
 *
 * Bottom halves are off.
 */
enum tally_drop tally_owned_add(struct tally_engine *e, struct tally_member *m,
				const struct tally_hdr *hdr,
				const struct tally_payload *payload, u64 over,
				u64 now)
{
	u32 seq = tally_get32(hdr->seq), chunk = tally_get32(hdr->chunk);
	struct tally_owned *o = tally_owned_at(e, m, seq);
	struct tally_chunk *c = &o->chunk[chunk];
	bool full = false, first = false;
	u32 rank = tally_get16(hdr->rank);
	u32 why;

	spin_lock(&c->lock);
	why = tally_slot_admit(&c->slot, READ_ONCE(m->base), e->window, hdr,
			       now);
	if (why == TALLY_SLOT_FRESH) {
		why = owned_open(e, m, o, c, hdr, now);
		first = true;
	}
	if (why == TALLY_KEEP) {
		owned_add_words(e, o, c, hdr, payload, over);
		full = tally_slot_commit(&c->slot, hdr);
	}
	spin_unlock(&c->lock);

	if (why == TALLY_KEEP || why == TALLY_DROP_LATE)
		owned_arrival(o, seq, rank, now);
	if (why == TALLY_DROP_MISMATCH) {
		spin_lock(&o->lock);
		if (o->shard.seq == seq)
			o->shard.other = rank + 1;
		spin_unlock(&o->lock);
	}
	if (full)
		set_bit(chunk, o->full);
	if (full || first || why == TALLY_DROP_MISMATCH)
		e->ops->kick(e->host);
	return why;
}
