/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/* What the commands have in common in reading their arguments. */
#ifndef TALLY_CLI_ARGS_H
#define TALLY_CLI_ARGS_H

#include "check.h"
#include "netlink.h"

/*
 * Return: CLI_OK if @argc is from @min to @max, else CLI_USAGE, with @usage
 * ("group del GROUP") told.
 */
int args_count(struct cli *cli, int argc, int min, int max, const char *usage);

/**
 * struct args_option - an option of one command
 * @name: "-n"
 * @flag: set where it needs no value
 * @value: else set to the number that follows, at least 1
 */
struct args_option {
	const char	*name;
	bool		*flag;
	uint32_t	*value;
};

/*
 * Take options out of @argv, as far as they stand before "--".
 * @options: ends with a NULL name.  Return: CLI_OK, CLI_USAGE.
 */
int args_options(struct cli *cli, int *argc, char **argv,
		 const struct args_option *options, const char *command);

/*
 * "key value" pairs of a group into @g; a key file is read.
 * @what: goes before messages, "group add digits".
 */
int args_group_keys(struct cli *cli, int argc, char **argv, const char *what,
		    struct group *g);
int args_member_keys(struct cli *cli, int argc, char **argv, const char *what,
		     struct member *m);

/* All groups of the kernel and the one that is called @name. */
int args_group(struct cli *cli, const char *name, struct groups *groups,
	       struct group **g);

/* Tell the failures of @f as errors, warnings too. */
int findings_tell(struct cli *cli, const struct findings *f);

#endif
