// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* The table of commands, and how a command line finds its way into it. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static int cmd_help(struct cli *cli, int argc, char **argv);

static const struct command group_commands[] = {
	{ "add", "NAME|ID KEY VALUE...", "create a group", cmd_group_add, 0 },
	{ "set", "GROUP KEY VALUE...", "change a group", cmd_group_set, 0 },
	{ "del", "GROUP", "remove a group and its members", cmd_group_del, 0 },
	{ "up", "GROUP", "let processes attach", cmd_group_up, 0 },
	{ "down", "GROUP", "end all collectives", cmd_group_down, 0 },
	{ "show", "[GROUP]", "configuration of groups", cmd_group_show, 0 },
	{ 0 }
};

static const struct command member_commands[] = {
	{ "add", "GROUP RANK address ADDRESS [port N] [cap N]",
	  "add a member to a group that is down", cmd_member_add, 0 },
	{ "del", "GROUP RANK", "remove a member", cmd_member_del, 0 },
	{ 0 }
};

static const struct command conf_commands[] = {
	{ "load", "FILE", "create the groups of a file", cmd_conf_load, 0 },
	{ "save", "FILE|-", "write all groups to a file", cmd_conf_save, 0 },
	{ "sync", "FILE", "make the file's groups as the file says",
	  cmd_conf_sync, 0 },
	{ 0 }
};

static const struct command xdp_commands[] = {
	{ "attach", "DEVICE [native|generic|auto]",
	  "let the device's receive path sum packets", cmd_xdp_attach, 0 },
	{ "detach", "DEVICE", "undo this", cmd_xdp_detach, 0 },
	{ "status", "[DEVICE]", "which devices do", cmd_xdp_status, 0 },
	{ 0 }
};

static const struct command commands[] = {
	{ "up", "FILE", "configure the file's groups, check paths, bring up",
	  cmd_up, 0 },
	{ "down", "[-k] FILE", "take the file's groups down and remove them",
	  cmd_down, 0 },
	{ "show", "[GROUP]", "groups, members and their state", cmd_show, 0 },
	{ "stats", "[-a] [-i SECONDS [-n TIMES]] [GROUP]",
	  "counters, and drops by reason", cmd_stats, 0 },
	{ "monitor", "[-n EVENTS] [-t SECONDS] [GROUP]",
	  "print events as they happen", cmd_monitor, 0 },
	{ "doctor", "[FILE]", "look for what is missing or slow on this host",
	  cmd_doctor, 0 },
	{ "group", NULL, "add, set, del, up, down, show", NULL,
	  group_commands },
	{ "member", NULL, "add, del", NULL, member_commands },
	{ "conf", NULL, "load, save, sync", NULL, conf_commands },
	{ "xdp", NULL, "attach, detach, status", NULL, xdp_commands },
	{ "version", "", "versions of the command and the module",
	  cmd_version, 0 },
	{ "help", "[COMMAND]", "this", cmd_help, 0 },
	{ 0 }
};

static const struct command *find(const struct command *c, const char *word)
{
	for (; c->name; c++)
		if (!strcmp(c->name, word))
			return c;
	return NULL;
}

static void print_commands(struct cli *cli, const char *prefix,
			   const struct command *c)
{
	char left[96];

	for (; c->name; c++) {
		if (c->sub) {
			snprintf(left, sizeof(left), "%s ", c->name);
			print_commands(cli, left, c->sub);
			continue;
		}
		snprintf(left, sizeof(left), "%s%s %s", prefix, c->name,
			 c->args);
		if (strlen(left) > 34)
			fprintf(cli->out, "  %s\n  %-34s  %s\n", left, "",
				c->help);
		else
			fprintf(cli->out, "  %-34s  %s\n", left, c->help);
	}
}

static void print_help(struct cli *cli)
{
	fputs("usage: tally [-j] COMMAND [ARGUMENTS]\n\n", cli->out);
	print_commands(cli, "", commands);
	fputs("\n  -j, --json      results as JSON\n"
	      "  -h, --help      usage of a command\n"
	      "  -V, --version   as the command version\n\n"
	      "tally(8) has the details, tally.conf(5) the file format.\n",
	      cli->out);
}

static int usage_of(struct cli *cli, const char *parent, const char *gap,
		    const struct command *c)
{
	char prefix[32];

	fprintf(cli->out, "usage: tally [-j] %s%s%s %s\n", parent, gap,
		c->name, c->sub ? "COMMAND" : c->args);
	snprintf(prefix, sizeof(prefix), "%s ", c->name);
	if (c->sub)
		print_commands(cli, prefix, c->sub);
	else
		fprintf(cli->out, "  %s\n", c->help);
	return CLI_OK;
}

/* @parent: the word before, or "" */
static int dispatch(struct cli *cli, const struct command *table,
		    const char *parent, bool help, int argc, char **argv)
{
	const char *gap = *parent ? " " : "";
	const struct command *c;
	char hint[96];

	if (!argc) {
		if (help) {
			print_help(cli);
			return CLI_OK;
		}
		return cli_usage(cli, "%s%sno command given; see 'tally help%s%s'",
				 parent, *parent ? ": " : "", gap, parent);
	}
	c = find(table, argv[0]);
	if (!c)
		return cli_usage(cli, "%s%s%s: unknown command%s; see 'tally help%s%s'",
				 parent, gap, argv[0],
				 cli_did_you_mean(argv[0], table,
						  sizeof(*table), hint,
						  sizeof(hint)),
				 gap, parent);
	if (help && (!c->sub || argc == 1))
		return usage_of(cli, parent, gap, c);
	if (c->sub)
		return dispatch(cli, c->sub, c->name, help, argc - 1,
				argv + 1);
	return c->run(cli, argc - 1, argv + 1);
}

static int cmd_help(struct cli *cli, int argc, char **argv)
{
	return dispatch(cli, commands, "", true, argc, argv);
}

/*
 * Options that every command knows may stand anywhere before "--"; they are
 * taken out of @argv.
 */
static int take_options(struct cli *cli, int argc, char **argv, bool *help,
			bool *version)
{
	int i, to = 0;

	for (i = 0; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "-j") || !strcmp(argv[i], "--json"))
			cli->json = true;
		else if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
			*help = true;
		else if (!strcmp(argv[i], "-V") ||
			 !strcmp(argv[i], "--version"))
			*version = true;
		else
			argv[to++] = argv[i];
	}
	if (i < argc)
		i++;
	while (i < argc)
		argv[to++] = argv[i++];
	return to;
}

int cli_run(struct cli *cli, int argc, char **argv)
{
	bool help = false, version = false;
	int ret;

	argc = take_options(cli, argc, argv, &help, &version);
	if (version)
		ret = cmd_version(cli, 0, argv);
	else
		ret = dispatch(cli, commands, "", help, argc, argv);
	if (fflush(cli->out) || ferror(cli->out))
		return cli_error(cli, "the results could not be written");
	return ret;
}
