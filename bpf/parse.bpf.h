/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a frame to a tally header: Ethernet, up to two VLAN tags, IPv4 with or
 * without options, IPv6 without extension headers, UDP.
 *
 * Nothing is written to the frame, and nothing is dropped here: what this does
 * not understand is the network stack's.
 */
#ifndef _TALLY_PARSE_BPF_H
#define _TALLY_PARSE_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include <tally/flow.h>
#include <tally/wire.h>

#define VLANS_MAX	2
#define IPV4_FRAGMENT	0x3fff	/* more fragments, or an offset */
#define ECN_MASK	3	/* both bits set: congestion experienced */

enum parsed {
	PARSED_FOREIGN,
	PARSED_FRAGMENT,
	PARSED_TRUNCATED,
	PARSED_VERSION,
	PARSED_TYPE,
	PARSED_CONTRIB,
	PARSED_RESULT,
	PARSED_CONTROL,
};

struct vlan_tag {
	__be16	tci;
	__be16	proto;
};

/*
 * The part of the frame that can be read in place.  @at never passes @end;
 * in a frame of several fragments it is the first one only.
 */
struct cursor {
	void	*start;
	void	*at;
	void	*end;
};

/* Protocol after the Ethernet header and its tags; 0 if cut short. */
static __always_inline __be16 parse_ethernet(struct cursor *c)
{
	struct ethhdr *eth = c->at;
	__be16 proto;
	int i;

	if (c->at + sizeof(*eth) > c->end)
		return 0;
	proto = eth->h_proto;
	c->at += sizeof(*eth);
#pragma unroll
	for (i = 0; i < VLANS_MAX; i++) {
		struct vlan_tag *tag = c->at;

		if (proto != bpf_htons(ETH_P_8021Q) &&
		    proto != bpf_htons(ETH_P_8021AD))
			break;
		if (c->at + sizeof(*tag) > c->end)
			return 0;
		proto = tag->proto;
		c->at += sizeof(*tag);
	}
	return proto;
}

/* Bytes after the IPv4 header, or 0 with the reason in @why. */
static __always_inline __u32 parse_ipv4(struct cursor *c,
					struct tally_flow *flow,
					enum parsed *why)
{
	struct iphdr *ip = c->at;
	__u32 header, total;

	if (c->at + sizeof(*ip) > c->end)
		return 0;
	header = ip->ihl * 4;
	total = bpf_ntohs(ip->tot_len);
	if (ip->version != 4 || header < sizeof(*ip) || total < header ||
	    ip->protocol != IPPROTO_UDP)
		return 0;
	if (ip->frag_off & bpf_htons(IPV4_FRAGMENT)) {
		*why = PARSED_FRAGMENT;
		return 0;
	}
	if (c->at + header > c->end)
		return 0;
	flow->family = TALLY_FLOW_IPV4;
	flow->ce = (ip->tos & ECN_MASK) == ECN_MASK;
	__builtin_memcpy(flow->saddr, &ip->saddr, 4);
	__builtin_memcpy(flow->daddr, &ip->daddr, 4);
	c->at += header;
	return total - header;
}

static __always_inline __u32 parse_ipv6(struct cursor *c,
					struct tally_flow *flow,
					enum parsed *why)
{
	struct ipv6hdr *ip = c->at;

	if (c->at + sizeof(*ip) > c->end || ip->version != 6)
		return 0;
	if (ip->nexthdr != IPPROTO_UDP) {
		if (ip->nexthdr == IPPROTO_FRAGMENT)
			*why = PARSED_FRAGMENT;
		return 0;
	}
	flow->family = TALLY_FLOW_IPV6;
	flow->ce = (ip->flow_lbl[0] >> 4 & ECN_MASK) == ECN_MASK;
	__builtin_memcpy(flow->saddr, &ip->saddr, 16);
	__builtin_memcpy(flow->daddr, &ip->daddr, 16);
	c->at += sizeof(*ip);
	return bpf_ntohs(ip->payload_len);
}

/* What the first bytes of the tally header say. */
static __always_inline enum parsed parse_tally(struct cursor *c, __u32 length)
{
	__u8 *hdr = c->at;

	if (length < 2 || c->at + 2 > c->end)
		return PARSED_TRUNCATED;
	if (hdr[0] != TALLY_VERSION)
		return PARSED_VERSION;
	switch (hdr[1]) {
	case TALLY_CONTRIB:
		return PARSED_CONTRIB;
	case TALLY_RESULT:
		return PARSED_RESULT;
	case 0:
		return PARSED_TYPE;
	default:
		return hdr[1] < __TALLY_TYPE_END ? PARSED_CONTROL : PARSED_TYPE;
	}
}

/**
 * parse - what a frame is to tally
 * @xdp: the frame
 * @port: tally's UDP port, network byte order
 * @flow: zeroed; complete if the result is CONTRIB, RESULT or CONTROL
 */
static __always_inline enum parsed parse(struct xdp_md *xdp, __be16 port,
					 struct tally_flow *flow)
{
	struct cursor c = {
		.start = (void *)(long)xdp->data,
		.at = (void *)(long)xdp->data,
		.end = (void *)(long)xdp->data_end,
	};
	enum parsed why = PARSED_FOREIGN;
	struct udphdr *udp;
	__u32 bytes, length;

	switch (parse_ethernet(&c)) {
	case bpf_htons(ETH_P_IP):
		bytes = parse_ipv4(&c, flow, &why);
		break;
	case bpf_htons(ETH_P_IPV6):
		bytes = parse_ipv6(&c, flow, &why);
		break;
	default:
		return PARSED_FOREIGN;
	}
	udp = c.at;
	if (bytes < sizeof(*udp) || c.at + sizeof(*udp) > c.end)
		return why;
	length = bpf_ntohs(udp->len);
	if (udp->dest != port || length < sizeof(*udp) || length > bytes)
		return PARSED_FOREIGN;
	c.at += sizeof(*udp);
	flow->sport = udp->source;
	flow->dport = udp->dest;
	flow->length = length - sizeof(*udp);
	flow->offset = c.at - c.start;
	return parse_tally(&c, flow->length);
}

#endif
