// SPDX-License-Identifier: GPL-2.0-only
/* Packets that the engine sends. */
#include "internal.h"

/* What @m needs nothing before: a STALE rank gets it all from the state. */
static u32 done_of(struct tally_engine *e, struct tally_member *m)
{
	u32 seq;

	if (!READ_ONCE(m->stale))
		return m->done;
	seq = tally_engine_seq(e);
	return tally_seq_diff(seq, m->done) > 0 ? seq : m->done;
}

/* Header of a packet from @m; what is not common stays zero. */
void tally_packet_init(struct tally_engine *e, struct tally_hdr *hdr, u8 type,
		       struct tally_member *m)
{
	memset(hdr, 0, sizeof(*hdr));
	hdr->version = TALLY_VERSION;
	hdr->type = type;
	hdr->group = tally_put16(e->config.group);
	hdr->rank = tally_put16(m->rank);
	hdr->epoch = tally_put32(e->config.epoch);
	hdr->sent_us = tally_put32((u32)div_u64(e->now, 1000));
	hdr->done = tally_put32(done_of(e, m));
	hdr->exponent = TALLY_EXP_NONE;
}

/* False if the host's queue is full: the caller tries in a later run. */
bool tally_packet_send(struct tally_engine *e, u32 node,
		       const struct tally_hdr *hdr, const void *payload)
{
	if (e->ops->send(e->host, node, hdr, payload)) {
		e->full = true;
		return false;
	}
	if (e->budget)
		e->budget--;
	return true;
}

/*
 * The next piece of scratch memory, as long as a payload; valid until all of
 * it was handed out once.
 */
void *tally_scratch(struct tally_engine *e)
{
	u32 at = e->scratch_at++ % TALLY_SCRATCH;

	if (!at)
		e->ops->flush(e->host);
	return e->scratch + (size_t)at * e->config.cell_words;
}

/*
 * Control packets that name @chunks of a shard by bitmaps.  What they are
 * about comes from @about (participants, shape, lane, reliable), the ranks
 * they mean from @mask.  One that cannot be sent is lost: all are asked again.
 */
void tally_packet_chunks(struct tally_engine *e, struct tally_member *m,
			 u32 node, u8 type, u8 ask, u32 seq, u32 shard,
			 const struct tally_shard *about, u64 mask,
			 const unsigned long *chunks, u32 count)
{
	u32 i, from, most = e->config.cell_words;
	struct tally_hdr hdr;

	for (from = 0; from < count; from += 64 * most) {
		u32 to = min(count, from + 64 * most);
		u64 *map = tally_scratch(e);
		u32 words = 0;

		memset(map, 0, 8 * most);
		for (i = find_next_bit(chunks, to, from); i < to;
		     i = find_next_bit(chunks, to, i + 1)) {
			map[(i - from) / 64] |= 1ull << (i - from) % 64;
			words = (i - from) / 64 + 1;
		}
		if (!words)
			continue;
		for (i = 0; i < words; i++)
			map[i] = (u64)(__tally_force u64)tally_put_le64(map[i]);
		tally_packet_init(e, &hdr, type, m);
		hdr.lane = about->lane;
		hdr.flags = about->flags & (TALLY_F_RELIABLE | TALLY_F_VOID);
		hdr.incast = ask;
		hdr.seq = tally_put32(seq);
		hdr.shard = tally_put16(shard);
		hdr.chunk = tally_put32(from);
		hdr.words = tally_put16(words);
		hdr.mask = tally_put64(mask);
		hdr.shape = tally_put32(about->shape);
		tally_packet_send(e, node, &hdr, map);
	}
}

/* The next chunk from @at on that a control packet names; @limit if none. */
u32 tally_bits_next(const struct tally_hdr *hdr, const void *payload, u32 limit,
		    u32 at)
{
	u32 from = tally_get32(hdr->chunk), words = tally_get16(hdr->words);

	for (; at < limit && at >= from && (at - from) / 64 < words; at++) {
		u64 word = tally_load_le64((const u8 *)payload +
					   (at - from) / 64 * 8) >>
			   (at - from) % 64;

		if (word & 1)
			return at;
		if (!word)
			at = from + ((at - from) | 63);
	}
	return limit;
}

/* Tell @ranks that collective @seq cannot end, because of those in @mask. */
void tally_abort_send(struct tally_engine *e, struct tally_member *m, u32 seq,
		      u64 ranks, u8 say, u64 mask)
{
	u64 nodes = tally_nodes_of(e, ranks & e->config.members);
	struct tally_hdr hdr;
	u32 node;

	tally_packet_init(e, &hdr, TALLY_ABORT, m);
	hdr.incast = say;
	hdr.seq = tally_put32(seq);
	hdr.mask = tally_put64(mask);
	for (node = 0; node < e->config.nodes; node++) {
		if (nodes >> node & 1 && node != e->config.self)
			tally_packet_send(e, node, &hdr, NULL);
	}
	tally_event(e, TALLY_TRACE_ABORT, m->rank, seq, 0, 0, mask,
		    say == TALLY_SAY_SHAPE ? -EBADMSG : -ECONNABORTED);
}

/* Nodes of @ranks, as a mask. */
u64 tally_nodes_of(struct tally_engine *e, u64 ranks)
{
	u64 nodes = 0;
	u32 rank;

	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		if (ranks >> rank & 1)
			nodes |= 1ull << e->config.node[rank];
	}
	return nodes;
}
