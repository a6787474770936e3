// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* Calls: what they are to do, and how a buffer is cut into collectives. */
#include <math.h>
#include <stdlib.h>

#include "internal.h"

#define CALL_FLAGS (TALLY_CALL_RELIABLE | TALLY_CALL_STOCHASTIC | \
		    TALLY_CALL_ABSTAIN)

int tally_call_create(struct tally_member *m, struct tally_call **out)
{
	struct tally_call *call;

	if (!m || !out)
		return -EINVAL;
	call = calloc(1, sizeof(*call));
	if (!call)
		return -ENOMEM;
	call->m = m;
	call->all = m->calls;
	m->calls = call;
	*out = call;
	return 0;
}

void call_forget(struct tally_call *call)
{
	struct tally_member *m = call->m;
	struct tally_call **at;
	struct flight *f;
	uint32_t i;

	if (call->state != CALL_ACTIVE)
		return;
	for (i = 0; i < TALLY_RANKS; i++) {
		f = &m->flight[i];
		if (f->call != call)
			continue;
		/* What was submitted to be cancelled is unsent already. */
		if (!f->empty)
			part_forget(call, f->part);
		f->call = NULL;
		f->forgotten = true;
	}
	for (i = call->submitted; i < call->parts; i++)
		part_unsent(call, i);
	for (at = &m->head; *at && *at != call; at = &(*at)->queued)
		;
	if (*at) {
		*at = call->queued;
		if (!*at)
			m->tail = at;
	}
	call_end(call);
}

/* Take @call from the member, whatever it is doing. */
void call_free(struct tally_call *call)
{
	struct tally_member *m = call->m;
	struct tally_call **at;

	call_forget(call);
	for (at = &m->calls; *at != call; at = &(*at)->all)
		;
	*at = call->all;
	free(call->floor);
	free(call);
}

int tally_call_destroy(struct tally_call *call)
{
	if (!call)
		return 0;
	if (call->state == CALL_ACTIVE)
		return -EBUSY;
	call_free(call);
	return 0;
}

/* The values' type, the lane, the way to reduce: fill in and check. */
static int resolve_types(struct tally_call_opts *o, uint8_t op)
{
	bool gathers = op == TALLY_OP_ALL_GATHER ||
		       op == TALLY_OP_BROADCAST || op == TALLY_OP_BARRIER;

	if (gathers) {
		if ((o->dtype && o->dtype != TALLY_DTYPE_BYTES) ||
		    (o->lane && o->lane != TALLY_LANE_RAW) || o->reduce ||
		    o->carry || o->weight || o->scale != 0 ||
		    o->flags & ~TALLY_CALL_RELIABLE)
			return -EINVAL;
		o->dtype = TALLY_DTYPE_BYTES;
		o->lane = op == TALLY_OP_BARRIER ? TALLY_LANE_W64 :
						   TALLY_LANE_RAW;
		return 0;
	}
	if (!o->dtype)
		o->dtype = TALLY_DTYPE_F32;
	if (o->dtype > TALLY_DTYPE_U64)
		return -EINVAL;
	if (!o->lane)
		o->lane = o->dtype == TALLY_DTYPE_F32 ? TALLY_LANE_I32 :
			  o->dtype == TALLY_DTYPE_U64 ? TALLY_LANE_W64 :
			  TALLY_LANE_I16;
	if (o->dtype == TALLY_DTYPE_U64)
		return o->lane != TALLY_LANE_W64 || o->carry ||
		       o->flags & TALLY_CALL_STOCHASTIC ? -EINVAL : 0;
	return tally_lane_fixed(o->lane) && o->reduce <= TALLY_SUM ?
	       0 : -EINVAL;
}

static int resolve_opts(const struct tally_member *m, uint8_t op,
			const struct tally_call_opts *opts,
			struct tally_call_opts *o)
{
	int err = opts_get(o, sizeof(*o), opts);

	if (err)
		return err;
	if (o->flags & ~CALL_FLAGS || o->__reserved || o->__reserved2 ||
	    o->weight > TALLY_WEIGHT_MAX || !isfinite(o->scale) ||
	    o->bound_us > TALLY_TIME_MAX_US ||
	    o->timeout_us > TALLY_TIME_MAX_US)
		return -EINVAL;
	if (!o->participants)
		o->participants = m->link.geo.out_members;
	if (o->participants & ~m->link.geo.out_members)
		return -EINVAL;
	err = resolve_types(o, op);
	if (err)
		return err;
	if (o->flags & TALLY_CALL_ABSTAIN)
		o->weight = 0;
	else if (!o->weight)
		o->weight = 1;
	if (o->scale == 0)
		o->scale = o->reduce == TALLY_MEAN && o->weight ?
			   (float)o->weight : 1;
	return 0;
}

/* How values are encoded depends on how many leaves are summed. */
static int resolve_block(struct tally_call *call)
{
	const struct tally_attach *geo = &call->m->link.geo;
	uint64_t leaves = 0;
	uint32_t rank;
	int bits;

	if (!tally_lane_fixed(call->opts.lane))
		return 0;
	for (rank = 0; rank < TALLY_RANKS; rank++) {
		if (call->participants >> rank & 1)
			leaves += 1ull << (geo->out_caps[rank] & 31);
	}
	bits = tally_value_bits(call->opts.lane, leaves, 1);
	if (bits < TALLY_LANE_BITS_MIN)
		return -ERANGE;
	if (call->member)
		bits = tally_value_bits(call->opts.lane, leaves, 1ull <<
					(geo->out_caps[geo->rank] & 31));
	call->how.lane = call->opts.lane;
	call->how.dtype = call->opts.dtype;
	call->how.value_bits = (uint8_t)bits;
	call->how.stochastic = !!(call->opts.flags & TALLY_CALL_STOCHASTIC);
	call->how.scale = call->opts.scale;
	return 0;
}

