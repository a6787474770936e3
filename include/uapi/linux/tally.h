/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * tally: collectives with a time bound, for training processes.
 *
 * A process opens /dev/tally, attaches to a group as one of its ranks and maps
 * its cells.  It writes a collective's contribution into its tx cells, calls
 * SUBMIT, waits by poll(), read() or WAIT, and reads the outcome from its
 * result cells.
 *
 * Cells
 *	A cell is a &struct tally_hdr and `cell_words` payload words, `cell_bytes`
 *	in all.  The cells of collective `seq` are number
 *	(seq % window) * cells ... + cells - 1 of either area; chunk i of the
 *	buffer (see tally_layout_init()) is cell i of them.
 *	In a tx cell the process sets words, exponent, bias, weight and the
 *	NONFINITE flag of the header; the kernel ignores its other fields.  The
 *	weight is what this chunk weighs beyond SUBMIT's weight: contributions
 *	that earlier collectives missed.  Both together are below 2^26.  An
 *	all_gather or broadcast sends the first cells: the process's own part.
 *	A result cell of a chunk without outcome has another seq in its header.
 *	In a reduce_scatter the cells of other members' parts hold a header of
 *	type RECEIPT: mask, weight, exponent and flags of the sum, no payload.
 *	Tx cells may be written again when their collective is complete, result
 *	cells stay as they are until seq + window is submitted.
 *
 * Order
 *	Every member submits every collective of its group, in the same order;
 *	one that is not among the participants completes at once.
 *
 * Structures
 *	The first field is the size of the structure.  A shorter one than the
 *	kernel's gets zeros for what it lacks; a longer one is accepted if the
 *	tail is zero, else E2BIG.  Reserved fields and unknown flags: EINVAL.
 *
 * Errors, the same for every call
 *	EAGAIN		not now: nothing to read, or SUBMIT outruns a slow member;
 *			poll() says when
 *	EBADMSG		members disagree on what this collective is
 *	EBUSY		the rank or the file is attached already, old cells are
 *			still mapped, the window is full of collectives that are
 *			under way or were not read, or a rejoin is under way
 *	ECANCELED	cancelled here
 *	ECONNABORTED	cancelled by another member
 *	EFAULT		bad pointer
 *	EHOSTDOWN	a chunk could not be decided: `missing` names the silent
 *	EINVAL		a field is out of range or reserved
 *	EMSGSIZE	the collective has more chunks than the group's cells
 *	ENOBUFS		cells beyond the limit net.tally.mem_max
 *	ENODEV		the group or its network namespace is gone
 *	ENOENT		no such group, rank or collective
 *	ENOMEM		no memory for the cells
 *	ENOTCONN	not attached
 *	ENOTTY		unknown command
 *	EPERM, EACCES	not allowed to use this group
 *	ERANGE		a tx cell's lanes, words or exponent are out of range
 *	ESTALE		this member must receive state first: TALLY_OP_REJOIN
 *	ETIME		WAIT's deadline passed, the collective goes on
 *	ETIMEDOUT	not complete within its timeout: `missing` names who
 */
#ifndef _UAPI_LINUX_TALLY_H
#define _UAPI_LINUX_TALLY_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define TALLY_ABI_VERSION	1
#define TALLY_RANKS		64

/**
 * struct tally_info - TALLY_IOC_INFO
 * @size: of this structure
 * @flags: none yet, zero
 * @out_abi: TALLY_ABI_VERSION
 * @out_features: TALLY_FEATURE_*
 * @out_port: UDP port of this network namespace
 * @out_completion_size: size of the kernel's &struct tally_completion
 * @out_groups: groups in this network namespace
 * @__reserved: zero
 */
struct tally_info {
	__u32	size;
	__u32	flags;
	__u32	out_abi;
	__u32	out_features;
	__u32	out_port;
	__u32	out_completion_size;
	__u32	out_groups;
	__u32	__reserved;
};

#define TALLY_FEATURE_KFUNC	(1u << 0) /* XDP programs can call the module */
#define TALLY_FEATURE_IPV6	(1u << 1)

