// SPDX-License-Identifier: GPL-2.0-only
/*
 * Collectives between four hosts, over the socket path, and with XDP.  Every
 * value is checked, on every host.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "abi.h"
#include "harness.h"

#define HOSTS	4
#define GROUP	7
#define WORDS	5000
/* "ip -n" hides what is mounted below /sys. */
#define BPFFS	"/tmp/tally_reduce"
#define PINNED	BPFFS "/host"

FIXTURE(hosts)
{
	struct nl	nl[HOSTS];
	struct rank	rank[HOSTS];
};

FIXTURE_VARIANT(hosts)
{
	bool		v6;
	uint32_t	payload;
	const uint8_t	*key;
	bool		xdp;
};

static const uint8_t secret[16] = "sixteen secrets";

FIXTURE_VARIANT_ADD(hosts, ipv4) {
	.payload = 1408,
};

FIXTURE_VARIANT_ADD(hosts, ipv6) {
	.v6 = true, .payload = 1344,
};

FIXTURE_VARIANT_ADD(hosts, jumbo) {
	.payload = 8896,
};

FIXTURE_VARIANT_ADD(hosts, keyed) {
	.payload = 1408, .key = secret,
};

/* Frames of 1,408 bytes come in one piece, longer ones in several. */
FIXTURE_VARIANT_ADD(hosts, xdp) {
	.payload = 1408, .xdp = true,
};

FIXTURE_VARIANT_ADD(hosts, xdp_jumbo) {
	.payload = 8896, .xdp = true, .key = secret,
};

FIXTURE_VARIANT_ADD(hosts, xdp_ipv6) {
	.v6 = true, .payload = 4096, .xdp = true,
};

/* Attach the program to all hosts, or detach it; it is loaded once. */
static bool set_xdp(bool on)
{
	uint32_t i;

	if (on && access(PINNED, F_OK) &&
	    !sh("mkdir -p " BPFFS " && mount -t bpf bpf " BPFFS " && "
		"bpftool prog loadall " BPF_OBJECT " " PINNED))
		return false;
	for (i = 1; i <= HOSTS; i++) {
		if (!sh("ip -force -n th%u link set dev eth0 %s", i, on ?
			"xdpdrv pinned " PINNED "/tally_frags" : "xdp off"))
			return false;
	}
	return true;
}

static void barrier(struct __test_metadata *_metadata,
		    FIXTURE_DATA(hosts) *self)
{
	struct tally_submit submit = { .op = TALLY_OP_BARRIER };
	struct tally_completion out;
	uint32_t i;

	for (i = 0; i < HOSTS; i++)
		ASSERT_EQ(0, rank_submit(&self->rank[i], &submit));
	for (i = 0; i < HOSTS; i++) {
		ASSERT_EQ(0, rank_wait(&self->rank[i], self->rank[i].next - 1,
				       &out));
		ASSERT_EQ(0, out.status);
	}
}

FIXTURE_SETUP(hosts)
{
	struct abi_group group = {
		.id = GROUP, .payload = variant->payload, .gid = -1,
		.max_bytes = 256 * 1024, .bound_us = 3000000,
		/* An emulated owner is slow, not silent. */
		.settle_us = 3000000,
		.timeout_us = 10000000, .key = variant->key,
	};
	char name[16], address[32];
	uint32_t i, rank;

	if (variant->xdp)
		ASSERT_TRUE(set_xdp(true));
	for (i = 0; i < HOSTS; i++) {
		host_name(name, i + 1);
		ASSERT_EQ(0, netns_enter(name));
		ASSERT_EQ(0, nl_open(&self->nl[i]));
		/* A test that failed may have left it. */
		group_do(&self->nl[i], TALLY_CMD_GROUP_DEL, GROUP);
		ASSERT_EQ(0, group_add(&self->nl[i], &group));
		for (rank = 0; rank < HOSTS; rank++) {
			host_address(address, rank + 1, variant->v6);
			ASSERT_EQ(0, member_add(&self->nl[i], GROUP, rank,
						address, 0));
		}
		ASSERT_EQ(0, group_do(&self->nl[i], TALLY_CMD_GROUP_UP, GROUP))
			TH_LOG("%s", self->nl[i].why);
		ASSERT_EQ(0, rank_attach(&self->rank[i], GROUP, i));
	}
	netns_enter("");
	/* Neighbours are found now, not within some bound. */
	barrier(_metadata, self);
}

