/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/* The library's own structures. */
#ifndef LIBTALLY_INTERNAL_H
#define LIBTALLY_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tally/tally.h>

#include "codec.h"
#include "transport.h"

/* Beyond what a call may take by its timeouts, before a wait gives up. */
#define GRACE_NS	1000000000ull

/*
 * Copy the caller's structure of options: what it lacks is 0, what it has more
 * must be 0.  NULL: all zeros.  Its first field is a u32 size.
 */
static inline int opts_get(void *to, size_t known, const void *from)
{
	const unsigned char *p = from;
	uint32_t size, i;

	memset(to, 0, known);
	if (!from)
		return 0;
	memcpy(&size, from, sizeof(size));
	if (size < sizeof(size))
		return -EINVAL;
	for (i = (uint32_t)known; i < size; i++) {
		if (p[i])
			return -E2BIG;
	}
	memcpy(to, from, size < known ? size : known);
	return 0;
}

/*
 * Fill the caller's structure: as much as fits its size, which stays; what the
 * caller knows and we do not is 0.
 */
static inline int opts_put(void *to, const void *from, size_t known)
{
	uint32_t size;

	memcpy(&size, to, sizeof(size));
	if (size < sizeof(size))
		return -EINVAL;
	memcpy(to, from, size < known ? size : known);
	memcpy(to, &size, sizeof(size));
	if (size > known)
		memset((char *)to + known, 0, size - known);
	return 0;
}

uint64_t now_ns(void);

/**
 * struct tally - an open transport
 * @members: attached; atomic
 */
struct tally {
	const struct transport_ops	*ops;
	void				*ctx;
	struct tally_info		info;
	unsigned int			members;
};

/* For tests: a transport that is not among the library's own. */
int open_with(const struct transport_ops *ops, const char *where,
	      struct tally **out);

/**
 * struct flight - a place in the window
 * @call: that @seq is a part of; NULL: nothing is in flight here, or what is
 *	was forgotten
 * @part: which one
 * @empty: nothing was contributed and nothing is expected
 * @zeroed: zeros stand for the contribution, whatever the masks say
 * @forgotten: @call has ended without it; its completion only makes room
 */
struct flight {
	struct tally_call	*call;
	uint32_t		seq;
	uint32_t		part;
	bool			empty;
	bool			zeroed;
	bool			forgotten;
};

/**
 * struct tally_member - one rank
 * @next: number of the next collective to submit
 * @oldest: first one that is not over; @next - @oldest are in flight
 * @stale: must rejoin
 * @blocked: SUBMIT said EAGAIN
 * @flight: by seq modulo window
 * @head: calls with parts to submit, in order of posting
 * @calls: all of them
 * @scratch: call of the functions that are init, post and wait in one
 */
struct tally_member {
	struct tally		*t;
	struct transport_link	link;
	uint32_t		next;
	uint32_t		oldest;
	bool			stale;
	bool			blocked;
	struct flight		flight[TALLY_RANKS];
	struct tally_call	*head;
	struct tally_call	**tail;
	struct tally_call	*calls;
	struct tally_call	*scratch;
};

enum call_state {
	CALL_EMPTY,	/* no init yet */
	CALL_READY,	/* initialised, never posted */
	CALL_ACTIVE,
	CALL_ENDED,
};

/**
 * struct tally_call - what to do, and how far it is
 * @m: member
 * @all: next of the member's calls
 * @queued: next call with parts to submit
 * @in: values or bytes to contribute; NULL: none are needed
 * @out: where the outcome goes
 * @count: values (of one part), or bytes (of one part)
 * @slice: as many of them in one collective
 * @parts: collectives
 * @submitted: of them
 * @over: of them
 * @chunks: of a full collective
 * @root: of a broadcast
 * @participants: mask
 * @n: of them
 * @index: our place among them
 * @per_word: values or bytes in a word
 * @member: we are one of them
 * @encoded: the next part stands in its tx cells already
 * @cancelled: end what is left
 * @remember: exponents of results are kept for the next post
 * @transfer: the first part is the first of a transfer of state
 * @state: see above
 * @floor: by part and chunk: smallest exponent to encode with
 * @floors: length of it
 * @how: fixed-point lanes: how to encode
 * @opts: with defaults filled in
 * @start_ns: when it was posted
 * @deadline_ns: by which the call must have ended
 */
struct tally_call {
	struct tally_member	*m;
	struct tally_call	*all;
	struct tally_call	*queued;
	enum call_state		state;
	uint8_t			op;
	const uint8_t		*in;
	uint8_t			*out;
	size_t			count;
	size_t			slice;
	uint32_t		parts;
	uint32_t		submitted;
	uint32_t		over;
	uint32_t		chunks;
	uint32_t		root;
	uint64_t		participants;
	uint32_t		n;
	uint32_t		index;
	uint32_t		per_word;
	bool			member;
	bool			encoded;
	bool			cancelled;
	bool			remember;
	bool			transfer;
	struct codec_block	how;
	struct tally_call_opts	opts;
	int8_t			*floor;
	size_t			floors;
	uint64_t		start_ns;
	uint64_t		deadline_ns;
	struct tally_report	report;
};

/* Does a contribution of this call concern a carry? */
static inline bool call_carries(const struct tally_call *call)
{
	return call->opts.carry && call->member;
}

/* call.c */
/*
 * End @call here, whatever the transport does with it: nothing touches its
 * buffers any more.
 */
void call_forget(struct tally_call *call);
void call_free(struct tally_call *call);

/*
 * part.c: one collective of a call.  Its tx cells are the call's from encode to
 * settle.
 */
uint32_t part_words(const struct tally_call *call, uint32_t part);
/* @empty: blocks of zeros: it is only submitted to be cancelled. */
void part_encode(struct tally_call *call, uint32_t part, uint32_t seq,
		 bool empty);
/* @status: of the completion.  Return: it, or -EPROTO if cells contradict it. */
int part_settle(struct tally_call *call, const struct flight *f, int status);
/* The part was never submitted: its outcome is zeros, its values are missed. */
void part_unsent(struct tally_call *call, uint32_t part);
/* The call ends while the part is in flight: its outcome is zeros. */
void part_forget(struct tally_call *call, uint32_t part);
/*
 * Contributors of chunk @at of a collective that ended less than a window ago;
 * 0: none, or no outcome.
 */
uint64_t part_mask(const struct tally_call *call, uint32_t seq, uint32_t at);
int part_reserve(struct tally_call *call);
void part_touch(struct tally_call *call);

/* progress.c */
void call_end(struct tally_call *call);
/*
 * What to submit for @timeout_us of some options.  0 would stand for the
 * group's timeout, which may have been changed since the member attached: no
 * wait here would know of that.
 */
uint32_t timeout_of(const struct tally_member *m, uint32_t timeout_us);
/* Get on without waiting. */
void progress(struct tally_member *m);
/* Get on until @call has ended or it is @deadline_ns. */
int progress_until(struct tally_call *call, uint64_t deadline_ns);
/* Post the member's scratch call and wait; @err: of its init. */
int scratch_run(struct tally_member *m, int err, struct tally_report *report);

#endif