/**
 * struct tally_attach - TALLY_IOC_ATTACH: be one rank of a group
 * @size: of this structure
 * @flags: none yet, zero
 * @group: id
 * @rank: one whose address is local; free
 * @out_epoch: of the group
 * @out_ranks: members
 * @out_window: collectives in flight
 * @out_cell_bytes: from one cell to the next
 * @out_cell_words: payload of a cell, 64-bit words
 * @out_cells: cells of one collective
 * @out_shard_chunks: most chunks of one shard
 * @out_seq: number that the first SUBMIT must carry
 * @out_flags: TALLY_ATTACH_*
 * @out_tx_offset: where to mmap tx cells, read-write
 * @out_result_offset: where to mmap result cells, read-only
 * @out_area_bytes: length of either area: window * cells * cell_bytes, whole
 *	pages
 * @out_bound_us: the group's bound
 * @out_timeout_us: the group's timeout
 * @out_members: mask of ranks
 * @out_caps: by rank: log2 of the leaves that one contribution sums
 *
 * One file descriptor is one attachment.  Memory is charged to the caller.
 */
struct tally_attach {
	__u32	size;
	__u32	flags;
	__u32	group;
	__u32	rank;
	__u32	out_epoch;
	__u32	out_ranks;
	__u32	out_window;
	__u32	out_cell_bytes;
	__u32	out_cell_words;
	__u32	out_cells;
	__u32	out_shard_chunks;
	__u32	out_seq;
	__u32	out_flags;
	__u32	__reserved;
	__u64	out_tx_offset;
	__u64	out_result_offset;
	__u64	out_area_bytes;
	__u32	out_bound_us;
	__u32	out_timeout_us;
	__u64	out_members;
	__u8	out_caps[TALLY_RANKS];
};

#define TALLY_ATTACH_STALE	(1u << 0) /* the group is under way: rejoin */

/**
 * struct tally_submit - TALLY_IOC_SUBMIT: begin a collective
 * @size: of this structure
 * @flags: TALLY_SUBMIT_*
 * @seq: number of the collective: the previous one plus 1, at first out_seq of
 *	ATTACH, after a rejoin the completion's @state_seq
 * @op: enum tally_op
 * @lane: enum tally_lane
 * @dtype: opaque; all members must give the same
 * @__reserved0: zero
 * @participants: mask of ranks, 0 for all members
 * @words: length in 64-bit words: whole buffer (all_reduce, broadcast), one
 *	part (reduce_scatter, all_gather), 0 (barrier, rejoin)
 * @weight: of this contribution, below 2^26
 * @bound_us: contributions close so long after the first; 0: the group's
 * @timeout_us: the collective ends with an error after so long; 0: the group's
 * @root: broadcast: rank that sends; else 0
 * @__reserved1: zero
 * @user_data: comes back in the completion
 * @out_missing: with EAGAIN: ranks that SUBMIT waits for
 * @out_seq: with EINVAL for a wrong @seq: the right one
 * @out_flags: TALLY_SUBMITTED_*
 *
 * all_gather, broadcast and barrier are reliable; the others are if asked for.
 * Rejoin asks for state; whoever submits it is STALE until it has received it.
 */
struct tally_submit {
	__u32	size;
	__u32	flags;
	__u32	seq;
	__u8	op;
	__u8	lane;
	__u8	dtype;
	__u8	__reserved0;
	__u64	participants;
	__u32	words;
	__u32	weight;
	__u32	bound_us;
	__u32	timeout_us;
	__u32	root;
	__u32	__reserved1;
	__u64	user_data;
	__u64	out_missing;
	__u32	out_seq;
	__u32	out_flags;
};

#define TALLY_SUBMIT_RELIABLE	(1u << 0) /* ask for what is missing */
#define TALLY_SUBMIT_STATE	(1u << 1) /* broadcast: first of a state transfer */
/*
 * Just rejoined, this rank has taken part with zeros already: what it wrote is
 * not sent, all of it is to be carried, whatever the masks say.
 */
