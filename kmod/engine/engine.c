// SPDX-License-Identifier: GPL-2.0-only
/* Creation, the run that does what is due, control packets, attachment. */
#include "internal.h"

static size_t bits_bytes(u32 bits)
{
	return BITS_TO_LONGS(bits) * sizeof(long);
}

static void owned_free(struct tally_owned *o)
{
	tally_free(o->full);
	tally_free(o->opened);
	tally_free(o->over);
	tally_free(o->publish);
	tally_free(o->echoed);
	tally_free(o->chunk);
	tally_free(o->cells);
}

static void member_free(struct tally_engine *e, struct tally_member *m)
{
	u32 i;

	for (i = 0; m->coll && i < e->window; i++) {
		tally_free(m->coll[i].cell);
		tally_free(m->coll[i].tosend);
		tally_free(m->coll[i].promised);
	}
	for (i = 0; m->owned && i < e->ring; i++)
		owned_free(&m->owned[i]);
	tally_free(m->coll);
	tally_free(m->owned);
	tally_free(m->skip);
}

void tally_engine_destroy(struct tally_engine *e)
{
	struct tally_member *m;
	u32 i;

	if (!e)
		return;
	tally_for_each_member(e, m)
		member_free(e, m);
	for (i = 0; e->ledger && i < e->ring; i++) {
		tally_free(e->ledger[i].promised);
		tally_free(e->ledger[i].voided);
		tally_free(e->ledger[i].acked);
	}
	tally_free(e->ledger);
	tally_free(e->spare);
	tally_free(e->spare2);
	tally_free(e->scratch);
	tally_free_keys(e, sizeof(*e));
}

static int owned_init(struct tally_engine *e, struct tally_owned *o)
{
	u32 n = e->config.shard_chunks, i;

	spin_lock_init(&o->lock);
	o->full = tally_zalloc(bits_bytes(n));
	o->opened = tally_zalloc(bits_bytes(n));
	o->over = tally_zalloc(bits_bytes(n));
	o->publish = tally_zalloc(bits_bytes(n));
	o->echoed = tally_zalloc(bits_bytes(n));
	o->chunk = tally_zalloc((size_t)n * sizeof(*o->chunk));
	o->cells = tally_zalloc((size_t)n * e->cell_bytes);
	if (!o->full || !o->opened || !o->over || !o->publish || !o->echoed ||
	    !o->chunk || !o->cells)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		spin_lock_init(&o->chunk[i].lock);
	return 0;
}

static int member_init(struct tally_engine *e, struct tally_member *m, u32 rank)
{
	u32 i;

	spin_lock_init(&m->lock);
	m->rank = rank;
	m->next = e->config.seq;
	m->done = e->config.seq;
	m->base = e->config.seq;
	m->jumped = e->config.seq;
	m->zeroed = e->config.seq;
	m->gap_from = e->config.seq;
	m->gap_to = e->config.seq;
	m->coll = tally_zalloc(e->window * sizeof(*m->coll));
	m->owned = tally_zalloc(e->ring * sizeof(*m->owned));
	m->skip = tally_zalloc(e->ring * sizeof(*m->skip));
	if (!m->coll || !m->owned || !m->skip)
		return -ENOMEM;
	for (i = 0; i < e->window; i++) {
		struct tally_coll *c = &m->coll[i];

		c->cell = tally_zalloc((size_t)e->cells * sizeof(*c->cell));
		c->tosend = tally_zalloc(bits_bytes(e->cells));
		c->promised = tally_zalloc((size_t)e->cells *
					   sizeof(*c->promised));
		if (!c->cell || !c->tosend || !c->promised)
			return -ENOMEM;
	}
	for (i = 0; i < e->ring; i++) {
		if (owned_init(e, &m->owned[i]))
			return -ENOMEM;
	}
	return 0;
}

