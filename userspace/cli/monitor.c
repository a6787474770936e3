// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* tally monitor: events as they happen, a line each. */
#include "args.h"
#include "print.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define HAS_RANK	(1u << 0)
#define HAS_SEQ		(1u << 1)
#define HAS_MASK	(1u << 2)

/**
 * struct kind - an event's word, and the sentence for people
 * @name: in JSON
 * @text: after the group
 * @has: HAS_*: what means something; the kernel sends all of it with any event
 */
struct kind {
	const char	*name;
	const char	*text;
	unsigned int	has;
};

static const struct kind kinds[__TALLY_EVENT_END] = {
	[TALLY_EVENT_UP] = { "up", "is up", HAS_MASK },
	[TALLY_EVENT_DOWN] = { "down", "is down", HAS_MASK },
	[TALLY_EVENT_ATTACH] = { "attach", "a process attached",
				 HAS_RANK | HAS_SEQ },
	[TALLY_EVENT_DETACH] = { "detach", "its process detached",
				 HAS_RANK | HAS_SEQ },
	[TALLY_EVENT_STALE] = { "stale", "must receive state first",
				HAS_RANK | HAS_SEQ },
	[TALLY_EVENT_REJOINED] = { "rejoined", "has received state",
				   HAS_RANK | HAS_SEQ },
	[TALLY_EVENT_ERROR] = { "error", "a collective failed for want of some ranks",
				HAS_RANK | HAS_SEQ | HAS_MASK },
	[TALLY_EVENT_MISMATCH] = { "mismatch",
				   "members disagree on a collective",
				   HAS_SEQ | HAS_MASK },
};

/**
 * struct monitor - while it runs
 * @cli: for output
 * @groups: names, as they were last read
 * @only: id of the group to show; 0: all
 * @left: events to show; 0: without end
 * @shown: events so far
 */
struct monitor {
	struct cli	*cli;
	struct groups	groups;
	uint32_t	only;
	uint32_t	left;
	uint32_t	shown;
};

static void time_text(uint64_t ms, char *buf, size_t size)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	char day[64];

	gmtime_r(&seconds, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, size, "%s.%03uZ", day, (unsigned int)(ms % 1000));
}

static cJSON *event_tree(const struct monitor *m, const struct event *e,
			 unsigned int has)
{
	const struct group *g = groups_by_id(&m->groups, e->group);
	cJSON *o = cJSON_CreateObject();
	char text[96];

	time_text(m->cli->now(), text, sizeof(text));
	cJSON_AddStringToObject(o, "time", text);
	print_add_u64(o, "group", e->group);
	if (g && g->name[0])
		cJSON_AddStringToObject(o, "name", g->name);
	else
		cJSON_AddNullToObject(o, "name");
	if (e->kind < __TALLY_EVENT_END && kinds[e->kind].name)
		snprintf(text, sizeof(text), "%s", kinds[e->kind].name);
	else
		snprintf(text, sizeof(text), "number_%u", e->kind);
	cJSON_AddStringToObject(o, "event", text);
	if (has & HAS_RANK)
		print_add_u64(o, "rank", e->rank);
	if (has & HAS_SEQ)
		print_add_u64(o, "seq", e->seq);
	if (has & HAS_MASK)
		print_add_ranks(o, "ranks", e->mask);
	return o;
}

static void show_event(FILE *out, const cJSON *o, const struct event *e,
		       unsigned int has)
{
	const char *text = "something that this command does not know";
	const cJSON *name = cJSON_GetObjectItem(o, "name");
	char buf[UNITS_TEXT];

	if (e->kind < __TALLY_EVENT_END && kinds[e->kind].text)
		text = kinds[e->kind].text;
	fprintf(out, "%s group ", cJSON_GetObjectItem(o, "time")->valuestring);
	if (cJSON_IsString(name))
		fputs(name->valuestring, out);
	else
		fprintf(out, "%u", e->group);
	if (has & HAS_RANK)
		fprintf(out, ": rank %u", e->rank);
	fprintf(out, "%s%s", e->kind == TALLY_EVENT_UP ||
		e->kind == TALLY_EVENT_DOWN ? " " : ": ", text);
	if (has & HAS_SEQ)
		fprintf(out, ", seq %u", e->seq);
	if (has & HAS_MASK)
		fprintf(out, ", ranks %s",
			units_ranks(e->mask, buf, sizeof(buf)));
	fputc('\n', out);
}

/* Return: HAS_*: what of @e there is to say. */
static unsigned int parts_of(const struct event *e)
{
	unsigned int known = HAS_RANK | HAS_SEQ | HAS_MASK;

	if (e->kind < __TALLY_EVENT_END && kinds[e->kind].name)
		known = kinds[e->kind].has;
	return (e->has_rank ? known & HAS_RANK : 0) |
	       (e->has_seq ? known & HAS_SEQ : 0) |
	       (e->has_mask ? known & HAS_MASK : 0);
}

static int take_event(const struct nlmsghdr *nlh, void *data)
{
	struct monitor *m = data;
	struct groups now;
	unsigned int has;
	struct event e;
	cJSON *o;

	if (!nl_parse_event(nlh, &e) || (m->only && e.group != m->only))
		return MNL_CB_OK;
	if (m->left && m->shown == m->left)
		return MNL_CB_OK;
	if (!groups_by_id(&m->groups, e.group) &&
	    nl_groups(m->cli, &now) == CLI_OK) {
		groups_free(&m->groups);
		m->groups = now;
	}
	has = parts_of(&e);
	o = event_tree(m, &e, has);
	if (m->cli->json)
		print_json(m->cli, o, true);
	else
		show_event(m->cli->out, o, &e, has);
	cJSON_Delete(o);
	m->shown++;
	return MNL_CB_OK;
}

/* @seconds: how long; 0: without end */
static int listen_on(struct cli *cli, struct monitor *m, uint32_t seconds)
{
	uint64_t end = cli->now() + seconds * 1000ull, now;
	int ret, wait = -1;

	do {
		if (seconds) {
			now = cli->now();
			if (now >= end)
				return CLI_OK;
			wait = (int)(end - now);
		}
		ret = cli->nl->next(cli->nl, wait, take_event, m);
		if (ret == -ENOBUFS)
			cli_warn(cli, "events came faster than they were printed, some are lost; print to a file");
		else if (ret < 0 && ret != -EINTR)
			return nl_refused(cli, "events cannot be read", ret,
					  "");
		if (fflush(cli->out))
			return cli_error(cli, "the results could not be written");
	} while (ret && (!m->left || m->shown < m->left));
	return CLI_OK;
}

int cmd_monitor(struct cli *cli, int argc, char **argv)
{
	struct monitor m = { .cli = cli };
	uint32_t seconds = 0;
	const struct args_option options[] = {
		{ "-n", .value = &m.left },
		{ "-t", .value = &seconds },
		{ 0 }
	};
	struct group *only = NULL;
	int ret;

	ret = args_options(cli, &argc, argv, options, "monitor");
	if (!ret)
		ret = args_count(cli, argc, 0, 1,
				 "monitor [-n EVENTS] [-t SECONDS] [GROUP]");
	if (!ret)
		ret = nl_need(cli);
	if (ret)
		return ret;
	ret = cli->nl->listen(cli->nl);
	if (ret)
		return nl_refused(cli, "events cannot be heard", ret, "");
	ret = argc ? args_group(cli, argv[0], &m.groups, &only) :
		     nl_groups(cli, &m.groups);
	if (ret)
		return ret;
	if (only)
		m.only = group_id(only);
	ret = listen_on(cli, &m, seconds);
	groups_free(&m.groups);
	return ret;
}