#define TALLY_SUBMITTED_ZERO	(1u << 0)
#define __TALLY_SUBMIT_ALL	(TALLY_SUBMIT_RELIABLE | TALLY_SUBMIT_STATE)

/**
 * struct tally_completion - one finished collective; what read() returns
 * @size: of this structure
 * @seq: number of the collective
 * @user_data: from SUBMIT
 * @status: 0 or -errno
 * @op: enum tally_op
 * @flags: TALLY_F_* of all chunks, OR-ed
 * @root: rejoin: rank that sends state
 * @__reserved0: zero
 * @mask_all: ranks that are in every chunk; rejoin: the participants of the
 *	broadcast that brings the state
 * @mask_any: ranks that are in any chunk
 * @missing: with an error: ranks that it is about
 * @late: ranks whose contribution to our own shard came late or not at all
 * @chunks: of the whole collective
 * @partial: chunks whose mask lacks participants
 * @voided: chunks that ended as VOID
 * @repaired: chunks that we had to ask for
 * @lost: chunks without outcome; their contributions are lost mass
 * @aligned: alignments of unequal exponents in our own shard
 * @elapsed_us: from SUBMIT to completion
 * @close_us: from our own shard's first contribution to its close
 * @state_seq: rejoin: seq of the broadcast that brings the state
 * @own_chunks: chunks of our own shard
 * @arrival_us: by rank: its last packet to our own shard, microseconds after
 *	the shard's first packet; 0xffffffff: none came
 */
struct tally_completion {
	__u32	size;
	__u32	seq;
	__u64	user_data;
	__s32	status;
	__u8	op;
	__u8	flags;
	__u8	root;
	__u8	__reserved0;
	__u64	mask_all;
	__u64	mask_any;
	__u64	missing;
	__u64	late;
	__u32	chunks;
	__u32	partial;
	__u32	voided;
	__u32	repaired;
	__u32	lost;
	__u32	aligned;
	__u32	elapsed_us;
	__u32	close_us;
	__u32	state_seq;
	__u32	own_chunks;
	__u32	arrival_us[TALLY_RANKS];
};

/**
 * struct tally_wait - TALLY_IOC_WAIT: wait for one collective and take it
 * @size: of this structure
 * @seq: a submitted collective whose completion was not read
 * @deadline_ns: CLOCK_MONOTONIC; in the past: do not wait
 * @completion: address of a &struct tally_completion to fill
 * @completion_size: its size; a shorter one than the kernel's is cut off
 * @__reserved: zero
 */
struct tally_wait {
	__u32	size;
	__u32	seq;
	__u64	deadline_ns;
	__u64	completion;
	__u32	completion_size;
	__u32	__reserved;
};

/**
 * struct tally_cancel - TALLY_IOC_CANCEL: end a collective with ECANCELED
 * @size: of this structure
 * @seq: a collective that is not complete
 *
 * Other members of a reliable collective get ECONNABORTED; in a bounded one
 * this member becomes STALE.
 */
struct tally_cancel {
	__u32	size;
	__u32	seq;
};

/**
 * struct tally_detach - TALLY_IOC_DETACH: leave the rank; cells stay mapped
 * @size: of this structure
 * @flags: none yet, zero
 *
 * The file descriptor may attach again once the old cells are unmapped.
 */
struct tally_detach {
	__u32	size;
	__u32	flags;
};

#define TALLY_IOC_MAGIC		0xF7

#define TALLY_IOC_INFO		_IO(TALLY_IOC_MAGIC, 0x00)
#define TALLY_IOC_ATTACH	_IO(TALLY_IOC_MAGIC, 0x01)
#define TALLY_IOC_SUBMIT	_IO(TALLY_IOC_MAGIC, 0x02)
#define TALLY_IOC_WAIT		_IO(TALLY_IOC_MAGIC, 0x03)
#define TALLY_IOC_CANCEL	_IO(TALLY_IOC_MAGIC, 0x04)
#define TALLY_IOC_DETACH	_IO(TALLY_IOC_MAGIC, 0x05)

