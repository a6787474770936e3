// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* The kernel module as transport. */
#define _GNU_SOURCE		/* ppoll() */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/**
 * struct device - an open device, or one attachment
 * @fd: file descriptor
 * @path: device: what to open again for an attachment
 * @record_bytes: size of the kernel's completions
 * @record: attachment: room for one of them
 */
struct device {
	int		fd;
	char		*path;
	uint32_t	record_bytes;
	uint8_t		*record;
};

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static int device_ioctl(int fd, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = ioctl(fd, request, arg);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : 0;
}

static void device_free(struct device *d)
{
	if (d->fd >= 0)
		close(d->fd);
	free(d->path);
	free(d->record);
	free(d);
}

static struct device *device_new(const char *path, int *err)
{
	struct device *d = calloc(1, sizeof(*d));

	*err = -ENOMEM;
	if (!d)
		return NULL;
	d->fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (d->fd < 0) {
		/* Without the module the node may be there all the same. */
		*err = errno == ENXIO ? -ENODEV : -errno;
		device_free(d);
		return NULL;
	}
	d->path = strdup(path);
	if (!d->path) {
		device_free(d);
		return NULL;
	}
	*err = 0;
	return d;
}

static int device_open(const char *where, void **ctx, struct tally_info *info)
{
	struct device *d;
	int err;

	d = device_new(where, &err);
	if (!d)
		return err;
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	err = device_ioctl(d->fd, TALLY_IOC_INFO, info);
	if (!err && (info->out_abi != TALLY_ABI_VERSION ||
		     info->out_completion_size < 16))
		err = -EPROTO;
	if (err) {
		device_free(d);
		return err;
	}
	d->record_bytes = info->out_completion_size;
	*ctx = d;
	return 0;
}

static void device_close(void *ctx)
{
	device_free(ctx);
}

static int map_cells(struct transport_link *link, struct device *d)
{
	const struct tally_attach *geo = &link->geo;
	size_t bytes = geo->out_area_bytes;
	void *p;

	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd,
		 (off_t)geo->out_tx_offset);
	if (p == MAP_FAILED)
		return -errno;
	link->tx = p;
	p = mmap(NULL, bytes, PROT_READ, MAP_SHARED, d->fd,
		 (off_t)geo->out_result_offset);
	if (p == MAP_FAILED) {
		int err = -errno;

		munmap(link->tx, bytes);
		return err;
	}
	link->result = p;
	return 0;
}

static int device_attach(void *ctx, struct transport_link *link)
{
	const struct device *parent = ctx;
	struct tally_detach detach = { .size = sizeof(detach) };
	struct device *d;
	int err;

	d = device_new(parent->path, &err);
	if (!d)
		return err;
	d->record_bytes = parent->record_bytes;
	d->record = malloc(d->record_bytes);
	err = d->record ? 0 : -ENOMEM;
	if (err)
		goto err_free;
	link->geo.size = sizeof(link->geo);
	err = device_ioctl(d->fd, TALLY_IOC_ATTACH, &link->geo);
	if (err)
		goto err_free;
	err = map_cells(link, d);
	if (err)
		goto err_detach;
	link->priv = d;
	link->fd = d->fd;
	return 0;

err_detach:
	device_ioctl(d->fd, TALLY_IOC_DETACH, &detach);
err_free:
	device_free(d);
	return err;
}

static void device_detach(struct transport_link *link)
{
	struct tally_detach detach = { .size = sizeof(detach) };

	device_ioctl(link->fd, TALLY_IOC_DETACH, &detach);
	munmap(link->tx, link->geo.out_area_bytes);
	munmap((void *)(uintptr_t)link->result, link->geo.out_area_bytes);
	device_free(link->priv);
}

static int device_submit(struct transport_link *link,
			 struct tally_submit *submit)
{
	return device_ioctl(link->fd, TALLY_IOC_SUBMIT, submit);
}

/* read() returns whole records of the kernel's size. */
static int device_fetch(struct transport_link *link,
			struct tally_completion *completion)
{
	struct device *d = link->priv;
	ssize_t n;

	do {
		n = read(d->fd, d->record, d->record_bytes);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if ((size_t)n < d->record_bytes)
		return -EPROTO;
	memset(completion, 0, sizeof(*completion));
	memcpy(completion, d->record, d->record_bytes < sizeof(*completion) ?
	       d->record_bytes : sizeof(*completion));
	return 1;
}

static int device_take(struct transport_link *link, uint32_t seq,
		       uint64_t deadline_ns,
		       struct tally_completion *completion)
{
	struct tally_wait wait = {
		.size = sizeof(wait),
		.seq = seq,
		.deadline_ns = deadline_ns,
		.completion = (uintptr_t)completion,
		.completion_size = sizeof(*completion),
	};

	memset(completion, 0, sizeof(*completion));
	return device_ioctl(link->fd, TALLY_IOC_WAIT, &wait);
}

static int device_wait(struct transport_link *link, int events,
		       uint64_t deadline_ns)
{
	struct pollfd p = { .fd = link->fd, .events = (short)events };
	struct timespec ts;
	uint64_t now, left;
	int n;

	do {
		now = now_ns();
		left = deadline_ns > now ? deadline_ns - now : 0;
		ts.tv_sec = (time_t)(left / 1000000000ull);
		ts.tv_nsec = (long)(left % 1000000000ull);
		n = ppoll(&p, 1, &ts, NULL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (!n)
		return -ETIME;
	/* The group is gone; completions may still be there to be read. */
	if (p.revents & (POLLERR | POLLNVAL) && !(p.revents & POLLIN))
		return -ENODEV;
	return 0;
}

static int device_cancel(struct transport_link *link, uint32_t seq)
{
	struct tally_cancel cancel = { .size = sizeof(cancel), .seq = seq };

	return device_ioctl(link->fd, TALLY_IOC_CANCEL, &cancel);
}

const struct transport_ops transport_device = {
	.open	= device_open,
	.close	= device_close,
	.attach	= device_attach,
	.detach	= device_detach,
	.submit	= device_submit,
	.fetch	= device_fetch,
	.take	= device_take,
	.wait	= device_wait,
	.cancel	= device_cancel,
};
