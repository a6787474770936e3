// SPDX-License-Identifier: GPL-2.0-only
/* Carry: ranges, weights, steps. */
#include <math.h>
#include <stdlib.h>

#include "carry.h"
#include "common.h"

#define COUNT 1000

static struct tally_carry_stats stats_of(const struct tally_carry *c)
{
	struct tally_carry_stats s = { .size = sizeof(s) };

	assert_int_equal(tally_carry_get_stats(c, &s), 0);
	return s;
}

static struct tally_carry *new_carry(void)
{
	struct tally_carry *c;

	assert_int_equal(tally_carry_create(COUNT, &c), 0);
	return c;
}

/* A call's life in the carry: chunks of @chunk, each missed with @value. */
static void miss(struct tally_carry *c, size_t offset, size_t count,
		 size_t chunk, float value, uint32_t weight)
{
	struct carry_chunk part;
	size_t at, n, i;

	assert_int_equal(carry_reserve(c, offset, count, chunk), 0);
	carry_touch(c, offset, count);
	carry_get(c);
	for (at = 0; at < count; at += n) {
		n = count - at < chunk ? count - at : chunk;
		carry_chunk(c, offset + at, n, 1000, &part);
		for (i = 0; i < n; i++)
			part.residual[i] = part.carry[i] + value;
		carry_missed(c, offset + at, n, weight);
	}
	carry_put(c);
}

/* Likewise, but every chunk is counted; returns weight times values. */
static double deliver(struct tally_carry *c, size_t offset, size_t count,
		      size_t chunk, double *values)
{
	struct carry_chunk part;
	double weight = 0;
	size_t at, n, i;

	assert_int_equal(carry_reserve(c, offset, count, chunk), 0);
	carry_touch(c, offset, count);
	for (at = 0; at < count; at += n) {
		n = count - at < chunk ? count - at : chunk;
		carry_chunk(c, offset + at, n, 1000, &part);
		for (i = 0; i < n; i++) {
			*values += part.carry[i];
			part.residual[i] = 0;
		}
		weight += (double)part.weight * n;
		carry_counted(c, offset + at, n, part.weight, 0);
	}
	return weight;
}

static void carry__keeps_value_and_weight(void **state)
{
	struct tally_carry *c = new_carry();
	float v[COUNT];
	double values = 0;

	(void)state;
	miss(c, 100, 250, 64, 2, 8);
	/* Not before the step is over. */
	assert_true(stats_of(c).values == 0);
	assert_int_equal(tally_carry_commit(c), 0);
	assert_true(stats_of(c).values == 500);
	assert_true(stats_of(c).weight == 8 * 250);
	assert_int_equal(stats_of(c).missed, 250);
	miss(c, 100, 250, 64, 3, 4);
	assert_int_equal(tally_carry_commit(c), 0);
	assert_true(stats_of(c).weight_max == 12);
	assert_int_equal(tally_carry_read(c, 0, COUNT, v), 0);
	assert_true(v[99] == 0 && v[100] == 5 && v[349] == 5 && v[350] == 0);
	assert_true(deliver(c, 100, 250, 64, &values) == 12 * 250);
	assert_true(values == 5 * 250);
	assert_int_equal(tally_carry_commit(c), 0);
	assert_true(stats_of(c).l1 == 0 && stats_of(c).weight == 0);
	tally_carry_destroy(c);
}

static void carry__rollback(void **state)
{
	struct tally_carry *c = new_carry();

	(void)state;
	miss(c, 0, COUNT, 100, 1, 1);
	tally_carry_commit(c);
	miss(c, 0, 500, 100, 7, 1);
	assert_int_equal(tally_carry_rollback(c), 0);
	assert_true(stats_of(c).values == COUNT);
	assert_true(stats_of(c).weight == COUNT);
	assert_int_equal(stats_of(c).missed, COUNT);
	/* The range is free again. */
	miss(c, 0, 500, 100, 7, 1);
	tally_carry_commit(c);
	assert_true(stats_of(c).values == COUNT + 500 * 7);
	tally_carry_destroy(c);
}

