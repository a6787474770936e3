// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* tally stats: counters and drops of each group, and of packets of none. */
#include "args.h"
#include "print.h"

#include <tally/drops.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNTER(n, t) { #n, t },
static const struct print_counter counts[] = { TALLY_COUNTS(COUNTER) { 0 } };
static const struct print_counter drops[] = { TALLY_DROPS(COUNTER) { 0 } };
#undef COUNTER

/**
 * struct sample - counters at one time, with what goes with them
 * @stats: one a group
 * @nr: how many
 * @groups: to name them
 */
struct sample {
	struct stats	*stats;
	size_t		nr;
	struct groups	groups;
};

static char *lower(const char *name, char *buf, size_t size)
{
	size_t i;

	for (i = 0; name[i] && i + 1 < size; i++)
		buf[i] = name[i] >= 'A' && name[i] <= 'Z' ?
			 (char)(name[i] + 'a' - 'A') : name[i];
	buf[i] = 0;
	return buf;
}

/* Counters that are newer than this command go by their number. */
static void add_counters(cJSON *o, const char *key, const uint64_t *values,
			 const struct print_counter *table, bool all)
{
	cJSON *list = cJSON_AddObjectToObject(o, key);
	const struct print_counter *at = table;
	const char *text;
	char name[64];
	bool known;
	int i;

	/* Attribute 1 is the first counter of the table. */
	for (i = 1; i < STATS_COUNTS; i++) {
		known = at->name;
		text = known ? (at++)->name : NULL;
		if (!values[i] && !(all && known))
			continue;
		if (known)
			lower(text, name, sizeof(name));
		else
			snprintf(name, sizeof(name), "number_%d", i);
		print_add_u64(list, name, values[i]);
	}
}

/* @ms: what the counts are of; 0: of all time, which has no rate */
static void show_counters(FILE *out, const char *title, const cJSON *list,
			  const struct print_counter *table, uint64_t ms)
{
	if (!cJSON_GetArraySize(list))
		return;
	fprintf(out, "  %s\n", title);
	print_counters(out, 4, list, table, ms);
}

static cJSON *sample_tree(const struct sample *s, uint64_t ms, bool all)
{
	cJSON *tree = cJSON_CreateObject(), *array, *o;
	const struct group *g;
	size_t i;

	if (ms)
		print_add_u64(tree, "interval_ms", ms);
	array = cJSON_AddArrayToObject(tree, "stats");
	for (i = 0; i < s->nr; i++) {
		const struct stats *one = &s->stats[i];

		o = cJSON_CreateObject();
		g = one->group ? groups_by_id(&s->groups, one->group) : NULL;
		if (one->group)
			print_add_u64(o, "group", one->group);
		else
			cJSON_AddNullToObject(o, "group");
		if (g && g->name[0])
			cJSON_AddStringToObject(o, "name", g->name);
		else
			cJSON_AddNullToObject(o, "name");
		add_counters(o, "counts", one->counts, counts, all);
		add_counters(o, "drops", one->drops, drops, all);
		cJSON_AddItemToArray(array, o);
	}
	return tree;
}

static void show_sample(FILE *out, const cJSON *tree, uint64_t ms)
{
	const cJSON *one, *group, *name, *c, *d;
	char span[UNITS_TEXT] = "";

	cJSON_ArrayForEach(one, cJSON_GetObjectItem(tree, "stats")) {
		group = cJSON_GetObjectItem(one, "group");
		name = cJSON_GetObjectItem(one, "name");
		c = cJSON_GetObjectItem(one, "counts");
		d = cJSON_GetObjectItem(one, "drops");
		if (ms)
			units_time_human(ms * 1000, span, sizeof(span));
		if (cJSON_IsNull(group))
			fputs("packets of no group", out);
		else if (cJSON_IsString(name))
			fprintf(out, "group %s", name->valuestring);
		else
			fprintf(out, "group %d", group->valueint);
		fprintf(out, "%s%s:%s\n", ms ? ", last " : "", span,
			cJSON_GetArraySize(c) || cJSON_GetArraySize(d) ?
			"" : " all zero");
		show_counters(out, "counters", c, counts, ms);
		show_counters(out, "drops", d, drops, ms);
	}
}

static int show(struct cli *cli, const struct sample *s, uint64_t ms, bool all)
{
	cJSON *tree = sample_tree(s, ms, all);
	int ret = CLI_OK;

	if (cli->json)
		ret = print_json(cli, tree, ms);
	else
		show_sample(cli->out, tree, ms);
	cJSON_Delete(tree);
	if (fflush(cli->out))
		ret = cli_error(cli, "the results could not be written");
	return ret;
}

