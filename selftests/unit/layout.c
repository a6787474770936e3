// SPDX-License-Identifier: GPL-2.0-only
/* How buffers are cut up: every chunk in one shard, every shard one owner. */
#include "unit.h"

#include <tally/layout.h>

#define CHUNKS_MAX	300

static const uint64_t masks[] = {
	0x1, 0x8000000000000000ull, 0x3, 0x8000000000000001ull, 0xf, 0xb,
	0x5555555555555555ull, 0xaaaaaaaaaaaaaaaaull, 0xffffffffffffffffull,
	0xfffffffffffffffeull, 0x00ff00ff00ff00ffull, 0x123456789abcdef0ull,
};

static uint32_t mask_count(uint64_t mask)
{
	uint32_t n = 0, i;

	for (i = 0; i < 64; i++)
		n += mask >> i & 1;
	return n;
}

static void check_mask(uint64_t mask)
{
	uint32_t rank, index = 0;

	check_equal(tally_mask_count(mask), mask_count(mask));
	for (rank = 0; rank < 64; rank++) {
		check_equal(tally_mask_index(mask, rank), index);
		if (!(mask >> rank & 1))
			continue;
		check_equal(tally_mask_rank(mask, index), rank);
		index++;
	}
}

static void mask__count_rank_index_agree(void **state)
{
	uint64_t seed = 1;
	uint32_t i;

	check_equal(tally_mask_count(0), 0);
	for (i = 0; i < ARRAY_SIZE(masks); i++)
		check_mask(masks[i]);
	for (i = 0; i < 64; i++) {
		check_mask(1ull << i);
		check_mask(~(1ull << i));
	}
	for (i = 0; i < 20000; i++)
		check_mask(random_next(&seed) & random_next(&seed));
	for (i = 0; i < 20000; i++)
		check_mask(random_next(&seed) | random_next(&seed));
}

static void shard_owner__inverse_of_shard_of(void **state)
{
	static const uint32_t seqs[] = {
		0, 1, 2, 3, 63, 64, 65, 0x7fffffff, 0x80000000, 0xfffffffe,
		0xffffffff,
	};
	uint64_t taken;
	uint32_t i, j, n, shard, owner, index;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		n = mask_count(masks[i]);
		for (j = 0; j < ARRAY_SIZE(seqs); j++) {
			taken = 0;
			for (shard = 0; shard < n; shard++) {
				owner = tally_shard_owner(masks[i], n, seqs[j],
							  shard);
				check_true(owner < 64);
				check_true(masks[i] >> owner & 1);
				check_true(!(taken >> owner & 1));
				taken |= 1ull << owner;
				index = tally_mask_index(masks[i], owner);
				check_equal(tally_shard_of(n, seqs[j], index),
					    shard);
				check_equal(index,
					    (shard + seqs[j] % n) % n);
			}
			check_equal(taken, masks[i]);
		}
	}
}

/* Each chunk of the whole buffer lies in exactly one shard, in order. */
static void check_partition(const struct tally_layout *layout)
{
	uint8_t seen[CHUNKS_MAX * 64] = { 0 };
	uint32_t shard, i, first, count, used = 0, total = 0;

	for (shard = 0; shard < layout->n; shard++) {
		first = tally_layout_first(layout, shard);
		count = tally_layout_count(layout, shard);
		used += !!count;
		for (i = 0; i < count; i++) {
			check_true(first + i < layout->chunks);
			check_true(!seen[first + i]);
			seen[first + i] = 1;
		}
		total += count;
	}
	check_equal(total, layout->chunks);
	check_equal(used, layout->shards);
	for (i = 0; i < layout->shards; i++) {
		shard = tally_layout_shard(layout, i);
		check_true(shard < layout->n);
		check_true(tally_layout_count(layout, shard));
	}
	check_equal(tally_layout_count(layout, layout->n), 0);
}

/* The words of the chunks of one buffer or part add up to it. */
static void check_words(const struct tally_layout *layout, uint32_t parts)
{
	uint32_t part, i, per = layout->chunks / parts, sum, words;

	for (part = 0; part < parts; part++) {
		sum = 0;
		for (i = 0; i < per; i++) {
			words = tally_layout_words(layout, part * per + i);
			check_true(words <= layout->cell_words);
			check_true(words || !layout->words);
			if (i + 1 < per)
				check_equal(words, layout->cell_words);
			sum += words;
		}
		check_equal(sum, layout->words);
	}
}

