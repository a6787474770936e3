/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kernel in a few lines: it keeps groups as the netlink family does, writes
 * down every change that is asked for, and fails when it is told to.  Routes,
 * devices and XDP programs are as a script says.
 */
#ifndef TALLY_SELFTEST_FAKE_H
#define TALLY_SELFTEST_FAKE_H

#include "netlink.h"

/* Openers for struct cli. */
int fake_nl_open(struct cli *cli);
int fake_net_open(struct cli *cli);
int fake_info(struct tally_info *info);
uint64_t fake_now(void);

/* The groups that it keeps, to look at. */
const struct groups *fake_groups(void);

/* The @nth change from now on fails, 0: none; the first is 1. */
void fake_fail_nth(unsigned int nth);

/* Forget everything. */
void fake_reset(void);

/*
 * One line of a script, in words.  Return: NULL, or what is wrong with it.
 * What there is to print goes to @out.
 */
const char *fake_command(FILE *out, int argc, char **argv);

/* fake_net.c's part of fake_command(): -1: not one of its words */
int fake_net_command(int argc, char **argv);
void fake_net_reset(void);

#endif
