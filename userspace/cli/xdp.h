/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * Puts tally's XDP program on a device and takes it off again, beside other
 * programs where libxdp's dispatcher allows it.
 *
 * Functions act in the calling thread's network namespace.  They return 0 or
 * -errno and write one line to @why (also with 0, if there is something to
 * warn of; else it is empty).  They print nothing.
 */
#ifndef TALLY_CLI_XDP_H
#define TALLY_CLI_XDP_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bpf/verdicts.h"

#define XDP_WHY_MAX	512	/* longest line, with its end */
#define XDP_NAME_MAX	64

enum xdp_mode {
	XDP_AUTO,		/* native, or generic where the driver has none */
	XDP_NATIVE,
	XDP_GENERIC,
	XDP_OFFLOAD,		/* status only */
	XDP_NONE,		/* status: nothing is attached */
};

/**
 * struct xdp_status - what is on a device
 * @dev: its name
 * @ifindex: its number
 * @mtu: bytes
 * @mode: where programs are attached
 * @id: number of tally's program; 0: it is not there
 * @name: of tally's program
 * @frags: takes packets beyond one page: the program, and its dispatcher
 * @bound: calls the module; false: loaded while the module was not
 * @module: the module is loaded now
 * @shared: runs in a dispatcher, others may be added
 * @others: programs beside tally's
 * @foreign_id: a program that shares with no other; 0: none
 * @foreign: its name
 * @counters: of tally's program, all processors
 */
struct xdp_status {
	char			dev[IF_NAMESIZE];
	unsigned int		ifindex;
	unsigned int		mtu;
	enum xdp_mode		mode;
	uint32_t		id;
	char			name[XDP_NAME_MAX];
	bool			frags;
	bool			bound;
	bool			module;
	bool			shared;
	unsigned int		others;
	uint32_t		foreign_id;
	char			foreign[XDP_NAME_MAX];
	struct tally_verdicts	counters;
};

/* "auto", "native", "skb" or "generic"; -EINVAL for other words. */
int xdp_mode_parse(const char *word, enum xdp_mode *mode);
const char *xdp_mode_name(enum xdp_mode mode);

/**
 * xdp_attach - let @dev's receive path hand packets to the module
 * @dev: name of the device
 * @mode: XDP_AUTO, XDP_NATIVE or XDP_GENERIC
 * @port: the module's UDP port in this namespace
 * @status: receives what is there afterwards
 *
 * Return: 0; -ENODEV; -EALREADY: it is there already, and current; -EBUSY: a
 * program that does not share is there, or one in another mode; -EOPNOTSUPP:
 * not in this mode; -ENOENT: no BPF file system; -EPERM.
 *
 * One that was loaded before the module is replaced.
 */
int xdp_attach(const char *dev, enum xdp_mode mode, uint16_t port,
	       struct xdp_status *status, char why[XDP_WHY_MAX]);

/* Take tally's program off, no other.  -ENOENT: it is not there. */
int xdp_detach(const char *dev, char why[XDP_WHY_MAX]);

/* Return: 0 also if nothing is there. */
int xdp_status(const char *dev, struct xdp_status *status,
	       char why[XDP_WHY_MAX]);

#endif
