// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a member does about RESULTs that do not come: it asks the owner, then
 * everybody.  A bounded chunk that nobody holds is put to a decision.
 */
#include "internal.h"

/* Is any chunk of the shard without an outcome?  Marks them in e->spare. */
static bool shard_missing(struct tally_engine *e, struct tally_coll *c,
			  u32 shard)
{
	u32 first = tally_layout_first(&c->layout, shard);
	u32 i, state;
	bool any = false;

	bitmap_zero(e->spare, e->config.shard_chunks);
	for (i = 0; i < tally_layout_count(&c->layout, shard); i++) {
		state = tally_cell_state(c, first + i);
		if (state != CELL_EMPTY && state != CELL_PROMISED)
			continue;
		set_bit(i, e->spare);
		any = true;
	}
	return any;
}

/* A collective's shard as packets and owners describe it. */
void tally_shard_about(const struct tally_coll *c, u32 shard,
		       struct tally_shard *about)
{
	memset(about, 0, sizeof(*about));
	about->seq = c->req.seq;
	about->shape = c->shape;
	about->participants = c->layout.participants;
	about->index = shard;
	about->lane = c->req.lane;
	about->op = c->req.op;
	about->flags = tally_op_reliable(c->req.op, c->req.flags) ?
		       TALLY_F_RELIABLE : 0;
}

/* First time that missing RESULTs of a shard are asked for. */
static u64 ask_first(struct tally_engine *e, struct tally_coll *c, u32 node)
{
	u64 grace = max(2 * tally_rtt(e, node), TALLY_ASK_MIN_NS);
	u64 bound = tally_op_gathers(c->req.op) ? 0 : 1000ull * c->req.bound_us;

	return c->submit_ns + bound + grace;
}

/* Ask one node for the chunks in e->spare. */
static void ask_node(struct tally_engine *e, struct tally_member *m,
		     struct tally_coll *c, u32 shard, u32 node)
{
	struct tally_shard about;

	tally_shard_about(c, shard, &about);
	/* Before that, an owner that has nothing yet may still get it. */
	if (!(about.flags & TALLY_F_RELIABLE) && e->now >= ask_first(e, c, node))
		about.flags |= TALLY_F_VOID;
	tally_packet_chunks(e, m, node, TALLY_NACK, TALLY_ASK_RESULT,
			    c->req.seq, shard, &about, c->layout.participants,
			    e->spare, tally_layout_count(&c->layout, shard));
	tally_count(e, TALLY_COUNT_NACKS_SENT, 1);
	tally_event(e, TALLY_TRACE_NACK, m->rank, c->req.seq, shard, 0,
		    e->node[node].ranks, 0);
}

/*
 * Members that lack the same chunk begin to ask everybody one after the
 * other: the first one's answer mostly saves the rest the work.
 */
static u64 settle_ns(struct tally_engine *e, struct tally_member *m,
		     struct tally_coll *c, u32 node)
{
	u64 settle = max(1000ull * READ_ONCE(e->config.settle_us),
			 8 * e->node[node].rtt_ns);
	u32 index = tally_mask_index(c->layout.participants, m->rank);

	return settle + settle / 4 * min(index, 4u);
}

/* The owner's node is silent: ask the other participants' nodes. */
static void ask_others(struct tally_engine *e, struct tally_member *m,
		       struct tally_coll *c, u32 shard, u32 owner_node)
{
	u64 nodes = tally_nodes_of(e, c->layout.participants) &
		    ~(1ull << e->config.self | 1ull << owner_node);
	bool own = owner_node == e->config.self;
	bool reliable = tally_op_reliable(c->req.op, c->req.flags);
	struct tally_settle *ask = &c->ask[shard];
	u64 gone_ns = own ? ask->since : ask->gone_ns;
	u32 node;

	/* The owner keeps it no more, and nobody else has it. */
	if (gone_ns && (!nodes || ((own || reliable) && e->now - gone_ns >=
				   4 * settle_ns(e, m, c, owner_node)))) {
		tally_coll_fail(e, m, c, -ESTALE, e->node[owner_node].ranks &
						  c->layout.participants);
		return;
	}
	if (!own && !reliable) {
		tally_decide_ask(e, m, c, shard);
		return;
	}
	for (node = 0; node < e->config.nodes; node++) {
		if (nodes >> node & 1)
			ask_node(e, m, c, shard, node);
	}
}

/* The window went on without closing a shard of this node. */
static bool own_given_up(struct tally_engine *e, u32 owner, u32 seq)
{
	struct tally_member *m = e->by_rank[owner];
	struct tally_owned *o;

	if (!m || tally_seq_diff(m->base, seq) <= 0)
		return false;
	o = tally_owned_at(e, m, seq);
	return !o->valid || o->seq != seq || !tally_owned_publishing(e, o);
}

/*
 * A closed shard of another rank here: what nothing came for is VOID, as if a
 * node had asked.  The owner's own submit may never come, if it is STALE.
 */
static void settle_own(struct tally_engine *e, struct tally_coll *c, u32 shard,
		       u32 owner)
{
	u32 first = tally_layout_first(&c->layout, shard), i;
	struct tally_member *m = e->by_rank[owner];
	struct tally_owned *o = tally_owned_at(e, m, c->req.seq);

	if (!o->valid || o->seq != c->req.seq ||
	    o->about.state != TALLY_SLOT_CLOSED || o->about.shape != c->shape)
		return;
	for (i = 0; i < tally_layout_count(&c->layout, shard); i++) {
		if (tally_cell_state(c, first + i) != CELL_FULL &&
		    !test_bit(i, o->over))
			tally_owned_void(e, m, o, i);
	}
}

