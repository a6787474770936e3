// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* What the family's messages say. */
#include "netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>

#define DUMP_TRIES	8

_Static_assert(__TALLY_COUNT_END <= STATS_COUNTS, "room for all counters");

/* Return: the attribute's number, or 0 if it is no u32. */
static uint32_t get_u32(const struct nlattr *attr)
{
	return mnl_attr_get_payload_len(attr) == sizeof(uint32_t) ?
	       mnl_attr_get_u32(attr) : 0;
}

static uint32_t get_u16(const struct nlattr *attr)
{
	return mnl_attr_get_payload_len(attr) == sizeof(uint16_t) ?
	       mnl_attr_get_u16(attr) : 0;
}

static uint64_t get_u64(const struct nlattr *attr)
{
	return mnl_attr_get_payload_len(attr) == sizeof(uint64_t) ?
	       mnl_attr_get_u64(attr) : 0;
}

static void get_addr(const struct nlattr *attr, int family, size_t len,
		     struct addr *addr)
{
	if (mnl_attr_get_payload_len(attr) != len)
		return;
	addr->family = family;
	memcpy(addr->bytes, mnl_attr_get_payload(attr), len);
}

static void parse_member(const struct nlattr *nest, struct member *m)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest) {
		switch (mnl_attr_get_type(attr)) {
		case TALLY_A_MEMBER_RANK:
			m->rank = get_u32(attr);
			break;
		case TALLY_A_MEMBER_ADDR4:
			get_addr(attr, AF_INET, 4, &m->addr);
			break;
		case TALLY_A_MEMBER_ADDR6:
			get_addr(attr, AF_INET6, 16, &m->addr);
			break;
		case TALLY_A_MEMBER_PORT:
			m->port = get_u16(attr);
			break;
		case TALLY_A_MEMBER_CAP:
			m->cap = get_u32(attr);
			break;
		case TALLY_A_MEMBER_LOCAL:
			m->local = true;
			break;
		case TALLY_A_MEMBER_ATTACHED:
			m->attached = true;
			break;
		case TALLY_A_MEMBER_STALE:
			m->stale = true;
			break;
		case TALLY_A_MEMBER_DONE:
			m->done = get_u32(attr);
			break;
		case TALLY_A_MEMBER_SEEN_MS:
			m->seen_ms = get_u32(attr);
			m->seen = true;
			break;
		}
	}
}

static void parse_members(const struct nlattr *nest, struct group *g)
{
	const struct nlattr *attr;
	struct member m, *at;

	mnl_attr_for_each_nested(attr, nest) {
		memset(&m, 0, sizeof(m));
		parse_member(attr, &m);
		at = m.rank < TALLY_RANKS ? group_insert_member(g, m.rank) :
					    NULL;
		if (at)
			*at = m;
	}
}

static void parse_group(const struct nlattr *nest, struct group *g)
{
	const struct nlattr *attr;
	uint16_t type;

	mnl_attr_for_each_nested(attr, nest) {
		type = mnl_attr_get_type(attr);
		switch (type) {
		case TALLY_A_GROUP_ID:
			g->val[type] = get_u16(attr);
			g->has |= 1u << type;
			break;
		case TALLY_A_GROUP_NAME:
			snprintf(g->name, sizeof(g->name), "%.*s",
				 (int)mnl_attr_get_payload_len(attr),
				 mnl_attr_get_str(attr));
			cli_printable(g->name);
			g->has |= 1u << type;
			break;
		case TALLY_A_GROUP_EPOCH ... TALLY_A_GROUP_GID:
			g->val[type] = get_u32(attr);
			g->has |= 1u << type;
			break;
		case TALLY_A_GROUP_KEYED:
			g->keyed = true;
			break;
		case TALLY_A_GROUP_UP:
			g->up = true;
			break;
		case TALLY_A_GROUP_MEMBERS:
			parse_members(attr, g);
			break;
		case TALLY_A_GROUP_SEQ:
			g->seq = get_u32(attr);
			break;
		case TALLY_A_GROUP_BYTES:
			g->bytes = get_u64(attr);
			break;
		}
	}
}

/*
 * A group with many members may come in several messages of one dump; they
 * follow each other.
 */
