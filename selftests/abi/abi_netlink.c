// SPDX-License-Identifier: GPL-2.0-only
/* Configuration over generic netlink, with what the kernel says of it. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <string.h>

#include "abi.h"

/* One answer: 1 go on, 0 done, or -errno. */
static int take_error(struct nl *nl, const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);
	size_t skip = sizeof(*err);
	const struct nlattr *attr;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return err->error;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += MNL_ALIGN(err->msg.nlmsg_len - sizeof(err->msg));
	mnl_attr_for_each(attr, nlh, skip) {
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG)
			snprintf(nl->why, sizeof(nl->why), "%s",
				 mnl_attr_get_str(attr));
	}
	return err->error;
}

static int take_one(struct nl *nl, const struct nlmsghdr *nlh, mnl_cb_t cb,
		    void *data)
{
	switch (nlh->nlmsg_type) {
	case NLMSG_ERROR:
		return take_error(nl, nlh);
	case NLMSG_DONE:
		return 0;
	default:
		if (cb && cb(nlh, data) < 0)
			return -EPROTO;
		return 1;
	}
}

static int take_answers(struct nl *nl, mnl_cb_t cb, void *data)
{
	static char buf[32768];

	for (;;) {
		const struct nlmsghdr *nlh = (void *)buf;
		int n = mnl_socket_recvfrom(nl->sock, buf, sizeof(buf));

		if (n < 0)
			return -errno;
		for (; mnl_nlmsg_ok(nlh, n); nlh = mnl_nlmsg_next(nlh, &n)) {
			int ret;

			if (nlh->nlmsg_seq != nl->seq)
				continue;
			ret = take_one(nl, nlh, cb, data);
			if (ret <= 0)
				return ret;
		}
	}
}

int nl_talk(struct nl *nl, struct req *req, mnl_cb_t cb, void *data)
{
	nl->why[0] = '\0';
	req->nlh->nlmsg_type = req->nlh->nlmsg_type ?: nl->family;
	req->nlh->nlmsg_seq = ++nl->seq;
	if (mnl_socket_sendto(nl->sock, req->nlh, req->nlh->nlmsg_len) < 0)
		return -errno;
	return take_answers(nl, cb, data);
}

struct nlmsghdr *req_begin(struct req *req, uint8_t cmd, uint16_t flags)
{
	struct genlmsghdr *genl;

	memset(req, 0, sizeof(*req));
	req->nlh = mnl_nlmsg_put_header(req->buf);
	req->nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	genl = mnl_nlmsg_put_extra_header(req->nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = TALLY_GENL_VERSION;
	return req->nlh;
}

void req_nest(struct req *req, uint16_t type)
{
	req->nest = mnl_attr_nest_start(req->nlh, type);
}

void req_end(struct req *req)
{
	mnl_attr_nest_end(req->nlh, req->nest);
}

void req_group(struct req *req, uint16_t id)
{
	req_nest(req, TALLY_A_GROUP);
	mnl_attr_put_u16(req->nlh, TALLY_A_GROUP_ID, id);
}

static int take_mcgrps(struct nl *nl, const struct nlattr *groups)
{
	const struct nlattr *group, *attr;

	mnl_attr_for_each_nested(group, groups) {
		uint32_t id = 0;
		bool ours = false;

		mnl_attr_for_each_nested(attr, group) {
			int type = mnl_attr_get_type(attr);

			if (type == CTRL_ATTR_MCAST_GRP_ID)
				id = mnl_attr_get_u32(attr);
			if (type == CTRL_ATTR_MCAST_GRP_NAME)
				ours = !strcmp(mnl_attr_get_str(attr),
					       TALLY_GENL_MCGRP);
		}
		if (ours)
			nl->group = id;
	}
	return MNL_CB_OK;
}

static int take_family(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr;
	struct nl *nl = data;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
			nl->family = mnl_attr_get_u16(attr);
		if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GROUPS)
			take_mcgrps(nl, attr);
	}
	return MNL_CB_OK;
}

