// SPDX-License-Identifier: GPL-2.0-only
/*
 * Closed chunks go to the participants: RESULTs, or RECEIPTs of a
 * reduce_scatter, once to each node.  Batches keep runs for one node together,
 * which the host can send in one call.
 */
#include "internal.h"

/* To the local ranks' cells; each takes it once. */
void tally_owned_deliver(struct tally_engine *e, struct tally_owned *o,
			 u32 chunk)
{
	struct tally_hdr *hdr = tally_owned_cell(e, o, chunk);
	struct tally_payload payload = {
		.part = { tally_cell_words(hdr) },
		.words = { tally_get16(hdr->words) },
		.parts = 1,
	};
	struct tally_member *m;
	bool done = false;

	tally_for_each_member(e, m) {
		if (tally_cell_fill(e, m, hdr, &payload, e->now, &done) ==
		    TALLY_KEEP)
			tally_count(e, TALLY_COUNT_LOCAL_RESULT, 1);
	}
	if (done)
		e->ops->kick(e->host);
}

bool tally_owned_publishing(const struct tally_engine *e,
			    const struct tally_owned *o)
{
	return o->batch_n || !bitmap_empty(o->publish, e->config.shard_chunks);
}

/* The next chunks to send; local ranks get them at once. */
static bool batch_fill(struct tally_engine *e, struct tally_owned *o)
{
	u32 i;

	o->batch_n = 0;
	o->batch_at = 0;
	for_each_set_bit(i, o->publish, e->config.shard_chunks) {
		struct tally_hdr *hdr = tally_owned_cell(e, o, i);
		struct tally_receipt *receipt = &o->receipt[o->batch_n];

		clear_bit(i, o->publish);
		receipt->mask = hdr->mask;
		receipt->weight = hdr->weight;
		receipt->exponent = hdr->exponent;
		receipt->flags = hdr->flags;
		receipt->__reserved = 0;
		tally_owned_deliver(e, o, i);
		o->batch[o->batch_n++] = i;
		if (o->batch_n == TALLY_BATCH)
			break;
	}
	return o->batch_n;
}

static bool send_result(struct tally_engine *e, struct tally_member *m,
			struct tally_owned *o, u32 node, u32 i)
{
	struct tally_hdr *cell = tally_owned_cell(e, o, o->batch[i]);
	struct tally_hdr hdr = *cell;

	hdr.done = tally_put32(m->done);
	hdr.sent_us = tally_put32((u32)div_u64(e->now, 1000));
	return tally_packet_send(e, node, &hdr, tally_cell_words(cell));
}

/* One RECEIPT for as many adjacent chunks as there are; their number. */
static u32 send_receipt(struct tally_engine *e, struct tally_member *m,
			struct tally_owned *o, u32 node, u32 i)
{
	struct tally_hdr hdr;
	u32 n = 1;

	while (i + n < o->batch_n && o->batch[i + n] == o->batch[i] + n &&
	       2 * (n + 1) <= e->config.cell_words)
		n++;
	tally_packet_init(e, &hdr, TALLY_RECEIPT, m);
	hdr.lane = o->about.lane;
	hdr.flags = o->about.flags & TALLY_F_RELIABLE;
	hdr.seq = tally_put32(o->seq);
	hdr.shard = tally_put16(o->about.index);
	hdr.chunk = tally_put32(o->batch[i]);
	hdr.words = tally_put16(2 * n);
	hdr.shape = tally_put32(o->about.shape);
	return tally_packet_send(e, node, &hdr, &o->receipt[i]) ? n : 0;
}

/* Send the batch from where it stopped.  False if the queue is full again. */
static bool batch_send(struct tally_engine *e, struct tally_member *m,
		       struct tally_owned *o)
{
	u64 nodes = tally_nodes_of(e, o->about.participants);
	bool receipts = o->about.op == TALLY_OP_REDUCE_SCATTER;
	u32 node, i, n;

	for (node = o->batch_at / o->batch_n; node < e->config.nodes; node++) {
		i = o->batch_at % o->batch_n;
		if (!(nodes >> node & 1) || node == e->config.self)
			i = o->batch_n;
		while (i < o->batch_n) {
			n = receipts ? send_receipt(e, m, o, node, i) :
				       send_result(e, m, o, node, i);
			if (!n) {
				o->batch_at = node * o->batch_n + i;
				return false;
			}
			i += n;
		}
		o->batch_at = (node + 1) * o->batch_n;
	}
	/* The batch's memory is about to be used again. */
	e->ops->flush(e->host);
	return true;
}

void tally_owned_publish(struct tally_engine *e, struct tally_member *m,
			 struct tally_owned *o)
{
	while (o->batch_n || batch_fill(e, o)) {
		if (!e->budget) {
			e->again = true;
			return;
		}
		if (!batch_send(e, m, o))
			return;
		o->batch_n = 0;
	}
}
