// SPDX-License-Identifier: GPL-2.0-only
#include "double.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define FAKE_GROUP	7

struct fake_group *fake_group_create(uint32_t ranks, uint32_t window,
				     uint32_t cell_words, uint32_t shard_chunks)
{
	struct fake_group *g = calloc(1, sizeof(*g));
	pthread_condattr_t attr;
	uint32_t i;

	g->ranks = ranks;
	g->window = window;
	g->cells = ranks * shard_chunks;
	g->cell_bytes = sizeof(struct tally_hdr) + 8 * cell_words;
	g->scratch = calloc(1, g->cell_bytes);
	g->timeout_us = 2000000;
	g->rule.members = ranks == 64 ? ~0ull : (1ull << ranks) - 1;
	g->rule.local = g->rule.members;
	g->rule.shard_chunks = shard_chunks;
	g->rule.group = FAKE_GROUP;
	g->rule.epoch = 1;
	g->rule.cell_words = (__u16)cell_words;
	g->rule.window = (__u16)window;
	pthread_mutex_init(&g->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&g->cond, &attr);
	pthread_condattr_destroy(&attr);
	for (i = 0; i < ranks; i++) {
		g->member[i].group = g;
		g->member[i].rank = i;
		g->member[i].fd = -1;
	}
	return g;
}

void fake_group_destroy(struct fake_group *g)
{
	pthread_cond_destroy(&g->cond);
	pthread_mutex_destroy(&g->lock);
	free(g->scratch);
	free(g);
}

void fake_stale(struct fake_group *g, uint32_t rank)
{
	pthread_mutex_lock(&g->lock);
	g->member[rank].stale = true;
	pthread_mutex_unlock(&g->lock);
}

static size_t cell_at(const struct fake_group *g, uint32_t seq, uint32_t at)
{
	return ((size_t)(seq % g->window) * g->cells + at) * g->cell_bytes;
}

static void push(struct fake_member *m, const struct tally_completion *c)
{
	uint64_t one = 1;

	m->queue[m->queued++] = *c;
	if (write(m->fd, &one, sizeof(one)) != sizeof(one))
		abort();
	pthread_cond_broadcast(&m->group->cond);
}

static bool is_zeroed(const struct fake_member *m, uint32_t seq)
{
	struct fake_group *g = m->group;

	return g->zeroed && g->zeroed(g, seq) >> m->rank & 1;
}

/* What the module makes of a tx cell; non-zero if it would refuse it. */
static int make_contrib(const struct fake_member *m,
			const struct tally_submit *s,
			const struct tally_layout *layout, uint32_t shard,
			uint32_t chunk, uint32_t at, struct tally_hdr *hdr)
{
	const struct fake_group *g = m->group;
	const struct tally_hdr *tx = (void *)(m->tx + cell_at(g, s->seq, at));
	const struct tally_hdr zero = { .exponent = TALLY_EXP_NONE };
	bool zeroed = m->rejoining || is_zeroed(m, s->seq);
	uint32_t weight = zeroed ? 0 :
			  m->pending[s->seq % g->window].weight;
	uint32_t owner, i;
	const uint64_t *words = (const uint64_t *)(tx + 1);
	uint64_t over = 0;

	if (zeroed)
		tx = &zero;
	memset(hdr, 0, sizeof(*hdr));
	hdr->version = TALLY_VERSION;
	hdr->type = TALLY_CONTRIB;
	hdr->lane = s->lane;
	hdr->flags = tx->flags & TALLY_F_NONFINITE;
	if (m->rejoining)
		hdr->flags |= TALLY_F_REJOIN;
	hdr->group = tally_put16(g->rule.group);
	hdr->rank = tally_put16((__u16)m->rank);
	hdr->epoch = tally_put32(g->rule.epoch);
	hdr->seq = tally_put32(s->seq);
	hdr->chunk = tally_put32(chunk);
	hdr->shard = tally_put16((__u16)shard);
	hdr->words = tx->words;
	hdr->incast = s->op;
	hdr->exponent = tx->exponent;
	hdr->bias = tx->bias;
	hdr->mask = tally_put64(layout->participants);
	hdr->weight = tally_put32(weight + tally_get32(tx->weight));
	if (tally_hdr_check(&g->rule, hdr) != TALLY_KEEP ||
	    tally_contrib_check(&g->rule, hdr, &owner) != TALLY_KEEP)
		return -1;
	for (i = 0; i < tally_get16(tx->words); i++)
		over |= tally_get_le64((__le64)words[i]);
	return over & tally_contrib_over(&g->rule, hdr) ? -1 : 0;
}

