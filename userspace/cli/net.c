// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#include "net.h"
#include "netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

/*
 * The family "netdev" of Linux 6.3 and later; the headers of Debian 12 are
 * older.
 */
#define NETDEV_DEV_GET		1	/* command */
#define NETDEV_IFINDEX		1	/* u32 */
#define NETDEV_XDP_FEATURES	3	/* u64 */

/**
 * struct kernel_net - the real one
 * @net: what callers see
 * @route: rtnetlink
 * @generic: for the family "netdev", or NULL
 * @netdev: number of the family, or -errno
 */
struct kernel_net {
	struct net		net;
	struct mnl_socket	*route;
	struct mnl_socket	*generic;
	int			netdev;
};

/**
 * struct link_list - while a dump is read
 * @at: the devices
 * @nr: how many
 */
struct link_list {
	struct link	*at;
	size_t		nr;
};

static uint32_t get_u32(const struct nlattr *attr)
{
	return mnl_attr_get_payload_len(attr) == sizeof(uint32_t) ?
	       mnl_attr_get_u32(attr) : 0;
}

static int take_route(const struct nlmsghdr *nlh, void *data)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr, *metric;
	struct route *route = data;

	if (nlh->nlmsg_type != RTM_NEWROUTE ||
	    mnl_nlmsg_get_payload_len(nlh) < sizeof(*rt))
		return MNL_CB_OK;
	route->local = rt->rtm_type == RTN_LOCAL;
	mnl_attr_for_each(attr, nlh, sizeof(*rt)) {
		if (mnl_attr_get_type(attr) == RTA_OIF)
			route->ifindex = get_u32(attr);
		if (mnl_attr_get_type(attr) != RTA_METRICS)
			continue;
		mnl_attr_for_each_nested(metric, attr)
			if (mnl_attr_get_type(metric) == RTAX_MTU)
				route->mtu = get_u32(metric);
	}
	return MNL_CB_OK;
}

static void parse_xdp(const struct nlattr *nest, struct link *link)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest) {
		switch (mnl_attr_get_type(attr)) {
		case IFLA_XDP_ATTACHED:
			if (mnl_attr_get_payload_len(attr) != 1)
				break;
			switch (mnl_attr_get_u8(attr)) {
			case XDP_ATTACHED_DRV:
				link->xdp |= LINK_XDP_NATIVE;
				break;
			case XDP_ATTACHED_SKB:
				link->xdp |= LINK_XDP_GENERIC;
				break;
			case XDP_ATTACHED_HW:
				link->xdp |= LINK_XDP_OFFLOAD;
				break;
			}
			break;
		case IFLA_XDP_DRV_PROG_ID:
			link->xdp |= LINK_XDP_NATIVE;
			break;
		case IFLA_XDP_SKB_PROG_ID:
			link->xdp |= LINK_XDP_GENERIC;
			break;
		case IFLA_XDP_HW_PROG_ID:
			link->xdp |= LINK_XDP_OFFLOAD;
			break;
		case IFLA_XDP_PROG_ID:
			link->xdp_prog = get_u32(attr);
			break;
		}
	}
}

static int take_link(const struct nlmsghdr *nlh, void *data)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	struct link_list *list = data;
	const struct nlattr *attr;
	struct link *at, *link;

	if (nlh->nlmsg_type != RTM_NEWLINK ||
	    mnl_nlmsg_get_payload_len(nlh) < sizeof(*ifi))
		return MNL_CB_OK;
	at = realloc(list->at, (list->nr + 1) * sizeof(*at));
	if (!at) {
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
	list->at = at;
	link = &at[list->nr++];
	memset(link, 0, sizeof(*link));
	link->ifindex = (uint32_t)ifi->ifi_index;
	link->up = ifi->ifi_flags & IFF_UP;
	link->running = ifi->ifi_flags & IFF_RUNNING;
	link->loopback = ifi->ifi_flags & IFF_LOOPBACK;
	mnl_attr_for_each(attr, nlh, sizeof(*ifi)) {
		if (mnl_attr_get_type(attr) == IFLA_MTU)
			link->mtu = get_u32(attr);
		if (mnl_attr_get_type(attr) == IFLA_IFNAME)
			snprintf(link->name, sizeof(link->name), "%.*s",
				 (int)mnl_attr_get_payload_len(attr),
				 mnl_attr_get_str(attr));
		if (mnl_attr_get_type(attr) == IFLA_XDP)
			parse_xdp(attr, link);
	}
	return MNL_CB_OK;
}

/* @ifindex: of one device, 0: all of them */
static int get_links(struct kernel_net *k, uint32_t ifindex,
		     struct link_list *list)
{
	char buf[256], why[NL_WHY];
	struct ifinfomsg *ifi;
	struct nlmsghdr *nlh;
	int ret, tries = 0;

