// SPDX-License-Identifier: GPL-2.0-only
/* Configuration: what is accepted, what is refused and in which words. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local.h"
#include "harness.h"

FIXTURE(net)
{
	struct nl	nl;
};

FIXTURE_SETUP(net)
{
	ASSERT_EQ(0, netns_fresh());
	ASSERT_EQ(0, nl_open(&self->nl));
}

FIXTURE_TEARDOWN(net)
{
	nl_close(&self->nl);
}

/* The kernel refused with @err, and said something with @word in it. */
#define ASSERT_REFUSED(err, word, expression) do {			\
	int __err = (expression);					\
	ASSERT_EQ(-(err), __err) TH_LOG("%s", self->nl.why);		\
	ASSERT_NE(NULL, strstr(self->nl.why, word))			\
		TH_LOG("it says '%s'", self->nl.why);			\
} while (0)

static int set_u32(struct nl *nl, uint8_t cmd, uint16_t attr, uint32_t value)
{
	struct req req;

	req_begin(&req, cmd, 0);
	req_group(&req, GROUP);
	mnl_attr_put_u32(req.nlh, attr, value);
	req_end(&req);
	return nl_talk(nl, &req, NULL, NULL);
}

/**
 * struct seen - what GET says of one group
 * @groups: how many there were
 * @id: of the last one
 * @value: u32 attributes by number
 * @members: how many
 * @local: mask of those that are here
 * @attached: mask
 * @up: flag
 * @keyed: flag
 * @key: the key was told
 */
struct seen {
	uint32_t	groups;
	uint32_t	id;
	uint32_t	value[TALLY_A_GROUP_MAX + 1];
	uint32_t	members;
	uint64_t	local;
	uint64_t	attached;
	bool		up;
	bool		keyed;
	bool		key;
};

static void see_member(struct seen *seen, const struct nlattr *nest)
{
	const struct nlattr *attr;
	uint32_t rank = 0;

	seen->members++;
	mnl_attr_for_each_nested(attr, nest) {
		int type = mnl_attr_get_type(attr);

		if (type == TALLY_A_MEMBER_RANK)
			rank = mnl_attr_get_u32(attr);
		if (type == TALLY_A_MEMBER_LOCAL)
			seen->local |= 1ull << rank;
		if (type == TALLY_A_MEMBER_ATTACHED)
			seen->attached |= 1ull << rank;
	}
}

static int see(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr, *member;
	struct seen *seen = data;

	seen->groups++;
	mnl_attr_for_each_nested(attr, (const struct nlattr *)
		mnl_nlmsg_get_payload_offset(nlh, sizeof(uint32_t))) {
		int type = mnl_attr_get_type(attr);

		if (type == TALLY_A_GROUP_ID)
			seen->id = mnl_attr_get_u16(attr);
		else if (type == TALLY_A_GROUP_UP)
			seen->up = true;
		else if (type == TALLY_A_GROUP_KEYED)
			seen->keyed = true;
		else if (type == TALLY_A_GROUP_KEY)
			seen->key = true;
		else if (type == TALLY_A_GROUP_MEMBERS)
			mnl_attr_for_each_nested(member, attr)
				see_member(seen, member);
		else if (mnl_attr_get_payload_len(attr) == 4)
			seen->value[type] = mnl_attr_get_u32(attr);
	}
	return MNL_CB_OK;
}

static int get(struct nl *nl, uint16_t id, struct seen *seen)
{
	struct req req;

	memset(seen, 0, sizeof(*seen));
	req_begin(&req, TALLY_CMD_GROUP_GET, 0);
	req_group(&req, id);
	req_end(&req);
	return nl_talk(nl, &req, see, seen);
}

