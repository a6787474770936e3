/* SPDX-License-Identifier: GPL-2.0-only */
/* A group in memory with all its members attached. */
#ifndef SELFTESTS_LIB_WORLD_H
#define SELFTESTS_LIB_WORLD_H

#include "common.h"
#include "double.h"

#define WORLD_MAX	8

struct world {
	struct fake_group	*g;
	struct tally		*t;
	struct tally_member	*m[WORLD_MAX];
	uint32_t		n;
};

static inline void world_open(struct world *w, uint32_t n, uint32_t window,
			      uint32_t cell_words, uint32_t shard_chunks)
{
	uint32_t i;

	memset(w, 0, sizeof(*w));
	w->n = n;
	w->g = fake_group_create(n, window, cell_words, shard_chunks);
	assert_int_equal(open_with(&fake_ops, (const char *)w->g, &w->t), 0);
	for (i = 0; i < n; i++)
		assert_int_equal(tally_attach(w->t, 7, i, &w->m[i]), 0);
}

static inline void world_close(struct world *w)
{
	uint32_t i;

	for (i = 0; i < w->n; i++)
		assert_int_equal(tally_detach(w->m[i]), 0);
	assert_int_equal(tally_close(w->t), 0);
	fake_group_destroy(w->g);
}

#endif
