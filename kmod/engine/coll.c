// SPDX-License-Identifier: GPL-2.0-only
/*
 * A local rank's collectives: submitted in process context, run and completed
 * in engine context, fetched in process context.
 */
#include "internal.h"

static bool submit_reliable(const struct tally_submit *req)
{
	return tally_op_reliable(req->op, req->flags);
}

/* What does not depend on the member's state. */
static int submit_check(struct tally_engine *e, u32 rank,
			struct tally_submit *req)
{
	struct tally_layout layout;
	u32 bits = tally_lane_bits(req->lane);

	if (!req->op || req->op >= __TALLY_OP_END ||
	    req->flags & ~__TALLY_SUBMIT_ALL)
		return -EINVAL;
	if (!req->participants)
		req->participants = e->config.members;
	if (req->participants & ~e->config.members)
		return -EINVAL;
	if (req->weight > TALLY_WEIGHT_MAX || req->root >= TALLY_RANKS_MAX)
		return -EINVAL;
	if (req->flags & TALLY_SUBMIT_STATE && req->op != TALLY_OP_BROADCAST)
		return -EINVAL;
	switch (req->op) {
	case TALLY_OP_REJOIN:
		return 0;
	case TALLY_OP_BARRIER:
		if (req->words)
			return -EINVAL;
		req->lane = TALLY_LANE_W64;
		break;
	case TALLY_OP_BROADCAST:
		if (!(req->participants >> req->root & 1))
			return -EINVAL;
		fallthrough;
	case TALLY_OP_ALL_GATHER:
		if (req->lane != TALLY_LANE_RAW || !req->words)
			return -EINVAL;
		break;
	default:
		if (!bits || !req->words)
			return -EINVAL;
		if (tally_lane_fixed(req->lane) &&
		    bits < TALLY_LANE_BITS_MIN +
			   tally_headroom(&e->rule, req->participants))
			return -EINVAL;
	}
	if (req->op != TALLY_OP_BROADCAST && req->root)
		return -EINVAL;
	/* A length past any cells must not overflow the layout. */
	if (req->words / e->config.cell_words > e->cells)
		return -EMSGSIZE;
	tally_layout_init(&layout, req->op, req->participants, req->seq,
			  req->words, e->config.cell_words, req->root);
	if (layout.chunks > e->cells ||
	    layout.part + !!layout.more > e->config.shard_chunks)
		return -EMSGSIZE;
	return 0;
}

/*
 * Ranks that still need the collective whose cells @c would be used again.  A
 * bounded contribution does not wait for them.
 */
static u64 submit_behind(struct tally_engine *e, struct tally_member *m,
			 const struct tally_coll *c,
			 const struct tally_submit *req)
{
	const struct tally_submit *old = &c->req;
	u64 behind = 0;
	u32 rank;

	if (!old->op || old->seq != m->next - e->window ||
	    !submit_reliable(old) || !(old->participants >> m->rank & 1))
		return 0;
	if (!submit_reliable(req) && req->participants >> m->rank & 1)
		return 0;
	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		if (old->participants & ~e->rule.local & 1ull << rank &&
		    tally_seq_diff(old->seq, READ_ONCE(e->peer[rank].done)) >=
		    0)
			behind |= 1ull << rank;
	}
	return behind;
}

/* So far behind its participants that they may not keep the outcome. */
static bool seq_stale(struct tally_engine *e, struct tally_member *m,
		      u64 participants, u32 seq)
{
	if (tally_seq_diff(seq, READ_ONCE(m->jumped)) < 0)
		return true;
	return tally_seq_diff(seq, tally_majority(e, participants, m) -
			      e->window) < 0;
}

static void stale_note(struct tally_engine *e, struct tally_member *m)
{
	tally_count(e, TALLY_COUNT_STALES, 1);
	tally_event(e, TALLY_TRACE_STALE, m->rank, READ_ONCE(m->next), 0, 0, 0,
		    0);
}

