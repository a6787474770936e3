// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * A training process: steps of a few collectives, the same on every rank; what
 * they sum becomes the replicas' common value.  It may be stopped, killed and
 * started again, and comes back by receiving the others' state.
 */
#include "sim.h"

#define STATE_PARTS	2	/* collectives of one state transfer */

static void proc_go(struct sim_proc *p);

static u64 mix(u64 a, u64 b)
{
	a ^= b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2);
	a *= 0xbf58476d1ce4e5b9ull;
	return a ^ a >> 31;
}

/* A number that all ranks agree on, for a place in the run's script. */
static u32 script(struct sim_proc *p, u32 what, u32 below)
{
	u64 x = mix(mix(mix(p->sim->seed, p->step), p->op), what);

	return (u32)(x >> 16) % below;
}

static u32 script_bit(struct sim_proc *p, u32 what, u32 mask)
{
	u32 n = tally_mask_count(mask);

	return tally_mask_rank(mask, script(p, what, n));
}

static void script_op(struct sim_proc *p, struct tally_submit *req)
{
	const struct sim_scenario *s = &p->sim->scenario;
	u32 most, cells = s->shard_chunks * s->ranks;

	memset(req, 0, sizeof(*req));
	req->size = sizeof(*req);
	req->op = script_bit(p, 1, s->ops);
	req->weight = s->weight;
	req->participants = p->sim->members;
	if (script(p, 2, 1000000) < s->clique_ppm) {
		req->participants = mix(mix(p->sim->seed, p->step), p->op) &
				    p->sim->members;
		if (!req->participants)
			req->participants = p->sim->members;
	}
	if (script(p, 7, 1000000) < s->apart_ppm) {
		req->participants &= ~p->sim->node[script(p, 8, p->sim->nodes)]
					.engine->rule.local;
		if (!req->participants)
			req->participants = p->sim->members;
	}
	if (tally_op_gathers(req->op)) {
		req->lane = TALLY_LANE_RAW;
	} else if (req->op != TALLY_OP_BARRIER) {
		req->lane = script_bit(p, 3, s->lanes);
		if (script(p, 4, 1000000) < s->reliable_ppm)
			req->flags |= TALLY_SUBMIT_RELIABLE;
	}
	if (req->op == TALLY_OP_BROADCAST)
		req->root = tally_mask_rank(req->participants,
			script(p, 5, tally_mask_count(req->participants)));
	if (req->op == TALLY_OP_BARRIER)
		return;
	most = req->op == TALLY_OP_ALL_REDUCE ?
	       min(cells, s->shard_chunks *
		   tally_mask_count(req->participants)) : s->shard_chunks;
	req->words = 1 + script(p, 6, most * s->cell_words);
}

/* Fill a tx cell; the oracle reads what was put there. */
static void cell_fill(struct sim_proc *p, const struct tally_submit *req,
		      struct tally_hdr *cell, u32 words)
{
	const struct tally_rule *rule = tally_engine_rule(p->node->engine);
	const struct sim_scenario *s = &p->sim->scenario;
	u32 bits = tally_lane_bits(req->lane), i, j;
	__le64 *payload = (__le64 *)(cell + 1);
	u32 h, cap = rule->caps[p->rank];
	u64 most;

	memset(cell, 0, sizeof(*cell));
	cell->exponent = TALLY_EXP_NONE;
	if (req->op == TALLY_OP_BARRIER)
		return;
	cell->weight = tally_put32(sim_pick(p->sim, s->cell_weights));
	if (!tally_op_gathers(req->op) && sim_chance(p->sim, s->zero_ppm))
		return;
	if (tally_lane_fixed(req->lane) && sim_chance(p->sim,
						      s->nonfinite_ppm)) {
		cell->flags = TALLY_F_NONFINITE;
		return;
	}
	cell->words = tally_put16(words);
	cell->exponent = 0;
	if (!tally_lane_fixed(req->lane)) {
		for (i = 0; i < words; i++)
			payload[i] = tally_put_le64(sim_random(p->sim));
		return;
	}
	h = tally_headroom(rule, req->participants);
	most = 1ull << (bits - h + cap);
	cell->bias = tally_put32(tally_lane_bias(bits, h) << cap);
	cell->exponent = -7;
	if (sim_chance(p->sim, s->uneven_ppm))
		cell->exponent = (int8_t)((int)sim_pick(p->sim, 20) - 10);
	for (i = 0; i < words; i++) {
		u64 word = 0;

		for (j = 0; j < 64 / bits; j++) {
			u64 lane = 1 + sim_random(p->sim) % (most - 1);

			/* Extremes carry into the neighbour, if anything. */
			if (sim_chance(p->sim, 100000))
				lane = most - 1;
			word |= lane << j * bits;
		}
		payload[i] = tally_put_le64(word);
	}
}

