/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/* Routes and devices of this network namespace. */
#ifndef TALLY_CLI_NET_H
#define TALLY_CLI_NET_H

#include "cli.h"
#include "units.h"

#include <net/if.h>

/**
 * struct route - how packets get to an address
 * @local: the address is of this namespace
 * @ifindex: device
 * @dev: its name
 * @mtu: of the route, at most that of the device
 * @dev_mtu: of the device
 */
struct route {
	bool		local;
	uint32_t	ifindex;
	char		dev[IF_NAMESIZE];
	uint32_t	mtu;
	uint32_t	dev_mtu;
};

/* XDP programs on a device; bits of struct link. */
#define LINK_XDP_GENERIC	(1u << 0)
#define LINK_XDP_NATIVE		(1u << 1)
#define LINK_XDP_OFFLOAD	(1u << 2)

/* What a driver can do, as the kernel's netdev family says. */
#define XDP_CAN_BASIC		(1u << 0)	/* native XDP */
#define XDP_CAN_FRAGS		(1u << 5)	/* packets beyond one page */

/**
 * struct link - a device
 * @ifindex: its number
 * @name: its name
 * @mtu: bytes
 * @up: switched on
 * @running: has a carrier
 * @loopback: is the loopback
 * @xdp: LINK_XDP_*: where programs are attached
 * @xdp_prog: number of the program, if there is just one
 * @can_known: the kernel told what follows
 * @can: XDP_CAN_*
 */
struct link {
	uint32_t	ifindex;
	char		name[IF_NAMESIZE];
	uint32_t	mtu;
	bool		up;
	bool		running;
	bool		loopback;
	uint32_t	xdp;
	uint32_t	xdp_prog;
	bool		can_known;
	uint64_t	can;
};

/**
 * struct net - a way to ask
 * @route: find the way to @dst.  Return: 0; -errno: there is none
 * @links: all devices, to be freed.  Return: 0 or -errno
 * @close: and free
 */
struct net {
	int	(*route)(struct net *net, const struct addr *dst,
			 struct route *route);
	int	(*links)(struct net *net, struct link **links, size_t *nr);
	void	(*close)(struct net *net);
};

/* The opener of the real one. */
int net_open(struct cli *cli);
void net_close(struct cli *cli);

/* Open cli->net unless it is.  Return: CLI_OK, CLI_ERROR. */
int net_need(struct cli *cli);

#endif
