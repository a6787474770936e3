/* SPDX-License-Identifier: GPL-2.0-only */
/* Configuration over generic netlink, family "tally"; see tally.yaml. */
#ifndef _TALLY_NETLINK_H
#define _TALLY_NETLINK_H

#include <linux/types.h>

struct tally_net;

/*
 * Tell who listens that something happened.  The namespace is not dead: the
 * caller holds its mutex, or that of a host that is alive.
 */
void tally_netlink_event(struct tally_net *ns, u16 group, u32 kind, u32 rank,
			 u32 seq, u64 mask);

int tally_netlink_init(void);
void tally_netlink_exit(void);

#endif
