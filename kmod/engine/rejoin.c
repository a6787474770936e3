// SPDX-License-Identifier: GPL-2.0-only
/*
 * A STALE rank comes back.  It takes part in what the group runs with blocks
 * of zeros of weight 0 that carry REJOIN; the flag reaches every member in the
 * same RESULT.  At the next step boundary one of them broadcasts the state;
 * that broadcast's first collective is where the rank submits again.
 */
#include "internal.h"

#define STATE_CLAIM	(1ull << 62)
#define STATE_SEEN	(1ull << 63)

void tally_rejoin_begin(struct tally_engine *e, struct tally_member *m,
			struct tally_coll *c)
{
	u32 from = m->base;

	WRITE_ONCE(m->state_seen, 0ull);
	/* Not where it has contributed: a block of zeros would hide that. */
	if (tally_seq_diff(c->req.seq, from) > 0)
		from = c->req.seq;
	WRITE_ONCE(m->rejoin_from, from);
	c->expire_ns = c->submit_ns + 1000ull * c->req.timeout_us;
	WRITE_ONCE(c->state, COLL_ACTIVE);
	/* Receive context sees what a state must be later than. */
	smp_store_release(&m->rejoining, true);
}

/* Receive context: is this the first part of a state transfer? */
void tally_rejoin_seen(struct tally_engine *e, struct tally_member *m,
		       const struct tally_hdr *hdr)
{
	u32 seq = tally_get32(hdr->seq), shard = tally_get16(hdr->shard);
	u64 participants = tally_get64(hdr->mask);
	u32 n = tally_mask_count(participants);

	if (hdr->lane != TALLY_LANE_RAW || !(hdr->flags & TALLY_F_REJOIN) ||
	    !(participants >> m->rank & 1) ||
	    participants & ~e->config.members || shard >= n ||
	    tally_seq_diff(seq, READ_ONCE(m->rejoin_from)) < 0)
		return;
	if (cmpxchg(&m->state_seen, 0ull, STATE_CLAIM))
		return;
	m->state_mask = participants;
	/* Engine context sees the mask with it. */
	smp_store_release(&m->state_seen, STATE_SEEN | seq |
			  (u64)tally_shard_owner(participants, n, seq, shard)
			  << 32);
	e->ops->kick(e->host);
}

/* Take part in one chunk of a collective that our own shard has seen. */
static void rejoin_echo(struct tally_engine *e, struct tally_member *m,
			struct tally_owned *o, u32 chunk)
{
	const struct tally_shard *shard = &o->about;
	u32 n = tally_mask_count(shard->participants), i, owner;
	struct tally_payload none = {};
	struct tally_hdr hdr;

	if (tally_seq_diff(o->seq, m->zeroed) >= 0)
		WRITE_ONCE(m->zeroed, o->seq + 1);
	for (i = 0; i < n; i++) {
		tally_packet_init(e, &hdr, TALLY_CONTRIB, m);
		hdr.lane = shard->lane;
		hdr.flags = TALLY_F_REJOIN;
		hdr.incast = shard->op;
		hdr.seq = tally_put32(o->seq);
		hdr.chunk = tally_put32(chunk);
		hdr.shard = tally_put16(i);
		hdr.mask = tally_put64(shard->participants);
		hdr.shape = tally_put32(shard->shape);
		hdr.time = tally_put16(tally_time_pack(div_u64(shard->close_ns -
							       shard->start_ns,
							       1000)));
		/* It needs nothing that came before. */
		hdr.done = hdr.seq;
		owner = tally_shard_owner(shard->participants, n, o->seq, i);
		if (e->by_rank[owner]) {
			local_bh_disable();
			tally_owned_add(e, e->by_rank[owner], &hdr, &none, 0,
					e->now);
			local_bh_enable();
		} else {
			tally_packet_send(e, e->config.node[owner], &hdr, NULL);
		}
	}
}

static void rejoin_shard(struct tally_engine *e, struct tally_member *m,
			 struct tally_owned *o)
{
	u32 i;

	/* In this very run: the next one may be that of its deadline. */
	tally_owned_begin_newer(e, m, o);
	if (!o->valid || o->about.state != TALLY_SLOT_OPEN ||
	    o->about.flags & TALLY_F_RELIABLE ||
	    !(o->about.participants >> m->rank & 1) ||
	    tally_seq_diff(o->seq, m->rejoin_from) < 0)
		return;
	for_each_set_bit(i, o->opened, e->config.shard_chunks) {
		if (!e->budget || e->full)
			return;
		if (!test_bit(i, o->echoed)) {
			set_bit(i, o->echoed);
			rejoin_echo(e, m, o, i);
		}
	}
}

/*
 * The others are past @seq.  How many chunks a shard before it has, only a
 * submit would have told; the window must not wait for its deadline, or what
 * they contribute next is ahead.
 */
static void rejoin_close(struct tally_engine *e, struct tally_member *m,
			 struct tally_owned *o, u32 seq)
{
	if (o->valid && o->about.state == TALLY_SLOT_OPEN &&
	    !(o->about.flags & TALLY_F_RELIABLE) &&
	    tally_seq_diff(seq, o->seq) > 0)
		tally_owned_expire(e, m, o);
}

/* Return: when to look again. */
u64 tally_rejoin_run(struct tally_engine *e, struct tally_member *m,
		     struct tally_coll *c)
{
	/* Pairs with the release in tally_rejoin_seen(). */
	u64 seen = smp_load_acquire(&m->state_seen);
	u32 i, seq = (u32)seen;

	if (!(seen & STATE_SEEN))
		seen = 0;
	if (c->cancel || (!seen && e->now >= c->expire_ns)) {
		tally_coll_fail(e, m, c, c->cancel ? -ECANCELED : -ETIMEDOUT,
				0);
		return TALLY_NEVER;
	}
	if (!seen) {
		for (i = 0; i < e->ring; i++)
			rejoin_shard(e, m, &m->owned[i]);
		return c->expire_ns;
	}
	WRITE_ONCE(m->rejoining, false);
	for (i = 0; i < e->ring; i++)
		rejoin_close(e, m, &m->owned[i], seq);
	m->gap_to = seq;
	spin_lock_bh(&m->lock);
	WRITE_ONCE(m->next, seq);
	WRITE_ONCE(m->stale, false);
	spin_unlock_bh(&m->lock);
	WRITE_ONCE(m->done, seq);
	WRITE_ONCE(e->peer[m->rank].done, seq);
	tally_event(e, TALLY_TRACE_REJOINED, m->rank, seq, 0, 0, 0, 0);
	tally_coll_end(e, m, c, 0, 0);
	return TALLY_NEVER;
}
