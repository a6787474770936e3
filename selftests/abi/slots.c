// SPDX-License-Identifier: GPL-2.0-only
/*
 * The vector file, played to the module: its ranks are local in th1, all
 * others are sockets in th2.  Every packet's verdict is read from the counters,
 * every slot from the RESULT that the owner sends.  `here` is a SUBMIT, and
 * ranks that a slot lacks in the end add zeros, so that it closes.
 *
 * Cases that are about time, move the owner's base or have lanes that SUBMIT
 * refuses are left to packets.c and to the engine's tests.  A mismatch aborts its collective: nothing is kept
 * after it.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "abi.h"
#include "cases.h"
#include "harness.h"

#define GROUPS_MAX	8
#define LOCALS_MAX	2
#define TRIES		5000	/* a millisecond each */
/* "ip -n" hides what is mounted below /sys. */
#define BPFFS		"/tmp/tally_slots"
#define PINNED		BPFFS "/host"

/**
 * struct play - who plays the cases
 * @c: the present one
 * @nl: netlink in th1
 * @local: local ranks
 * @locals: how many
 * @socket: by rank: the others
 * @before: counters after the last packet
 * @xdp: packets take that path
 * @aborted: the collective is
 * @why: what went wrong
 */
struct play {
	struct vcase	c;
	struct nl	nl;
	struct rank	local[LOCALS_MAX];
	uint32_t	locals;
	int		socket[TALLY_RANKS_MAX];
	struct stats	before;
	bool		xdp;
	bool		aborted;
	char		why[256];
};

static struct play play;

static bool wrong(struct play *p, uint32_t line, const char *what)
{
	snprintf(p->why, sizeof(p->why), "slots.txt:%u: case %s: %s", line,
		 p->c.name, what);
	return false;
}

static void address_of(const struct play *p, uint32_t rank, char *address)
{
	sprintf(address, "10.77.0.%u",
		p->c.g->rule.local >> rank & 1 ? 1 : 10 + rank);
}

static bool group_make(struct play *p)
{
	const struct tally_rule *rule = &p->c.g->rule;
	uint32_t ranks = tally_mask_count(rule->members), rank;
	struct abi_group group = {
		.id = rule->group, .epoch = rule->epoch,
		.payload = 8 * p->c.cell_words,
		.max_bytes = 8 * p->c.cell_words * rule->shard_chunks * ranks,
		.bound_us = CASE_LONG_US, .settle_us = CASE_LONG_US,
		.timeout_us = 2 * CASE_LONG_US, .gid = -1,
		.key = p->c.g->keyed ? p->c.g->key : NULL,
	};
	char address[32];
	int err;

	p->locals = 0;
	err = group_add(&p->nl, &group);
	for (rank = 0; !err && rank < TALLY_RANKS_MAX; rank++) {
		if (!(rule->members >> rank & 1))
			continue;
		address_of(p, rank, address);
		err = member_add_capped(&p->nl, rule->group, rank, address,
					rule->caps[rank]);
	}
	if (!err)
		err = group_do(&p->nl, TALLY_CMD_GROUP_UP, rule->group);
	if (err)
		return wrong(p, 0, p->nl.why);
	netns_enter("th1");
	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		if (!(rule->local >> rank & 1))
			continue;
		if (rank_attach(&p->local[p->locals], rule->group, rank))
			return wrong(p, 0, "a rank cannot attach");
		p->locals++;
	}
	netns_enter("");
	return true;
}

static void group_end(struct play *p)
{
	netns_enter("");
	while (p->locals)
		rank_close(&p->local[--p->locals]);
	group_do(&p->nl, TALLY_CMD_GROUP_DEL, p->c.g->rule.group);
}

/* Drops and contributions, of the group and of none. */
static bool counters(struct play *p, struct stats *stats)
{
	struct stats none;
	uint32_t i;

	if (stats_get(&p->nl, p->c.g->rule.group, stats) ||
	    stats_get(&p->nl, 0, &none))
		return false;
	/* No packet is dropped for "KEEP": the sum of all others. */
	stats->drops[0] = 0;
	for (i = 1; i < __TALLY_DROP_END; i++) {
		stats->drops[i] += none.drops[i];
		stats->drops[0] += stats->drops[i];
	}
	return true;
}

static bool socket_open(struct play *p, uint32_t rank)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	char address[32];
	int fd, room = 1 << 20;

	if (p->socket[rank] >= 0)
		return true;
	sprintf(address, "10.77.0.%u", 10 + rank);
	inet_pton(AF_INET, address, &sin.sin_addr);
	sin.sin_port = htons(TALLY_PORT);
	netns_enter("th2");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	netns_enter("");
	if (bind(fd, (void *)&sin, sizeof(sin)))
		return false;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	p->socket[rank] = fd;
	return true;
}

