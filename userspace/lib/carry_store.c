// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* A carry as a whole: rescale, read, save, restore, sum up. */
#include <math.h>
#include <stdlib.h>

#include "carry.h"
#include "carry_types.h"
#include "internal.h"

#define CARRY_MAGIC	0x7972726163796c74ull	/* "tlycarry" */

/**
 * struct saved - what stands before the runs and the values, little-endian
 * @magic: CARRY_MAGIC
 * @digest: of all that follows this field
 * @count: values
 * @segments: runs
 */
struct saved {
	uint64_t	magic;
	uint64_t	digest;
	uint64_t	count;
	uint64_t	segments;
};

struct saved_run {
	uint64_t	start;
	int64_t		weight;
};

static const float *run_values(const struct tally_carry *c,
			       const struct segment *s)
{
	return c->vector[s->now] + s->start;
}

int tally_carry_rescale(struct tally_carry *c, float factor)
{
	const struct segment *s;
	size_t i, j;
	float *v;

	if (!c || !isfinite(factor) || factor <= 0)
		return -EINVAL;
	if (carry_idle(c))
		return -EBUSY;
	for (i = 0; i + 1 < c->segments; i++) {
		s = &c->segment[i];
		for (j = 0; j < segment_length(s); j++) {
			if (!isfinite(run_values(c, s)[j] * factor))
				return -ERANGE;
		}
	}
	for (i = 0; i + 1 < c->segments; i++) {
		s = &c->segment[i];
		v = c->vector[s->now] + s->start;
		for (j = 0; j < segment_length(s); j++)
			v[j] *= factor;
	}
	return 0;
}

int tally_carry_clear(struct tally_carry *c)
{
	if (!c)
		return -EINVAL;
	if (carry_idle(c))
		return -EBUSY;
	memset(c->vector[0], 0, c->count * sizeof(float));
	memset(c->segment, 0, sizeof(*c->segment));
	c->segment[1] = c->segment[0];
	c->segment[1].start = c->count;
	c->segments = 2;
	c->hint = 0;
	return 0;
}

static void copy_values(const struct tally_carry *c, size_t offset,
			size_t count, uint8_t *values)
{
	const struct segment *s;
	size_t from, to, i;

	for (i = 0; i + 1 < c->segments; i++) {
		s = &c->segment[i];
		from = s->start > offset ? s->start : offset;
		to = s[1].start < offset + count ? s[1].start : offset + count;
		if (from < to)
			memcpy(values + (from - offset) * sizeof(float),
			       c->vector[s->now] + from,
			       (to - from) * sizeof(float));
	}
}

int tally_carry_read(const struct tally_carry *c, size_t offset, size_t count,
		     float *values)
{
	if (!c || !values || offset > c->count || count > c->count - offset)
		return -EINVAL;
	copy_values(c, offset, count, (uint8_t *)values);
	return 0;
}

size_t tally_carry_bytes(const struct tally_carry *c)
{
	if (!c)
		return 0;
	return sizeof(struct saved) +
	       (c->segments - 1) * sizeof(struct saved_run) +
	       c->count * sizeof(float);
}

/* Without alignment: the buffer may be part of a checkpoint. */
int tally_carry_save(const struct tally_carry *c, void *buf, size_t size)
{
	struct saved head = { .magic = CARRY_MAGIC };
	struct saved_run run;
	uint8_t *p = buf;
	size_t bytes, i;

	if (!c || !buf)
		return -EINVAL;
	if (carry_idle(c))
		return -EBUSY;
	bytes = tally_carry_bytes(c);
	if (size < bytes)
		return -ENOSPC;
	head.count = c->count;
	head.segments = c->segments - 1;
	p += sizeof(head);
	for (i = 0; i + 1 < c->segments; i++) {
		run.start = c->segment[i].start;
		run.weight = c->segment[i].weight;
		memcpy(p, &run, sizeof(run));
		p += sizeof(run);
	}
	copy_values(c, 0, c->count, p);
	memcpy(buf, &head, sizeof(head));
	head.digest = tally_digest((uint8_t *)buf + 16, bytes - 16);
	memcpy(buf, &head, sizeof(head));
	return 0;
}

static int check_runs(const struct saved *head, const uint8_t *p)
{
	struct saved_run run, last = { 0 };
	uint64_t i;

	for (i = 0; i < head->segments; i++, p += sizeof(run)) {
		memcpy(&run, p, sizeof(run));
		if (run.start >= head->count ||
		    (i ? run.start <= last.start : run.start))
			return -EINVAL;
		last = run;
	}
	return 0;
}

int tally_carry_restore(struct tally_carry *c, const void *buf, size_t size)
{
	const uint8_t *p = buf;
	struct segment *segment;
	struct saved_run run;
	struct saved head;
	size_t i, bytes;

	if (!c || !buf || size < sizeof(head))
		return -EINVAL;
	if (carry_idle(c))
		return -EBUSY;
	memcpy(&head, buf, sizeof(head));
	if (head.magic != CARRY_MAGIC || head.count != c->count ||
	    !head.segments || head.segments > head.count)
		return -EINVAL;
	bytes = sizeof(head) + head.segments * sizeof(run) +
		c->count * sizeof(float);
	p += sizeof(head);
	if (size < bytes ||
	    head.digest != tally_digest((const uint8_t *)buf + 16,
					bytes - 16) || check_runs(&head, p))
		return -EINVAL;

	if (head.segments + 1 > c->room) {
		segment = realloc(c->segment, (head.segments + 1) *
				  sizeof(*segment));
		if (!segment)
			return -ENOMEM;
		c->segment = segment;
		c->room = head.segments + 1;
	}
	for (i = 0; i < head.segments; i++, p += sizeof(run)) {
		memcpy(&run, p, sizeof(run));
		memset(&c->segment[i], 0, sizeof(c->segment[i]));
		c->segment[i].start = run.start;
		c->segment[i].weight = run.weight;
	}
	memset(&c->segment[i], 0, sizeof(c->segment[i]));
	c->segment[i].start = c->count;
	c->segments = head.segments + 1;
	c->hint = 0;
	memcpy(c->vector[0], p, c->count * sizeof(float));
	return 0;
}

int tally_carry_get_stats(const struct tally_carry *c,
			  struct tally_carry_stats *stats)
{
	struct tally_carry_stats s = { .size = sizeof(s) };
	const struct segment *run;
	size_t i, j;

	if (!c || !stats)
		return -EINVAL;
	s.count = c->count;
	for (i = 0; i + 1 < c->segments; i++) {
		run = &c->segment[i];
		for (j = 0; j < segment_length(run); j++) {
			s.values += run_values(c, run)[j];
			s.l1 += fabs((double)run_values(c, run)[j]);
		}
		s.weight += (double)run->weight * segment_length(run);
		if (run->weight > s.weight_max)
			s.weight_max = (double)run->weight;
	}
	s.missed = c->total.missed;
	s.lost = c->total.lost;
	s.align_bound = c->total.bound;
	return opts_put(stats, &s, sizeof(s));
}