/* Under @m's lock. */
static bool rejoin_pending(struct tally_engine *e, struct tally_member *m)
{
	u32 i;

	for (i = 0; i < e->window; i++) {
		struct tally_coll *c = &m->coll[i];
		u8 state = READ_ONCE(c->state);

		if ((state == COLL_QUEUED || state == COLL_ACTIVE) &&
		    c->req.op == TALLY_OP_REJOIN)
			return true;
	}
	return false;
}

int tally_engine_submit(struct tally_engine *e, u32 rank,
			struct tally_submit *req, u64 now)
{
	struct tally_member *m = rank < TALLY_RANKS_MAX ? e->by_rank[rank] :
							  NULL;
	bool fresh = false;
	struct tally_coll *c;
	int err;

	if (!m)
		return -ENOENT;
	err = submit_check(e, rank, req);
	if (err)
		return err;

	spin_lock_bh(&m->lock);
	c = tally_coll_at(e, m, m->next);
	req->out_seq = m->next;
	req->out_missing = 0;
	req->out_flags = 0;
	if (!m->attached)
		err = -ENOTCONN;
	else if (req->seq != m->next)
		err = -EINVAL;
	else if (req->op != TALLY_OP_REJOIN &&
		 (m->stale || seq_stale(e, m, req->participants, m->next)))
		err = -ESTALE;
	else if (READ_ONCE(c->state) != COLL_FREE ||
		 (req->op == TALLY_OP_REJOIN && rejoin_pending(e, m)))
		err = -EBUSY;
	else
		req->out_missing = submit_behind(e, m, c, req);
	if (!err && req->out_missing) {
		m->wait_for = req->out_missing;
		m->wait_seq = m->next - e->window;
		err = -EAGAIN;
	}
	/* Who asks for state has none that it trusts. */
	if (err == -ESTALE || (!err && req->op == TALLY_OP_REJOIN)) {
		fresh = !m->stale;
		WRITE_ONCE(m->stale, true);
	}
	if (!err) {
		c->req = *req;
		if (!c->req.bound_us)
			c->req.bound_us = e->config.bound_us;
		c->req.bound_us = min(c->req.bound_us,
				      READ_ONCE(e->config.bound_max_us));
		if (!c->req.timeout_us)
			c->req.timeout_us = e->config.timeout_us;
		c->submit_ns = now;
		if (tally_seq_diff(c->req.seq, READ_ONCE(m->zeroed)) < 0 &&
		    !submit_reliable(req))
			req->out_flags |= TALLY_SUBMITTED_ZERO;
		c->req.out_flags = req->out_flags;
		c->cancel = false;
		m->wait_for = 0;
		m->used = true;
		WRITE_ONCE(m->next, m->next + 1);
		/* Engine context sees the request with the state. */
		smp_store_release(&c->state, COLL_QUEUED);
	}
	spin_unlock_bh(&m->lock);
	if (!err)
		tally_count(e, TALLY_COUNT_SUBMITS, 1);
	if (fresh)
		stale_note(e, m);
	if (!err || err == -EAGAIN || fresh)
		e->ops->kick(e->host);
	return err;
}

int tally_engine_fetch(struct tally_engine *e, u32 rank, u32 seq, bool any,
		       struct tally_completion *out)
{
	struct tally_member *m = rank < TALLY_RANKS_MAX ? e->by_rank[rank] :
							  NULL;
	int ret = any ? 0 : -ENOENT;
	u32 i;

	if (!m)
		return -ENOENT;
	spin_lock_bh(&m->lock);
	/* Oldest first: the ring's place after the newest is the oldest. */
	for (i = 0; i < e->window; i++) {
		struct tally_coll *c = tally_coll_at(e, m, m->next + i);
		u8 state = READ_ONCE(c->state);

		if (state == COLL_FREE || (!any && c->req.seq != seq))
			continue;
		if (state != COLL_DONE) {
			ret = 0;
			if (any)
				continue;
			break;
		}
		*out = c->out;
		WRITE_ONCE(c->state, COLL_FREE);
		ret = 1;
		break;
	}
	spin_unlock_bh(&m->lock);
	return ret;
}

