// SPDX-License-Identifier: GPL-2.0-only
/*
 * What XDP and the socket path have in common: a packet is parsed, finds its
 * group, is checked against its sender's address, and goes to the engine.
 */
#include <linux/timekeeping.h>

#include "host.h"
#include "netns.h"
#include "receive.h"
#include "trace.h"

/**
 * struct reader - goes through a frame's pieces
 * @frame: the frame
 * @at: what is left of the present piece
 * @left: its length
 * @frag: next fragment
 */
struct reader {
	const struct tally_frame	*frame;
	const u8			*at;
	u32				left;
	u32				frag;
};

/* False at the frame's end. */
static bool reader_next(struct reader *r)
{
	while (!r->left) {
		const skb_frag_t *frag;

		if (r->frag >= r->frame->nr_frags)
			return false;
		frag = &r->frame->frags[r->frag++];
		r->at = skb_frag_address(frag);
		r->left = skb_frag_size(frag);
	}
	return true;
}

/* Copy to @to, or skip if that is NULL. */
static bool reader_copy(struct reader *r, void *to, u32 bytes)
{
	while (bytes) {
		u32 n;

		if (!reader_next(r))
			return false;
		n = min(bytes, r->left);
		if (to) {
			memcpy(to, r->at, n);
			to += n;
		}
		r->at += n;
		r->left -= n;
		bytes -= n;
	}
	return true;
}

static bool payload_add(struct tally_payload *payload, const void *part,
			u32 words)
{
	if (payload->parts == TALLY_PARTS_MAX)
		return false;
	payload->part[payload->parts] = part;
	payload->words[payload->parts++] = words;
	payload->total += words;
	return true;
}

static int parse_payload(struct tally_received *packet, struct reader *r,
			 u32 words)
{
	while (words) {
		u32 n;

		if (!reader_next(r))
			return -ENODATA;
		n = min(words, r->left / 8);
		if (n) {
			if (!payload_add(&packet->payload, r->at, n))
				return -E2BIG;
			r->at += 8 * n;
			r->left -= 8 * n;
		} else {
			u8 *word;

			if (packet->straddles == ARRAY_SIZE(packet->straddle))
				return -E2BIG;
			word = packet->straddle[packet->straddles++];
			if (!reader_copy(r, word, 8))
				return -ENODATA;
			n = 1;
			if (!payload_add(&packet->payload, word, n))
				return -E2BIG;
		}
		words -= n;
	}
	return 0;
}

int tally_receive_parse(struct tally_received *packet,
			const struct tally_frame *frame, u32 offset,
			u32 length)
{
	struct reader r = {
		.frame = frame,
		.at = frame->head,
		.left = frame->head_bytes,
	};

	packet->payload.parts = 0;
	packet->payload.total = 0;
	packet->straddles = 0;
	if (length < sizeof(packet->hdr))
		return -ENODATA;
	packet->bytes = length - sizeof(packet->hdr);
	if (!reader_copy(&r, NULL, offset) ||
	    !reader_copy(&r, &packet->hdr, sizeof(packet->hdr)))
		return -ENODATA;
	return parse_payload(packet, &r, packet->bytes / 8);
}

struct tally_host *tally_receive_host(struct tally_net *ns,
				      const struct tally_hdr *hdr)
{
	return xa_load(&ns->hosts, tally_get16(hdr->group));
}

void tally_receive_drop(struct tally_net *ns, struct tally_host *host,
			const struct tally_hdr *hdr, enum tally_drop reason,
			enum tally_path path)
{
	tally_stats_drop(host ? host->stats : &ns->stats, reason);
	trace_tally_drop(hdr, reason, path);
}

/* Who sent it?  A forged source address is found out by the tag only. */
static enum tally_drop check_sender(const struct tally_host *host,
				    const struct tally_hdr *hdr,
				    const struct tally_address *from)
{
	u32 rank = tally_get16(hdr->rank);

	if (rank >= TALLY_RANKS_MAX || !(host->config.members >> rank & 1))
		return TALLY_DROP_MEMBER;
	if (tally_engine_rule(host->engine)->local >> rank & 1)
		return TALLY_DROP_SPOOF;
	if (!tally_address_same_ip(&host->member[rank], from))
		return TALLY_DROP_MEMBER;
	return TALLY_KEEP;
}

static enum tally_drop check_length(const struct tally_received *packet)
{
	u32 bytes = 8 * tally_get16(packet->hdr.words);

	if (packet->bytes < bytes)
		return TALLY_DROP_TRUNCATED;
	if (packet->bytes > bytes)
		return TALLY_DROP_OVERSIZED;
	return TALLY_KEEP;
}

static enum tally_drop give_to_engine(struct tally_host *host,
				      const struct tally_received *packet,
				      enum tally_path path)
{
	const struct tally_hdr *hdr = &packet->hdr;
	enum tally_drop drop;
	u64 now;

	switch (hdr->type) {
	case TALLY_CONTRIB:
		now = ktime_get_ns();
		drop = tally_engine_contrib(host->engine, hdr,
					    &packet->payload, now);
		if (drop)
			break;
		tally_stats_count(host->stats, path == TALLY_PATH_XDP ?
				  TALLY_COUNT_XDP_CONTRIB :
				  TALLY_COUNT_SOCKET_CONTRIB, 1);
		trace_tally_contribution(hdr, path);
		break;
	case TALLY_RESULT:
		now = ktime_get_ns();
		drop = tally_engine_result(host->engine, hdr, &packet->payload,
					   now);
		if (drop)
			break;
		tally_stats_count(host->stats, path == TALLY_PATH_XDP ?
				  TALLY_COUNT_XDP_RESULT :
				  TALLY_COUNT_SOCKET_RESULT, 1);
		trace_tally_result(hdr, path);
		break;
	default:
		drop = tally_engine_check(host->engine, hdr, &packet->payload);
	}
	return drop;
}

enum tally_drop tally_receive(struct tally_host *host,
			      const struct tally_received *packet,
			      const struct tally_address *from,
			      enum tally_path path)
{
	enum tally_drop drop;

	if (packet->hdr.version != TALLY_VERSION)
		drop = TALLY_DROP_VERSION;
	else
		drop = check_sender(host, &packet->hdr, from);
	if (!drop)
		drop = check_length(packet);
	if (!drop)
		drop = give_to_engine(host, packet, path);
	if (drop && !(drop == TALLY_DROP_CONTENDED && path == TALLY_PATH_XDP))
		tally_receive_drop(host->ns, host, &packet->hdr, drop, path);
	return drop;
}
