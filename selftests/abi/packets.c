// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets of all kinds to the socket path.  Each is counted once, under its
 * reason, and changes nothing else.  The module's host is rank 0 in th1; rank 1
 * is this test, in th2.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tally/tag.h>

#include "abi.h"
#include "harness.h"

#define GROUP	5
#define WORDS	4
#define CELL	8	/* words */
#define MEMBERS	0x7
#define TRACING	"/sys/kernel/tracing/"

/* A packet, and the bytes of it that are sent. */
struct packet {
	struct tally_hdr	hdr;
	uint64_t		word[160];
	uint32_t		bytes;
};

FIXTURE(packets)
{
	struct nl		nl;
	struct tally_keys	keys;
	int			member;		/* 10.77.0.2 */
	int			stranger;	/* 10.77.0.99 */
	struct stats		group;
	struct stats		none;
};

FIXTURE_VARIANT(packets)
{
	const uint8_t	*key;
};

static const uint8_t secret[16] = "a secret of ours";

FIXTURE_VARIANT_ADD(packets, plain) {
};

FIXTURE_VARIANT_ADD(packets, keyed) {
	.key = secret,
};

static int udp_socket(const char *address, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	sin.sin_port = htons(port);
	inet_pton(AF_INET, address, &sin.sin_addr);
	return bind(fd, (void *)&sin, sizeof(sin)) ? -1 : fd;
}

FIXTURE_SETUP(packets)
{
	struct abi_group group = {
		.id = GROUP, .payload = 8 * CELL, .max_bytes = 8192,
		.gid = -1, .key = variant->key,
	};

	ASSERT_EQ(0, netns_enter("th1"));
	ASSERT_EQ(0, nl_open(&self->nl));
	group_do(&self->nl, TALLY_CMD_GROUP_DEL, GROUP);
	ASSERT_EQ(0, group_add(&self->nl, &group));
	ASSERT_EQ(0, member_add(&self->nl, GROUP, 0, "10.77.0.1", 0));
	ASSERT_EQ(0, member_add(&self->nl, GROUP, 1, "10.77.0.2", 0));
	ASSERT_EQ(0, member_add(&self->nl, GROUP, 2, "10.77.0.3", 0));
	ASSERT_EQ(0, group_do(&self->nl, TALLY_CMD_GROUP_UP, GROUP))
		TH_LOG("%s", self->nl.why);
	ASSERT_EQ(0, netns_enter("th2"));
	self->member = udp_socket("10.77.0.2", TALLY_PORT);
	self->stranger = udp_socket("10.77.0.99", 0);
	ASSERT_LE(0, self->member);
	ASSERT_LE(0, self->stranger);
	ASSERT_EQ(0, netns_enter(""));
	tally_keys_init(&self->keys, variant->key, GROUP, 1);
	ASSERT_EQ(0, stats_get(&self->nl, GROUP, &self->group));
	ASSERT_EQ(0, stats_get(&self->nl, 0, &self->none));
}

FIXTURE_TEARDOWN(packets)
{
	close(self->member);
	close(self->stranger);
	nl_close(&self->nl);
}

/* One that is taken: rank 1 adds to chunk 0 of collective 0, ranks 0 and 1. */
static struct packet good(void)
{
	struct packet p = {
		.hdr = {
			.version = TALLY_VERSION,
			.type = TALLY_CONTRIB,
			.lane = TALLY_LANE_W64,
			.flags = TALLY_F_RELIABLE,
			.group = tally_put16(GROUP),
			.rank = tally_put16(1),
			.epoch = tally_put32(1),
			.words = tally_put16(WORDS),
			.mask = tally_put64(0x3),
			.weight = tally_put32(1),
			.shape = tally_put32(0x12345678),
		},
		.word = { 1, 2, 3, 4 },
		.bytes = sizeof(struct tally_hdr) + 8 * WORDS,
	};

	return p;
}

static void seal(FIXTURE_DATA(packets) *self, struct packet *p)
{
	struct tally_scan scan = {};

	tally_scan_words(&scan, &self->keys, 0, p->word,
			 tally_get16(p->hdr.words) & 0xff);
	p->hdr.tag = tally_tag(&self->keys, &p->hdr, scan.hash);
}

static int send_from(int fd, const struct packet *p, const char *to)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	sin.sin_port = htons(TALLY_PORT);
	inet_pton(AF_INET, to, &sin.sin_addr);
	return sendto(fd, p, p->bytes, 0, (void *)&sin, sizeof(sin)) ==
	       (ssize_t)p->bytes ? 0 : -errno;
}