u32 tally_engine_ready(struct tally_engine *e, u32 rank)
{
	struct tally_member *m = rank < TALLY_RANKS_MAX ? e->by_rank[rank] :
							  NULL;
	u32 i, ready = 0;

	if (!m)
		return 0;
	spin_lock_bh(&m->lock);
	for (i = 0; i < e->window; i++) {
		if (READ_ONCE(m->coll[i].state) == COLL_DONE)
			ready |= TALLY_READY_READ;
	}
	if (READ_ONCE(tally_coll_at(e, m, m->next)->state) == COLL_FREE &&
	    (!m->wait_for || m->stale))
		ready |= TALLY_READY_WRITE;
	spin_unlock_bh(&m->lock);
	return ready;
}

/* The owner of a shard says that a collective is at an end. */
void tally_coll_aborted(struct tally_engine *e, struct tally_member *m,
			struct tally_coll *c, u8 say, u64 mask)
{
	if (say == TALLY_SAY_SHAPE)
		tally_coll_fail(e, m, c, -EBADMSG, mask);
	else if (submit_reliable(&c->req))
		tally_coll_fail(e, m, c, say == TALLY_SAY_CANCEL ?
				-ECONNABORTED : -ETIMEDOUT, mask);
}

/* What became of shards here before this rank submitted. */
static void coll_import(struct tally_engine *e, struct tally_member *m,
			struct tally_coll *c)
{
	struct tally_member *owner;
	u32 i;

	tally_for_each_member(e, owner) {
		struct tally_owned *o = tally_owned_at(e, owner, c->req.seq);

		if (!o->valid || o->seq != c->req.seq)
			continue;
		if (o->abort_say) {
			tally_coll_aborted(e, m, c, o->abort_say,
					   o->abort_mask);
			if (READ_ONCE(c->state) != COLL_ACTIVE)
				return;
		}
		if (!o->closed)
			continue;
		for_each_set_bit(i, o->over, e->config.shard_chunks)
			tally_owned_deliver(e, o, i);
	}
}

/* What others must know of a collective: before @c is live, and once. */
void tally_coll_cut(struct tally_engine *e, struct tally_coll *c)
{
	const struct tally_submit *req = &c->req;
	u8 flags = submit_reliable(req) ? TALLY_F_RELIABLE : 0;
	struct tally_layout layout = {};

	tally_layout_init(&layout, req->op, req->participants, req->seq,
			  req->words, e->config.cell_words, req->root);
	tally_words_put(&c->layout, &layout, sizeof(layout));
	WRITE_ONCE(c->shape, tally_shape(req->op, flags, req->lane, req->dtype,
					 req->words, e->config.cell_words,
					 req->root));
	WRITE_ONCE(c->lane, req->lane);
}

/* Begin in engine context: cut up, clear cells, contribute. */
void tally_coll_activate(struct tally_engine *e, struct tally_member *m,
			 struct tally_coll *c)
{
	struct tally_submit *req = &c->req;
	u32 i;

	tally_event(e, TALLY_TRACE_SUBMIT, m->rank, req->seq, 0, 0,
		    req->participants, 0);
	WRITE_ONCE(c->live, 0);
	if (req->op == TALLY_OP_REJOIN) {
		tally_rejoin_begin(e, m, c);
		return;
	}
	c->expire_ns = c->submit_ns + 1000ull * req->timeout_us;
	tally_coll_cut(e, c);
	c->bad = false;
	WRITE_ONCE(c->progress_ns, 0ull);
	atomic_set(&c->missing, c->layout.chunks);
	atomic_set(&c->partial, 0);
	atomic_set(&c->voided, 0);
	atomic_set(&c->repaired, 0);
	atomic64_set(&c->all, req->participants);
	atomic64_set(&c->any, 0);
	atomic64_set(&c->flags, 0);
	memset(c->ask, 0, sizeof(c->ask));
	tally_owned_count(e, m, c);
	if (!(req->participants >> m->rank & 1)) {
		atomic_set(&c->missing, 0);
		WRITE_ONCE(c->state, COLL_ACTIVE);
		return;
	}
	memset(c->promised, 0, sizeof(*c->promised) * c->layout.chunks);
	tally_rtt_measure(e, m, tally_nodes_of(e, req->participants));
	tally_coll_send_init(e, m, c);
	for (i = 0; i < c->layout.chunks; i++)
		WRITE_ONCE(c->cell[i], req->seq << 3 | CELL_EMPTY);
	/* Promises bind before the first RESULT can come, VOIDs fill after. */
	tally_promise_import(e, c);
	WRITE_ONCE(c->state, COLL_ACTIVE);
	/* Receive context sees layout and open cells with it. */
	smp_store_release(&c->live, tally_live(req->seq));
	tally_promise_import(e, c);
	coll_import(e, m, c);
	if (READ_ONCE(c->state) == COLL_ACTIVE && tally_op_gathers(req->op) &&
	    tally_layout_count(&c->layout,
			       tally_shard_of(c->layout.n, req->seq,
					      tally_mask_index(req->participants,
							       m->rank))))
		tally_owned_gather(e, m, c);
}