TEST_F(net, group_new__defaults)
{
	struct abi_group group = { .id = GROUP, .gid = -1 };
	struct seen seen;

	ASSERT_EQ(0, group_add(&self->nl, &group));
	ASSERT_EQ(0, get(&self->nl, GROUP, &seen));
	ASSERT_EQ(1, seen.groups);
	ASSERT_EQ(GROUP, seen.id);
	ASSERT_EQ(1, seen.value[TALLY_A_GROUP_EPOCH]);
	ASSERT_EQ(1344, seen.value[TALLY_A_GROUP_PAYLOAD]);
	ASSERT_EQ(4, seen.value[TALLY_A_GROUP_WINDOW]);
	ASSERT_EQ(4 << 20, seen.value[TALLY_A_GROUP_MAX_BYTES]);
	ASSERT_EQ(20000, seen.value[TALLY_A_GROUP_BOUND_US]);
	ASSERT_EQ(5000000, seen.value[TALLY_A_GROUP_TIMEOUT_US]);
	ASSERT_EQ(0, seen.value[TALLY_A_GROUP_GID]);
	ASSERT_EQ(0, seen.members);
	ASSERT_FALSE(seen.up);
	ASSERT_FALSE(seen.keyed);
}

TEST_F(net, group_new__refused)
{
	struct abi_group group = { .id = GROUP, .gid = -1 };
	struct seen seen;
	struct req req;

	group.payload = 100;
	ASSERT_REFUSED(EINVAL, "payload", group_add(&self->nl, &group));
	group.payload = 9024;
	ASSERT_REFUSED(EINVAL, "payload", group_add(&self->nl, &group));
	group.payload = 0;
	group.window = 5;
	ASSERT_REFUSED(EINVAL, "window", group_add(&self->nl, &group));
	group.window = 2;
	ASSERT_REFUSED(EINVAL, "window", group_add(&self->nl, &group));
	group.window = 128;
	ASSERT_REFUSED(EINVAL, "window", group_add(&self->nl, &group));
	group.window = 0;
	group.max_bytes = 0x80000000;
	ASSERT_REFUSED(EINVAL, "max_bytes", group_add(&self->nl, &group));
	group.max_bytes = 0;
	group.bound_us = 6000000;
	ASSERT_REFUSED(EINVAL, "bound", group_add(&self->nl, &group));
	group.bound_us = 0;
	group.timeout_us = 0xffffffff;
	ASSERT_REFUSED(EINVAL, "timeout", group_add(&self->nl, &group));
	group.timeout_us = 0;
	group.gid = 0xffffffff;
	ASSERT_REFUSED(EINVAL, "gid", group_add(&self->nl, &group));
	group.gid = -1;
	group.id = 0;
	ASSERT_EQ(-ERANGE, group_add(&self->nl, &group));
	ASSERT_REFUSED(EOPNOTSUPP, "quorum",
		       set_u32(&self->nl, TALLY_CMD_GROUP_NEW,
			       TALLY_A_GROUP_QUORUM, 2));
	/* Reported only, unknown, of another type. */
	ASSERT_EQ(-EINVAL, set_u32(&self->nl, TALLY_CMD_GROUP_NEW,
				   TALLY_A_GROUP_SEQ, 2));
	ASSERT_EQ(-EINVAL, set_u32(&self->nl, TALLY_CMD_GROUP_NEW,
				   __TALLY_A_GROUP_END, 2));
	ASSERT_EQ(-ERANGE, set_u32(&self->nl, TALLY_CMD_GROUP_NEW,
				   TALLY_A_GROUP_KEY, 2));
	/* No id; nothing at all. */
	req_begin(&req, TALLY_CMD_GROUP_NEW, 0);
	req_nest(&req, TALLY_A_GROUP);
	req_end(&req);
	ASSERT_REFUSED(EINVAL, "id", nl_talk(&self->nl, &req, NULL, NULL));
	req_begin(&req, TALLY_CMD_GROUP_NEW, 0);
	ASSERT_EQ(-EINVAL, nl_talk(&self->nl, &req, NULL, NULL));
	req_begin(&req, __TALLY_CMD_END, 0);
	ASSERT_EQ(-EOPNOTSUPP, nl_talk(&self->nl, &req, NULL, NULL));
	/* None of this left a group. */
	ASSERT_REFUSED(ENOENT, "add it first", get(&self->nl, GROUP, &seen));
}

