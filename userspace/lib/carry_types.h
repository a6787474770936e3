/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/* A carry's structure, for the files that work on all of it. */
#ifndef LIBTALLY_CARRY_TYPES_H
#define LIBTALLY_CARRY_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct segment - a run of values with one missed weight
 * @start: first value; the run ends where the next one starts
 * @weight: missed weight.  It may be negative: a chunk has one weight, so where
 *	runs of different weight fall into one, some give more than they have
 *	and some keep a rest
 * @next: likewise, after the step
 * @now: which of the two vectors holds the committed values
 * @touched: used since the last commit
 * @lost: the outcome is not known
 */
struct segment {
	size_t		start;
	int64_t		weight;
	int64_t		next;
	uint8_t		now;
	bool		touched;
	bool		lost;
};

/**
 * struct tally_carry - see carry.h
 * @count: values
 * @vector: committed values and those of the step, which is which by segment
 * @segment: @segments of them, in order, the first at 0, and one at @count
 * @room: for so many
 * @hint: segment that was found last
 * @touched: number of touched segments
 * @users: calls under way
 * @missed: values, since the last commit
 * @lost: likewise
 * @bound: likewise: of alignment
 * @total: of what was committed
 */
struct tally_carry {
	size_t		count;
	float		*vector[2];
	struct segment	*segment;
	size_t		segments;
	size_t		room;
	size_t		hint;
	size_t		touched;
	unsigned int	users;
	uint64_t	missed;
	uint64_t	lost;
	double		bound;
	struct {
		uint64_t	missed;
		uint64_t	lost;
		double		bound;
	} total;
};

static inline size_t segment_length(const struct segment *s)
{
	return s[1].start - s->start;
}

#endif
