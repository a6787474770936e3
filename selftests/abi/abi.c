// SPDX-License-Identifier: GPL-2.0-only
/* Hosts, attachments and collectives for the tests. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"

bool sh(const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	return system(command) == 0;
}

int netns_fresh(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd, err = 0;

	if (unshare(CLONE_NEWNET))
		return -errno;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo))
		err = -errno;
	close(fd);
	return err;
}

int netns_enter(const char *name)
{
	static int first = -1;
	char path[64] = "/proc/self/ns/net";
	int fd, err = 0;

	if (first < 0)
		first = open(path, O_RDONLY | O_CLOEXEC);
	if (!*name)
		return setns(first, CLONE_NEWNET) ? -errno : 0;
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (setns(fd, CLONE_NEWNET))
		err = -errno;
	close(fd);
	return err;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

int rank_attach(struct rank *rank, uint32_t group, uint32_t number)
{
	void *at;

	memset(rank, 0, sizeof(*rank));
	rank->fd = open("/dev/tally", O_RDWR | O_CLOEXEC);
	if (rank->fd < 0)
		return -errno;
	rank->geo.size = sizeof(rank->geo);
	rank->geo.group = group;
	rank->geo.rank = number;
	if (ioctl(rank->fd, TALLY_IOC_ATTACH, &rank->geo))
		goto err_close;
	rank->next = rank->geo.out_seq;
	at = mmap(NULL, rank->geo.out_area_bytes, PROT_READ | PROT_WRITE,
		  MAP_SHARED, rank->fd, rank->geo.out_tx_offset);
	if (at == MAP_FAILED)
		goto err_close;
	rank->tx = at;
	at = mmap(NULL, rank->geo.out_area_bytes, PROT_READ, MAP_SHARED,
		  rank->fd, rank->geo.out_result_offset);
	if (at == MAP_FAILED)
		goto err_close;
	rank->result = at;
	return 0;

err_close:
	{
		int err = -errno;

		rank_close(rank);
		return err;
	}
}

void rank_close(struct rank *rank)
{
	if (rank->tx)
		munmap(rank->tx, rank->geo.out_area_bytes);
	if (rank->result)
		munmap((void *)rank->result, rank->geo.out_area_bytes);
	if (rank->fd > 0)
		close(rank->fd);
	memset(rank, 0, sizeof(*rank));
	rank->fd = -1;
}

static size_t cell_at(const struct rank *rank, uint32_t seq, uint32_t at)
{
	return (size_t)rank->geo.out_cell_bytes *
	       (seq % rank->geo.out_window * rank->geo.out_cells + at);
}

struct tally_hdr *tx_cell(const struct rank *rank, uint32_t seq, uint32_t at)
{
	return (void *)(rank->tx + cell_at(rank, seq, at));
}

const struct tally_hdr *result_cell(const struct rank *rank, uint32_t seq,
				    uint32_t at)
{
	return (const void *)(rank->result + cell_at(rank, seq, at));
}

void tx_put(const struct rank *rank, const uint64_t *value, uint32_t words)
{
	uint32_t per = rank->geo.out_cell_words, at, n;

	for (at = 0; words; at++) {
		struct tally_hdr *cell = tx_cell(rank, rank->next, at);

		n = words < per ? words : per;
		memset(cell, 0, sizeof(*cell));
		cell->words = tally_put16(n);
		memcpy(cell_words(cell), value, 8 * n);
		value += n;
		words -= n;
	}
}

int rank_submit(struct rank *rank, struct tally_submit *submit)
{
	submit->size = sizeof(*submit);
	submit->seq = rank->next;
	if (ioctl(rank->fd, TALLY_IOC_SUBMIT, submit))
		return -errno;
	rank->next++;
	return 0;
}

int rank_wait(struct rank *rank, uint32_t seq, struct tally_completion *out)
{
	struct tally_wait wait = {
		.size = sizeof(wait),
		.seq = seq,
		.deadline_ns = now_ns() + ABI_WAIT_MS * 1000000ull,
		.completion = (uintptr_t)out,
		.completion_size = sizeof(*out),
	};

	return ioctl(rank->fd, TALLY_IOC_WAIT, &wait) ? -errno : 0;
}

void host_name(char *name, uint32_t i)
{
	sprintf(name, "th%u", i);
}

void host_address(char *address, uint32_t i, bool v6)
{
	sprintf(address, v6 ? "fd77::%u" : "10.77.0.%u", i);
}

/* Few processes: each takes long in an emulated machine. */
int hosts_make(uint32_t n, uint32_t mtu)
{
	char path[] = "/tmp/hosts.XXXXXX";
	uint32_t i;
	FILE *f;
	bool ok;
	int fd;

	hosts_remove();
	fd = mkstemp(path);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return -1;
	fprintf(f, "netns add thsw\n");
	for (i = 1; i <= n; i++)
		fprintf(f, "netns add th%u\n"
			"link add eth0 netns th%u mtu %u type veth "
			"peer name p%u mtu %u netns thsw\n",
			i, i, mtu, i, mtu);
	fflush(f);
	ok = sh("ip -batch %s", path);
	rewind(f);
	ok = ok && !ftruncate(fd, 0);
	fprintf(f, "link add name sw0 mtu %u type bridge\nlink set sw0 up\n",
		mtu);
	for (i = 1; i <= n; i++)
		fprintf(f, "link set p%u master sw0 up\n", i);
	fflush(f);
	ok = ok && sh("ip -n thsw -batch %s", path);
	/* Duplicate address detection would take a second. */
	for (i = 1; ok && i <= n; i++)
		ok = sh("printf 'link set lo up\\n"
			"addr add 10.77.0.%u/24 dev eth0\\n"
			"addr add fd77::%u/64 dev eth0 nodad\\n"
			"link set eth0 up\\n' | ip -n th%u -batch -", i, i, i);
	fclose(f);
	unlink(path);
	return ok ? 0 : -1;
}

void hosts_remove(void)
{
	sh("for n in thsw $(seq -f th%%g %u); do "
	   "[ ! -e /run/netns/$n ] || ip netns del $n; done", HOSTS_MAX);
}
