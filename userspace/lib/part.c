// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * One collective of a call: values into tx cells, result cells into values,
 * and what becomes of the contribution in the carry.
 */
#include <math.h>

#include "carry.h"
#include "internal.h"

/**
 * struct span - one chunk of a collective
 * @at: place in the buffer, and number of the cell
 * @part: which part of the buffer (reduce_scatter, all_gather), else 0
 * @words: payload
 * @from: first value or byte, in the slice
 * @count: values or bytes; the last word may have room for more
 * @input: index in the call's input, and in the range of the carry
 */
struct span {
	uint32_t	at;
	uint32_t	part;
	uint32_t	words;
	size_t		from;
	size_t		count;
	size_t		input;
};

/* Values that an abstaining member contributes. */
static const float zeros[TALLY_PAYLOAD_MAX];

static size_t slice_count(const struct tally_call *call, uint32_t part)
{
	size_t left = call->count - part * call->slice;

	return left < call->slice ? left : call->slice;
}

uint32_t part_words(const struct tally_call *call, uint32_t part)
{
	if (call->op == TALLY_OP_BARRIER)
		return 0;
	return (uint32_t)((slice_count(call, part) + call->per_word - 1) /
			  call->per_word);
}

static void layout_of(const struct tally_call *call, uint32_t part,
		      uint32_t seq, struct tally_layout *layout)
{
	tally_layout_init(layout, call->op, call->participants, seq,
			  part_words(call, part),
			  call->m->link.geo.out_cell_words, call->root);
}

static void span_of(const struct tally_call *call,
		    const struct tally_layout *layout, uint32_t part,
		    uint32_t at, struct span *span)
{
	bool parts = call->op == TALLY_OP_REDUCE_SCATTER ||
		     call->op == TALLY_OP_ALL_GATHER;
	size_t room, left;

	span->at = at;
	span->part = parts ? at / layout->part : 0;
	span->words = tally_layout_words(layout, at);
	span->from = (size_t)(parts ? at % layout->part : at) *
		     layout->cell_words * call->per_word;
	room = (size_t)span->words * call->per_word;
	left = slice_count(call, part) - span->from;
	span->count = left < room ? left : room;
	span->input = span->part * call->count + part * call->slice +
		      span->from;
}

static size_t cell_at(const struct tally_member *m, uint32_t seq, uint32_t at)
{
	const struct tally_attach *geo = &m->link.geo;

	return ((size_t)(seq % geo->out_window) * geo->out_cells + at) *
	       geo->out_cell_bytes;
}

static struct tally_hdr *tx_cell(const struct tally_member *m, uint32_t seq,
				 uint32_t at)
{
	return (struct tally_hdr *)(m->link.tx + cell_at(m, seq, at));
}

static void encode_fixed(struct tally_call *call, uint32_t part, uint32_t seq,
			 const struct span *span, struct tally_hdr *hdr)
{
	const struct tally_call_opts *o = &call->opts;
	bool abstain = o->flags & TALLY_CALL_ABSTAIN;
	struct carry_chunk chunk = { 0 };
	struct codec_block how = call->how;
	struct tally_block block;
	int floor = TALLY_EXP_NONE;
	uint32_t key = 0;

	if (call->floor)
		floor = call->floor[(size_t)part * call->chunks + span->at];
	if (how.stochastic)
		key = codec_key(o->seed, call->m->link.geo.rank, seq,
				span->at);
	if (o->carry)
		carry_chunk(o->carry, o->carry_offset + span->input,
			    span->count, TALLY_WEIGHT_MAX - o->weight, &chunk);
	if (abstain) {
		how.dtype = TALLY_DTYPE_F32;
		how.scale = 1;
	}
	codec_encode(&how, floor, key, abstain ? (const uint8_t *)zeros :
		     call->in + span->input * codec_dtype_bytes(how.dtype),
		     chunk.carry, chunk.residual, span->count, hdr + 1,
		     &block);
	hdr->words = tally_put16(block.words);
	hdr->exponent = block.exponent;
	hdr->bias = tally_put32(block.bias);
	hdr->flags = block.flags;
	/* What is no number leaves the carry alone, its weight too. */
	hdr->weight = tally_put32(block.flags ? 0 : chunk.weight);
}

