// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* tally show, tally group show, tally version */
#include "args.h"
#include "print.h"

#include <tally/wire.h>

#include <errno.h>
#include <string.h>

/*
 * The groups that @argv asks for, one or all, as {"groups": [...]}.
 * Return: CLI_*, with a tree to be freed if CLI_OK.
 */
static int collect(struct cli *cli, int argc, char **argv, const char *usage,
		   cJSON **tree)
{
	struct groups groups;
	struct group *one = NULL;
	cJSON *array;
	size_t i;
	int ret;

	ret = args_count(cli, argc, 0, 1, usage);
	if (ret)
		return ret;
	ret = argc ? args_group(cli, argv[0], &groups, &one) :
		     nl_groups(cli, &groups);
	if (ret)
		return ret;
	*tree = cJSON_CreateObject();
	array = cJSON_AddArrayToObject(*tree, "groups");
	for (i = 0; i < groups.nr; i++)
		if (!one || one == &groups.at[i])
			print_add_group(array, &groups.at[i]);
	groups_free(&groups);
	return CLI_OK;
}

static bool nothing(struct cli *cli, const cJSON *groups)
{
	if (cJSON_GetArraySize(groups))
		return false;
	fputs("no groups in this network namespace; configure some with: tally up FILE\n",
	      cli->out);
	return true;
}

static void show_group(FILE *out, const cJSON *g)
{
	static const struct column geometry[] = {
		{ "payload", "payload", PRINT_BYTES, 0 },
		{ "window", "window", PRINT_TEXT, 0 },
		{ "max_bytes", "max", PRINT_BYTES, 0 },
		{ "quorum", "quorum", PRINT_TEXT, 0 },
		{ "gid", "gid", PRINT_TEXT, 0 },
		{ 0 }
	};
	static const struct column times[] = {
		{ "bound_us", "bound", PRINT_US, 0 },
		{ "settle_us", "settle", PRINT_US, 0 },
		{ "timeout_us", "timeout", PRINT_US, 0 },
		{ "seq", "seq", PRINT_TEXT, 0 },
		{ "bytes", "memory", PRINT_BYTES, 0 },
		{ 0 }
	};
	static const struct column members[] = {
		{ "rank", "RANK", PRINT_TEXT, true },
		{ "address", "ADDRESS", PRINT_TEXT, 0 },
		{ "port", "PORT", PRINT_TEXT, true },
		{ "local", "LOCAL", PRINT_YES, 0 },
		{ "attached", "ATTACHED", PRINT_YES, 0 },
		{ "stale", "STALE", PRINT_YES, 0 },
		{ "done", "DONE", PRINT_TEXT, true },
		{ "seen_ms", "SEEN", PRINT_MS, true },
		{ 0 }
	};
	const cJSON *name = cJSON_GetObjectItem(g, "name");
	char id[32], epoch[32];

	print_value(cJSON_GetObjectItem(g, "id"), PRINT_TEXT, id, sizeof(id));
	print_value(cJSON_GetObjectItem(g, "epoch"), PRINT_TEXT, epoch,
		    sizeof(epoch));
	fprintf(out, "group %s: id %s, epoch %s, %s, %s\n",
		cJSON_IsString(name) ? name->valuestring : id, id, epoch,
		cJSON_IsTrue(cJSON_GetObjectItem(g, "up")) ? "up" : "down",
		cJSON_IsTrue(cJSON_GetObjectItem(g, "keyed")) ? "keyed" :
								"no key");
	print_line(out, 2, g, geometry);
	print_line(out, 2, g, times);
	g = cJSON_GetObjectItem(g, "members");
	if (cJSON_GetArraySize(g))
		print_table(out, 2, g, members);
	else
		fputs("  no members\n", out);
}

