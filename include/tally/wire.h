/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * What a tally packet looks like.  The only definition of the wire format:
 * module, BPF programs, library, simulator and tests include this file.
 *
 * A packet is a 64-byte header and a payload of up to TALLY_WORDS_MAX 64-bit
 * words.  Header fields are big-endian, payload words little-endian.  A cell
 * is a packet at rest: an owner's slot, the RESULT packet and a member's
 * result cell hold the same bytes.
 */
#ifndef _TALLY_WIRE_H
#define _TALLY_WIRE_H

#include <linux/types.h>

#define TALLY_VERSION		1
#define TALLY_PORT		31249	/* UDP, one per network namespace */

#define TALLY_RANKS_MAX		64	/* members of one group: bits of a mask */
#define TALLY_PAYLOAD_ALIGN	64	/* bytes; payload is a multiple of it */
#define TALLY_PAYLOAD_MIN	64	/* bytes */
#define TALLY_PAYLOAD_MAX	8960	/* bytes */
#define TALLY_WORDS_MAX		(TALLY_PAYLOAD_MAX / 8)

/*
 * The weight of one contribution lies below 2^26, so that 64 of them fit the
 * 32-bit sum.
 */
#define TALLY_WEIGHT_MAX	((1u << 26) - 1)

/* The largest sum of biases, in units of the exponent. */
#define TALLY_BIAS_MAX		(1u << 31)

/* Exponent of a block of zeros (words == 0); blocks with words use +-127. */
#define TALLY_EXP_NONE		(-128)
#define TALLY_EXP_MAX		127

enum tally_type {
	TALLY_CONTRIB = 1,	/* one rank's values, to the shard's owner */
	TALLY_RESULT,		/* the owner's sum, or a holder's copy (REPAIR) */
	TALLY_RECEIPT,		/* owner to contributor: what was summed */
	TALLY_NACK,		/* asks for what is missing, see tally_ask */
	TALLY_FEEDBACK,		/* owner to sender: pace and incast */
	TALLY_PROBE,		/* asks for a PROBE_ACK: liveness, done, RTT */
	TALLY_PROBE_ACK,
	TALLY_ABORT,		/* this seq cannot end: members disagree on it */
	TALLY_BUSY,		/* asked for something that is not ready yet */
	TALLY_EPOCH,		/* membership change */
	TALLY_DECIDE,		/* RESULT or VOID for an orphaned chunk */
	__TALLY_TYPE_END,
};

enum tally_lane {
	TALLY_LANE_I32 = 1,	/* 2 lanes a word */
	TALLY_LANE_I16,		/* 4 */
	TALLY_LANE_I8,		/* 8 */
	TALLY_LANE_W64,		/* one wrapping 64-bit integer a word */
	TALLY_LANE_RAW,		/* opaque bytes, never summed */
	__TALLY_LANE_END,
};

#define TALLY_F_TAIL		(1u << 0) /* last packets of a sender to an owner */
#define TALLY_F_PARTIAL		(1u << 1) /* the mask lacks participants */
#define TALLY_F_REPAIR		(1u << 2) /* sent again because it was asked for */
#define TALLY_F_RELIABLE	(1u << 3) /* closes when complete, not by time */
#define TALLY_F_VOID		(1u << 4) /* RESULT: nobody's value, mask 0 */
#define TALLY_F_NONFINITE	(1u << 5) /* a summed block had NaN or Inf */
#define TALLY_F_REJOIN		(1u << 6) /* a contributor waits for state */
#define TALLY_F_CE		(1u << 7) /* the path marked congestion */

/* Flags of a contribution that are OR-ed into its RESULT. */
#define TALLY_F_STICKY		(TALLY_F_NONFINITE | TALLY_F_REJOIN)

/*
 * What a NACK, DECIDE, ABORT or BUSY says, in the header's `incast` byte.
 * (A CONTRIB has its enum tally_op there.)
 */
