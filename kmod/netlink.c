// SPDX-License-Identifier: GPL-2.0-only
/* Commands of the family: each under its namespace's mutex. */
#include <linux/err.h>
#include <linux/module.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "engine/engine.h"
#include "group.h"
#include "host.h"
#include "netlink.h"
#include "netlink_msg.h"
#include "netns.h"

static const struct nla_policy group_policy[TALLY_A_GROUP_MAX + 1] = {
	[TALLY_A_GROUP_ID]		= NLA_POLICY_MIN(NLA_U16, 1),
	[TALLY_A_GROUP_NAME]		= { .type = NLA_NUL_STRING,
					    .len = TALLY_GROUP_NAME - 1 },
	[TALLY_A_GROUP_EPOCH]		= { .type = NLA_U32 },
	[TALLY_A_GROUP_PAYLOAD]		= { .type = NLA_U32 },
	[TALLY_A_GROUP_WINDOW]		= { .type = NLA_U32 },
	[TALLY_A_GROUP_MAX_BYTES]	= { .type = NLA_U32 },
	[TALLY_A_GROUP_BOUND_US]	= { .type = NLA_U32 },
	[TALLY_A_GROUP_SETTLE_US]	= { .type = NLA_U32 },
	[TALLY_A_GROUP_TIMEOUT_US]	= { .type = NLA_U32 },
	[TALLY_A_GROUP_QUORUM]		= { .type = NLA_U32 },
	[TALLY_A_GROUP_GID]		= { .type = NLA_U32 },
	[TALLY_A_GROUP_KEY]		= NLA_POLICY_EXACT_LEN(TALLY_KEY_BYTES),
};

static const struct nla_policy id_policy[TALLY_A_GROUP_ID + 1] = {
	[TALLY_A_GROUP_ID]		= NLA_POLICY_MIN(NLA_U16, 1),
};

static const struct nla_policy member_policy[TALLY_A_MEMBER_CAP + 1] = {
	[TALLY_A_MEMBER_RANK]		= NLA_POLICY_MAX(NLA_U32,
							 TALLY_RANKS_MAX - 1),
	[TALLY_A_MEMBER_ADDR4]		= NLA_POLICY_EXACT_LEN(4),
	[TALLY_A_MEMBER_ADDR6]		= NLA_POLICY_EXACT_LEN(16),
	[TALLY_A_MEMBER_PORT]		= NLA_POLICY_MIN(NLA_U16, 1),
	[TALLY_A_MEMBER_CAP]		= NLA_POLICY_MAX(NLA_U32,
							 TALLY_GROUP_CAP_MAX),
};

static const struct nla_policy set_policy[TALLY_A_GROUP + 1] = {
	[TALLY_A_GROUP]			= NLA_POLICY_NESTED(group_policy),
};

static const struct nla_policy by_id_policy[TALLY_A_GROUP + 1] = {
	[TALLY_A_GROUP]			= NLA_POLICY_NESTED(id_policy),
};

static const struct nla_policy by_rank_policy[TALLY_A_MEMBER + 1] = {
	[TALLY_A_GROUP]			= NLA_POLICY_NESTED(id_policy),
	[TALLY_A_MEMBER]		= NLA_POLICY_NESTED(member_policy),
};

/* The namespace with its mutex held, or ERR_PTR(). */
static struct tally_net *lock_net(const struct net *net)
{
	struct tally_net *ns = tally_net_find(net);

	if (!ns)
		return ERR_PTR(-ENODEV);
	mutex_lock(&ns->mutex);
	if (!ns->dead)
		return ns;
	mutex_unlock(&ns->mutex);
	tally_net_put(ns);
	return ERR_PTR(-ENODEV);
}

static void unlock_net(struct tally_net *ns)
{
	mutex_unlock(&ns->mutex);
	tally_net_put(ns);
}

/* Take the nest apart; the policies were applied already. */
static int group_attrs(struct genl_info *info, struct nlattr **tb)
{
	int err;

	if (GENL_REQ_ATTR_CHECK(info, TALLY_A_GROUP))
		return -EINVAL;
	err = nla_parse_nested(tb, TALLY_A_GROUP_MAX,
			       info->attrs[TALLY_A_GROUP], group_policy,
			       info->extack);
	if (err)
		return err;
	if (NL_REQ_ATTR_CHECK(info->extack, info->attrs[TALLY_A_GROUP], tb,
			      TALLY_A_GROUP_ID)) {
		NL_SET_ERR_MSG(info->extack, "the group's id is needed");
		return -EINVAL;
	}
	return 0;
}

