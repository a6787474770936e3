/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * libtally: collectives with a time bound, for training processes.
 *
 * A process opens a transport, attaches to a group as one of its ranks and runs
 * collectives: values are encoded into fixed-point lanes, summed on their way,
 * and decoded; what a published mask lacks goes into a carry and with it into
 * the next contribution.  libtally(7) has a complete example.
 *
 * Results
 *	Functions return 0 or a negative errno; they never print and never exit.
 *	A call with bad arguments changes nothing.
 *
 * Options
 *	Structures of options and reports begin with their size, which the
 *	caller sets (TALLY_OPTS() does).  A shorter one than the library's lacks
 *	the later fields: they are 0; a longer one is accepted if the rest is 0,
 *	else -E2BIG.  Unknown flags: -EINVAL.
 *
 * Threads
 *	A member, its calls and the carry that they use belong to one thread at a
 *	time.  Different members may be used at once.  tally_fd() may be polled
 *	by any thread.  Block, report and mask functions keep no state.
 *
 * fork()
 *	A child must not use what its parent has opened, nor detach or close it:
 *	it has the same file, so that would detach the parent, and it does not
 *	have the cells.  O_CLOEXEC helps only if it calls execve().
 *
 * Order
 *	Every member of a group posts the same collectives in the same order,
 *	those too that it takes no part in.
 */
