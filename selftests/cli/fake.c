// SPDX-License-Identifier: GPL-2.0-only
#include "fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define STATS_MAX	8
#define EVENTS_MAX	16

static const char *const cmd_names[__TALLY_CMD_END] = {
	[TALLY_CMD_GROUP_NEW] = "group_new",
	[TALLY_CMD_GROUP_SET] = "group_set",
	[TALLY_CMD_GROUP_DEL] = "group_del",
	[TALLY_CMD_GROUP_GET] = "group_get",
	[TALLY_CMD_GROUP_UP] = "group_up",
	[TALLY_CMD_GROUP_DOWN] = "group_down",
	[TALLY_CMD_MEMBER_NEW] = "member_new",
	[TALLY_CMD_MEMBER_DEL] = "member_del",
	[TALLY_CMD_STATS_GET] = "stats_get",
};

static const char *const attr_names[TALLY_A_GROUP_MAX + 1] = {
	[TALLY_A_GROUP_EPOCH] = "epoch",
	[TALLY_A_GROUP_PAYLOAD] = "payload",
	[TALLY_A_GROUP_WINDOW] = "window",
	[TALLY_A_GROUP_MAX_BYTES] = "max_bytes",
	[TALLY_A_GROUP_BOUND_US] = "bound_us",
	[TALLY_A_GROUP_SETTLE_US] = "settle_us",
	[TALLY_A_GROUP_TIMEOUT_US] = "timeout_us",
	[TALLY_A_GROUP_QUORUM] = "quorum",
	[TALLY_A_GROUP_GID] = "gid",
};

/**
 * struct request - what a message asks for
 * @group: as far as it is given
 * @member: as far as it is given
 */
struct request {
	struct group	group;
	struct member	member;
	bool		has_member;
};

/* All state; the opener hands out the only one. */
static struct {
	struct nl	nl;
	struct groups	groups;
	struct stats	stats[STATS_MAX];
	size_t		nr_stats;
	struct event	events[EVENTS_MAX];
	size_t		nr_events;
	char		*log;
	size_t		log_size;
	FILE		*log_file;
	bool		unloaded;
	int		info_error;
	struct tally_info info;
	uint64_t	now;
	unsigned int	fail_nth;
	/* The next message of this command and group gets this answer. */
	int		fail_cmd;
	uint32_t	fail_group;
	int		fail_error;
	char		fail_text[NL_WHY];
} fake;

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *fmt, ...)
{
	va_list args;

	if (!fake.log_file)
		fake.log_file = open_memstream(&fake.log, &fake.log_size);
	va_start(args, fmt);
	vfprintf(fake.log_file, fmt, args);
	va_end(args);
}

static void read_member(const struct nlattr *nest, struct member *m)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest) {
		switch (mnl_attr_get_type(attr)) {
		case TALLY_A_MEMBER_RANK:
			m->rank = mnl_attr_get_u32(attr);
			break;
		case TALLY_A_MEMBER_ADDR4:
			m->addr.family = AF_INET;
			memcpy(m->addr.bytes, mnl_attr_get_payload(attr), 4);
			break;
		case TALLY_A_MEMBER_ADDR6:
			m->addr.family = AF_INET6;
			memcpy(m->addr.bytes, mnl_attr_get_payload(attr), 16);
			break;
		case TALLY_A_MEMBER_PORT:
			m->port = mnl_attr_get_u16(attr);
			break;
		case TALLY_A_MEMBER_CAP:
			m->cap = mnl_attr_get_u32(attr);
			break;
		}
	}
}

static void read_group(const struct nlattr *nest, struct group *g)
{
	const struct nlattr *attr;
	uint16_t type;

	mnl_attr_for_each_nested(attr, nest) {
		type = mnl_attr_get_type(attr);
		g->has |= 1u << type;
		if (type == TALLY_A_GROUP_ID)
			g->val[type] = mnl_attr_get_u16(attr);
		else if (type == TALLY_A_GROUP_NAME)
			snprintf(g->name, sizeof(g->name), "%s",
				 mnl_attr_get_str(attr));
		else if (type == TALLY_A_GROUP_KEY)
			memcpy(g->key, mnl_attr_get_payload(attr), KEY_BYTES);
		else
			g->val[type] = mnl_attr_get_u32(attr);
	}
}

static void read_request(const struct nlmsghdr *nlh, struct request *r)
{
	const struct nlattr *attr;

	memset(r, 0, sizeof(*r));
	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attr) == TALLY_A_GROUP)
			read_group(attr, &r->group);
		if (mnl_attr_get_type(attr) == TALLY_A_MEMBER) {
			read_member(attr, &r->member);
			r->has_member = true;
		}
	}
}