/* Cut @count values or bytes into collectives that the group's cells hold. */
static int resolve_parts(struct tally_call *call)
{
	const struct tally_attach *geo = &call->m->link.geo;
	uint64_t chunks = geo->out_shard_chunks, parts;
	struct tally_layout layout;
	uint32_t bits = tally_lane_bits(call->opts.lane);

	call->per_word = call->opts.lane == TALLY_LANE_RAW ? 8 : 64 / bits;
	if (call->op == TALLY_OP_BARRIER) {
		call->parts = 1;
		call->chunks = 1;
		return 0;
	}
	if (call->op == TALLY_OP_ALL_REDUCE)
		chunks *= call->n;
	if (chunks > geo->out_cells)
		chunks = geo->out_cells;
	call->slice = chunks * geo->out_cell_words * call->per_word;
	parts = call->count / call->slice + !!(call->count % call->slice);
	if (parts > INT32_MAX)
		return -EFBIG;
	call->parts = (uint32_t)parts;
	if (!parts)
		return 0;
	tally_layout_init(&layout, call->op, call->participants, 0,
			  part_words(call, 0), geo->out_cell_words,
			  call->root);
	call->chunks = layout.chunks;
	return 0;
}

/* May what was learnt of exponents in @old serve @call? */
static bool same_blocks(const struct tally_call *old,
			const struct tally_call *call)
{
	return old->state != CALL_EMPTY && old->op == call->op &&
	       old->count == call->count &&
	       old->participants == call->participants &&
	       old->opts.lane == call->opts.lane &&
	       old->opts.dtype == call->opts.dtype;
}

static int setup(struct tally_call *call, uint8_t op, const void *in, void *out,
		 size_t count, uint32_t root,
		 const struct tally_call_opts *opts)
{
	struct tally_call next;
	size_t floors;
	int err;

	if (!call)
		return -EINVAL;
	if (call->state == CALL_ACTIVE)
		return -EBUSY;
	next = *call;
	err = resolve_opts(call->m, op, opts, &next.opts);
	if (err)
		return err;
	next.op = op;
	next.in = in;
	next.out = out;
	next.count = count;
	next.root = root;
	next.state = CALL_READY;
	next.participants = next.opts.participants;
	next.n = tally_mask_count(next.participants);
	next.member = next.participants >> call->m->link.geo.rank & 1;
	next.index = tally_mask_index(next.participants,
				      call->m->link.geo.rank);
	if (op == TALLY_OP_BROADCAST && (root >= TALLY_RANKS ||
	    !(next.participants >> root & 1)))
		return -EINVAL;
	if (count > SIZE_MAX / 8 / TALLY_RANKS)
		return -EINVAL;
	if (next.member && count &&
	    (!out || (!in && !(next.opts.flags & TALLY_CALL_ABSTAIN))))
		return -EINVAL;
	err = resolve_block(&next);
	if (!err)
		err = resolve_parts(&next);
	if (err)
		return err;

	next.remember = call != call->m->scratch && next.member &&
			tally_lane_fixed(next.opts.lane);
	floors = next.remember ? (size_t)next.parts * next.chunks : 0;
	if (!floors) {
		free(next.floor);
		next.floor = NULL;
	} else if (!next.floor || next.floors != floors ||
		   !same_blocks(call, &next)) {
		next.floor = malloc(floors);
		if (!next.floor)
			return -ENOMEM;
		memset(next.floor, TALLY_EXP_NONE, floors);
		free(call->floor);
	}
	next.floors = floors;
	*call = next;
	return 0;
}

int tally_all_reduce_init(struct tally_call *call, const void *in, void *out,
			  size_t count, const struct tally_call_opts *opts)
{
	return setup(call, TALLY_OP_ALL_REDUCE, in, out, count, 0, opts);
}

int tally_reduce_scatter_init(struct tally_call *call, const void *in,
			      void *out, size_t count,
			      const struct tally_call_opts *opts)
{
	return setup(call, TALLY_OP_REDUCE_SCATTER, in, out, count, 0, opts);
}

int tally_all_gather_init(struct tally_call *call, const void *in, void *out,
			  size_t bytes, const struct tally_call_opts *opts)
{
	return setup(call, TALLY_OP_ALL_GATHER, in, out, bytes, 0, opts);
}

int tally_broadcast_init(struct tally_call *call, void *buf, size_t bytes,
			 uint32_t root, const struct tally_call_opts *opts)
{
	return setup(call, TALLY_OP_BROADCAST, buf, buf, bytes, root, opts);
}

int tally_barrier_init(struct tally_call *call,
		       const struct tally_call_opts *opts)
{
	return setup(call, TALLY_OP_BARRIER, NULL, NULL, 0, 0, opts);
}

int tally_get_report(const struct tally_call *call,
		     struct tally_report *report)
{
	if (!call || !report)
		return -EINVAL;
	if (call->state != CALL_ENDED)
		return call->state == CALL_ACTIVE ? -EAGAIN : -EINVAL;
	return opts_put(report, &call->report, sizeof(call->report));
}