TEST_F(net, group_new__twice)
{
	struct abi_group group = { .id = GROUP, .gid = -1 };

	ASSERT_EQ(0, group_add(&self->nl, &group));
	ASSERT_REFUSED(EEXIST, "delete it first",
		       group_add(&self->nl, &group));
	ASSERT_EQ(0, group_do(&self->nl, TALLY_CMD_GROUP_DEL, GROUP));
	ASSERT_REFUSED(ENOENT, "no group 9",
		       group_do(&self->nl, TALLY_CMD_GROUP_DEL, GROUP));
	ASSERT_EQ(0, group_add(&self->nl, &group));
}

TEST_F(net, key__is_never_told)
{
	static const uint8_t key[16] = "0123456789abcde";
	struct abi_group group = { .id = GROUP, .gid = -1, .key = key };
	struct seen seen;

	ASSERT_EQ(0, group_add(&self->nl, &group));
	ASSERT_EQ(0, get(&self->nl, GROUP, &seen));
	ASSERT_TRUE(seen.keyed);
	ASSERT_FALSE(seen.key);
}

TEST_F(net, member_new__refused)
{
	struct abi_group group = { .id = GROUP, .gid = -1 };
	struct nl *nl = &self->nl;
	struct seen seen;
	struct req req;

	ASSERT_REFUSED(ENOENT, "no group 9",
		       member_add(nl, GROUP, 0, "127.0.0.1", 0));
	ASSERT_EQ(0, group_add(nl, &group));
	ASSERT_EQ(-ERANGE, member_add(nl, GROUP, 64, "127.0.0.1", 0));
	ASSERT_REFUSED(EINVAL, "one address",
		       member_add(nl, GROUP, 0, "nowhere", 0));
	ASSERT_REFUSED(EINVAL, "unicast",
		       member_add(nl, GROUP, 0, "0.0.0.0", 0));
	ASSERT_REFUSED(EINVAL, "unicast",
		       member_add(nl, GROUP, 0, "224.1.2.3", 0));
	ASSERT_REFUSED(EINVAL, "unicast",
		       member_add(nl, GROUP, 0, "255.255.255.255", 0));
	ASSERT_REFUSED(EINVAL, "unicast",
		       member_add(nl, GROUP, 0, "ff02::1", 0));
	ASSERT_REFUSED(EINVAL, "link-local",
		       member_add(nl, GROUP, 0, "fe80::1", 0));
	ASSERT_REFUSED(EINVAL, "unicast",
		       member_add(nl, GROUP, 0, "::ffff:10.0.0.1", 0));
	/* No rank; both addresses. */
	req_begin(&req, TALLY_CMD_MEMBER_NEW, 0);
	req_group(&req, GROUP);
	req_end(&req);
	req_nest(&req, TALLY_A_MEMBER);
	mnl_attr_put(req.nlh, TALLY_A_MEMBER_ADDR4, 4, "\x7f\0\0\1");
	req_end(&req);
	ASSERT_REFUSED(EINVAL, "rank", nl_talk(nl, &req, NULL, NULL));
	req_begin(&req, TALLY_CMD_MEMBER_NEW, 0);
	req_group(&req, GROUP);
	req_end(&req);
	req_nest(&req, TALLY_A_MEMBER);
	mnl_attr_put_u32(req.nlh, TALLY_A_MEMBER_RANK, 0);
	mnl_attr_put(req.nlh, TALLY_A_MEMBER_ADDR4, 4, "\x7f\0\0\1");
	mnl_attr_put(req.nlh, TALLY_A_MEMBER_ADDR6, 16, "0123456789abcdef");
	req_end(&req);
	ASSERT_REFUSED(EINVAL, "one address", nl_talk(nl, &req, NULL, NULL));
	ASSERT_EQ(0, get(nl, GROUP, &seen));
	ASSERT_EQ(0, seen.members);

	ASSERT_EQ(0, member_add(nl, GROUP, 0, "127.0.0.1", 0));
	ASSERT_REFUSED(EEXIST, "delete it first",
		       member_add(nl, GROUP, 0, "127.0.0.1", 0));
}

