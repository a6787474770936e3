// SPDX-License-Identifier: GPL-2.0-only
/* Attachment, cells, and how collectives of one process begin and end. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local.h"
#include "harness.h"

FIXTURE(local)
{
	struct nl	nl;
	struct rank	rank;
};

FIXTURE_SETUP(local)
{
	ASSERT_EQ(0, netns_fresh());
	ASSERT_EQ(0, nl_open(&self->nl));
	ASSERT_EQ(0, local_group(&self->nl, 64, 8192))
		TH_LOG("%s", self->nl.why);
	ASSERT_EQ(0, rank_attach(&self->rank, GROUP, 0));
}

FIXTURE_TEARDOWN(local)
{
	rank_close(&self->rank);
	nl_close(&self->nl);
}

static int try_attach(uint32_t group, uint32_t number)
{
	struct rank rank;
	int err = rank_attach(&rank, group, number);

	if (!err)
		rank_close(&rank);
	return err;
}

static int detach(struct rank *rank)
{
	struct tally_detach detach = { .size = sizeof(detach) };

	return ioctl(rank->fd, TALLY_IOC_DETACH, &detach) ? -errno : 0;
}

static int again(struct rank *rank)
{
	return ioctl(rank->fd, TALLY_IOC_ATTACH, &rank->geo) ? -errno : 0;
}

/* A collective of the two members here; alone it stays open. */
static struct tally_submit pending(uint64_t user_data)
{
	return (struct tally_submit) {
		.op = TALLY_OP_BARRIER, .participants = NEAR,
		.user_data = user_data,
	};
}

/* One that is complete at once: nobody else takes part. */
static struct tally_submit alone(uint64_t user_data)
{
	return (struct tally_submit) {
		.op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
		.participants = 1, .words = 3, .weight = 1,
		.user_data = user_data,
	};
}

static void submit_alone(struct __test_metadata *_metadata, struct rank *rank,
			 uint64_t user_data)
{
	static const uint64_t value[3] = { 11, 22, 33 };
	struct tally_submit submit = alone(user_data);

	tx_put(rank, value, 3);
	ASSERT_EQ(0, rank_submit(rank, &submit));
}

