// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel says over netlink. */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include "engine/engine.h"
#include "group.h"
#include "host.h"
#include "netlink.h"
#include "netlink_msg.h"
#include "netns.h"

static bool events_on __read_mostly;

/* What only the engine knows of a member; its host is locked. */
static int put_state(struct sk_buff *msg, struct tally_host *host, u32 rank)
{
	struct tally_member_state state = {};
	u64 ms;

	tally_engine_member(host->engine, rank, &state);
	if (tally_engine_rule(host->engine)->local >> rank & 1 &&
	    nla_put_flag(msg, TALLY_A_MEMBER_LOCAL))
		return -EMSGSIZE;
	if (state.attached && nla_put_flag(msg, TALLY_A_MEMBER_ATTACHED))
		return -EMSGSIZE;
	if (state.stale && nla_put_flag(msg, TALLY_A_MEMBER_STALE))
		return -EMSGSIZE;
	if (nla_put_u32(msg, TALLY_A_MEMBER_DONE, state.done))
		return -EMSGSIZE;
	if (!state.seen_ns)
		return 0;
	ms = div_u64(ktime_get_ns() - state.seen_ns, NSEC_PER_MSEC);
	return nla_put_u32(msg, TALLY_A_MEMBER_SEEN_MS, min(ms, U32_MAX));
}

static int put_member(struct sk_buff *msg, const struct tally_group *group,
		      struct tally_host *host, u32 rank, int index)
{
	const struct tally_address *address = &group->address[rank];
	bool v4 = address->family == AF_INET;
	struct nlattr *nest;

	nest = nla_nest_start(msg, index);
	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(msg, TALLY_A_MEMBER_RANK, rank) ||
	    nla_put(msg, v4 ? TALLY_A_MEMBER_ADDR4 : TALLY_A_MEMBER_ADDR6,
		    v4 ? 4 : 16, address->ip) ||
	    nla_put_u16(msg, TALLY_A_MEMBER_PORT, ntohs(address->port)) ||
	    nla_put_u32(msg, TALLY_A_MEMBER_CAP, group->caps[rank]) ||
	    (host && put_state(msg, host, rank)))
		return -EMSGSIZE;
	nla_nest_end(msg, nest);
	return 0;
}

static int put_members(struct sk_buff *msg, const struct tally_group *group,
		       struct tally_host *host)
{
	struct nlattr *nest = nla_nest_start(msg, TALLY_A_GROUP_MEMBERS);
	u32 rank, index = 0;

	if (!nest)
		return -EMSGSIZE;
	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		if (group->members >> rank & 1 &&
		    put_member(msg, group, host, rank, ++index))
			return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	return 0;
}

static int put_settings(struct sk_buff *msg, const struct tally_group *group)
{
	const struct tally_settings *set = &group->set;

	if (nla_put_u16(msg, TALLY_A_GROUP_ID, group->id) ||
	    (*set->name &&
	     nla_put_string(msg, TALLY_A_GROUP_NAME, set->name)) ||
	    nla_put_u32(msg, TALLY_A_GROUP_EPOCH, set->epoch) ||
	    nla_put_u32(msg, TALLY_A_GROUP_PAYLOAD, set->payload) ||
	    nla_put_u32(msg, TALLY_A_GROUP_WINDOW, set->window) ||
	    nla_put_u32(msg, TALLY_A_GROUP_MAX_BYTES, set->max_bytes) ||
	    nla_put_u32(msg, TALLY_A_GROUP_BOUND_US, set->bound_us) ||
	    nla_put_u32(msg, TALLY_A_GROUP_SETTLE_US,
			set->settle_us ?: TALLY_SETTLE_US) ||
	    nla_put_u32(msg, TALLY_A_GROUP_TIMEOUT_US, set->timeout_us) ||
	    nla_put_u32(msg, TALLY_A_GROUP_GID,
			from_kgid_munged(current_user_ns(), set->gid)) ||
	    (set->keyed && nla_put_flag(msg, TALLY_A_GROUP_KEYED)))
		return -EMSGSIZE;
	return 0;
}

static int put_host(struct sk_buff *msg, struct tally_host *host)
{
	if (nla_put_flag(msg, TALLY_A_GROUP_UP) ||
	    nla_put_u32(msg, TALLY_A_GROUP_SEQ,
			tally_engine_seq(host->engine)) ||
	    nla_put_u64_64bit(msg, TALLY_A_GROUP_BYTES, host->bytes,
			      TALLY_A_GROUP_UNSPEC))
		return -EMSGSIZE;
	return 0;
}