static struct tally_group *find_group(struct tally_net *ns,
				      struct genl_info *info)
{
	struct nlattr *tb[TALLY_A_GROUP_MAX + 1];
	struct tally_group *group;
	int err;

	err = group_attrs(info, tb);
	if (err)
		return ERR_PTR(err);
	group = tally_group_find(ns, nla_get_u16(tb[TALLY_A_GROUP_ID]));
	if (group)
		return group;
	NL_SET_ERR_MSG_FMT(info->extack, "no group %u here: add it first",
			   nla_get_u16(tb[TALLY_A_GROUP_ID]));
	return ERR_PTR(-ENOENT);
}

static int need_down(const struct tally_group *group, struct genl_info *info,
		     const struct nlattr *attr)
{
	if (!group->host)
		return 0;
	NL_SET_ERR_MSG_ATTR_FMT(info->extack, attr,
				"group %u is up: take it down to change this",
				group->id);
	return -EBUSY;
}

static void get_u32(u32 *to, const struct nlattr *attr)
{
	if (attr)
		*to = nla_get_u32(attr);
}

static int get_settings(struct tally_settings *set, struct nlattr **tb,
			struct genl_info *info)
{
	if (tb[TALLY_A_GROUP_QUORUM]) {
		NL_SET_ERR_MSG_ATTR(info->extack, tb[TALLY_A_GROUP_QUORUM],
				    "this kernel closes by the bound only: leave quorum out");
		return -EOPNOTSUPP;
	}
	if (tb[TALLY_A_GROUP_NAME])
		nla_strscpy(set->name, tb[TALLY_A_GROUP_NAME],
			    sizeof(set->name));
	get_u32(&set->epoch, tb[TALLY_A_GROUP_EPOCH]);
	get_u32(&set->payload, tb[TALLY_A_GROUP_PAYLOAD]);
	get_u32(&set->window, tb[TALLY_A_GROUP_WINDOW]);
	get_u32(&set->max_bytes, tb[TALLY_A_GROUP_MAX_BYTES]);
	get_u32(&set->bound_us, tb[TALLY_A_GROUP_BOUND_US]);
	get_u32(&set->settle_us, tb[TALLY_A_GROUP_SETTLE_US]);
	get_u32(&set->timeout_us, tb[TALLY_A_GROUP_TIMEOUT_US]);
	if (tb[TALLY_A_GROUP_GID]) {
		set->gid = make_kgid(current_user_ns(),
				     nla_get_u32(tb[TALLY_A_GROUP_GID]));
		if (!gid_valid(set->gid)) {
			NL_SET_ERR_MSG_ATTR(info->extack,
					    tb[TALLY_A_GROUP_GID],
					    "this user namespace has no such gid");
			return -EINVAL;
		}
	}
	if (tb[TALLY_A_GROUP_KEY]) {
		nla_memcpy(set->key, tb[TALLY_A_GROUP_KEY], sizeof(set->key));
		set->keyed = true;
	}
	return tally_settings_check(set, info->extack);
}

static int group_new(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *tb[TALLY_A_GROUP_MAX + 1];
	struct tally_settings set;
	struct tally_group *group;
	struct tally_net *ns;
	int err;

	err = group_attrs(info, tb);
	if (err)
		return err;
	ns = lock_net(genl_info_net(info));
	if (IS_ERR(ns))
		return PTR_ERR(ns);
	tally_settings_init(ns, &set);
	err = get_settings(&set, tb, info);
	if (!err) {
		group = tally_group_create(ns,
					   nla_get_u16(tb[TALLY_A_GROUP_ID]),
					   &set);
		err = PTR_ERR_OR_ZERO(group);
		if (err == -EEXIST)
			NL_SET_ERR_MSG(info->extack,
				       "there is a group with this id: set it, or delete it first");
	}
	unlock_net(ns);
	memzero_explicit(&set, sizeof(set));
	return err;
}

/* What packets on their way depend on stays while the group is up. */
static int check_while_up(const struct tally_group *group,
			  struct nlattr **tb, struct genl_info *info)
{
	u32 i;