static int take_group(const struct nlmsghdr *nlh, void *data)
{
	struct groups *groups = data;
	struct group one, *last, *g;
	const struct nlattr *attr;
	uint32_t i;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attr) != TALLY_A_GROUP)
			continue;
		memset(&one, 0, sizeof(one));
		parse_group(attr, &one);
		last = groups_by_id(groups, group_id(&one));
		if (last) {
			for (i = 0; i < one.nr_members; i++) {
				struct member *m = &one.members[i], *at;

				at = group_insert_member(last, m->rank);
				if (at)
					*at = *m;
			}
			continue;
		}
		g = groups_add(groups);
		if (!g) {
			errno = ENOMEM;
			return MNL_CB_ERROR;
		}
		*g = one;
	}
	return MNL_CB_OK;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = group_id(a), y = group_id(b);

	return x < y ? -1 : x > y;
}

int nl_groups(struct cli *cli, struct groups *groups)
{
	char buf[256], why[NL_WHY];
	struct nlmsghdr *nlh;
	int ret, tries = 0;

	memset(groups, 0, sizeof(*groups));
	ret = nl_need(cli);
	if (ret)
		return ret;
	do {
		groups_free(groups);
		nlh = nl_begin(buf, 0, NLM_F_DUMP, TALLY_CMD_GROUP_GET,
			       TALLY_GENL_VERSION);
		ret = cli->nl->talk(cli->nl, nlh, take_group, groups, why,
				    sizeof(why));
	} while (ret == -EINTR && ++tries < DUMP_TRIES);
	if (ret) {
		groups_free(groups);
		return nl_refused(cli, "groups cannot be read", ret, why);
	}
	if (groups->nr)
		qsort(groups->at, groups->nr, sizeof(groups->at[0]), by_id);
	return CLI_OK;
}

struct group *nl_find_group(struct cli *cli, const struct groups *groups,
			    const char *name)
{
	struct group *g = NULL;
	const char **names;
	char hint[96] = "";
	uint64_t id;
	size_t i, n = 0;

	if (!units_number(name, &id))
		g = id <= 65535 ? groups_by_id(groups, (uint32_t)id) : NULL;
	else if (*name)
		g = groups_by_name(groups, name);
	if (g)
		return g;
	names = calloc(groups->nr + 1, sizeof(*names));
	if (names) {
		for (i = 0; i < groups->nr; i++)
			if (groups->at[i].name[0])
				names[n++] = groups->at[i].name;
		cli_did_you_mean(name, names, sizeof(*names), hint,
				 sizeof(hint));
		free(names);
	}
	cli_error(cli, "group %s: no such group here%s; 'tally group show' lists them",
		  name, hint);
	return NULL;
}

static void put_group(struct nlmsghdr *nlh, const struct group *g,
		      uint32_t attrs)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, TALLY_A_GROUP);
	unsigned int attr;

	mnl_attr_put_u16(nlh, TALLY_A_GROUP_ID, (uint16_t)group_id(g));
	if (attrs >> TALLY_A_GROUP_NAME & 1)
		mnl_attr_put_strz(nlh, TALLY_A_GROUP_NAME, g->name);
	for (attr = TALLY_A_GROUP_EPOCH; attr <= TALLY_A_GROUP_GID; attr++)
		if (attrs >> attr & 1)
			mnl_attr_put_u32(nlh, (uint16_t)attr, g->val[attr]);
	if (attrs >> TALLY_A_GROUP_KEY & 1)
		mnl_attr_put(nlh, TALLY_A_GROUP_KEY, sizeof(g->key), g->key);
	mnl_attr_nest_end(nlh, nest);
}

int nl_send_group(struct nl *nl, enum tally_cmd cmd, const struct group *g,
		  uint32_t attrs, char *why)
{
	char buf[1024];
	struct nlmsghdr *nlh;
	int ret;

	nlh = nl_begin(buf, 0, 0, cmd, TALLY_GENL_VERSION);
	put_group(nlh, g, attrs);
	ret = nl->talk(nl, nlh, NULL, NULL, why, NL_WHY);
	explicit_bzero(buf, sizeof(buf));
	return ret;
}

