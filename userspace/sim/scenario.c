// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* What a seed means: sizes, links, faults; and the run itself. */
#include "sim.h"

#define ALL_LANES	(1u << TALLY_LANE_I32 | 1u << TALLY_LANE_I16 | \
			 1u << TALLY_LANE_I8 | 1u << TALLY_LANE_W64)
#define SUMS		(1u << TALLY_OP_ALL_REDUCE | \
			 1u << TALLY_OP_REDUCE_SCATTER)
#define ALL_OPS		(SUMS | 1u << TALLY_OP_ALL_GATHER | \
			 1u << TALLY_OP_BROADCAST | 1u << TALLY_OP_BARRIER)

static void scenario_base(struct sim *sim)
{
	static const u32 words[] = { 8, 16, 24, 40 };
	struct sim_scenario *s = &sim->scenario;

	memset(s, 0, sizeof(*s));
	s->ranks = 1 + sim_pick(sim, 8);
	s->per_node = sim_chance(sim, 300000) ? 1 + sim_pick(sim, 3) : 1;
	s->window = sim_chance(sim, 800000) ? 4 : 8;
	s->cell_words = words[sim_pick(sim, 4)];
	s->shard_chunks = 1 + sim_pick(sim, 64 / s->ranks);
	s->steps = 4 + sim_pick(sim, 12);
	s->step_ops = 1 + sim_pick(sim, SIM_STEP_OPS);
	s->ops = ALL_OPS;
	s->lanes = ALL_LANES;
	s->reliable_ppm = 1000000;
	s->clique_ppm = 200000;
	s->zero_ppm = 50000;
	s->nonfinite_ppm = 10000;
	s->weight = 1;
	s->cell_weights = 3;
	s->bound_us = 3000 + sim_pick(sim, 20000);
	s->settle_us = 10000;
	s->timeout_us = 3000000;
	s->compute_ns = sim_pick(sim, 4) * SIM_MS;
	s->link.delay_ns = 20 * SIM_US + sim_pick(sim, 200) * SIM_US;
	s->link.jitter_ns = sim_pick(sim, 300) * SIM_US;
	s->keyed = sim_chance(sim, 300000);
	s->caps = sim_chance(sim, 150000) ? 1 + sim_pick(sim, 2) : 0;
	s->seq = sim_chance(sim, 200000) ? 0u - sim_pick(sim, 20) : 0;
	if (sim_chance(sim, 100000))
		s->age = (u32)sim_random(sim) | 1u << 31;
	/* Eight members of up to four leaves leave i8 too few bits. */
	if (s->caps)
		s->lanes &= ~(1u << TALLY_LANE_I8);
	if (s->per_node > s->ranks)
		s->per_node = s->ranks;
}

static void scenario_lossy(struct sim *sim)
{
	struct sim_scenario *s = &sim->scenario;

	s->uneven_ppm = sim_chance(sim, 500000) ? 100000 : 0;
	s->queue_full_ppm = sim_chance(sim, 300000) ? 20000 : 0;
	s->link.loss_ppm = sim_pick(sim, 100000);
	s->link.dup_ppm = sim_pick(sim, 50000);
	s->link.flip_ppm = sim_chance(sim, 300000) ? 10000 : 0;
	s->link.tail_ppm = sim_pick(sim, 20000);
	s->link.tail_ns = (1 + sim_pick(sim, 30)) * SIM_MS;
}

/* Groups of one, two and 64; long shards.  What fits into memory and time. */
static void edges_size(struct sim *sim)
{
	struct sim_scenario *s = &sim->scenario;

	switch (sim_pick(sim, 8)) {
	case 0:
	case 1:
	case 2:
		s->ranks = 1 + sim_pick(sim, 2);
		break;
	case 3:
		s->ranks = 9 + sim_pick(sim, SIM_RANKS - 8);
		s->shard_chunks = 1 + sim_pick(sim, 2);
		s->cell_words = 8;
		break;
	case 4:
		s->ranks = 1 + sim_pick(sim, 4);
		s->shard_chunks = 100 + sim_pick(sim, 400);
		s->cell_words = 8;
		break;
	}
	/* That many leave i8 too few bits. */
	if (s->ranks > 1u << (8 - TALLY_LANE_BITS_MIN))
		s->lanes &= ~(1u << TALLY_LANE_I8);
	s->per_node = min(s->ranks, 1 + sim_pick(sim, 4));
	s->window = sim_chance(sim, 500000) ? 8 : 16;
	if (s->ranks * s->shard_chunks > 64)
		s->steps = 3;
}