	for (i = 1; i <= TALLY_A_GROUP_MAX; i++) {
		int err;

		if (!tb[i] || i == TALLY_A_GROUP_ID ||
		    i == TALLY_A_GROUP_NAME || i == TALLY_A_GROUP_BOUND_US ||
		    i == TALLY_A_GROUP_SETTLE_US ||
		    i == TALLY_A_GROUP_TIMEOUT_US || i == TALLY_A_GROUP_GID)
			continue;
		err = need_down(group, info, tb[i]);
		if (err)
			return err;
	}
	return 0;
}

static int group_set(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *tb[TALLY_A_GROUP_MAX + 1];
	struct tally_settings set;
	struct tally_group *group;
	struct tally_net *ns;
	int err;

	err = group_attrs(info, tb);
	if (err)
		return err;
	ns = lock_net(genl_info_net(info));
	if (IS_ERR(ns))
		return PTR_ERR(ns);
	group = find_group(ns, info);
	err = PTR_ERR_OR_ZERO(group);
	if (err)
		goto out;
	set = group->set;
	err = check_while_up(group, tb, info);
	if (!err)
		err = get_settings(&set, tb, info);
	if (!err)
		tally_group_set(group, &set);
	memzero_explicit(&set, sizeof(set));
out:
	unlock_net(ns);
	return err;
}

static int group_del(struct sk_buff *skb, struct genl_info *info)
{
	struct tally_net *ns = lock_net(genl_info_net(info));
	struct tally_group *group;
	int err;

	if (IS_ERR(ns))
		return PTR_ERR(ns);
	group = find_group(ns, info);
	err = PTR_ERR_OR_ZERO(group);
	if (!err) {
		if (group->host)
			tally_netlink_event(ns, group->id, TALLY_EVENT_DOWN,
					    0, 0, group->members);
		tally_group_delete(ns, group);
	}
	unlock_net(ns);
	return err;
}

static int group_up(struct sk_buff *skb, struct genl_info *info)
{
	struct tally_net *ns = lock_net(genl_info_net(info));
	struct tally_group *group;
	int err;

	if (IS_ERR(ns))
		return PTR_ERR(ns);
	group = find_group(ns, info);
	err = PTR_ERR_OR_ZERO(group);
	if (!err && !group->host) {
		err = tally_group_up(ns, group, info->extack);
		if (!err)
			tally_netlink_event(ns, group->id, TALLY_EVENT_UP, 0,
					    0, group->members);
	}
	unlock_net(ns);
	return err;
}

static int group_down(struct sk_buff *skb, struct genl_info *info)
{
	struct tally_net *ns = lock_net(genl_info_net(info));
	struct tally_group *group;
	int err;

	if (IS_ERR(ns))
		return PTR_ERR(ns);
	group = find_group(ns, info);
	err = PTR_ERR_OR_ZERO(group);
	if (!err && group->host) {
		tally_group_down(ns, group);
		tally_netlink_event(ns, group->id, TALLY_EVENT_DOWN, 0, 0,
				    group->members);
	}
	unlock_net(ns);
	return err;
}

static int get_address(struct tally_address *to, struct nlattr **tb,
		       struct genl_info *info)
{
	struct nlattr *a4 = tb[TALLY_A_MEMBER_ADDR4];
	struct nlattr *a6 = tb[TALLY_A_MEMBER_ADDR6];

	if (!a4 == !a6) {
		NL_SET_ERR_MSG(info->extack,
			       "a member has one address: IPv4 or IPv6");
		return -EINVAL;
	}
	memset(to, 0, sizeof(*to));
	to->family = a4 ? AF_INET : AF_INET6;
	nla_memcpy(to->ip, a4 ? a4 : a6, sizeof(to->ip));
	to->port = htons(tb[TALLY_A_MEMBER_PORT] ?
			 nla_get_u16(tb[TALLY_A_MEMBER_PORT]) : TALLY_PORT);
	if (tally_address_valid(to))
		return 0;
	NL_SET_ERR_MSG_ATTR(info->extack, a4 ? a4 : a6,
			    "a member needs a unicast address that is not link-local");
	return -EINVAL;
}

