/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * What an XDP program tells the module of a packet that it parsed.
 *
 * kfuncs, each returning an XDP action:
 *
 *   int tally_contribute(struct xdp_md *xdp, const struct tally_flow *flow,
 *			  __u32 flow__sz);
 *   int tally_result(struct xdp_md *xdp, const struct tally_flow *flow,
 *		      __u32 flow__sz);
 *   int tally_control(struct xdp_md *xdp, const struct tally_flow *flow,
 *		       __u32 flow__sz);
 *
 * XDP_DROP: the module took the packet, or refused and counted it.
 * XDP_PASS: not for tally, or the socket path should have it.
 */
#ifndef _TALLY_FLOW_H
#define _TALLY_FLOW_H

#include <linux/types.h>

#define TALLY_FLOW_IPV4		4
#define TALLY_FLOW_IPV6		6

/**
 * struct tally_flow - one UDP packet's addresses, network byte order
 * @saddr: source; an IPv4 address fills the first four bytes, the rest is 0
 * @daddr: destination, likewise
 * @sport: source port
 * @dport: destination port
 * @offset: of the tally header from the start of the frame, bytes
 * @length: UDP payload by the UDP header, bytes; not checked against the frame
 * @family: TALLY_FLOW_IPV4 or TALLY_FLOW_IPV6
 * @ce: non-zero if the IP header says congestion experienced
 * @__reserved: zero
 */
struct tally_flow {
	__u8	saddr[16];
	__u8	daddr[16];
	__be16	sport;
	__be16	dport;
	__u16	offset;
	__u16	length;
	__u8	family;
	__u8	ce;
	__u8	__reserved[6];
};

_Static_assert(sizeof(struct tally_flow) == 48, "programs and module share it");

#endif