/* Sum one chunk and write its RESULT to @cell. */
static int sum_chunk(struct fake_group *g, const struct tally_submit *s,
		     const struct tally_layout *layout, uint32_t shard,
		     uint32_t chunk, uint32_t at, struct tally_hdr *cell,
		     uint32_t *aligned)
{
	struct tally_shard clock = {
		.participants = layout->participants,
		.close_ns = TALLY_NEVER,
		.seq = s->seq,
		.lane = s->lane,
	};
	uint64_t mask = layout->participants;
	__le64 *payload = (__le64 *)(cell + 1);
	struct tally_slot slot = { 0 };
	struct tally_hdr hdr;
	struct tally_add add;
	uint32_t rank, i;

	if (g->mask)
		mask &= g->mask(g, s->seq, at, layout->participants);
	tally_slot_reset(&slot, &clock);
	/* Not in order of rank: the sum must not depend on it. */
	for (i = 0; i < TALLY_RANKS_MAX; i++) {
		rank = (i * 37 + s->seq) % TALLY_RANKS_MAX;
		if (!(mask >> rank & 1))
			continue;
		if (make_contrib(&g->member[rank], s, layout, shard, chunk, at,
				 &hdr))
			return -ERANGE;
		tally_slot_align(&slot, payload, &hdr,
				 tally_contrib_over(&g->rule, &hdr), &add);
		tally_slot_add(payload, g->member[rank].tx +
			       cell_at(g, s->seq, at) + sizeof(hdr),
			       add.words, &add);
		tally_slot_commit(&slot, &hdr);
	}
	memset(cell, 0, sizeof(*cell));
	tally_slot_close(&slot, cell);
	cell->seq = tally_put32(s->seq);
	*aligned += slot.aligned;
	g->aligned += slot.aligned;
	g->weight += (double)slot.weight * tally_layout_words(layout, at) *
		     (64 / tally_lane_bits(s->lane));
	return 0;
}

/* The chunk as the owner of a gathered part publishes it. */
static void gather_chunk(struct fake_group *g, const struct tally_submit *s,
			 const struct tally_layout *layout, uint32_t at,
			 struct tally_hdr *cell)
{
	uint32_t root = s->op == TALLY_OP_BROADCAST ? s->root :
			tally_mask_rank(layout->participants,
					at / layout->part);
	const uint8_t *tx = g->member[root].tx +
			    cell_at(g, s->seq, at % layout->part);

	memcpy(cell, tx, g->cell_bytes);
	cell->type = TALLY_RESULT;
	cell->seq = tally_put32(s->seq);
	cell->mask = tally_put64(layout->participants);
}

static void publish(struct fake_group *g, struct fake_member *m,
		    const struct tally_submit *s, uint32_t at, bool receipt,
		    const struct tally_hdr *cell, struct tally_completion *c)
{
	struct tally_hdr *to = (void *)(m->result + cell_at(g, s->seq, at));
	uint64_t mask = tally_get64(cell->mask);

	if (g->lost && g->lost(g, m->rank, s->seq, at)) {
		c->lost++;
		c->status = -ESTALE;
		return;
	}
	memcpy(to, cell, g->cell_bytes);
	if (receipt) {
		to->type = TALLY_RECEIPT;
		to->words = 0;
	}
	c->mask_all &= mask;
	c->mask_any |= mask;
	c->partial += mask != s->participants;
	c->voided += !mask;
	c->flags |= cell->flags;
}

