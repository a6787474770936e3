// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * What came of the demonstration: a table for people, all figures in a file,
 * and whether it went as it must.
 *
 *	demo_report DIR RANKS STOPPED SLACK_MS FILE
 *
 * While a rank is stopped, a step may take the bound and SLACK_MS, or the bound
 * and the longest step of the run that nobody was stopped in.
 *
 * DIR has single.json, and in plain/ and stop/ rankN.json of the processes and
 * statsN.json of the hosts.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#define RANKS_MAX	64

/* What the accuracies may differ by: 7 and 11 of 360 digits. */
#define PLAIN_TOLERANCE	0.02
#define STOP_TOLERANCE	0.03
#define SINGLE_LEAST	0.9
#define XDP_LEAST	0.9

/**
 * struct run - one training of all ranks
 * @rank: what each process wrote
 * @drops: by reason, of all hosts
 * @xdp: contributions added there, of all hosts; likewise the others
 * @most: rank that the others' sums lacked most often
 * @most_steps: in how many steps
 * @others_step_us: longest step of the others without the stopped rank
 * @others_sum_us: longest sum of those
 * @step_max_us: longest step of all
 * @steps_s: of a rank that never received state
 */
struct run {
	const char	*name;
	cJSON		*rank[RANKS_MAX];
	cJSON		*drops;
	double		xdp;
	double		socket;
	double		local;
	double		full;
	double		partial;
	double		aligned;
	double		asked;
	double		stales;
	double		errors;
	double		accuracy;
	bool		same;
	int		most;
	double		most_steps;
	double		others_step_us;
	double		others_sum_us;
	double		p50_us;
	double		p99_us;
	double		step_max_us;
	double		steps_s;
};

struct demo {
	int		ranks;
	int		stopped;
	double		slack_ms;
	cJSON		*single;
	struct run	plain;
	struct run	stop;
	cJSON		*failures;
};

static void __attribute__((format(printf, 2, 3)))
expect_failed(struct demo *d, const char *format, ...)
{
	va_list args;
	char text[512];

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "demo: %s\n", text);
	cJSON_AddItemToArray(d->failures, cJSON_CreateString(text));
}

