// SPDX-License-Identifier: GPL-2.0-only
/* Groups: made, brought up, taken down, removed. */
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "engine/engine.h"
#include "group.h"
#include "host.h"
#include "netns.h"

void tally_settings_init(const struct tally_net *ns, struct tally_settings *set)
{
	memset(set, 0, sizeof(*set));
	set->epoch = 1;
	set->payload = TALLY_GROUP_PAYLOAD;
	set->window = TALLY_GROUP_WINDOW;
	set->max_bytes = TALLY_GROUP_BYTES;
	set->bound_us = TALLY_BOUND_US;
	set->timeout_us = TALLY_TIMEOUT_US;
	set->gid = make_kgid(ns->user_ns, 0);
	if (!gid_valid(set->gid))
		set->gid = GLOBAL_ROOT_GID;
}

int tally_settings_check(const struct tally_settings *set,
			 struct netlink_ext_ack *extack)
{
	if (set->payload < TALLY_PAYLOAD_MIN ||
	    set->payload > TALLY_PAYLOAD_MAX ||
	    set->payload % TALLY_PAYLOAD_ALIGN) {
		NL_SET_ERR_MSG(extack,
			       "payload must be a multiple of 64 from 64 to 8960 bytes");
		return -EINVAL;
	}
	if (set->window < TALLY_GROUP_WINDOW_MIN ||
	    set->window > TALLY_GROUP_WINDOW_MAX ||
	    !is_power_of_2(set->window)) {
		NL_SET_ERR_MSG(extack, "window must be 4, 8, 16, 32 or 64");
		return -EINVAL;
	}
	if (!set->max_bytes || set->max_bytes > TALLY_GROUP_BYTES_MAX) {
		NL_SET_ERR_MSG(extack,
			       "max_bytes must be from 1 to 1073741824");
		return -EINVAL;
	}
	if (!set->bound_us || set->bound_us > set->timeout_us) {
		NL_SET_ERR_MSG(extack,
			       "bound must be from 1 us up to the timeout");
		return -EINVAL;
	}
	if (set->timeout_us > TALLY_TIME_MAX_US) {
		NL_SET_ERR_MSG(extack,
			       "timeout must be at most 2146435072 us");
		return -EINVAL;
	}
	if (set->settle_us >= set->timeout_us) {
		NL_SET_ERR_MSG(extack, "settle must be below the timeout");
		return -EINVAL;
	}
	return 0;
}

struct tally_group *tally_group_create(struct tally_net *ns, u16 id,
				       const struct tally_settings *set)
{
	struct tally_group *group;
	int err;

	lockdep_assert_held(&ns->mutex);
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	group->id = id;
	group->set = *set;
	err = tally_stats_init(&group->stats);
	if (err)
		goto err_group;
	err = xa_insert(&ns->groups, id, group, GFP_KERNEL_ACCOUNT);
	if (err)
		goto err_stats;
	WRITE_ONCE(ns->n_groups, ns->n_groups + 1);
	return group;

err_stats:
	tally_stats_free(&group->stats);
err_group:
	kfree(group);
	return ERR_PTR(err == -EBUSY ? -EEXIST : err);
}

struct tally_group *tally_group_find(struct tally_net *ns, u16 id)
{
	lockdep_assert_held(&ns->mutex);
	return xa_load(&ns->groups, id);
}

void tally_group_set(struct tally_group *group,
		     const struct tally_settings *set)
{
	group->set = *set;
	if (!group->host)
		return;
	WRITE_ONCE(group->host->gid, set->gid);
	WRITE_ONCE(group->host->bound_us, set->bound_us);
	WRITE_ONCE(group->host->timeout_us, set->timeout_us);
	tally_engine_limits(group->host->engine, set->timeout_us,
			    set->settle_us);
}

/* The group is down. */
static void group_free(struct tally_net *ns, struct tally_group *group)
{
	xa_erase(&ns->groups, group->id);
	WRITE_ONCE(ns->n_groups, ns->n_groups - 1);
	tally_stats_free(&group->stats);
	kfree_sensitive(group);
}

