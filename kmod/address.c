// SPDX-License-Identifier: GPL-2.0-only
/* Questions to the namespace's addresses and routes. */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/dst.h>
#include <net/flow.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/ipv6_stubs.h>
#include <net/route.h>

#include "address.h"

static __be32 address4(const struct tally_address *address)
{
	__be32 ip;

	memcpy(&ip, address->ip, sizeof(ip));
	return ip;
}

static struct in6_addr address6(const struct tally_address *address)
{
	struct in6_addr ip;

	memcpy(&ip, address->ip, sizeof(ip));
	return ip;
}

int tally_address_to_sockaddr(const struct tally_address *address,
			      struct sockaddr_storage *to)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)to;
	struct sockaddr_in *sin = (struct sockaddr_in *)to;

	memset(to, 0, sizeof(*to));
	if (address->family == AF_INET) {
		sin->sin_family = AF_INET;
		sin->sin_addr.s_addr = address4(address);
		sin->sin_port = address->port;
		return sizeof(*sin);
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_addr = address6(address);
	sin6->sin6_port = address->port;
	return sizeof(*sin6);
}

bool tally_address_valid(const struct tally_address *address)
{
	struct in6_addr ip6 = address6(address);
	__be32 ip = address4(address);

	if (address->family == AF_INET)
		return !ipv4_is_zeronet(ip) && !ipv4_is_multicast(ip) &&
		       !ipv4_is_lbcast(ip);
	/* A link-local address names no host without an interface. */
	return !ipv6_addr_any(&ip6) && !ipv6_addr_is_multicast(&ip6) &&
	       !(ipv6_addr_type(&ip6) & (IPV6_ADDR_LINKLOCAL |
					 IPV6_ADDR_MAPPED));
}

bool tally_address_is_local(struct net *net,
			    const struct tally_address *address)
{
	struct in6_addr ip6;

	if (address->family == AF_INET)
		return inet_addr_type(net, address4(address)) == RTN_LOCAL;
	if (!IS_ENABLED(CONFIG_IPV6))
		return false;
	ip6 = address6(address);
	return ipv6_chk_addr(net, &ip6, NULL, 0);
}

static int mtu4(struct net *net, const struct tally_address *from,
		const struct tally_address *to)
{
	struct flowi4 fl4 = {
		.saddr = address4(from),
		.daddr = address4(to),
		.flowi4_proto = IPPROTO_UDP,
		.fl4_sport = from->port,
		.fl4_dport = to->port,
	};
	struct rtable *rt = ip_route_output_key(net, &fl4);
	int mtu;

	if (IS_ERR(rt))
		return PTR_ERR(rt);
	mtu = dst_mtu(&rt->dst);
	ip_rt_put(rt);
	return mtu;
}

static int mtu6(struct net *net, const struct tally_address *from,
		const struct tally_address *to)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct flowi6 fl6 = {
		.saddr = address6(from),
		.daddr = address6(to),
		.flowi6_proto = IPPROTO_UDP,
		.fl6_sport = from->port,
		.fl6_dport = to->port,
	};
	struct dst_entry *dst;
	int mtu;

	dst = ipv6_stub->ipv6_dst_lookup_flow(net, NULL, &fl6, NULL);
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	mtu = dst_mtu(dst);
	dst_release(dst);
	return mtu;
#else
	return -EAFNOSUPPORT;
#endif
}

int tally_address_mtu(struct net *net, const struct tally_address *from,
		      const struct tally_address *to)
{
	return from->family == AF_INET ? mtu4(net, from, to) :
					 mtu6(net, from, to);
}