FIXTURE_TEARDOWN(hosts)
{
	uint32_t i;

	for (i = 0; i < HOSTS; i++) {
		rank_close(&self->rank[i]);
		group_do(&self->nl[i], TALLY_CMD_GROUP_DEL, GROUP);
		nl_close(&self->nl[i]);
	}
	if (variant->xdp)
		set_xdp(false);
}

static uint64_t value_of(uint32_t host, uint32_t round, uint32_t word)
{
	return (host + 1) * 0x9e3779b97f4a7c15ull ^
	       (round * 1000003ull + word) * 0xd6e8feb86659fd93ull;
}

static void put_values(struct rank *rank, uint32_t host, uint32_t round,
		       uint32_t words)
{
	uint64_t *value = malloc(8 * words);
	uint32_t i;

	for (i = 0; i < words; i++)
		value[i] = value_of(host, round, i);
	tx_put(rank, value, words);
	free(value);
}

/* How many words of the result are not the sum over hosts. */
static uint32_t wrong_words(const struct rank *rank, uint32_t seq,
			    uint32_t round, uint32_t words)
{
	uint32_t i, host, wrong = 0, per = rank->geo.out_cell_words;

	for (i = 0; i < words; i++) {
		const struct tally_hdr *cell = result_cell(rank, seq, i / per);
		uint64_t sum = 0;

		for (host = 0; host < HOSTS; host++)
			sum += value_of(host, round, i);
		wrong += cell_words(cell)[i % per] != sum;
	}
	return wrong;
}

static void check_all_reduce(struct __test_metadata *_metadata,
			     FIXTURE_DATA(hosts) *self, uint32_t flags)
{
	struct tally_completion out;
	uint32_t i, round, seq;

	for (round = 0; round < 6; round++) {
		for (i = 0; i < HOSTS; i++) {
			struct tally_submit submit = {
				.op = TALLY_OP_ALL_REDUCE,
				.lane = TALLY_LANE_W64,
				.flags = flags, .words = WORDS, .weight = 1,
				.user_data = round,
			};

			put_values(&self->rank[i], i, round, WORDS);
			ASSERT_EQ(0, rank_submit(&self->rank[i], &submit));
		}
		for (i = 0; i < HOSTS; i++) {
			seq = self->rank[i].next - 1;
			ASSERT_EQ(0, rank_wait(&self->rank[i], seq, &out));
			ASSERT_EQ(0, out.status);
			ASSERT_EQ(round, out.user_data);
			ASSERT_EQ(0xf, out.mask_all)
				TH_LOG("round %u host %u any %llx partial %u void %u late %llx close %u us elapsed %u us",
				       round, i, out.mask_any, out.partial,
				       out.voided, out.late, out.close_us,
				       out.elapsed_us);
			ASSERT_EQ(0xf, out.mask_any);
			ASSERT_EQ(0, out.partial);
			ASSERT_EQ(0, wrong_words(&self->rank[i], seq, round,
						 WORDS));
		}
	}
}

TEST_F(hosts, all_reduce__bounded)
{
	check_all_reduce(_metadata, self, 0);
}

TEST_F(hosts, all_reduce__reliable)
{
	struct stats stats;

	check_all_reduce(_metadata, self, TALLY_SUBMIT_RELIABLE);
	ASSERT_EQ(0, stats_get(&self->nl[0], GROUP, &stats));
	if (variant->xdp) {
		ASSERT_LT(0, stats.counts[TALLY_COUNT_XDP_CONTRIB]);
		ASSERT_LT(0, stats.counts[TALLY_COUNT_XDP_RESULT]);
		ASSERT_EQ(0, stats.counts[TALLY_COUNT_SOCKET_CONTRIB]);
		ASSERT_EQ(0, stats.counts[TALLY_COUNT_SOCKET_RESULT]);
	} else {
		ASSERT_LT(0, stats.counts[TALLY_COUNT_SOCKET_CONTRIB]);
		ASSERT_LT(0, stats.counts[TALLY_COUNT_SOCKET_RESULT]);
		ASSERT_EQ(0, stats.counts[TALLY_COUNT_XDP_CONTRIB]);
	}
	ASSERT_LT(0, stats.counts[TALLY_COUNT_SENT]);
	ASSERT_EQ(0, stats.counts[TALLY_COUNT_SEND_ERRORS]);
	ASSERT_EQ(0, stats.drops[TALLY_DROP_TAG]);
	ASSERT_EQ(0, stats.drops[TALLY_DROP_MEMBER]);
}

