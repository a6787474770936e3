// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* tally conf load|save|sync, tally up, tally down */
#include "apply.h"
#include "args.h"
#include "conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/**
 * struct work - a file beside what the kernel has
 * @file: groups of the file
 * @old: groups of the kernel
 * @plan: what to do
 */
struct work {
	struct groups	file;
	struct groups	old;
	struct plan	plan;
};

static int begin(struct cli *cli, const char *path, bool keys, struct work *w)
{
	int ret;

	memset(w, 0, sizeof(*w));
	ret = conf_read(cli, path, keys, &w->file);
	if (!ret)
		ret = nl_groups(cli, &w->old);
	return ret;
}

static void end(struct work *w)
{
	plan_free(&w->plan);
	groups_free(&w->file);
	groups_free(&w->old);
}

/* A name that another id has already is somebody else's group. */
static int check_name(struct cli *cli, const char *path, const struct group *g,
		      const struct groups *old)
{
	const struct group *other;

	other = g->name[0] ? groups_by_name(old, g->name) : NULL;
	if (!other || group_id(other) == group_id(g))
		return CLI_OK;
	return cli_error(cli, "%s:%d: the kernel's group %s has id %u, not %u; correct the id, or remove that group first: tally group del %u",
			 path, g->line, g->name, group_id(other), group_id(g),
			 group_id(other));
}

int cmd_conf_load(struct cli *cli, int argc, char **argv)
{
	struct work w;
	size_t i;
	int ret;

	ret = args_count(cli, argc, 1, 1, "conf load FILE");
	if (ret)
		return ret;
	ret = begin(cli, argv[0], true, &w);
	for (i = 0; !ret && i < w.file.nr; i++) {
		const struct group *g = &w.file.at[i];

		ret = check_name(cli, argv[0], g, &w.old);
		if (!ret && groups_by_id(&w.old, group_id(g)))
			ret = cli_error(cli, "%s:%d: group %u exists already; to change it: tally conf sync %s",
					argv[0], g->line, group_id(g), argv[0]);
		plan_create(&w.plan, g);
	}
	if (!ret)
		ret = plan_run(cli, &w.plan);
	end(&w);
	return ret;
}

/* Plan to make the file's groups as the file says. */
static int plan_sync(struct cli *cli, const char *path, struct work *w)
{
	struct group *g, *old;
	int ret = CLI_OK;
	size_t i;

	for (i = 0; !ret && i < w->file.nr; i++) {
		g = &w->file.at[i];
		ret = check_name(cli, path, g, &w->old);
		if (ret)
			break;
		old = groups_by_id(&w->old, group_id(g));
		if (old)
			ret = plan_change(cli, &w->plan, g, old);
		else
			plan_create(&w->plan, g);
	}
	return ret;
}

int cmd_conf_sync(struct cli *cli, int argc, char **argv)
{
	struct work w;
	int ret;

	ret = args_count(cli, argc, 1, 1, "conf sync FILE");
	if (ret)
		return ret;
	ret = begin(cli, argv[0], true, &w);
	if (!ret)
		ret = plan_sync(cli, argv[0], &w);
	if (!ret)
		ret = plan_run(cli, &w.plan);
	end(&w);
	return ret;
}

/* Write beside @path and rename, so that no reader sees half a file. */
static int save_file(struct cli *cli, const char *path,
		     const struct groups *groups)
{
	char temp[PATH_MAX_BYTES + 16];
	mode_t mask;
	FILE *file;
	int fd, failed;

	if (snprintf(temp, sizeof(temp), "%s.XXXXXX", path) >=
	    (int)sizeof(temp))
		return cli_error(cli, "%s: the path is too long", path);
	fd = mkstemp(temp);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file)
		return cli_error(cli, "%s: %s; name a file in a directory that you may write to",
				 path, strerror(errno));
	conf_write(file, groups);
	mask = umask(0);
	umask(mask);
	failed = fchmod(fd, 0666 & ~mask) || fflush(file) || fsync(fd);
	failed = fclose(file) || failed;
	if (!failed && !rename(temp, path))
		return CLI_OK;
	cli_error(cli, "%s: %s; the former file is as it was", path,
		  strerror(errno));
	unlink(temp);
	return CLI_ERROR;
}

/* Key files that the file at @path named before are named again. */
static void keep_key_files(const char *path, struct groups *groups)
{
	struct groups former = { 0 };
	struct group *g;
	struct cli quiet = { 0 };
	FILE *file = fopen(path, "re");
	size_t i;

	if (!file)
		return;
	quiet.out = quiet.err = fopen("/dev/null", "we");
	if (quiet.err &&
	    !conf_read_stream(&quiet, file, path, NULL, &former)) {
		for (i = 0; i < groups->nr; i++) {
			g = groups_by_id(&former, group_id(&groups->at[i]));
			if (!g || !g->key_file[0] || !groups->at[i].keyed)
				continue;
			strcpy(groups->at[i].key_file, g->key_file);
			groups->at[i].has |= 1u << TALLY_A_GROUP_KEY;
		}
		groups_free(&former);
	}
	if (quiet.err)
		fclose(quiet.err);
	fclose(file);
}