static struct tally_hdr *proc_cell(struct sim_proc *p, u8 *area, u32 seq,
				   u32 at)
{
	const struct sim_scenario *s = &p->sim->scenario;
	size_t bytes = sizeof(struct tally_hdr) + 8 * s->cell_words;

	return (struct tally_hdr *)(area + bytes *
		((size_t)(seq % s->window) * s->shard_chunks * s->ranks + at));
}

struct tally_hdr *sim_tx_cell(struct sim_proc *p, u32 seq, u32 at)
{
	return proc_cell(p, p->tx, seq, at);
}

struct tally_hdr *sim_result_cell(struct sim_proc *p, u32 seq, u32 at)
{
	return proc_cell(p, p->result, seq, at);
}

void sim_layout(struct sim_proc *p, const struct tally_submit *req,
		struct tally_layout *layout)
{
	tally_layout_init(layout, req->op, req->participants, req->seq,
			  req->words, p->sim->scenario.cell_words, req->root);
}

static void proc_fill(struct sim_proc *p, const struct tally_submit *req)
{
	struct tally_layout layout;
	u32 i, n;

	sim_layout(p, req, &layout);
	n = tally_op_gathers(req->op) ? layout.part : layout.chunks;
	for (i = 0; i < n; i++)
		cell_fill(p, req, sim_tx_cell(p, req->seq, i),
			  tally_layout_words(&layout, i));
}

static void proc_rejoin(struct sim_proc *p);

/* Returns false if the caller has to wait or has become another. */
static bool proc_submit(struct sim_proc *p, struct tally_submit *req)
{
	struct sim *sim = p->sim;
	int err;

	req->seq = p->seq;
	err = tally_engine_submit(p->node->engine, p->rank, req, sim->now);
	switch (err) {
	case 0:
		p->submit[req->seq % sim->scenario.window] = *req;
		if (req->op != TALLY_OP_REJOIN)
			sim_oracle_submit(p, req);
		p->step_of[req->seq % sim->scenario.window] = p->step;
		p->seq++;
		p->pending++;
		p->blocked_ns = 0;
		return true;
	case -EAGAIN:
		if (!p->blocked_ns)
			p->blocked_ns = sim->now;
		return false;
	case -EBUSY:
		return false;
	case -ESTALE:
		proc_rejoin(p);
		return false;
	default:
		sim_fail(sim, "rank %u: SUBMIT op %u seq %u: %d (right: %u)",
			 p->rank, req->op, p->seq, err, req->out_seq);
		return false;
	}
}

/* All that was submitted has come back first: the engine ends it. */
static void proc_rejoin(struct sim_proc *p)
{
	struct tally_submit req = {
		.size = sizeof(req), .op = TALLY_OP_REJOIN,
		.timeout_us = 2000000,
	};

	p->state = PROC_REJOIN;
	p->sync_left = 0;
	if (p->pending)
		return;
	proc_submit(p, &req);
}

static void again(struct sim *sim, void *arg, u64 value)
{
	struct sim_proc *p = arg;

	if (p->again_at == value)
		sim_proc_wake(p);
}

static void proc_later(struct sim_proc *p, u64 ns)
{
	p->again_at = p->sim->now + ns;
	sim_at(p->sim, p->again_at, again, p, p->again_at);
}

static void step_next(struct sim_proc *p)
{
	const struct sim_scenario *s = &p->sim->scenario;

	p->state = PROC_RUN;
	p->step++;
	p->op = 0;
	p->rejoin_seen = false;
	if (p->step >= s->steps) {
		p->state = PROC_FINISHED;
		return;
	}
	proc_later(p, s->compute_ns ? 1 + sim_random(p->sim) % s->compute_ns :
				      1);
}

static void step_end(struct sim_proc *p)
{
	sim_oracle_step(p);
	if (!p->rejoin_seen) {
		step_next(p);
		return;
	}
	p->state = PROC_SYNC_VOTE;
	p->sync_left = 1;
	proc_go(p);
}

static void vote_submit(struct sim_proc *p)
{
	struct tally_submit req = {
		.size = sizeof(req), .op = TALLY_OP_ALL_REDUCE,
		.lane = TALLY_LANE_W64, .words = 1, .weight = 1,
		.participants = p->sim->members,
	};
	struct tally_hdr *cell = sim_tx_cell(p, p->seq, 0);

	memset(cell, 0, sizeof(*cell));
	cell->words = tally_put16(1);
	*(__le64 *)(cell + 1) = tally_put_le64(1ull << p->rank);
	if (proc_submit(p, &req))
		p->sync_left = 0;
}