static void scenario_edges(struct sim *sim)
{
	struct sim_scenario *s = &sim->scenario;

	s->reliable_ppm = sim_pick(sim, 3) * 500000;
	if (!s->reliable_ppm)
		s->ops = SUMS;
	edges_size(sim);
	if (sim_chance(sim, 300000))
		s->seq = (1u << 31) - sim_pick(sim, 40);
	if (sim_chance(sim, 300000))
		s->clique_ppm = 1000000;
	s->apart_ppm = sim_pick(sim, 3) * 400000;
	if (sim_chance(sim, 500000)) {
		s->cell_weights = 1 + sim_pick(sim, TALLY_WEIGHT_MAX);
		s->weight = TALLY_WEIGHT_MAX + 1 - s->cell_weights;
	}
	if (sim_chance(sim, 500000))
		s->link.loss_ppm = 0;
	if (sim_chance(sim, 300000))
		s->link.delay_ns = 1000ull * (sim_pick(sim, 2) ? s->bound_us :
					      s->settle_us) +
				   sim_pick(sim, 10) * SIM_MS;
	if (sim_chance(sim, 400000))
		s->cancels = 1 + sim_pick(sim, 4);
	if (sim_chance(sim, 400000)) {
		s->stops = sim_pick(sim, 3);
		s->kills = sim_pick(sim, 2);
		s->together = true;
	}
	/* Who is to fall behind by so much needs somebody who goes on. */
	if (!s->reliable_ppm && sim_chance(sim, 500000)) {
		s->lags = 1 + sim_pick(sim, 3);
		s->step_ops = SIM_STEP_OPS;
		s->steps = 8;
	}
}

/*
 * Kinds: clean and lossy (reliable collectives), bounded, mixed (both: who is
 * slow may become STALE, and what is reliable may then fail), hostile (one
 * node's packets are made up), stop (processes stopped and killed), crash
 * (nodes die), split (one-way partitions and nodes that cannot send), edges
 * (sizes, delays, seqs and weights at their limits; processes late by a window;
 * nodes whose processes are stopped and killed together; CANCEL).
 */
void sim_scenario_random(struct sim *sim, const char *kind)
{
	struct sim_scenario *s = &sim->scenario;

	scenario_base(sim);
	if (!strcmp(kind, "clean"))
		return;
	scenario_lossy(sim);
	if (!strcmp(kind, "lossy"))
		return;
	if (!strcmp(kind, "mixed")) {
		s->reliable_ppm = 400000;
		return;
	}
	if (!strcmp(kind, "edges")) {
		scenario_edges(sim);
		return;
	}
	if (!strcmp(kind, "hostile")) {
		s->reliable_ppm = sim_pick(sim, 3) * 300000;
		if (sim_chance(sim, 500000))
			s->ops = SUMS;
		s->ranks = max(s->ranks, 3u);
		s->shard_chunks = 1 + sim_pick(sim, 64 / s->ranks);
		s->per_node = sim_chance(sim, 300000) ? 2 : 1;
		s->timeout_us = 500000;
		s->steps = 10;
		s->evil = 1 + sim_pick(sim, DIV_ROUND_UP(s->ranks,
							 s->per_node));
		return;
	}
	/* A reliable collective does not survive a member's death. */
	s->ops = SUMS;
	s->reliable_ppm = 0;
	if (!strcmp(kind, "bounded"))
		return;
	if (s->ranks < 3)
		s->ranks += 2;
	s->per_node = sim_chance(sim, 200000) ? 2 : 1;
	s->shard_chunks = 1 + sim_pick(sim, 64 / s->ranks);
	s->steps = 20 + sim_pick(sim, 20);
	s->link.loss_ppm /= 4;
	s->timeout_us = 2000000;
	s->compute_ns = (1 + sim_pick(sim, 4)) * SIM_MS;
	if (!strcmp(kind, "stop")) {
		s->stops = 1 + sim_pick(sim, 3);
		s->kills = sim_pick(sim, 2);
	} else if (!strcmp(kind, "crash")) {
		s->crashes = 1 + sim_pick(sim, 2);
		s->stops = sim_pick(sim, 2);
	} else {
		s->partitions = sim_pick(sim, 3);
		s->deaf = 1;
	}
}