/* Sum of all drops and of what was taken: one more for each packet. */
static uint64_t handled(const struct stats *s)
{
	uint64_t n = s->counts[TALLY_COUNT_SOCKET_CONTRIB] +
		     s->counts[TALLY_COUNT_SOCKET_RESULT] +
		     s->counts[TALLY_COUNT_CONTROL];
	uint32_t i;

	for (i = 1; i < __TALLY_DROP_END; i++)
		n += s->drops[i];
	return n;
}

/* Counters once one more packet is in: the differences. */
static int await(FIXTURE_DATA(packets) *self, struct stats *group,
		 struct stats *none)
{
	uint64_t before = handled(&self->group) + handled(&self->none);
	struct stats g, n;
	uint32_t i;

	for (i = 0; i < 1000; i++) {
		if (stats_get(&self->nl, GROUP, &g) ||
		    stats_get(&self->nl, 0, &n))
			return -1;
		if (handled(&g) + handled(&n) > before)
			break;
		usleep(10000);
	}
	for (i = 0; i < __TALLY_DROP_END; i++) {
		group->drops[i] = g.drops[i] - self->group.drops[i];
		none->drops[i] = n.drops[i] - self->none.drops[i];
	}
	for (i = 0; i < __TALLY_COUNT_END; i++)
		group->counts[i] = g.counts[i] - self->group.counts[i];
	self->group = g;
	self->none = n;
	return 0;
}

/* Sent as it is, it is dropped for @reason, and nothing else is counted. */
static void dropped(struct __test_metadata *_metadata,
		    FIXTURE_DATA(packets) *self, int fd, const char *to,
		    const struct packet *p, bool of_group,
		    enum tally_drop reason)
{
	struct stats group, none;
	uint32_t i;

	ASSERT_EQ(0, send_from(fd, p, to));
	ASSERT_EQ(0, await(self, &group, &none));
	for (i = 1; i < __TALLY_DROP_END; i++) {
		ASSERT_EQ(of_group && i == reason, group.drops[i])
			TH_LOG("reason %u, expected %u", i, reason);
		ASSERT_EQ(!of_group && i == reason, none.drops[i])
			TH_LOG("reason %u, expected %u", i, reason);
	}
	ASSERT_EQ(0, group.counts[TALLY_COUNT_SOCKET_CONTRIB]);
}

#define DROPPED(p, reason) do {						\
	seal(self, (p));						\
	dropped(_metadata, self, self->member, "10.77.0.1", (p), true,	\
		(reason));						\
} while (0)

static void taken(struct __test_metadata *_metadata,
		  FIXTURE_DATA(packets) *self, struct packet *p,
		  enum tally_count count)
{
	struct stats group, none;
	uint32_t i;

	seal(self, p);
	ASSERT_EQ(0, send_from(self->member, p, "10.77.0.1"));
	ASSERT_EQ(0, await(self, &group, &none));
	for (i = 1; i < __TALLY_DROP_END; i++)
		ASSERT_EQ(0, group.drops[i]) TH_LOG("reason %u", i);
	ASSERT_EQ(1, group.counts[count]);
}

TEST_F(packets, contrib__taken_once)
{
	struct packet p = good();

	taken(_metadata, self, &p, TALLY_COUNT_SOCKET_CONTRIB);
	DROPPED(&p, TALLY_DROP_DUPLICATE);
	p.hdr.shape = tally_put32(1);
	DROPPED(&p, TALLY_DROP_MISMATCH);
	p = good();
	p.hdr.mask = tally_put64(MEMBERS);
	p.hdr.chunk = tally_put32(0);
	DROPPED(&p, TALLY_DROP_MISMATCH);
}

TEST_F(packets, length__wrong)
{
	struct packet p = good();

	p.bytes = 0;
	dropped(_metadata, self, self->member, "10.77.0.1", &p, false,
		TALLY_DROP_TRUNCATED);
	p.bytes = sizeof(p.hdr) - 1;
	dropped(_metadata, self, self->member, "10.77.0.1", &p, false,
		TALLY_DROP_TRUNCATED);
	p.bytes = sizeof(p.hdr);
	DROPPED(&p, TALLY_DROP_TRUNCATED);
	p.bytes = sizeof(p.hdr) + 8 * WORDS - 1;
	DROPPED(&p, TALLY_DROP_TRUNCATED);
	p.bytes = sizeof(p.hdr) + 8 * WORDS + 1;
	DROPPED(&p, TALLY_DROP_OVERSIZED);
	p.bytes = sizeof(p.hdr) + 8 * 150;
	DROPPED(&p, TALLY_DROP_OVERSIZED);
	/* More than the group's payload, and really there. */
	p = good();
	p.hdr.words = tally_put16(CELL + 1);
	p.bytes = sizeof(p.hdr) + 8 * (CELL + 1);
	DROPPED(&p, TALLY_DROP_OVERSIZED);
	/* After all that, a good one is still taken. */
	p = good();
	taken(_metadata, self, &p, TALLY_COUNT_SOCKET_CONTRIB);
}

