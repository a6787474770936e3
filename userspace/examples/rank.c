// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * One rank: gradients are summed through /dev/tally, within a bound.
 *
 * What happens next follows from the state alone, and the state is the same on
 * all ranks; so all post the same collectives in the same order, and a rank
 * that received state posts the others' next one.
 */
#include "train.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A process may start so long after the first. */
#define START_US	60000000u
/* The last sum waits so long for ranks that are behind, so often. */
#define FINISH_US	1000000u
#define FINISH_TRIES	20
#define REJOIN_TRIES	6

/**
 * struct rank - one process of the training
 * @words: of the sum of integers with which the training ends: a chunk for
 *	each member, so that all see who waits for state
 * @seen: by rank: steps of this epoch that lacked it
 * @epoch_loss: sum over the samples of this epoch
 * @samples: of this epoch
 */
struct rank {
	const struct plan	*plan;
	const struct digits	*d;
	const struct link	*link;
	struct outcome		*o;
	struct tally		*t;
	struct tally_member	*m;
	struct tally_call	*call;
	struct tally_carry	*carry;
	struct tally_geometry	geo;
	struct sampler		sampler;
	struct state		state;
	struct net		gradient;
	struct net		mean;
	uint64_t		*words;
	size_t			nr_words;
	uint32_t		steps;
	uint32_t		tries;
	bool			end;
	uint32_t		seen[TALLY_RANKS];
	double			epoch_start;
	double			epoch_loss;
	size_t			samples;
};

static void __attribute__((format(printf, 2, 3)))
say(const struct rank *r, const char *format, ...)
{
	va_list args;
	char line[512];

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/* One write: several ranks may share the pipe. */
	printf("rank %u: %s\n", r->link->rank, line);
	fflush(stdout);
}

static int __attribute__((format(printf, 3, 4)))
fail(const struct rank *r, int err, const char *format, ...)
{
	va_list args;
	char line[512];

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "digits: rank %u: %s\n", r->link->rank, line);
	return err;
}

static int fail_open(const struct rank *r, int err)
{
	if (err == -ENOENT || err == -ENODEV)
		return fail(r, err, "/dev/tally is not there: load the module, 'insmod build/kmod/tally.ko'");
	if (err == -EACCES || err == -EPERM)
		return fail(r, err, "/dev/tally: permission denied: run this as root, or let your user open the device");
	return fail(r, err, "/dev/tally: %s", strerror(-err));
}

static int fail_attach(const struct rank *r, int err)
{
	uint32_t group = r->link->group;

	switch (err) {
	case -ENOENT:
		return fail(r, err, "group %u has no such rank at an address of this host: 'tally up FILE' in this network namespace, 'tally show %u'",
			    group, group);
	case -EBUSY:
		return fail(r, err, "group %u is down, or another process has this rank: see 'tally show %u'",
			    group, group);
	case -EACCES:
	case -EPERM:
		return fail(r, err, "group %u is not for this user: run this as root, or 'tally group set %u gid GROUP'",
			    group, group);
	default:
		return fail(r, err, "attaching to group %u: %s", group,
			    strerror(-err));
	}
}

static int fail_report(const struct rank *r, int err, const char *what,
		       const struct tally_report *report)
{
	char text[256] = "no report";

	if (report->size && report->chunks)
		tally_report_format(report, NULL, text, sizeof(text));
	return fail(r, err, "%s: %s (%s); see 'tally stats %u' on each host",
		    what, strerror(-err), text, r->link->group);
}

/*
 * A bounded collective that ends with EHOSTDOWN leaves its rank behind as
 * ESTALE does: the others may hold what it does not see.
 */
static bool left_behind(int err)
{
	return err == -ESTALE || err == -EHOSTDOWN;
}

/*
 * A transfer of state that failed so failed for who was to receive it: it died,
 * or was too slow.  Who holds state still does.
 */
static bool not_received(int err)
{
	return err == -ECONNABORTED || err == -ETIMEDOUT;
}