/* Send as it is, and see it counted once, under its verdict. */
static bool play_net(struct play *p, const struct packet *packet)
{
	enum tally_count count = p->xdp ? TALLY_COUNT_XDP_CONTRIB :
					  TALLY_COUNT_SOCKET_CONTRIB;
	struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_port = htons(TALLY_PORT),
	};
	uint32_t rank = tally_get16(packet->hdr.rank), i;
	uint64_t kept, dropped;
	struct stats now;
	char said[64];

	if (rank >= TALLY_RANKS_MAX || p->c.g->rule.local >> rank & 1)
		rank = 1;
	inet_pton(AF_INET, "10.77.0.1", &sin.sin_addr);
	if (!socket_open(p, rank) ||
	    sendto(p->socket[rank], &packet->hdr, packet->bytes, 0,
		   (void *)&sin, sizeof(sin)) != (ssize_t)packet->bytes)
		return wrong(p, packet->line, "cannot be sent");
	for (i = 0; i < TRIES; i++) {
		if (!counters(p, &now))
			return wrong(p, packet->line, "no counters");
		kept = now.counts[count] - p->before.counts[count];
		dropped = now.drops[0] - p->before.drops[0];
		if (kept + dropped)
			break;
		usleep(1000);
	}
	if (kept + dropped == 1 &&
	    (packet->why == TALLY_KEEP ? kept :
	     now.drops[packet->why] - p->before.drops[packet->why])) {
		p->before = now;
		return true;
	}
	snprintf(said, sizeof(said), "%llu kept, %llu dropped, expected %s",
		 (unsigned long long)kept, (unsigned long long)dropped,
		 vectors_drop_name(packet->why));
	for (i = 1; i < __TALLY_DROP_END; i++) {
		if (now.drops[i] != p->before.drops[i])
			sprintf(said + strlen(said), ", was %s",
				vectors_drop_name(i));
	}
	p->before = now;
	return wrong(p, packet->line, said);
}

/* Put what the case has of @rank's contributions into its cells. */
static void fill_cells(const struct play *p, const struct rank *rank,
		       const struct tally_layout *layout)
{
	const struct packet *packet;
	struct tally_hdr *cell;
	uint32_t i, at;

	for (i = 0; i < layout->chunks; i++)
		memset(tx_cell(rank, layout->seq, i), 0, sizeof(*cell));
	for (i = 0; i < p->c.packet_count; i++) {
		packet = &p->c.packets[i];
		if (!packet->here ||
		    tally_get16(packet->hdr.rank) != rank->geo.rank ||
		    tally_get32(packet->hdr.seq) != layout->seq)
			continue;
		at = tally_layout_first(layout, tally_get16(packet->hdr.shard));
		at += tally_get32(packet->hdr.chunk);
		cell = tx_cell(rank, layout->seq, at);
		memcpy(cell, &packet->hdr, packet->bytes);
	}
}

/* SUBMIT @rank's collectives up to @seq; its chunks for here are added now. */
static bool submit(struct play *p, struct rank *rank, uint32_t seq)
{
	uint64_t local = p->c.g->rule.local, want;
	struct tally_layout layout;
	struct stats now;
	uint32_t i, tries;

	while (rank->next <= seq) {
		struct tally_submit submit = {
			.op = TALLY_OP_ALL_REDUCE,
			.lane = p->c.lane[rank->next],
			.participants = p->c.participants[rank->next],
		};
		uint32_t n = tally_mask_count(submit.participants);

		if (!n)
			return wrong(p, 0, "nothing is known of a seq");
		submit.words = case_words(&p->c, rank->next);
		tally_layout_init(&layout, submit.op, submit.participants,
				  rank->next, submit.words, p->c.cell_words, 0);
		fill_cells(p, rank, &layout);
		want = p->before.counts[TALLY_COUNT_LOCAL_CONTRIB];
		for (i = 0; i < n; i++) {
			if (local >> tally_shard_owner(submit.participants, n,
						       rank->next, i) & 1)
				want += tally_layout_count(&layout, i);
		}
		if (rank_submit(rank, &submit))
			return wrong(p, 0, "SUBMIT fails");
		for (tries = 0; tries < TRIES; tries++) {
			if (!counters(p, &now))
				return wrong(p, 0, "no counters");
			p->before = now;
			if (now.counts[TALLY_COUNT_LOCAL_CONTRIB] == want)
				break;
			usleep(1000);
		}
		if (tries == TRIES)
			return wrong(p, 0, "SUBMIT adds nothing");
	}
	return true;
}

