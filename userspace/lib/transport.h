/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * What the library needs of whatever runs the protocol: the kernel module,
 * or a test's own group in memory.  Errors are those of <linux/tally.h>.
 */
#ifndef LIBTALLY_TRANSPORT_H
#define LIBTALLY_TRANSPORT_H

#include <stdint.h>

#include <linux/tally.h>

struct transport_ops;

/**
 * struct transport_link - one attachment
 * @ops: of the transport
 * @priv: the transport's own
 * @fd: for poll(): POLLIN a completion can be fetched, POLLOUT submit would not
 *	say EAGAIN
 * @tx: contribution cells
 * @result: result cells
 * @geo: what ATTACH returned
 */
struct transport_link {
	const struct transport_ops	*ops;
	void				*priv;
	int				fd;
	uint8_t				*tx;
	const uint8_t			*result;
	struct tally_attach		geo;
};

/**
 * struct transport_ops - a transport
 * @open: find out whether @where can be used; fill @info, keep @ctx
 * @close: end of @ctx; no link is left
 * @attach: link->geo has group and rank; fill it and the rest but ops
 * @detach: release the link and unmap its cells
 * @submit: TALLY_IOC_SUBMIT
 * @fetch: take the oldest completion.  1: done, 0: there is none, -errno
 * @take: wait for @seq until @deadline_ns and take its completion.  0, -ETIME
 * @wait: wait for poll() events.  0, -ETIME
 * @cancel: TALLY_IOC_CANCEL
 *
 * Deadlines are CLOCK_MONOTONIC.
 */
struct transport_ops {
	int (*open)(const char *where, void **ctx, struct tally_info *info);
	void (*close)(void *ctx);
	int (*attach)(void *ctx, struct transport_link *link);
	void (*detach)(struct transport_link *link);
	int (*submit)(struct transport_link *link, struct tally_submit *submit);
	int (*fetch)(struct transport_link *link,
		     struct tally_completion *completion);
	int (*take)(struct transport_link *link, uint32_t seq,
		    uint64_t deadline_ns, struct tally_completion *completion);
	int (*wait)(struct transport_link *link, int events,
		    uint64_t deadline_ns);
	int (*cancel)(struct transport_link *link, uint32_t seq);
};

extern const struct transport_ops transport_device;

#endif