TEST_F(net, group_up__refused)
{
	struct abi_group group = { .id = GROUP, .gid = -1, .payload = 8896 };
	struct nl *nl = &self->nl;

	ASSERT_EQ(0, group_add(nl, &group));
	ASSERT_REFUSED(EINVAL, "no members",
		       group_do(nl, TALLY_CMD_GROUP_UP, GROUP));
	ASSERT_EQ(0, member_add(nl, GROUP, 0, "192.0.2.1", 0));
	ASSERT_REFUSED(EADDRNOTAVAIL, "local",
		       group_do(nl, TALLY_CMD_GROUP_UP, GROUP));
	ASSERT_EQ(0, member_add(nl, GROUP, 1, "::1", 0));
	ASSERT_REFUSED(EINVAL, "IPv4 and IPv6",
		       group_do(nl, TALLY_CMD_GROUP_UP, GROUP));
}

TEST_F(net, group_up__two_addresses_here)
{
	struct abi_group group = { .id = GROUP, .gid = -1, .max_bytes = 4096 };
	struct nl *nl = &self->nl;
	struct seen seen;

	ASSERT_EQ(0, group_add(nl, &group));
	ASSERT_EQ(0, member_add(nl, GROUP, 0, "127.0.0.1", 0));
	ASSERT_EQ(0, member_add(nl, GROUP, 1, "127.0.0.2", 0));
	ASSERT_REFUSED(EADDRINUSE, "one address",
		       group_do(nl, TALLY_CMD_GROUP_UP, GROUP));
	/* One of them with another port is a process's: not ours. */
	ASSERT_EQ(0, group_do(nl, TALLY_CMD_GROUP_DEL, GROUP));
	ASSERT_EQ(0, group_add(nl, &group));
	ASSERT_EQ(0, member_add(nl, GROUP, 0, "127.0.0.1", 4000));
	ASSERT_EQ(0, member_add(nl, GROUP, 1, "127.0.0.1", 0));
	ASSERT_EQ(0, group_do(nl, TALLY_CMD_GROUP_UP, GROUP));
	ASSERT_EQ(0, get(nl, GROUP, &seen));
	ASSERT_EQ(2, seen.local);
}

TEST_F(net, group_up__path_too_narrow)
{
	struct abi_group group = { .id = GROUP, .gid = -1, .payload = 8896,
			       .max_bytes = 65536 };
	struct nl *nl = &self->nl;

	ASSERT_TRUE(sh("ip link add d0 mtu 1500 type dummy && "
		       "ip addr add 10.9.0.1/24 dev d0 && "
		       "ip link set d0 up"));
	ASSERT_EQ(0, group_add(nl, &group));
	ASSERT_EQ(0, member_add(nl, GROUP, 0, "10.9.0.1", 0));
	ASSERT_EQ(0, member_add(nl, GROUP, 1, "10.9.0.2", 0));
	ASSERT_REFUSED(EMSGSIZE, "payload to 1408",
		       group_do(nl, TALLY_CMD_GROUP_UP, GROUP));
	ASSERT_EQ(0, set_u32(nl, TALLY_CMD_GROUP_SET, TALLY_A_GROUP_PAYLOAD,
			     1408));
	ASSERT_EQ(0, group_do(nl, TALLY_CMD_GROUP_UP, GROUP));
	ASSERT_STREQ("", nl->why);
}

TEST_F(net, group_up__no_route_is_a_warning)
{
	ASSERT_EQ(0, local_group(&self->nl, 64, 4096));
	ASSERT_NE(NULL, strstr(self->nl.why, "no route to rank 2"));
}

TEST_F(net, group_up__port_taken)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct seen seen;

	sin.sin_port = htons(TALLY_PORT);
	ASSERT_EQ(0, bind(fd, (void *)&sin, sizeof(sin)));
	ASSERT_REFUSED(EADDRINUSE, "31249",
		       local_group(&self->nl, 64, 4096));
	ASSERT_EQ(0, get(&self->nl, GROUP, &seen));
	ASSERT_FALSE(seen.up);
	close(fd);
	ASSERT_EQ(0, group_do(&self->nl, TALLY_CMD_GROUP_UP, GROUP));
	/* The port is held while a group is up, and given back. */
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ASSERT_EQ(-1, bind(fd, (void *)&sin, sizeof(sin)));
	ASSERT_EQ(0, group_do(&self->nl, TALLY_CMD_GROUP_DOWN, GROUP));
	ASSERT_EQ(0, bind(fd, (void *)&sin, sizeof(sin)));
	close(fd);
}

