// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Getting on: calls are submitted part by part, in the order of posting, as
 * far as the window reaches; completions are settled in whatever order they
 * come.  A part's cells are free again when it and all before it are over.
 */
#include <poll.h>

#include "carry.h"
#include "internal.h"

#define NO_ARRIVAL	0xffffffffu

static bool in_flight(const struct tally_member *m)
{
	return m->next != m->oldest;
}

static struct flight *place(struct tally_member *m, uint32_t seq)
{
	return &m->flight[seq & (m->link.geo.out_window - 1)];
}

/* Is something under way there? */
static bool taken(const struct flight *f)
{
	return f->call || f->forgotten;
}

void call_end(struct tally_call *call)
{
	struct tally_report *r = &call->report;

	call->state = CALL_ENDED;
	/* No chunk has values. */
	if (r->weight_min > r->weight_max)
		r->weight_min = 0;
	r->elapsed_us = (uint32_t)((now_ns() - call->start_ns) / 1000);
	if (call_carries(call))
		carry_put(call->opts.carry);
}

static void maybe_end(struct tally_call *call)
{
	if (call->state == CALL_ACTIVE && call->over == call->parts)
		call_end(call);
}

/* Does it ask for what is missing?  The module has the same rule. */
static bool is_reliable(const struct tally_call *call)
{
	return call->opts.flags & TALLY_CALL_RELIABLE ||
	       tally_op_gathers(call->op) || call->op == TALLY_OP_BARRIER;
}

/*
 * Is the member STALE after a collective that ended with @status?  A bounded
 * one runs on at the others: who does not see how it ends cannot know what they
 * hold, whatever the reason.
 */
static bool leaves_behind(const struct tally_call *call, int status)
{
	switch (status) {
	case -ESTALE:
		return true;
	case -EHOSTDOWN:
	case -ECANCELED:
	case -ERANGE:
		return !is_reliable(call);
	default:
		return false;
	}
}

static void note_error(struct tally_call *call, int status)
{
	if (status && !call->report.status)
		call->report.status = status;
}

static void note_arrivals(struct tally_report *r,
			  const struct tally_completion *c)
{
	uint32_t i;

	if (!c->own_chunks)
		return;
	for (i = 0; i < TALLY_RANKS; i++) {
		if (r->arrival_us[i] == NO_ARRIVAL ||
		    (c->arrival_us[i] != NO_ARRIVAL &&
		     c->arrival_us[i] > r->arrival_us[i]))
			r->arrival_us[i] = c->arrival_us[i];
	}
}

static void note_completion(struct tally_call *call,
			    const struct tally_completion *c)
{
	struct tally_report *r = &call->report;

	r->mask_all &= c->mask_all;
	r->mask_any |= c->mask_any;
	r->missing |= c->missing;
	r->late |= c->late;
	r->chunks += c->chunks;
	r->partial += c->partial;
	r->voided += c->voided;
	r->repaired += c->repaired;
	r->lost += c->lost;
	r->aligned += c->aligned;
	r->flags |= c->flags;
	if (c->close_us > r->close_us)
		r->close_us = c->close_us;
	note_arrivals(r, c);
}

static void settle(struct tally_member *m, const struct flight *f,
		   const struct tally_completion *c)
{
	struct tally_call *call = f->call;
	int status = c->status;

	if (call->member)
		note_completion(call, c);
	if (leaves_behind(call, status))
		m->stale = true;
	if (!f->empty)
		status = part_settle(call, f, status);
	note_error(call, status);
	call->over++;
}

/* A collective is over: settle it and make room in the window. */
static void complete(struct tally_member *m, const struct tally_completion *c)
{
	struct flight *f = place(m, c->seq);
	struct tally_call *call = f->call;

	if (!taken(f) || f->seq != c->seq)
		return;
	if (call)
		settle(m, f, c);
	f->call = NULL;
	f->forgotten = false;
	while (in_flight(m) && !taken(place(m, m->oldest)))
		m->oldest++;
	if (call)
		maybe_end(call);
}

/* The rest of @call cannot be submitted. */
static void give_up(struct tally_member *m, struct tally_call *call, int status)
{
	m->head = call->queued;
	if (!m->head)
		m->tail = &m->head;
	call->queued = NULL;
	call->encoded = false;
	note_error(call, status);
	for (; call->submitted < call->parts; call->submitted++) {
		part_unsent(call, call->submitted);
		call->over++;
	}
	maybe_end(call);
}

