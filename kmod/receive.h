/* SPDX-License-Identifier: GPL-2.0-only */
/* One packet's way from the network to its group. */
#ifndef _TALLY_RECEIVE_H
#define _TALLY_RECEIVE_H

#include <linux/skbuff.h>
#include <tally/drops.h>
#include <tally/wire.h>

#include "engine/engine.h"

struct tally_address;
struct tally_host;
struct tally_net;

enum tally_path {
	TALLY_PATH_XDP,
	TALLY_PATH_SOCKET,
};

#define TALLY_STRADDLES	(TALLY_PARTS_MAX / 2)

/**
 * struct tally_received - a packet's header and payload
 * @hdr: copied, so that it is aligned and cannot change
 * @payload: points into the packet
 * @bytes: of payload that the UDP header promises
 * @straddle: words that lie in two fragments
 * @straddles: how many
 */
struct tally_received {
	struct tally_hdr	hdr;
	struct tally_payload	payload;
	u32			bytes;
	u32			straddles;
	u8			straddle[TALLY_STRADDLES][8];
};

/**
 * struct tally_frame - where a packet's bytes are
 * @head: first piece
 * @head_bytes: its length
 * @frags: further pieces
 * @nr_frags: how many
 */
struct tally_frame {
	const void		*head;
	u32			head_bytes;
	const skb_frag_t	*frags;
	u32			nr_frags;
};

/**
 * tally_receive_parse - find header and payload in a frame
 * @packet: to fill
 * @frame: where
 * @offset: of the tally header
 * @length: of header and payload, by the UDP header
 *
 * Return: 0, -ENODATA if the frame or the header is shorter than @length says,
 * -E2BIG if the payload is in too many pieces.
 */
int tally_receive_parse(struct tally_received *packet,
			const struct tally_frame *frame, u32 offset,
			u32 length);

/* The group that is up under the packet's id, or NULL.  Under RCU. */
struct tally_host *tally_receive_host(struct tally_net *ns,
				      const struct tally_hdr *hdr);

/**
 * tally_receive - give a packet to its group, and count what becomes of it
 * @host: from tally_receive_host(); the packet was sent to its address
 * @packet: parsed
 * @from: where it came from
 * @path: how it came
 *
 * Under RCU, bottom halves off.
 *
 * Return: TALLY_KEEP: taken; of a control packet: may be queued.  Else why it
 * was dropped.  TALLY_DROP_CONTENDED is not counted in the XDP path.
 */
enum tally_drop tally_receive(struct tally_host *host,
			      const struct tally_received *packet,
			      const struct tally_address *from,
			      enum tally_path path);

/* Count a packet that is dropped; @host is NULL for packets of no group. */
void tally_receive_drop(struct tally_net *ns, struct tally_host *host,
			const struct tally_hdr *hdr, enum tally_drop reason,
			enum tally_path path);

static inline bool tally_receive_is_control(const struct tally_hdr *hdr)
{
	return hdr->type != TALLY_CONTRIB && hdr->type != TALLY_RESULT;
}

#endif
