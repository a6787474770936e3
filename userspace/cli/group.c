// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* tally group add|set|del|up|down, tally member add|del */
#include "apply.h"
#include "args.h"

#include <tally/wire.h>

#include <stdlib.h>
#include <string.h>

/* Put the group's name, or its id if it is a number, into @g. */
static int name_group(struct cli *cli, const char *name, struct group *g)
{
	const char *why;
	uint64_t id;

	if (!units_number(name, &id)) {
		if (!id || id > 65535)
			return cli_usage(cli, "group add %s: the id must be a number from 1 to 65535",
					 name);
		g->val[TALLY_A_GROUP_ID] = (uint32_t)id;
		g->has |= 1u << TALLY_A_GROUP_ID;
		return CLI_OK;
	}
	if (!group_name_ok(name, &why))
		return cli_usage(cli, "group add %s: the name %s", name, why);
	strcpy(g->name, name);
	g->has |= 1u << TALLY_A_GROUP_NAME;
	return CLI_OK;
}

static int refuse_existing(struct cli *cli, const struct group *g,
			   const struct groups *old)
{
	const struct group *other = groups_by_id(old, group_id(g));
	char label[64];

	if (other)
		return cli_error(cli, "group %u exists already, as %s; choose another id, or remove it first: tally group del %u",
				 group_id(g),
				 group_label(other, label, sizeof(label)),
				 group_id(g));
	other = g->name[0] ? groups_by_name(old, g->name) : NULL;
	if (other)
		return cli_error(cli, "group %s exists already, with id %u; choose another name, or remove it first: tally group del %s",
				 g->name, group_id(other), g->name);
	return CLI_OK;
}

static int run_and_free(struct cli *cli, struct plan *plan)
{
	int ret = plan_run(cli, plan);

	plan_free(plan);
	return ret;
}

/* Read the words of `group add` into @g. */
static int parse_new(struct cli *cli, int argc, char **argv, struct group *g)
{
	char what[128], why[WHY_BYTES];
	unsigned int attr;
	int ret;

	ret = args_count(cli, argc, 1, 64, "group add NAME|ID KEY VALUE...");
	if (ret)
		return ret;
	ret = name_group(cli, argv[0], g);
	if (ret)
		return ret;
	snprintf(what, sizeof(what), "group add %s", argv[0]);
	ret = args_group_keys(cli, argc - 1, argv + 1, what, g);
	if (ret)
		return ret;
	if (!group_has(g, TALLY_A_GROUP_ID))
		return cli_usage(cli, "%s: no id given; add id N, the same number on every host",
				 what);
	if (group_check(g, &attr, why, sizeof(why)))
		return cli_usage(cli, "%s: %s", what, why);
	return CLI_OK;
}

int cmd_group_add(struct cli *cli, int argc, char **argv)
{
	struct plan plan = { 0 };
	struct groups old;
	struct group g;
	int ret;

	memset(&g, 0, sizeof(g));
	ret = parse_new(cli, argc, argv, &g);
	if (!ret)
		ret = nl_groups(cli, &old);
	if (!ret) {
		ret = refuse_existing(cli, &g, &old);
		groups_free(&old);
	}
	if (!ret) {
		plan_create(&plan, &g);
		ret = run_and_free(cli, &plan);
	}
	explicit_bzero(&g, sizeof(g));
	return ret;
}

/* @want: the keys given; tested together with what the group has */
static int check_merged(struct cli *cli, const struct group *want,
			const struct group *old, const char *what)
{
	struct group merged = *old;
	char why[WHY_BYTES];
	unsigned int attr;

	for (attr = TALLY_A_GROUP_EPOCH; attr <= TALLY_A_GROUP_GID; attr++)
		if (group_has(want, attr)) {
			merged.val[attr] = want->val[attr];
			merged.has |= 1u << attr;
		}
	if (group_check(&merged, &attr, why, sizeof(why)))
		return cli_error(cli, "%s: %s", what, why);
	return CLI_OK;
}

int cmd_group_set(struct cli *cli, int argc, char **argv)
{
	struct plan plan = { 0 };
	struct groups groups;
	struct group want, *old;
	char what[128];
	int ret;

	ret = args_count(cli, argc, 3, 64, "group set GROUP KEY VALUE...");
	if (ret)
		return ret;
	/* Words first: a mistake in them needs no kernel to be seen. */
	memset(&want, 0, sizeof(want));
	snprintf(what, sizeof(what), "group set %s", argv[0]);
	ret = args_group_keys(cli, argc - 1, argv + 1, what, &want);
	if (!ret && group_has(&want, TALLY_A_GROUP_ID))
		ret = cli_usage(cli, "%s: id: it cannot be changed; add another group and remove this one",
				what);
	if (!ret)
		ret = args_group(cli, argv[0], &groups, &old);
	if (ret)
		goto out;
	want.val[TALLY_A_GROUP_ID] = group_id(old);
	strcpy(want.name, old->name);
	ret = check_merged(cli, &want, old, what);
	if (!ret)
		ret = plan_change(cli, &plan, &want, old);
	if (!ret)
		ret = plan_run(cli, &plan);
	plan_free(&plan);
	groups_free(&groups);
out:
	explicit_bzero(&want, sizeof(want));
	return ret;
}

