// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Carry: contributed values that no sum has.
 *
 * Two vectors: the committed values, which a step adds to its contributions,
 * and what the step leaves over.  A commit does not copy; it changes, run by
 * run, which vector is which.
 */
#include <stdlib.h>

#include "carry.h"
#include "carry_types.h"
#include "internal.h"

#define SEGMENTS_MIN	64

/* Segment that holds value @at, which is below the end. */
static size_t find(struct tally_carry *c, size_t at)
{
	size_t lo = 0, hi = c->segments - 1, mid, i;

	/* Chunks come in order: it is the last one found, or one after it. */
	for (i = c->hint; i < c->hint + 3 && i + 1 < c->segments; i++) {
		if (c->segment[i].start <= at && at < c->segment[i + 1].start)
			return c->hint = i;
	}
	while (hi - lo > 1) {
		mid = lo + (hi - lo) / 2;
		if (c->segment[mid].start <= at)
			lo = mid;
		else
			hi = mid;
	}
	return c->hint = lo;
}

int tally_carry_create(size_t count, struct tally_carry **out)
{
	struct tally_carry *c;

	if (!count || !out || count > SIZE_MAX / sizeof(float))
		return -EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->count = count;
	c->room = SEGMENTS_MIN;
	c->vector[0] = calloc(count, sizeof(float));
	c->vector[1] = calloc(count, sizeof(float));
	c->segment = calloc(c->room, sizeof(*c->segment));
	if (!c->vector[0] || !c->vector[1] || !c->segment) {
		tally_carry_destroy(c);
		return -ENOMEM;
	}
	c->segments = 2;
	c->segment[1].start = count;
	*out = c;
	return 0;
}

int tally_carry_destroy(struct tally_carry *c)
{
	if (!c)
		return 0;
	if (c->users)
		return -EBUSY;
	free(c->vector[0]);
	free(c->vector[1]);
	free(c->segment);
	free(c);
	return 0;
}

/* Make room for @more segments. */
static int grow(struct tally_carry *c, size_t more)
{
	struct segment *segment;
	size_t room = c->room;

	if (c->segments + more <= room)
		return 0;
	while (room < c->segments + more)
		room *= 2;
	segment = realloc(c->segment, room * sizeof(*segment));
	if (!segment)
		return -ENOMEM;
	c->segment = segment;
	c->room = room;
	return 0;
}

/*
 * Boundaries that are missing among @at, + @step, ... up to @end, which is one
 * itself.  @cut: insert them; there is room.
 */
static size_t missing(struct tally_carry *c, size_t at, size_t end,
		      size_t step, bool cut)
{
	size_t n = 0, i;

	for (;;) {
		if (at < c->count) {
			i = find(c, at);
			if (c->segment[i].start != at) {
				n++;
				if (cut) {
					memmove(&c->segment[i + 1],
						&c->segment[i],
						(c->segments - i) *
						sizeof(*c->segment));
					c->segments++;
					c->segment[i + 1].start = at;
				}
			}
		}
		if (at == end)
			return n;
		at = end - at > step ? at + step : end;
	}
}

int carry_reserve(struct tally_carry *c, size_t offset, size_t count,
		  size_t chunk)
{
	size_t end = offset + count, i, n;
	int err;

	if (offset > c->count || count > c->count - offset)
		return -EINVAL;
	if (!count)
		return 0;
	for (i = find(c, offset); c->segment[i].start < end; i++) {
		if (c->segment[i].touched)
			return -EBUSY;
	}
	n = missing(c, offset, end, chunk, false);
	if (!n)
		return 0;
	err = grow(c, n);
	if (!err)
		missing(c, offset, end, chunk, true);
	return err;
}

void carry_touch(struct tally_carry *c, size_t offset, size_t count)
{
	size_t i;

	if (!count)
		return;
	for (i = find(c, offset); c->segment[i].start < offset + count; i++) {
		c->segment[i].touched = true;
		c->segment[i].next = c->segment[i].weight;
		c->segment[i].lost = false;
		c->touched++;
	}
}

void carry_get(struct tally_carry *c)
{
	c->users++;
}

void carry_put(struct tally_carry *c)
{
	c->users--;
}

