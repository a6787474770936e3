/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * What calls do to a carry.  Ranges are chunks of a range that the call
 * reserved; each chunk ends in one of four ways.
 */
#ifndef LIBTALLY_CARRY_H
#define LIBTALLY_CARRY_H

#include <stddef.h>
#include <stdint.h>

struct tally_carry;

/**
 * struct carry_chunk - a chunk's part of the vectors
 * @carry: what to add
 * @residual: what is left, until the commit
 * @weight: missed weight to add to the contribution
 */
struct carry_chunk {
	const float	*carry;
	float		*residual;
	uint32_t	weight;
};

/*
 * Make @offset ... + @count ready for chunks of @chunk values.  May allocate,
 * if chunks never began there before.  -EINVAL, -EBUSY: used since the last
 * commit, -ENOMEM: nothing but the inner cut of the range is changed.
 */
int carry_reserve(struct tally_carry *c, size_t offset, size_t count,
		  size_t chunk);
/* The range is the caller's until the next commit or rollback. */
void carry_touch(struct tally_carry *c, size_t offset, size_t count);
/* A call that uses the carry begins and ends. */
void carry_get(struct tally_carry *c);
void carry_put(struct tally_carry *c);

/* @room: most weight that may be added. */
void carry_chunk(struct tally_carry *c, size_t offset, size_t count,
		 uint32_t room, struct carry_chunk *chunk);

/*
 * counted	the sum has it, with @added of the missed weight; at most
 *		@bound of it was lost to alignment
 * missed	the sum lacks it: the residual was made whole; @weight is the
 *		contribution's own
 * dropped	it was no number: everything stays as it was
 * lost		nobody knows: neither here nor there
 */
void carry_counted(struct tally_carry *c, size_t offset, size_t count,
		   uint32_t added, double bound);
void carry_missed(struct tally_carry *c, size_t offset, size_t count,
		  uint32_t weight);
void carry_dropped(struct tally_carry *c, size_t offset, size_t count);
void carry_lost(struct tally_carry *c, size_t offset, size_t count);

/* Nothing is pending: -EBUSY otherwise. */
int carry_idle(const struct tally_carry *c);

#endif