uint32_t timeout_of(const struct tally_member *m, uint32_t timeout_us)
{
	return timeout_us ? timeout_us : m->link.geo.out_timeout_us;
}

static int submit_part(struct tally_member *m, struct tally_call *call)
{
	bool empty = call->cancelled && !call->encoded;
	struct tally_submit s = {
		.size = sizeof(s),
		.seq = m->next,
		.op = call->op,
		.lane = call->opts.lane,
		.dtype = call->opts.dtype,
		.participants = call->participants,
		.words = part_words(call, call->submitted),
		.weight = empty ? 0 : call->opts.weight,
		.bound_us = call->opts.bound_us,
		.timeout_us = timeout_of(m, call->opts.timeout_us),
		.root = call->root,
	};
	struct flight *f = place(m, m->next);
	int err;

	if (is_reliable(call))
		s.flags |= TALLY_SUBMIT_RELIABLE;
	if (call->transfer && !call->submitted)
		s.flags |= TALLY_SUBMIT_STATE;
	if (!call->encoded) {
		part_encode(call, call->submitted, m->next, empty);
		call->encoded = !empty;
	}
	err = m->link.ops->submit(&m->link, &s);
	if (err == -EAGAIN && now_ns() >= call->deadline_ns) {
		call->report.missing |= s.out_missing;
		err = -ETIMEDOUT;
	}
	if (err)
		return err;
	if (empty)
		part_unsent(call, call->submitted);
	if (!call->submitted)
		call->report.seq = m->next;
	f->call = call;
	f->seq = m->next;
	f->part = call->submitted;
	f->empty = empty;
	f->zeroed = s.out_flags & TALLY_SUBMITTED_ZERO;
	call->encoded = false;
	call->submitted++;
	m->next++;
	if (call->cancelled)
		m->link.ops->cancel(&m->link, f->seq);
	return 0;
}

static void submit_all(struct tally_member *m)
{
	struct tally_call *call;
	int err;

	m->blocked = false;
	while ((call = m->head)) {
		err = m->stale ? -ESTALE : 0;
		while (!err && call->submitted < call->parts) {
			if (m->next - m->oldest >= m->link.geo.out_window)
				return;
			err = submit_part(m, call);
		}
		if (err == -EAGAIN || err == -EBUSY) {
			m->blocked = true;
			return;
		}
		if (err == -ESTALE)
			m->stale = true;
		give_up(m, call, err);
	}
}

/* The transport failed: nothing that is in flight will complete. */
static void break_off(struct tally_member *m, int err)
{
	struct tally_completion c = { .status = err };

	while (in_flight(m)) {
		c.seq = m->oldest;
		complete(m, &c);
	}
}

void progress(struct tally_member *m)
{
	struct tally_completion c;
	int n;

	while (in_flight(m)) {
		n = m->link.ops->fetch(&m->link, &c);
		if (n != 1) {
			if (n < 0)
				break_off(m, n);
			break;
		}
		complete(m, &c);
	}
	submit_all(m);
}

int progress_until(struct tally_call *call, uint64_t deadline_ns)
{
	struct tally_member *m = call->m;
	struct tally_completion c;
	uint64_t until;
	int err;

	for (;;) {
		progress(m);
		if (call->state != CALL_ACTIVE)
			return call->report.status;
		if (now_ns() >= deadline_ns)
			return -ETIME;
		if (m->blocked) {
			until = m->head->deadline_ns;
			err = m->link.ops->wait(&m->link, tally_events(m),
						until < deadline_ns ? until :
						deadline_ns);
		} else {
			/* The window moves on when its oldest is over. */
			err = m->link.ops->take(&m->link, m->oldest,
						deadline_ns, &c);
			if (!err)
				complete(m, &c);
		}
		if (err && err != -ETIME)
			break_off(m, err);
	}
}

/* How long what is left of @call may take once it is its turn. */
static uint64_t call_rest_ns(const struct tally_call *call)
{
	const struct tally_member *m = call->m;
	uint64_t rounds = (call->parts - call->over) / m->link.geo.out_window +
			  1;

	return rounds * timeout_of(m, call->opts.timeout_us) * 1000;
}

