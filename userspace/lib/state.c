// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * State for members that rejoin.
 *
 * The members that hold state vote: each adds the bit of its rank, members that
 * rejoin only show in the mask.  The outcome is one RESULT, the same for all:
 * from it follow who sends and who takes part.
 */
#include <stdlib.h>

#include "internal.h"

static int begin(struct tally_member *m, const void *state, size_t bytes,
		 const struct tally_state_opts *opts,
		 struct tally_state_opts *o)
{
	int err;

	if (!m || !state || !bytes)
		return -EINVAL;
	err = opts_get(o, sizeof(*o), opts);
	if (err)
		return err;
	if (o->flags)
		return -EINVAL;
	/* What was forgotten may have ended since. */
	progress(m);
	return m->head || m->next != m->oldest ? -EBUSY : 0;
}

static int finish(struct tally_state_report *to,
		  const struct tally_state_report *r, int err)
{
	int put = to ? opts_put(to, r, sizeof(*r)) : 0;

	return err ? err : put;
}

/* The transfer itself; @participants agree on all arguments. */
static int transfer(struct tally_member *m, void *state, size_t bytes,
		    uint32_t root, uint64_t participants,
		    const struct tally_state_opts *o,
		    struct tally_state_report *r)
{
	struct tally_call_opts opts = TALLY_OPTS(tally_call_opts,
		.participants = participants,
		.timeout_us = o->timeout_us);
	struct tally_report report = { .size = sizeof(report) };
	int err;

	err = tally_broadcast_init(m->scratch, state, bytes, root, &opts);
	if (!err) {
		m->scratch->transfer = true;
		err = scratch_run(m, 0, &report);
		m->scratch->transfer = false;
	}
	r->root = root;
	r->participants = participants;
	r->missing = report.missing;
	r->seq = report.seq;
	r->parts = report.parts;
	r->received = participants >> m->link.geo.rank & 1;
	r->digest = tally_digest(state, bytes);
	return err;
}

/*
 * The outcome is the RESULT of the first chunk alone: another one's mask may
 * differ.  The others are there, as blocks of zeros, because a member that
 * rejoins takes part in a collective when its own shard is contributed to: each
 * member has to own one.
 */
static int vote(struct tally_member *m, const struct tally_state_opts *o,
		uint64_t *value, uint64_t *mask, uint64_t *missing)
{
	const struct tally_attach *geo = &m->link.geo;
	struct tally_call_opts opts = TALLY_OPTS(tally_call_opts,
		.dtype = TALLY_DTYPE_U64,
		.timeout_us = o->timeout_us);
	struct tally_report report = { .size = sizeof(report) };
	uint64_t bound = o->bound_us;
	size_t words = (size_t)geo->out_cell_words *
		       (tally_mask_count(geo->out_members) - 1) + 1;
	uint64_t *ballot = calloc(words, sizeof(*ballot));
	int err;

	if (!ballot)
		return -ENOMEM;
	/* Who is late for the vote misses more than one sum. */
	if (!bound)
		bound = 4ull * geo->out_bound_us;
	opts.bound_us = bound < TALLY_TIME_MAX_US ? (uint32_t)bound :
						    TALLY_TIME_MAX_US;
	ballot[0] = 1ull << geo->rank;
	err = tally_all_reduce(m, ballot, ballot, words, &opts, &report);
	*value = ballot[0];
	*missing = report.missing;
	*mask = err ? 0 : part_mask(m->scratch, report.seq, 0);
	free(ballot);
	return err;
}

int tally_sync(struct tally_member *m, void *state, size_t bytes,
	       const struct tally_state_opts *opts,
	       struct tally_state_report *report)
{
	struct tally_state_report r = { .size = sizeof(r) };
	uint64_t value = 0, mask = 0, start = now_ns();
	struct tally_state_opts o;
	int err;

	err = begin(m, state, bytes, opts, &o);
	if (err)
		return err;
	if (m->stale)
		return -ESTALE;
	err = vote(m, &o, &value, &mask, &r.missing);
	/* The vote is bounded: it may have left us behind. */
	if (err)
		return finish(report, &r, m->stale ? -ESTALE : err);
	r.answered = value;
	r.before = tally_digest(state, bytes);
	r.digest = r.before;
	/* The one RESULT says it to all: nobody can send, or to nobody. */
	if (!value || !(mask & ~value))
		err = -EAGAIN;
	else
		err = transfer(m, state, bytes,
			       (uint32_t)__builtin_ctzll(value), mask, &o, &r);
	r.elapsed_us = (uint32_t)((now_ns() - start) / 1000);
	return finish(report, &r, err);
}

/* Follow the group until it sends state; @c says who and when. */
static int follow(struct tally_member *m, const struct tally_state_opts *o,
		  struct tally_completion *c)
{
	struct tally_submit s = {
		.size = sizeof(s),
		.seq = m->next,
		.op = TALLY_OP_REJOIN,
		.lane = TALLY_LANE_RAW,
		.timeout_us = timeout_of(m, o->timeout_us),
	};
	uint64_t timeout = s.timeout_us;
	int err;

	err = m->link.ops->submit(&m->link, &s);
	if (err == -EINVAL && s.out_seq != s.seq) {
		s.seq = s.out_seq;
		err = m->link.ops->submit(&m->link, &s);
	}
	if (err)
		return err;
	err = m->link.ops->take(&m->link, s.seq, now_ns() + timeout * 1000 +
				GRACE_NS, c);
	if (err == -ETIME) {
		m->link.ops->cancel(&m->link, s.seq);
		m->link.ops->take(&m->link, s.seq, now_ns() + GRACE_NS, c);
		return -ETIMEDOUT;
	}
	if (!err && c->status)
		err = c->status;
	return err;
}

int tally_rejoin(struct tally_member *m, void *state, size_t bytes,
		 const struct tally_state_opts *opts,
		 struct tally_state_report *report)
{
	struct tally_state_report r = { .size = sizeof(r) };
	struct tally_completion c = { 0 };
	struct tally_state_opts o;
	uint64_t start = now_ns();
	int err;

	err = begin(m, state, bytes, opts, &o);
	if (err)
		return err;
	if (!m->stale)
		return -EALREADY;
	r.before = tally_digest(state, bytes);
	err = follow(m, &o, &c);
	if (err) {
		r.missing = c.missing;
		return finish(report, &r, err);
	}
	m->next = c.state_seq;
	m->oldest = c.state_seq;
	m->stale = false;
	err = transfer(m, state, bytes, c.root, c.mask_all, &o, &r);
	/*
	 * Without all of the state we are as stale as before.  The transport
	 * takes us for a full member since the transfer began: the next REJOIN
	 * makes us STALE there, too.
	 */
	if (err)
		m->stale = true;
	r.elapsed_us = (uint32_t)((now_ns() - start) / 1000);
	return finish(report, &r, err);
}