/* Send @cmd for a group that exists, unless it is as wished already. */
static int simple(struct cli *cli, int argc, char **argv, enum tally_cmd cmd,
		  const char *usage)
{
	struct plan plan = { 0 };
	struct groups groups;
	struct findings f = { 0 };
	struct group *g;
	int ret;

	ret = args_count(cli, argc, 1, 1, usage);
	if (!ret)
		ret = args_group(cli, argv[0], &groups, &g);
	if (ret)
		return ret;
	if (cmd == TALLY_CMD_GROUP_UP && !g->up) {
		ret = check_paths(cli, g, g->val[TALLY_A_GROUP_PAYLOAD], &f);
		if (!ret)
			ret = findings_tell(cli, &f);
		findings_free(&f);
	}
	if (!ret && !(cmd == TALLY_CMD_GROUP_UP && g->up) &&
	    !(cmd == TALLY_CMD_GROUP_DOWN && !g->up)) {
		plan_add(&plan, &(struct step){
			.cmd = cmd, .group = g, .old = g,
		});
		ret = run_and_free(cli, &plan);
	}
	groups_free(&groups);
	return ret;
}

int cmd_group_del(struct cli *cli, int argc, char **argv)
{
	return simple(cli, argc, argv, TALLY_CMD_GROUP_DEL, "group del GROUP");
}

int cmd_group_up(struct cli *cli, int argc, char **argv)
{
	return simple(cli, argc, argv, TALLY_CMD_GROUP_UP, "group up GROUP");
}

int cmd_group_down(struct cli *cli, int argc, char **argv)
{
	return simple(cli, argc, argv, TALLY_CMD_GROUP_DOWN,
		      "group down GROUP");
}

static int parse_rank(struct cli *cli, const char *text, const char *what,
		      uint32_t *rank)
{
	uint64_t v;

	if (units_number(text, &v) || v >= TALLY_RANKS)
		return cli_usage(cli, "%s: '%s' is no rank; a rank is a number from 0 to %d",
				 what, text, TALLY_RANKS - 1);
	*rank = (uint32_t)v;
	return CLI_OK;
}

static int run_member(struct cli *cli, const char *name, enum tally_cmd cmd,
		      struct member *m, const char *what)
{
	struct plan plan = { 0 };
	struct groups groups;
	struct member *old;
	struct group *g;
	int ret;

	ret = args_group(cli, name, &groups, &g);
	if (ret)
		return ret;
	old = group_member(g, m->rank);
	if (cmd == TALLY_CMD_MEMBER_NEW && old)
		ret = cli_error(cli, "%s: the group has this rank already; remove it first: tally member del %s %u",
				what, name, m->rank);
	if (cmd == TALLY_CMD_MEMBER_DEL && !old)
		ret = cli_error(cli, "%s: the group has no such rank; 'tally show %s' lists its members",
				what, name);
	if (!ret) {
		plan_add(&plan, &(struct step){
			.cmd = cmd, .group = g, .member = old ? old : m,
		});
		ret = run_and_free(cli, &plan);
	}
	groups_free(&groups);
	return ret;
}

int cmd_member_add(struct cli *cli, int argc, char **argv)
{
	struct member m = { .port = TALLY_PORT };
	char what[128];
	int ret;

	ret = args_count(cli, argc, 3, 64,
			 "member add GROUP RANK address ADDRESS [port N] [cap N]");
	if (ret)
		return ret;
	snprintf(what, sizeof(what), "member add %s %s", argv[0], argv[1]);
	ret = parse_rank(cli, argv[1], what, &m.rank);
	if (!ret)
		ret = args_member_keys(cli, argc - 2, argv + 2, what, &m);
	if (ret)
		return ret;
	if (!(m.has >> MEMBER_ADDRESS & 1))
		return cli_usage(cli, "%s: no address given; add address ADDRESS",
				 what);
	return run_member(cli, argv[0], TALLY_CMD_MEMBER_NEW, &m, what);
}

int cmd_member_del(struct cli *cli, int argc, char **argv)
{
	struct member m = { 0 };
	char what[128];
	int ret;

	ret = args_count(cli, argc, 2, 2, "member del GROUP RANK");
	if (ret)
		return ret;
	snprintf(what, sizeof(what), "member del %s %s", argv[0], argv[1]);
	ret = parse_rank(cli, argv[1], what, &m.rank);
	if (ret)
		return ret;
	return run_member(cli, argv[0], TALLY_CMD_MEMBER_DEL, &m, what);
}