static void note_request(int cmd, const struct request *r)
{
	char text[UNITS_TEXT];
	unsigned int attr;

	note("%s group=%u", cmd_names[cmd], group_id(&r->group));
	if (group_has(&r->group, TALLY_A_GROUP_NAME))
		note(" name=%s", r->group.name);
	for (attr = 0; attr <= TALLY_A_GROUP_MAX; attr++)
		if (attr_names[attr] && group_has(&r->group, attr))
			note(" %s=%u", attr_names[attr], r->group.val[attr]);
	if (group_has(&r->group, TALLY_A_GROUP_KEY))
		note(" key=%02x..%02x", r->group.key[0],
		     r->group.key[KEY_BYTES - 1]);
	if (r->has_member) {
		note(" rank=%u", r->member.rank);
		if (r->member.addr.family)
			note(" address=%s port=%u cap=%u",
			     units_addr_text(&r->member.addr, text,
					     sizeof(text)),
			     r->member.port, r->member.cap);
	}
	note("\n");
}

static void take_values(struct group *g, const struct group *from)
{
	unsigned int attr;

	for (attr = 0; attr <= TALLY_A_GROUP_GID; attr++)
		if (group_has(from, attr))
			g->val[attr] = from->val[attr];
	if (group_has(from, TALLY_A_GROUP_NAME))
		strcpy(g->name, from->name);
	if (group_has(from, TALLY_A_GROUP_KEY))
		g->keyed = true;
}

static int create(const struct group *from)
{
	struct group *g;

	if (groups_by_id(&fake.groups, group_id(from)))
		return -EEXIST;
	g = groups_add(&fake.groups);
	g->val[TALLY_A_GROUP_EPOCH] = 1;
	g->val[TALLY_A_GROUP_PAYLOAD] = 1344;
	g->val[TALLY_A_GROUP_WINDOW] = 4;
	g->val[TALLY_A_GROUP_MAX_BYTES] = 4 << 20;
	g->val[TALLY_A_GROUP_BOUND_US] = 20000;
	g->val[TALLY_A_GROUP_SETTLE_US] = 10000;
	g->val[TALLY_A_GROUP_TIMEOUT_US] = 5000000;
	take_values(g, from);
	return 0;
}

static int change(struct group *g, const struct request *r, int cmd,
		  char *why, size_t size)
{
	const uint32_t live = 1u << TALLY_A_GROUP_ID |
			      1u << TALLY_A_GROUP_BOUND_US |
			      1u << TALLY_A_GROUP_SETTLE_US |
			      1u << TALLY_A_GROUP_TIMEOUT_US |
			      1u << TALLY_A_GROUP_QUORUM |
			      1u << TALLY_A_GROUP_GID;
	struct member *m;

	if (g->up && (r->has_member || r->group.has & ~live)) {
		snprintf(why, size, "the group is up: take it down first");
		return -EBUSY;
	}
	switch (cmd) {
	case TALLY_CMD_GROUP_SET:
		take_values(g, &r->group);
		return 0;
	case TALLY_CMD_GROUP_UP:
		if (!g->nr_members) {
			snprintf(why, size, "the group has no members: add some");
			return -EINVAL;
		}
		g->up = true;
		return 0;
	case TALLY_CMD_GROUP_DOWN:
		g->up = false;
		return 0;
	case TALLY_CMD_GROUP_DEL:
		*g = fake.groups.at[--fake.groups.nr];
		memset(&fake.groups.at[fake.groups.nr], 0, sizeof(*g));
		return 0;
	case TALLY_CMD_MEMBER_NEW:
		m = group_insert_member(g, r->member.rank);
		if (!m)
			return -EEXIST;
		*m = r->member;
		return 0;
	case TALLY_CMD_MEMBER_DEL:
		if (!group_member(g, r->member.rank))
			return -ENOENT;
		group_remove_member(g, r->member.rank);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static void put_member(struct nlmsghdr *nlh, const struct member *m)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh,
						  (uint16_t)(m->rank + 1));

	mnl_attr_put_u32(nlh, TALLY_A_MEMBER_RANK, m->rank);
	if (m->addr.family == AF_INET)
		mnl_attr_put(nlh, TALLY_A_MEMBER_ADDR4, 4, m->addr.bytes);
	else
		mnl_attr_put(nlh, TALLY_A_MEMBER_ADDR6, 16, m->addr.bytes);
	mnl_attr_put_u16(nlh, TALLY_A_MEMBER_PORT, (uint16_t)m->port);
	mnl_attr_put_u32(nlh, TALLY_A_MEMBER_CAP, m->cap);
	if (m->local)
		mnl_attr_put(nlh, TALLY_A_MEMBER_LOCAL, 0, NULL);
	if (m->attached)
		mnl_attr_put(nlh, TALLY_A_MEMBER_ATTACHED, 0, NULL);
	if (m->stale)
		mnl_attr_put(nlh, TALLY_A_MEMBER_STALE, 0, NULL);
	mnl_attr_put_u32(nlh, TALLY_A_MEMBER_DONE, m->done);
	if (m->seen)
		mnl_attr_put_u32(nlh, TALLY_A_MEMBER_SEEN_MS, m->seen_ms);
	mnl_attr_nest_end(nlh, nest);
}