static u64 settle_shard(struct tally_engine *e, struct tally_member *m,
			struct tally_coll *c, u32 shard, bool late)
{
	u32 owner = tally_shard_owner(c->layout.participants, c->layout.n,
				      c->req.seq, shard);
	u32 node = e->config.node[owner];
	struct tally_settle *ask = &c->ask[shard];
	u64 first = late ? e->now : ask_first(e, c, node), idle, progress;
	u64 settled;

	/* A shard of this node closes by itself, unless it was given up. */
	if (node == e->config.self && !own_given_up(e, owner, c->req.seq)) {
		settle_own(e, c, shard, owner);
		return TALLY_NEVER;
	}
	/* Others' RESULTs have come and stopped coming: one may be lost. */
	progress = READ_ONCE(c->progress_ns);
	if (!ask->since && progress) {
		idle = progress +
		       max(4 * tally_rtt(e, node), TALLY_ASK_MIN_NS);
		first = min(first, idle);
	}
	if (!ask->since && e->now < first)
		return first;
	if (ask->since && e->now < ask->at)
		return ask->at;
	tally_coll_share(e, m, c, shard);
	if (!shard_missing(e, c, shard))
		return TALLY_NEVER;

	if (!ask->since)
		ask->since = max(e->now, 1ull);
	if (!ask->silent_ns)
		ask->silent_ns = max(e->now, 1ull);
	/* An owner's BUSY may have come before anything was asked. */
	if (!ask->wait_ns)
		ask->wait_ns = max(2 * tally_rtt(e, node), TALLY_ASK_MIN_NS);
	if (node != e->config.self)
		ask_node(e, m, c, shard, node);
	/* An owner may take its whole bound, unless it says that it has ended. */
	settled = ask->silent_ns + settle_ns(e, m, c, node);
	if (ask->gone_ns ||
	    (e->now >= settled && (late || e->now >= ask_first(e, c, node))))
		ask_others(e, m, c, shard, node);
	ask->at = e->now + ask->wait_ns;
	if (e->now < settled)
		ask->at = min(ask->at, settled);
	ask->wait_ns = min(ask->wait_ns + ask->wait_ns / 2, TALLY_ASK_MAX_NS);
	return ask->at;
}

u64 tally_settle_run(struct tally_engine *e, struct tally_member *m,
		     struct tally_coll *c)
{
	/* The others are done with it: it is there to be fetched. */
	bool late = tally_seq_diff(tally_majority(e, c->layout.participants, m),
				   c->req.seq) > 0;
	u64 next = TALLY_NEVER;
	u32 i;

	/* Once it has ended, its process may submit another in its place. */
	for (i = 0; i < c->layout.shards &&
	     READ_ONCE(c->state) == COLL_ACTIVE; i++)
		next = min(next, settle_shard(e, m, c,
					      tally_layout_shard(&c->layout, i),
					      late));
	return next;
}

/* Ranks that an unresolved chunk waits for, as far as we know. */
u64 tally_settle_waits(struct tally_engine *e, struct tally_coll *c, u32 shard,
		       u32 at)
{
	u32 owner = tally_shard_owner(c->layout.participants, c->layout.n,
				      c->req.seq, shard);
	u64 owners = e->node[e->config.node[owner]].ranks;
	struct tally_settle *ask = &c->ask[shard];
	struct tally_owned *o;

	if (e->by_rank[owner]) {
		o = tally_owned_at(e, e->by_rank[owner], c->req.seq);
		return o->valid && o->seq == c->req.seq ?
			tally_owned_waits(e, o) | 1ull << owner : 1ull << owner;
	}
	if (ask->waits_for)
		return ask->waits_for;
	if (tally_op_reliable(c->req.op, c->req.flags))
		return 1ull << owner;
	return (1ull << owner) |
	       (c->layout.participants & ~owners & ~c->promised[at]);
}

static void owner_gone(struct tally_engine *e, struct tally_settle *ask)
{
	ask->gone_ns = max(e->now, 1ull);
	if (!ask->since)
		ask->since = ask->gone_ns;
	ask->at = e->now;
}

/* The owner lives but is not ready, or nobody keeps it any more. */
enum tally_drop tally_busy_control(struct tally_engine *e,
				   const struct tally_hdr *hdr)
{
	u32 shard = tally_get16(hdr->shard), seq = tally_get32(hdr->seq);
	u32 node = e->config.node[tally_get16(hdr->rank)];
	enum tally_drop why = TALLY_DROP_UNWANTED;
	struct tally_member *m;
	struct tally_coll *c;
	u32 owner;

	if (hdr->incast != TALLY_SAY_OPEN && hdr->incast != TALLY_SAY_GONE)
		return TALLY_DROP_MALFORMED;
	tally_for_each_member(e, m) {
		c = tally_coll_active(e, m, seq);
		if (!c || shard >= c->layout.n ||
		    !(c->layout.participants >> tally_get16(hdr->rank) & 1) ||
		    !shard_missing(e, c, shard))
			continue;
		why = TALLY_KEEP;
		owner = tally_shard_owner(c->layout.participants, c->layout.n,
					  seq, shard);
		if (hdr->incast == TALLY_SAY_OPEN) {
			if (node != e->config.node[owner])
				continue;
			if (!c->ask[shard].since)
				c->ask[shard].since = max(e->now, 1ull);
			c->ask[shard].silent_ns = 0;
			c->ask[shard].waits_for = tally_get64(hdr->mask) &
						  c->layout.participants;
		} else {
			/*
			 * The owner forgot: the others may hold it still, so
			 * they are asked at once.  Every ask brings such an
			 * answer: the first one counts.
			 */
			if (node != e->config.node[owner])
				tally_coll_fail(e, m, c, -ESTALE,
						1ull << owner);
			else if (!c->ask[shard].gone_ns)
				owner_gone(e, &c->ask[shard]);
		}
	}
	return why;
}
