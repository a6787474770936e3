// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* tally: configure and watch the groups of this network namespace. */
#include "net.h"
#include "netlink.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static int device_info(struct tally_info *info)
{
	int fd = open("/dev/tally", O_RDWR | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = ioctl(fd, TALLY_IOC_INFO, info) ? -errno : 0;
	close(fd);
	return ret;
}

static uint64_t time_of_day(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	struct cli cli = {
		.out = stdout,
		.err = stderr,
		.root = "",
		.nl_open = nl_open,
		.net_open = net_open,
		.info = device_info,
		.now = time_of_day,
	};
	int ret;

	/* A closed pipe is an error of the write, which cli_run() reports. */
	signal(SIGPIPE, SIG_IGN);
	ret = cli_run(&cli, argc - 1, argv + 1);
	nl_close(&cli);
	net_close(&cli);
	return ret;
}