/* One group goes out in two messages, as a long one may. */
static int put_group(const struct group *g, nl_fn fn, void *data)
{
	uint32_t half = g->nr_members / 2, i, part;
	struct nlattr *nest, *members;
	struct nlmsghdr *nlh;
	unsigned int attr;
	char *buf = calloc(1, NL_BUFFER);
	int ret = MNL_CB_OK;

	for (part = 0; part < 2 && ret == MNL_CB_OK; part++) {
		nlh = nl_begin(buf, GENL_MIN_ID, 0, TALLY_CMD_GROUP_GET, 1);
		nest = mnl_attr_nest_start(nlh, TALLY_A_GROUP);
		mnl_attr_put_u16(nlh, TALLY_A_GROUP_ID,
				 (uint16_t)group_id(g));
		if (g->name[0])
			mnl_attr_put_strz(nlh, TALLY_A_GROUP_NAME, g->name);
		for (attr = 0; attr <= TALLY_A_GROUP_MAX; attr++)
			if (attr_names[attr] &&
			    (g->val[attr] || attr != TALLY_A_GROUP_QUORUM))
				mnl_attr_put_u32(nlh, (uint16_t)attr,
						 g->val[attr]);
		if (g->keyed)
			mnl_attr_put(nlh, TALLY_A_GROUP_KEYED, 0, NULL);
		if (g->up)
			mnl_attr_put(nlh, TALLY_A_GROUP_UP, 0, NULL);
		mnl_attr_put_u32(nlh, TALLY_A_GROUP_SEQ, g->seq);
		mnl_attr_put_u64(nlh, TALLY_A_GROUP_BYTES, g->bytes);
		members = mnl_attr_nest_start(nlh, TALLY_A_GROUP_MEMBERS);
		for (i = part ? half : 0; i < (part ? g->nr_members : half);
		     i++)
			put_member(nlh, &g->members[i]);
		mnl_attr_nest_end(nlh, members);
		mnl_attr_nest_end(nlh, nest);
		ret = fn(nlh, data);
	}
	free(buf);
	return ret;
}

static int put_stats(const struct stats *s, nl_fn fn, void *data)
{
	struct nlattr *nest, *counts;
	struct nlmsghdr *nlh;
	char buf[4096];
	int i;

	nlh = nl_begin(buf, GENL_MIN_ID, 0, TALLY_CMD_STATS_GET, 1);
	nest = mnl_attr_nest_start(nlh, TALLY_A_STATS);
	if (s->group)
		mnl_attr_put_u16(nlh, TALLY_A_STATS_GROUP,
				 (uint16_t)s->group);
	counts = mnl_attr_nest_start(nlh, TALLY_A_STATS_COUNTS);
	for (i = 1; i < STATS_COUNTS; i++)
		if (s->counts[i])
			mnl_attr_put_u64(nlh, (uint16_t)i, s->counts[i]);
	mnl_attr_nest_end(nlh, counts);
	counts = mnl_attr_nest_start(nlh, TALLY_A_STATS_DROPS);
	for (i = 1; i < STATS_COUNTS; i++)
		if (s->drops[i])
			mnl_attr_put_u64(nlh, (uint16_t)i, s->drops[i]);
	mnl_attr_nest_end(nlh, counts);
	mnl_attr_nest_end(nlh, nest);
	return fn(nlh, data);
}

static int dump(int cmd, nl_fn fn, void *data)
{
	size_t i;

	if (cmd == TALLY_CMD_GROUP_GET)
		for (i = 0; i < fake.groups.nr; i++)
			if (put_group(&fake.groups.at[i], fn, data) < 0)
				return -errno;
	if (cmd == TALLY_CMD_STATS_GET)
		for (i = 0; i < fake.nr_stats; i++)
			if (put_stats(&fake.stats[i], fn, data) < 0)
				return -errno;
	return 0;
}