static void state_submit(struct sim_proc *p)
{
	struct tally_submit req = {
		.size = sizeof(req), .op = TALLY_OP_BROADCAST,
		.lane = TALLY_LANE_RAW, .words = p->sim->scenario.cell_words,
		.weight = 1, .participants = p->sync_mask,
		.root = p->sync_root,
		.flags = p->sync_left == STATE_PARTS ? TALLY_SUBMIT_STATE : 0,
	};
	struct tally_hdr *cell = sim_tx_cell(p, p->seq, 0);

	/*
	 * Somebody has died who was to receive it.  The seq must be used up:
	 * the others' broadcast ends by its timeout.
	 */
	if (p->blocked_ns &&
	    p->sim->now - p->blocked_ns > 1000ull * p->sim->scenario.timeout_us) {
		req.participants = 1ull << p->rank;
		req.root = p->rank;
		req.flags = 0;
	}
	if (p->rank == req.root) {
		memset(cell, 0, sizeof(*cell));
		cell->words = tally_put16(req.words);
		memset(cell + 1, 0, 8 * req.words);
		*(__le64 *)(cell + 1) = tally_put_le64((u64)p->step << 32 |
						       p->value);
	}
	if (proc_submit(p, &req))
		p->sync_left--;
	else if (p->state == PROC_SYNC_STATE && p->blocked_ns)
		proc_later(p, 100 * SIM_MS);
}

static void vote_done(struct sim_proc *p, const struct tally_completion *done)
{
	struct tally_hdr *cell = sim_result_cell(p, done->seq, 0);
	u64 value = 0;

	if (cell->words)
		value = tally_get_le64(*(__le64 *)(cell + 1));
	p->sync_mask = tally_get64(cell->mask);
	value &= p->sync_mask;
	if (!value) {
		step_next(p);
		return;
	}
	p->sync_root = tally_mask_rank(value, 0);
	p->sync_left = STATE_PARTS;
	p->state = PROC_SYNC_STATE;
}

/* The last part of a state transfer is here, or failed. */
static void state_done(struct sim_proc *p)
{
	struct tally_hdr *cell;
	u64 state;

	if (p->rejoiner) {
		p->rejoiner = false;
		if (p->sync_failed) {
			sim_proc_kill(p, SIM_MS);
			return;
		}
		cell = sim_result_cell(p, p->state_seq, 0);
		state = tally_get_le64(*(__le64 *)(cell + 1));
		p->step = state >> 32;
		p->value = (u32)state;
		p->rejoins++;
	}
	sim_oracle_value(p);
	step_next(p);
}

static void complete(struct sim_proc *p, const struct tally_completion *done)
{
	bool reliable = tally_op_reliable(done->op,
		p->submit[done->seq % p->sim->scenario.window].flags);

	p->pending--;
	if (done->op != TALLY_OP_REJOIN)
		sim_oracle_complete(p, done);
	if (done->status && done->op != TALLY_OP_REJOIN)
		p->errors[reliable]++;
	if (done->op == TALLY_OP_REJOIN) {
		if (done->status) {
			proc_later(p, SIM_MS);
			return;
		}
		p->seq = done->state_seq;
		p->state_seq = done->state_seq;
		p->sync_root = done->root;
		p->sync_mask = done->mask_all;
		p->sync_left = STATE_PARTS;
		p->sync_failed = false;
		p->rejoiner = true;
		p->state = PROC_SYNC_STATE;
		return;
	}
	if (p->state == PROC_REJOIN)
		return;
	/* It went another way than the others: start again from their state. */
	if (done->status == -EBADMSG) {
		sim_proc_kill(p, SIM_MS);
		return;
	}
	if (done->status == -ESTALE || (done->status && !reliable)) {
		if (p->rejoiner)
			p->rejoiner = false;
		p->state = PROC_REJOIN;
		return;
	}
	if (p->state == PROC_SYNC_VOTE) {
		if (done->status)
			step_next(p);
		else
			vote_done(p, done);
		return;
	}
	if (p->state == PROC_SYNC_STATE) {
		if (done->status)
			p->sync_failed = true;
		if (!p->pending && !p->sync_left)
			state_done(p);
		return;
	}
	/* All must see it alike: a clique's RESULT is for the clique alone. */
	if (done->flags & TALLY_F_REJOIN &&
	    p->submit[done->seq % p->sim->scenario.window].participants ==
	    p->sim->members)
		p->rejoin_seen = true;
}