static struct rank *local_rank(struct play *p, uint32_t number)
{
	uint32_t i;

	for (i = 0; i < p->locals; i++) {
		if (p->local[i].geo.rank == number)
			return &p->local[i];
	}
	return NULL;
}

/* Zeros from all who are not in the slot's sum: it is full. */
static bool complete(struct play *p, const struct slot *slot)
{
	uint32_t seq = slot->slot.seq, rank;
	uint64_t participants = slot->slot.participants;
	struct packet zeros = {
		.line = slot->line,
		.bytes = sizeof(zeros.hdr),
		.hdr = {
			.version = TALLY_VERSION,
			.type = TALLY_CONTRIB,
			.lane = slot->slot.lane,
			.group = tally_put16(p->c.g->rule.group),
			.epoch = tally_put32(p->c.g->rule.epoch),
			.seq = tally_put32(seq),
			.chunk = tally_put32(slot->chunk),
			.shard = tally_put16(case_shard(slot)),
			.exponent = TALLY_EXP_NONE,
			.incast = TALLY_OP_ALL_REDUCE,
			.time = tally_put16(tally_time_pack(CASE_LONG_US)),
			.mask = tally_put64(participants),
			.shape = tally_put32(case_shape(&p->c, seq)),
		},
	};

	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		struct rank *local = local_rank(p, rank);

		if (!(participants >> rank & 1))
			continue;
		if (local && !submit(p, local, seq))
			return false;
		if (local || slot->slot.mask >> rank & 1)
			continue;
		zeros.hdr.rank = tally_put16(rank);
		zeros.hdr.tag = case_tag(&p->c, &zeros);
		if (!play_net(p, &zeros))
			return false;
	}
	return true;
}

/* The next packet that a member receives, whatever it is. */
static bool receive(const struct play *p, uint32_t rank, struct packet *packet)
{
	struct pollfd in = { .fd = p->socket[rank], .events = POLLIN };
	ssize_t n;

	if (poll(&in, 1, 10000) != 1)
		return false;
	n = recv(in.fd, &packet->hdr, PACKET_MAX, MSG_DONTWAIT);
	packet->bytes = n < 0 ? 0 : n;
	return n >= (ssize_t)sizeof(packet->hdr);
}

static bool is_result(const struct slot *slot, const struct tally_hdr *hdr)
{
	return hdr->type == TALLY_RESULT &&
	       tally_get32(hdr->seq) == slot->slot.seq &&
	       tally_get16(hdr->rank) == slot->owner &&
	       tally_get32(hdr->chunk) == slot->chunk &&
	       tally_get16(hdr->shard) == case_shard(slot);
}

/* Does the owner's RESULT say what the slot does? */
static bool check_slot(struct play *p, const struct slot *slot,
		       const struct packet *result)
{
	const struct tally_hdr *hdr = &result->hdr;
	const struct tally_slot *want = &slot->slot;

	if (tally_get64(hdr->mask) != want->participants)
		return wrong(p, slot->line, "mask differs");
	if (hdr->lane != want->lane || hdr->flags != want->flags ||
	    tally_get32(hdr->shape) != case_shape(&p->c, want->seq))
		return wrong(p, slot->line, "header differs");
	if (tally_get32(hdr->bias) != want->bias ||
	    tally_get32(hdr->weight) != want->weight ||
	    hdr->exponent != want->exponent)
		return wrong(p, slot->line, "scale differs");
	if (tally_get16(hdr->words) != want->words ||
	    result->bytes != sizeof(*hdr) + 8u * want->words ||
	    memcmp(result->word, slot->data, 8 * want->words))
		return wrong(p, slot->line, "payload differs");
	if (hdr->tag != case_tag(&p->c, result))
		return wrong(p, slot->line, "tag is not the packet's");
	return true;
}

/* All slots' RESULTs, in any order, at a member that is not here. */
static bool play_results(struct play *p)
{
	static struct packet packet;
	bool seen[CASE_SLOTS] = {};
	uint32_t i, left = p->c.slot_count;
	uint64_t remote;

	if (p->aborted)
		return true;
	for (i = 0; i < p->c.slot_count; i++) {
		if (!complete(p, &p->c.slots[i]))
			return false;
	}
	while (left) {
		for (i = 0; seen[i]; i++)
			;
		remote = p->c.slots[i].slot.participants & ~p->c.g->rule.local;
		if (!receive(p, __builtin_ctzll(remote), &packet))
			return wrong(p, p->c.slots[i].line, "no RESULT comes");
		for (i = 0; i < p->c.slot_count; i++) {
			if (seen[i] || !is_result(&p->c.slots[i], &packet.hdr))
				continue;
			if (!check_slot(p, &p->c.slots[i], &packet))
				return false;
			seen[i] = true;
			left--;
		}
	}
	return true;
}