static int engine_init(struct tally_engine *e)
{
	u32 i, rank;

	e->ledger = tally_zalloc(e->ring * sizeof(*e->ledger));
	e->spare = tally_zalloc(bits_bytes(e->config.shard_chunks));
	e->spare2 = tally_zalloc(bits_bytes(e->config.shard_chunks));
	e->scratch = tally_zalloc((size_t)TALLY_SCRATCH * 8 *
				  e->config.cell_words);
	if (!e->ledger || !e->spare || !e->spare2 || !e->scratch)
		return -ENOMEM;
	for (i = 0; i < e->ring; i++) {
		e->ledger[i].promised = tally_zalloc(bits_bytes(e->cells));
		e->ledger[i].voided = tally_zalloc(bits_bytes(e->cells));
		e->ledger[i].acked = tally_zalloc(bits_bytes(e->cells));
		if (!e->ledger[i].promised || !e->ledger[i].voided ||
		    !e->ledger[i].acked)
			return -ENOMEM;
	}
	for (i = 0, rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		if (!(e->rule.local >> rank & 1))
			continue;
		e->by_rank[rank] = &e->member[i];
		if (member_init(e, &e->member[i++], rank))
			return -ENOMEM;
	}
	return 0;
}

void tally_engine_limits(struct tally_engine *e, u32 bound_max_us,
			 u32 settle_us)
{
	WRITE_ONCE(e->config.bound_max_us, bound_max_us);
	WRITE_ONCE(e->config.settle_us, settle_us ?: TALLY_SETTLE_US);
	WRITE_ONCE(e->rule.bound_max_ns, 1000ull * bound_max_us);
}

static void rule_init(struct tally_engine *e)
{
	const struct tally_engine_config *config = &e->config;
	struct tally_rule *rule = &e->rule;
	u32 rank;

	rule->members = config->members;
	rule->bound_max_ns = 1000ull * config->bound_max_us;
	rule->epoch = config->epoch;
	rule->shard_chunks = config->shard_chunks;
	rule->group = config->group;
	rule->cell_words = config->cell_words;
	rule->window = config->window;
	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		if (!(config->members >> rank & 1))
			continue;
		rule->caps[rank] = config->caps[rank];
		rule->capped |= !!config->caps[rank];
		e->node[config->node[rank]].ranks |= 1ull << rank;
	}
	rule->local = e->node[config->self].ranks;
	e->rule_any = *rule;
	e->rule_any.local = rule->members;
}

static u32 config_locals(const struct tally_engine_config *config)
{
	u32 rank, n = 0;

	for (rank = 0; rank < TALLY_RANKS_MAX; rank++)
		n += config->members >> rank & 1 &&
		     config->node[rank] == config->self;
	return n;
}

struct tally_engine *tally_engine_create(const struct tally_engine_config *config,
					 const struct tally_engine_ops *ops,
					 void *host)
{
	u32 locals = config_locals(config), rank;
	struct tally_engine *e;

	if (!locals)
		return NULL;
	e = tally_zalloc(sizeof(*e) + locals * sizeof(e->member[0]));
	if (!e)
		return NULL;
	e->config = *config;
	e->config.key = NULL;
	e->ops = ops;
	e->host = host;
	e->window = config->window;
	e->ring = 2 * config->window;
	e->cells = tally_config_cells(config);
	e->cell_bytes = tally_config_cell_bytes(config);
	e->members = locals;
	e->floor = config->seq;
	for (rank = 0; rank < TALLY_RANKS_MAX; rank++)
		e->peer[rank].done = config->seq;
	if (!e->config.settle_us)
		e->config.settle_us = TALLY_SETTLE_US;
	rule_init(e);
	tally_keys_init(&e->keys, config->key, config->group, config->epoch);
	if (engine_init(e)) {
		tally_engine_destroy(e);
		return NULL;
	}
	return e;
}

