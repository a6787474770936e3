/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses of members, and what the namespace's routing says of them. */
#ifndef _TALLY_ADDRESS_H
#define _TALLY_ADDRESS_H

#include <linux/socket.h>
#include <linux/string.h>
#include <linux/types.h>

struct net;

/**
 * struct tally_address - where a node receives
 * @ip: an IPv4 address fills the first four bytes, the rest is zero
 * @port: UDP
 * @family: AF_INET or AF_INET6
 */
struct tally_address {
	u8	ip[16] __aligned(8);
	__be16	port;
	u16	family;
};

static inline bool tally_address_same_ip(const struct tally_address *a,
					 const struct tally_address *b)
{
	return a->family == b->family && !memcmp(a->ip, b->ip, sizeof(a->ip));
}

static inline bool tally_address_same(const struct tally_address *a,
				      const struct tally_address *b)
{
	return a->port == b->port && tally_address_same_ip(a, b);
}

/* IP and UDP headers of a packet to @address, bytes. */
static inline u32 tally_address_overhead(const struct tally_address *address)
{
	return address->family == AF_INET ? 20 + 8 : 40 + 8;
}

/* For %pISpc; returns the length in use. */
int tally_address_to_sockaddr(const struct tally_address *address,
			      struct sockaddr_storage *to);
/* Can a host have this address? */
bool tally_address_valid(const struct tally_address *address);
bool tally_address_is_local(struct net *net,
			    const struct tally_address *address);
/* MTU of the path from @from to @to, or -errno without a route. */
int tally_address_mtu(struct net *net, const struct tally_address *from,
		      const struct tally_address *to);

#endif