TEST_F(packets, identity__wrong)
{
	struct packet p = good();

	p.hdr.version = 2;
	DROPPED(&p, TALLY_DROP_VERSION);
	p = good();
	p.hdr.type = 0;
	DROPPED(&p, TALLY_DROP_TYPE);
	p.hdr.type = 200;
	DROPPED(&p, TALLY_DROP_TYPE);
	p = good();
	p.hdr.group = tally_put16(GROUP + 1);
	seal(self, &p);
	dropped(_metadata, self, self->member, "10.77.0.1", &p, false,
		TALLY_DROP_GROUP);
	p = good();
	p.hdr.epoch = tally_put32(2);
	DROPPED(&p, TALLY_DROP_EPOCH);
}

TEST_F(packets, sender__wrong)
{
	struct packet p = good();

	/* Another member's rank, nobody's, one beyond all. */
	p.hdr.rank = tally_put16(2);
	DROPPED(&p, TALLY_DROP_MEMBER);
	p.hdr.rank = tally_put16(9);
	DROPPED(&p, TALLY_DROP_MEMBER);
	p.hdr.rank = tally_put16(64);
	DROPPED(&p, TALLY_DROP_MEMBER);
	/* Rank 0 is ours: nobody else sends its contributions. */
	p.hdr.rank = tally_put16(0);
	DROPPED(&p, TALLY_DROP_SPOOF);
	/* The right rank, from an address that is not a member's. */
	p = good();
	seal(self, &p);
	dropped(_metadata, self, self->stranger, "10.77.0.1", &p, true,
		TALLY_DROP_MEMBER);
	/* To an address of this host that is not the group's. */
	dropped(_metadata, self, self->member, "10.77.0.50", &p, true,
		TALLY_DROP_ADDRESS);
}

TEST_F(packets, field__out_of_range)
{
	struct packet p = good();

	p.hdr.lane = 0;
	DROPPED(&p, TALLY_DROP_LANE);
	p.hdr.lane = TALLY_LANE_RAW;
	DROPPED(&p, TALLY_DROP_LANE);
	p = good();
	p.hdr.weight = tally_put32(TALLY_WEIGHT_MAX + 1);
	DROPPED(&p, TALLY_DROP_MALFORMED);
	p = good();
	p.hdr.exponent = 3;
	DROPPED(&p, TALLY_DROP_MALFORMED);
	/* Two members' sum needs one bit, which this lane uses already. */
	p = good();
	p.hdr.lane = TALLY_LANE_I16;
	p.hdr.bias = tally_put32(1 << 14);
	p.word[2] = 0x8000ull << 32;
	DROPPED(&p, TALLY_DROP_MALFORMED);
	p = good();
	p.hdr.mask = tally_put64(0x5);
	DROPPED(&p, TALLY_DROP_PARTICIPANTS);
	p.hdr.mask = tally_put64(0xf);
	DROPPED(&p, TALLY_DROP_PARTICIPANTS);
	p = good();
	p.hdr.shard = tally_put16(2);
	DROPPED(&p, TALLY_DROP_MALFORMED);
	p.hdr.shard = tally_put16(1);
	DROPPED(&p, TALLY_DROP_OWNER);
	p = good();
	p.hdr.chunk = tally_put32(1000000);
	DROPPED(&p, TALLY_DROP_CHUNK);
}

TEST_F(packets, tag__wrong)
{
	struct packet p = good();

	seal(self, &p);
	p.word[3] ^= 1ull << 40;
	dropped(_metadata, self, self->member, "10.77.0.1", &p, true,
		TALLY_DROP_TAG);
	p = good();
	seal(self, &p);
	p.hdr.chunk = tally_put32(1);
	dropped(_metadata, self, self->member, "10.77.0.1", &p, true,
		TALLY_DROP_TAG);
	/* A control packet's is verified as well. */
	p = good();
	p.hdr.type = TALLY_PROBE;
	seal(self, &p);
	p.hdr.tag ^= 1;
	dropped(_metadata, self, self->member, "10.77.0.1", &p, true,
		TALLY_DROP_TAG);
}