void tally_group_delete(struct tally_net *ns, struct tally_group *group)
{
	tally_group_down(ns, group);
	group_free(ns, group);
}

/* No route now may become a route later; a path too narrow must be told. */
static int check_path(struct tally_net *ns, const struct tally_group *group,
		      u32 self, u32 rank, struct netlink_ext_ack *extack)
{
	const struct tally_address *to = &group->address[rank];
	u32 overhead, fits;
	int mtu;

	mtu = tally_address_mtu(ns->net, &group->address[self], to);
	if (mtu < 0) {
		NL_SET_ERR_MSG_FMT(extack,
				   "no route to rank %u yet; it is up, but sends nothing there",
				   rank);
		return 0;
	}
	overhead = tally_address_overhead(to) + sizeof(struct tally_hdr);
	if (group->set.payload + overhead <= mtu)
		return 0;
	fits = mtu > overhead ?
	       round_down(mtu - overhead, TALLY_PAYLOAD_ALIGN) : 0;
	NL_SET_ERR_MSG_FMT(extack,
			   "MTU to rank %u is %d, needs %u: set payload to %u or raise it",
			   rank, mtu, group->set.payload + overhead, fits);
	return -EMSGSIZE;
}

/*
 * The member that this host is: its address is local.  Where several are, the
 * one with the usual port is the module's: others belong to processes.
 */
static int find_self(struct tally_net *ns, const struct tally_group *group,
		     struct netlink_ext_ack *extack)
{
	bool clash = false, usual;
	int self = -1;
	u32 rank;

	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		const struct tally_address *a = &group->address[rank], *b;

		if (!(group->members >> rank & 1) ||
		    !tally_address_is_local(ns->net, a))
			continue;
		b = self < 0 ? NULL : &group->address[self];
		if (b && tally_address_same(a, b))
			continue;
		usual = a->port == htons(TALLY_PORT);
		if (!b || (usual && b->port != htons(TALLY_PORT))) {
			self = rank;
			clash = false;
		} else if (usual || b->port != htons(TALLY_PORT)) {
			clash = true;
		}
	}
	if (self < 0) {
		NL_SET_ERR_MSG(extack,
			       "no member's address is local: add one of this host's addresses");
		return -EADDRNOTAVAIL;
	}
	if (clash) {
		NL_SET_ERR_MSG(extack,
			       "members with different addresses are local: give them one address");
		return -EADDRINUSE;
	}
	return self;
}

static int check_members(const struct tally_group *group,
			 struct netlink_ext_ack *extack)
{
	u16 family = 0;
	u32 rank;

	if (!group->members) {
		NL_SET_ERR_MSG(extack, "the group has no members: add some");
		return -EINVAL;
	}
	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		if (!(group->members >> rank & 1))
			continue;
		if (family && family != group->address[rank].family) {
			NL_SET_ERR_MSG_FMT(extack,
					   "rank %u: IPv4 and IPv6 in one group: use one of them",
					   rank);
			return -EINVAL;
		}
		family = group->address[rank].family;
	}
	return 0;
}

/* Number the nodes in the order of their first ranks. */
static void number_nodes(const struct tally_group *group,
			 struct tally_engine_config *config)
{
	u32 rank, other;

	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		config->node[rank] = TALLY_NODE_NONE;
		if (!(group->members >> rank & 1))
			continue;
		for (other = 0; other < rank; other++) {
			if (group->members >> other & 1 &&
			    tally_address_same(&group->address[rank],
					       &group->address[other]))
				break;
		}
		config->node[rank] = other < rank ? config->node[other] :
						    config->nodes++;
	}
}

static void configure(const struct tally_group *group, u32 self,
		      struct tally_engine_config *config)
{
	u32 chunks = DIV_ROUND_UP(group->set.max_bytes, group->set.payload);

