/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol core of one group on one node: events in, packets and
 * completions out.  No I/O, no clock, no allocation after creation.  The kernel
 * module, the library's process transport and the simulator each host it.
 *
 * Three contexts call it:
 *
 *   receive	tally_engine_contrib(), _result(), _check(): any number at once,
 *		bottom halves off; they touch slots, cells and atomics only
 *   process	tally_engine_submit(), _fetch(), _ready(): any number at once
 *   engine	all others: one at a time, the host sees to it; may be the same
 *		thread that is in process context
 *
 * The engine calls its host through &struct tally_engine_ops.  Times are
 * nanoseconds of any clock that never goes back.
 */
#ifndef _TALLY_ENGINE_H
#define _TALLY_ENGINE_H

#include <linux/tally.h>
#include <tally/slot.h>

#define TALLY_PARTS_MAX		8
#define TALLY_NODE_NONE		0xff

/**
 * struct tally_payload - a packet's payload, perhaps in pieces
 * @part: runs of whole words, in order, at any address
 * @words: length of each run
 * @parts: how many runs
 * @total: sum of @words
 *
 * A word that straddles two fragments is a run of its own, copied aside.
 */
struct tally_payload {
	const void	*part[TALLY_PARTS_MAX];
	u32		words[TALLY_PARTS_MAX];
	u32		parts;
	u32		total;
};

/**
 * struct tally_engine_config - a group as its engine sees it
 * @group: id
 * @epoch: of the membership
 * @members: mask of ranks
 * @window: W, a power of two
 * @cell_words: payload of a cell; a multiple of 8
 * @shard_chunks: most chunks of one shard
 * @seq: number of the first collective
 * @bound_us: default bound of a collective
 * @bound_max_us: longest bound that members may ask for
 * @settle_us: wait for a holder before a decision is asked for; 0: default
 * @timeout_us: default time after which a collective ends with an error
 * @nodes: number of nodes, at most 64; node numbers are below it
 * @self: this node
 * @node: by rank: its node.  Ranks with one (address, port) share a node
 * @caps: by rank: log2 of the leaves that one contribution sums
 * @key: TALLY_KEY_BYTES, or NULL
 */
struct tally_engine_config {
	u16		group;
	u32		epoch;
	u64		members;
	u32		window;
	u32		cell_words;
	u32		shard_chunks;
	u32		seq;
	u32		bound_us;
	u32		bound_max_us;
	u32		settle_us;
	u32		timeout_us;
	u32		nodes;
	u32		self;
	u8		node[TALLY_RANKS_MAX];
	u8		caps[TALLY_RANKS_MAX];
	const u8	*key;
};

/**
 * struct tally_event - what happened, for tracepoints and logs
 * @kind: enum tally_event_type
 * @rank: local rank, or the rank that it is about
 * @seq: collective
 * @shard: shard, where it makes sense
 * @chunk: chunk within the shard
 * @mask: contributors, or ranks that it is about
 * @status: 0 or -errno
 */
enum tally_event_type {
	TALLY_TRACE_SUBMIT,
	TALLY_TRACE_CLOSE,
	TALLY_TRACE_NACK,
	TALLY_TRACE_DECIDE,
	TALLY_TRACE_COMPLETE,
	TALLY_TRACE_STALE,
	TALLY_TRACE_REJOINED,
	TALLY_TRACE_ABORT,
};

struct tally_event {
	enum tally_event_type	kind;
	u32			rank;
	u32			seq;
	u32			shard;
	u32			chunk;
	u64			mask;
	int			status;
};

/**
 * struct tally_engine_ops - what the engine needs of its host
 * @send: take one packet for @node (never this one).  @hdr is complete but for
 *	the tag and is copied; @payload has tally_get16(hdr->words) words (a
 *	control packet's too) and must be read before flush() returns.  The host
 *	sets the tag over what it sends.  Return: 0, or -EAGAIN when its queue
 *	is full: the engine tries again after the next run.  Engine context.
 * @flush: send all that was taken.  Engine context.
 * @kick: see that tally_engine_run() is called soon.  Any context.
 * @wake: tally_engine_fetch() or _ready() of @rank may have changed.  Engine
 *	context.
 * @count: add @n to counter @which (enum tally_count).  Any context.
 * @event: something that people trace.  Process context.
 */
struct tally_engine_ops {
	int (*send)(void *host, u32 node, const struct tally_hdr *hdr,
		    const void *payload);
	void (*flush)(void *host);
	void (*kick)(void *host);
	void (*wake)(void *host, u32 rank);
	void (*count)(void *host, enum tally_count which, u32 n);
	void (*event)(void *host, const struct tally_event *event);
};