static int member_attrs(struct genl_info *info, struct nlattr **tb)
{
	int err;

	if (GENL_REQ_ATTR_CHECK(info, TALLY_A_MEMBER))
		return -EINVAL;
	err = nla_parse_nested(tb, TALLY_A_MEMBER_CAP,
			       info->attrs[TALLY_A_MEMBER], member_policy,
			       info->extack);
	if (err)
		return err;
	if (NL_REQ_ATTR_CHECK(info->extack, info->attrs[TALLY_A_MEMBER], tb,
			      TALLY_A_MEMBER_RANK)) {
		NL_SET_ERR_MSG(info->extack, "the member's rank is needed");
		return -EINVAL;
	}
	return 0;
}

static int member_new_locked(struct tally_net *ns, struct genl_info *info,
			     struct nlattr **tb)
{
	struct tally_group *group = find_group(ns, info);
	u32 rank = nla_get_u32(tb[TALLY_A_MEMBER_RANK]);
	struct tally_address address;
	int err;

	if (IS_ERR(group))
		return PTR_ERR(group);
	err = need_down(group, info, info->attrs[TALLY_A_MEMBER]);
	if (!err)
		err = get_address(&address, tb, info);
	if (err)
		return err;
	if (group->members >> rank & 1) {
		NL_SET_ERR_MSG_FMT(info->extack,
				   "group %u has a member %u: delete it first",
				   group->id, rank);
		return -EEXIST;
	}
	group->address[rank] = address;
	group->caps[rank] = tb[TALLY_A_MEMBER_CAP] ?
			    nla_get_u32(tb[TALLY_A_MEMBER_CAP]) : 0;
	group->members |= BIT_ULL(rank);
	return 0;
}

static int member_new(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *tb[TALLY_A_MEMBER_CAP + 1];
	struct tally_net *ns;
	int err;

	err = member_attrs(info, tb);
	if (err)
		return err;
	ns = lock_net(genl_info_net(info));
	if (IS_ERR(ns))
		return PTR_ERR(ns);
	err = member_new_locked(ns, info, tb);
	unlock_net(ns);
	return err;
}

static int member_del_locked(struct tally_net *ns, struct genl_info *info,
			     u32 rank)
{
	struct tally_group *group = find_group(ns, info);
	int err;

	if (IS_ERR(group))
		return PTR_ERR(group);
	err = need_down(group, info, info->attrs[TALLY_A_MEMBER]);
	if (err)
		return err;
	if (!(group->members >> rank & 1)) {
		NL_SET_ERR_MSG_FMT(info->extack, "group %u has no member %u",
				   group->id, rank);
		return -ENOENT;
	}
	group->members &= ~BIT_ULL(rank);
	group->caps[rank] = 0;
	return 0;
}

static int member_del(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *tb[TALLY_A_MEMBER_CAP + 1];
	struct tally_net *ns;
	int err;

	err = member_attrs(info, tb);
	if (err)
		return err;
	ns = lock_net(genl_info_net(info));
	if (IS_ERR(ns))
		return PTR_ERR(ns);
	err = member_del_locked(ns, info,
				nla_get_u32(tb[TALLY_A_MEMBER_RANK]));
	unlock_net(ns);
	return err;
}

/* One group, or its counters: @fill writes the message. */
static int get_one(struct genl_info *info,
		   int (*fill)(struct sk_buff *msg, struct tally_net *ns,
			       struct tally_group *group, u32 portid, u32 seq,
			       int flags))
{
	struct tally_net *ns = lock_net(genl_info_net(info));
	struct tally_group *group;
	struct sk_buff *msg = NULL;
	int err;

	if (IS_ERR(ns))
		return PTR_ERR(ns);
	group = find_group(ns, info);
	err = PTR_ERR_OR_ZERO(group);
	if (!err) {
		msg = genlmsg_new(TALLY_MSG_MAX, GFP_KERNEL);
		err = msg ? fill(msg, ns, group, info->snd_portid,
				 info->snd_seq, 0) : -ENOMEM;
	}
	unlock_net(ns);
	if (err) {
		nlmsg_free(msg);
		return err;
	}
	return genlmsg_reply(msg, info);
}

static int group_get(struct sk_buff *skb, struct genl_info *info)
{
	return get_one(info, tally_msg_group);
}

static int stats_get(struct sk_buff *skb, struct genl_info *info)
{
	return get_one(info, tally_msg_stats);
}

/* A group with many members does not fit the usual first message. */
static int dump_start(struct netlink_callback *cb)
{
	cb->min_dump_alloc = TALLY_MSG_MAX;
	return 0;
}