typedef void (*proc_fault)(struct sim_proc *p, u64 value);

/* A process, perhaps with all others of its node. */
static void strike(struct sim_proc *p, proc_fault fault, u64 value)
{
	struct sim *sim = p->sim;
	u32 r;

	for (r = 0; r < sim->scenario.ranks; r++) {
		if (r == p->rank || (sim->scenario.together &&
				     sim->node_of[r] == p->node->index))
			fault(&sim->proc[r], value);
	}
}

static void do_stop(struct sim *sim, void *arg, u64 ns)
{
	strike(arg, sim_proc_stop, ns);
}

static void do_kill(struct sim *sim, void *arg, u64 ns)
{
	strike(arg, sim_proc_kill, ns);
}

static void do_lag(struct sim *sim, void *arg, u64 seqs)
{
	strike(arg, sim_proc_lag, seqs);
}

static void do_cancel(struct sim *sim, void *arg, u64 value)
{
	sim_proc_cancel(arg);
}

static void do_crash(struct sim *sim, void *arg, u64 value)
{
	sim_node_crash(arg);
}

static void do_cut(struct sim *sim, void *arg, u64 to)
{
	struct sim_node *node = arg;

	sim->cut[node->index] |= to;
}

static void do_heal(struct sim *sim, void *arg, u64 to)
{
	struct sim_node *node = arg;

	sim->cut[node->index] &= ~to;
}

static void do_calm(struct sim *sim, void *arg, u64 value)
{
	sim->calm = true;
	memset(sim->cut, 0, sizeof(sim->cut));
}

static void cut_for_a_while(struct sim *sim, u32 from, u64 to)
{
	u64 at = sim_random(sim) % (300 * SIM_MS);

	sim_at(sim, at, do_cut, &sim->node[from], to);
	sim_at(sim, at + sim_random(sim) % (500 * SIM_MS), do_heal,
	       &sim->node[from], to);
}

static void plan_faults(struct sim *sim)
{
	const struct sim_scenario *s = &sim->scenario;
	u32 i;

	for (i = 0; i < s->stops; i++)
		sim_at(sim, sim_random(sim) % (200 * SIM_MS), do_stop,
		       &sim->proc[sim_pick(sim, s->ranks)],
		       sim_random(sim) % (400 * SIM_MS));
	for (i = 0; i < s->kills; i++)
		sim_at(sim, sim_random(sim) % (200 * SIM_MS), do_kill,
		       &sim->proc[sim_pick(sim, s->ranks)],
		       sim_random(sim) % (200 * SIM_MS));
	for (i = 0; i < s->lags; i++)
		sim_at(sim, sim_random(sim) % (100 * SIM_MS), do_lag,
		       &sim->proc[sim_pick(sim, s->ranks)],
		       (const u32[]){ s->window, s->window + 1,
				      2 * s->window }[sim_pick(sim, 3)]);
	for (i = 0; i < s->cancels; i++)
		sim_at(sim, sim_random(sim) % (100 * SIM_MS), do_cancel,
		       &sim->proc[sim_pick(sim, s->ranks)], 0);
	for (i = 0; i < s->crashes; i++)
		sim_at(sim, sim_random(sim) % (300 * SIM_MS), do_crash,
		       &sim->node[sim_pick(sim, sim->nodes)], 0);
	for (i = 0; i < s->partitions; i++)
		cut_for_a_while(sim, sim_pick(sim, sim->nodes),
				1ull << sim_pick(sim, sim->nodes));
	for (i = 0; i < s->deaf; i++)
		cut_for_a_while(sim, sim_pick(sim, sim->nodes), ~0ull);
}

/*
 * As if @age collectives without a fault lay behind: what an engine keeps of
 * its first ones must not seem to lie ahead once they are 2^31 away.
 */
static void engine_age(struct tally_engine *e, u32 from, u32 age)
{
	struct tally_member *m;
	u32 r, at;

	for (at = 0; at < age; ) {
		at += min(age - at, 1u << 27);
		for (r = 0; r < SIM_RANKS; r++)
			e->peer[r].done = from + at;
		tally_for_each_member(e, m) {
			m->next = from + at;
			m->done = m->next;
			m->base = m->next;
			tally_marks_follow(e, m);
		}
	}
}