int nl_open(struct nl *nl)
{
	int on = 1, err;
	struct req req;

	memset(nl, 0, sizeof(*nl));
	nl->sock = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!nl->sock)
		return -errno;
	if (mnl_socket_bind(nl->sock, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	mnl_socket_setsockopt(nl->sock, NETLINK_EXT_ACK, &on, sizeof(on));
	mnl_socket_setsockopt(nl->sock, NETLINK_CAP_ACK, &on, sizeof(on));
	req_begin(&req, CTRL_CMD_GETFAMILY, 0);
	req.nlh->nlmsg_type = GENL_ID_CTRL;
	mnl_attr_put_strz(req.nlh, CTRL_ATTR_FAMILY_NAME, TALLY_GENL_NAME);
	err = nl_talk(nl, &req, take_family, nl);
	return err ? err : nl->family ? 0 : -ENOENT;
}

void nl_close(struct nl *nl)
{
	if (nl->sock)
		mnl_socket_close(nl->sock);
	nl->sock = NULL;
}

static void put_some(struct req *req, uint16_t type, uint32_t value)
{
	if (value)
		mnl_attr_put_u32(req->nlh, type, value);
}

int group_add(struct nl *nl, const struct abi_group *group)
{
	struct req req;

	req_begin(&req, TALLY_CMD_GROUP_NEW, 0);
	req_group(&req, group->id);
	put_some(&req, TALLY_A_GROUP_EPOCH, group->epoch);
	put_some(&req, TALLY_A_GROUP_PAYLOAD, group->payload);
	put_some(&req, TALLY_A_GROUP_WINDOW, group->window);
	put_some(&req, TALLY_A_GROUP_MAX_BYTES, group->max_bytes);
	put_some(&req, TALLY_A_GROUP_BOUND_US, group->bound_us);
	put_some(&req, TALLY_A_GROUP_SETTLE_US, group->settle_us);
	put_some(&req, TALLY_A_GROUP_TIMEOUT_US, group->timeout_us);
	if (group->gid >= 0)
		mnl_attr_put_u32(req.nlh, TALLY_A_GROUP_GID,
				 (uint32_t)group->gid);
	if (group->key)
		mnl_attr_put(req.nlh, TALLY_A_GROUP_KEY, 16, group->key);
	req_end(&req);
	return nl_talk(nl, &req, NULL, NULL);
}

int group_do(struct nl *nl, uint8_t cmd, uint16_t id)
{
	struct req req;

	req_begin(&req, cmd, 0);
	req_group(&req, id);
	req_end(&req);
	return nl_talk(nl, &req, NULL, NULL);
}

static int member_put(struct nl *nl, uint16_t id, uint32_t rank,
		      const char *address, uint16_t port, uint32_t cap)
{
	uint8_t ip[16];
	struct req req;

	req_begin(&req, TALLY_CMD_MEMBER_NEW, 0);
	req_group(&req, id);
	req_end(&req);
	req_nest(&req, TALLY_A_MEMBER);
	mnl_attr_put_u32(req.nlh, TALLY_A_MEMBER_RANK, rank);
	if (inet_pton(AF_INET, address, ip) == 1)
		mnl_attr_put(req.nlh, TALLY_A_MEMBER_ADDR4, 4, ip);
	else if (inet_pton(AF_INET6, address, ip) == 1)
		mnl_attr_put(req.nlh, TALLY_A_MEMBER_ADDR6, 16, ip);
	if (port)
		mnl_attr_put_u16(req.nlh, TALLY_A_MEMBER_PORT, port);
	put_some(&req, TALLY_A_MEMBER_CAP, cap);
	req_end(&req);
	return nl_talk(nl, &req, NULL, NULL);
}

int member_add(struct nl *nl, uint16_t id, uint32_t rank, const char *address,
	       uint16_t port)
{
	return member_put(nl, id, rank, address, port, 0);
}

int member_add_capped(struct nl *nl, uint16_t id, uint32_t rank,
		      const char *address, uint32_t cap)
{
	return member_put(nl, id, rank, address, 0, cap);
}

/**
 * struct want - which group's counters are looked for in a dump
 * @id: 0: packets of no group
 * @stats: to fill
 * @found: they were there
 */
struct want {
	uint16_t	id;
	struct stats	*stats;
	bool		found;
};

static void take_counters(const struct nlattr *nest, uint64_t *to, size_t n)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest) {
		if (mnl_attr_get_type(attr) < n)
			to[mnl_attr_get_type(attr)] = mnl_attr_get_u64(attr);
	}
}

static int take_stats(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr, *nest = mnl_nlmsg_get_payload_offset(
		nlh, sizeof(struct genlmsghdr));
	struct want *want = data;
	uint16_t id = 0;

	mnl_attr_for_each_nested(attr, nest) {
		if (mnl_attr_get_type(attr) == TALLY_A_STATS_GROUP)
			id = mnl_attr_get_u16(attr);
	}
	if (id != want->id)
		return MNL_CB_OK;
	want->found = true;
	mnl_attr_for_each_nested(attr, nest) {
		if (mnl_attr_get_type(attr) == TALLY_A_STATS_COUNTS)
			take_counters(attr, want->stats->counts,
				      __TALLY_COUNT_END);
		if (mnl_attr_get_type(attr) == TALLY_A_STATS_DROPS)
			take_counters(attr, want->stats->drops,
				      __TALLY_DROP_END);
	}
	return MNL_CB_OK;
}

int stats_get(struct nl *nl, uint16_t id, struct stats *stats)
{
	struct want want = { .id = id, .stats = stats };
	struct req req;
	int err;

	memset(stats, 0, sizeof(*stats));
	req_begin(&req, TALLY_CMD_STATS_GET, NLM_F_DUMP);
	err = nl_talk(nl, &req, take_stats, &want);
	return err ? err : want.found ? 0 : -ENOENT;
}