/*
 * Generic netlink, family "tally": groups of a network namespace.  All but GET
 * need CAP_NET_ADMIN in the namespace's user namespace.
 *
 * A group is created, gets its members and is brought up; from then on its
 * epoch, geometry and members are fixed until it is taken down.
 */
#define TALLY_GENL_NAME		"tally"
#define TALLY_GENL_VERSION	1
#define TALLY_GENL_MCGRP	"events"

enum tally_cmd {
	TALLY_CMD_UNSPEC,
	TALLY_CMD_GROUP_NEW,	/* TALLY_A_GROUP */
	TALLY_CMD_GROUP_SET,	/* name, bound, settle, timeout, gid: any time;
				 * the rest: while it is down
				 */
	TALLY_CMD_GROUP_DEL,	/* TALLY_A_GROUP with the id */
	TALLY_CMD_GROUP_GET,	/* one by id, or dump */
	TALLY_CMD_GROUP_UP,
	TALLY_CMD_GROUP_DOWN,
	TALLY_CMD_MEMBER_NEW,	/* TALLY_A_GROUP with the id, TALLY_A_MEMBER */
	TALLY_CMD_MEMBER_DEL,
	TALLY_CMD_STATS_GET,	/* one by id, or dump */
	TALLY_CMD_EVENT,	/* notification on the multicast group */
	__TALLY_CMD_END,
};

enum {
	TALLY_A_UNSPEC,
	TALLY_A_GROUP,		/* nest of TALLY_A_GROUP_* */
	TALLY_A_MEMBER,		/* nest of TALLY_A_MEMBER_* */
	TALLY_A_STATS,		/* nest of TALLY_A_STATS_* */
	TALLY_A_EVENT,		/* nest of TALLY_A_EVENT_* */
	__TALLY_A_END,
};

#define TALLY_A_MAX		(__TALLY_A_END - 1)

enum {
	TALLY_A_GROUP_UNSPEC,
	TALLY_A_GROUP_ID,		/* u16 */
	TALLY_A_GROUP_NAME,		/* string, optional */
	TALLY_A_GROUP_EPOCH,		/* u32 */
	TALLY_A_GROUP_PAYLOAD,		/* u32, bytes, multiple of 64 */
	TALLY_A_GROUP_WINDOW,		/* u32, power of two, 4 to 64 */
	TALLY_A_GROUP_MAX_BYTES,	/* u32, encoded bytes of one collective */
	TALLY_A_GROUP_BOUND_US,		/* u32 */
	TALLY_A_GROUP_SETTLE_US,	/* u32 */
	TALLY_A_GROUP_TIMEOUT_US,	/* u32 */
	TALLY_A_GROUP_QUORUM,		/* u32, members; refused: EOPNOTSUPP */
	TALLY_A_GROUP_GID,		/* u32, who may attach; default: root */
	TALLY_A_GROUP_KEY,		/* binary, 16 bytes; never reported */
	TALLY_A_GROUP_KEYED,		/* flag, reported */
	TALLY_A_GROUP_UP,		/* flag, reported */
	TALLY_A_GROUP_MEMBERS,		/* nest: indexed array of members, reported */
	TALLY_A_GROUP_SEQ,		/* u32, highest seq seen, reported */
	TALLY_A_GROUP_BYTES,		/* u64, memory of the group, reported */
	__TALLY_A_GROUP_END,
};

#define TALLY_A_GROUP_MAX	(__TALLY_A_GROUP_END - 1)

enum {
	TALLY_A_MEMBER_UNSPEC,
	TALLY_A_MEMBER_RANK,		/* u32 */
	TALLY_A_MEMBER_ADDR4,		/* binary, 4 bytes */
	TALLY_A_MEMBER_ADDR6,		/* binary, 16 bytes */
	TALLY_A_MEMBER_PORT,		/* u16 */
	TALLY_A_MEMBER_CAP,		/* u32, log2 of leaves */
	TALLY_A_MEMBER_LOCAL,		/* flag, reported */
	TALLY_A_MEMBER_ATTACHED,	/* flag, reported */
	TALLY_A_MEMBER_STALE,		/* flag, reported */
	TALLY_A_MEMBER_DONE,		/* u32, reported */
	TALLY_A_MEMBER_SEEN_MS,		/* u32, since its last packet, reported */
	__TALLY_A_MEMBER_END,
};

