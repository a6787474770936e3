// SPDX-License-Identifier: GPL-2.0-only
/* Namespaces that go away under load, and a module that is in use. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local.h"
#include "harness.h"

#define HOSTS	2
#define WORDS	600

/* A group between two namespaces; nothing of ours stays in them. */
static int hosts_group(uint32_t i)
{
	struct abi_group group = {
		.id = GROUP, .gid = -1, .payload = 1344, .max_bytes = 65536,
		.bound_us = 20000, .timeout_us = 2000000,
	};
	char name[16], address[32];
	struct nl nl;
	uint32_t rank;
	int err;

	host_name(name, i + 1);
	err = netns_enter(name);
	if (!err)
		err = nl_open(&nl);
	if (!err)
		err = group_add(&nl, &group);
	for (rank = 0; !err && rank < HOSTS; rank++) {
		host_address(address, rank + 1, false);
		err = member_add(&nl, GROUP, rank, address, 0);
	}
	if (!err)
		err = group_do(&nl, TALLY_CMD_GROUP_UP, GROUP);
	nl_close(&nl);
	return err;
}

FIXTURE(pair)
{
	struct rank	rank[HOSTS];
};

FIXTURE_SETUP(pair)
{
	uint32_t i;

	ASSERT_EQ(0, hosts_make(HOSTS, 1500));
	for (i = 0; i < HOSTS; i++) {
		ASSERT_EQ(0, hosts_group(i));
		ASSERT_EQ(0, rank_attach(&self->rank[i], GROUP, i));
	}
	ASSERT_EQ(0, netns_enter(""));
}

FIXTURE_TEARDOWN(pair)
{
	uint32_t i;

	for (i = 0; i < HOSTS; i++)
		rank_close(&self->rank[i]);
	hosts_remove();
}

static int submit_some(struct rank *rank)
{
	static uint64_t value[WORDS];
	struct tally_submit submit = {
		.op = TALLY_OP_ALL_REDUCE, .lane = TALLY_LANE_W64,
		.words = WORDS, .weight = 1,
	};

	tx_put(rank, value, WORDS);
	return rank_submit(rank, &submit);
}

/* Collectives one after the other; how it ended, and how many there were. */
static int work(struct rank *rank, uint32_t *done)
{
	struct tally_completion out;
	int err;

	for (;;) {
		err = submit_some(rank);
		if (!err)
			err = rank_wait(rank, rank->next - 1, &out);
		if (!err)
			++*done;
		else if (err != -ESTALE)
			return err;
		/*
		 * Stale: left behind by the other.  An emulated machine also
		 * needs some time for those who are to end this.
		 */
		usleep(1000);
	}
}

/* One process a rank; each exits with the errno that ended its work. */
static void work_all(struct rank *rank, pid_t *pid)
{
	uint32_t i, done = 0;

	for (i = 0; i < HOSTS; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		/* Mappings are not inherited: make some of our own. */
		rank[i].tx = mmap(NULL, rank[i].geo.out_area_bytes,
				  PROT_READ | PROT_WRITE, MAP_SHARED,
				  rank[i].fd, rank[i].geo.out_tx_offset);
		if (rank[i].tx == MAP_FAILED)
			_exit(1);
		_exit(-work(&rank[i], &done));
	}
}

