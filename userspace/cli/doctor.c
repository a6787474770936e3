// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* tally doctor: what is missing or slow on this host, and what to do. */
#include "args.h"
#include "conf.h"
#include "doctor.h"
#include "print.h"

#include <stdlib.h>
#include <string.h>

static const char *const severities[] = {
	[FINDING_OK] = "ok",
	[FINDING_INFO] = "info",
	[FINDING_WARN] = "warn",
	[FINDING_FAIL] = "fail",
};

bool doctor_module_loaded(const struct cli *cli)
{
	return cli_have_file(cli, "/sys/module/tally");
}

long long doctor_number(const struct cli *cli, const char *path)
{
	char text[64], *end;
	long long value;

	if (cli_read_file(cli, path, text, sizeof(text)) <= 0)
		return -1;
	value = strtoll(text, &end, 10);
	return end == text ? -1 : value;
}

/* What the kernel says of its groups' members. */
static void check_members(const struct groups *groups, struct findings *f)
{
	char label[64];
	uint32_t m;
	size_t i;

	for (i = 0; i < groups->nr; i++) {
		const struct group *g = &groups->at[i];

		group_label(g, label, sizeof(label));
		if (!g->up) {
			findings_add(f, FINDING_INFO, "group", "%s is down",
				     label);
			findings_remedy(f, "bring it up when it is wanted: tally group up %u",
					group_id(g));
			continue;
		}
		for (m = 0; m < g->nr_members; m++) {
			if (!g->members[m].local || !g->members[m].stale)
				continue;
			findings_add(f, FINDING_WARN, "group", "%s: member %u must receive state before it contributes again",
				     label, g->members[m].rank);
			findings_remedy(f, "its process rejoins by itself when it runs: see that it does");
		}
	}
}

/* As nl_groups(), but an error is a finding. */
static void read_groups(struct cli *cli, struct groups *groups,
			struct findings *f)
{
	char *said = NULL, *text;
	FILE *err = cli->err;
	size_t size;
	int ret;

	cli->err = open_memstream(&said, &size);
	if (!cli->err) {
		cli->err = err;
		f->lost = true;
		return;
	}
	ret = nl_groups(cli, groups);
	fclose(cli->err);
	cli->err = err;
	if (ret) {
		text = said + strcspn(said, " ");
		text[strcspn(text, ";\n")] = 0;
		findings_add(f, FINDING_FAIL, "netlink", "%s",
			     text + strspn(text, " "));
		findings_remedy(f, "load the module that came with this command: rmmod tally; modprobe tally");
	}
	free(said);
}

static int print_findings(struct cli *cli, const struct findings *f)
{
	cJSON *tree = cJSON_CreateObject(), *array, *o;
	int ret = CLI_OK;
	size_t i;

	cJSON_AddStringToObject(tree, "worst", severities[f->worst]);
	array = cJSON_AddArrayToObject(tree, "findings");
	for (i = 0; i < f->nr; i++) {
		o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "severity",
					severities[f->at[i].severity]);
		cJSON_AddStringToObject(o, "check", f->at[i].check);
		cJSON_AddStringToObject(o, "text", f->at[i].text);
		cJSON_AddStringToObject(o, "remedy", f->at[i].remedy);
		cJSON_AddItemToArray(array, o);
	}
	if (cli->json) {
		ret = print_json(cli, tree, false);
	} else {
		for (i = 0; i < f->nr; i++) {
			fprintf(cli->out, "%-4s  %-8s  %s\n",
				severities[f->at[i].severity], f->at[i].check,
				f->at[i].text);
			if (f->at[i].remedy[0])
				fprintf(cli->out, "%-4s  %-8s  -> %s\n", "", "",
					f->at[i].remedy);
		}
	}
	cJSON_Delete(tree);
	return ret;
}

int cmd_doctor(struct cli *cli, int argc, char **argv)
{
	struct groups file = { 0 }, kernel = { 0 };
	struct findings f = { 0 };
	bool loaded;
	int ret;

	ret = args_count(cli, argc, 0, 1, "doctor [FILE]");
	if (!ret && argc)
		ret = conf_read(cli, argv[0], false, &file);
	if (ret)
		return ret;
	loaded = doctor_module_loaded(cli);
	doctor_host(cli, &f);
	if (loaded)
		read_groups(cli, &kernel, &f);
	check_members(&kernel, &f);
	doctor_net(cli, argc ? &file : &kernel, &kernel, loaded, &f);
	ret = f.lost ? cli_nomem(cli) : print_findings(cli, &f);
	groups_free(&kernel);
	groups_free(&file);
	if (!ret && f.worst == FINDING_FAIL)
		ret = CLI_ERROR;
	else if (!ret && f.worst == FINDING_WARN)
		ret = CLI_WARNINGS;
	findings_free(&f);
	return ret;
}
