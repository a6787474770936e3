/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/* The parts of `tally doctor`. */
#ifndef TALLY_CLI_DOCTOR_H
#define TALLY_CLI_DOCTOR_H

#include "check.h"

/* The kernel, the module and its device, BTF, BPF, limits. */
void doctor_host(struct cli *cli, struct findings *f);

/*
 * Devices, ports, and the ways to the members of @groups.
 * @kernel: groups that the kernel has, perhaps the same
 * @loaded: the module is
 */
void doctor_net(struct cli *cli, const struct groups *groups,
		const struct groups *kernel, bool loaded, struct findings *f);

bool doctor_module_loaded(const struct cli *cli);

/* A number that a file of the system begins with, or -1. */
long long doctor_number(const struct cli *cli, const char *path);

#endif
