// SPDX-License-Identifier: GPL-2.0-only
/* Every command with sizes, flags and pointers of all kinds. */
#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "local.h"
#include "harness.h"

static int call(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? -errno : 0;
}

/**
 * struct command - one ioctl, and what it says to a zeroed structure
 * @cmd: number
 * @size: of its structure
 * @reserved: offset of a field that must be zero
 * @fresh: answer of an unattached file
 */
static const struct command {
	const char	*name;
	unsigned long	cmd;
	uint32_t	size;
	uint32_t	reserved;
	int		fresh;
} commands[] = {
	{ "INFO", TALLY_IOC_INFO, sizeof(struct tally_info),
	  offsetof(struct tally_info, flags), 0 },
	{ "ATTACH", TALLY_IOC_ATTACH, sizeof(struct tally_attach),
	  offsetof(struct tally_attach, flags), -ENOENT },
	{ "SUBMIT", TALLY_IOC_SUBMIT, sizeof(struct tally_submit),
	  offsetof(struct tally_submit, __reserved1), -EINVAL },
	{ "WAIT", TALLY_IOC_WAIT, sizeof(struct tally_wait),
	  offsetof(struct tally_wait, __reserved), -EINVAL },
	{ "CANCEL", TALLY_IOC_CANCEL, sizeof(struct tally_cancel), 0,
	  -ENOTCONN },
	{ "DETACH", TALLY_IOC_DETACH, sizeof(struct tally_detach),
	  offsetof(struct tally_detach, flags), -ENOTCONN },
};

#define N_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

FIXTURE(file)
{
	int	fd;
	uint8_t	*page;	/* followed by one that is not mapped */
};

FIXTURE_SETUP(file)
{
	ASSERT_EQ(0, netns_fresh());
	self->fd = open("/dev/tally", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	self->page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->page);
	ASSERT_EQ(0, munmap(self->page + 4096, 4096));
}

FIXTURE_TEARDOWN(file)
{
	close(self->fd);
	munmap(self->page, 4096);
}

TEST_F(file, size__exact)
{
	size_t i;

	for (i = 0; i < N_COMMANDS; i++) {
		memset(self->page, 0, 4096);
		*(uint32_t *)self->page = commands[i].size;
		ASSERT_EQ(commands[i].fresh, call(self->fd, commands[i].cmd,
						  self->page))
			TH_LOG("%s", commands[i].name);
	}
}

TEST_F(file, size__short)
{
	size_t i;
	uint32_t size;

	for (i = 0; i < N_COMMANDS; i++) {
		for (size = 0; size < commands[i].size; size += 4) {
			memset(self->page, 0, 4096);
			*(uint32_t *)self->page = size;
			ASSERT_EQ(-EINVAL, call(self->fd, commands[i].cmd,
						self->page))
				TH_LOG("%s %u", commands[i].name, size);
		}
	}
}

TEST_F(file, size__long_with_zeros)
{
	size_t i;

	for (i = 0; i < N_COMMANDS; i++) {
		memset(self->page, 0, 4096);
		*(uint32_t *)self->page = commands[i].size + 64;
		ASSERT_EQ(commands[i].fresh, call(self->fd, commands[i].cmd,
						  self->page))
			TH_LOG("%s", commands[i].name);
	}
}

TEST_F(file, size__long_with_junk)
{
	uint32_t i, at;

	for (i = 0; i < N_COMMANDS; i++) {
		for (at = 0; at < 64; at += 21) {
			memset(self->page, 0, 4096);
			*(uint32_t *)self->page = commands[i].size + 64;
			self->page[commands[i].size + at] = 1;
			ASSERT_EQ(-E2BIG, call(self->fd, commands[i].cmd,
					       self->page))
				TH_LOG("%s", commands[i].name);
		}
	}
}

TEST_F(file, size__absurd)
{
	size_t i;

	for (i = 0; i < N_COMMANDS; i++) {
		memset(self->page, 0, 4096);
		*(uint32_t *)self->page = 0xffffffff;
		ASSERT_EQ(-E2BIG, call(self->fd, commands[i].cmd, self->page));
	}
}