#ifndef _TALLY_TALLY_H
#define _TALLY_TALLY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif
#include <linux/tally.h>
#include <tally/layout.h>
#ifdef __cplusplus
#undef _Static_assert
extern "C" {
#endif
#pragma GCC visibility push(default)

/* A structure of options with its size set; fields may follow. */
#define TALLY_OPTS(type, ...) \
	((struct type){ .size = sizeof(struct type), ##__VA_ARGS__ })

/* Version of the library, for programs that load it at run time. */
#define TALLY_LIB_VERSION	"0.1"
const char *tally_version(void);

/* --- opening and attaching: tally_open(3) ------------------------------- */

struct tally;
struct tally_member;

/**
 * tally_open - open a transport
 * @where: "/dev/tally" or NULL: the kernel module of the network namespace that
 *	the caller is in.  Another path: that device
 * @out: the handle
 *
 * Return: 0; -EOPNOTSUPP: this library has no transport of that name (names
 * without a slash are transports; there is none yet); -ENOENT, -ENODEV: no such
 * device, the module is not loaded; -EACCES; -ENOTTY: not a tally device;
 * -EPROTO: the module speaks another version of the ABI.
 */
int tally_open(const char *where, struct tally **out);

/* Close it.  Return: 0; -EBUSY while a member is attached. */
int tally_close(struct tally *t);

/**
 * tally_get_info - what the transport can do
 * @info: @size is set by the caller
 */
int tally_get_info(const struct tally *t, struct tally_info *info);

/**
 * tally_attach - become one rank of a group
 * @t: open transport
 * @group: id of the group
 * @rank: rank with a local address that no other process has
 * @out: the member
 *
 * A member of a group that is under way begins as STALE: tally_rejoin().
 *
 * Return: 0; -ENOENT: no such group is up, or no such rank here; -EBUSY: rank
 * taken; -EACCES, -EPERM; -ENODEV; -ENOMEM; -EPROTO: impossible geometry.
 */
int tally_attach(struct tally *t, uint32_t group, uint32_t rank,
		 struct tally_member **out);

/*
 * Leave the group.  Destroys the member's calls, also those under way: their
 * buffers are not touched any more; what a carry lent them is lost mass.
 */
int tally_detach(struct tally_member *m);

/**
 * struct tally_geometry - a member's group
 * @size: of this structure
 * @rank: of this member
 * @epoch: of the membership
 * @ranks: members of the group
 * @members: mask of them
 * @window: collectives in flight
 * @cell_words: 64-bit words of one chunk
 * @cells: chunks of one collective
 * @shard_chunks: chunks of one shard
 * @bound_us: the group's bound
 * @timeout_us: the group's timeout
 * @seq: number of the next collective
 * @stale: non-zero: this member must call tally_rejoin()
 * @cap: log2 of the leaves that one contribution of this member sums
 */
struct tally_geometry {
	uint32_t	size;
	uint32_t	rank;
	uint32_t	epoch;
	uint32_t	ranks;
	uint64_t	members;
	uint32_t	window;
	uint32_t	cell_words;
	uint32_t	cells;
	uint32_t	shard_chunks;
	uint32_t	bound_us;
	uint32_t	timeout_us;
	uint32_t	seq;
	uint32_t	stale;
	uint32_t	cap;
	uint32_t	__reserved;
};

int tally_get_geometry(const struct tally_member *m,
		       struct tally_geometry *geometry);

/* File descriptor for poll(); wait for the events of tally_events(). */
int tally_fd(const struct tally_member *m);
/* POLLIN, POLLOUT: then a tally_test() may get on; 0: nothing is under way. */
int tally_events(const struct tally_member *m);

/* --- values: tally_encode(3) -------------------------------------------- */

enum tally_dtype {
	TALLY_DTYPE_F32 = 1,
	TALLY_DTYPE_F16,	/* IEEE binary16 */
	TALLY_DTYPE_BF16,
	TALLY_DTYPE_U64,	/* lane w64: sums wrap */
	TALLY_DTYPE_BYTES,	/* lane raw */
};

enum tally_reduce {
	TALLY_MEAN = 0,		/* the sum divided by the sum of weights */
	TALLY_SUM,
};

/* Bytes of one value; 0: unknown type. */
size_t tally_dtype_bytes(uint32_t dtype);

/*
 * Value bits of a lane when @leaves leaves are summed and one contribution
 * sums @own of them: b - h + log2(own).  Return: bits, or -EINVAL.
 */
int tally_value_bits(uint32_t lane, uint64_t leaves, uint64_t own);

/**
 * struct tally_block - a chunk's values in fixed point, but for the lanes
 * @exponent: unit of the lanes is 2^exponent; -128 if @words is 0
 * @flags: TALLY_F_NONFINITE: the values had NaN or Inf
 * @words: 64-bit words of lanes; 0: all values are zero
 * @bias: to subtract from each lane
 * @weight: tally_decode_block(): sum of weights
 */
struct tally_block {
	int8_t		exponent;
	uint8_t		flags;
	uint16_t	words;
	uint32_t	bias;
	uint32_t	weight;
};

#define TALLY_ENCODE_STOCHASTIC	(1u << 0) /* round up or down at random */
#define TALLY_ENCODE_STICKY	(1u << 1) /* use @exponent_min */

/**
 * struct tally_encode_opts - how to encode a block
 * @size: of this structure
 * @flags: TALLY_ENCODE_*
 * @lane: TALLY_LANE_I32, _I16 or _I8
 * @dtype: of the values: TALLY_DTYPE_F32, _F16 or _BF16
 * @value_bits: tally_value_bits(); 2 to the lane's width
 * @exponent_min: TALLY_ENCODE_STICKY: smallest exponent to use
 * @key: TALLY_ENCODE_STOCHASTIC: equal keys round equally
 * @scale: multiplies each value; 0 stands for 1
 * @carry: added to each scaled value; may be NULL
 * @residual: receives what rounding and clipping lost; may be NULL, may be
 *	@carry.  Exact but for its last bit where @carry is given (the last bit
 *	of the sum, if a value is 2^126 or more), and for 2^(exponent - 25) with
 *	TALLY_ENCODE_STOCHASTIC
 *
 * Carry and residual are f32, one for each value.
 */
struct tally_encode_opts {
	uint32_t	size;
	uint32_t	flags;
	uint8_t		lane;
	uint8_t		dtype;
	uint8_t		value_bits;
	int8_t		exponent_min;
	uint32_t	key;
	float		scale;
	const float	*carry;
	float		*residual;
};

/**
 * tally_encode_block - values to lanes
 * @opts: see there
 * @in: values
 * @count: how many; at most TALLY_PAYLOAD_MAX bytes of lanes
 * @lanes: receives ceil(count / lanes of a word) words; 8-byte aligned.  Not
 *	written if out->words is 0
 * @out: receives the header values; @weight is left alone
 *
 * A block of zeros or with NaN or Inf has no words; the latter leaves @residual
 * as @carry (or zero).  The same bits come out on every machine, whatever
 * rounding mode or denormal mode the caller has set.
 */
int tally_encode_block(const struct tally_encode_opts *opts, const void *in,
		       size_t count, void *lanes, struct tally_block *out);

/**
 * struct tally_decode_opts - how to decode a block
 * @size: of this structure
 * @flags: none yet, zero
 * @lane: TALLY_LANE_I32, _I16 or _I8
 * @dtype: of the values to write
 * @reduce: enum tally_reduce; the mean of no weight is 0
 * @__reserved: zero
 */
struct tally_decode_opts {
	uint32_t	size;
	uint32_t	flags;
	uint8_t		lane;
	uint8_t		dtype;
	uint8_t		reduce;
	uint8_t		__reserved;
};

/* Lanes to values; TALLY_F_NONFINITE in @block makes all of them NaN. */
int tally_decode_block(const struct tally_decode_opts *opts, const void *lanes,
		       const struct tally_block *block, void *out,
		       size_t count);

/* --- carry: tally_carry(3) ---------------------------------------------- */

struct tally_carry;

/**
 * tally_carry_create - carry for a vector of parameters
 * @count: values, f32; two vectors of that length are allocated
 * @out: the carry, all zeros
 *
 * Calls name their range by &struct tally_call_opts.carry_offset; ranges used
 * between two commits must not overlap.
 */
int tally_carry_create(size_t count, struct tally_carry **out);
/* Return: 0; -EBUSY while a call uses it. */
int tally_carry_destroy(struct tally_carry *c);

/*
 * End a step: what the calls since the last commit left over becomes what the
 * next ones add (commit), or is forgotten as if they had not been (rollback:
 * the optimizer skipped the step).  -EBUSY while a call uses it.
 */
int tally_carry_commit(struct tally_carry *c);
int tally_carry_rollback(struct tally_carry *c);

/*
 * Multiply all values, when the loss scale changes.  -EBUSY between a call and
 * its commit; -EINVAL: @factor is not finite and positive; -ERANGE: a value
 * would not stay finite; nothing is changed.
 */
int tally_carry_rescale(struct tally_carry *c, float factor);
/* Set all values and weights to zero; -EBUSY as above. */
int tally_carry_clear(struct tally_carry *c);

/* Bytes that tally_carry_save() needs now. */
size_t tally_carry_bytes(const struct tally_carry *c);
/* -ENOSPC: @size is too small; -EBUSY as above. */
int tally_carry_save(const struct tally_carry *c, void *buf, size_t size);
/* -EINVAL: not from a carry of this length, or damaged; nothing is changed. */
int tally_carry_restore(struct tally_carry *c, const void *buf, size_t size);

/* Committed values of a range.  -EINVAL: not within the vector. */
int tally_carry_read(const struct tally_carry *c, size_t offset, size_t count,
		     float *values);

/**
 * struct tally_carry_stats - what a carry holds
 * @size: of this structure
 * @__reserved: zero
 * @count: values
 * @values: sum of the committed values
 * @l1: sum of their magnitudes
 * @weight: sum over the values of their missed weight
 * @weight_max: largest missed weight of one value
 * @missed: values contributed that a mask lacked, since creation
 * @lost: values whose outcome is unknown, since creation: lost mass
 * @align_bound: most that alignment of unequal exponents can have taken from
 *	committed contributions: sum of magnitudes, since creation
 */
struct tally_carry_stats {
	uint32_t	size;
	uint32_t	__reserved;
	uint64_t	count;
	double		values;
	double		l1;
	double		weight;
	double		weight_max;
	uint64_t	missed;
	uint64_t	lost;
	double		align_bound;
};

int tally_carry_get_stats(const struct tally_carry *c,
			  struct tally_carry_stats *stats);

/* --- reports: tally_report(3) ------------------------------------------- */

/**
 * struct tally_report - what happened in a call, over all its collectives
 *
 * Equal at all participants, if there is no error: seq, parts, chunks, partial,
 * voided, nonfinite, mask_*, weight_*, and of flags TALLY_F_REJOIN and
 * TALLY_F_NONFINITE.  By these a step may be decided.  The others are this
 * member's own: status, missing, user_data, late, lost, repaired, aligned,
 * elapsed_us, close_us, bytes, missed, lost_values, arrival_us.  Who decides by
 * them drifts apart from the others.
 *
 * @size: of this structure
 * @status: 0, or -errno of the first collective that failed
 * @seq: number of the first collective
 * @parts: collectives
 * @user_data: from the options
 * @mask_all: ranks that are in every chunk; with an error none, if a collective
 *	never began
 * @mask_any: ranks that are in any chunk
 * @missing: with an error: ranks that it is about
 * @late: ranks that came late, or not at all, to a shard of our own
 * @chunks: in all
 * @partial: chunks whose mask lacks participants
 * @voided: chunks that ended without a value: zeros
 * @repaired: chunks that were asked for
 * @lost: chunks without outcome: zeros in a sum, untouched bytes else
 * @aligned: alignments of unequal exponents in our own shards
 * @nonfinite: chunks that somebody's NaN or Inf made NaN
 * @flags: TALLY_F_* of all chunks, OR-ed; TALLY_F_REJOIN: somebody waits for
 *	tally_sync()
 * @elapsed_us: from tally_post() to the end
 * @close_us: longest time that a shard of our own was open
 * @bytes: payload that was contributed
 * @weight_min: smallest sum of weights of a chunk that is not void
 * @weight_max: largest
 * @missed: own values that a mask lacks, or whose collective never began (with
 *	a carry: they are in it)
 * @lost_values: own values in chunks without outcome
 * @arrival_us: by rank: its last packet to a shard of our own, the latest, in
 *	microseconds after the shard's first; 0xffffffff: none came
 */
struct tally_report {
	uint32_t	size;
	int32_t		status;
	uint32_t	seq;
	uint32_t	parts;
	uint64_t	user_data;
	uint64_t	mask_all;
	uint64_t	mask_any;
	uint64_t	missing;
	uint64_t	late;
	uint32_t	chunks;
	uint32_t	partial;
	uint32_t	voided;
	uint32_t	repaired;
	uint32_t	lost;
	uint32_t	aligned;
	uint32_t	nonfinite;
	uint32_t	flags;
	uint32_t	elapsed_us;
	uint32_t	close_us;
	uint64_t	bytes;
	uint64_t	weight_min;
	uint64_t	weight_max;
	uint64_t	missed;
	uint64_t	lost_values;
	uint32_t	arrival_us[TALLY_RANKS];
};

/*
 * Ranks of a mask as text: "0,3-5", or their names.  @names: one for each rank
 * or NULL; NULL entries are numbered.  Return: length of the whole text as
 * snprintf() does; an empty mask is "none".
 */
int tally_mask_format(uint64_t mask, const char *const *names, char *buf,
		      size_t size);
/* One sentence on a report; names the missing and the late. */
int tally_report_format(const struct tally_report *report,
			const char *const *names, char *buf, size_t size);

/* --- collectives: tally_collectives(3) ---------------------------------- */

struct tally_call;

#define TALLY_CALL_RELIABLE	(1u << 0) /* ask for what is missing */
#define TALLY_CALL_STOCHASTIC	(1u << 1) /* round at random, by @seed */
#define TALLY_CALL_ABSTAIN	(1u << 2) /* @in counts as zeros of weight 0 */

/**
 * struct tally_call_opts - one call
 * @size: of this structure
 * @flags: TALLY_CALL_*
 * @lane: enum tally_lane; 0: i32 for f32, i16 for f16 and bf16, w64 for u64
 * @dtype: enum tally_dtype; 0: f32
 * @reduce: enum tally_reduce; u64 is always summed
 * @__reserved: zero
 * @weight: of this contribution: samples, or leaves; 0 stands for 1; at most
 *	TALLY_WEIGHT_MAX
 * @scale: multiplies each value; 0: @weight for a mean (the values are means
 *	of @weight samples), 1 for a sum
 * @bound_us: bounded collectives close so long after their first contribution;
 *	0: the group's
 * @timeout_us: each collective ends with an error after so long; 0: the group's
 * @participants: mask; 0: all members
 * @user_data: comes back in the report
 * @seed: for TALLY_CALL_STOCHASTIC; with the same at all members each rounds in
 *	its own way
 * @carry: for what masks lack and rounding loses; NULL: that is dropped.
 *	all_reduce and reduce_scatter of f32, f16, bf16 only
 * @carry_offset: of the first value in the carry's vector
 *
 * Where all members must agree: lane, dtype, participants, counts, RELIABLE.
 */
struct tally_call_opts {
	uint32_t	size;
	uint32_t	flags;
	uint8_t		lane;
	uint8_t		dtype;
	uint8_t		reduce;
	uint8_t		__reserved;
	uint32_t	weight;
	float		scale;
	uint32_t	bound_us;
	uint32_t	timeout_us;
	uint32_t	__reserved2;
	uint64_t	participants;
	uint64_t	user_data;
	uint64_t	seed;
	struct tally_carry *carry;
	size_t		carry_offset;
};

/*
 * A call is made once for a place in the program (a bucket), initialised with
 * what to do, and posted every step; posting does not allocate.  It remembers
 * the exponents of its last results.
 */
int tally_call_create(struct tally_member *m, struct tally_call **out);
/* -EBUSY: it is under way. */
int tally_call_destroy(struct tally_call *call);

/*
 * What the call is to do.  Buffers must stay until the call has ended; they
 * may be changed between calls.  @in may be @out (or the own part of it) and is
 * read while the call is under way.  @opts may be NULL: all zeros.  Buffers
 * longer than a collective are cut into several, of which the group's window
 * are in flight.
 *
 * The exponents are remembered if nothing but the buffers, weight, scale,
 * user_data, seed, times and carry change.
 *
 * all_reduce		@count values in, @count values out
 * reduce_scatter	n parts of @count values in, by order of participants;
 *			out: our part's sum
 * all_gather		@bytes in, n times @bytes out; reliable
 * broadcast		@bytes of @root's @buf to all; reliable
 * barrier		returns when all participants have called it; reliable
 *
 * Return: 0; -EINVAL: argument out of range or types that do not go together;
 * -ERANGE: lanes are too narrow for so many participants; -EBUSY: under way;
 * -EFBIG: more than 2^31 collectives; -ENOMEM.
 */
int tally_all_reduce_init(struct tally_call *call, const void *in, void *out,
			  size_t count, const struct tally_call_opts *opts);
int tally_reduce_scatter_init(struct tally_call *call, const void *in,
			      void *out, size_t count,
			      const struct tally_call_opts *opts);
int tally_all_gather_init(struct tally_call *call, const void *in, void *out,
			  size_t bytes, const struct tally_call_opts *opts);
int tally_broadcast_init(struct tally_call *call, void *buf, size_t bytes,
			 uint32_t root, const struct tally_call_opts *opts);
int tally_barrier_init(struct tally_call *call,
		       const struct tally_call_opts *opts);

/*
 * Begin.  Several calls of a member may be under way; they are submitted in
 * order.  Return: 0; -EBUSY: under way, or its range of the carry was used
 * since the last commit; -EINVAL: not initialised; -ESTALE: tally_rejoin()
 * first; -ENOMEM: carry.  With an error nothing has begun.
 */
int tally_post(struct tally_call *call);

/*
 * Get on with the member's calls without waiting.
 * Return: -EAGAIN: under way; -EINVAL: never posted; else how the call ended:
 *
 * 0		done; look at the report for what is partial
 * -EBADMSG	members disagree on what this collective is
 * -ECANCELED	by tally_cancel()
 * -ECONNABORTED by another member
 * -EHOSTDOWN	a chunk could not be decided: report.missing names the silent.
 *		A bounded call's member is STALE then, as with -ESTALE
 * -EINVAL, -EMSGSIZE	the module refused a collective that the library took
 *		for possible: they disagree on the group
 * -EPROTO	the transport contradicts itself: a chunk has no outcome
 * -ERANGE	the module found a contribution out of range, and did not send
 *		it: something wrote to the cells.  STALE as with -EHOSTDOWN
 * -ESTALE	this member must receive state: tally_rejoin()
 * -ETIMEDOUT	not within its timeout: report.missing names who
 * -ENODEV	the group or its network namespace is gone
 */
int tally_test(struct tally_call *call);

#define TALLY_WAIT_END	0xffffffffu

/*
 * Get on until the call has ended or @timeout_us have passed: then -ETIME, and
 * the call goes on.  TALLY_WAIT_END: wait as long as the call's timeouts allow
 * it to take, and two seconds; should it not have ended then (-ETIME), the
 * transport is at fault.  Otherwise as tally_test().
 */
int tally_wait(struct tally_call *call, uint32_t timeout_us);

/*
 * End a call with -ECANCELED, unless it has an error already; tally_wait() still
 * has to see it end.  All parts of a reliable call are submitted, if only to be
 * cancelled, so that the member stays in step.  Cancelling a bounded collective
 * makes it STALE, and the rest of the call is left out.
 *
 * Return: 0; -EINVAL: never posted; -EALREADY: it has ended.
 */
int tally_cancel(struct tally_call *call);

/* Report of a call that has ended; -EAGAIN: under way. */
int tally_get_report(const struct tally_call *call,
		     struct tally_report *report);

/*
 * Init, post and wait in one.  @report may be NULL.  Exponents are not
 * remembered: for gradients of every step make calls.  With -ETIME the transport
 * did not end the call in time: it is cancelled, for which it has another
 * second, and nothing touches the buffers any more.
 */
int tally_all_reduce(struct tally_member *m, const void *in, void *out,
		     size_t count, const struct tally_call_opts *opts,
		     struct tally_report *report);
int tally_reduce_scatter(struct tally_member *m, const void *in, void *out,
			 size_t count, const struct tally_call_opts *opts,
			 struct tally_report *report);
int tally_all_gather(struct tally_member *m, const void *in, void *out,
		     size_t bytes, const struct tally_call_opts *opts,
		     struct tally_report *report);
int tally_broadcast(struct tally_member *m, void *buf, size_t bytes,
		    uint32_t root, const struct tally_call_opts *opts,
		    struct tally_report *report);
int tally_barrier(struct tally_member *m, const struct tally_call_opts *opts,
		  struct tally_report *report);

/* --- state: tally_state(3) ---------------------------------------------- */

/**
 * struct tally_state_report - what a transfer of state did
 * @size: of this structure
 * @root: rank whose state all have now
 * @answered: ranks that answered the vote and held state
 * @participants: ranks that have identical state now
 * @missing: with an error: ranks that it is about
 * @digest: tally_digest() of the state now
 * @before: tally_digest() of the state that this member had
 * @seq: number of the first collective of the transfer
 * @parts: collectives of the transfer
 * @elapsed_us: in all
 * @received: non-zero: this member took part in the transfer
 */
struct tally_state_report {
	uint32_t	size;
	uint32_t	root;
	uint64_t	answered;
	uint64_t	participants;
	uint64_t	missing;
	uint64_t	digest;
	uint64_t	before;
	uint32_t	seq;
	uint32_t	parts;
	uint32_t	elapsed_us;
	uint32_t	received;
};

/**
 * struct tally_state_opts - a transfer of state
 * @size: of this structure
 * @flags: none yet, zero
 * @bound_us: of the vote; 0: four times the group's
 * @timeout_us: of each collective, and of the wait for a broadcast; 0: the
 *	group's
 */
struct tally_state_opts {
	uint32_t	size;
	uint32_t	flags;
	uint32_t	bound_us;
	uint32_t	timeout_us;
};

/**
 * tally_sync - give state to members that rejoin
 * @m: a member that is not STALE, without calls under way
 * @state: in and out
 * @bytes: the same for all
 * @opts: may be NULL
 * @report: may be NULL
 *
 * All members that are not STALE call it at the same step boundary: after a
 * report whose @flags have TALLY_F_REJOIN.  A vote finds who holds state, and
 * the lowest of those sends it to all that answered and to all that rejoin.
 *
 * Return: 0; -EAGAIN: the vote found nobody to send to or from, all agree on
 * that: go on, and try again at the next step boundary; -EBUSY; -ESTALE: this
 * member must rejoin itself; else as tally_all_reduce().
 */
int tally_sync(struct tally_member *m, void *state, size_t bytes,
	       const struct tally_state_opts *opts,
	       struct tally_state_report *report);

/**
 * tally_rejoin - receive state after -ESTALE, or as a newcomer
 *
 * Follows the group without contributing until the others call tally_sync(),
 * then receives what they hold.  Afterwards the member is not STALE and its
 * next collective is the others' next one.
 *
 * Return: 0; -ETIMEDOUT: nobody sent state in time, try again; -EBUSY: calls
 * under way; -EALREADY: not STALE; else as tally_broadcast().  After an error of
 * the transfer the member is still STALE, and may try again.
 */
int tally_rejoin(struct tally_member *m, void *state, size_t bytes,
		 const struct tally_state_opts *opts,
		 struct tally_state_report *report);

/* 64-bit digest of a buffer, the same on every machine; not cryptographic. */
uint64_t tally_digest(const void *buf, size_t bytes);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