/* Return: whether this message gets the answer that was ordered. */
static bool ordered(int cmd, uint32_t group, int *ret, char *why, size_t size)
{
	if (cmd != fake.fail_cmd ||
	    (fake.fail_group && fake.fail_group != group))
		return false;
	*ret = -fake.fail_error;
	snprintf(why, size, "%s", fake.fail_text);
	fake.fail_cmd = 0;
	return true;
}

static int fake_talk(struct nl *nl, struct nlmsghdr *req, nl_fn fn, void *data,
		     char *why, size_t size)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(req);
	struct request r;
	struct group *g;
	int ret;

	*why = 0;
	if ((req->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP) {
		if (ordered(genl->cmd, 0, &ret, why, size))
			return ret;
		return dump(genl->cmd, fn, data);
	}
	read_request(req, &r);
	note_request(genl->cmd, &r);
	if (fake.fail_nth && !--fake.fail_nth)
		return -EIO;
	if (ordered(genl->cmd, group_id(&r.group), &ret, why, size) && ret)
		return ret;
	if (genl->cmd == TALLY_CMD_GROUP_NEW)
		return create(&r.group);
	g = groups_by_id(&fake.groups, group_id(&r.group));
	return g ? change(g, &r, genl->cmd, why, size) : -ENOENT;
}

static int fake_listen(struct nl *nl)
{
	return 0;
}

static int fake_next(struct nl *nl, int timeout_ms, nl_fn fn, void *data)
{
	const struct event *e = fake.events;
	struct nlattr *nest;
	struct nlmsghdr *nlh;
	char buf[512];
	int ret;

	if (!fake.nr_events) {
		/* As if the time had passed. */
		fake.now += timeout_ms > 0 ? (uint64_t)timeout_ms : 0;
		return timeout_ms < 0 ? -EIO : 0;
	}
	fake.now += 250;
	nlh = nl_begin(buf, GENL_MIN_ID, 0, TALLY_CMD_EVENT, 1);
	nest = mnl_attr_nest_start(nlh, TALLY_A_EVENT);
	mnl_attr_put_u16(nlh, TALLY_A_EVENT_GROUP, (uint16_t)e->group);
	mnl_attr_put_u32(nlh, TALLY_A_EVENT_KIND, e->kind);
	if (e->has_rank)
		mnl_attr_put_u32(nlh, TALLY_A_EVENT_RANK, e->rank);
	if (e->has_seq)
		mnl_attr_put_u32(nlh, TALLY_A_EVENT_SEQ, e->seq);
	if (e->has_mask)
		mnl_attr_put_u64(nlh, TALLY_A_EVENT_MASK, e->mask);
	mnl_attr_nest_end(nlh, nest);
	ret = fn(nlh, data);
	memmove(fake.events, fake.events + 1,
		--fake.nr_events * sizeof(fake.events[0]));
	return ret < 0 ? -errno : 1;
}

static void fake_close(struct nl *nl)
{
}

int fake_nl_open(struct cli *cli)
{
	if (fake.unloaded)
		return cli_error(cli, "the kernel module is not loaded; modprobe tally, or see 'tally doctor'");
	fake.nl.talk = fake_talk;
	fake.nl.listen = fake_listen;
	fake.nl.next = fake_next;
	fake.nl.close = fake_close;
	cli->nl = &fake.nl;
	return CLI_OK;
}

int fake_info(struct tally_info *info)
{
	if (fake.unloaded)
		return -ENOENT;
	*info = fake.info;
	return -fake.info_error;
}

uint64_t fake_now(void)
{
	return fake.now;
}

const struct groups *fake_groups(void)
{
	return &fake.groups;
}

void fake_fail_nth(unsigned int nth)
{
	fake.fail_nth = nth;
}

void fake_reset(void)
{
	groups_free(&fake.groups);
	if (fake.log_file)
		fclose(fake.log_file);
	free(fake.log);
	memset(&fake, 0, sizeof(fake));
	fake.info.out_abi = TALLY_ABI_VERSION;
	fake.info.out_port = 31249;
	fake.info.out_features = TALLY_FEATURE_KFUNC | TALLY_FEATURE_IPV6;
	fake.now = 1700000000000ull;
	fake_net_reset();
}

static struct stats *stats_of(uint32_t group)
{
	size_t i;

	for (i = 0; i < fake.nr_stats; i++)
		if (fake.stats[i].group == group)
			return &fake.stats[i];
	if (i == STATS_MAX)
		return NULL;
	fake.stats[i].group = group;
	return &fake.stats[fake.nr_stats++];
}

static void print_log(FILE *out)
{
	if (!fake.log_file)
		return;
	fclose(fake.log_file);
	fputs(fake.log, out);
	free(fake.log);
	fake.log_file = NULL;
	fake.log = NULL;
}

