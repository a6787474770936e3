// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* Opening a transport and being one rank of a group. */
#include <poll.h>
#include <stdlib.h>

#include "internal.h"

const char *tally_version(void)
{
	return TALLY_LIB_VERSION;
}

int open_with(const struct transport_ops *ops, const char *where,
	      struct tally **out)
{
	struct tally *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	err = ops->open(where, &t->ctx, &t->info);
	if (err) {
		free(t);
		return err;
	}
	t->ops = ops;
	*out = t;
	return 0;
}

int tally_open(const char *where, struct tally **out)
{
	if (!out)
		return -EINVAL;
	if (!where)
		where = "/dev/tally";
	/* A name that is no path is a transport's. */
	if (!strchr(where, '/'))
		return -EOPNOTSUPP;
	return open_with(&transport_device, where, out);
}

int tally_close(struct tally *t)
{
	if (!t)
		return 0;
	if (__atomic_load_n(&t->members, __ATOMIC_ACQUIRE))
		return -EBUSY;
	t->ops->close(t->ctx);
	free(t);
	return 0;
}

int tally_get_info(const struct tally *t, struct tally_info *info)
{
	return t && info ? opts_put(info, &t->info, sizeof(t->info)) : -EINVAL;
}

/* What the rest of the library divides by and indexes with. */
static bool geometry_ok(const struct tally_attach *geo)
{
	uint64_t bytes = (uint64_t)geo->out_cell_bytes * geo->out_cells *
			 geo->out_window;

	return geo->rank < TALLY_RANKS && geo->out_members >> geo->rank & 1 &&
	       geo->out_window && geo->out_window <= TALLY_RANKS &&
	       !(geo->out_window & (geo->out_window - 1)) &&
	       geo->out_cell_words && geo->out_cell_words <= TALLY_WORDS_MAX &&
	       geo->out_cell_bytes >= sizeof(struct tally_hdr) +
				      8 * geo->out_cell_words &&
	       !(geo->out_cell_bytes % 8) && geo->out_shard_chunks &&
	       geo->out_cells >= geo->out_shard_chunks &&
	       geo->out_cells <= UINT32_MAX / TALLY_WORDS_MAX &&
	       bytes <= geo->out_area_bytes;
}

int tally_attach(struct tally *t, uint32_t group, uint32_t rank,
		 struct tally_member **out)
{
	struct tally_member *m;
	int err;

	if (!t || !out || rank >= TALLY_RANKS)
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->t = t;
	m->tail = &m->head;
	m->link.ops = t->ops;
	m->link.geo.group = group;
	m->link.geo.rank = rank;
	err = t->ops->attach(t->ctx, &m->link);
	if (err)
		goto err_free;
	if (!geometry_ok(&m->link.geo)) {
		err = -EPROTO;
		goto err_detach;
	}
	m->next = m->link.geo.out_seq;
	m->oldest = m->next;
	m->stale = m->link.geo.out_flags & TALLY_ATTACH_STALE;
	err = tally_call_create(m, &m->scratch);
	if (err)
		goto err_detach;
	/* Other threads may attach and detach other members. */
	__atomic_fetch_add(&t->members, 1, __ATOMIC_RELAXED);
	*out = m;
	return 0;

err_detach:
	t->ops->detach(&m->link);
err_free:
	free(m);
	return err;
}

int tally_detach(struct tally_member *m)
{
	if (!m)
		return 0;
	/* From here on nothing writes to the cells. */
	m->t->ops->detach(&m->link);
	while (m->calls)
		call_free(m->calls);
	/* Whoever sees none left may close what was used until here. */
	__atomic_fetch_sub(&m->t->members, 1, __ATOMIC_RELEASE);
	free(m);
	return 0;
}

int tally_get_geometry(const struct tally_member *m,
		       struct tally_geometry *geometry)
{
	struct tally_geometry g = { .size = sizeof(g) };
	const struct tally_attach *geo;

	if (!m || !geometry)
		return -EINVAL;
	geo = &m->link.geo;
	g.rank = geo->rank;
	g.epoch = geo->out_epoch;
	g.ranks = geo->out_ranks;
	g.members = geo->out_members;
	g.window = geo->out_window;
	g.cell_words = geo->out_cell_words;
	g.cells = geo->out_cells;
	g.shard_chunks = geo->out_shard_chunks;
	g.bound_us = geo->out_bound_us;
	g.timeout_us = geo->out_timeout_us;
	g.seq = m->next;
	g.stale = m->stale;
	g.cap = geo->out_caps[geo->rank];
	return opts_put(geometry, &g, sizeof(g));
}

int tally_fd(const struct tally_member *m)
{
	return m ? m->link.fd : -EINVAL;
}

int tally_events(const struct tally_member *m)
{
	int events = 0;

	if (!m)
		return -EINVAL;
	if (m->next != m->oldest)
		events |= POLLIN;
	if (m->head && (m->blocked || m->next == m->oldest))
		events |= POLLOUT;
	return events;
}