	do {
		list->nr = 0;
		nlh = mnl_nlmsg_put_header(buf);
		nlh->nlmsg_type = RTM_GETLINK;
		nlh->nlmsg_flags = NLM_F_REQUEST | (ifindex ? 0 : NLM_F_DUMP);
		ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
		ifi->ifi_index = (int)ifindex;
		ret = nl_exchange(k->route, nlh, take_link, list, why,
				  sizeof(why));
	} while (ret == -EINTR && ++tries < 8);
	return ret;
}

static int kernel_route(struct net *net, const struct addr *dst,
			struct route *route)
{
	struct kernel_net *k = (struct kernel_net *)net;
	struct link_list list = { 0 };
	char buf[256], why[NL_WHY];
	struct nlmsghdr *nlh;
	struct rtmsg *rt;
	size_t len = dst->family == AF_INET ? 4 : 16;
	int ret;

	memset(route, 0, sizeof(*route));
	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	rt = mnl_nlmsg_put_extra_header(nlh, sizeof(*rt));
	rt->rtm_family = (unsigned char)dst->family;
	rt->rtm_dst_len = (unsigned char)(len * 8);
	mnl_attr_put(nlh, RTA_DST, len, dst->bytes);
	ret = nl_exchange(k->route, nlh, take_route, route, why, sizeof(why));
	if (ret)
		return ret;
	if (route->ifindex)
		ret = get_links(k, route->ifindex, &list);
	if (!ret && list.nr) {
		memcpy(route->dev, list.at[0].name, sizeof(route->dev));
		route->dev_mtu = list.at[0].mtu;
		if (!route->mtu || route->mtu > route->dev_mtu)
			route->mtu = route->dev_mtu;
	}
	free(list.at);
	return ret;
}

static int take_features(const struct nlmsghdr *nlh, void *data)
{
	struct link_list *list = data;
	const struct nlattr *attr;
	uint32_t ifindex = 0;
	uint64_t can = 0;
	bool known = false;
	size_t i;

	mnl_attr_for_each(attr, nlh, 4) {
		if (mnl_attr_get_type(attr) == NETDEV_IFINDEX)
			ifindex = get_u32(attr);
		if (mnl_attr_get_type(attr) == NETDEV_XDP_FEATURES &&
		    mnl_attr_get_payload_len(attr) == sizeof(can)) {
			can = mnl_attr_get_u64(attr);
			known = true;
		}
	}
	for (i = 0; i < list->nr; i++)
		if (list->at[i].ifindex == ifindex) {
			list->at[i].can_known = known;
			list->at[i].can = can;
		}
	return MNL_CB_OK;
}

static int kernel_links(struct net *net, struct link **links, size_t *nr)
{
	struct kernel_net *k = (struct kernel_net *)net;
	struct link_list list = { 0 };
	char buf[64], why[NL_WHY];
	struct nlmsghdr *nlh;
	int ret;

	ret = get_links(k, 0, &list);
	if (ret) {
		free(list.at);
		return ret;
	}
	/* Kernels that cannot tell are served too: can_known stays false. */
	if (k->netdev > 0) {
		nlh = nl_begin(buf, (uint16_t)k->netdev, NLM_F_DUMP,
			       NETDEV_DEV_GET, 1);
		nl_exchange(k->generic, nlh, take_features, &list, why,
			    sizeof(why));
	}
	*links = list.at;
	*nr = list.nr;
	return 0;
}

static void kernel_close(struct net *net)
{
	struct kernel_net *k = (struct kernel_net *)net;

	if (k->generic)
		mnl_socket_close(k->generic);
	mnl_socket_close(k->route);
	free(k);
}

int net_open(struct cli *cli)
{
	struct kernel_net *k = calloc(1, sizeof(*k));

	if (!k)
		return cli_nomem(cli);
	k->net.route = kernel_route;
	k->net.links = kernel_links;
	k->net.close = kernel_close;
	k->route = nl_socket(NETLINK_ROUTE);
	if (!k->route) {
		cli_error(cli, "rtnetlink: %s", strerror(errno));
		free(k);
		return CLI_ERROR;
	}
	k->generic = nl_socket(NETLINK_GENERIC);
	k->netdev = k->generic ? nl_family(k->generic, "netdev", NULL, NULL) :
				 -ENOENT;
	cli->net = &k->net;
	return CLI_OK;
}

void net_close(struct cli *cli)
{
	if (cli->net)
		cli->net->close(cli->net);
	cli->net = NULL;
}

int net_need(struct cli *cli)
{
	return cli->net ? CLI_OK : cli->net_open(cli);
}