/* Go on as far as it goes. */
static void proc_go(struct sim_proc *p)
{
	const struct sim_scenario *s = &p->sim->scenario;
	struct tally_submit req;

	switch (p->state) {
	case PROC_RUN:
		if (p->again_at > p->sim->now)
			return;
		while (p->state == PROC_RUN && p->op < s->step_ops) {
			script_op(p, &req);
			req.seq = p->seq;
			if (!(tally_engine_ready(p->node->engine, p->rank) &
			      TALLY_READY_WRITE))
				return;
			proc_fill(p, &req);
			if (!proc_submit(p, &req))
				return;
			p->op++;
		}
		if (p->state == PROC_RUN && !p->pending)
			step_end(p);
		break;
	case PROC_SYNC_VOTE:
		if (p->sync_left)
			vote_submit(p);
		break;
	case PROC_SYNC_STATE:
		while (p->state == PROC_SYNC_STATE && p->sync_left) {
			u32 left = p->sync_left;

			state_submit(p);
			if (p->sync_left == left)
				break;
		}
		break;
	case PROC_REJOIN:
		if (!p->pending)
			proc_rejoin(p);
		break;
	default:
		break;
	}
}

void sim_proc_wake(struct sim_proc *p)
{
	struct tally_completion done;

	if (p->stopped || p->state == PROC_DEAD || p->sim->failed)
		return;
	while (tally_engine_fetch(p->node->engine, p->rank, 0, true, &done) ==
	       1) {
		complete(p, &done);
		if (p->state == PROC_DEAD)
			return;
	}
	proc_go(p);
}

static void resume(struct sim *sim, void *arg, u64 value)
{
	struct sim_proc *p = arg;

	p->stopped = false;
	sim_proc_wake(p);
}

void sim_proc_stop(struct sim_proc *p, u64 ns)
{
	if (p->stopped)
		return;
	p->stopped = true;
	sim_at(p->sim, p->sim->now + ns, resume, p, 0);
}

static void lag(struct sim *sim, void *arg, u64 seqs)
{
	struct sim_proc *p = arg;
	s32 behind = 0;
	u32 r;

	for (r = 0; r < sim->scenario.ranks; r++)
		behind = max(behind, tally_seq_diff(sim->proc[r].seq, p->seq));
	if (behind >= (s32)seqs || sim->calm)
		resume(sim, p, 0);
	else
		sim_at(sim, sim->now + 20 * SIM_US, lag, p, seqs);
}

void sim_proc_lag(struct sim_proc *p, u64 seqs)
{
	if (p->stopped)
		return;
	p->stopped = true;
	lag(p->sim, p, seqs);
}

/* One of those under way; another thread of the process does that. */
void sim_proc_cancel(struct sim_proc *p)
{
	u32 seq = p->seq - 1 - sim_pick(p->sim, p->pending);

	if (p->state != PROC_DEAD &&
	    !tally_engine_cancel(p->node->engine, p->rank, seq, p->sim->now))
		sim_oracle_cancel(p, seq);
}

static void proc_start(struct sim *sim, void *arg, u64 value)
{
	struct sim_proc *p = arg;
	bool stale;
	int err;

	if (p->node->dead)
		return;
	err = tally_engine_attach(p->node->engine, p->rank, p->tx, p->result,
				  &p->seq, &stale);
	if (err) {
		sim_fail(sim, "rank %u: ATTACH: %d", p->rank, err);
		return;
	}
	p->state = stale ? PROC_REJOIN : PROC_RUN;
	p->pending = 0;
	p->op = 0;
	p->rejoiner = false;
	p->sync_left = 0;
	p->blocked_ns = 0;
	p->rejoin_seen = false;
	sim_proc_wake(p);
}

void sim_proc_kill(struct sim_proc *p, u64 restart_ns)
{
	if (p->state == PROC_DEAD || p->state == PROC_FINISHED)
		return;
	sim_oracle_detach(p);
	tally_engine_detach(p->node->engine, p->rank, p->sim->now);
	p->state = PROC_DEAD;
	sim_at(p->sim, p->sim->now + restart_ns, proc_start, p, 0);
}

int sim_proc_init(struct sim *sim, u32 rank)
{
	const struct sim_scenario *s = &sim->scenario;
	size_t bytes = (sizeof(struct tally_hdr) + 8 * s->cell_words) *
		       s->shard_chunks * s->ranks * s->window;
	struct sim_proc *p = &sim->proc[rank];

	memset(p, 0, sizeof(*p));
	p->sim = sim;
	p->rank = rank;
	p->node = &sim->node[sim->node_of[rank]];
	p->state = PROC_DEAD;
	p->tx = calloc(1, bytes);
	p->result = calloc(1, bytes);
	if (!p->tx || !p->result)
		return -ENOMEM;
	/* Processes do not start at the same time. */
	sim_at(sim, s->compute_ns ? sim_random(sim) % s->compute_ns : 0,
	       proc_start, p, 0);
	return 0;
}
