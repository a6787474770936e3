/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * What every part of the `tally` command shares: its surroundings, and how it
 * says that something is wrong.
 */
#ifndef TALLY_CLI_H
#define TALLY_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/tally.h>

#define CLI_VERSION TALLY_LIB_VERSION	/* one for all that is built here */

/* What functions return that have told the user about the error already. */
#define CLI_OK		0
#define CLI_ERROR	1	/* the thing asked for was not done */
#define CLI_USAGE	2	/* the command line is wrong */
#define CLI_WARNINGS	3	/* doctor: nothing worse than warnings */

struct nl;
struct net;
struct tally_info;

/**
 * struct cli - one run of the command
 * @out: results
 * @err: errors and warnings
 * @json: results as JSON
 * @root: goes before the path of every file of the system: "" but in tests
 * @nl: the kernel's `tally` family; opened by nl_need()
 * @net: routes and devices; opened by net_need()
 * @nl_open: how to open @nl; returns 0 or CLI_ERROR
 * @net_open: how to open @net; returns 0 or CLI_ERROR
 * @info: what /dev/tally says of the module; returns 0 or -errno
 * @now: time of day in milliseconds
 *
 * Tests put their own functions and streams here.
 */
struct cli {
	FILE		*out;
	FILE		*err;
	bool		json;
	const char	*root;
	struct nl	*nl;
	struct net	*net;
	int		(*nl_open)(struct cli *cli);
	int		(*net_open)(struct cli *cli);
	int		(*info)(struct tally_info *info);
	uint64_t	(*now)(void);
};

/**
 * struct command - one word of the command line and what it does
 * @name: the word
 * @args: what may follow, for the usage line
 * @help: one line
 * @run: does it; @argv starts after the word.  Return: CLI_*
 * @sub: further words, in place of @run; ends with a NULL name
 */
struct command {
	const char		*name;
	const char		*args;
	const char		*help;
	int			(*run)(struct cli *cli, int argc, char **argv);
	const struct command	*sub;
};

/* Parse and run a whole command line.  Return: the exit code. */
int cli_run(struct cli *cli, int argc, char **argv);

/* One line "tally: ..." on cli->err.  Return: CLI_ERROR, CLI_USAGE. */
int cli_error(struct cli *cli, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int cli_usage(struct cli *cli, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void cli_warn(struct cli *cli, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int cli_nomem(struct cli *cli);

/* Replace what could break a line or a terminal in @text by '?'. */
char *cli_printable(char *text);

/*
 * Return: the entry of @words most like @word, or NULL if none is near.
 * @step: bytes from one entry to the next; an entry starts with its name, the
 * last has NULL there.
 */
const char *cli_nearest(const char *word, const void *words, size_t step);

/* The same as a remedy: "; did you mean 'x'?" or "". */
const char *cli_did_you_mean(const char *word, const void *words, size_t step,
			     char *buf, size_t size);

/*
 * Read at most @size - 1 bytes of the system's file @path (below cli->root)
 * and end them with 0.  Return: bytes read, or -errno.
 */
long cli_read_file(const struct cli *cli, const char *path, char *buf,
		   size_t size);

/* Return: whether the system has @path, any kind of file. */
bool cli_have_file(const struct cli *cli, const char *path);

int cmd_group_add(struct cli *cli, int argc, char **argv);
int cmd_group_set(struct cli *cli, int argc, char **argv);
int cmd_group_del(struct cli *cli, int argc, char **argv);
int cmd_group_up(struct cli *cli, int argc, char **argv);
int cmd_group_down(struct cli *cli, int argc, char **argv);
int cmd_group_show(struct cli *cli, int argc, char **argv);
int cmd_member_add(struct cli *cli, int argc, char **argv);
int cmd_member_del(struct cli *cli, int argc, char **argv);
int cmd_conf_load(struct cli *cli, int argc, char **argv);
int cmd_conf_save(struct cli *cli, int argc, char **argv);
int cmd_conf_sync(struct cli *cli, int argc, char **argv);
int cmd_up(struct cli *cli, int argc, char **argv);
int cmd_down(struct cli *cli, int argc, char **argv);
int cmd_show(struct cli *cli, int argc, char **argv);
int cmd_stats(struct cli *cli, int argc, char **argv);
int cmd_monitor(struct cli *cli, int argc, char **argv);
int cmd_doctor(struct cli *cli, int argc, char **argv);
int cmd_version(struct cli *cli, int argc, char **argv);
int cmd_xdp_attach(struct cli *cli, int argc, char **argv);
int cmd_xdp_detach(struct cli *cli, int argc, char **argv);
int cmd_xdp_status(struct cli *cli, int argc, char **argv);

#endif