int nl_send_member(struct nl *nl, enum tally_cmd cmd, uint32_t id,
		   const struct member *m, char *why)
{
	struct nlmsghdr *nlh;
	struct nlattr *nest;
	char buf[512];

	nlh = nl_begin(buf, 0, 0, cmd, TALLY_GENL_VERSION);
	nest = mnl_attr_nest_start(nlh, TALLY_A_GROUP);
	mnl_attr_put_u16(nlh, TALLY_A_GROUP_ID, (uint16_t)id);
	mnl_attr_nest_end(nlh, nest);
	nest = mnl_attr_nest_start(nlh, TALLY_A_MEMBER);
	mnl_attr_put_u32(nlh, TALLY_A_MEMBER_RANK, m->rank);
	if (cmd == TALLY_CMD_MEMBER_NEW) {
		if (m->addr.family == AF_INET)
			mnl_attr_put(nlh, TALLY_A_MEMBER_ADDR4, 4,
				     m->addr.bytes);
		else
			mnl_attr_put(nlh, TALLY_A_MEMBER_ADDR6, 16,
				     m->addr.bytes);
		mnl_attr_put_u16(nlh, TALLY_A_MEMBER_PORT, (uint16_t)m->port);
		mnl_attr_put_u32(nlh, TALLY_A_MEMBER_CAP, m->cap);
	}
	mnl_attr_nest_end(nlh, nest);
	return nl->talk(nl, nlh, NULL, NULL, why, NL_WHY);
}

/**
 * struct stats_list - while a dump of counters is read
 * @at: one a group
 * @nr: how many
 */
struct stats_list {
	struct stats	*at;
	size_t		nr;
};

static void parse_counts(const struct nlattr *nest, uint64_t *counts)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest)
		if (mnl_attr_get_type(attr) < STATS_COUNTS)
			counts[mnl_attr_get_type(attr)] += get_u64(attr);
}

static int take_stats(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr, *nest = NULL, *counts = NULL, *drops = NULL;
	struct stats_list *list = data;
	struct stats *s, *at;
	uint32_t group = 0;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) == TALLY_A_STATS)
			nest = attr;
	if (!nest)
		return MNL_CB_OK;
	mnl_attr_for_each_nested(attr, nest) {
		if (mnl_attr_get_type(attr) == TALLY_A_STATS_GROUP)
			group = get_u16(attr);
		if (mnl_attr_get_type(attr) == TALLY_A_STATS_COUNTS)
			counts = attr;
		if (mnl_attr_get_type(attr) == TALLY_A_STATS_DROPS)
			drops = attr;
	}
	for (s = list->at; s < list->at + list->nr; s++)
		if (s->group == group)
			break;
	if (s == list->at + list->nr) {
		at = realloc(list->at, (list->nr + 1) * sizeof(*at));
		if (!at) {
			errno = ENOMEM;
			return MNL_CB_ERROR;
		}
		list->at = at;
		s = &at[list->nr++];
		memset(s, 0, sizeof(*s));
		s->group = group;
	}
	if (counts)
		parse_counts(counts, s->counts);
	if (drops)
		parse_counts(drops, s->drops);
	return MNL_CB_OK;
}

int nl_stats(struct cli *cli, struct stats **stats, size_t *nr)
{
	struct stats_list list = { 0 };
	char buf[256], why[NL_WHY];
	struct nlmsghdr *nlh;
	int ret, tries = 0;

	ret = nl_need(cli);
	if (ret)
		return ret;
	do {
		list.nr = 0;
		nlh = nl_begin(buf, 0, NLM_F_DUMP, TALLY_CMD_STATS_GET,
			       TALLY_GENL_VERSION);
		ret = cli->nl->talk(cli->nl, nlh, take_stats, &list, why,
				    sizeof(why));
	} while (ret == -EINTR && ++tries < DUMP_TRIES);
	if (ret) {
		free(list.at);
		return nl_refused(cli, "counters cannot be read", ret, why);
	}
	*stats = list.at;
	*nr = list.nr;
	return CLI_OK;
}

bool nl_parse_event(const struct nlmsghdr *nlh, struct event *event)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr, *nest = NULL;

	memset(event, 0, sizeof(*event));
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*genl) ||
	    genl->cmd != TALLY_CMD_EVENT)
		return false;
	mnl_attr_for_each(attr, nlh, sizeof(*genl))
		if (mnl_attr_get_type(attr) == TALLY_A_EVENT)
			nest = attr;
	if (!nest)
		return false;
	mnl_attr_for_each_nested(attr, nest) {
		switch (mnl_attr_get_type(attr)) {
		case TALLY_A_EVENT_GROUP:
			event->group = get_u16(attr);
			break;
		case TALLY_A_EVENT_KIND:
			event->kind = get_u32(attr);
			break;
		case TALLY_A_EVENT_RANK:
			event->rank = get_u32(attr);
			event->has_rank = true;
			break;
		case TALLY_A_EVENT_SEQ:
			event->seq = get_u32(attr);
			event->has_seq = true;
			break;
		case TALLY_A_EVENT_MASK:
			event->mask = get_u64(attr);
			event->has_mask = true;
			break;
		}
	}
	return true;
}
