/* SPDX-License-Identifier: GPL-2.0-only */
/* A group's packets on their way out. */
#ifndef _TALLY_OUTBOX_H
#define _TALLY_OUTBOX_H

#include <linux/types.h>
#include <tally/tag.h>
#include <tally/wire.h>

#include "stats.h"

struct net;
struct tally_address;
struct tally_outbox;

/**
 * struct tally_outbox_config - what an outbox needs to know
 * @net: sends in this namespace
 * @stats: of the group
 * @keys: tags are made with these
 * @self: source address of all packets
 * @node: addresses by node
 * @nodes: how many
 * @payload: most bytes of payload
 * @host: argument of the two functions
 * @writable: a socket has room again after tally_outbox_send() said -EAGAIN;
 *	any context
 * @stray: a packet came to a socket that only sends; under RCU
 */
struct tally_outbox_config {
	struct net			*net;
	struct tally_stats		*stats;
	const struct tally_keys		*keys;
	const struct tally_address	*self;
	const struct tally_address	*node;
	u32				nodes;
	u32				payload;
	void				*host;
	void (*writable)(void *host);
	void (*stray)(void *host);
};

/* ERR_PTR() of what opening sockets says. */
struct tally_outbox *
tally_outbox_create(const struct tally_outbox_config *config);
/* From now on neither function of the config begins. */
void tally_outbox_silence(struct tally_outbox *outbox);
/* After a grace period that followed tally_outbox_silence(). */
void tally_outbox_destroy(struct tally_outbox *outbox);

/*
 * Take one packet; @payload is read until the flush.  -EAGAIN: no socket has
 * room.  Both from one context at a time that may sleep.
 */
int tally_outbox_send(struct tally_outbox *outbox, u32 node,
		      const struct tally_hdr *hdr, const void *payload);
void tally_outbox_flush(struct tally_outbox *outbox);

#endif
