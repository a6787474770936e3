/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine's own structures.
 *
 *   engine  one group on one node
 *   member  one local rank: the collectives it submitted (coll, a ring of W)
 *           and the shards it owns (owned, a ring of R = 2 W)
 *   coll    a collective seen by its submitter: contributions to send, result
 *           cells to fill
 *   owned   a shard seen by its owner: chunks to sum, close and publish; kept
 *           for repair until its place in the ring is needed
 *   ledger  what this node promised and knows to be VOID, by seq, a ring of R
 *
 * Locks, outer first: member->lock (window of submissions), chunk->lock (one
 * slot), owned->lock (one shard's clock).  The first is never held with the
 * others.  What has no lock named is touched in engine context only.
 *
 * A slot and its cell do not change any more once engine context has closed it,
 * until its place is taken by seq + R: not before base > seq + W.
 */
#ifndef _TALLY_INTERNAL_H
#define _TALLY_INTERNAL_H

#include "port.h"
#include "engine.h"

#define TALLY_BATCH		32	/* chunks published at a time */
#define TALLY_BURST		16	/* chunks to one owner before the next */
#define TALLY_SCRATCH		16
#define TALLY_BUDGET		1024	/* packets sent in one run */
#define TALLY_RETRY_NS		(100 * 1000ull)	/* after a full send queue */
#define TALLY_RTT_NS		(1000 * 1000ull) /* until one is measured */
#define TALLY_ASK_MIN_NS	(2 * 1000 * 1000ull)
#define TALLY_ASK_MAX_NS	(100 * 1000 * 1000ull)
#define TALLY_PROBE_NS		(100 * 1000 * 1000ull) /* 10 PROBEs a second */
#define TALLY_RTT_EVERY_NS	(1000 * 1000 * 1000ull) /* measured again */
#define TALLY_PROBE_BURST	16u	/* that a node may send at once */
#define TALLY_REMIND_NS		(10 * 1000 * 1000ull)
#define TALLY_REMINDERS		8
#define TALLY_SEQ_FAR		(1u << 29) /* no mark stays so far behind */

/* A result cell's word: seq << 3 | state, so that an old claim cannot win. */
enum tally_cell_state {
	CELL_EMPTY,
	CELL_FILLING,	/* somebody copies into it */
	CELL_FULL,
	CELL_PROMISED,	/* takes no RESULT from the owner's node any more */
	CELL_DEAD,	/* the collective ended without it */
};

struct tally_chunk {
	spinlock_t		lock;	/* slot and its payload */
	struct tally_slot	slot;
};

/**
 * struct tally_owned - a shard that a local rank owns
 * @lock: @shard's identity and clock; @full and @opened begin anew under it
 * @full: chunks that all participants are in; set by receive context
 * @opened: chunks that anything came for; set under @lock
 * @seq: collective that the fields below are about, if @valid
 * @about: what @shard was when engine context first saw it; its state is CLOSED
 *	once engine context has ended it
 * @closed: chunks closed, as many as bits in @over
 * @count: chunks of the shard; 0 until a local submit tells
 * @publish: closed chunks that members wait for
 * @echoed: rejoining: chunks that were answered with a block of zeros
 * @abort_say: enum tally_ask if the shard was given up
 * @abort_mask: ranks that the ABORT was about
 * @ask_at: reliable: when to ask for missing contributions again
 * @batch: chunks being sent to one node after the other
 * @batch_at: how many (node, chunk) pairs of the batch are sent
 */
struct tally_owned {
	spinlock_t		lock;	/* the shard's clock */
	struct tally_shard	shard;
	unsigned long		*full;
	unsigned long		*opened;

	bool			valid;
	u32			seq;
	struct tally_shard	about;
	u32			closed;
	u32			count;
	unsigned long		*over;
	unsigned long		*publish;
	unsigned long		*echoed;
	u8			abort_say;
	u64			abort_mask;
	u64			ask_at;
	u64			ask_ns;
	u32			batch[TALLY_BATCH];
	u32			batch_n;
	u32			batch_at;
	struct tally_receipt	receipt[TALLY_BATCH];

	struct tally_chunk	*chunk;
	u8			*cells;
};

enum tally_coll_state {
	COLL_FREE,
	COLL_QUEUED,	/* submitted, the engine has not seen it */
	COLL_ACTIVE,
	COLL_DONE,	/* its completion waits to be fetched */
};

/**
 * struct tally_settle - what is asked for one shard
 * @at: when to ask next
 * @since: first time asked; 0: not yet
 * @silent_ns: first time asked since the owner answered; 0: it has answered
 * @gone_ns: when the owner said that it keeps none any more; 0: it did not
 * @wait_ns: between asks
 * @waits_for: ranks that the owner said it waits for
 */
struct tally_settle {
	u64	at;
	u64	since;
	u64	silent_ns;
	u64	gone_ns;
	u64	wait_ns;
	u64	waits_for;
};

typedef u32 tally_word __attribute__((__may_alias__));

/* Copies to and from what another context reads or writes at the same time. */
static inline void tally_words_put(void *to, const void *from, u32 bytes)
{
	const tally_word *in = from;
	tally_word *out = to;
	u32 i;

	for (i = 0; i < bytes / sizeof(*out); i++)
		WRITE_ONCE(out[i], in[i]);
}

static inline void tally_words_get(void *to, const void *from, u32 bytes)
{
	const tally_word *in = from;
	tally_word *out = to;
	u32 i;

	for (i = 0; i < bytes / sizeof(*out); i++)
		out[i] = READ_ONCE(in[i]);
}

/**
 * struct tally_coll - a collective of a local rank
 * @state: under the member's lock; ACTIVE to DONE in engine context only
 * @live: 1 << 32 | seq while cells take RESULTs; released after all else is set
 * @missing: cells without an outcome
 * @progress_ns: last RESULT, written by anyone
 * @cell: by chunk of the buffer: see enum tally_cell_state
 * @layout: how it is cut; receive context reads it, @shape and @lane, and
 *	believes them if it can claim a cell after that
 * @tosend: chunks to contribute (again)
 * @sending: shards that @tosend has chunks of
 * @sent: shards whose first pass is over: what follows is REPAIR
 * @promised: by chunk: ranks that promised
 * @bad: a tx cell was out of range
 */
struct tally_coll {
	u8			state;
	struct tally_submit	req;

	u64			live;
	atomic_t		missing;
	atomic_t		partial;
	atomic_t		voided;
	atomic_t		repaired;
	atomic64_t		all;
	atomic64_t		any;
	atomic64_t		flags;
	u64			progress_ns;
	u32			*cell;

	struct tally_layout	layout;
	u32			shape;
	u32			lane;
	bool			cancel;
	bool			bad;
	u64			submit_ns;
	u64			expire_ns;
	u64			sending;
	u64			sent;
	u32			cursor[TALLY_RANKS_MAX];
	unsigned long		*tosend;
	u64			*promised;
	struct tally_settle	ask[TALLY_RANKS_MAX];
	struct tally_completion	out;
};

/**
 * struct tally_member - a local rank
 * @lock: @next, @attached, @stale, @wait_for, states of @coll
 * @next: seq of the next SUBMIT
 * @wait_for: ranks that SUBMIT said EAGAIN for
 * @wait_seq: and the seq that they must have finished
 * @done: every seq before it is finished here; written in engine context
 * @base: first seq whose owned shard is not closed; likewise
 * @ahead: participants of a contribution beyond the window, by receive context
 * @jumped: where @base last jumped to; a SUBMIT before it is too late
 * @zeroed: it has sent zeros for seqs before it, and shall not contribute again
 * @state_seen: rejoining: 1 << 63 | root << 32 | seq of a state broadcast
 * @state_mask: its participants
 * @rejoin_from: rejoining: first seq to take part in
 * @gap_from: after the last collective completed without error; it held none
 * @gap_to: from there to here, the seq that it rejoined at
 * @skip: by seq mod R: seq + 1 if it has no shard for us
 */
struct tally_member {
	spinlock_t		lock;	/* window of submissions */
	u32			rank;
	u32			next;
	bool			attached;
	bool			used;
	bool			stale;
	u64			wait_for;
	u32			wait_seq;

	u32			done;
	u32			base;
	u64			ahead;
	u32			jumped;
	u32			zeroed;
	u64			state_seen;
	u64			state_mask;
	bool			rejoining;
	u32			rejoin_from;
	u32			gap_from;
	u32			gap_to;
	u64			probe_at;
	u64			probe_ns;
	u32			probe_seq;

	u8			*tx;
	u8			*result;
	u64			*skip;
	struct tally_coll	*coll;
	struct tally_owned	*owned;
};

/* What this node promised or knows to be VOID of one seq, by shard and chunk. */
struct tally_ledger {
	bool		valid;
	u32		seq;
	u64		participants;
	unsigned long	*promised;
	unsigned long	*voided;
	unsigned long	*acked;
};

/**
 * struct tally_peer - a rank as this node knows it
 * @done: its latest report; of a local rank the same as member.done
 * @seen_ns: its last packet
 */
struct tally_peer {
	u32	done;
	u64	seen_ns;
};

/**
 * struct tally_node - a node as this one knows it
 * @ranks: that live there
 * @rtt_ns: 0: not measured
 * @rtt_at: when a collective measures it again
 * @refuse_seq: it may hold RESULTs up to this seq that were voided
 * @refuse_left: so many times it is told so even if it is silent
 * @remind_at: when it is told next
 * @kept: of a voided chunk that the ledger has forgotten, these are left
 * @served_ns: when an ASK_RESULT was last answered, and for what
 * @probes: PROBEs that may be answered at once
 * @probes_ns: when one more was last allowed
 */
struct tally_node {
	u64	ranks;
	u64	rtt_ns;
	u64	rtt_at;
	u32	refuse_seq;
	u32	refuse_left;
	u64	remind_at;
	bool	kept;
	u32	kept_seq;
	u32	kept_shard;
	u64	kept_mask;
	u32	served_seq;	/* the last ASK_RESULT that was answered */
	u32	served_shard;
	u32	served_chunk;
	u64	served_ns;
	u32	probes;
	u64	probes_ns;
};

/**
 * struct tally_engine - one group on one node
 * @rule_any: @rule as any owner of the group would have it
 * @refuse: ranks whose contributions are refused until they rejoin
 * @remind: refused ranks that sent something
 * @rejoined: refused ranks that sent a REJOIN
 * @floor: no peer counts as further behind
 * @now: time of the call that is under way
 * @again: there is more to do at once
 * @waiting: in this run a contribution to a local shard was ahead of its window
 * @full: this run's sending met a full queue
 * @budget: packets that this run may still send
 * @spare: a bitmap of one shard's chunks, for whoever needs one briefly; as
 *	is @spare2
 * @scratch: TALLY_SCRATCH payloads of control packets that are not flushed yet
 */
struct tally_engine {
	struct tally_engine_config	config;
	const struct tally_engine_ops	*ops;
	void				*host;
	struct tally_rule		rule;
	struct tally_rule		rule_any;
	struct tally_keys		keys;
	u32				window;
	u32				ring;
	u32				cells;
	u32				cell_bytes;
	u32				members;

	atomic64_t			refuse;
	atomic64_t			remind;
	atomic64_t			rejoined;
	struct tally_peer		peer[TALLY_RANKS_MAX];

	u32				floor;
	u64				now;
	bool				again;
	bool				waiting;
	bool				full;
	u32				budget;
	struct tally_node		node[TALLY_RANKS_MAX];
	struct tally_ledger		*ledger;
	unsigned long			*spare;
	unsigned long			*spare2;
	u64				*scratch;
	u32				scratch_at;
	struct tally_member		*by_rank[TALLY_RANKS_MAX];
	struct tally_member		member[];
};

static inline void tally_count(struct tally_engine *e, enum tally_count which,
			       u32 n)
{
	if (n)
		e->ops->count(e->host, which, n);
}

static inline struct tally_coll *tally_coll_at(struct tally_engine *e,
					       struct tally_member *m, u32 seq)
{
	return &m->coll[seq & (e->window - 1)];
}

static inline struct tally_owned *tally_owned_at(struct tally_engine *e,
						 struct tally_member *m,
						 u32 seq)
{
	return &m->owned[seq & (e->ring - 1)];
}

static inline u8 *tally_tx_cell(struct tally_engine *e, struct tally_member *m,
				u32 seq, u32 at)
{
	return m->tx + (size_t)e->cell_bytes *
	       ((size_t)(seq & (e->window - 1)) * e->cells + at);
}

static inline u8 *tally_result_cell(struct tally_engine *e,
				    struct tally_member *m, u32 seq, u32 at)
{
	return m->result + (size_t)e->cell_bytes *
	       ((size_t)(seq & (e->window - 1)) * e->cells + at);
}

static inline struct tally_hdr *tally_owned_cell(struct tally_engine *e,
						 struct tally_owned *o,
						 u32 chunk)
{
	return (struct tally_hdr *)(o->cells + (size_t)e->cell_bytes * chunk);
}

static inline __le64 *tally_cell_words(void *cell)
{
	return (__le64 *)((u8 *)cell + sizeof(struct tally_hdr));
}

static inline u64 tally_live(u32 seq)
{
	return 1ull << 32 | seq;
}

/* The active collective @seq of @m, or NULL; engine context. */
static inline struct tally_coll *tally_coll_active(struct tally_engine *e,
						   struct tally_member *m,
						   u32 seq)
{
	struct tally_coll *c = tally_coll_at(e, m, seq);

	return READ_ONCE(c->live) == tally_live(seq) &&
	       READ_ONCE(c->state) == COLL_ACTIVE ? c : NULL;
}

static inline u64 tally_rtt(struct tally_engine *e, u32 node)
{
	return e->node[node].rtt_ns ? e->node[node].rtt_ns : TALLY_RTT_NS;
}

static inline void tally_event(struct tally_engine *e,
			       enum tally_event_type kind, u32 rank, u32 seq,
			       u32 shard, u32 chunk, u64 mask, int status)
{
	struct tally_event event = {
		.kind = kind, .rank = rank, .seq = seq, .shard = shard,
		.chunk = chunk, .mask = mask, .status = status,
	};

	e->ops->event(e->host, &event);
}

/* Ends when all is in, not by time? */
static inline bool tally_op_reliable(u8 op, u32 flags)
{
	if (op == TALLY_OP_REJOIN)
		return false;
	return op == TALLY_OP_BARRIER || tally_op_gathers(op) ||
	       flags & TALLY_SUBMIT_RELIABLE;
}

#define tally_for_each_member(e, m) \
	for ((m) = (e)->member; (m) < (e)->member + (e)->members; (m)++)

static inline u32 tally_ledger_bit(const struct tally_engine *e, u32 shard,
				   u32 chunk)
{
	return shard * e->config.shard_chunks + chunk;
}

/* A local rank that speaks for this node among @participants. */
static inline struct tally_member *tally_local_of(struct tally_engine *e,
						  u64 participants)
{
	struct tally_member *m;

	tally_for_each_member(e, m) {
		if (participants >> m->rank & 1)
			return m;
	}
	return e->member;
}

/* packet.c */
void tally_packet_init(struct tally_engine *e, struct tally_hdr *hdr, u8 type,
		       struct tally_member *m);
bool tally_packet_send(struct tally_engine *e, u32 node,
		       const struct tally_hdr *hdr, const void *payload);
void tally_packet_chunks(struct tally_engine *e, struct tally_member *m,
			 u32 node, u8 type, u8 ask, u32 seq, u32 shard,
			 const struct tally_shard *about, u64 mask,
			 const unsigned long *chunks, u32 count);
void tally_abort_send(struct tally_engine *e, struct tally_member *m, u32 seq,
		      u64 ranks, u8 say, u64 mask);
u64 tally_nodes_of(struct tally_engine *e, u64 ranks);

void *tally_scratch(struct tally_engine *e);
u32 tally_bits_next(const struct tally_hdr *hdr, const void *payload, u32 limit,
		    u32 at);
/* Chunks that a control packet's bitmap names, below @limit. */
#define tally_for_each_bit(i, hdr, payload, from, limit)		\
	for ((i) = tally_bits_next((hdr), (payload), (limit), (from));	\
	     (i) < (limit);						\
	     (i) = tally_bits_next((hdr), (payload), (limit), (i) + 1))

/* owned.c: receive context and local members */
void tally_owned_arrivals(const struct tally_owned *o, u32 *arrival_us);
enum tally_drop tally_owned_add(struct tally_engine *e, struct tally_member *m,
				const struct tally_hdr *hdr,
				const struct tally_payload *payload, u64 over,
				u64 now);
/* open.c: the owner's side in engine context: how a shard begins */
void tally_owned_open_closed(struct tally_engine *e, struct tally_member *m,
			     const struct tally_shard *about);
bool tally_owned_abandon(struct tally_engine *e, struct tally_member *m,
			 const struct tally_shard *about, u8 say, u64 mask);
void tally_owned_gather(struct tally_engine *e, struct tally_member *m,
			struct tally_coll *c);
void tally_owned_identify(struct tally_engine *e, struct tally_member *m,
			  struct tally_owned *o, u32 chunk,
			  struct tally_hdr *hdr);
bool tally_owned_end(struct tally_owned *o);
u8 tally_owned_begin_newer(struct tally_engine *e, struct tally_member *m,
			   struct tally_owned *o);
void tally_owned_mismatch(struct tally_engine *e, struct tally_member *m,
			  struct tally_owned *o, u32 other);
/* close.c: and how it ends */
u64 tally_owned_run(struct tally_engine *e, struct tally_member *m,
		    struct tally_owned *o);
void tally_owned_expire(struct tally_engine *e, struct tally_member *m,
			struct tally_owned *o);
void tally_owned_void(struct tally_engine *e, struct tally_member *m,
		      struct tally_owned *o, u32 chunk);
void tally_base_advance(struct tally_engine *e, struct tally_member *m);
u64 tally_owned_waits(struct tally_engine *e, struct tally_owned *o);
void tally_owned_count(struct tally_engine *e, struct tally_member *m,
		       struct tally_coll *c);

/* publish.c */
void tally_owned_publish(struct tally_engine *e, struct tally_member *m,
			 struct tally_owned *o);
void tally_owned_deliver(struct tally_engine *e, struct tally_owned *o,
			 u32 chunk);
bool tally_owned_publishing(const struct tally_engine *e,
			    const struct tally_owned *o);

/* coll.c */
void tally_coll_cut(struct tally_engine *e, struct tally_coll *c);
void tally_coll_activate(struct tally_engine *e, struct tally_member *m,
			 struct tally_coll *c);
u64 tally_coll_run(struct tally_engine *e, struct tally_member *m,
		   struct tally_coll *c);
void tally_coll_end(struct tally_engine *e, struct tally_member *m,
		    struct tally_coll *c, int status, u64 missing);
void tally_coll_fail(struct tally_engine *e, struct tally_member *m,
		     struct tally_coll *c, int status, u64 missing);
void tally_coll_aborted(struct tally_engine *e, struct tally_member *m,
			struct tally_coll *c, u8 say, u64 mask);
void tally_member_stale(struct tally_engine *e, struct tally_member *m);
void tally_stale_sweep(struct tally_engine *e, struct tally_member *m);
void tally_done_advance(struct tally_engine *e, struct tally_member *m);

/* contribute.c */
void tally_coll_send(struct tally_engine *e, struct tally_member *m,
		     struct tally_coll *c);
void tally_coll_resend(struct tally_coll *c, u32 shard, u32 chunk);
void tally_coll_send_init(struct tally_engine *e, struct tally_member *m,
			  struct tally_coll *c);

/* result.c */
enum tally_drop tally_cell_fill(struct tally_engine *e, struct tally_member *m,
				const struct tally_hdr *hdr,
				const struct tally_payload *payload, u64 now,
				bool *done);
void tally_coll_share(struct tally_engine *e, struct tally_member *m,
		      struct tally_coll *c, u32 shard);
u32 tally_cell_state(struct tally_coll *c, u32 at);
bool tally_cell_move(struct tally_coll *c, u32 at, u32 from, u32 to);
enum tally_drop tally_receipt_control(struct tally_engine *e,
				      const struct tally_hdr *hdr,
				      const void *payload);

/* settle.c: ask for what is missing */
void tally_shard_about(const struct tally_coll *c, u32 shard,
		       struct tally_shard *about);
u64 tally_settle_waits(struct tally_engine *e, struct tally_coll *c, u32 shard,
		       u32 at);
u64 tally_settle_run(struct tally_engine *e, struct tally_member *m,
		     struct tally_coll *c);
enum tally_drop tally_busy_control(struct tally_engine *e,
				   const struct tally_hdr *hdr);

/* decide.c: RESULT or VOID without the owner */
void tally_decide_ask(struct tally_engine *e, struct tally_member *m,
		      struct tally_coll *c, u32 shard);
void tally_promise_import(struct tally_engine *e, struct tally_coll *c);
enum tally_drop tally_decide_control(struct tally_engine *e,
				     const struct tally_hdr *hdr,
				     const void *payload);
void tally_void_tell(struct tally_engine *e, struct tally_member *m, u32 node,
		     u8 say, u32 seq, u32 shard, u64 participants,
		     const unsigned long *chunks);

/* refuse.c: owners that may hold what was voided */
void tally_refuse_owner(struct tally_engine *e, u32 owner, u32 seq, u32 shard,
			u64 participants);
void tally_refuse_keep(struct tally_engine *e, struct tally_ledger *ledger);
void tally_refuse_ack(struct tally_engine *e, const struct tally_hdr *hdr,
		      const void *payload);
u64 tally_refuse_run(struct tally_engine *e);

/* serve.c: give what others ask for */
enum tally_drop tally_nack_control(struct tally_engine *e,
				   const struct tally_hdr *hdr,
				   const void *payload);
bool tally_serve_held(struct tally_engine *e, u32 node, u32 seq, u32 shard,
		      u32 chunk, bool *gone);

/* rejoin.c */
void tally_rejoin_begin(struct tally_engine *e, struct tally_member *m,
			struct tally_coll *c);
u64 tally_rejoin_run(struct tally_engine *e, struct tally_member *m,
		     struct tally_coll *c);
void tally_rejoin_seen(struct tally_engine *e, struct tally_member *m,
		       const struct tally_hdr *hdr);

/* peer.c */
void tally_peer_seen(struct tally_engine *e, const struct tally_hdr *hdr,
		     u64 now);
u32 tally_majority(struct tally_engine *e, u64 participants,
		   const struct tally_member *m);
void tally_marks_follow(struct tally_engine *e, struct tally_member *m);
void tally_rtt_measure(struct tally_engine *e, struct tally_member *m,
		       u64 nodes);
u64 tally_wait_run(struct tally_engine *e, struct tally_member *m);
enum tally_drop tally_probe_control(struct tally_engine *e,
				    const struct tally_hdr *hdr);

#endif
