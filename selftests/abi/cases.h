/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A case of the vector file, translated for a module, whose clock and window
 * are its own: seqs begin with 0, bounds are long, shapes are those that SUBMIT
 * makes, tags are right where they were.
 */
#ifndef TALLY_SELFTESTS_CASES_H
#define TALLY_SELFTESTS_CASES_H

#include <stdbool.h>
#include <stdint.h>

#include <tally/slot.h>

#include "../vectors/vectors.h"

#define CASE_PACKETS	128
#define CASE_SLOTS	64
#define CASE_SEQS	4		/* from the base on */
#define CASE_LONG_US	60000000	/* no case takes so long */

/**
 * struct packet - a line `packet`, or what a member received
 * @line: in the vector file
 * @why: its verdict
 * @bytes: length
 * @here: a local rank's contribution
 * @hdr: header
 * @word: payload, right behind @hdr
 */
struct packet {
	uint32_t		line;
	uint32_t		why;
	uint32_t		bytes;
	bool			here;
	struct tally_hdr	hdr;
	uint64_t		word[TALLY_WORDS_MAX];
};

/**
 * struct slot - a line `slot`
 * @line: in the vector file
 * @owner: rank
 * @chunk: in the shard
 * @slot: what it says
 * @data: payload
 */
struct slot {
	uint32_t		line;
	uint32_t		owner;
	uint32_t		chunk;
	struct tally_slot	slot;
	uint8_t			data[TALLY_PAYLOAD_MAX];
};

#define PACKET_MAX	(sizeof(struct tally_hdr) + TALLY_PAYLOAD_MAX)

/**
 * struct vcase - a case
 * @name: of the case
 * @g: its group
 * @base: first seq in the file
 * @packets: in order
 * @packet_count: how many
 * @slots: expected at the end
 * @slot_count: how many
 * @apart: about time, moves the base, or has lanes that SUBMIT refuses
 * @participants: by seq, 0 if nothing is known of it
 * @lane: likewise
 * @cell_words: the group's, or such that `here` fills the cells of a SUBMIT
 * @last_words: of the last one
 * @keys: of the group
 */
struct vcase {
	char				name[64];
	const struct vectors_group	*g;
	uint32_t			base;
	struct packet			packets[CASE_PACKETS];
	uint32_t			packet_count;
	struct slot			slots[CASE_SLOTS];
	uint32_t			slot_count;
	bool				apart;
	uint64_t			participants[CASE_SEQS];
	uint8_t				lane[CASE_SEQS];
	uint32_t			cell_words;
	uint32_t			last_words;
	struct tally_keys		keys;
};

/* From the line `case` to its end; the group is one of @groups. */
void case_read(struct vcase *c, struct vectors *v,
	       const struct vectors_group *groups, uint32_t n);
/* Length that SUBMIT has for collective @seq, and what it makes of it. */
uint32_t case_words(const struct vcase *c, uint32_t seq);
uint32_t case_shape(const struct vcase *c, uint32_t seq);
/* Which one of its collective its owner has. */
uint32_t case_shard(const struct slot *slot);
uint64_t case_tag(const struct vcase *c, const struct packet *packet);

#endif