TEST_F(file, pointer__bad)
{
	size_t i;

	for (i = 0; i < N_COMMANDS; i++) {
		uint8_t *end = self->page + 4096 - commands[i].size + 4;

		ASSERT_EQ(-EFAULT, call(self->fd, commands[i].cmd, NULL));
		ASSERT_EQ(-EFAULT, call(self->fd, commands[i].cmd,
					self->page + 4096));
		ASSERT_EQ(-EFAULT, call(self->fd, commands[i].cmd,
					(void *)-4096l));
		/* The last four bytes are not there. */
		memset(self->page, 0, 4096);
		memcpy(end, &commands[i].size, 4);
		ASSERT_EQ(-EFAULT, call(self->fd, commands[i].cmd, end))
			TH_LOG("%s", commands[i].name);
	}
}

TEST_F(file, field__reserved)
{
	size_t i;

	for (i = 0; i < N_COMMANDS; i++) {
		if (!commands[i].reserved)
			continue;
		memset(self->page, 0, 4096);
		*(uint32_t *)self->page = commands[i].size;
		self->page[commands[i].reserved] = 1;
		ASSERT_EQ(-EINVAL, call(self->fd, commands[i].cmd, self->page))
			TH_LOG("%s", commands[i].name);
	}
}

TEST_F(file, number__unknown)
{
	struct tally_info info = { .size = sizeof(info) };

	ASSERT_EQ(-ENOTTY, call(self->fd, _IO(TALLY_IOC_MAGIC, N_COMMANDS),
				&info));
	ASSERT_EQ(-ENOTTY, call(self->fd, _IO(TALLY_IOC_MAGIC, 0xff), &info));
	ASSERT_EQ(-ENOTTY, call(self->fd, _IO('T', 0), &info));
	ASSERT_EQ(-ENOTTY, call(self->fd, _IOR(TALLY_IOC_MAGIC, 0, int),
				&info));
}

TEST_F(file, info__tells)
{
	struct tally_info info = { .size = sizeof(info) };

	ASSERT_EQ(0, call(self->fd, TALLY_IOC_INFO, &info));
	ASSERT_EQ(TALLY_ABI_VERSION, info.out_abi);
	ASSERT_EQ(TALLY_PORT, info.out_port);
	ASSERT_EQ(sizeof(struct tally_completion), info.out_completion_size);
	ASSERT_EQ(0, info.out_groups);
	ASSERT_EQ(0, info.__reserved);
	ASSERT_TRUE(info.out_features & TALLY_FEATURE_IPV6);
	ASSERT_TRUE(info.out_features & TALLY_FEATURE_KFUNC);
}

TEST_F(file, unattached__all_say_so)
{
	struct tally_submit submit = {
		.size = sizeof(submit), .op = TALLY_OP_BARRIER,
	};
	struct tally_completion out;
	struct tally_wait wait = {
		.size = sizeof(wait), .completion = (uintptr_t)&out,
		.completion_size = sizeof(out),
	};

	ASSERT_EQ(-ENOTCONN, call(self->fd, TALLY_IOC_SUBMIT, &submit));
	ASSERT_EQ(-ENOTCONN, call(self->fd, TALLY_IOC_WAIT, &wait));
	ASSERT_EQ(-1, read(self->fd, &out, sizeof(out)));
	ASSERT_EQ(ENOTCONN, errno);
	ASSERT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd,
				   0));
	ASSERT_EQ(ENOTCONN, errno);
	ASSERT_EQ(-1, lseek(self->fd, 0, SEEK_CUR));
	ASSERT_EQ(ESPIPE, errno);
}

/* Whatever comes, nothing breaks: the guest fails on any kernel warning. */
TEST_F(file, random__structures)
{
	unsigned int i, j;
	struct nl nl;

	ASSERT_EQ(0, nl_open(&nl));
	ASSERT_EQ(0, local_group(&nl, 64, 4096)) TH_LOG("%s", nl.why);
	srandom(1);
	for (i = 0; i < 20000; i++) {
		const struct command *c = &commands[random() % N_COMMANDS];
		uint32_t *word = (uint32_t *)self->page;

		memset(word, 0, 256);
		word[0] = c->size;
		for (j = random() % 8; j; j--)
			word[1 + random() % 40] = random() % 4 ?
				random() % 16 : (uint32_t)random();
		if (c->cmd == TALLY_IOC_ATTACH && random() % 2)
			word[2] = GROUP;
		/* A pointer that can be written, and no long wait. */
		if (c->cmd == TALLY_IOC_WAIT) {
			word[3] = 0;
			word[4] = (uintptr_t)(self->page + 2048);
			word[5] = (uintptr_t)(self->page + 2048) >> 32;
		}
		call(self->fd, c->cmd, word);
	}
	nl_close(&nl);
}

TEST_HARNESS_MAIN