u64 tally_engine_bytes(const struct tally_engine_config *config)
{
	u64 cells = tally_config_cells(config), n = config->shard_chunks;
	u64 coll = sizeof(struct tally_coll) + cells * 12 + bits_bytes(cells);
	u64 owned = sizeof(struct tally_owned) + 5 * bits_bytes(n) +
		    n * (sizeof(struct tally_chunk) +
			 tally_config_cell_bytes(config));
	u64 member = sizeof(struct tally_member) + config->window *
		     (coll + 2 * owned + 2 * sizeof(u64));

	return sizeof(struct tally_engine) + config_locals(config) * member +
	       2ull * config->window * (sizeof(struct tally_ledger) +
					3 * bits_bytes(cells)) +
	       2 * bits_bytes(n) + TALLY_SCRATCH * 8ull * config->cell_words;
}

const struct tally_keys *tally_engine_keys(const struct tally_engine *e)
{
	return &e->keys;
}

const struct tally_rule *tally_engine_rule(const struct tally_engine *e)
{
	return &e->rule;
}

/* Collectives of one rank, oldest first. */
static u64 member_colls(struct tally_engine *e, struct tally_member *m)
{
	u32 next = READ_ONCE(m->next), i;
	u64 when = TALLY_NEVER;

	if (READ_ONCE(m->stale))
		tally_stale_sweep(e, m);
	for (i = 0; i < e->window; i++) {
		struct tally_coll *c = tally_coll_at(e, m, next + i);

		/* Pairs with SUBMIT's release. */
		if (smp_load_acquire(&c->state) == COLL_QUEUED)
			tally_coll_activate(e, m, c);
		if (READ_ONCE(c->state) != COLL_ACTIVE)
			continue;
		when = min(when, c->req.op == TALLY_OP_REJOIN ?
				 tally_rejoin_run(e, m, c) :
				 tally_coll_run(e, m, c));
	}
	return when;
}

static u64 member_run(struct tally_engine *e, struct tally_member *m)
{
	u64 when;
	u32 i;

	when = member_colls(e, m);
	for (i = 0; i < e->ring; i++)
		when = min(when, tally_owned_run(e, m, &m->owned[i]));
	tally_base_advance(e, m);
	return min(when, tally_wait_run(e, m));
}

u64 tally_engine_run(struct tally_engine *e, u64 now)
{
	struct tally_member *m;
	u64 when = TALLY_NEVER;

	e->now = now;
	e->again = false;
	e->waiting = false;
	e->full = false;
	e->budget = TALLY_BUDGET;
	tally_for_each_member(e, m)
		when = min(when, member_run(e, m));
	when = min(when, tally_refuse_run(e));
	e->ops->flush(e->host);
	if (e->full)
		return min(when, now + TALLY_RETRY_NS);
	return e->again ? now : when;
}

/* A collective cannot end: another member says so. */
static enum tally_drop abort_control(struct tally_engine *e,
				     const struct tally_hdr *hdr)
{
	u32 seq = tally_get32(hdr->seq), rank = tally_get16(hdr->rank);
	u64 mask = tally_get64(hdr->mask) & e->config.members;
	enum tally_drop why = TALLY_DROP_UNWANTED;
	struct tally_member *m;

	/* It may disagree because it holds what we voided. */
	if (atomic64_read(&e->refuse) >> rank & 1)
		return TALLY_DROP_VOIDED;
	if (hdr->incast != TALLY_SAY_SHAPE && hdr->incast != TALLY_SAY_CANCEL &&
	    hdr->incast != TALLY_SAY_SILENT)
		return TALLY_DROP_MALFORMED;
	tally_for_each_member(e, m) {
		struct tally_coll *c = tally_coll_active(e, m, seq);

		if (!c || !(c->layout.participants >> rank & 1))
			continue;
		why = TALLY_KEEP;
		tally_coll_aborted(e, m, c, hdr->incast, mask);
	}
	return why;
}

