// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Train a small network to read handwritten digits, as one rank of a group
 * whose gradients are summed through /dev/tally, or alone for comparison.
 */
#include "train.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

static const char usage[] =
	"usage: digits --data FILE --group ID --rank RANK [options]\n"
	"       digits --data FILE --single [options]\n"
	"  --data FILE     digits.csv.gz, from the package python3-sklearn\n"
	"  --group ID      of tally, in this network namespace\n"
	"  --rank RANK     of this process\n"
	"  --single        train in one process what all ranks would\n"
	"  --ranks N       among which the samples are divided (4)\n"
	"  --epochs N      times through all samples (20)\n"
	"  --batch N       samples of one rank in one step, about (16)\n"
	"  --rate X        of learning (0.1)\n"
	"  --lane LANE     i32 or i16: bits of a gradient on its way (i32)\n"
	"  --seed N        of weights and order; the same on all ranks (1)\n"
	"  --progress      print a line for each epoch\n"
	"  --json FILE     write what came of it\n";

/**
 * struct options - the command line
 * @single: train alone
 */
struct options {
	struct plan	plan;
	struct link	link;
	const char	*data;
	const char	*json;
	bool		single;
};

static bool number(const char *text, unsigned long max, uint32_t *to)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(text, &end, 10);
	*to = (uint32_t)v;
	return text[0] >= '0' && text[0] <= '9' && !*end && !errno && v <= max;
}

static bool real(const char *text, float *to)
{
	char *end;

	*to = strtof(text, &end);
	return end != text && !*end && *to > 0 && *to <= 10;
}

static bool set(struct options *o, int c, const char *arg)
{
	uint32_t seed;

	switch (c) {
	case 'd':
		o->data = arg;
		return true;
	case 'j':
		o->json = arg;
		return true;
	case 's':
		return o->single = true;
	case 'p':
		return o->link.progress = true;
	case 'g':
		return number(arg, 65535, &o->link.group) && o->link.group;
	case 'r':
		return number(arg, TALLY_RANKS - 1, &o->link.rank);
	case 'n':
		return number(arg, TALLY_RANKS, &o->plan.ranks) &&
		       o->plan.ranks;
	case 'e':
		return number(arg, 100000, &o->plan.epochs) && o->plan.epochs;
	case 'b':
		return number(arg, 100000, &o->plan.batch) && o->plan.batch;
	case 'x':
		return real(arg, &o->plan.rate);
	case 'l':
		o->link.lane = strcmp(arg, "i16") ? TALLY_LANE_I32 :
						    TALLY_LANE_I16;
		return !strcmp(arg, "i16") || !strcmp(arg, "i32");
	case 'S':
		o->plan.seed = number(arg, UINT32_MAX, &seed) ? seed : 0;
		return o->plan.seed;
	default:
		return false;
	}
}

static const struct option table[] = {
	{ "data", required_argument, NULL, 'd' },
	{ "group", required_argument, NULL, 'g' },
	{ "rank", required_argument, NULL, 'r' },
	{ "single", no_argument, NULL, 's' },
	{ "ranks", required_argument, NULL, 'n' },
	{ "epochs", required_argument, NULL, 'e' },
	{ "batch", required_argument, NULL, 'b' },
	{ "rate", required_argument, NULL, 'x' },
	{ "lane", required_argument, NULL, 'l' },
	{ "seed", required_argument, NULL, 'S' },
	{ "progress", no_argument, NULL, 'p' },
	{ "json", required_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 }
};