static void sample_free(struct sample *s)
{
	free(s->stats);
	groups_free(&s->groups);
	memset(s, 0, sizeof(*s));
}

static int by_group(const void *a, const void *b)
{
	const struct stats *x = a, *y = b;

	/* Packets of no group come last. */
	return x->group - 1 < y->group - 1 ? -1 : x->group != y->group;
}

/* @name: of one group, or NULL: all */
static int take(struct cli *cli, const char *name, struct sample *s)
{
	struct group *one = NULL;
	size_t i, to = 0;
	int ret;

	memset(s, 0, sizeof(*s));
	ret = nl_groups(cli, &s->groups);
	if (!ret && name) {
		one = nl_find_group(cli, &s->groups, name);
		ret = one ? CLI_OK : CLI_ERROR;
	}
	if (!ret)
		ret = nl_stats(cli, &s->stats, &s->nr);
	if (ret) {
		sample_free(s);
		return ret;
	}
	for (i = 0; one && i < s->nr; i++)
		if (s->stats[i].group == group_id(one))
			s->stats[to++] = s->stats[i];
	if (one)
		s->nr = to;
	if (s->nr)
		qsort(s->stats, s->nr, sizeof(s->stats[0]), by_group);
	return CLI_OK;
}

/* Counters start anew when their group is removed and added again. */
static uint64_t grown(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

/* Leave in @now what came since @before; @last gets what @now was. */
static void subtract(struct sample *now, const struct sample *before,
		     struct stats *last)
{
	size_t i, j, n;

	if (now->nr)
		memcpy(last, now->stats, now->nr * sizeof(*last));
	for (i = 0; i < now->nr; i++) {
		for (j = 0; j < before->nr; j++)
			if (before->stats[j].group == now->stats[i].group)
				break;
		if (j == before->nr)
			continue;
		for (n = 0; n < STATS_COUNTS; n++) {
			now->stats[i].counts[n] =
				grown(now->stats[i].counts[n],
				      before->stats[j].counts[n]);
			now->stats[i].drops[n] =
				grown(now->stats[i].drops[n],
				      before->stats[j].drops[n]);
		}
	}
}

static uint64_t monotonic_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int watch(struct cli *cli, const char *name, struct sample *before,
		 uint32_t seconds, uint32_t times, bool all)
{
	uint64_t due = monotonic_ms(), last = due, now;
	struct timespec ts;
	struct sample s;
	struct stats *copy;
	uint32_t i;
	int ret = CLI_OK;

	for (i = 0; !ret && (!times || i < times); i++) {
		due += seconds * 1000ull;
		ts.tv_sec = (time_t)(due / 1000);
		ts.tv_nsec = (long)(due % 1000 * 1000000);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts,
				       NULL) == EINTR)
			;
		ret = take(cli, name, &s);
		if (ret)
			break;
		now = monotonic_ms();
		copy = calloc(s.nr + 1, sizeof(*copy));
		if (!copy) {
			sample_free(&s);
			return cli_nomem(cli);
		}
		subtract(&s, before, copy);
		ret = show(cli, &s, now > last ? now - last : 1, all);
		last = now;
		free(s.stats);
		s.stats = copy;
		sample_free(before);
		*before = s;
	}
	return ret;
}

int cmd_stats(struct cli *cli, int argc, char **argv)
{
	uint32_t seconds = 0, times = 0;
	bool all = false;
	const struct args_option options[] = {
		{ "-a", .flag = &all },
		{ "-i", .value = &seconds },
		{ "-n", .value = &times },
		{ 0 }
	};
	const char *name;
	struct sample s;
	int ret;

	ret = args_options(cli, &argc, argv, options, "stats");
	if (!ret)
		ret = args_count(cli, argc, 0, 1,
				 "stats [-a] [-i SECONDS [-n TIMES]] [GROUP]");
	if (!ret && times && !seconds)
		ret = cli_usage(cli, "stats: option -n needs -i SECONDS too");
	if (ret)
		return ret;
	name = argc ? argv[0] : NULL;
	ret = take(cli, name, &s);
	if (ret)
		return ret;
	ret = seconds ? watch(cli, name, &s, seconds, times, all) :
			show(cli, &s, 0, all);
	sample_free(&s);
	return ret;
}
