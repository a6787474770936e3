/* SPDX-License-Identifier: GPL-2.0-only */
/* UDP ports where packets arrive that no XDP program took. */
#ifndef _TALLY_TRANSPORT_H
#define _TALLY_TRANSPORT_H

#include <linux/list.h>
#include <linux/types.h>

struct socket;
struct tally_address;
struct tally_net;

/**
 * struct tally_port - one UDP port of one family, shared by groups
 * @list: in &struct tally_net.ports; under its mutex, as is all here
 * @sock: bound to any address
 * @port: number
 * @family: AF_INET or AF_INET6
 * @users: groups that are up
 */
struct tally_port {
	struct list_head	list;
	struct socket		*sock;
	__be16			port;
	u16			family;
	u32			users;
};

/* The namespace's mutex is held.  ERR_PTR(-EADDRINUSE) and others. */
struct tally_port *tally_port_open(struct tally_net *ns,
				   const struct tally_address *address);
void tally_port_close(struct tally_port *port);

#endif