static void encode_u64(struct tally_call *call, const struct span *span,
		       struct tally_hdr *hdr)
{
	const uint8_t *in = call->in + span->input * 8;
	__le64 *to = (__le64 *)(hdr + 1);
	uint64_t value, any = 0;
	size_t i;

	if (!(call->opts.flags & TALLY_CALL_ABSTAIN)) {
		for (i = 0; i < span->count; i++) {
			memcpy(&value, in + 8 * i, 8);
			to[i] = tally_put_le64(value);
			any |= value;
		}
	}
	if (any)
		hdr->words = tally_put16((uint16_t)span->words);
	else
		hdr->exponent = TALLY_EXP_NONE;
}

static void encode_raw(struct tally_call *call, const struct span *span,
		       struct tally_hdr *hdr)
{
	size_t first = span->input - span->part * call->count;
	uint8_t *to = (uint8_t *)(hdr + 1);

	hdr->words = tally_put16((uint16_t)span->words);
	memcpy(to, call->in + first, span->count);
	memset(to + span->count, 0, span->words * 8 - span->count);
}

void part_encode(struct tally_call *call, uint32_t part, uint32_t seq,
		 bool empty)
{
	bool gathers = tally_op_gathers(call->op);
	struct tally_layout layout;
	struct tally_hdr *hdr;
	struct span span;
	codec_env env;
	uint32_t at, chunks;

	if (!call->member || (call->op == TALLY_OP_BROADCAST &&
			      call->root != call->m->link.geo.rank))
		return;
	layout_of(call, part, seq, &layout);
	/* What a member gathers begins with its own part, in the first cells. */
	chunks = gathers ? layout.part : layout.chunks;
	env = codec_enter();
	for (at = 0; at < chunks; at++) {
		hdr = tx_cell(call->m, seq, at);
		memset(hdr, 0, sizeof(*hdr));
		if (call->op == TALLY_OP_BARRIER || empty) {
			hdr->exponent = TALLY_EXP_NONE;
			continue;
		}
		span_of(call, &layout, part, at, &span);
		if (gathers)
			encode_raw(call, &span, hdr);
		else if (call->opts.lane == TALLY_LANE_W64)
			encode_u64(call, &span, hdr);
		else
			encode_fixed(call, part, seq, &span, hdr);
		call->report.bytes += 8 * tally_get16(hdr->words);
	}
	codec_leave(&env);
}

/*
 * Our own contribution to a chunk that ended with @result; NULL: nobody here
 * knows.  @zeroed: it is not in the sum, even so.
 */
static void settle_carry(struct tally_call *call, const struct span *span,
			 const struct tally_hdr *sent,
			 const struct tally_hdr *result, bool zeroed)
{
	struct tally_carry *carry = call->opts.carry;
	size_t offset = call->opts.carry_offset + span->input;
	struct carry_chunk chunk;
	struct tally_block block;
	double bound = 0;
	int coarser;

	if (!carry)
		return;
	if (!result && !zeroed) {
		carry_lost(carry, offset, span->count);
		return;
	}
	if (sent->flags & TALLY_F_NONFINITE) {
		carry_dropped(carry, offset, span->count);
		return;
	}
	block.words = tally_get16(sent->words);
	block.exponent = sent->exponent;
	block.bias = tally_get32(sent->bias);
	if (!zeroed &&
	    tally_get64(result->mask) >> call->m->link.geo.rank & 1) {
		coarser = result->exponent - sent->exponent;
		if (block.words && coarser > 0)
			bound = (double)span->count *
				ldexp(coarser < call->how.value_bits ? 0.5 : 1,
				      result->exponent);
		carry_counted(carry, offset, span->count,
			      tally_get32(sent->weight), bound);
		return;
	}
	carry_chunk(carry, offset, span->count, 0, &chunk);
	codec_return(call->opts.lane, sent + 1, &block, chunk.residual,
		     span->count);
	carry_missed(carry, offset, span->count, call->opts.weight);
}

/*
 * The floor of the exponent that this chunk's next contribution should have:
 * that of the sum, so that all members use the same; one less when the sum's
 * largest value shows that none of its terms is likely to need so much.
 * Everybody sees the same sum and comes to the same floor.
 */
static int8_t next_floor(const struct tally_call *call, int exponent,
			 uint32_t peak)
{
	if (call->how.value_bits > 3 &&
	    peak < 1u << (call->how.value_bits - 3) &&
	    exponent > -TALLY_EXP_MAX)
		exponent--;
	return (int8_t)exponent;
}