static void carry__lost_stays_lost(void **state)
{
	struct tally_carry *c = new_carry();

	(void)state;
	miss(c, 0, COUNT, 100, 1, 1);
	tally_carry_commit(c);
	assert_int_equal(carry_reserve(c, 0, 100, 100), 0);
	carry_touch(c, 0, 100);
	carry_lost(c, 0, 100);
	/* Perhaps it was counted: not even rollback brings it back. */
	tally_carry_rollback(c);
	assert_true(stats_of(c).values == COUNT - 100);
	assert_true(stats_of(c).weight == COUNT - 100);
	assert_int_equal(stats_of(c).lost, 100);
	tally_carry_destroy(c);
}

static void carry__range_once_a_step(void **state)
{
	struct tally_carry *c = new_carry();

	(void)state;
	miss(c, 100, 100, 10, 1, 1);
	assert_int_equal(carry_reserve(c, 199, 1, 1), -EBUSY);
	assert_int_equal(carry_reserve(c, 0, 101, 1), -EBUSY);
	assert_int_equal(carry_reserve(c, 0, 100, 7), 0);
	assert_int_equal(carry_reserve(c, 200, 800, 7), 0);
	assert_int_equal(carry_reserve(c, 200, 801, 7), -EINVAL);
	assert_int_equal(carry_reserve(c, SIZE_MAX, 2, 7), -EINVAL);
	tally_carry_commit(c);
	assert_int_equal(carry_reserve(c, 0, COUNT, 7), 0);
	tally_carry_destroy(c);
}

/* Chunks that begin elsewhere than before: sums of both stay the same. */
static void carry__changed_chunks(void **state)
{
	struct tally_carry *c = new_carry();
	double values = 0, weight = 0, put = 0, put_weight = 0;
	uint64_t rng = 5;
	size_t offset, count, chunk;
	int step;

	(void)state;
	for (step = 0; step < 300; step++) {
		offset = next_random(&rng) % COUNT;
		count = 1 + next_random(&rng) % (COUNT - offset);
		chunk = 1 + next_random(&rng) % 300;
		if (next_random(&rng) % 2) {
			float value = (float)(next_random(&rng) % 16);
			uint32_t w = (uint32_t)(next_random(&rng) % 9);

			miss(c, offset, count, chunk, value, w);
			put += (double)value * count;
			put_weight += (double)w * count;
		} else {
			weight += deliver(c, offset, count, chunk, &values);
		}
		assert_int_equal(tally_carry_commit(c), 0);
		assert_true(put == values + stats_of(c).values);
		assert_true(put_weight == weight + stats_of(c).weight);
	}
	assert_true(weight > 0 && values > 0);
	tally_carry_destroy(c);
}

static void carry__no_more_weight_than_fits(void **state)
{
	struct tally_carry *c = new_carry();
	struct carry_chunk part;

	(void)state;
	miss(c, 0, COUNT, COUNT, 1, TALLY_WEIGHT_MAX);
	tally_carry_commit(c);
	carry_chunk(c, 0, COUNT, 100, &part);
	assert_int_equal(part.weight, 100);
	carry_touch(c, 0, COUNT);
	memset(part.residual, 0, COUNT * sizeof(float));
	carry_counted(c, 0, COUNT, 100, 0);
	tally_carry_commit(c);
	assert_true(stats_of(c).weight_max == TALLY_WEIGHT_MAX - 100);
	tally_carry_destroy(c);
}