/*
 * By when the calls under way must have ended, now that one was posted behind
 * them.  From now on, of what is left: there may never be a moment at which
 * nothing is under way.  An earlier deadline stands.
 */
static void set_deadlines(struct tally_member *m)
{
	uint64_t end = now_ns() + GRACE_NS;
	struct tally_call *call;

	for (call = m->calls; call; call = call->all) {
		if (call->state == CALL_ACTIVE &&
		    call->submitted == call->parts)
			end += call_rest_ns(call);
	}
	for (call = m->head; call; call = call->queued) {
		end += call_rest_ns(call);
		if (call->deadline_ns > end)
			call->deadline_ns = end;
	}
}

static void report_reset(struct tally_call *call)
{
	struct tally_report *r = &call->report;

	memset(r, 0, sizeof(*r));
	memset(r->arrival_us, 0xff, sizeof(r->arrival_us));
	r->size = sizeof(*r);
	r->parts = call->parts;
	r->user_data = call->opts.user_data;
	r->mask_all = call->member && call->parts ? call->participants : 0;
	r->seq = call->m->next;
	/* Any weight is less, that of a chunk of weight 0 too. */
	r->weight_min = UINT64_MAX;
}

int tally_post(struct tally_call *call)
{
	struct tally_member *m;
	int err;

	if (!call || call->state == CALL_EMPTY)
		return -EINVAL;
	if (call->state == CALL_ACTIVE)
		return -EBUSY;
	m = call->m;
	if (m->stale)
		return -ESTALE;
	err = part_reserve(call);
	if (err)
		return err;
	report_reset(call);
	part_touch(call);
	call->submitted = 0;
	call->over = 0;
	call->encoded = false;
	call->cancelled = false;
	call->start_ns = now_ns();
	call->state = CALL_ACTIVE;
	if (!call->parts) {
		maybe_end(call);
		return 0;
	}
	call->deadline_ns = UINT64_MAX;
	call->queued = NULL;
	*m->tail = call;
	m->tail = &call->queued;
	set_deadlines(m);
	progress(m);
	return 0;
}

int tally_test(struct tally_call *call)
{
	if (!call || call->state < CALL_ACTIVE)
		return -EINVAL;
	if (call->state == CALL_ACTIVE)
		progress(call->m);
	return call->state == CALL_ACTIVE ? -EAGAIN : call->report.status;
}

int tally_wait(struct tally_call *call, uint32_t timeout_us)
{
	if (!call || call->state < CALL_ACTIVE)
		return -EINVAL;
	if (call->state == CALL_ENDED)
		return call->report.status;
	return progress_until(call, timeout_us == TALLY_WAIT_END ?
			      call->deadline_ns + GRACE_NS :
			      now_ns() + timeout_us * 1000ull);
}

int tally_cancel(struct tally_call *call)
{
	struct tally_member *m;
	uint32_t i;

	if (!call || call->state < CALL_ACTIVE)
		return -EINVAL;
	if (call->state == CALL_ENDED)
		return -EALREADY;
	m = call->m;
	call->cancelled = true;
	note_error(call, -ECANCELED);
	for (i = 0; i < m->link.geo.out_window; i++) {
		if (m->flight[i].call == call)
			m->link.ops->cancel(&m->link, m->flight[i].seq);
	}
	progress(m);
	return 0;
}

/*
 * The transport did not end the call in time, but its buffers are the caller's
 * again: give it up.  What cannot even be cancelled is forgotten.
 */
static void scratch_abandon(struct tally_call *call)
{
	tally_cancel(call);
	progress_until(call, now_ns() + GRACE_NS);
	if (call->state != CALL_ACTIVE)
		return;
	/* Without all of its parts the member is out of step. */
	if (!is_reliable(call) || call->submitted < call->parts)
		call->m->stale = true;
	call_forget(call);
}

int scratch_run(struct tally_member *m, int err, struct tally_report *report)
{
	if (!err)
		err = tally_post(m->scratch);
	if (err)
		return err;
	err = tally_wait(m->scratch, TALLY_WAIT_END);
	if (err == -ETIME)
		scratch_abandon(m->scratch);
	if (report) {
		int put = tally_get_report(m->scratch, report);

		err = err ? err : put;
	}
	return err;
}