enum tally_drop tally_engine_control(struct tally_engine *e,
				     const struct tally_hdr *hdr,
				     const void *payload, u64 now)
{
	enum tally_drop why = TALLY_DROP_TYPE;

	e->now = now;
	e->budget = TALLY_BUDGET;
	tally_peer_seen(e, hdr, now);
	switch (hdr->type) {
	case TALLY_RECEIPT:
		why = tally_receipt_control(e, hdr, payload);
		break;
	case TALLY_NACK:
		why = tally_nack_control(e, hdr, payload);
		break;
	case TALLY_PROBE:
	case TALLY_PROBE_ACK:
		why = tally_probe_control(e, hdr);
		break;
	case TALLY_ABORT:
		why = abort_control(e, hdr);
		break;
	case TALLY_BUSY:
		why = tally_busy_control(e, hdr);
		break;
	case TALLY_DECIDE:
		why = tally_decide_control(e, hdr, payload);
		break;
	}
	e->ops->flush(e->host);
	/* What was learnt may have made something due. */
	e->ops->kick(e->host);
	return why;
}

int tally_engine_attach(struct tally_engine *e, u32 rank, void *tx,
			void *result, u32 *seq, bool *stale)
{
	struct tally_member *m = rank < TALLY_RANKS_MAX ? e->by_rank[rank] :
							  NULL;
	u32 i;

	if (!m)
		return -ENOENT;
	spin_lock_bh(&m->lock);
	if (m->attached) {
		spin_unlock_bh(&m->lock);
		return -EBUSY;
	}
	for (i = 0; i < e->window; i++)
		m->coll[i].state = COLL_FREE;
	m->tx = tx;
	m->result = result;
	WRITE_ONCE(m->stale, m->used ||
		   tally_seq_diff(m->next,
				  tally_majority(e, e->config.members, m) -
				  e->window) < 0);
	m->wait_for = 0;
	m->attached = true;
	*seq = m->next;
	*stale = m->stale;
	spin_unlock_bh(&m->lock);
	return 0;
}

void tally_engine_detach(struct tally_engine *e, u32 rank, u64 now)
{
	struct tally_member *m = rank < TALLY_RANKS_MAX ? e->by_rank[rank] :
							  NULL;
	u32 i;

	if (!m || !m->attached)
		return;
	e->now = now;
	spin_lock_bh(&m->lock);
	m->attached = false;
	m->wait_for = 0;
	spin_unlock_bh(&m->lock);
	for (i = 0; i < e->window; i++) {
		struct tally_coll *c = &m->coll[i];

		if (c->state == COLL_QUEUED) {
			WRITE_ONCE(c->live, 0);
			if (c->req.op != TALLY_OP_REJOIN)
				tally_coll_cut(e, c);
		}
		if (c->state == COLL_QUEUED || c->state == COLL_ACTIVE)
			tally_coll_fail(e, m, c, -ECANCELED, 0);
		WRITE_ONCE(c->state, COLL_FREE);
		WRITE_ONCE(c->live, 0);
	}
	e->ops->flush(e->host);
	m->tx = NULL;
	m->result = NULL;
}

void tally_engine_member(struct tally_engine *e, u32 rank,
			 struct tally_member_state *state)
{
	struct tally_member *m = e->by_rank[rank];

	memset(state, 0, sizeof(*state));
	if (m) {
		state->attached = m->attached;
		state->stale = m->stale;
		state->done = m->done;
	} else {
		state->done = READ_ONCE(e->peer[rank].done);
		state->seen_ns = READ_ONCE(e->peer[rank].seen_ns);
	}
}

/* The highest seq that this node has heard of. */
u32 tally_engine_seq(struct tally_engine *e)
{
	struct tally_member *m;
	u32 seq = e->config.seq, rank;

	tally_for_each_member(e, m) {
		if (tally_seq_diff(READ_ONCE(m->next), seq) > 0)
			seq = READ_ONCE(m->next);
		if (tally_seq_diff(m->base, seq) > 0)
			seq = m->base;
	}
	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		if (tally_seq_diff(READ_ONCE(e->peer[rank].done), seq) > 0)
			seq = READ_ONCE(e->peer[rank].done);
	}
	return seq;
}