/* Return: 0, or what to exit with, plus 1. */
static int options(struct options *o, int argc, char **argv)
{
	bool rank = false;
	int c, at = 0;

	while ((c = getopt_long(argc, argv, "h", table, &at)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return 1;
		}
		rank |= c == 'r';
		if (c == '?' || set(o, c, optarg))
			continue;
		fprintf(stderr, "digits: --%s %s: out of range\n",
			table[at].name, optarg ? optarg : "");
		return 3;
	}
	if (optind == argc && o->data &&
	    (o->single || (o->link.group && rank &&
			   o->link.rank < o->plan.ranks)))
		return 0;
	fputs(usage, stderr);
	return 3;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void add_times(cJSON *j, struct outcome *o)
{
	uint32_t n = o->steps;

	qsort(o->step_us, n, sizeof(*o->step_us), by_size);
	cJSON_AddNumberToObject(j, "step_p50_us", n ? o->step_us[n / 2] : 0);
	cJSON_AddNumberToObject(j, "step_p99_us",
				n ? o->step_us[(n - 1) * 99ull / 100] : 0);
	cJSON_AddNumberToObject(j, "step_max_us", n ? o->step_us[n - 1] : 0);
	cJSON_AddNumberToObject(j, "sum_max_us", o->wait_max_us);
}

static void add_mask(cJSON *j, const char *name, uint64_t mask)
{
	cJSON *list = cJSON_AddArrayToObject(j, name);
	int k;

	for (k = 0; k < TALLY_RANKS; k++)
		if (mask >> k & 1)
			cJSON_AddItemToArray(list, cJSON_CreateNumber(k));
}

static void add_by_rank(cJSON *j, const char *name, const uint32_t *values,
			uint32_t n)
{
	cJSON *list = cJSON_AddArrayToObject(j, name);
	uint32_t k;

	for (k = 0; k < n; k++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(values[k]));
}

static void add_sums(cJSON *j, const struct options *opt, struct outcome *o)
{
	uint32_t n = opt->plan.ranks;

	cJSON_AddNumberToObject(j, "rank", opt->link.rank);
	cJSON_AddStringToObject(j, "lane", o->lane == TALLY_LANE_I16 ?
				"i16" : "i32");
	cJSON_AddNumberToObject(j, "bound_us", o->bound_us);
	add_times(j, o);
	add_by_rank(j, "absent_steps", o->absent, n);
	add_by_rank(j, "absent_step_max_us", o->absent_step_us, n);
	add_by_rank(j, "absent_sum_max_us", o->absent_wait_us, n);
	add_mask(j, "late", o->late);
	add_mask(j, "unfinished", o->unfinished);
	cJSON_AddNumberToObject(j, "chunks", (double)o->chunks);
	cJSON_AddNumberToObject(j, "partial", (double)o->partial);
	cJSON_AddNumberToObject(j, "voided", (double)o->voided);
	cJSON_AddNumberToObject(j, "lost", (double)o->lost);
	cJSON_AddNumberToObject(j, "repaired", (double)o->repaired);
	cJSON_AddNumberToObject(j, "missed_values", (double)o->carry_missed);
	cJSON_AddNumberToObject(j, "lost_values", (double)o->lost_values);
	cJSON_AddNumberToObject(j, "rejoins", o->rejoins);
	cJSON_AddNumberToObject(j, "rejoin_ms", o->rejoin_ms);
	cJSON_AddNumberToObject(j, "syncs", o->syncs);
	cJSON_AddNumberToObject(j, "sync_ms", o->sync_ms);
	cJSON_AddNumberToObject(j, "drifted", o->drifted);
}

/* One line.  Return: 0 or -errno. */
static int write_json(const struct options *opt, struct outcome *o)
{
	cJSON *j = cJSON_CreateObject();
	char digest[32], *text;
	int err = 0;
	FILE *f;

	snprintf(digest, sizeof(digest), "%016llx",
		 (unsigned long long)o->digest);
	cJSON_AddBoolToObject(j, "single", opt->single);
	cJSON_AddNumberToObject(j, "ranks", opt->plan.ranks);
	cJSON_AddNumberToObject(j, "epochs", opt->plan.epochs);
	cJSON_AddNumberToObject(j, "steps", o->steps);
	cJSON_AddNumberToObject(j, "seconds", o->seconds);
	cJSON_AddNumberToObject(j, "right", (double)o->right);
	cJSON_AddNumberToObject(j, "held_out", (double)o->held_out);
	cJSON_AddNumberToObject(j, "accuracy",
				(double)o->right / (double)o->held_out);
	cJSON_AddNumberToObject(j, "loss", o->loss);
	cJSON_AddStringToObject(j, "digest", digest);
	if (!opt->single)
		add_sums(j, opt, o);
	text = cJSON_PrintUnformatted(j);
	cJSON_Delete(j);
	f = text ? fopen(opt->json, "w") : NULL;
	if (!f)
		err = text ? -errno : -ENOMEM;
	if (f && fprintf(f, "%s\n", text) < 0)
		err = -EIO;
	if (f && fclose(f))
		err = -errno;
	cJSON_free(text);
	return err;
}

static void print_outcome(const struct options *opt, const struct outcome *o)
{
	char who[32] = "one process";

	if (!opt->single)
		snprintf(who, sizeof(who), "rank %u", opt->link.rank);
	printf("%s: %zu of %zu held-out digits right, loss %.4f, %u steps in %.1f s\n",
	       who, o->right, o->held_out, o->loss, o->steps, o->seconds);
}

int main(int argc, char **argv)
{
	struct options opt = {
		.plan = { .ranks = 4, .epochs = 20, .batch = 16, .rate = 0.1f,
			  .keep = 0.9f, .seed = 1 },
		.link = { .lane = TALLY_LANE_I32 },
	};
	struct outcome o = { 0 };
	struct digits d;
	char why[512];
	int err;

	err = options(&opt, argc, argv);
	if (err)
		return err - 1;
	err = digits_read(opt.data, &d, why, sizeof(why));
	if (err) {
		fprintf(stderr, "digits: %s%s\n", why, err == -ENOENT ?
			": 'selftests/vm/fetch.sh data' fetches it" : "");
		return 1;
	}
	if (opt.single) {
		err = train_single(&opt.plan, &d, &o);
		if (err)
			fprintf(stderr, "digits: %s\n", strerror(-err));
	} else {
		err = train_rank(&opt.plan, &d, &opt.link, &o);
	}
	if (!err && opt.json) {
		err = write_json(&opt, &o);
		if (err)
			fprintf(stderr, "digits: %s: %s\n", opt.json,
				strerror(-err));
	}
	if (!err)
		print_outcome(&opt, &o);
	free(o.step_us);
	digits_free(&d);
	return err ? 1 : 0;
}