static void carry__rescale(void **state)
{
	struct tally_carry *c = new_carry();

	(void)state;
	miss(c, 0, COUNT, 100, 0x1p100f, 3);
	assert_int_equal(tally_carry_rescale(c, 2), -EBUSY);
	tally_carry_commit(c);
	assert_int_equal(tally_carry_rescale(c, 0), -EINVAL);
	assert_int_equal(tally_carry_rescale(c, NAN), -EINVAL);
	assert_int_equal(tally_carry_rescale(c, 0x1p30f), -ERANGE);
	assert_true(stats_of(c).values == COUNT * 0x1p100);
	assert_int_equal(tally_carry_rescale(c, 0.5f), 0);
	assert_true(stats_of(c).values == COUNT * 0x1p99);
	assert_true(stats_of(c).weight == 3 * COUNT);
	assert_int_equal(tally_carry_clear(c), 0);
	assert_true(stats_of(c).l1 == 0 && stats_of(c).weight == 0);
	tally_carry_destroy(c);
}

static void carry__save_restore(void **state)
{
	struct tally_carry *c = new_carry(), *d = new_carry(), *e;
	float a[COUNT], b[COUNT];
	uint8_t *buf;
	size_t bytes;

	(void)state;
	miss(c, 0, 500, 37, 2, 8);
	assert_int_equal(tally_carry_save(c, a, sizeof(a)), -EBUSY);
	tally_carry_commit(c);
	miss(c, 300, 600, 64, 1, 3);
	tally_carry_commit(c);
	bytes = tally_carry_bytes(c);
	buf = malloc(bytes + 1);
	assert_int_equal(tally_carry_save(c, buf + 1, bytes - 1), -ENOSPC);
	/* At an odd address: part of somebody's checkpoint. */
	assert_int_equal(tally_carry_save(c, buf + 1, bytes), 0);
	miss(d, 0, COUNT, 11, 9, 9);
	assert_int_equal(tally_carry_restore(d, buf + 1, bytes), -EBUSY);
	tally_carry_commit(d);
	buf[bytes / 2] ^= 1;
	assert_int_equal(tally_carry_restore(d, buf + 1, bytes), -EINVAL);
	assert_true(stats_of(d).values == 9 * COUNT);
	buf[bytes / 2] ^= 1;
	assert_int_equal(tally_carry_restore(d, buf + 1, bytes - 1), -EINVAL);
	assert_int_equal(tally_carry_restore(d, buf + 1, 8), -EINVAL);
	assert_int_equal(tally_carry_restore(d, buf + 1, bytes), 0);
	tally_carry_read(c, 0, COUNT, a);
	tally_carry_read(d, 0, COUNT, b);
	assert_memory_equal(a, b, sizeof(a));
	assert_true(stats_of(c).weight == stats_of(d).weight);
	assert_true(stats_of(d).weight_max == 11);
	/* Not for a vector of another length. */
	assert_int_equal(tally_carry_create(COUNT + 1, &e), 0);
	assert_int_equal(tally_carry_restore(e, buf + 1, bytes), -EINVAL);
	free(buf);
	tally_carry_destroy(c);
	tally_carry_destroy(d);
	tally_carry_destroy(e);
}

static void carry__busy_while_used(void **state)
{
	struct tally_carry *c = new_carry();

	(void)state;
	carry_get(c);
	assert_int_equal(tally_carry_commit(c), -EBUSY);
	assert_int_equal(tally_carry_rollback(c), -EBUSY);
	assert_int_equal(tally_carry_clear(c), -EBUSY);
	assert_int_equal(tally_carry_destroy(c), -EBUSY);
	carry_put(c);
	assert_int_equal(tally_carry_destroy(c), 0);
	assert_int_equal(tally_carry_create(0, &c), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest carry[] = {
		cmocka_unit_test(carry__keeps_value_and_weight),
		cmocka_unit_test(carry__rollback),
		cmocka_unit_test(carry__lost_stays_lost),
		cmocka_unit_test(carry__range_once_a_step),
		cmocka_unit_test(carry__changed_chunks),
		cmocka_unit_test(carry__no_more_weight_than_fits),
		cmocka_unit_test(carry__rescale),
		cmocka_unit_test(carry__save_restore),
		cmocka_unit_test(carry__busy_while_used),
	};

	return RUN_TESTS(carry);
}