/* What the completion says of our own shard. */
static void report_own(struct tally_engine *e, struct tally_member *m,
		       struct tally_coll *c)
{
	struct tally_owned *o = tally_owned_at(e, m, c->req.seq);
	struct tally_completion *out = &c->out;
	struct tally_shard *shard = &o->about;
	u32 i;

	memset(out->arrival_us, 0xff, sizeof(out->arrival_us));
	if (!o->valid || o->seq != c->req.seq ||
	    tally_seq_diff(o->seq, m->base - e->window) < 0 ||
	    tally_op_gathers(c->req.op))
		return;
	out->own_chunks = o->closed;
	tally_owned_arrivals(o, out->arrival_us);
	for_each_set_bit(i, o->over, e->config.shard_chunks) {
		struct tally_slot *slot = &o->chunk[i].slot;

		out->late |= slot->participants & ~slot->mask;
		out->aligned += slot->aligned;
	}
	if (e->now > shard->start_ns)
		out->close_us = (u32)div_u64(min(e->now, shard->close_ns) -
					     shard->start_ns, 1000);
}

void tally_coll_end(struct tally_engine *e, struct tally_member *m,
		    struct tally_coll *c, int status, u64 missing)
{
	struct tally_completion *out = &c->out;

	memset(out, 0, sizeof(*out));
	out->size = sizeof(*out);
	out->seq = c->req.seq;
	out->user_data = c->req.user_data;
	out->status = status;
	out->op = c->req.op;
	out->missing = missing;
	out->elapsed_us = (u32)div_u64(e->now - c->submit_ns, 1000);
	if (c->req.op == TALLY_OP_REJOIN) {
		out->state_seq = (u32)m->state_seen;
		out->root = m->state_seen >> 32 & (TALLY_RANKS_MAX - 1);
		out->mask_all = m->state_mask;
	} else if (c->live == tally_live(c->req.seq)) {
		out->flags = (u8)atomic64_read(&c->flags);
		out->mask_all = atomic64_read(&c->all);
		out->mask_any = atomic64_read(&c->any);
		out->chunks = c->layout.chunks;
		out->partial = atomic_read(&c->partial);
		out->voided = atomic_read(&c->voided);
		out->repaired = atomic_read(&c->repaired);
		out->lost = atomic_read(&c->missing);
		report_own(e, m, c);
	}
	if (!status && tally_seq_diff(c->req.seq, m->gap_from) >= 0)
		m->gap_from = c->req.seq + 1;
	tally_count(e, status ? TALLY_COUNT_ERRORS : TALLY_COUNT_COMPLETES, 1);
	tally_event(e, TALLY_TRACE_COMPLETE, m->rank, out->seq, 0, 0,
		    status ? missing : out->mask_all, status);

	spin_lock_bh(&m->lock);
	if (m->attached)
		WRITE_ONCE(c->state, COLL_DONE);
	else
		WRITE_ONCE(c->state, COLL_FREE);
	spin_unlock_bh(&m->lock);
	tally_done_advance(e, m);
	e->ops->wake(e->host, m->rank);
}

/*
 * Take no more RESULTs: no cell stays open, none is being copied to, and who
 * filled one has counted it, or would count it of the next collective.
 */