/* A chunk must lie in one vector: move what lies in the other one. */
static void straighten(struct tally_carry *c, size_t first, size_t end)
{
	uint8_t now = c->segment[first].now;
	size_t i, at;

	for (i = first + 1; c->segment[i].start < end; i++) {
		if (c->segment[i].now == now)
			continue;
		at = c->segment[i].start;
		memcpy(c->vector[now] + at, c->vector[!now] + at,
		       segment_length(&c->segment[i]) * sizeof(float));
		c->segment[i].now = now;
	}
}

void carry_chunk(struct tally_carry *c, size_t offset, size_t count,
		 uint32_t room, struct carry_chunk *chunk)
{
	size_t first = find(c, offset), i;
	double weight = 0;
	uint8_t now;

	straighten(c, first, offset + count);
	now = c->segment[first].now;
	chunk->carry = c->vector[now] + offset;
	chunk->residual = c->vector[!now] + offset;
	if (c->segment[first + 1].start >= offset + count) {
		weight = (double)c->segment[first].weight;
	} else {
		for (i = first; c->segment[i].start < offset + count; i++)
			weight += (double)c->segment[i].weight *
				  segment_length(&c->segment[i]);
		weight /= count;
	}
	chunk->weight = weight <= 0 ? 0 :
			weight >= room ? room : (uint32_t)weight;
}

static void set_next(struct tally_carry *c, size_t offset, size_t count,
		     int64_t change)
{
	size_t i;

	for (i = find(c, offset); c->segment[i].start < offset + count; i++)
		c->segment[i].next = c->segment[i].weight + change;
}

void carry_counted(struct tally_carry *c, size_t offset, size_t count,
		   uint32_t added, double bound)
{
	set_next(c, offset, count, -(int64_t)added);
	c->bound += bound;
}

void carry_missed(struct tally_carry *c, size_t offset, size_t count,
		  uint32_t weight)
{
	set_next(c, offset, count, weight);
	c->missed += count;
}

static void copy_old(struct tally_carry *c, size_t offset, size_t count)
{
	struct carry_chunk chunk;

	carry_chunk(c, offset, count, 0, &chunk);
	memcpy(chunk.residual, chunk.carry, count * sizeof(float));
}

void carry_dropped(struct tally_carry *c, size_t offset, size_t count)
{
	copy_old(c, offset, count);
	set_next(c, offset, count, 0);
}

void carry_lost(struct tally_carry *c, size_t offset, size_t count)
{
	struct carry_chunk chunk;
	size_t i;

	carry_chunk(c, offset, count, 0, &chunk);
	memset(chunk.residual, 0, count * sizeof(float));
	for (i = find(c, offset); c->segment[i].start < offset + count; i++) {
		c->segment[i].next = 0;
		c->segment[i].lost = true;
	}
	c->lost += count;
}

/* Join neighbours that nothing tells apart, if a step needs far fewer. */
static void coalesce(struct tally_carry *c, size_t needed)
{
	struct segment *s = c->segment;
	size_t from, to = 0;

	if (c->segments < SEGMENTS_MIN || c->segments < 4 * needed)
		return;
	for (from = 1; from + 1 < c->segments; from++) {
		if (s[from].weight == s[to].weight && s[from].now == s[to].now)
			continue;
		s[++to] = s[from];
	}
	s[++to] = s[from];
	c->segments = to + 1;
	c->hint = 0;
}

static int end_step(struct tally_carry *c, bool commit)
{
	size_t touched = c->touched, i;
	struct segment *s;

	if (c->users)
		return -EBUSY;
	for (i = 0; i + 1 < c->segments && c->touched; i++) {
		s = &c->segment[i];
		if (!s->touched)
			continue;
		s->touched = false;
		c->touched--;
		/* What is lost may have been counted: it cannot come back. */
		if (commit || s->lost) {
			s->now = !s->now;
			s->weight = s->next;
		}
		s->lost = false;
	}
	c->total.lost += c->lost;
	if (commit) {
		c->total.missed += c->missed;
		c->total.bound += c->bound;
	}
	c->missed = 0;
	c->lost = 0;
	c->bound = 0;
	if (touched)
		coalesce(c, touched);
	return 0;
}

int tally_carry_commit(struct tally_carry *c)
{
	return c ? end_step(c, true) : -EINVAL;
}

int tally_carry_rollback(struct tally_carry *c)
{
	return c ? end_step(c, false) : -EINVAL;
}

int carry_idle(const struct tally_carry *c)
{
	return c->users || c->touched ? -EBUSY : 0;
}