TEST_F(net, group_up__memory_limit)
{
	struct rank rank;
	struct seen seen;

	ASSERT_TRUE(sh("sysctl -qw net.tally.mem_max=1000000"));
	ASSERT_REFUSED(ENOBUFS, "mem_max",
		       local_group(&self->nl, 1344, 1 << 20));
	ASSERT_EQ(0, get(&self->nl, GROUP, &seen));
	ASSERT_FALSE(seen.up);
	/* Enough for the group, not for a process's cells. */
	ASSERT_TRUE(sh("sysctl -qw net.tally.mem_max=40000000"));
	ASSERT_EQ(0, group_do(&self->nl, TALLY_CMD_GROUP_UP, GROUP))
		TH_LOG("%s", self->nl.why);
	ASSERT_TRUE(sh("sysctl -qw net.tally.mem_max=1000000"));
	ASSERT_EQ(-ENOBUFS, rank_attach(&rank, GROUP, 0));
	ASSERT_TRUE(sh("sysctl -qw net.tally.mem_max=100000000"));
	ASSERT_EQ(0, rank_attach(&rank, GROUP, 0));
	rank_close(&rank);
}

TEST_F(net, group_set__while_up)
{
	struct nl *nl = &self->nl;
	struct rank rank;
	struct seen seen;

	ASSERT_EQ(0, local_group(nl, 64, 4096));
	ASSERT_REFUSED(EBUSY, "take it down",
		       set_u32(nl, TALLY_CMD_GROUP_SET, TALLY_A_GROUP_PAYLOAD,
			       128));
	ASSERT_REFUSED(EBUSY, "take it down",
		       set_u32(nl, TALLY_CMD_GROUP_SET, TALLY_A_GROUP_EPOCH,
			       2));
	ASSERT_REFUSED(EBUSY, "take it down",
		       member_add(nl, GROUP, 3, "127.0.0.1", 0));
	ASSERT_EQ(0, set_u32(nl, TALLY_CMD_GROUP_SET, TALLY_A_GROUP_BOUND_US,
			     123456));
	ASSERT_EQ(0, set_u32(nl, TALLY_CMD_GROUP_SET, TALLY_A_GROUP_SETTLE_US,
			     54321));
	ASSERT_REFUSED(EINVAL, "bound",
		       set_u32(nl, TALLY_CMD_GROUP_SET,
			       TALLY_A_GROUP_TIMEOUT_US, 1000));
	ASSERT_EQ(0, rank_attach(&rank, GROUP, 0));
	ASSERT_EQ(123456, rank.geo.out_bound_us);
	ASSERT_EQ(0, get(nl, GROUP, &seen));
	ASSERT_TRUE(seen.up);
	ASSERT_EQ(3, seen.members);
	ASSERT_EQ(3, seen.local);
	ASSERT_EQ(1, seen.attached);
	ASSERT_EQ(64, seen.value[TALLY_A_GROUP_PAYLOAD]);
	ASSERT_EQ(54321, seen.value[TALLY_A_GROUP_SETTLE_US]);
	rank_close(&rank);
}