static void coll_seal(struct tally_coll *c)
{
	u32 i, full = 0;

	if (!READ_ONCE(c->live))
		return;
	for (i = 0; i < c->layout.chunks; i++) {
		while (tally_cell_state(c, i) != CELL_FULL &&
		       tally_cell_state(c, i) != CELL_DEAD) {
			if (!tally_cell_move(c, i, CELL_EMPTY, CELL_DEAD))
				tally_cell_move(c, i, CELL_PROMISED, CELL_DEAD);
			cpu_relax();
		}
		full += tally_cell_state(c, i) == CELL_FULL;
	}
	while (atomic_read(&c->missing) + full != c->layout.chunks)
		cpu_relax();
}

/* ABORT goes to other nodes: the ranks of this one are told here. */
static void fail_tell_local(struct tally_engine *e, struct tally_member *m,
			    u32 seq)
{
	struct tally_member *local;
	struct tally_coll *c;

	tally_for_each_member(e, local) {
		c = tally_coll_active(e, local, seq);
		if (local != m && c && submit_reliable(&c->req) &&
		    c->layout.participants >> m->rank & 1)
			tally_coll_fail(e, local, c, -ECONNABORTED,
					1ull << m->rank);
	}
}

/* Others need not wait for what will not come from here. */
static void fail_tell(struct tally_engine *e, struct tally_member *m,
		      struct tally_coll *c, int status, u64 missing)
{
	u32 seq = c->req.seq, n = c->layout.n, shard;
	bool ours = status == -ECANCELED || status == -ERANGE;
	struct tally_owned *o = tally_owned_at(e, m, seq);
	struct tally_shard about;
	bool open = o->valid && o->seq == seq &&
		    o->about.state == TALLY_SLOT_OPEN;

	if (ours)
		missing = 1ull << m->rank;
	if (ours || (status == -ETIMEDOUT && open))
		tally_abort_send(e, m, seq, c->req.participants, ours ?
				 TALLY_SAY_CANCEL : TALLY_SAY_SILENT, missing);
	if (ours)
		fail_tell_local(e, m, seq);
	if (!(c->layout.participants >> m->rank & 1))
		return;
	/* Who comes late asks the owner. */
	shard = tally_shard_of(n, seq, tally_mask_index(c->layout.participants,
							m->rank));
	if (!tally_layout_count(&c->layout, shard) || !(ours || open))
		return;
	tally_shard_about(c, shard, &about);
	tally_owned_abandon(e, m, &about, ours ? TALLY_SAY_CANCEL :
			    TALLY_SAY_SILENT, missing);
}

/**
 * tally_coll_fail - end an active collective with an error
 * @e: the engine
 * @m: the local rank
 * @c: its collective
 * @status: -errno
 * @missing: ranks that it is about
 *
 * A bounded collective that ends without knowing what the others hold makes
 * the rank STALE; so does a chunk that nobody keeps any more.  A reliable one
 * that fails for what this rank did ends for the others, too.
 */
void tally_coll_fail(struct tally_engine *e, struct tally_member *m,
		     struct tally_coll *c, int status, u64 missing)
{
	bool bounded = !submit_reliable(&c->req);

	coll_seal(c);
	if (c->req.op == TALLY_OP_REJOIN)
		WRITE_ONCE(m->rejoining, false);
	else if (!bounded)
		fail_tell(e, m, c, status, missing);
	tally_coll_end(e, m, c, status, missing);
	if (status == -ESTALE ||
	    (bounded && (status == -EHOSTDOWN || status == -ECANCELED ||
			 status == -ERANGE)))
		tally_member_stale(e, m);
}

/* Every seq before it is finished here; submitted ones finish at DONE. */
void tally_done_advance(struct tally_engine *e, struct tally_member *m)
{
	u32 done = m->done, next = READ_ONCE(m->next);

	while (tally_seq_diff(next, done) > 0) {
		u8 state = READ_ONCE(tally_coll_at(e, m, done)->state);

		if (tally_seq_diff(next, done) <= (s32)e->window &&
		    (state == COLL_QUEUED || state == COLL_ACTIVE))
			break;
		done++;
	}
	WRITE_ONCE(m->done, done);
	WRITE_ONCE(e->peer[m->rank].done, done);
}