static cJSON *read_json(const char *dir, const char *name)
{
	char path[4096], text[65536];
	size_t n;
	cJSON *j;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (!f) {
		fprintf(stderr, "demo: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	fclose(f);
	j = cJSON_Parse(text);
	if (!j) {
		fprintf(stderr, "demo: %s: no JSON\n", path);
		exit(1);
	}
	return j;
}

static cJSON *field(const cJSON *j, const char *name)
{
	cJSON *v = cJSON_GetObjectItemCaseSensitive(j, name);

	if (!v) {
		fprintf(stderr, "demo: a result lacks '%s'\n", name);
		exit(1);
	}
	return v;
}

static double number(const cJSON *j, const char *name)
{
	return field(j, name)->valuedouble;
}

static const char *string(const cJSON *j, const char *name)
{
	const char *text = cJSON_GetStringValue(field(j, name));

	return text ? text : "";
}

static double share(double part, double all)
{
	return all > 0 ? part / all : 0;
}

/* Add the counters of one host's group to those of all. */
static void add_stats(struct run *r, const cJSON *j)
{
	const cJSON *one = cJSON_GetArrayItem(field(j, "stats"), 0), *drop;
	const cJSON *counts;
	cJSON *have;

	if (!one) {
		fprintf(stderr, "demo: no statistics of the group\n");
		exit(1);
	}
	counts = field(one, "counts");
	r->xdp += number(counts, "xdp_contrib");
	r->socket += number(counts, "socket_contrib");
	r->local += number(counts, "local_contrib");
	r->full += number(counts, "closes_full");
	r->partial += number(counts, "closes_partial");
	r->aligned += number(counts, "aligned");
	r->asked += number(counts, "nacks_sent");
	r->stales += number(counts, "stales");
	r->errors += number(counts, "errors");
	cJSON_ArrayForEach(drop, field(one, "drops")) {
		if (!drop->valuedouble)
			continue;
		have = cJSON_GetObjectItemCaseSensitive(r->drops, drop->string);
		if (have)
			cJSON_SetNumberHelper(have, have->valuedouble +
					      drop->valuedouble);
		else
			cJSON_AddNumberToObject(r->drops, drop->string,
						drop->valuedouble);
	}
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double number_at(const cJSON *j, const char *name, int at)
{
	const cJSON *v = cJSON_GetArrayItem(field(j, name), at);

	return v ? v->valuedouble : 0;
}

/* Who was absent, as those saw it that were not stopped. */
static void find_absent(struct run *r, const struct demo *d)
{
	int i, k;

	r->most = -1;
	for (i = 0; i < d->ranks; i++) {
		const cJSON *j = r->rank[i];

		if (i == d->stopped)
			continue;
		r->others_step_us = larger(r->others_step_us,
					   number_at(j, "absent_step_max_us",
						     d->stopped));
		r->others_sum_us = larger(r->others_sum_us,
					  number_at(j, "absent_sum_max_us",
						    d->stopped));
		for (k = 0; k < d->ranks; k++) {
			double n = number_at(j, "absent_steps", k);

			if (n > r->most_steps) {
				r->most_steps = n;
				r->most = k;
			}
		}
	}
}

static void read_run(struct run *r, const struct demo *d, const char *dir,
		     const char *name)
{
	char path[64];
	int i;

	r->name = name;
	r->drops = cJSON_CreateObject();
	r->accuracy = 1;
	r->same = true;
	for (i = 0; i < d->ranks; i++) {
		snprintf(path, sizeof(path), "%s/rank%d.json", name, i);
		r->rank[i] = read_json(dir, path);
		snprintf(path, sizeof(path), "%s/stats%d.json", name, i);
		add_stats(r, read_json(dir, path));
		r->accuracy = fmin(r->accuracy,
				   number(r->rank[i], "accuracy"));
		if (strcmp(string(r->rank[i], "digest"),
			   string(r->rank[0], "digest")))
			r->same = false;
		r->p50_us = larger(r->p50_us,
				   number(r->rank[i], "step_p50_us"));
		r->p99_us = larger(r->p99_us,
				   number(r->rank[i], "step_p99_us"));
		r->step_max_us = larger(r->step_max_us,
					number(r->rank[i], "step_max_us"));
		r->steps_s = larger(r->steps_s,
				    share(number(r->rank[i], "steps"),
					  number(r->rank[i], "seconds")));
	}
	find_absent(r, d);
}

/* The longest that a step of the others may take, while one is stopped. */
static double allowed_ms(const struct demo *d)
{
	return number(d->plain.rank[0], "bound_us") / 1e3 +
	       larger(d->slack_ms, d->plain.step_max_us / 1e3);
}

static void row(const char *what, const char *a, const char *b, const char *c)
{
	printf("  %-34s %14s %14s %14s\n", what, a, b, c);
}

static const char *text(char *buf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static const char *text(char *buf, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(buf, 64, format, args);
	va_end(args);
	return buf;
}

static void row_two(const char *what, const char *format, double b, double c)
{
	char buf[2][64];

	snprintf(buf[0], sizeof(buf[0]), format, b);
	snprintf(buf[1], sizeof(buf[1]), format, c);
	row(what, "", buf[0], buf[1]);
}

static void row_drops(const struct demo *d)
{
	const cJSON *drop, *other;
	char name[64];

	if (!d->plain.drops->child && !d->stop.drops->child)
		row("drops", "", "none", "none");
	cJSON_ArrayForEach(drop, d->stop.drops) {
		other = cJSON_GetObjectItemCaseSensitive(d->plain.drops,
							 drop->string);
		row_two(text(name, "drops: %.40s", drop->string), "%.0f",
			other ? other->valuedouble : 0, drop->valuedouble);
	}
	cJSON_ArrayForEach(drop, d->plain.drops)
		if (!cJSON_GetObjectItemCaseSensitive(d->stop.drops,
						      drop->string))
			row_two(text(name, "drops: %.40s", drop->string),
				"%.0f", drop->valuedouble, 0);
}

static const char *late_text(const struct run *r, char *buf)
{
	if (r->most < 0)
		return "none";
	return text(buf, "rank %d: %.0f", r->most, r->most_steps);
}

static void print_table(const struct demo *d)
{
	const struct run *p = &d->plain, *s = &d->stop;
	char a[64], b[64], c[64];

	row("", "one process", "four hosts", "one stopped");
	row("held-out digits read right",
	    text(a, "%.1f %%", 100 * number(d->single, "accuracy")),
	    text(b, "%.1f %%", 100 * p->accuracy),
	    text(c, "%.1f %%", 100 * s->accuracy));
	row("loss on them", text(a, "%.4f", number(d->single, "loss")),
	    text(b, "%.4f", number(p->rank[0], "loss")),
	    text(c, "%.4f", number(s->rank[0], "loss")));
	row("weights of all ranks", "", p->same ? "identical" : "DIFFERENT",
	    s->same ? "identical" : "DIFFERENT");
	row("steps/s", text(a, "%.1f", share(number(d->single, "steps"),
					     number(d->single, "seconds"))),
	    text(b, "%.1f", p->steps_s), text(c, "%.1f", s->steps_s));
	row_two("step, median", "%.1f ms", p->p50_us / 1e3, s->p50_us / 1e3);
	row_two("step, 99 of 100", "%.1f ms", p->p99_us / 1e3,
		s->p99_us / 1e3);
	row_two("contributions summed by XDP", "%.0f", p->xdp, s->xdp);
	row_two("  by the socket path", "%.0f", p->socket, s->socket);
	row_two("  by their own host", "%.0f", p->local, s->local);
	row_two("chunks closed with all ranks", "%.0f", p->full, s->full);
	row_two("  at the bound", "%.0f", p->partial, s->partial);
	row_two("exponents aligned", "%.0f", p->aligned, s->aligned);
	row_two("requests for missing packets", "%.0f", p->asked, s->asked);
	row_drops(d);
	row("absent most, in so many steps", "", late_text(p, b),
	    late_text(s, c));
	row_two("longest step", "%.0f ms", p->step_max_us / 1e3,
		s->step_max_us / 1e3);
	row(text(a, "  of the others, without rank %d", d->stopped), "", "",
	    text(c, "%.0f ms", s->others_step_us / 1e3));
	row("  which may take", "", "", text(c, "%.0f ms", allowed_ms(d)));
	row("state received by", "", "",
	    text(c, "rank %d: %.0f x", d->stopped,
		 number(s->rank[d->stopped], "rejoins")));
	row("  that took", "", "",
	    text(c, "%.0f ms", number(s->rank[d->stopped], "rejoin_ms")));
}

static void check_run(struct demo *d, const struct run *r, double tolerance)
{
	double single = number(d->single, "accuracy");
	double xdp = share(r->xdp, r->xdp + r->socket);
	int i;

	if (fabs(r->accuracy - single) > tolerance)
		expect_failed(d, "%s: expected an accuracy within %.3f of the single process's %.4f, got %.4f",
			      r->name, tolerance, single, r->accuracy);
	if (xdp < XDP_LEAST)
		expect_failed(d, "%s: expected at least %.0f %% of the contributions to be summed by XDP, got %.1f %%: 'tally doctor' says what is missing",
			      r->name, 100 * XDP_LEAST, 100 * xdp);
	for (i = 1; i < d->ranks; i++)
		if (strcmp(string(r->rank[i], "digest"),
			   string(r->rank[0], "digest")))
			expect_failed(d, "%s: expected identical weights, rank %d has %s and rank 0 has %s",
				      r->name, i, string(r->rank[i], "digest"),
				      string(r->rank[0], "digest"));
	for (i = 0; i < d->ranks; i++) {
		if (number(r->rank[i], "drifted"))
			expect_failed(d, "%s: the state of rank %d differed from the others' before it was given",
				      r->name, i);
		if (cJSON_GetArraySize(field(r->rank[i], "unfinished")))
			expect_failed(d, "%s: rank %d came to the end without all others",
				      r->name, i);
	}
}

static void check_stopped(struct demo *d)
{
	const struct run *r = &d->stop;
	double most = allowed_ms(d);

	if (r->most != d->stopped)
		expect_failed(d, "stop: expected rank %d to be named absent, it was %d (in %.0f steps)",
			      d->stopped, r->most, r->most_steps);
	if (r->others_step_us / 1e3 > most)
		expect_failed(d, "stop: expected no step of the others to take longer than %.0f ms, one took %.0f ms",
			      most, r->others_step_us / 1e3);
	if (number(r->rank[d->stopped], "rejoins") < 1)
		expect_failed(d, "stop: expected rank %d to be STALE and to receive state",
			      d->stopped);
}

static cJSON *run_json(const struct run *r, const struct demo *d)
{
	cJSON *j = cJSON_CreateObject(), *ranks;
	int i;

	cJSON_AddNumberToObject(j, "accuracy", r->accuracy);
	cJSON_AddBoolToObject(j, "identical", r->same);
	cJSON_AddNumberToObject(j, "steps_per_second", r->steps_s);
	cJSON_AddNumberToObject(j, "xdp_share",
				share(r->xdp, r->xdp + r->socket));
	cJSON_AddNumberToObject(j, "contributions_xdp", r->xdp);
	cJSON_AddNumberToObject(j, "contributions_socket", r->socket);
	cJSON_AddNumberToObject(j, "contributions_local", r->local);
	cJSON_AddNumberToObject(j, "closes_full", r->full);
	cJSON_AddNumberToObject(j, "closes_partial", r->partial);
	cJSON_AddNumberToObject(j, "aligned", r->aligned);
	cJSON_AddNumberToObject(j, "nacks_sent", r->asked);
	cJSON_AddNumberToObject(j, "stales", r->stales);
	cJSON_AddNumberToObject(j, "errors", r->errors);
	cJSON_AddNumberToObject(j, "absent_rank", r->most);
	cJSON_AddNumberToObject(j, "absent_steps", r->most_steps);
	cJSON_AddNumberToObject(j, "step_p50_us", r->p50_us);
	cJSON_AddNumberToObject(j, "step_p99_us", r->p99_us);
	cJSON_AddNumberToObject(j, "step_max_us", r->step_max_us);
	cJSON_AddNumberToObject(j, "others_step_max_us", r->others_step_us);
	cJSON_AddNumberToObject(j, "others_sum_max_us", r->others_sum_us);
	cJSON_AddItemToObject(j, "drops", cJSON_Duplicate(r->drops, true));
	ranks = cJSON_AddArrayToObject(j, "ranks");
	for (i = 0; i < d->ranks; i++)
		cJSON_AddItemToArray(ranks,
				     cJSON_Duplicate(r->rank[i], true));
	return j;
}

static int write_report(struct demo *d, const char *path)
{
	cJSON *j = cJSON_CreateObject();
	char *out;
	FILE *f;
	bool bad;

	cJSON_AddBoolToObject(j, "ok", !cJSON_GetArraySize(d->failures));
	cJSON_AddItemToObject(j, "failures",
			      cJSON_Duplicate(d->failures, true));
	cJSON_AddNumberToObject(j, "stopped_rank", d->stopped);
	cJSON_AddNumberToObject(j, "bound_us",
				number(d->plain.rank[0], "bound_us"));
	cJSON_AddNumberToObject(j, "allowed_us", 1e3 * allowed_ms(d));
	cJSON_AddItemToObject(j, "single", cJSON_Duplicate(d->single, true));
	cJSON_AddItemToObject(j, "plain", run_json(&d->plain, d));
	cJSON_AddItemToObject(j, "stop", run_json(&d->stop, d));
	out = cJSON_Print(j);
	cJSON_Delete(j);
	f = out ? fopen(path, "w") : NULL;
	bad = !f || fprintf(f, "%s\n", out) < 0;
	if (f && fclose(f))
		bad = true;
	cJSON_free(out);
	if (bad)
		fprintf(stderr, "demo: %s: %s\n", path, strerror(errno));
	return bad ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct demo d = { .failures = cJSON_CreateArray() };
	const struct run *p = &d.plain, *s = &d.stop;

	if (argc == 6) {
		d.ranks = atoi(argv[2]);
		d.stopped = atoi(argv[3]);
		d.slack_ms = atof(argv[4]);
	}
	if (d.ranks < 2 || d.ranks > RANKS_MAX || d.stopped < 0 ||
	    d.stopped >= d.ranks) {
		fprintf(stderr, "usage: demo_report DIR RANKS STOPPED SLACK_MS FILE\n");
		return 2;
	}
	d.single = read_json(argv[1], "single.json");
	read_run(&d.plain, &d, argv[1], "plain");
	read_run(&d.stop, &d, argv[1], "stop");
	print_table(&d);

	if (number(d.single, "accuracy") < SINGLE_LEAST)
		expect_failed(&d, "expected the single process to read %.0f %% of the held-out digits, got %.1f %%",
			      100 * SINGLE_LEAST,
			      100 * number(d.single, "accuracy"));
	check_run(&d, p, PLAIN_TOLERANCE);
	check_run(&d, s, STOP_TOLERANCE);
	check_stopped(&d);
	if (write_report(&d, argv[5]))
		return 1;
	if (cJSON_GetArraySize(d.failures))
		return 1;
	printf("demo: ok: accuracy %.1f %% in one process, %.1f %% on four hosts, %.1f %% with one stopped; %.1f and %.1f steps/s; %.1f %% summed by XDP; weights %.8s and %.8s on all ranks\n",
	       100 * number(d.single, "accuracy"), 100 * p->accuracy,
	       100 * s->accuracy, p->steps_s, s->steps_s,
	       100 * share(p->xdp + s->xdp,
			   p->xdp + p->socket + s->xdp + s->socket),
	       string(p->rank[0], "digest"), string(s->rank[0], "digest"));
	return 0;
}