enum tally_ask {
	TALLY_ASK_RESULT = 1,	/* NACK: send me these RESULTs or RECEIPTs */
	TALLY_ASK_CONTRIB,	/* NACK: send me your contributions again */
	TALLY_ASK_PROMISE,	/* DECIDE: send the RESULT, or promise */
	TALLY_SAY_PROMISE,	/* DECIDE: I hold none and shall take none */
	TALLY_SAY_VOID,		/* DECIDE: all have promised, it is VOID */
	TALLY_SAY_VOID_ACK,	/* DECIDE: the owner takes it as VOID too */
	TALLY_SAY_GONE,		/* BUSY: too old, no longer kept here */
	TALLY_SAY_OPEN,		/* BUSY: not closed yet, ask later */
	TALLY_SAY_SHAPE,	/* ABORT: participants or shape differ */
	TALLY_SAY_CANCEL,	/* ABORT: cancelled by its submitter */
	TALLY_SAY_SILENT,	/* ABORT: gave up waiting for the ranks in mask */
	__TALLY_ASK_END,
};

/**
 * struct tally_hdr - header of every packet and cell
 * @version: TALLY_VERSION
 * @type: enum tally_type
 * @lane: enum tally_lane
 * @flags: TALLY_F_*
 * @group: id of the group
 * @rank: the sender's rank
 * @epoch: version of the membership
 * @seq: number of the collective; compare as signed difference
 * @chunk: index within the shard
 * @shard: CONTRIB, RESULT, RECEIPT, NACK, BUSY, DECIDE: index of the shard
 * @words: 64-bit words of payload; 0 in CONTRIB and RESULT: a block of zeros
 * @exponent: the values' unit is 2^exponent; TALLY_EXP_NONE where words is 0
 * @incast: CONTRIB: enum tally_op, so that an owner whose process is late
 *	knows whether to answer with RESULTs or RECEIPTs; FEEDBACK: senders at a
 *	time; other control packets: enum tally_ask
 * @time: CONTRIB: bound, RESULT: the owner's tC; see tally_time_pack()
 * @sent_us: sender's clock, microseconds, wraps; echoed in FEEDBACK
 * @mask: CONTRIB: participants; RESULT: contributors; control: ranks meant
 * @bias: to subtract from each lane, in units of the exponent
 * @weight: sum of the contributors' weights; the mean divides by it
 * @shape: digest of op, mode, dtype and count, see tally_shape()
 * @done: every seq before it is finished at the sender
 * @tag: see tag.h
 *
 * NACK, DECIDE and BUSY name chunks of one shard by a bitmap in their payload:
 * bit i of word j stands for chunk `chunk` + 64 j + i.  A NACK for
 * contributions names the ranks it asks in `mask`, a BUSY those it waits for.
 */
struct tally_hdr {
	__u8	version;
	__u8	type;
	__u8	lane;
	__u8	flags;
	__be16	group;
	__be16	rank;
	__be32	epoch;
	__be32	seq;
	__be32	chunk;
	__be16	shard;
	__be16	words;
	__s8	exponent;
	__u8	incast;
	__be16	time;
	__be32	sent_us;
	__be64	mask;
	__be32	bias;
	__be32	weight;
	__be32	shape;
	__be32	done;
	__be64	tag;
};

/**
 * struct tally_receipt - one chunk's outcome, payload of a RECEIPT
 * @mask: contributors in the sum
 * @weight: sum of their weights
 * @exponent: exponent of the sum
 * @flags: TALLY_F_* of the RESULT
 * @__reserved: zero
 */
struct tally_receipt {
	__be64	mask;
	__be32	weight;
	__s8	exponent;
	__u8	flags;
	__be16	__reserved;
};