int tally_msg_group(struct sk_buff *msg, struct tally_net *ns,
		    struct tally_group *group, u32 portid, u32 seq, int flags)
{
	struct tally_host *host = group->host;
	struct nlattr *nest;
	void *hdr;
	int err;

	hdr = genlmsg_put(msg, portid, seq, &tally_genl_family, flags,
			  TALLY_CMD_GROUP_GET);
	if (!hdr)
		return -EMSGSIZE;
	/* A group that is up stays so while the namespace's mutex is held. */
	if (host && !tally_host_lock(host))
		host = NULL;
	nest = nla_nest_start(msg, TALLY_A_GROUP);
	err = nest ? put_settings(msg, group) : -EMSGSIZE;
	if (!err && host)
		err = put_host(msg, host);
	if (!err)
		err = put_members(msg, group, host);
	if (host)
		tally_host_unlock(host);
	if (err) {
		genlmsg_cancel(msg, hdr);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	genlmsg_end(msg, hdr);
	return 0;
}

static int put_counters(struct sk_buff *msg, int attr, const u64 *counter,
			int n)
{
	struct nlattr *nest = nla_nest_start(msg, attr);
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 1; i < n; i++) {
		if (nla_put_u64_64bit(msg, i, counter[i], 0))
			return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	return 0;
}

int tally_msg_stats(struct sk_buff *msg, struct tally_net *ns,
		    struct tally_group *group, u32 portid, u32 seq, int flags)
{
	struct tally_stats_sum sum;
	struct nlattr *nest;
	void *hdr;

	tally_stats_read(group ? &group->stats : &ns->stats, &sum);
	hdr = genlmsg_put(msg, portid, seq, &tally_genl_family, flags,
			  TALLY_CMD_STATS_GET);
	if (!hdr)
		return -EMSGSIZE;
	nest = nla_nest_start(msg, TALLY_A_STATS);
	if (!nest ||
	    (group && nla_put_u16(msg, TALLY_A_STATS_GROUP, group->id)) ||
	    put_counters(msg, TALLY_A_STATS_COUNTS, sum.count,
			 __TALLY_COUNT_END) ||
	    put_counters(msg, TALLY_A_STATS_DROPS, sum.drop,
			 __TALLY_DROP_END)) {
		genlmsg_cancel(msg, hdr);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	genlmsg_end(msg, hdr);
	return 0;
}

void tally_msg_events(bool on)
{
	WRITE_ONCE(events_on, on);
}

static int put_event(struct sk_buff *msg, u16 group, u32 kind, u32 rank,
		     u32 seq, u64 mask)
{
	struct nlattr *nest;
	void *hdr;

	hdr = genlmsg_put(msg, 0, 0, &tally_genl_family, 0, TALLY_CMD_EVENT);
	if (!hdr)
		return -EMSGSIZE;
	nest = nla_nest_start(msg, TALLY_A_EVENT);
	if (!nest || nla_put_u16(msg, TALLY_A_EVENT_GROUP, group) ||
	    nla_put_u32(msg, TALLY_A_EVENT_KIND, kind) ||
	    nla_put_u32(msg, TALLY_A_EVENT_RANK, rank) ||
	    nla_put_u32(msg, TALLY_A_EVENT_SEQ, seq) ||
	    nla_put_u64_64bit(msg, TALLY_A_EVENT_MASK, mask,
			      TALLY_A_EVENT_PAD))
		return -EMSGSIZE;
	nla_nest_end(msg, nest);
	genlmsg_end(msg, hdr);
	return 0;
}

void tally_netlink_event(struct tally_net *ns, u16 group, u32 kind, u32 rank,
			 u32 seq, u64 mask)
{
	struct sk_buff *msg;

	if (!READ_ONCE(events_on) ||
	    !genl_has_listeners(&tally_genl_family, ns->net, 0))
		return;
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!msg)
		return;
	if (put_event(msg, group, kind, rank, seq, mask)) {
		nlmsg_free(msg);
		return;
	}
	genlmsg_multicast_netns(&tally_genl_family, ns->net, msg, 0, 0,
				GFP_KERNEL);
}
