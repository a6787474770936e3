/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * Why a packet was dropped.  Each reason has a counter in every group and a
 * tracepoint; the order is ABI of the statistics, new reasons go to the end.
 */
#ifndef _TALLY_DROPS_H
#define _TALLY_DROPS_H

/* name, what it means to a person who reads the counters */
#define TALLY_DROPS(X)							\
	X(TRUNCATED, "shorter than its header says")			\
	X(OVERSIZED, "longer than the group's payload or past its end")	\
	X(VERSION, "another version of the wire format")		\
	X(TYPE, "unknown packet type")					\
	X(GROUP, "no such group here")					\
	X(EPOCH, "another epoch of the group")				\
	X(ADDRESS, "not sent to the group's address here")		\
	X(MEMBER, "sender is not a member, or not from its address")	\
	X(SPOOF, "claims a rank of this node, but came from outside")	\
	X(LANE, "unknown lane, or one that cannot be summed")		\
	X(MALFORMED, "fields or headroom bits out of range")		\
	X(PARTICIPANTS, "sender takes no part, or unknown ranks do")	\
	X(OWNER, "the shard's owner is not here")			\
	X(CHUNK, "chunk beyond the shard")				\
	X(TAG, "tag does not verify: corrupt or forged")		\
	X(STALE, "seq is over here")					\
	X(AHEAD, "seq is beyond the window")				\
	X(LATE, "came after the shard was closed")			\
	X(DUPLICATE, "already counted")					\
	X(MISMATCH, "participants or shape differ from the others'")	\
	X(CONTENDED, "slot was locked too long")			\
	X(UNWANTED, "no local member waits for it")			\
	X(PROMISED, "promised not to take it any more")			\
	X(VOIDED, "sender holds results that were voided")		\
	X(QUEUE, "queue of control packets is full")			\
	X(RATE, "asked again too soon")					\
	X(MEMORY, "no memory")

#define __TALLY_DROP_ENUM(name, text) TALLY_DROP_##name,
enum tally_drop {
	TALLY_KEEP = 0,		/* not dropped */
	TALLY_DROPS(__TALLY_DROP_ENUM)
	__TALLY_DROP_END,
};

#undef __TALLY_DROP_ENUM

#endif