#define TALLY_ASSERT_AT(type, field, offset)				\
	_Static_assert(__builtin_offsetof(struct type, field) == (offset), \
		       #type "." #field " moved on the wire")

_Static_assert(sizeof(struct tally_hdr) == 64, "the header is 64 bytes");
TALLY_ASSERT_AT(tally_hdr, version, 0);
TALLY_ASSERT_AT(tally_hdr, type, 1);
TALLY_ASSERT_AT(tally_hdr, lane, 2);
TALLY_ASSERT_AT(tally_hdr, flags, 3);
TALLY_ASSERT_AT(tally_hdr, group, 4);
TALLY_ASSERT_AT(tally_hdr, rank, 6);
TALLY_ASSERT_AT(tally_hdr, epoch, 8);
TALLY_ASSERT_AT(tally_hdr, seq, 12);
TALLY_ASSERT_AT(tally_hdr, chunk, 16);
TALLY_ASSERT_AT(tally_hdr, shard, 20);
TALLY_ASSERT_AT(tally_hdr, words, 22);
TALLY_ASSERT_AT(tally_hdr, exponent, 24);
TALLY_ASSERT_AT(tally_hdr, incast, 25);
TALLY_ASSERT_AT(tally_hdr, time, 26);
TALLY_ASSERT_AT(tally_hdr, sent_us, 28);
TALLY_ASSERT_AT(tally_hdr, mask, 32);
TALLY_ASSERT_AT(tally_hdr, bias, 40);
TALLY_ASSERT_AT(tally_hdr, weight, 44);
TALLY_ASSERT_AT(tally_hdr, shape, 48);
TALLY_ASSERT_AT(tally_hdr, done, 52);
TALLY_ASSERT_AT(tally_hdr, tag, 56);
_Static_assert(sizeof(struct tally_receipt) == 16, "a receipt is 16 bytes");
TALLY_ASSERT_AT(tally_receipt, weight, 8);
TALLY_ASSERT_AT(tally_receipt, exponent, 12);

/*
 * Byte order, spelled with compiler builtins: BPF, kernel and userspace have
 * no helper in common.
 */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define __tally_swap16(x)	__builtin_bswap16(x)
#define __tally_swap32(x)	__builtin_bswap32(x)
#define __tally_swap64(x)	__builtin_bswap64(x)
#define __tally_le64(x)		(x)
#else
#define __tally_swap16(x)	(x)
#define __tally_swap32(x)	(x)
#define __tally_swap64(x)	(x)
#define __tally_le64(x)		__builtin_bswap64(x)
#endif

#ifdef __CHECKER__
#define __tally_force __attribute__((force))
#else
#define __tally_force
#endif

static inline __u16 tally_get16(__be16 x)
{
	return __tally_swap16((__tally_force __u16)x);
}

static inline __u32 tally_get32(__be32 x)
{
	return __tally_swap32((__tally_force __u32)x);
}

static inline __u64 tally_get64(__be64 x)
{
	return __tally_swap64((__tally_force __u64)x);
}

static inline __be16 tally_put16(__u16 x)
{
	return (__tally_force __be16)__tally_swap16(x);
}

static inline __be32 tally_put32(__u32 x)
{
	return (__tally_force __be32)__tally_swap32(x);
}

static inline __be64 tally_put64(__u64 x)
{
	return (__tally_force __be64)__tally_swap64(x);
}

static inline __u64 tally_get_le64(__le64 x)
{
	return __tally_le64((__tally_force __u64)x);
}

static inline __le64 tally_put_le64(__u64 x)
{
	return (__tally_force __le64)__tally_le64(x);
}

/* Signed distance from seq @b to seq @a: positive when @a is later. */
static inline __s32 tally_seq_diff(__u32 a, __u32 b)
{
	return (__s32)(a - b);
}

/*
 * A duration on the wire: an 11-bit mantissa in the upper bits, a 5-bit
 * exponent in the lower ones, in microseconds: mantissa << exponent.  Packing
 * rounds up, so that a bound is never shortened; at most
 * 2047 << 20 us (about 36 minutes) is used.
 */
#define TALLY_TIME_MAX_US	(2047u << 20)

static inline __u16 tally_time_pack(__u64 us)
{
	__u32 exp = 0;

	if (us >= TALLY_TIME_MAX_US)
		return (__u16)(2047u << 5 | 20);
	while (us > 2047) {
		us = (us + 1) >> 1;
		exp++;
	}
	return (__u16)(us << 5 | exp);
}

static inline __u64 tally_time_unpack(__u16 time)
{
	__u32 exp = time & 31;

	return (__u64)(time >> 5) << (exp > 20 ? 20 : exp);
}

#endif