static void check_layout(uint8_t op, uint64_t mask, uint32_t seq,
			 uint32_t words, uint32_t cell_words)
{
	struct tally_layout layout;
	uint32_t root, rank, n = mask_count(mask), i, least, most, count;

	root = tally_mask_rank(mask, seq % n);
	tally_layout_init(&layout, op, mask, seq, words, cell_words, root);
	check_equal(layout.n, n);
	check_partition(&layout);
	switch (op) {
	case TALLY_OP_REDUCE_SCATTER:
	case TALLY_OP_ALL_GATHER:
		check_words(&layout, n);
		for (i = 0; i < n; i++) {
			rank = tally_shard_owner(mask, n, seq, i);
			check_equal(tally_layout_first(&layout, i),
				    tally_mask_index(mask, rank) *
				    layout.part);
		}
		break;
	case TALLY_OP_BROADCAST:
		check_words(&layout, 1);
		check_equal(layout.shards, 1);
		check_equal(tally_shard_owner(mask, n, seq,
					      tally_layout_shard(&layout, 0)),
			    root);
		break;
	default:
		check_words(&layout, 1);
		least = ~0u;
		most = 0;
		for (i = 0; i < layout.shards; i++) {
			count = tally_layout_count(&layout, i);
			least = count < least ? count : least;
			most = count > most ? count : most;
		}
		check_true(most - least <= 1);
		check_equal(layout.shards, layout.chunks < n ?
			    layout.chunks : n);
	}
}

static void layout__is_a_partition(void **state)
{
	static const uint32_t seqs[] = { 0, 1, 7, 63, 64, 0xffffffff };
	static const uint32_t cells[] = { 1, 8, 176, 1120 };
	uint64_t mask, seed = 2;
	uint32_t op, n, chunks, s, c, words;

	for (op = TALLY_OP_ALL_REDUCE; op <= TALLY_OP_BARRIER; op++) {
		for (n = 1; n <= 64; n++) {
			mask = n == 64 ? ~0ull : (1ull << n) - 1;
			for (chunks = 1; chunks < CHUNKS_MAX;
			     chunks += chunks < 70 ? 1 : 37) {
				s = random_next(&seed) % ARRAY_SIZE(seqs);
				c = random_next(&seed) % ARRAY_SIZE(cells);
				words = (chunks - 1) * cells[c] +
					random_range(&seed, 1, cells[c]);
				if (op == TALLY_OP_BARRIER)
					words = 0;
				check_layout(op, mask, seqs[s], words,
					     cells[c]);
			}
		}
		for (n = 0; n < ARRAY_SIZE(masks); n++) {
			for (s = 0; s < 140; s++)
				check_layout(op, masks[n], s,
					     op == TALLY_OP_BARRIER ? 0 :
					     random_range(&seed, 1, 2000), 8);
		}
	}
}

static void layout__nothing_is_one_empty_chunk(void **state)
{
	struct tally_layout layout;
	uint32_t op;

	for (op = TALLY_OP_ALL_REDUCE; op <= TALLY_OP_BARRIER; op++) {
		tally_layout_init(&layout, op, 0xf, 5, 0, 176, 2);
		check_partition(&layout);
		check_equal(tally_layout_words(&layout, 0), 0);
	}
}

/* The four parts of the shape of which a member could be mistaken. */
static void shape__differs_with_each_field(void **state)
{
	uint32_t base = tally_shape(1, 0, 1, 0, 1000, 176, 0);

	check_true(base != tally_shape(2, 0, 1, 0, 1000, 176, 0));
	check_true(base != tally_shape(1, TALLY_F_RELIABLE, 1, 0, 1000, 176,
				       0));
	check_true(base != tally_shape(1, 0, 2, 0, 1000, 176, 0));
	check_true(base != tally_shape(1, 0, 1, 1, 1000, 176, 0));
	check_true(base != tally_shape(1, 0, 1, 0, 1001, 176, 0));
	check_true(base != tally_shape(1, 0, 1, 0, 1000, 168, 0));
	check_true(base != tally_shape(1, 0, 1, 0, 1000, 176, 1));
}

static int compare_shapes(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Small neighbouring inputs, as in one program, must not collide. */
static void shape__no_collision_nearby(void **state)
{
	uint32_t n = 0, op, lane, words, root, i;
	uint32_t *all = malloc(5 * 5 * 128 * 4 * sizeof(*all));

	assert_non_null(all);
	for (op = 1; op <= 5; op++)
		for (lane = 1; lane <= 5; lane++)
			for (words = 0; words < 128; words++)
				for (root = 0; root < 4; root++)
					all[n++] = tally_shape(op, 0, lane, 0,
							       words * 8, 176,
							       root);
	qsort(all, n, sizeof(*all), compare_shapes);
	for (i = 1; i < n; i++)
		check_true(all[i] != all[i - 1]);
	free(all);
}

UNIT_MAIN(
	cmocka_unit_test(mask__count_rank_index_agree),
	cmocka_unit_test(shard_owner__inverse_of_shard_of),
	cmocka_unit_test(layout__is_a_partition),
	cmocka_unit_test(layout__nothing_is_one_empty_chunk),
	cmocka_unit_test(shape__differs_with_each_field),
	cmocka_unit_test(shape__no_collision_nearby),
)
