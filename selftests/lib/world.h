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

/* The same call at every member. */
struct calls {
	struct tally_call *c[WORLD_MAX];
};

static inline void calls_create(struct world *w, struct calls *calls)
{
	uint32_t i;

	for (i = 0; i < w->n; i++)
		assert_int_equal(tally_call_create(w->m[i], &calls->c[i]), 0);
}

static inline void calls_post(struct world *w, struct calls *calls)
{
	uint32_t i;

	for (i = 0; i < w->n; i++)
		assert_int_equal(tally_post(calls->c[i]), 0);
}

/* All members are in this thread: going round brings all of them on. */
static inline void calls_finish(struct world *w, struct calls *calls, int expected)
{
	uint32_t i, left = w->n, rounds;
	int err;

	for (rounds = 0; left && rounds < 10000; rounds++) {
		for (left = 0, i = 0; i < w->n; i++) {
			err = tally_test(calls->c[i]);
			left += err == -EAGAIN;
			if (err != -EAGAIN)
				assert_int_equal(err, expected);
		}
	}
	assert_int_equal(left, 0);
}

static inline struct tally_report report_of(struct tally_call *call)
{
	struct tally_report r = { .size = sizeof(r) };

	assert_int_equal(tally_get_report(call, &r), 0);
	return r;
}

#endif