/* args[0]: the next id; 0: what belongs to no group. */
static int group_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tally_net *ns = lock_net(sock_net(skb->sk));
	struct tally_group *group;
	unsigned long id;
	int err = 0;

	if (IS_ERR(ns))
		return PTR_ERR(ns);
	xa_for_each_start(&ns->groups, id, group, cb->args[0]) {
		err = tally_msg_group(skb, ns, group,
				      NETLINK_CB(cb->skb).portid,
				      cb->nlh->nlmsg_seq, NLM_F_MULTI);
		if (err)
			break;
		cb->args[0] = id + 1;
	}
	unlock_net(ns);
	return err == -EMSGSIZE && skb->len ? skb->len : err;
}

static int stats_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tally_net *ns = lock_net(sock_net(skb->sk));
	struct tally_group *group = NULL;
	u32 portid = NETLINK_CB(cb->skb).portid, seq = cb->nlh->nlmsg_seq;
	unsigned long id = 0;
	int err = 0;

	if (IS_ERR(ns))
		return PTR_ERR(ns);
	if (!cb->args[0]) {
		err = tally_msg_stats(skb, ns, NULL, portid, seq, NLM_F_MULTI);
		if (err)
			goto out;
		cb->args[0] = 1;
	}
	xa_for_each_start(&ns->groups, id, group, cb->args[0]) {
		err = tally_msg_stats(skb, ns, group, portid, seq,
				      NLM_F_MULTI);
		if (err)
			break;
		cb->args[0] = id + 1;
	}
out:
	unlock_net(ns);
	return err == -EMSGSIZE && skb->len ? skb->len : err;
}

#define DO(command, handler, what, attrs, perm)				\
	{								\
		.cmd = TALLY_CMD_##command,				\
		.doit = (handler),					\
		.policy = (what),					\
		.maxattr = (attrs),					\
		.flags = GENL_CMD_CAP_DO | (perm),			\
	}

#define DUMP(command, handler)						\
	{								\
		.cmd = TALLY_CMD_##command,				\
		.start = dump_start,					\
		.dumpit = (handler),					\
		.flags = GENL_CMD_CAP_DUMP,				\
	}

static const struct genl_split_ops ops[] = {
	DO(GROUP_NEW, group_new, set_policy, TALLY_A_GROUP,
	   GENL_UNS_ADMIN_PERM),
	DO(GROUP_SET, group_set, set_policy, TALLY_A_GROUP,
	   GENL_UNS_ADMIN_PERM),
	DO(GROUP_DEL, group_del, by_id_policy, TALLY_A_GROUP,
	   GENL_UNS_ADMIN_PERM),
	DO(GROUP_GET, group_get, by_id_policy, TALLY_A_GROUP, 0),
	DUMP(GROUP_GET, group_dump),
	DO(GROUP_UP, group_up, by_id_policy, TALLY_A_GROUP,
	   GENL_UNS_ADMIN_PERM),
	DO(GROUP_DOWN, group_down, by_id_policy, TALLY_A_GROUP,
	   GENL_UNS_ADMIN_PERM),
	DO(MEMBER_NEW, member_new, by_rank_policy, TALLY_A_MEMBER,
	   GENL_UNS_ADMIN_PERM),
	DO(MEMBER_DEL, member_del, by_rank_policy, TALLY_A_MEMBER,
	   GENL_UNS_ADMIN_PERM),
	DO(STATS_GET, stats_get, by_id_policy, TALLY_A_GROUP, 0),
	DUMP(STATS_GET, stats_dump),
};

static const struct genl_multicast_group mcgrps[] = {
	{ .name = TALLY_GENL_MCGRP },
};

struct genl_family tally_genl_family __ro_after_init = {
	.name		= TALLY_GENL_NAME,
	.version	= TALLY_GENL_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.split_ops	= ops,
	.n_split_ops	= ARRAY_SIZE(ops),
	.mcgrps		= mcgrps,
	.n_mcgrps	= ARRAY_SIZE(mcgrps),
	.resv_start_op	= 1,
};

int __init tally_netlink_init(void)
{
	int err = genl_register_family(&tally_genl_family);

	if (!err)
		tally_msg_events(true);
	return err;
}

/* Groups may still be up, but nobody is told what happens to them. */
void tally_netlink_exit(void)
{
	tally_msg_events(false);
	genl_unregister_family(&tally_genl_family);
}