int cmd_conf_save(struct cli *cli, int argc, char **argv)
{
	struct groups groups;
	size_t i;
	int ret;

	ret = args_count(cli, argc, 1, 1, "conf save FILE|-");
	if (!ret)
		ret = nl_groups(cli, &groups);
	if (ret)
		return ret;
	if (strcmp(argv[0], "-")) {
		keep_key_files(argv[0], &groups);
		ret = save_file(cli, argv[0], &groups);
	} else {
		conf_write(cli->out, &groups);
	}
	for (i = 0; !ret && i < groups.nr; i++) {
		if (!groups.at[i].nr_members)
			cli_warn(cli, "group %u has no members; add some, or the file cannot be loaded",
				 group_id(&groups.at[i]));
		if (groups.at[i].keyed && !groups.at[i].key_file[0])
			cli_warn(cli, "group %u has a key, which the kernel does not tell; write its key_file into the file",
				 group_id(&groups.at[i]));
	}
	groups_free(&groups);
	return ret;
}

/* The payload that @g will have, as far as it is known. */
static uint32_t payload_of(const struct group *g, const struct groups *old)
{
	const struct group *other = groups_by_id(old, group_id(g));

	if (group_has(g, TALLY_A_GROUP_PAYLOAD))
		return g->val[TALLY_A_GROUP_PAYLOAD];
	return other ? other->val[TALLY_A_GROUP_PAYLOAD] : 0;
}

/* Test the ways to all members of the file's groups. */
static int check_file(struct cli *cli, const struct groups *file,
		      const struct groups *known)
{
	struct findings f = { 0 };
	int ret = CLI_OK;
	size_t i;

	for (i = 0; !ret && i < file->nr; i++)
		ret = check_paths(cli, &file->at[i],
				  payload_of(&file->at[i], known), &f);
	if (!ret)
		ret = findings_tell(cli, &f);
	findings_free(&f);
	return ret;
}

/*
 * The kernel has chosen the payload of groups that do not name it: look
 * again, now that it is known.
 */
static int check_chosen(struct cli *cli, struct work *w)
{
	struct groups now;
	bool any = false;
	size_t i;
	int ret;

	for (i = 0; i < w->file.nr; i++)
		any |= !payload_of(&w->file.at[i], &w->old);
	if (!any)
		return CLI_OK;
	ret = nl_groups(cli, &now);
	if (ret)
		return ret;
	ret = check_file(cli, &w->file, &now);
	groups_free(&now);
	return ret;
}

static int run_up(struct cli *cli, struct work *w)
{
	const struct group *g, *old;
	size_t i;
	int ret;

	ret = plan_run(cli, &w->plan);
	if (ret)
		return ret;
	ret = check_chosen(cli, w);
	if (ret) {
		plan_undo(cli, &w->plan);
		return ret;
	}
	for (i = 0; i < w->file.nr; i++) {
		g = &w->file.at[i];
		old = groups_by_id(&w->old, group_id(g));
		if (!old || !old->up)
			plan_add(&w->plan, &(struct step){
				.cmd = TALLY_CMD_GROUP_UP, .group = g,
			});
	}
	return plan_run(cli, &w->plan);
}

int cmd_up(struct cli *cli, int argc, char **argv)
{
	struct work w;
	int ret;

	ret = args_count(cli, argc, 1, 1, "up FILE");
	if (ret)
		return ret;
	ret = begin(cli, argv[0], true, &w);
	if (!ret)
		ret = plan_sync(cli, argv[0], &w);
	if (!ret)
		ret = check_file(cli, &w.file, &w.old);
	if (!ret)
		ret = run_up(cli, &w);
	end(&w);
	return ret;
}

int cmd_down(struct cli *cli, int argc, char **argv)
{
	bool keep = false;
	const struct args_option options[] = {
		{ "-k", .flag = &keep }, { 0 }
	};
	const struct group *old;
	struct work w;
	size_t i;
	int ret;

	ret = args_options(cli, &argc, argv, options, "down");
	if (!ret)
		ret = args_count(cli, argc, 1, 1, "down [-k] FILE");
	if (ret)
		return ret;
	ret = begin(cli, argv[0], false, &w);
	for (i = 0; !ret && i < w.file.nr; i++) {
		ret = check_name(cli, argv[0], &w.file.at[i], &w.old);
		old = groups_by_id(&w.old, group_id(&w.file.at[i]));
		if (old && old->up)
			plan_add(&w.plan, &(struct step){
				.cmd = TALLY_CMD_GROUP_DOWN, .group = old,
			});
	}
	/* Only when all are down, because this is harder to undo. */
	for (i = 0; !ret && !keep && i < w.file.nr; i++) {
		old = groups_by_id(&w.old, group_id(&w.file.at[i]));
		if (old)
			plan_add(&w.plan, &(struct step){
				.cmd = TALLY_CMD_GROUP_DEL, .group = old,
				.old = old,
			});
	}
	if (!ret)
		ret = plan_run(cli, &w.plan);
	end(&w);
	return ret;
}
