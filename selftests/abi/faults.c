// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every allocation of every command fails once.  What failed has changed
 * nothing: the same command succeeds afterwards.  Leaks are found by the guest.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "local.h"
#include "harness.h"

#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define MOST		2000

static int nth_fd = -1;

/* The @nth allocation of this thread from now on fails; 0: none. */
static void fail_nth(unsigned int nth)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%u", nth);

	if (pwrite(nth_fd, text, n, 0) != n)
		_exit(1);
}

/* Whether it did. */
static bool has_failed(void)
{
	char text[16] = "";

	if (pread(nth_fd, text, sizeof(text) - 1, 0) <= 0)
		_exit(1);
	return text[0] == '0';
}

FIXTURE(faults)
{
	struct nl	nl;
	struct rank	rank;
};

FIXTURE_SETUP(faults)
{
	struct timeval limit = { .tv_sec = 10 };

	/* Opened now: later that would take the fault itself. */
	nth_fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	if (nth_fd < 0)
		SKIP(return, "this kernel has no fault injection");
	/* Allocations that may sleep are most of ours. */
	ASSERT_TRUE(sh("cd /sys/kernel/debug/failslab && "
		       "echo N >ignore-gfp-wait && echo 0 >verbose"));
	ASSERT_EQ(0, netns_fresh());
	ASSERT_EQ(0, nl_open(&self->nl));
	setsockopt(mnl_socket_get_fd(self->nl.sock), SOL_SOCKET, SO_RCVTIMEO,
		   &limit, sizeof(limit));
	self->rank.fd = -1;
}

FIXTURE_TEARDOWN(faults)
{
	rank_close(&self->rank);
	nl_close(&self->nl);
}

/*
 * Do @what with the first allocation failing, then the second and so on, until
 * none is left to fail.  @undo makes it possible again.
 */
#define EACH_FAULT(what, undo) do {					\
	unsigned int __n, __failed = 0;					\
	bool __hit = true;						\
	for (__n = 1; __hit && __n < MOST;				\
	     __n += __n < 64 ? 1 : 5) {					\
		int __err;						\
		fail_nth(__n);						\
		__err = (what);						\
		__hit = has_failed();					\
		fail_nth(0);						\
		__failed += __err < 0;					\
		ASSERT_TRUE(__err == 0 || __err == -ENOMEM ||		\
			    __err == -ENOBUFS || __err == -ENFILE)	\
			TH_LOG("allocation %u: %d %s", __n, __err,	\
			       self->nl.why);				\
		ASSERT_TRUE(__hit || !__err);				\
		undo;							\
	}								\
	ASSERT_FALSE(__hit);						\
	ASSERT_LT(0, __failed);						\
} while (0)

static int open_close(void)
{
	int fd = open("/dev/tally", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

TEST_F(faults, open__any_allocation)
{
	EACH_FAULT(open_close(), (void)0);
}

TEST_F(faults, group_new__any_allocation)
{
	struct abi_group group = { .id = GROUP, .gid = -1 };

	EACH_FAULT(group_add(&self->nl, &group),
		   group_do(&self->nl, TALLY_CMD_GROUP_DEL, GROUP));
	ASSERT_EQ(0, group_add(&self->nl, &group));
}

TEST_F(faults, group_up__any_allocation)
{
	ASSERT_EQ(0, local_group(&self->nl, 64, 512));
	ASSERT_EQ(0, group_do(&self->nl, TALLY_CMD_GROUP_DOWN, GROUP));
	EACH_FAULT(group_do(&self->nl, TALLY_CMD_GROUP_UP, GROUP),
		   group_do(&self->nl, TALLY_CMD_GROUP_DOWN, GROUP));
	ASSERT_EQ(0, group_do(&self->nl, TALLY_CMD_GROUP_UP, GROUP));
	ASSERT_EQ(0, rank_attach(&self->rank, GROUP, 0));
}

TEST_F(faults, attach__any_allocation)
{
	ASSERT_EQ(0, local_group(&self->nl, 64, 512));
	EACH_FAULT(rank_attach(&self->rank, GROUP, 0),
		   rank_close(&self->rank));
	ASSERT_EQ(0, rank_attach(&self->rank, GROUP, 0));
}

static int reduce_alone(struct rank *rank)
{
	static const uint64_t value[3] = { 1, 2, 3 };
	struct tally_submit submit = {
		.op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
		.participants = 1, .words = 3, .weight = 1,
	};
	struct tally_completion out;
	int err;

	tx_put(rank, value, 3);
	err = rank_submit(rank, &submit);
	if (!err)
		err = rank_wait(rank, submit.seq, &out);
	return err ? err : out.status;
}

/* Nothing is allocated between SUBMIT and its completion. */
TEST_F(faults, submit__allocates_nothing)
{
	unsigned int n;

	ASSERT_EQ(0, local_group(&self->nl, 64, 512));
	ASSERT_EQ(0, rank_attach(&self->rank, GROUP, 0));
	ASSERT_EQ(0, reduce_alone(&self->rank));
	for (n = 1; n < 4; n++) {
		fail_nth(n);
		ASSERT_EQ(0, reduce_alone(&self->rank));
		ASSERT_FALSE(has_failed());
		fail_nth(0);
	}
}

TEST_F(faults, get__any_allocation)
{
	struct stats stats;

	ASSERT_EQ(0, local_group(&self->nl, 64, 512));
	EACH_FAULT(group_do(&self->nl, TALLY_CMD_GROUP_GET, GROUP),
		   (void)0);
	ASSERT_EQ(0, stats_get(&self->nl, GROUP, &stats));
}

TEST_HARNESS_MAIN