static bool readable(struct rank *rank, int ms)
{
	struct pollfd p = { .fd = rank->fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1 && p.revents & POLLIN;
}

TEST_F(local, attach__geometry)
{
	const struct tally_attach *geo = &self->rank.geo;

	ASSERT_EQ(3, geo->out_ranks);
	ASSERT_EQ(0x7, geo->out_members);
	ASSERT_EQ(4, geo->out_window);
	ASSERT_EQ(8, geo->out_cell_words);
	ASSERT_EQ(128, geo->out_cell_bytes);
	/* 128 chunks over three members, rounded up. */
	ASSERT_EQ(43, geo->out_shard_chunks);
	ASSERT_EQ(129, geo->out_cells);
	ASSERT_EQ(200000, geo->out_bound_us);
	ASSERT_EQ(5000000, geo->out_timeout_us);
	ASSERT_EQ(0, geo->out_flags);
	ASSERT_EQ(0, geo->out_area_bytes % 4096);
	ASSERT_LE(4 * 129 * 128, geo->out_area_bytes);
}

TEST_F(local, attach__refused)
{
	ASSERT_EQ(-ENOENT, try_attach(GROUP + 1, 0));
	ASSERT_EQ(-ENOENT, try_attach(GROUP + 65536, 0));
	ASSERT_EQ(-ENOENT, try_attach(GROUP, FAR));
	ASSERT_EQ(-ENOENT, try_attach(GROUP, 3));
	ASSERT_EQ(-ENOENT, try_attach(GROUP, 64));
	ASSERT_EQ(-ENOENT, try_attach(GROUP, 0xffffffff));
	ASSERT_EQ(-EBUSY, try_attach(GROUP, 0));
	ASSERT_EQ(-EBUSY, again(&self->rank));
}

TEST_F(local, attach__again_when_unmapped)
{
	uint64_t bytes = self->rank.geo.out_area_bytes;

	ASSERT_EQ(0, detach(&self->rank));
	ASSERT_EQ(-ENOTCONN, detach(&self->rank));
	ASSERT_EQ(-EBUSY, again(&self->rank));
	/* What is mapped stays, and nobody else sees it. */
	self->rank.tx[0] = 1;
	ASSERT_EQ(0, self->rank.result[bytes - 1]);
	ASSERT_EQ(0, munmap(self->rank.tx, bytes));
	ASSERT_EQ(-EBUSY, again(&self->rank));
	ASSERT_EQ(0, munmap((void *)self->rank.result, bytes));
	self->rank.tx = NULL;
	self->rank.result = NULL;
	ASSERT_EQ(0, again(&self->rank));
}

static int map(struct rank *rank, uint64_t offset, uint64_t bytes, int prot,
	       int flags)
{
	void *at = mmap(NULL, bytes, prot, flags, rank->fd, offset);

	if (at == MAP_FAILED)
		return -errno;
	munmap(at, bytes);
	return 0;
}

TEST_F(local, mmap__foreign)
{
	const struct tally_attach *geo = &self->rank.geo;
	uint64_t bytes = geo->out_area_bytes, result = geo->out_result_offset;
	int rw = PROT_READ | PROT_WRITE, ro = PROT_READ;

	ASSERT_EQ(0, map(&self->rank, 0, bytes, rw, MAP_SHARED));
	ASSERT_EQ(0, map(&self->rank, 4096, bytes - 4096, rw, MAP_SHARED));
	ASSERT_EQ(0, map(&self->rank, result, bytes, ro, MAP_SHARED));
	ASSERT_EQ(-EINVAL, map(&self->rank, 0, bytes + 4096, rw, MAP_SHARED));
	ASSERT_EQ(-EINVAL, map(&self->rank, 4096, bytes, rw, MAP_SHARED));
	ASSERT_EQ(-EINVAL, map(&self->rank, bytes, 4096, rw, MAP_SHARED));
	ASSERT_EQ(-EINVAL, map(&self->rank, result + bytes, 4096, ro,
			       MAP_SHARED));
	ASSERT_EQ(-EINVAL, map(&self->rank, result - 4096, 8192, ro,
			       MAP_SHARED));
	ASSERT_EQ(-EINVAL, map(&self->rank, 1ull << 62, 4096, ro, MAP_SHARED));
	ASSERT_EQ(-EINVAL, map(&self->rank, 0, bytes, rw, MAP_PRIVATE));
	ASSERT_EQ(-EINVAL, map(&self->rank, result, bytes, ro, MAP_PRIVATE));
}

TEST_F(local, mmap__results_are_read_only)
{
	uint64_t bytes = self->rank.geo.out_area_bytes;
	void *result = (void *)self->rank.result;

	ASSERT_EQ(-EACCES, map(&self->rank, self->rank.geo.out_result_offset,
			       bytes, PROT_READ | PROT_WRITE, MAP_SHARED));
	ASSERT_EQ(-EACCES, map(&self->rank, 0, bytes, PROT_READ | PROT_EXEC,
			       MAP_SHARED));
	ASSERT_EQ(-1, mprotect(result, bytes, PROT_READ | PROT_WRITE));
	ASSERT_EQ(EACCES, errno);
	ASSERT_EQ(-1, mprotect(self->rank.tx, bytes, PROT_READ | PROT_EXEC));
	ASSERT_EQ(EACCES, errno);
	ASSERT_EQ(MAP_FAILED, mremap(result, bytes, 2 * bytes,
				     MREMAP_MAYMOVE));
}

TEST_F(local, mmap__parts_can_go)
{
	uint64_t bytes = self->rank.geo.out_area_bytes;

	/* Splits the mapping: both halves hold the cells. */
	ASSERT_EQ(0, munmap(self->rank.tx + 4096, 4096));
	ASSERT_EQ(0, detach(&self->rank));
	self->rank.tx[0] = 1;
	self->rank.tx[bytes - 1] = 1;
	ASSERT_EQ(0, munmap(self->rank.tx, 4096));
	ASSERT_EQ(0, munmap((void *)self->rank.result, bytes));
	ASSERT_EQ(-EBUSY, again(&self->rank));
	ASSERT_EQ(0, munmap(self->rank.tx + 8192, bytes - 8192));
	ASSERT_EQ(0, again(&self->rank));
	self->rank.tx = NULL;
	self->rank.result = NULL;
}

TEST_F(local, mmap__child_has_none)
{
	uint64_t bytes = self->rank.geo.out_area_bytes;
	int status;
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(msync(self->rank.tx, bytes, MS_ASYNC) == -1 &&
		      errno == ENOMEM ? 0 : 1);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
}

TEST_F(local, submit__refused)
{
	struct rank *rank = &self->rank;
	struct tally_submit good = alone(0), submit;
	struct tally_submit bad[] = {
		{ .op = 0, .lane = TALLY_LANE_W64, .words = 3 },
		{ .op = __TALLY_OP_END, .lane = TALLY_LANE_W64, .words = 3 },
		{ .op = TALLY_OP_ALL_REDUCE, .lane = 0, .words = 3 },
		{ .op = TALLY_OP_ALL_REDUCE, .lane = __TALLY_LANE_END,
		  .words = 3 },
		{ .op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_RAW,
		  .words = 3 },
		{ .op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64 },
		{ .op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
		  .words = 3, .weight = 1u << 26 },
		{ .op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
		  .words = 3, .participants = 8 },
		{ .op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
		  .words = 3, .root = 1 },
		{ .op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
		  .words = 3, .flags = 4 },
		{ .op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
		  .words = 3, .flags = TALLY_SUBMIT_STATE },
		{ .op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
		  .words = 3, .bound_us = 0xffffffff },
		{ .op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
		  .words = 3, .__reserved0 = 1 },
		{ .op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
		  .words = 3, .__reserved1 = 1 },
		{ .op = TALLY_OP_BROADCAST, .lane = TALLY_LANE_RAW,
		  .words = 3, .root = 3 },
		{ .op = TALLY_OP_BROADCAST, .lane = TALLY_LANE_RAW,
		  .words = 3, .root = 64 },
		{ .op = TALLY_OP_BARRIER, .words = 3 },
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ASSERT_EQ(-EINVAL, rank_submit(rank, &bad[i]))
			TH_LOG("number %zu", i);

	submit = good;
	submit.words = 8 * 129 + 1;
	ASSERT_EQ(-EMSGSIZE, rank_submit(rank, &submit));
	submit = good;
	submit.words = 0xffffffff;
	ASSERT_EQ(-EMSGSIZE, rank_submit(rank, &submit));

	submit = good;
	submit.size = sizeof(submit);
	submit.seq = rank->next + 1;
	ASSERT_EQ(-1, ioctl(rank->fd, TALLY_IOC_SUBMIT, &submit));
	ASSERT_EQ(EINVAL, errno);
	ASSERT_EQ(rank->next, submit.out_seq);

	/* None of them used up a number. */
	submit_alone(_metadata, rank, 1);
	ASSERT_TRUE(readable(rank, ABI_WAIT_MS));
}

/* State that did not come whole is asked for again. */
TEST_F(local, rejoin__makes_stale)
{
	struct tally_submit rejoin = { .op = TALLY_OP_REJOIN,
				       .timeout_us = 300000 };
	struct tally_submit sum = { .op = TALLY_OP_ALL_REDUCE,
				    .lane = TALLY_LANE_W64, .words = 3 };
	struct rank *rank = &self->rank;
	struct tally_completion out;

	ASSERT_EQ(0, rank_submit(rank, &rejoin));
	ASSERT_EQ(-EBUSY, rank_submit(rank, &rejoin));
	ASSERT_EQ(-ESTALE, rank_submit(rank, &sum));
	ASSERT_EQ(0, rank_wait(rank, rank->next - 1, &out));
	ASSERT_EQ(-ETIMEDOUT, out.status);
	ASSERT_EQ(-ESTALE, rank_submit(rank, &sum));
	ASSERT_EQ(0, rank_submit(rank, &rejoin));
}

TEST_F(local, submit__window_full)
{
	struct tally_submit submit = alone(4);
	struct tally_completion out;
	uint32_t i, first = self->rank.next;

	for (i = 0; i < 4; i++)
		submit_alone(_metadata, &self->rank, i);
	ASSERT_EQ(-EBUSY, rank_submit(&self->rank, &submit));
	ASSERT_EQ(0, rank_wait(&self->rank, first, &out));
	submit_alone(_metadata, &self->rank, 4);
}

TEST_F(local, read__takes_completions)
{
	struct tally_completion out[3], *o = &out[0];
	struct rank *rank = &self->rank;
	uint32_t i;

	for (i = 0; i < 3; i++)
		submit_alone(_metadata, rank, 100 + i);
	ASSERT_TRUE(readable(rank, ABI_WAIT_MS));
	ASSERT_EQ(-1, read(rank->fd, out, sizeof(*o) - 1));
	ASSERT_EQ(EINVAL, errno);
	ASSERT_EQ(-1, read(rank->fd, (void *)rank->result, sizeof(*o)));
	ASSERT_EQ(EFAULT, errno);
	for (i = 0; i < 3; i++) {
		memset(out, 0xff, sizeof(out));
		ASSERT_EQ(sizeof(*o), read(rank->fd, out, sizeof(*o) + 8));
		ASSERT_EQ(sizeof(*o), o->size);
		ASSERT_EQ(100 + i, o->user_data);
		ASSERT_EQ(0, o->status);
		ASSERT_EQ(1, o->mask_all);
		ASSERT_EQ(1, o->mask_any);
		ASSERT_EQ(1, o->chunks);
		ASSERT_EQ(0, o->partial);
		ASSERT_EQ(TALLY_OP_ALL_REDUCE, o->op);
		ASSERT_EQ(22, cell_words(result_cell(rank, o->seq, 0))[1]);
	}
	ASSERT_EQ(0, fcntl(rank->fd, F_SETFL, O_NONBLOCK));
	ASSERT_EQ(-1, read(rank->fd, out, sizeof(out)));
	ASSERT_EQ(EAGAIN, errno);
}

TEST_F(local, read__many_at_once)
{
	struct tally_completion out[4];
	struct rank *rank = &self->rank;
	uint32_t i, n = 0;
	ssize_t bytes;

	for (i = 0; i < 4; i++)
		submit_alone(_metadata, rank, i);
	while (n < 4) {
		bytes = read(rank->fd, out, sizeof(out));
		ASSERT_LT(0, bytes);
		ASSERT_EQ(0, bytes % sizeof(out[0]));
		n += bytes / sizeof(out[0]);
	}
	ASSERT_EQ(4, n);
}

TEST_F(local, poll__says_what_can_be_done)
{
	struct pollfd p = { .fd = self->rank.fd, .events = POLLIN | POLLOUT };
	uint32_t i;

	ASSERT_EQ(1, poll(&p, 1, 0));
	ASSERT_EQ(POLLOUT, p.revents);
	for (i = 0; i < 4; i++)
		submit_alone(_metadata, &self->rank, i);
	ASSERT_TRUE(readable(&self->rank, ABI_WAIT_MS));
	ASSERT_EQ(1, poll(&p, 1, 0));
	ASSERT_EQ(POLLIN, p.revents);
	ASSERT_EQ(0, detach(&self->rank));
	ASSERT_EQ(1, poll(&p, 1, 0));
	ASSERT_EQ(POLLERR | POLLHUP, p.revents);
}

static int wait_for(struct rank *rank, uint32_t seq, void *to, uint32_t size,
		    int64_t ms)
{
	struct tally_wait wait = {
		.size = sizeof(wait), .seq = seq, .completion = (uintptr_t)to,
		.completion_size = size,
		.deadline_ns = ms < 0 ? 0 : now_ns() + ms * 1000000,
	};

	return ioctl(rank->fd, TALLY_IOC_WAIT, &wait) ? -errno : 0;
}

TEST_F(local, wait__ends)
{
	struct tally_submit submit = pending(7);
	struct rank *rank = &self->rank;
	struct tally_completion out;
	uint64_t began = now_ns();

	ASSERT_EQ(0, rank_submit(rank, &submit));
	ASSERT_EQ(-ENOENT, wait_for(rank, submit.seq + 1, &out, sizeof(out),
				    1000));
	ASSERT_EQ(-ETIME, wait_for(rank, submit.seq, &out, sizeof(out), -1));
	ASSERT_EQ(-ETIME, wait_for(rank, submit.seq, &out, sizeof(out), 50));
	ASSERT_LE(50000000, now_ns() - began);
	ASSERT_EQ(-EINVAL, wait_for(rank, submit.seq, &out, 0, 50));
	ASSERT_EQ(-EFAULT, wait_for(rank, submit.seq, NULL, sizeof(out), 50));
}

TEST_F(local, wait__bad_pointer_loses_nothing)
{
	struct rank *rank = &self->rank;
	struct tally_completion out;
	uint32_t seq = rank->next;

	submit_alone(_metadata, rank, 5);
	ASSERT_TRUE(readable(rank, ABI_WAIT_MS));
	ASSERT_EQ(-EFAULT, wait_for(rank, seq, (void *)1, sizeof(out), 0));
	ASSERT_EQ(-EFAULT, wait_for(rank, seq, (void *)rank->result,
				    sizeof(out), 0));
	memset(&out, 0xff, sizeof(out));
	ASSERT_EQ(0, wait_for(rank, seq, &out, 24, 0));
	ASSERT_EQ(5, out.user_data);
	ASSERT_EQ(~0ull, out.mask_all);
	ASSERT_EQ(-ENOENT, wait_for(rank, seq, &out, sizeof(out), 0));
}

static void nothing(int sig)
{
}

TEST_F(local, wait__signal)
{
	struct sigaction action = { .sa_handler = nothing };
	struct tally_submit submit = pending(1);
	struct tally_completion out;
	uint64_t began = now_ns();

	ASSERT_EQ(0, rank_submit(&self->rank, &submit));
	sigaction(SIGALRM, &action, NULL);
	ualarm(50000, 0);
	ASSERT_EQ(-EINTR, wait_for(&self->rank, submit.seq, &out, sizeof(out),
				   4000));
	ASSERT_GT(3000000000ull, now_ns() - began);
	/* Restarted, it keeps its deadline. */
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	began = now_ns();
	ualarm(50000, 0);
	ASSERT_EQ(-ETIME, wait_for(&self->rank, submit.seq, &out, sizeof(out),
				   300));
	ASSERT_LE(300000000, now_ns() - began);
}

TEST_F(local, cancel__ends_it)
{
	struct tally_cancel cancel = { .size = sizeof(cancel) };
	struct tally_submit submit = pending(3);
	struct tally_completion out;

	ASSERT_EQ(0, rank_submit(&self->rank, &submit));
	cancel.seq = submit.seq + 1;
	ASSERT_EQ(-1, ioctl(self->rank.fd, TALLY_IOC_CANCEL, &cancel));
	ASSERT_EQ(ENOENT, errno);
	cancel.seq = submit.seq;
	ASSERT_EQ(0, ioctl(self->rank.fd, TALLY_IOC_CANCEL, &cancel));
	ASSERT_EQ(0, rank_wait(&self->rank, submit.seq, &out));
	ASSERT_EQ(-ECANCELED, out.status);
	ASSERT_EQ(3, out.user_data);
}

TEST_F(local, timeout__names_who_is_missing)
{
	struct tally_submit submit = pending(3);
	struct tally_completion out;

	submit.timeout_us = 1500000;
	ASSERT_EQ(0, rank_submit(&self->rank, &submit));
	ASSERT_EQ(0, rank_wait(&self->rank, submit.seq, &out));
	ASSERT_EQ(-ETIMEDOUT, out.status);
	/* The shard's owner may be named as well, and that is this rank. */
	ASSERT_EQ(2, out.missing & ~1ull);
}

TEST_F(local, cell__out_of_range)
{
	struct tally_submit submit = {
		.op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
		.participants = NEAR, .words = 3, .weight = 1,
	};
	static const uint64_t value[3] = { 1, 2, 3 };
	struct tally_completion out;
	struct rank other;

	ASSERT_EQ(0, rank_attach(&other, GROUP, 1));
	tx_put(&self->rank, value, 3);
	tx_put(&other, value, 3);
	/* More words than a cell has. */
	tx_cell(&self->rank, self->rank.next, 0)->words = tally_put16(9);
	ASSERT_EQ(0, rank_submit(&self->rank, &submit));
	ASSERT_EQ(0, rank_submit(&other, &submit));
	ASSERT_EQ(0, rank_wait(&self->rank, submit.seq, &out));
	ASSERT_EQ(-ERANGE, out.status);
	ASSERT_EQ(0, rank_wait(&other, submit.seq, &out));
	ASSERT_EQ(0, out.status);
	ASSERT_EQ(2, out.mask_all);
	rank_close(&other);
}

/* Reliable: nobody waits for what must not be sent. */
TEST_F(local, cell__out_of_range_reliable)
{
	struct tally_submit submit = {
		.op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
		.flags = TALLY_SUBMIT_RELIABLE,
		.participants = NEAR, .words = 3, .weight = 1,
		.timeout_us = 60000000,
	};
	static const uint64_t value[3] = { 1, 2, 3 };
	struct tally_completion out;
	struct rank other;

	ASSERT_EQ(0, rank_attach(&other, GROUP, 1));
	tx_put(&self->rank, value, 3);
	tx_put(&other, value, 3);
	tx_cell(&self->rank, self->rank.next, 0)->words = tally_put16(9);
	ASSERT_EQ(0, rank_submit(&other, &submit));
	ASSERT_EQ(0, rank_submit(&self->rank, &submit));
	ASSERT_EQ(0, rank_wait(&self->rank, submit.seq, &out));
	ASSERT_EQ(-ERANGE, out.status);
	ASSERT_EQ(0, rank_wait(&other, submit.seq, &out));
	ASSERT_EQ(-ECONNABORTED, out.status);
	rank_close(&other);
}

/* Alone, nobody else opens the shard. */
TEST_F(local, cell__out_of_range_alone)
{
	struct tally_submit submit = {
		.op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
		.participants = 1, .words = 3, .weight = 1,
		.timeout_us = 500000,
	};
	static const uint64_t value[3] = { 1, 2, 3 };
	struct tally_completion out;

	tx_put(&self->rank, value, 3);
	tx_cell(&self->rank, self->rank.next, 0)->words = tally_put16(9);
	ASSERT_EQ(0, rank_submit(&self->rank, &submit));
	ASSERT_EQ(0, rank_wait(&self->rank, submit.seq, &out));
	ASSERT_EQ(-ERANGE, out.status);
}

TEST_F(local, killed__rank_is_free_again)
{
	struct rank other;
	int status, fds[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct tally_submit submit = pending(0);

		if (rank_attach(&other, GROUP, 1) ||
		    rank_submit(&other, &submit) || write(fds[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	close(fds[1]);
	ASSERT_EQ(1, read(fds[0], &byte, 1));
	ASSERT_EQ(-EBUSY, try_attach(GROUP, 1));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, rank_attach(&other, GROUP, 1));
	ASSERT_EQ(TALLY_ATTACH_STALE, other.geo.out_flags);
	rank_close(&other);
}

TEST_F(local, sum__two_members_of_one_host)
{
	static const uint64_t mine[3] = { 1, 2, ~0ull };
	static const uint64_t theirs[3] = { 10, 20, 2 };
	struct tally_completion out;
	struct rank other;
	uint32_t i;

	ASSERT_EQ(0, rank_attach(&other, GROUP, 1));
	for (i = 0; i < 8; i++) {
		struct tally_submit submit = {
			.op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
			.participants = NEAR, .words = 3, .weight = 1,
			.bound_us = 2000000,
		};
		const uint64_t *sum;

		tx_put(&self->rank, mine, 3);
		tx_put(&other, theirs, 3);
		ASSERT_EQ(0, rank_submit(&self->rank, &submit));
		ASSERT_EQ(0, rank_submit(&other, &submit));
		ASSERT_EQ(0, rank_wait(&self->rank, submit.seq, &out));
		ASSERT_EQ(0, out.status);
		ASSERT_EQ(NEAR, out.mask_all);
		sum = cell_words(result_cell(&self->rank, submit.seq, 0));
		ASSERT_EQ(11, sum[0]);
		ASSERT_EQ(22, sum[1]);
		ASSERT_EQ(1, sum[2]);
		ASSERT_EQ(0, rank_wait(&other, submit.seq, &out));
		ASSERT_EQ(0, memcmp(sum, cell_words(result_cell(&other,
				    submit.seq, 0)), sizeof(mine)));
	}
	rank_close(&other);
}

TEST_HARNESS_MAIN