	memset(config, 0, sizeof(*config));
	config->group = group->id;
	config->epoch = group->set.epoch;
	config->members = group->members;
	config->window = group->set.window;
	config->cell_words = group->set.payload / 8;
	config->shard_chunks = DIV_ROUND_UP(chunks,
					    tally_mask_count(group->members));
	config->bound_us = group->set.bound_us;
	config->bound_max_us = group->set.timeout_us;
	config->settle_us = group->set.settle_us;
	config->timeout_us = group->set.timeout_us;
	memcpy(config->caps, group->caps, sizeof(config->caps));
	config->key = group->set.keyed ? group->set.key : NULL;
	number_nodes(group, config);
	config->self = config->node[self];
}

/* Why a host could not be made, in words. */
static int explain(const struct tally_net *ns, const struct tally_group *group,
		   u64 bytes, int err, u32 self, struct netlink_ext_ack *extack)
{
	switch (err) {
	case -ENOBUFS:
		NL_SET_ERR_MSG_FMT(extack,
				   "needs %llu MiB: raise net.tally.mem_max or lower max_bytes, window",
				   DIV_ROUND_UP_ULL(bytes, 1 << 20));
		break;
	case -ENOMEM:
		NL_SET_ERR_MSG_FMT(extack,
				   "no memory for %llu MiB: lower max_bytes or window",
				   DIV_ROUND_UP_ULL(bytes, 1 << 20));
		break;
	case -EADDRINUSE:
		NL_SET_ERR_MSG_FMT(extack,
				   "UDP port %u is in use here: stop who has it, see 'ss -lnup'",
				   ntohs(group->address[self].port));
		break;
	default:
		NL_SET_ERR_MSG_FMT(extack, "cannot open UDP sockets: error %d",
				   err);
	}
	return err;
}

int tally_group_up(struct tally_net *ns, struct tally_group *group,
		   struct netlink_ext_ack *extack)
{
	struct tally_host_config *config;
	struct tally_host *host;
	int err, self;
	u32 rank;

	lockdep_assert_held(&ns->mutex);
	err = check_members(group, extack);
	if (err)
		return err;
	self = find_self(ns, group, extack);
	if (self < 0)
		return self;
	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		if (!(group->members >> rank & 1))
			continue;
		err = check_path(ns, group, self, rank, extack);
		if (err)
			return err;
	}
	config = kzalloc(sizeof(*config), GFP_KERNEL);
	if (!config)
		return -ENOMEM;
	config->ns = ns;
	config->stats = &group->stats;
	config->self = group->address[self];
	config->member = group->address;
	config->gid = group->set.gid;
	configure(group, self, &config->engine);
	host = tally_host_create(config);
	if (IS_ERR(host)) {
		err = explain(ns, group, tally_engine_bytes(&config->engine),
			      PTR_ERR(host), self, extack);
		goto out;
	}
	group->host = host;
	err = xa_err(xa_store(&ns->hosts, group->id, host, GFP_KERNEL_ACCOUNT));
	if (err)
		tally_group_down(ns, group);
out:
	kfree(config);
	return err;
}

void tally_group_down(struct tally_net *ns, struct tally_group *group)
{
	struct tally_host *host = group->host;

	lockdep_assert_held(&ns->mutex);
	if (!host)
		return;
	group->host = NULL;
	/*
	 * No packet finds it any more when the files are told: one that is
	 * closed then frees result cells after a grace period of its own.
	 */
	xa_erase(&ns->hosts, group->id);
	tally_host_kill(host);
	synchronize_net();
	tally_host_stop(host);
	tally_host_put(host);
}

void tally_group_kill_all(struct tally_net *ns)
{
	struct tally_group *group;
	unsigned long id;

	lockdep_assert_held(&ns->mutex);
	xa_for_each(&ns->groups, id, group) {
		if (!group->host)
			continue;
		xa_erase(&ns->hosts, id);
		tally_host_kill(group->host);
	}
}

void tally_group_free_all(struct tally_net *ns)
{
	struct tally_group *group;
	unsigned long id;

	lockdep_assert_held(&ns->mutex);
	xa_for_each(&ns->groups, id, group) {
		if (group->host) {
			tally_host_stop(group->host);
			tally_host_put(group->host);
			group->host = NULL;
		}
		group_free(ns, group);
	}
}