TEST_F(hosts, all_gather__every_part_everywhere)
{
	uint32_t i, host, word, per = self->rank[0].geo.out_cell_words;
	uint32_t words = per + 5, part = 2, wrong = 0;
	struct tally_completion out;

	for (i = 0; i < HOSTS; i++) {
		struct tally_submit submit = {
			.op = TALLY_OP_ALL_GATHER, .lane = TALLY_LANE_RAW,
			.words = words, .weight = 1,
		};

		put_values(&self->rank[i], i, 0, words);
		ASSERT_EQ(0, rank_submit(&self->rank[i], &submit));
	}
	for (i = 0; i < HOSTS; i++) {
		struct rank *rank = &self->rank[i];

		ASSERT_EQ(0, rank_wait(rank, rank->next - 1, &out));
		ASSERT_EQ(0, out.status);
		for (host = 0; host < HOSTS; host++) {
			for (word = 0; word < words; word++) {
				const struct tally_hdr *cell;

				cell = result_cell(rank, rank->next - 1,
						   host * part + word / per);
				wrong += cell_words(cell)[word % per] !=
					 value_of(host, 0, word);
			}
		}
		ASSERT_EQ(0, wrong);
	}
}

TEST_F(hosts, barrier__ends_when_all_are_there)
{
	struct tally_submit submit = { .op = TALLY_OP_BARRIER };
	struct tally_completion out;
	struct tally_wait wait = { .size = sizeof(wait) };
	uint32_t i;

	for (i = 0; i < HOSTS - 1; i++)
		ASSERT_EQ(0, rank_submit(&self->rank[i], &submit));
	wait.seq = self->rank[0].next - 1;
	wait.deadline_ns = now_ns() + 300000000;
	wait.completion = (uintptr_t)&out;
	wait.completion_size = sizeof(out);
	ASSERT_EQ(-1, ioctl(self->rank[0].fd, TALLY_IOC_WAIT, &wait));
	ASSERT_EQ(ETIME, errno);
	ASSERT_EQ(0, rank_submit(&self->rank[i], &submit));
	for (i = 0; i < HOSTS; i++) {
		ASSERT_EQ(0, rank_wait(&self->rank[i], self->rank[i].next - 1,
				       &out));
		ASSERT_EQ(0, out.status);
	}
}

/* A host that says nothing is left out at the bound, and all know it. */
TEST_F(hosts, all_reduce__closes_without_a_silent_host)
{
	struct tally_completion out;
	uint64_t began = now_ns();
	uint32_t i;

	for (i = 0; i < HOSTS - 1; i++) {
		struct tally_submit submit = {
			.op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
			.words = 600, .weight = 1, .bound_us = 1000000,
		};

		put_values(&self->rank[i], i, 0, 600);
		ASSERT_EQ(0, rank_submit(&self->rank[i], &submit));
	}
	for (i = 0; i < HOSTS - 1; i++) {
		ASSERT_EQ(0, rank_wait(&self->rank[i], self->rank[i].next - 1,
				       &out));
		ASSERT_EQ(0, out.status);
		ASSERT_EQ(0x7, out.mask_all);
		ASSERT_EQ(0x7, out.mask_any);
		ASSERT_EQ(out.chunks, out.partial);
	}
	ASSERT_GT(5000000000ull, now_ns() - began);
}

static void clean_up(void)
{
	hosts_remove();
	sh("[ ! -e " PINNED " ] || umount " BPFFS);
}

/* One network for all tests: making it takes longer than they do. */
int main(int argc, char **argv)
{
	if (hosts_make(HOSTS, 9000)) {
		printf("Bail out! no network of namespaces\n");
		return 1;
	}
	return harness_run(argc, argv, clean_up);
}