TEST_F(pair, deletion__under_load)
{
	struct tally_info info = { .size = sizeof(info) };
	struct pollfd p = { .fd = self->rank[0].fd, .events = POLLIN };
	struct tally_completion out;
	int i, status, killed = 0;
	pid_t pid[HOSTS];

	work_all(self->rank, pid);
	usleep(500000);
	ASSERT_EQ(0, waitpid(pid[0], &status, WNOHANG));
	ASSERT_TRUE(sh("ip netns del th1"));
	ASSERT_EQ(pid[0], waitpid(pid[0], &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	ASSERT_EQ(ENODEV, WEXITSTATUS(status));

	/* The file answers, its cells stay. */
	ASSERT_EQ(-ENODEV, submit_some(&self->rank[0]));
	ASSERT_EQ(-ENODEV, rank_wait(&self->rank[0], 0, &out));
	ASSERT_EQ(-1, read(self->rank[0].fd, &out, sizeof(out)));
	ASSERT_EQ(ENODEV, errno);
	ASSERT_EQ(-1, ioctl(self->rank[0].fd, TALLY_IOC_INFO, &info));
	ASSERT_EQ(ENODEV, errno);
	ASSERT_EQ(1, poll(&p, 1, 0));
	ASSERT_EQ(POLLERR | POLLHUP, p.revents);
	self->rank[0].tx[5] = 1;
	ASSERT_EQ(0, self->rank[0].result[0] & 0x80);

	/* The other host goes on alone, until its turn comes. */
	ASSERT_EQ(0, waitpid(pid[1], &status, WNOHANG));
	ASSERT_TRUE(sh("ip netns del th2"));
	for (i = 0; i < 100; i++) {
		if (waitpid(pid[1], &status, WNOHANG) == pid[1])
			break;
		usleep(100000);
	}
	if (i == 100) {
		kill(pid[1], SIGKILL);
		waitpid(pid[1], &status, 0);
		killed = 1;
	}
	ASSERT_EQ(0, killed);
	ASSERT_EQ(ENODEV, WEXITSTATUS(status));
}

/* Attach, work, die, again and again, while the group goes up and down. */
TEST_F(pair, down__under_load)
{
	struct nl nl;
	int status;
	uint32_t i;
	pid_t pid;

	for (i = 0; i < HOSTS; i++)
		rank_close(&self->rank[i]);
	ASSERT_EQ(0, netns_enter("th1"));
	ASSERT_EQ(0, nl_open(&nl));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct rank rank;
		uint32_t done = 0;

		for (;;) {
			int err = rank_attach(&rank, GROUP, 0);

			if (!err && !rank.geo.out_flags)
				work(&rank, &done);
			rank_close(&rank);
		}
	}
	for (i = 0; i < 20; i++) {
		usleep(50000);
		ASSERT_EQ(0, group_do(&nl, TALLY_CMD_GROUP_DOWN, GROUP));
		ASSERT_EQ(0, group_do(&nl, TALLY_CMD_GROUP_UP, GROUP));
	}
	ASSERT_EQ(0, waitpid(pid, &status, WNOHANG));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	nl_close(&nl);
	ASSERT_EQ(0, netns_enter(""));
}

TEST_F(pair, killed__under_load)
{
	uint32_t round, i;

	for (i = 0; i < HOSTS; i++)
		rank_close(&self->rank[i]);
	for (round = 0; round < 10; round++) {
		uint32_t done = 0;
		int status;
		pid_t pid = fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			struct rank rank;

			if (netns_enter("th1") ||
			    rank_attach(&rank, GROUP, 0))
				_exit(1);
			/* Stale from the second round on: polls, then. */
			work(&rank, &done);
			pause();
		}
		usleep(20000 * round);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFSIGNALED(status));
	}
}

/* The same id in two namespaces: two groups. */
TEST(group__is_of_its_namespace)
{
	struct nl nl, other;
	struct rank rank;

	ASSERT_EQ(0, netns_fresh());
	ASSERT_EQ(0, nl_open(&nl));
	ASSERT_EQ(0, local_group(&nl, 64, 4096));
	ASSERT_EQ(0, netns_fresh());
	ASSERT_EQ(0, nl_open(&other));
	ASSERT_EQ(-ENOENT, group_do(&other, TALLY_CMD_GROUP_GET, GROUP));
	ASSERT_EQ(-ENOENT, rank_attach(&rank, GROUP, 0));
	ASSERT_EQ(0, local_group(&other, 128, 4096));
	ASSERT_EQ(0, group_do(&nl, TALLY_CMD_GROUP_DEL, GROUP));
	ASSERT_EQ(0, rank_attach(&rank, GROUP, 0));
	ASSERT_EQ(16, rank.geo.out_cell_words);
	rank_close(&rank);
	nl_close(&nl);
	nl_close(&other);
}

TEST(module__in_use)
{
	int fd = open("/dev/tally", O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, fd);
	ASSERT_EQ(-1, syscall(SYS_delete_module, "tally", O_NONBLOCK));
	ASSERT_TRUE(errno == EWOULDBLOCK || errno == EBUSY);
	close(fd);
}

TEST_HARNESS_MAIN
