/* SPDX-License-Identifier: GPL-2.0-only */
/* What tally knows of a network namespace. */
#ifndef _TALLY_NETNS_H
#define _TALLY_NETNS_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include "stats.h"

struct ctl_table;
struct ctl_table_header;
struct net;
struct user_namespace;

/**
 * struct tally_net - a network namespace's groups
 * @refs: the namespace itself and each open file; outlives the namespace
 * @net: the namespace, NULL once it is going; under @mutex
 * @user_ns: whose CAP_NET_ADMIN counts
 * @dead: the namespace is going; set once, under @mutex
 * @mutex: configuration: @groups, their members, up and down, @ports
 * @groups: struct tally_group by id
 * @n_groups: how many; written under @mutex
 * @hosts: struct tally_host by id, of groups that are up; readers under RCU
 * @ports: struct tally_port: UDP ports where packets are received
 * @stats: packets that belong to no group
 * @bytes: memory of groups and cells
 * @bytes_max: the most that @bytes may be, net.tally.mem_max
 * @sysctl: registration of that, with its @table
 */
struct tally_net {
	refcount_t		refs;
	struct net		*net;
	struct user_namespace	*user_ns;
	bool			dead;
	struct mutex		mutex;	/* configuration */
	struct xarray		groups;
	u32			n_groups;
	struct xarray		hosts;
	struct list_head	ports;
	struct tally_stats	stats;
	atomic64_t		bytes;
	unsigned long		bytes_max;
	struct ctl_table_header	*sysctl;
	struct ctl_table	*table;
	struct rcu_head		rcu;
};

/* NULL once the namespace is going.  Under RCU. */
struct tally_net *tally_net_of(const struct net *net);
/* With a reference, or NULL. */
struct tally_net *tally_net_find(const struct net *net);
void tally_net_put(struct tally_net *ns);

/* -ENOBUFS beyond the namespace's limit. */
int tally_net_charge(struct tally_net *ns, u64 bytes);
void tally_net_uncharge(struct tally_net *ns, u64 bytes);

int tally_net_init(void);
void tally_net_exit(void);

#endif