static void finish(struct fake_group *g, struct fake_member *m, uint32_t seq,
		   struct tally_completion *c)
{
	if (g->status && g->status(g, m->rank, seq))
		c->status = g->status(g, m->rank, seq);
	/* As tally_coll_fail() does. */
	if (c->status == -ESTALE ||
	    (!(m->pending[seq % g->window].flags & TALLY_SUBMIT_RELIABLE) &&
	     (c->status == -EHOSTDOWN || c->status == -ECANCELED ||
	      c->status == -ERANGE)))
		m->stale = true;
	m->active[seq % g->window] = false;
	push(m, c);
}

/* All participants have submitted @s: sum, publish, complete. */
static void resolve(struct fake_group *g, const struct tally_submit *s)
{
	struct tally_completion c[TALLY_RANKS_MAX];
	struct tally_hdr *cell = g->scratch;
	struct tally_layout layout;
	uint32_t i, j, rank, shard, at, aligned = 0;
	bool receipt;
	int err = 0;

	tally_layout_init(&layout, s->op, s->participants, s->seq, s->words,
			  g->rule.cell_words, s->root);
	memset(c, 0, sizeof(c));
	for (rank = 0; rank < g->ranks; rank++) {
		c[rank].seq = s->seq;
		c[rank].op = s->op;
		c[rank].mask_all = s->participants;
		c[rank].chunks = layout.chunks;
		c[rank].elapsed_us = 1;
	}
	for (i = 0; i < layout.shards; i++) {
		shard = tally_layout_shard(&layout, i);
		for (j = 0; j < tally_layout_count(&layout, shard); j++) {
			at = tally_layout_first(&layout, shard) + j;
			if (tally_op_gathers(s->op))
				gather_chunk(g, s, &layout, at, cell);
			else if (!err)
				err = sum_chunk(g, s, &layout, shard, j, at,
						cell, &aligned);
			for (rank = 0; rank < g->ranks; rank++) {
				if (!(s->participants >> rank & 1) ||
				    g->member[rank].rejoining || err)
					continue;
				receipt = s->op == TALLY_OP_REDUCE_SCATTER &&
					  tally_shard_owner(s->participants,
							    layout.n, s->seq,
							    shard) != rank;
				publish(g, &g->member[rank], s, at, receipt,
					cell, &c[rank]);
			}
		}
	}
	for (rank = 0; rank < g->ranks; rank++) {
		if (!(s->participants >> rank & 1) || g->member[rank].rejoining)
			continue;
		c[rank].aligned = aligned;
		if (err)
			c[rank].status = err;
		finish(g, &g->member[rank], s->seq, &c[rank]);
	}
}

static void try_resolve(struct fake_group *g, const struct tally_submit *s)
{
	const struct fake_member *m;
	uint32_t rank;

	for (rank = 0; rank < g->ranks; rank++) {
		if (!(s->participants >> rank & 1))
			continue;
		m = &g->member[rank];
		if (m->rejoining && s->op == TALLY_OP_ALL_REDUCE)
			continue;
		if (m->active[s->seq % g->window] &&
		    m->pending[s->seq % g->window].seq == s->seq)
			continue;
		return;
	}
	resolve(g, s);
}

/* The broadcast of state begins: members that rejoin learn of it. */
static void release(struct fake_group *g, const struct tally_submit *s)
{
	struct tally_completion c = { 0 };
	struct fake_member *m;
	uint32_t rank;

	for (rank = 0; rank < g->ranks; rank++) {
		m = &g->member[rank];
		if (!m->rejoining || !(s->participants >> rank & 1))
			continue;
		m->rejoining = false;
		m->stale = false;
		m->next = s->seq;
		c.seq = m->rejoin.seq;
		c.op = TALLY_OP_REJOIN;
		c.root = (__u8)s->root;
		c.state_seq = s->seq;
		c.mask_all = s->participants;
		push(m, &c);
	}
}