/* This rank was left behind, or is new: receive what the others hold. */
static int rejoin(struct rank *r)
{
	struct tally_state_report report = { .size = sizeof(report) };
	double start = clock_seconds();
	int err, tries = 0;

	/* What was contributed is carried, or lost: the carry knows. */
	tally_carry_commit(r->carry);
	say(r, "STALE in epoch %u, step %u: asks for the others' state",
	    r->state.epoch + 1, r->state.step);
	do {
		err = tally_rejoin(r->m, &r->state, sizeof(r->state), NULL,
				   &report);
	} while (not_received(err) && ++tries < REJOIN_TRIES);
	if (err == -ETIMEDOUT)
		return fail(r, err, "nobody sent state within %d times the timeout: are the others training? If all ranks are new, take the group down and up on every host",
			    REJOIN_TRIES);
	if (err)
		return fail(r, err, "receiving state: %s", strerror(-err));
	r->o->rejoins++;
	r->o->rejoin_ms += 1e3 * (clock_seconds() - start);
	say(r, "has the state of rank %u: epoch %u, step %u", report.root,
	    r->state.epoch + 1, r->state.step);
	return 0;
}

/* Somebody waits for state: all that hold it are here at the same step. */
static int sync_state(struct rank *r)
{
	struct tally_state_report report = { .size = sizeof(report) };
	double start = clock_seconds();
	int err;

	err = tally_sync(r->m, &r->state, sizeof(r->state), NULL, &report);
	if (err == -ESTALE)
		return rejoin(r);
	/* The others know it too, and all go on. */
	if (err == -EAGAIN)
		return 0;
	if (err) {
		char missing[128];

		tally_mask_format(report.missing, NULL, missing,
				  sizeof(missing));
		if (!not_received(err))
			return fail(r, err, "giving state to a rank that rejoins: %s; missing: %s",
				    strerror(-err), missing);
		/* Whoever still waits shows it in the next step. */
		say(r, "could not give state to a rank that rejoins: %s; missing: %s",
		    strerror(-err), missing);
		return 0;
	}
	r->o->syncs++;
	r->o->sync_ms += 1e3 * (clock_seconds() - start);
	if (report.before != report.digest) {
		r->o->drifted++;
		say(r, "its state differed from that of rank %u",
		    report.root);
	}
	return 0;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void account(struct rank *r, const struct tally_report *report,
		    double start)
{
	uint32_t us = (uint32_t)(1e6 * (clock_seconds() - start)), k;
	uint64_t absent = r->geo.members & ~report->mask_all;
	struct outcome *o = r->o;

	if (o->steps < r->steps * r->plan->epochs)
		o->step_us[o->steps++] = us;
	o->wait_max_us = larger(o->wait_max_us, report->elapsed_us);
	for (k = 0; k < TALLY_RANKS; k++) {
		if (!(absent >> k & 1))
			continue;
		o->absent[k]++;
		r->seen[k]++;
		o->absent_step_us[k] = larger(o->absent_step_us[k], us);
		o->absent_wait_us[k] = larger(o->absent_wait_us[k],
					      report->elapsed_us);
	}
	o->chunks += report->chunks;
	o->partial += report->partial;
	o->voided += report->voided;
	o->lost += report->lost;
	o->repaired += report->repaired;
	o->lost_values += report->lost_values;
	o->late |= report->late;
}

/* One step of all ranks. */
static int step(struct rank *r)
{
	struct tally_report report = { .size = sizeof(report) };
	struct tally_call_opts opts = TALLY_OPTS(tally_call_opts,
						 .lane = (uint8_t)r->link->lane,
						 .carry = r->carry);
	double start = clock_seconds(), loss;
	const uint32_t *index;
	size_t n;
	int err;

	n = sampler_batch(&r->sampler, &r->state, &index);
	loss = net_gradient(&r->state.weights, r->d->all, index, n,
			    &r->gradient);
	opts.weight = (uint32_t)n;
	if (!n)
		opts.flags = TALLY_CALL_ABSTAIN;
	err = tally_all_reduce_init(r->call, &r->gradient, &r->mean,
				    NET_PARAMS, &opts);
	if (err)
		return fail(r, err, "summing gradients in group %u: %s",
			    r->link->group, strerror(-err));
	err = tally_post(r->call);
	/* What was not posted has no report but that of the step before. */
	if (!err) {
		err = tally_wait(r->call, TALLY_WAIT_END);
		tally_get_report(r->call, &report);
	}
	if (left_behind(err)) {
		r->o->lost_values += report.lost_values;
		return rejoin(r);
	}
	if (err)
		return fail_report(r, err, "summing gradients", &report);
	if (report.nonfinite) {
		/* All see it, and all leave the step out. */
		tally_carry_rollback(r->carry);
		say(r, "epoch %u, step %u: a gradient is not finite, left out",
		    r->state.epoch + 1, r->state.step);
	} else {
		net_step(&r->state.weights, &r->state.momentum, &r->mean,
			 r->plan->rate, r->plan->keep);
		tally_carry_commit(r->carry);
	}
	r->state.step++;
	r->epoch_loss += loss * (double)n;
	r->samples += n;
	account(r, &report, start);
	return report.flags & TALLY_F_REJOIN ? sync_state(r) : 0;
}

/* How often who was not in the sums of this epoch. */
static void absent_text(const struct rank *r, char *buf, size_t size)
{
	const char *comma = "; without ";
	size_t at = 0;
	uint32_t k;

	buf[0] = 0;
	for (k = 0; k < TALLY_RANKS && at < size; k++) {
		if (!r->seen[k])
			continue;
		at += (size_t)snprintf(buf + at, size - at,
				       "%srank %u in %u of %u steps", comma, k,
				       r->seen[k], r->steps);
		comma = ", ";
	}
}

/*
 * An epoch is done.  Each rank tests its part of the held-out samples; the
 * counts are summed as integers, exactly, of those that come within the bound.
 */
static int epoch(struct rank *r)
{
	struct tally_call_opts opts = TALLY_OPTS(tally_call_opts,
						 .dtype = TALLY_DTYPE_U64);
	struct tally_report report = { .size = sizeof(report) };
	size_t held = r->d->nr - r->d->train;
	size_t from = held * r->link->rank / r->plan->ranks;
	size_t to = held * (r->link->rank + 1) / r->plan->ranks;
	double took, loss = 0;
	uint64_t count[2];
	char late[256];
	int err;

	count[0] = net_test(&r->state.weights, r->d->all + r->d->train + from,
			    to - from, &loss);
	count[1] = to - from;
	err = tally_all_reduce(r->m, count, count, 2, &opts, &report);
	if (left_behind(err))
		return rejoin(r);
	if (err)
		return fail_report(r, err, "counting digits", &report);
	r->state.step = 0;
	r->state.epoch++;
	took = clock_seconds() - r->epoch_start;
	absent_text(r, late, sizeof(late));
	if (r->link->progress)
		say(r, "epoch %u of %u: loss %.4f, held-out %.1f %%, %.1f steps/s%s",
		    r->state.epoch, r->plan->epochs,
		    r->epoch_loss / (double)(r->samples ? r->samples : 1),
		    count[1] ? 100.0 * (double)count[0] / (double)count[1] : 0,
		    r->steps / took, late);
	memset(r->seen, 0, sizeof(r->seen));
	r->epoch_start = clock_seconds();
	r->epoch_loss = 0;
	r->samples = 0;
	return 0;
}

/* All that can shall come to the end; who waits for state gets it. */
static int finish(struct rank *r)
{
	struct tally_call_opts opts = TALLY_OPTS(tally_call_opts,
						 .dtype = TALLY_DTYPE_U64,
						 .bound_us = FINISH_US);
	struct tally_report report = { .size = sizeof(report) };
	char who[128];
	int err;

	memset(r->words, 0, r->nr_words * sizeof(*r->words));
	err = tally_all_reduce(r->m, r->words, r->words, r->nr_words, &opts,
			       &report);
	if (left_behind(err))
		return rejoin(r);
	if (err)
		return fail_report(r, err, "coming to the end", &report);
	/* Not for ever: it may never come to have it. */
	if (report.flags & TALLY_F_REJOIN && ++r->tries < FINISH_TRIES)
		return sync_state(r);
	r->o->unfinished = r->geo.members & ~report.mask_all;
	r->end = !r->o->unfinished;
	if (!r->end && ++r->tries >= FINISH_TRIES) {
		tally_mask_format(r->o->unfinished, NULL, who, sizeof(who));
		say(r, "ends without rank %s, which did not come", who);
		r->end = true;
	}
	return 0;
}

/* All are there, and begin with the same weights. */
static int start(struct rank *r)
{
	struct tally_call_opts opts = TALLY_OPTS(tally_call_opts,
						 .timeout_us = START_US);
	struct tally_report report = { .size = sizeof(report) };
	uint64_t all[TALLY_RANKS], mine;
	uint32_t k;
	int err;

	if (r->geo.stale)
		return rejoin(r);
	mine = tally_digest(&r->state, sizeof(r->state));
	err = tally_all_gather(r->m, &mine, all, sizeof(mine), &opts, &report);
	if (err == -ESTALE)
		return rejoin(r);
	if (err)
		return fail_report(r, err, "waiting for all ranks", &report);
	for (k = 0; k < r->plan->ranks; k++)
		if (all[k] != mine)
			return fail(r, -EBADMSG, "begins with other weights than rank %u: give all the same --seed",
				    k);
	return 0;
}

static int link_up(struct rank *r)
{
	int err;

	err = tally_open(NULL, &r->t);
	if (err)
		return fail_open(r, err);
	err = tally_attach(r->t, r->link->group, r->link->rank, &r->m);
	if (err)
		return fail_attach(r, err);
	r->geo.size = sizeof(r->geo);
	err = tally_get_geometry(r->m, &r->geo);
	if (!err && r->geo.ranks != r->plan->ranks)
		return fail(r, -EINVAL, "group %u has %u ranks, not %u: see --ranks",
			    r->link->group, r->geo.ranks, r->plan->ranks);
	if (!err)
		err = tally_carry_create(NET_PARAMS, &r->carry);
	if (!err)
		err = tally_call_create(r->m, &r->call);
	return err ? fail(r, err, "setting up: %s", strerror(-err)) : 0;
}

static int rank_create(struct rank *r)
{
	int err;

	r->steps = plan_steps(r->plan, r->d);
	state_init(&r->state, r->plan);
	err = link_up(r);
	if (err)
		return err;
	r->nr_words = (size_t)r->geo.cell_words * (r->geo.ranks - 1) + 1;
	r->words = calloc(r->nr_words, sizeof(*r->words));
	r->o->step_us = calloc((size_t)r->steps * r->plan->epochs + 1,
			       sizeof(*r->o->step_us));
	err = sampler_create(&r->sampler, r->d, r->plan, r->link->rank);
	if (err || !r->words || !r->o->step_us)
		return fail(r, -ENOMEM, "out of memory");
	r->o->lane = r->link->lane;
	r->o->bound_us = r->geo.bound_us;
	return 0;
}

static void rank_free(struct rank *r)
{
	if (r->m)
		tally_detach(r->m);
	if (r->carry)
		tally_carry_destroy(r->carry);
	if (r->t)
		tally_close(r->t);
	sampler_free(&r->sampler);
	free(r->words);
}

/* Return: of the carry; it is asked for once, at the end. */
static uint64_t carry_missed(const struct rank *r)
{
	struct tally_carry_stats stats = { .size = sizeof(stats) };

	return tally_carry_get_stats(r->carry, &stats) ? 0 : stats.missed;
}

int train_rank(const struct plan *p, const struct digits *d,
	       const struct link *link, struct outcome *o)
{
	struct rank r = { .plan = p, .d = d, .link = link, .o = o };
	double begin = 0;
	int err;

	err = rank_create(&r);
	if (!err)
		err = start(&r);
	begin = clock_seconds();
	r.epoch_start = begin;
	while (!err && !r.end) {
		if (r.state.epoch >= p->epochs) {
			if (!o->seconds)
				o->seconds = clock_seconds() - begin;
			err = finish(&r);
		} else if (r.state.step >= r.steps) {
			err = epoch(&r);
		} else {
			err = step(&r);
		}
	}
	if (!err) {
		o->carry_missed = carry_missed(&r);
		outcome_test(o, &r.state, d);
	}
	rank_free(&r);
	return err;
}