/* A process whose group goes away is told, and can go on with another. */
TEST_F(net, group_down__attached)
{
	struct tally_submit submit = {
		.op = TALLY_OP_BARRIER, .participants = NEAR,
	};
	struct tally_detach detach = { .size = sizeof(detach) };
	struct tally_completion out;
	struct rank rank;

	ASSERT_EQ(0, local_group(&self->nl, 64, 4096));
	ASSERT_EQ(0, rank_attach(&rank, GROUP, 0));
	ASSERT_EQ(0, rank_submit(&rank, &submit));
	ASSERT_EQ(0, group_do(&self->nl, TALLY_CMD_GROUP_DOWN, GROUP));
	ASSERT_EQ(-ENODEV, rank_wait(&rank, submit.seq, &out));
	ASSERT_EQ(-ENODEV, rank_submit(&rank, &submit));
	rank.tx[0] = 1;
	ASSERT_EQ(0, group_do(&self->nl, TALLY_CMD_GROUP_UP, GROUP));
	ASSERT_EQ(-ENODEV, rank_submit(&rank, &submit));
	ASSERT_EQ(0, ioctl(rank.fd, TALLY_IOC_DETACH, &detach));
	rank_close(&rank);
	ASSERT_EQ(0, rank_attach(&rank, GROUP, 0));
	ASSERT_EQ(0, group_do(&self->nl, TALLY_CMD_GROUP_DEL, GROUP));
	ASSERT_EQ(-ENODEV, rank_submit(&rank, &submit));
	rank_close(&rank);
}

/* 64 members make the longest message; three groups make a dump. */
TEST_F(net, group_get__dump)
{
	struct abi_group group = { .gid = -1, .max_bytes = 4096 };
	struct nl *nl = &self->nl;
	struct seen seen = {};
	struct req req;
	uint32_t rank;

	for (group.id = 1; group.id <= 3; group.id++) {
		ASSERT_EQ(0, group_add(nl, &group));
		for (rank = 0; rank < 64; rank++)
			ASSERT_EQ(0, member_add(nl, group.id, rank,
						"2001:db8::1", 0));
	}
	req_begin(&req, TALLY_CMD_GROUP_GET, NLM_F_DUMP);
	ASSERT_EQ(0, nl_talk(nl, &req, see, &seen));
	ASSERT_EQ(3, seen.groups);
	ASSERT_EQ(192, seen.members);
	ASSERT_EQ(0, get(nl, 2, &seen));
	ASSERT_EQ(64, seen.members);
}

/**
 * struct events - notifications that came
 * @n: how many
 * @kind: of each
 * @rank: of each
 */
struct events {
	uint32_t	n;
	uint32_t	kind[16];
	uint32_t	rank[16];
};

static int take_event(const struct nlmsghdr *nlh, void *data)
{
	struct events *events = data;
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, (const struct nlattr *)
		mnl_nlmsg_get_payload_offset(nlh, sizeof(uint32_t))) {
		if (mnl_attr_get_type(attr) == TALLY_A_EVENT_KIND)
			events->kind[events->n % 16] = mnl_attr_get_u32(attr);
		if (mnl_attr_get_type(attr) == TALLY_A_EVENT_RANK)
			events->rank[events->n % 16] = mnl_attr_get_u32(attr);
	}
	events->n++;
	return MNL_CB_OK;
}

TEST_F(net, event__order)
{
	static const uint32_t kinds[] = {
		TALLY_EVENT_UP, TALLY_EVENT_ATTACH, TALLY_EVENT_ERROR,
		TALLY_EVENT_DETACH, TALLY_EVENT_DOWN,
	};
	struct tally_submit submit = {
		.op = TALLY_OP_BARRIER, .participants = NEAR,
		.timeout_us = 100000,
	};
	struct timeval limit = { .tv_sec = 10 };
	struct tally_completion out;
	struct events events = {};
	struct nl listener;
	struct rank rank;
	char buf[8192];
	uint32_t i;

	ASSERT_EQ(0, nl_open(&listener));
	ASSERT_EQ(0, mnl_socket_setsockopt(listener.sock,
					   NETLINK_ADD_MEMBERSHIP,
					   &listener.group,
					   sizeof(listener.group)));
	setsockopt(mnl_socket_get_fd(listener.sock), SOL_SOCKET, SO_RCVTIMEO,
		   &limit, sizeof(limit));
	ASSERT_EQ(0, local_group(&self->nl, 64, 4096));
	ASSERT_EQ(0, rank_attach(&rank, GROUP, 1));
	ASSERT_EQ(0, rank_submit(&rank, &submit));
	ASSERT_EQ(0, rank_wait(&rank, submit.seq, &out));
	ASSERT_EQ(-ETIMEDOUT, out.status);
	rank_close(&rank);
	ASSERT_EQ(0, group_do(&self->nl, TALLY_CMD_GROUP_DOWN, GROUP));
	while (events.n < 5) {
		ssize_t n = mnl_socket_recvfrom(listener.sock, buf,
						sizeof(buf));

		ASSERT_LT(0, n);
		ASSERT_LT(0, mnl_cb_run(buf, n, 0, 0, take_event, &events));
	}
	for (i = 0; i < 5; i++)
		ASSERT_EQ(kinds[i], events.kind[i]) TH_LOG("event %u", i);
	ASSERT_EQ(1, events.rank[1]);
	ASSERT_EQ(1, events.rank[2]);
	ASSERT_EQ(1, events.rank[3]);
	nl_close(&listener);
}