static bool play_packets(struct play *p)
{
	struct packet *packet;
	uint32_t i;

	p->aborted = false;
	for (i = 0; i < p->c.packet_count; i++) {
		packet = &p->c.packets[i];
		if (packet->why == TALLY_DROP_MISMATCH)
			p->aborted = true;
		if (packet->why == TALLY_KEEP && p->aborted)
			continue;
		if (!packet->here) {
			if (!play_net(p, packet))
				return false;
		} else if (!submit(p, local_rank(p,
					tally_get16(packet->hdr.rank)),
				   tally_get32(packet->hdr.seq))) {
			return false;
		}
	}
	return true;
}

/* RESULTs of the case before are nobody's now. */
static void drain(struct play *p)
{
	static struct packet packet;
	uint32_t i;

	for (i = 0; i < TALLY_RANKS_MAX; i++) {
		while (p->socket[i] >= 0 &&
		       recv(p->socket[i], &packet.hdr, PACKET_MAX,
			    MSG_DONTWAIT) >= 0)
			;
	}
}

static bool play_case(struct play *p)
{
	bool ok;
	uint32_t i;

	for (i = 0; i < TALLY_RANKS_MAX; i++) {
		if (p->c.g->rule.members & ~p->c.g->rule.local & 1ull << i &&
		    !socket_open(p, i))
			return wrong(p, 0, "no socket for a member");
	}
	drain(p);
	ok = group_make(p) && counters(p, &p->before) && play_packets(p) &&
	     play_results(p);
	group_end(p);
	return ok;
}

FIXTURE(slots)
{
};

FIXTURE_VARIANT(slots)
{
	bool	xdp;
};

FIXTURE_VARIANT_ADD(slots, socket) {
};

FIXTURE_VARIANT_ADD(slots, xdp) {
	.xdp = true,
};

FIXTURE_SETUP(slots)
{
	if (variant->xdp)
		ASSERT_TRUE(sh("mkdir -p " BPFFS " && mount -t bpf bpf " BPFFS
			       " && bpftool prog loadall " BPF_OBJECT " " PINNED
			       " && ip -force -n th1 link set dev eth0 xdpdrv "
			       "pinned " PINNED "/tally_frags"));
}

FIXTURE_TEARDOWN(slots)
{
	if (variant->xdp)
		sh("ip -force -n th1 link set dev eth0 xdp off");
}

TEST_F(slots, vectors)
{
	static struct vectors_group groups[GROUPS_MAX];
	uint32_t n = 0, played = 0, packets = 0;
	struct play *p = &play;
	struct vectors v;

	p->xdp = variant->xdp;
	memset(p->socket, -1, sizeof(p->socket));
	ASSERT_EQ(0, netns_enter("th1"));
	ASSERT_EQ(0, nl_open(&p->nl));
	ASSERT_EQ(0, netns_enter(""));
	vectors_open(&v, "slots.txt");
	while (vectors_next(&v)) {
		if (vectors_is(&v, "group")) {
			ASSERT_GT(GROUPS_MAX, n);
			vectors_group_read(&v, &groups[n++]);
			continue;
		}
		case_read(&p->c, &v, groups, n);
		if (p->c.apart)
			continue;
		EXPECT_TRUE(play_case(p)) TH_LOG("%s", p->why);
		played++;
		packets += p->c.packet_count;
	}
	vectors_close(&v);
	nl_close(&p->nl);
	/* The file has 87 cases. */
	ASSERT_LE(70, played);
	ASSERT_LE(500, packets);
}

static void clean_up(void)
{
	hosts_remove();
	sh("! mountpoint -q " BPFFS " || umount " BPFFS);
}

/* Ranks' addresses in th2 are 10.77.0.10 and on. */
int main(int argc, char **argv)
{
	if (hosts_make(2, 9100) ||
	    !sh("seq -f 'addr add 10.77.0.%%g/24 dev eth0' 10 73 | "
		"ip -n th2 -batch -")) {
		printf("Bail out! no network of namespaces\n");
		return 1;
	}
	return harness_run(argc, argv, clean_up);
}