/* Others wait for the contributions of a rank that now gives zeros. */
static void resolve_waiting(struct fake_group *g)
{
	struct fake_member *m;
	uint32_t rank, seq;

	for (rank = 0; rank < g->ranks; rank++) {
		m = &g->member[rank];
		for (seq = m->next - g->window; seq != m->next; seq++) {
			if (m->active[seq % g->window])
				try_resolve(g, &m->pending[seq % g->window]);
		}
	}
}

static int submit_locked(struct fake_member *m, struct tally_submit *s)
{
	struct fake_group *g = m->group;
	struct tally_completion c = { 0 };
	uint32_t i = s->seq % g->window;
	int err;

	err = g->submit ? g->submit(g, m->rank, s) : 0;
	if (err)
		return err;
	if (s->seq != m->next) {
		s->out_seq = m->next;
		return -EINVAL;
	}
	if (s->op == TALLY_OP_REJOIN) {
		if (m->rejoining)
			return -EINVAL;
		/* Who asks for state says that it has none. */
		m->stale = true;
		m->rejoining = true;
		m->rejoin = *s;
		resolve_waiting(g);
		return 0;
	}
	if (m->stale)
		return -ESTALE;
	if (m->active[i] || m->queued >= g->window)
		return -EBUSY;
	if (!s->participants)
		s->participants = g->rule.members;
	m->next++;
	m->submits++;
	/* What an earlier collective left there must not be looked at. */
	memset(m->result + cell_at(g, s->seq, 0), 0xa5,
	       (size_t)g->cells * g->cell_bytes);
	if (!(s->participants >> m->rank & 1)) {
		c.seq = s->seq;
		c.op = s->op;
		push(m, &c);
		return 0;
	}
	s->out_flags = is_zeroed(m, s->seq) ? TALLY_SUBMITTED_ZERO : 0;
	m->pending[i] = *s;
	m->active[i] = true;
	if (s->flags & TALLY_SUBMIT_STATE && s->root == m->rank)
		release(g, s);
	try_resolve(g, s);
	return 0;
}

static int fake_submit(struct transport_link *link, struct tally_submit *s)
{
	struct fake_member *m = link->priv;
	int err;

	pthread_mutex_lock(&m->group->lock);
	err = submit_locked(m, s);
	pthread_mutex_unlock(&m->group->lock);
	return err;
}

/* Take completion @i of the queue. */
static void pop(struct fake_member *m, uint32_t i, struct tally_completion *c)
{
	uint64_t count;

	*c = m->queue[i];
	memmove(&m->queue[i], &m->queue[i + 1],
		(--m->queued - i) * sizeof(m->queue[0]));
	if (read(m->fd, &count, sizeof(count)) != sizeof(count))
		abort();
}

static int fake_fetch(struct transport_link *link, struct tally_completion *c)
{
	struct fake_member *m = link->priv;
	int n;

	pthread_mutex_lock(&m->group->lock);
	n = !!m->queued;
	if (n)
		pop(m, 0, c);
	pthread_mutex_unlock(&m->group->lock);
	return n;
}

static int fake_take(struct transport_link *link, uint32_t seq,
		     uint64_t deadline_ns, struct tally_completion *c)
{
	struct fake_member *m = link->priv;
	struct timespec ts = {
		.tv_sec = (time_t)(deadline_ns / 1000000000ull),
		.tv_nsec = (long)(deadline_ns % 1000000000ull),
	};
	int err = -EINPROGRESS;
	uint32_t i;

	pthread_mutex_lock(&m->group->lock);
	while (err == -EINPROGRESS) {
		for (i = 0; i < m->queued && m->queue[i].seq != seq; i++)
			;
		if (i < m->queued) {
			pop(m, i, c);
			err = 0;
		} else if (pthread_cond_timedwait(&m->group->cond,
						  &m->group->lock, &ts)) {
			err = -ETIME;
		}
	}
	pthread_mutex_unlock(&m->group->lock);
	return err;
}