/* Run @what as that user in a child; its return value. */
static int as(uid_t uid, gid_t gid, int (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (setgroups(0, NULL) || setresgid(gid, gid, gid) ||
		    setresuid(uid, uid, uid))
			_exit(255);
		_exit(-what());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -255;
}

static int attach_first(void)
{
	struct rank rank;
	int err = rank_attach(&rank, GROUP, 0);

	if (!err)
		rank_close(&rank);
	return err;
}

static int read_groups(void)
{
	struct seen seen;
	struct nl nl;
	int err = nl_open(&nl);

	return err ? err : get(&nl, GROUP, &seen);
}

static int take_down(void)
{
	struct nl nl;
	int err = nl_open(&nl);

	return err ? err : group_do(&nl, TALLY_CMD_GROUP_DOWN, GROUP);
}

static int set_limit(void)
{
	int fd = open("/proc/sys/net/tally/mem_max", O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : 0;
}

TEST_F(net, permission__of_users)
{
	struct nl *nl = &self->nl;

	ASSERT_EQ(0, local_group(nl, 64, 4096));
	ASSERT_EQ(0, as(0, 0, attach_first));
	ASSERT_EQ(-EPERM, as(65534, 65534, attach_first));
	ASSERT_EQ(-EPERM, as(65534, 1234, attach_first));
	ASSERT_EQ(0, as(65534, 65534, read_groups));
	ASSERT_EQ(-EPERM, as(65534, 65534, take_down));
	ASSERT_EQ(0, set_u32(nl, TALLY_CMD_GROUP_SET, TALLY_A_GROUP_GID,
			     1234));
	ASSERT_EQ(0, as(65534, 1234, attach_first));
	ASSERT_EQ(-EPERM, as(65534, 65534, attach_first));
	/* Who administers the namespace may always. */
	ASSERT_EQ(0, as(0, 65534, attach_first));
}

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return ok;
}

/* A user's own namespace is the user's to configure, but not its limit. */
static int own_namespace(void)
{
	struct nl nl;
	int err;

	/* Else the files below are root's. */
	if (prctl(PR_SET_DUMPABLE, 1) || unshare(CLONE_NEWUSER))
		return -errno;
	if (!put("/proc/self/setgroups", "deny") ||
	    !put("/proc/self/gid_map", "0 65534 1") ||
	    !put("/proc/self/uid_map", "0 65534 1"))
		return -ENOSYS;
	err = netns_fresh();
	if (!err)
		err = nl_open(&nl);
	if (!err)
		err = local_group(&nl, 64, 4096);
	if (!err)
		err = attach_first();
	if (!err && set_limit() == 0)
		err = -EISDIR;
	return err;
}

/* No capability in the first one carries over. */
static int someone_elses(void)
{
	if (unshare(CLONE_NEWUSER))
		return -errno;
	return take_down();
}

TEST_F(net, permission__user_namespaces)
{
	ASSERT_EQ(0, local_group(&self->nl, 64, 4096));
	ASSERT_EQ(-EPERM, as(65534, 65534, someone_elses));
	ASSERT_EQ(0, as(65534, 65534, own_namespace));
}

TEST_HARNESS_MAIN