/* Where a chunk's outcome goes; NULL: nowhere. */
static uint8_t *out_of(const struct tally_call *call, uint32_t part,
		       const struct span *span)
{
	size_t bytes = tally_dtype_bytes(call->opts.dtype);
	size_t from = part * call->slice + span->from;

	switch (call->op) {
	case TALLY_OP_REDUCE_SCATTER:
		return span->part == call->index ? call->out + from * bytes :
						   NULL;
	case TALLY_OP_ALL_GATHER:
		return call->out + (span->part * call->count + from) * bytes;
	case TALLY_OP_BROADCAST:
		return call->root == call->m->link.geo.rank ? NULL :
		       call->out + from;
	case TALLY_OP_BARRIER:
		return NULL;
	default:
		return call->out + from * bytes;
	}
}

static void decode(struct tally_call *call, uint32_t part,
		   const struct span *span, const struct tally_hdr *hdr,
		   uint8_t *out)
{
	struct tally_block block = {
		.exponent = hdr->exponent,
		.flags = hdr->flags,
		.words = tally_get16(hdr->words),
		.bias = tally_get32(hdr->bias),
		.weight = tally_get32(hdr->weight),
	};
	size_t bytes = tally_dtype_bytes(call->opts.dtype) * span->count;
	const __le64 *from = (const __le64 *)(hdr + 1);
	uint64_t value;
	uint32_t peak;
	size_t i;

	if (tally_lane_fixed(call->opts.lane)) {
		peak = codec_decode(call->opts.lane, call->opts.dtype,
				    call->opts.reduce, hdr + 1, &block, out,
				    span->count);
		if (call->floor && peak != UINT32_MAX)
			call->floor[(size_t)part * call->chunks + span->at] =
				next_floor(call, block.exponent, peak);
	} else if (!block.words) {
		memset(out, 0, bytes);
	} else if (call->opts.lane == TALLY_LANE_W64) {
		for (i = 0; i < span->count; i++) {
			value = tally_get_le64(from[i]);
			memcpy(out + 8 * i, &value, 8);
		}
	} else {
		memcpy(out, from, bytes);
	}
}

static void note_chunk(struct tally_call *call, const struct span *span,
		       const struct tally_hdr *hdr, bool zeroed)
{
	struct tally_report *r = &call->report;
	uint64_t mask = tally_get64(hdr->mask);
	uint32_t weight = tally_get32(hdr->weight);

	if (hdr->flags & TALLY_F_NONFINITE)
		r->nonfinite++;
	if (zeroed || !(mask >> call->m->link.geo.rank & 1))
		r->missed += span->count;
	if (!mask)
		return;
	if (weight < r->weight_min)
		r->weight_min = weight;
	if (weight > r->weight_max)
		r->weight_max = weight;
}

/* The outcome of a chunk, or NULL if the cell has none. */
static const struct tally_hdr *result_cell(const struct tally_call *call,
					   uint32_t seq,
					   const struct span *span)
{
	const struct tally_hdr *hdr;
	uint32_t words;

	hdr = (const struct tally_hdr *)(call->m->link.result +
					 cell_at(call->m, seq, span->at));
	if (tally_get32(hdr->seq) != seq)
		return NULL;
	if (hdr->type == TALLY_RECEIPT)
		return hdr;
	if (hdr->type != TALLY_RESULT)
		return NULL;
	words = tally_get16(hdr->words);
	return !words || words == span->words ? hdr : NULL;
}

uint64_t part_mask(const struct tally_call *call, uint32_t seq, uint32_t at)
{
	const struct tally_hdr *hdr;

	hdr = (const struct tally_hdr *)(call->m->link.result +
					 cell_at(call->m, seq, at));
	return tally_get32(hdr->seq) == seq && hdr->type == TALLY_RESULT ?
	       tally_get64(hdr->mask) : 0;
}