static int fake_wait(struct transport_link *link, int events,
		     uint64_t deadline_ns)
{
	struct pollfd p = { .fd = link->fd, .events = (short)events };

	(void)deadline_ns;
	return poll(&p, 1, 10) > 0 ? 0 : -ETIME;
}

static int fake_cancel(struct transport_link *link, uint32_t seq)
{
	struct fake_member *m = link->priv;
	struct fake_group *g = m->group;
	struct tally_completion c = { .seq = seq, .status = -ECANCELED };
	uint32_t i = seq % g->window;
	int err = -ENOENT;

	if (g->deaf)
		return 0;
	pthread_mutex_lock(&g->lock);
	if (m->rejoining && m->rejoin.seq == seq) {
		m->rejoining = false;
		push(m, &c);
		err = 0;
	} else if (m->active[i] && m->pending[i].seq == seq) {
		m->active[i] = false;
		if (!(m->pending[i].flags & TALLY_SUBMIT_RELIABLE))
			m->stale = true;
		push(m, &c);
		err = 0;
	}
	pthread_mutex_unlock(&g->lock);
	return err;
}

static int fake_open(const char *where, void **ctx, struct tally_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->out_abi = TALLY_ABI_VERSION;
	info->out_completion_size = sizeof(struct tally_completion);
	*ctx = (void *)(uintptr_t)where;
	return 0;
}

static void fake_close(void *ctx)
{
	(void)ctx;
}

static int fake_attach(void *ctx, struct transport_link *link)
{
	struct tally_attach *geo = &link->geo;
	struct fake_group *g = ctx;
	struct fake_member *m;
	size_t bytes;

	if (geo->group != FAKE_GROUP || geo->rank >= g->ranks)
		return -ENOENT;
	m = &g->member[geo->rank];
	if (m->attached)
		return -EBUSY;
	geo->out_epoch = g->rule.epoch;
	geo->out_ranks = g->ranks;
	geo->out_window = g->window;
	geo->out_cell_bytes = g->cell_bytes;
	geo->out_cell_words = g->rule.cell_words;
	geo->out_cells = g->cells;
	geo->out_shard_chunks = g->rule.shard_chunks;
	geo->out_seq = m->next;
	geo->out_flags = m->stale ? TALLY_ATTACH_STALE : 0;
	geo->out_bound_us = 1000;
	geo->out_timeout_us = g->timeout_us;
	geo->out_members = g->rule.members;
	memcpy(geo->out_caps, g->rule.caps, sizeof(geo->out_caps));
	bytes = (size_t)g->window * g->cells * g->cell_bytes;
	geo->out_area_bytes = bytes;
	m->tx = aligned_alloc(64, (bytes + 63) / 64 * 64);
	m->result = aligned_alloc(64, (bytes + 63) / 64 * 64);
	memset(m->tx, 0, bytes);
	memset(m->result, 0, bytes);
	m->fd = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
	m->attached = true;
	link->priv = m;
	link->fd = m->fd;
	link->tx = m->tx;
	link->result = m->result;
	return 0;
}

static void fake_detach(struct transport_link *link)
{
	struct fake_member *m = link->priv;

	pthread_mutex_lock(&m->group->lock);
	close(m->fd);
	free(m->tx);
	free(m->result);
	m->attached = false;
	pthread_mutex_unlock(&m->group->lock);
}

const struct transport_ops fake_ops = {
	.open	= fake_open,
	.close	= fake_close,
	.attach	= fake_attach,
	.detach	= fake_detach,
	.submit	= fake_submit,
	.fetch	= fake_fetch,
	.take	= fake_take,
	.wait	= fake_wait,
	.cancel	= fake_cancel,
};