/* fail CMD GROUP ERRNO [WORDS]; ERRNO 0: it succeeds, with words */
static const char *order_failure(int argc, char **argv)
{
	int i;

	if (argc < 4)
		return "fail CMD GROUP ERRNO [WORDS]";
	for (i = 0; i < __TALLY_CMD_END; i++)
		if (cmd_names[i] && !strcmp(cmd_names[i], argv[1]))
			fake.fail_cmd = i;
	fake.fail_group = (uint32_t)atoi(argv[2]);
	fake.fail_error = atoi(argv[3]);
	snprintf(fake.fail_text, sizeof(fake.fail_text), "%s",
		 argc > 4 ? argv[4] : "");
	return fake.fail_cmd ? NULL : "no such command";
}

/* member GROUP RANK [local] [attached] [stale] [done N] [seen MS] */
static const char *report_member(int argc, char **argv)
{
	struct member *m;
	struct group *g;
	int i;

	if (argc < 3)
		return "member GROUP RANK ...";
	g = groups_by_id(&fake.groups, (uint32_t)atoi(argv[1]));
	m = g ? group_member(g, (uint32_t)atoi(argv[2])) : NULL;
	if (!m)
		return "no such member";
	for (i = 3; i < argc; i++) {
		m->local |= !strcmp(argv[i], "local");
		m->attached |= !strcmp(argv[i], "attached");
		m->stale |= !strcmp(argv[i], "stale");
		if (!strcmp(argv[i], "done") && i + 1 < argc)
			m->done = (uint32_t)strtoul(argv[++i], NULL, 10);
		if (!strcmp(argv[i], "seen") && i + 1 < argc) {
			m->seen = true;
			m->seen_ms = (uint32_t)atoi(argv[++i]);
		}
	}
	return NULL;
}

/* event GROUP KIND RANK SEQ MASK, "-" for what is absent */
static const char *queue_event(int argc, char **argv)
{
	struct event *e = &fake.events[fake.nr_events];

	if (argc != 6 || fake.nr_events == EVENTS_MAX)
		return "event GROUP KIND RANK SEQ MASK";
	memset(e, 0, sizeof(*e));
	e->group = (uint32_t)atoi(argv[1]);
	e->kind = (uint32_t)atoi(argv[2]);
	e->has_rank = strcmp(argv[3], "-");
	e->rank = (uint32_t)atoi(argv[3]);
	e->has_seq = strcmp(argv[4], "-");
	e->seq = (uint32_t)strtoul(argv[4], NULL, 10);
	e->has_mask = strcmp(argv[5], "-");
	e->mask = strtoull(argv[5], NULL, 16);
	fake.nr_events++;
	return NULL;
}

const char *fake_command(FILE *out, int argc, char **argv)
{
	struct stats *s;
	struct group *g;

	if (!strcmp(argv[0], "log"))
		return print_log(out), NULL;
	if (!strcmp(argv[0], "fail"))
		return order_failure(argc, argv);
	if (!strcmp(argv[0], "member"))
		return report_member(argc, argv);
	if (!strcmp(argv[0], "event"))
		return queue_event(argc, argv);
	if (!strcmp(argv[0], "unload"))
		return fake.unloaded = true, NULL;
	if (!strcmp(argv[0], "reset"))
		return fake_reset(), NULL;
	if (!strcmp(argv[0], "info") && argc == 4) {
		fake.info.out_abi = (uint32_t)atoi(argv[1]);
		fake.info.out_features = (uint32_t)atoi(argv[2]);
		fake.info_error = atoi(argv[3]);
		return NULL;
	}
	if ((!strcmp(argv[0], "count") || !strcmp(argv[0], "drop")) &&
	    argc == 4 && atoi(argv[2]) < STATS_COUNTS) {
		s = stats_of((uint32_t)atoi(argv[1]));
		if (!s)
			return "too many groups";
		(argv[0][0] == 'c' ? s->counts : s->drops)[atoi(argv[2])] =
			strtoull(argv[3], NULL, 10);
		return NULL;
	}
	if (!strcmp(argv[0], "progress") && argc == 4) {
		g = groups_by_id(&fake.groups, (uint32_t)atoi(argv[1]));
		if (!g)
			return "no such group";
		g->seq = (uint32_t)strtoul(argv[2], NULL, 10);
		g->bytes = strtoull(argv[3], NULL, 10);
		return NULL;
	}
	switch (fake_net_command(argc, argv)) {
	case 0:
		return NULL;
	default:
		return "unknown word, or wrong arguments";
	}
}