#define TALLY_A_MEMBER_MAX	(__TALLY_A_MEMBER_END - 1)

enum {
	TALLY_A_STATS_UNSPEC,
	TALLY_A_STATS_GROUP,		/* u16; absent: packets of no group */
	TALLY_A_STATS_COUNTS,		/* nest: attribute n is counter n, u64 */
	TALLY_A_STATS_DROPS,		/* nest: attribute n is drop reason n, u64 */
	TALLY_A_STATS_PAD,
	__TALLY_A_STATS_END,
};

#define TALLY_A_STATS_MAX	(__TALLY_A_STATS_END - 1)

/* Counters of a group, in the order of TALLY_A_STATS_COUNTS; 1 is the first. */
#define TALLY_COUNTS(X)							\
	X(XDP_CONTRIB, "contributions added by XDP")			\
	X(SOCKET_CONTRIB, "contributions added by the socket path")	\
	X(LOCAL_CONTRIB, "contributions added by this node's own members") \
	X(XDP_RESULT, "results taken by XDP")				\
	X(SOCKET_RESULT, "results taken by the socket path")		\
	X(LOCAL_RESULT, "results of this node's own shards")		\
	X(CONTROL, "control packets taken")				\
	X(SENT, "packets sent")						\
	X(SENT_BYTES, "bytes sent, UDP payload")			\
	X(SEND_AGAIN, "times that sending had to wait")			\
	X(SUBMITS, "collectives submitted")				\
	X(COMPLETES, "collectives completed without error")		\
	X(ERRORS, "collectives completed with an error")		\
	X(CLOSES_FULL, "chunks closed with all participants")		\
	X(CLOSES_PARTIAL, "chunks closed at the deadline")		\
	X(ALIGNED, "contributions aligned to another exponent")		\
	X(NACKS_SENT, "requests for missing packets")			\
	X(NACKS_SERVED, "packets sent again on request")		\
	X(DECIDES, "chunks put to a decision")				\
	X(VOIDS, "chunks decided VOID")					\
	X(STALES, "times that a local member became STALE")		\
	X(SEND_ERRORS, "packets that could not be sent: no route, link down")

#define __TALLY_COUNT_ENUM(name, text) TALLY_COUNT_##name,
enum tally_count {
	TALLY_COUNT_UNSPEC,
	TALLY_COUNTS(__TALLY_COUNT_ENUM)
	__TALLY_COUNT_END,
};

#undef __TALLY_COUNT_ENUM

enum {
	TALLY_A_EVENT_UNSPEC,
	TALLY_A_EVENT_GROUP,		/* u16 */
	TALLY_A_EVENT_KIND,		/* u32, enum tally_event_kind */
	TALLY_A_EVENT_RANK,		/* u32 */
	TALLY_A_EVENT_SEQ,		/* u32 */
	TALLY_A_EVENT_MASK,		/* u64, ranks that it is about */
	TALLY_A_EVENT_PAD,
	__TALLY_A_EVENT_END,
};

#define TALLY_A_EVENT_MAX	(__TALLY_A_EVENT_END - 1)

enum tally_event_kind {
	TALLY_EVENT_UNSPEC,
	TALLY_EVENT_UP,			/* the group is up */
	TALLY_EVENT_DOWN,
	TALLY_EVENT_ATTACH,		/* a process attached to `rank` */
	TALLY_EVENT_DETACH,
	TALLY_EVENT_STALE,		/* local `rank` must receive state */
	TALLY_EVENT_REJOINED,		/* local `rank` received it */
	TALLY_EVENT_ERROR,		/* collective `seq` failed, see `mask` */
	TALLY_EVENT_MISMATCH,		/* members disagree on `seq` */
	__TALLY_EVENT_END,
};

#endif