int cmd_show(struct cli *cli, int argc, char **argv)
{
	const cJSON *groups, *g;
	bool first = true;
	cJSON *tree;
	int ret;

	ret = collect(cli, argc, argv, "show [GROUP]", &tree);
	if (ret)
		return ret;
	if (cli->json) {
		ret = print_json(cli, tree, false);
	} else {
		groups = cJSON_GetObjectItem(tree, "groups");
		nothing(cli, groups);
		cJSON_ArrayForEach(g, groups) {
			if (!first)
				fputc('\n', cli->out);
			first = false;
			show_group(cli->out, g);
		}
	}
	cJSON_Delete(tree);
	return ret;
}

int cmd_group_show(struct cli *cli, int argc, char **argv)
{
	static const struct column columns[] = {
		{ "id", "ID", PRINT_TEXT, true },
		{ "name", "NAME", PRINT_TEXT, 0 },
		{ "up", "UP", PRINT_YES, 0 },
		{ "epoch", "EPOCH", PRINT_TEXT, true },
		{ "ranks", "RANKS", PRINT_TEXT, 0 },
		{ "payload", "PAYLOAD", PRINT_BYTES, true },
		{ "window", "WINDOW", PRINT_TEXT, true },
		{ "max_bytes", "MAX", PRINT_BYTES, true },
		{ "bound_us", "BOUND", PRINT_US, true },
		{ "settle_us", "SETTLE", PRINT_US, true },
		{ "timeout_us", "TIMEOUT", PRINT_US, true },
		{ "quorum", "QUORUM", PRINT_TEXT, true },
		{ "gid", "GID", PRINT_TEXT, true },
		{ "keyed", "KEY", PRINT_YES, 0 },
		{ 0 }
	};
	cJSON *tree, *groups, *g, *m;
	char ranks[UNITS_TEXT];
	uint64_t mask;
	int ret;

	ret = collect(cli, argc, argv, "group show [GROUP]", &tree);
	if (ret)
		return ret;
	groups = cJSON_GetObjectItem(tree, "groups");
	if (cli->json) {
		ret = print_json(cli, tree, false);
	} else if (!nothing(cli, groups)) {
		cJSON_ArrayForEach(g, groups) {
			mask = 0;
			cJSON_ArrayForEach(m, cJSON_GetObjectItem(g, "members"))
				mask |= 1ull << cJSON_GetObjectItem(m, "rank")
							->valueint;
			cJSON_AddStringToObject(g, "ranks",
						units_ranks(mask, ranks,
							    sizeof(ranks)));
		}
		print_table(cli->out, 0, groups, columns);
	}
	cJSON_Delete(tree);
	return ret;
}

int cmd_version(struct cli *cli, int argc, char **argv)
{
	struct tally_info info = { .size = sizeof(info) };
	cJSON *tree, *module;
	int ret;

	ret = args_count(cli, argc, 0, 0, "version");
	if (ret)
		return ret;
	tree = cJSON_CreateObject();
	cJSON_AddStringToObject(tree, "version", CLI_VERSION);
	print_add_u64(tree, "abi", TALLY_ABI_VERSION);
	print_add_u64(tree, "wire", TALLY_VERSION);
	ret = cli->info(&info);
	if (ret) {
		cJSON_AddNullToObject(tree, "module");
	} else {
		module = cJSON_AddObjectToObject(tree, "module");
		print_add_u64(module, "abi", info.out_abi);
		print_add_u64(module, "port", info.out_port);
		cJSON_AddBoolToObject(module, "kfunc",
				      info.out_features & TALLY_FEATURE_KFUNC);
		cJSON_AddBoolToObject(module, "ipv6",
				      info.out_features & TALLY_FEATURE_IPV6);
	}
	if (cli->json) {
		ret = print_json(cli, tree, false);
	} else {
		fprintf(cli->out, "tally %s, ABI %d, wire format %d\n",
			CLI_VERSION, TALLY_ABI_VERSION, TALLY_VERSION);
		if (ret)
			fprintf(cli->out, "module: /dev/tally: %s\n",
				strerror(-ret));
		else
			fprintf(cli->out, "module: ABI %u, UDP port %u\n",
				info.out_abi, info.out_port);
		ret = CLI_OK;
	}
	cJSON_Delete(tree);
	return ret;
}
