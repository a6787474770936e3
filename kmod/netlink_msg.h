/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages of the family "tally". */
#ifndef _TALLY_NETLINK_MSG_H
#define _TALLY_NETLINK_MSG_H

#include <linux/types.h>

struct genl_family;
struct sk_buff;
struct tally_group;
struct tally_net;

/* One message: a group with 64 members is the longest. */
#define TALLY_MSG_MAX	8192

extern struct genl_family tally_genl_family;

/* 0 or -EMSGSIZE; the namespace's mutex is held. */
int tally_msg_group(struct sk_buff *msg, struct tally_net *ns,
		    struct tally_group *group, u32 portid, u32 seq, int flags);
/* @group is NULL for packets of no group. */
int tally_msg_stats(struct sk_buff *msg, struct tally_net *ns,
		    struct tally_group *group, u32 portid, u32 seq, int flags);
/* Whether events are sent. */
void tally_msg_events(bool on);

#endif
