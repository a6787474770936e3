// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#include "args.h"

#include <string.h>

int args_count(struct cli *cli, int argc, int min, int max, const char *usage)
{
	if (argc >= min && argc <= max)
		return CLI_OK;
	return cli_usage(cli, "too %s arguments; usage: tally %s",
			 argc < min ? "few" : "many", usage);
}

static const struct args_option *find_option(const struct args_option *o,
					     const char *name)
{
	for (; o->name; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

int args_options(struct cli *cli, int *argc, char **argv,
		 const struct args_option *options, const char *command)
{
	const struct args_option *o;
	int i, to = 0;
	uint64_t v;

	for (i = 0; i < *argc; i++) {
		if (argv[i][0] != '-' || !argv[i][1]) {
			argv[to++] = argv[i];
			continue;
		}
		o = find_option(options, argv[i]);
		if (!o)
			return cli_usage(cli, "%s: unknown option %s; see 'tally help %s'",
					 command, argv[i], command);
		if (o->flag) {
			*o->flag = true;
			continue;
		}
		if (i + 1 == *argc || units_number(argv[i + 1], &v) || !v ||
		    v > 1000000)
			return cli_usage(cli, "%s: option %s needs a number from 1 to 1000000",
					 command, o->name);
		*o->value = (uint32_t)v;
		i++;
	}
	*argc = to;
	return CLI_OK;
}

/* The part that keys of groups and members share. */
static int next_key(struct cli *cli, int argc, char **argv, const char *what,
		    const struct key *table, uint32_t given,
		    const struct key **key)
{
	char hint[96], all[WHY_BYTES] = "";
	const struct key *k;
	size_t at = 0;

	*key = key_find(table, argv[0]);
	if (!*key) {
		cli_did_you_mean(argv[0], table, sizeof(*table), hint,
				 sizeof(hint));
		for (k = table; k->name; k++)
			at += (size_t)snprintf(all + at, sizeof(all) - at,
					       " %s", k->name);
		return cli_usage(cli, "%s: %s: unknown key%s; keys are%s",
				 what, argv[0], hint, all);
	}
	if (argc < 2)
		return cli_usage(cli, "%s: %s: no value follows; it must be %s",
				 what, argv[0], (*key)->right);
	if (given >> (*key)->attr & 1)
		return cli_usage(cli, "%s: %s: given twice; remove one of them",
				 what, argv[0]);
	return CLI_OK;
}

int args_group_keys(struct cli *cli, int argc, char **argv, const char *what,
		    struct group *g)
{
	uint32_t given = 0;
	const struct key *key;
	char why[WHY_BYTES];
	int ret;

	for (; argc > 0; argc -= 2, argv += 2) {
		ret = next_key(cli, argc, argv, what, group_keys, given, &key);
		if (ret)
			return ret;
		given |= 1u << key->attr;
		if (key->attr == TALLY_A_GROUP_ID &&
		    group_has(g, TALLY_A_GROUP_ID))
			return cli_usage(cli, "%s: id: it is %u already; remove the key",
					 what, group_id(g));
		if (!group_set_key(g, key, argv[1], why, sizeof(why)))
			return cli_usage(cli, "%s: %s: %s", what, key->name,
					 why);
	}
	if (g->key_file[0])
		return group_load_key(cli, g, NULL, what);
	return CLI_OK;
}

int args_member_keys(struct cli *cli, int argc, char **argv, const char *what,
		     struct member *m)
{
	const struct key *key;
	char why[WHY_BYTES];
	int ret;

	for (; argc > 0; argc -= 2, argv += 2) {
		ret = next_key(cli, argc, argv, what, member_keys, m->has,
			       &key);
		if (ret)
			return ret;
		if (!member_set_key(m, key, argv[1], why, sizeof(why)))
			return cli_usage(cli, "%s: %s: %s", what, key->name,
					 why);
	}
	return CLI_OK;
}

int args_group(struct cli *cli, const char *name, struct groups *groups,
	       struct group **g)
{
	int ret = nl_groups(cli, groups);

	if (ret)
		return ret;
	*g = nl_find_group(cli, groups, name);
	if (*g)
		return CLI_OK;
	groups_free(groups);
	return CLI_ERROR;
}

int findings_tell(struct cli *cli, const struct findings *f)
{
	int ret = f->lost ? cli_nomem(cli) : CLI_OK;
	size_t i;

	for (i = 0; i < f->nr; i++) {
		const struct finding *one = &f->at[i];

		if (one->severity == FINDING_WARN)
			cli_warn(cli, "%s; %s", one->text, one->remedy);
		if (one->severity == FINDING_FAIL)
			ret = cli_error(cli, "%s; %s", one->text, one->remedy);
	}
	return ret;
}