TEST_F(packets, seq__beyond)
{
	struct packet p = good();

	/* Shard (-s) mod 2 is rank 0's. */
	p.hdr.seq = tally_put32((uint32_t)-2);
	DROPPED(&p, TALLY_DROP_STALE);
	p.hdr.seq = tally_put32(4);
	DROPPED(&p, TALLY_DROP_AHEAD);
	p.hdr.seq = tally_put32(0x7ffffffe);
	DROPPED(&p, TALLY_DROP_AHEAD);
	p.hdr.seq = tally_put32(2);
	taken(_metadata, self, &p, TALLY_COUNT_SOCKET_CONTRIB);
}

TEST_F(packets, contrib__late)
{
	struct packet p = good();

	p.hdr.flags = 0;
	p.hdr.time = tally_put16(tally_time_pack(1000));
	taken(_metadata, self, &p, TALLY_COUNT_SOCKET_CONTRIB);
	usleep(100000);
	p.hdr.chunk = tally_put32(1);
	DROPPED(&p, TALLY_DROP_LATE);
}

/* No process submitted anything yet. */
TEST_F(packets, result__before_submit)
{
	struct packet p = good();

	p.hdr.type = TALLY_RESULT;
	p.hdr.shard = tally_put16(1);
	DROPPED(&p, TALLY_DROP_AHEAD);
}

/* The answer comes to the member's own address and port. */
TEST_F(packets, probe__answered)
{
	struct pollfd poll_member = { .fd = self->member, .events = POLLIN };
	struct packet p = good(), answer;
	ssize_t n;

	while (recv(self->member, &answer, sizeof(answer), MSG_DONTWAIT) > 0)
		;
	p.hdr.type = TALLY_PROBE;
	p.hdr.words = 0;
	p.hdr.exponent = TALLY_EXP_NONE;
	p.bytes = sizeof(p.hdr);
	taken(_metadata, self, &p, TALLY_COUNT_CONTROL);
	ASSERT_EQ(1, poll(&poll_member, 1, 5000));
	n = recv(self->member, &answer, sizeof(answer), MSG_DONTWAIT);
	ASSERT_EQ((ssize_t)sizeof(answer.hdr), n);
	ASSERT_EQ(TALLY_PROBE_ACK, answer.hdr.type);
	ASSERT_EQ(tally_put16(GROUP), answer.hdr.group);
	ASSERT_EQ(tally_tag(&self->keys, &answer.hdr, 0), answer.hdr.tag);
}

/* Queues of control packets are bounded, and what is lost is counted. */
TEST_F(packets, control__flood)
{
	struct stats stats;
	struct packet p = good();
	uint64_t sum = 0;
	uint32_t i, n = 3000;

	p.hdr.type = TALLY_PROBE;
	p.hdr.words = 0;
	p.hdr.exponent = TALLY_EXP_NONE;
	p.bytes = sizeof(p.hdr);
	seal(self, &p);
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, send_from(self->member, &p, "10.77.0.1"));
	for (i = 0; i < 500 && sum < n; i++) {
		usleep(10000);
		ASSERT_EQ(0, stats_get(&self->nl, GROUP, &stats));
		sum = handled(&stats) - handled(&self->group);
	}
	ASSERT_LE(sum, n);
	ASSERT_LT(0, stats.counts[TALLY_COUNT_CONTROL]);
	p = good();
	self->group = stats;
	taken(_metadata, self, &p, TALLY_COUNT_SOCKET_CONTRIB);
}

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return ok;
}

/* People and trace-cmd read why, in words. */
TEST_F(packets, drop__is_traced)
{
	static char text[65536];
	struct packet p = good();
	int fd;

	ASSERT_TRUE(put(TRACING "trace", "\n"));
	ASSERT_TRUE(put(TRACING "events/tally/enable", "1"));
	taken(_metadata, self, &p, TALLY_COUNT_SOCKET_CONTRIB);
	DROPPED(&p, TALLY_DROP_DUPLICATE);
	ASSERT_TRUE(put(TRACING "events/tally/enable", "0"));
	fd = open(TRACING "trace", O_RDONLY | O_CLOEXEC);
	ASSERT_LT(0, read(fd, text, sizeof(text) - 1));
	close(fd);
	ASSERT_NE(NULL, strstr(text, "tally_contribution: group=5 rank=1 "
				     "seq=0 shard=0 chunk=0 words=4 "
				     "path=socket"));
	ASSERT_NE(NULL, strstr(text, "tally_drop: reason=duplicate group=5 "
				     "type=1 rank=1 "));
}

int main(int argc, char **argv)
{
	if (hosts_make(2, 1500) ||
	    !sh("ip -n th1 addr add 10.77.0.50/24 dev eth0 && "
		"ip -n th2 addr add 10.77.0.99/24 dev eth0")) {
		printf("Bail out! no network of namespaces\n");
		return 1;
	}
	return harness_run(argc, argv, hosts_remove);
}