/* A STALE rank's collectives end; it may only rejoin. */
void tally_stale_sweep(struct tally_engine *e, struct tally_member *m)
{
	u32 i;

	for (i = 0; i < e->window; i++) {
		struct tally_coll *c = &m->coll[i];
		/* Pairs with SUBMIT's release. */
		u8 state = smp_load_acquire(&c->state);

		if (state != COLL_QUEUED && state != COLL_ACTIVE)
			continue;
		if (c->req.op == TALLY_OP_REJOIN)
			continue;
		if (state == COLL_QUEUED)
			WRITE_ONCE(c->live, 0);
		coll_seal(c);
		tally_coll_end(e, m, c, -ESTALE, 0);
	}
}

/* This rank can no longer prove that it holds what the others hold. */
void tally_member_stale(struct tally_engine *e, struct tally_member *m)
{
	bool was;

	spin_lock_bh(&m->lock);
	was = m->stale;
	WRITE_ONCE(m->stale, true);
	spin_unlock_bh(&m->lock);
	if (!was)
		stale_note(e, m);
	tally_stale_sweep(e, m);
	e->ops->wake(e->host, m->rank);
}

/* Who a collective that ran out of time was waiting for. */
static u64 coll_waits(struct tally_engine *e, struct tally_coll *c)
{
	u64 waits = 0;
	u32 i, k;

	for (i = 0; i < c->layout.shards; i++) {
		u32 shard = tally_layout_shard(&c->layout, i);
		u32 first = tally_layout_first(&c->layout, shard);

		for (k = 0; k < tally_layout_count(&c->layout, shard); k++) {
			if (tally_cell_state(c, first + k) != CELL_FULL)
				waits |= tally_settle_waits(e, c, shard,
							    first + k);
		}
	}
	return waits;
}

/* Return: when to look at the collective again. */
u64 tally_coll_run(struct tally_engine *e, struct tally_member *m,
		   struct tally_coll *c)
{
	bool bounded = !submit_reliable(&c->req);
	u64 next, waits;

	if (c->cancel) {
		tally_coll_fail(e, m, c, -ECANCELED, 0);
		return TALLY_NEVER;
	}
	/* Whoever fetches it finds what receive contexts have copied. */
	if (!atomic_read_acquire(&c->missing)) {
		tally_coll_end(e, m, c, c->bad ? -ERANGE : 0, 0);
		return TALLY_NEVER;
	}
	if (e->now >= c->expire_ns) {
		waits = coll_waits(e, c);
		tally_coll_fail(e, m, c, c->bad ? -ERANGE :
				bounded ? -EHOSTDOWN : -ETIMEDOUT, waits);
		return TALLY_NEVER;
	}
	tally_coll_send(e, m, c);
	/* The others would wait in vain for what must not be sent. */
	if (c->bad && !bounded) {
		tally_coll_fail(e, m, c, -ERANGE, 0);
		return TALLY_NEVER;
	}
	if (!atomic_read(&c->missing))
		return e->now;
	next = tally_settle_run(e, m, c);
	if (READ_ONCE(c->state) != COLL_ACTIVE)
		return TALLY_NEVER;
	if (!atomic_read(&c->missing))
		return e->now;
	return min(next, c->expire_ns);
}

int tally_engine_cancel(struct tally_engine *e, u32 rank, u32 seq, u64 now)
{
	struct tally_member *m = rank < TALLY_RANKS_MAX ? e->by_rank[rank] :
							  NULL;
	struct tally_coll *c;
	u8 state;

	if (!m)
		return -ENOENT;
	e->now = now;
	c = tally_coll_at(e, m, seq);
	/* Pairs with SUBMIT's release. */
	state = smp_load_acquire(&c->state);
	if ((state != COLL_QUEUED && state != COLL_ACTIVE) ||
	    c->req.seq != seq)
		return -ENOENT;
	c->cancel = true;
	e->ops->kick(e->host);
	return 0;
}