struct tally_engine;

/* NULL without memory.  @config is copied; @ops must outlive the engine. */
struct tally_engine *tally_engine_create(const struct tally_engine_config *config,
					 const struct tally_engine_ops *ops,
					 void *host);
/* No other call may be under way or follow. */
void tally_engine_destroy(struct tally_engine *engine);
/* Bytes that tally_engine_create() allocates; with @local_ranks. */
u64 tally_engine_bytes(const struct tally_engine_config *config);

/*
 * Any context: from now on, a longest bound and a time to settle; see struct
 * tally_engine_config.
 */
void tally_engine_limits(struct tally_engine *engine, u32 bound_max_us,
			 u32 settle_us);

const struct tally_keys *tally_engine_keys(const struct tally_engine *engine);
const struct tally_rule *tally_engine_rule(const struct tally_engine *engine);

/*
 * Receive context.  The caller has matched the packet's source address with
 * the address of hdr->rank, and checked that hdr and payload lie within the
 * packet.  Each returns TALLY_KEEP or why the packet is dropped, and leaves
 * the counting of drops to the caller.
 */
enum tally_drop tally_engine_contrib(struct tally_engine *engine,
				     const struct tally_hdr *hdr,
				     const struct tally_payload *payload,
				     u64 now);
enum tally_drop tally_engine_result(struct tally_engine *engine,
				    const struct tally_hdr *hdr,
				    const struct tally_payload *payload,
				    u64 now);
/* Any other type: may it be given to tally_engine_control()? */
enum tally_drop tally_engine_check(struct tally_engine *engine,
				   const struct tally_hdr *hdr,
				   const struct tally_payload *payload);

/* Process context; see the uAPI header for the errors. */
int tally_engine_submit(struct tally_engine *engine, u32 rank,
			struct tally_submit *submit, u64 now);
/*
 * Take the completion of @seq, or of the oldest complete collective if @any.
 * Return: 1 and @out filled, 0 if it is not complete, -ENOENT if unknown.
 */
int tally_engine_fetch(struct tally_engine *engine, u32 rank, u32 seq, bool any,
		       struct tally_completion *out);
#define TALLY_READY_READ	1	/* a completion can be fetched */
#define TALLY_READY_WRITE	2	/* SUBMIT would not say EAGAIN or EBUSY */
u32 tally_engine_ready(struct tally_engine *engine, u32 rank);

/* Engine context. */
/* Run what is due.  Return: when to run again, or TALLY_NEVER. */
u64 tally_engine_run(struct tally_engine *engine, u64 now);
/*
 * A packet that tally_engine_check() kept; payload in one piece.  Return:
 * TALLY_KEEP, or why it was of no use; the caller counts that.
 */
enum tally_drop tally_engine_control(struct tally_engine *engine,
				     const struct tally_hdr *hdr,
				     const void *payload, u64 now);
/*
 * A process takes @rank.  @tx and @result are window * cells * cell_bytes long
 * and zeroed.  Return: 0 and the seq to start at, -EBUSY, -ENOENT.  @stale:
 * the group is under way, the rank must rejoin.
 */
int tally_engine_attach(struct tally_engine *engine, u32 rank, void *tx,
			void *result, u32 *seq, bool *stale);
/*
 * The process leaves @rank.  Receive contexts that began before may still
 * write to its result cells: wait for them before they are freed.
 */
void tally_engine_detach(struct tally_engine *engine, u32 rank, u64 now);
int tally_engine_cancel(struct tally_engine *engine, u32 rank, u32 seq,
			u64 now);

/* State for reports, engine context. */
struct tally_member_state {
	bool	attached;
	bool	stale;
	u32	done;
	u64	seen_ns;	/* its last packet, 0: never */
};

void tally_engine_member(struct tally_engine *engine, u32 rank,
			 struct tally_member_state *state);
u32 tally_engine_seq(struct tally_engine *engine);

/* The default time without a holder before a chunk is put to a decision. */
#define TALLY_SETTLE_US		10000
#define TALLY_TIMEOUT_US	5000000
#define TALLY_BOUND_US		20000

static inline u32 tally_config_cells(const struct tally_engine_config *config)
{
	return config->shard_chunks * tally_mask_count(config->members);
}

static inline u32 tally_config_cell_bytes(const struct tally_engine_config *config)
{
	return sizeof(struct tally_hdr) + 8 * config->cell_words;
}

#endif
