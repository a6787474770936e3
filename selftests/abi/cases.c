// SPDX-License-Identifier: GPL-2.0-only
/* Reads cases of the vector file and translates their packets. */
#include <stdio.h>
#include <string.h>

#include "cases.h"

/* The slot rule takes lanes too narrow for anything but a sign. */
static bool is_submitted(const struct vcase *c, uint32_t seq)
{
	return !tally_lane_fixed(c->lane[seq]) ||
	       tally_lane_bits(c->lane[seq]) >= TALLY_LANE_BITS_MIN +
	       tally_headroom(&c->g->rule, c->participants[seq]);
}

static void read_packet(struct vcase *c, const struct vectors *v)
{
	struct packet *packet = &c->packets[c->packet_count++];
	uint32_t seq;

	if (c->packet_count > CASE_PACKETS)
		vectors_fail(v, "too many packets", c->name);
	memset(packet, 0, sizeof(*packet));
	packet->line = v->number;
	packet->why = vectors_drop(v, vectors_text(v, "verdict"));
	packet->here = !strcmp(vectors_text(v, "from"), "here");
	packet->bytes = vectors_bytes(v, "data", &packet->hdr, PACKET_MAX);
	if (packet->why == TALLY_DROP_LATE)
		c->apart = true;
	if (packet->why != TALLY_KEEP)
		return;
	seq = tally_get32(packet->hdr.seq) - c->base;
	if (seq >= CASE_SEQS) {
		c->apart = true;
		return;
	}
	if (!c->participants[seq]) {
		c->participants[seq] = tally_get64(packet->hdr.mask);
		c->lane[seq] = packet->hdr.lane;
		c->apart |= !is_submitted(c, seq);
	}
	if (packet->here && packet->hdr.words) {
		c->last_words = tally_get16(packet->hdr.words);
		c->cell_words = (c->last_words + 7) / 8 * 8;
	}
}

static void read_slot(struct vcase *c, const struct vectors *v)
{
	struct slot *slot = &c->slots[c->slot_count++];

	if (c->slot_count > CASE_SLOTS)
		vectors_fail(v, "too many slots", c->name);
	memset(slot, 0, sizeof(*slot));
	slot->line = v->number;
	slot->owner = vectors_u64(v, "owner");
	slot->chunk = vectors_u64(v, "chunk");
	slot->slot.seq = vectors_u64(v, "seq") - c->base;
	slot->slot.participants = vectors_u64(v, "participants");
	slot->slot.mask = vectors_u64(v, "mask");
	slot->slot.bias = vectors_u64(v, "bias");
	slot->slot.weight = vectors_u64(v, "weight");
	slot->slot.words = vectors_u64(v, "words");
	slot->slot.exponent = vectors_number(v, "exponent");
	slot->slot.flags = vectors_u64(v, "flags");
	slot->slot.lane = vectors_u64(v, "lane");
	vectors_bytes(v, "data", slot->data, sizeof(slot->data));
	if (slot->slot.flags & TALLY_F_PARTIAL)
		c->apart = true;
}

uint32_t case_words(const struct vcase *c, uint32_t seq)
{
	return (tally_mask_count(c->participants[seq]) *
		c->g->rule.shard_chunks - 1) * c->cell_words + c->last_words;
}

uint32_t case_shape(const struct vcase *c, uint32_t seq)
{
	return tally_shape(TALLY_OP_ALL_REDUCE, 0, c->lane[seq], 0,
			   case_words(c, seq), c->cell_words, 0);
}

uint32_t case_shard(const struct slot *slot)
{
	uint64_t participants = slot->slot.participants;

	return tally_shard_of(tally_mask_count(participants), slot->slot.seq,
			      tally_mask_index(participants, slot->owner));
}

uint64_t case_tag(const struct vcase *c, const struct packet *packet)
{
	uint32_t words = (packet->bytes - sizeof(packet->hdr)) / 8;
	uint32_t said = tally_get16(packet->hdr.words);
	struct tally_scan scan = {};

	tally_scan_words(&scan, &c->keys, 0, packet->word,
			 said < words ? said : words);
	return tally_tag(&c->keys, &packet->hdr, scan.hash);
}

/* The shard's owner stays who it was, and a wrong tag stays wrong. */
static void translate(const struct vcase *c, struct packet *packet)
{
	struct tally_hdr *hdr = &packet->hdr;
	uint32_t n = tally_mask_count(tally_get64(hdr->mask));
	uint32_t seq = tally_get32(hdr->seq), to = seq - c->base;
	uint32_t shard = tally_get16(hdr->shard);
	uint64_t differs;

	if (packet->bytes < sizeof(*hdr))
		return;
	differs = hdr->tag ^ case_tag(c, packet);
	hdr->seq = tally_put32(to);
	if (shard < n)
		hdr->shard = tally_put16(
			tally_shard_of(n, to, (shard + seq % n) % n));
	/* The file's shape is this, and others where a case is about them. */
	if (to < CASE_SEQS && tally_get32(hdr->shape) >> 8 == 0xc0ffee)
		hdr->shape = tally_put32(case_shape(c, to));
	hdr->time = tally_put16(tally_time_pack(CASE_LONG_US));
	hdr->done = 0;
	hdr->tag = case_tag(c, packet) ^ differs;
}

/* Does packet @i find its slot full? */
static bool is_after_the_last(const struct vcase *c, uint32_t i)
{
	const struct tally_hdr *hdr = &c->packets[i].hdr, *other;
	uint64_t mask = 0;

	while (i--) {
		other = &c->packets[i].hdr;
		if (c->packets[i].why == TALLY_KEEP &&
		    other->seq == hdr->seq && other->shard == hdr->shard &&
		    other->chunk == hdr->chunk)
			mask |= 1ull << tally_get16(other->rank);
	}
	return mask == tally_get64(hdr->mask);
}

void case_read(struct vcase *c, struct vectors *v,
	       const struct vectors_group *groups, uint32_t n)
{
	uint32_t i;

	memset(c, 0, sizeof(*c));
	snprintf(c->name, sizeof(c->name), "%s", vectors_word(v, 0));
	for (i = 0; i < n; i++) {
		if (!strcmp(groups[i].name, vectors_text(v, "group")))
			c->g = &groups[i];
	}
	c->base = vectors_u64(v, "base");
	c->cell_words = c->g->rule.cell_words;
	c->last_words = c->cell_words;
	tally_keys_init(&c->keys, c->g->keyed ? c->g->key : NULL,
			c->g->rule.group, c->g->rule.epoch);
	while (vectors_next(v) && !vectors_is(v, "end")) {
		if (vectors_is(v, "packet"))
			read_packet(c, v);
		else if (vectors_is(v, "slot"))
			read_slot(c, v);
		else if (vectors_is(v, "base"))
			c->apart = true;
	}
	for (i = 0; i < c->packet_count; i++) {
		translate(c, &c->packets[i]);
		/* A module does not leave a full slot open. */
		if (c->packets[i].why == TALLY_DROP_DUPLICATE &&
		    is_after_the_last(c, i))
			c->packets[i].why = TALLY_DROP_LATE;
	}
}