int part_settle(struct tally_call *call, const struct flight *f, int status)
{
	bool gathers = tally_op_gathers(call->op);
	size_t bytes = tally_dtype_bytes(call->opts.dtype);
	const struct tally_hdr *hdr;
	struct tally_layout layout;
	struct span span;
	codec_env env;
	uint32_t part = f->part, seq = f->seq, at;
	uint8_t *out;

	if (!call->member || call->op == TALLY_OP_BARRIER)
		return status;
	layout_of(call, part, seq, &layout);
	env = codec_enter();
	for (at = 0; at < layout.chunks; at++) {
		span_of(call, &layout, part, at, &span);
		out = out_of(call, part, &span);
		if (call->op == TALLY_OP_ALL_GATHER &&
		    span.part == call->index) {
			memmove(out, call->in + part * call->slice + span.from,
				span.count);
			continue;
		}
		if (gathers && !out)
			continue;
		hdr = result_cell(call, seq, &span);
		if (out && hdr && hdr->type == TALLY_RECEIPT)
			hdr = NULL;
		if (hdr && !gathers)
			note_chunk(call, &span, hdr, f->zeroed);
		/* Never local data in place of a sum. */
		if (hdr && out)
			decode(call, part, &span, hdr, out);
		else if (out && !gathers)
			memset(out, 0, span.count * bytes);
		if (!hdr) {
			call->report.lost_values += gathers ? 0 : span.count;
			if (!status)
				status = -EPROTO;
		}
		if (!gathers)
			settle_carry(call, &span, tx_cell(call->m, seq, at),
				     hdr, f->zeroed);
	}
	codec_leave(&env);
	return status;
}

/* Make the residual what would have been contributed: scale * in + carry. */
static void hold(struct tally_call *call, const struct span *span)
{
	const struct tally_call_opts *o = &call->opts;
	size_t offset = o->carry_offset + span->input;
	struct carry_chunk chunk;

	carry_chunk(o->carry, offset, span->count, 0, &chunk);
	if (!(o->flags & TALLY_CALL_ABSTAIN) &&
	    !codec_hold(&call->how, call->in + span->input *
			codec_dtype_bytes(call->how.dtype), chunk.carry,
			chunk.residual, span->count))
		carry_missed(o->carry, offset, span->count, o->weight);
	else
		carry_dropped(o->carry, offset, span->count);
}

void part_unsent(struct tally_call *call, uint32_t part)
{
	size_t bytes = tally_dtype_bytes(call->opts.dtype);
	struct tally_layout layout;
	struct span span;
	codec_env env;
	uint8_t *out;
	uint32_t at;

	/* Nobody is known to be in what never began. */
	call->report.mask_all = 0;
	if (!call->member || call->op == TALLY_OP_BARRIER ||
	    tally_op_gathers(call->op))
		return;
	layout_of(call, part, 0, &layout);
	env = codec_enter();
	for (at = 0; at < layout.chunks; at++) {
		span_of(call, &layout, part, at, &span);
		call->report.missed += span.count;
		/* Before @out, which may be the input. */
		if (call_carries(call))
			hold(call, &span);
		out = out_of(call, part, &span);
		if (out)
			memset(out, 0, span.count * bytes);
	}
	codec_leave(&env);
}

void part_forget(struct tally_call *call, uint32_t part)
{
	size_t bytes = tally_dtype_bytes(call->opts.dtype);
	struct tally_layout layout;
	struct span span;
	uint8_t *out;
	uint32_t at;

	call->report.mask_all = 0;
	if (!call->member || call->op == TALLY_OP_BARRIER ||
	    tally_op_gathers(call->op))
		return;
	layout_of(call, part, 0, &layout);
	for (at = 0; at < layout.chunks; at++) {
		span_of(call, &layout, part, at, &span);
		call->report.lost_values += span.count;
		if (call_carries(call))
			carry_lost(call->opts.carry, call->opts.carry_offset +
				   span.input, span.count);
		out = out_of(call, part, &span);
		if (out)
			memset(out, 0, span.count * bytes);
	}
}

int part_reserve(struct tally_call *call)
{
	size_t chunk = (size_t)call->m->link.geo.out_cell_words *
		       call->per_word;
	uint32_t n = call->op == TALLY_OP_REDUCE_SCATTER ? call->n : 1, i;
	int err = 0;

	if (!call_carries(call))
		return 0;
	for (i = 0; i < n && !err; i++)
		err = carry_reserve(call->opts.carry, call->opts.carry_offset +
				    i * call->count, call->count, chunk);
	return err;
}

void part_touch(struct tally_call *call)
{
	uint32_t n = call->op == TALLY_OP_REDUCE_SCATTER ? call->n : 1;

	if (!call_carries(call))
		return;
	carry_touch(call->opts.carry, call->opts.carry_offset,
		    n * call->count);
	carry_get(call->opts.carry);
}