static bool sim_build(struct sim *sim)
{
	static const u8 key[TALLY_KEY_BYTES] = "a group's secret";
	const struct sim_scenario *s = &sim->scenario;
	struct tally_engine_config config = {
		.group = 7, .epoch = 3,
		.window = s->window,
		.cell_words = s->cell_words,
		.shard_chunks = s->shard_chunks,
		.seq = s->seq - s->age,
		.bound_us = s->bound_us,
		.bound_max_us = 60 * 1000 * 1000,
		.settle_us = s->settle_us,
		.timeout_us = s->timeout_us,
		.key = s->keyed ? key : NULL,
	};
	u32 r, n;

	sim->nodes = DIV_ROUND_UP(s->ranks, s->per_node);
	sim->members = s->ranks == 64 ? ~0ull : (1ull << s->ranks) - 1;
	config.members = sim->members;
	config.nodes = sim->nodes;
	for (r = 0; r < s->ranks; r++) {
		sim->node_of[r] = r / s->per_node;
		config.node[r] = sim->node_of[r];
		config.caps[r] = s->caps ? sim_pick(sim, s->caps + 1) : 0;
	}
	for (n = 0; n < sim->nodes; n++) {
		config.self = n;
		if (sim_node_init(sim, n, &config))
			return false;
		engine_age(sim->node[n].engine, config.seq, s->age);
	}
	if (sim_oracle_init(sim) || (s->evil && sim_hostile_init(sim)))
		return false;
	for (r = 0; r < s->ranks; r++) {
		if (sim_proc_init(sim, r))
			return false;
	}
	return true;
}

static void sim_destroy(struct sim *sim)
{
	u32 i;

	for (i = 0; i < sim->nodes; i++)
		tally_engine_destroy(sim->node[i].engine);
	for (i = 0; i < sim->scenario.ranks; i++) {
		free(sim->proc[i].tx);
		free(sim->proc[i].result);
	}
	sim_oracle_free(sim);
	free(sim->hostile);
	/* Packets that were under way are events' arguments. */
	sim_drop_events(sim);
	free(sim->events);
}

static bool finished(struct sim *sim)
{
	u32 r;

	for (r = 0; r < sim->scenario.ranks; r++) {
		if (!(sim->crashed >> r & 1) &&
		    sim->proc[r].state != PROC_FINISHED)
			return false;
	}
	return true;
}

/* Somebody always gets through when all that went wrong is over. */
static void check_end(struct sim *sim)
{
	const struct sim_scenario *s = &sim->scenario;
	u32 r;

	sim_oracle_end(sim);
	if (sim->failed || s->crashes || s->partitions || s->deaf ||
	    s->kills || s->evil)
		return;
	/* With a STALE rank each reliable collective takes its timeout. */
	if (s->reliable_ppm && sim_oracle_any_stale(sim))
		return;
	for (r = 0; r < s->ranks; r++) {
		if (sim->proc[r].state != PROC_FINISHED &&
		    sim->proc[r].state != PROC_REJOIN)
			sim_fail(sim, "rank %u got stuck in step %u op %u (state %d)",
				 r, sim->proc[r].step, sim->proc[r].op,
				 sim->proc[r].state);
	}
}

bool sim_run(struct sim *sim, const char *kind, u64 seed, bool verbose)
{
	u64 limit = 60 * SIM_S, most;

	memset(sim, 0, sizeof(*sim));
	sim->seed = seed;
	sim->rng = seed * 0x2545f4914f6cdd1dull + 1;
	sim->verbose = verbose;
	sim_scenario_random(sim, kind);
	/* Every rank hears of every other: the traffic grows by the square. */
	most = sim->scenario.ranks > 8 ? 20 * 1000 * 1000 : 5 * 1000 * 1000;
	if (!sim_build(sim)) {
		sim_fail(sim, "no memory");
	} else {
		plan_faults(sim);
		sim_at(sim, 1 * SIM_S, do_calm, NULL, 0);
		while (!sim->failed && sim->now < limit && !finished(sim) &&
		       sim->handled < most && sim_next(sim))
			;
		/* Let notices arrive and what is open end. */
		limit = sim->now + 5 * SIM_S;
		most += sim->handled;
		while (!sim->failed && sim->now < limit &&
		       sim->handled < most && sim_next(sim))
			;
		if (sim->handled >= most)
			sim_fail(sim, "never comes to rest");
		check_end(sim);
	}
	sim_destroy(sim);
	return !sim->failed;
}
