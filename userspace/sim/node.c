// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* One node: its engine, and the host that the engine is written for. */
#include "sim.h"

static int node_send(void *host, u32 to, const struct tally_hdr *hdr,
		     const void *payload)
{
	struct sim_node *node = host;
	const struct tally_keys *keys = tally_engine_keys(node->engine);
	struct tally_scan scan = {};
	struct tally_hdr tagged = *hdr;

	if (!node->sim->calm &&
	    sim_chance(node->sim, node->queue_full_ppm))
		return -EAGAIN;
	if (to == node->index || to >= node->sim->nodes)
		sim_fail(node->sim, "node %u sends to node %u", node->index,
			 to);
	if (node->index + 1 == node->sim->scenario.evil &&
	    sim_hostile_send(node, to, hdr, payload))
		return 0;
	tally_scan_words(&scan, keys, 0, payload, tally_get16(hdr->words));
	tagged.tag = tally_tag(keys, &tagged, scan.hash);
	sim_send(node->sim, node->index, to, &tagged, payload);
	return 0;
}

static void node_flush(void *host)
{
}

static void node_run(struct sim *sim, void *arg, u64 value)
{
	struct sim_node *node = arg;
	u64 next;

	/* A timer that an earlier one has overtaken. */
	if (node->dead || (value && value != node->timer_at))
		return;
	node->kicked = false;
	node->timer_at = 0;
	next = tally_engine_run(node->engine, sim->now);
	if (next == TALLY_NEVER)
		return;
	/* Running takes time: nothing spins at one instant. */
	next = max(next, sim->now + SIM_US);
	node->timer_at = next;
	sim_at(sim, next, node_run, node, next);
}

static void node_kick(void *host)
{
	struct sim_node *node = host;

	if (node->kicked || node->dead)
		return;
	node->kicked = true;
	sim_at(node->sim, node->sim->now + SIM_US, node_run, node, 0);
}

void sim_node_kick(struct sim_node *node)
{
	node_kick(node);
}

static void wake(struct sim *sim, void *arg, u64 value)
{
	sim_proc_wake(arg);
}

static void node_wake(void *host, u32 rank)
{
	struct sim_node *node = host;

	sim_at(node->sim, node->sim->now + SIM_US, wake,
	       &node->sim->proc[rank], 0);
}

static void node_count(void *host, enum tally_count which, u32 n)
{
	struct sim_node *node = host;

	node->counts[which] += n;
}

static void node_event(void *host, const struct tally_event *event)
{
	static const char * const names[] = {
		"submit", "close", "nack", "decide", "complete", "stale",
		"rejoined", "abort",
	};
	struct sim_node *node = host;

	if (node->sim->verbose)
		printf("# %9.3f ms node %u %s rank %u seq %u shard %u chunk %u mask %llx status %d\n",
		       node->sim->now / 1e6, node->index, names[event->kind],
		       event->rank, event->seq, event->shard, event->chunk,
		       event->mask, event->status);
	if (event->kind == TALLY_TRACE_STALE)
		sim_oracle_stale(node->sim, event->rank, event->seq);
}

static const struct tally_engine_ops node_ops = {
	.send = node_send,
	.flush = node_flush,
	.kick = node_kick,
	.wake = node_wake,
	.count = node_count,
	.event = node_event,
};

int sim_node_init(struct sim *sim, u32 index,
		  const struct tally_engine_config *config)
{
	struct sim_node *node = &sim->node[index];

	memset(node, 0, sizeof(*node));
	node->sim = sim;
	node->index = index;
	node->queue_full_ppm = sim->scenario.queue_full_ppm;
	node->engine = tally_engine_create(config, &node_ops, node);
	return node->engine ? 0 : -ENOMEM;
}

/* As a host would: by type, payload cut into pieces at times. */
void sim_node_receive(struct sim_node *node, struct tally_hdr *hdr,
		      const void *payload, u32 words)
{
	struct tally_payload parts = {
		.part = { payload }, .words = { words },
		.parts = words ? 1 : 0, .total = words,
	};
	struct sim *sim = node->sim;
	enum tally_drop why;
	u32 cut;

	if (node->index + 1 == sim->scenario.evil)
		sim_hostile_hear(sim, hdr);
	if (words > 1 && sim_chance(sim, 250000)) {
		cut = 1 + sim_pick(sim, words - 1);
		parts.part[1] = (const u8 *)payload + 8 * cut;
		parts.words[0] = cut;
		parts.words[1] = words - cut;
		parts.parts = 2;
	}
	switch (hdr->type) {
	case TALLY_CONTRIB:
		why = tally_engine_contrib(node->engine, hdr, &parts, sim->now);
		break;
	case TALLY_RESULT:
		why = tally_engine_result(node->engine, hdr, &parts, sim->now);
		break;
	default:
		why = tally_engine_check(node->engine, hdr, &parts);
		if (!why)
			why = tally_engine_control(node->engine, hdr, payload,
						   sim->now);
	}
	if (why)
		node->drops[why]++;
}

/* The machine is gone: no packet, no timer, no process. */
void sim_node_crash(struct sim_node *node)
{
	struct sim *sim = node->sim;
	u32 rank;

	node->dead = true;
	for (rank = 0; rank < sim->scenario.ranks; rank++) {
		if (sim->node_of[rank] == node->index) {
			sim->proc[rank].state = PROC_DEAD;
			sim->crashed |= 1ull << rank;
		}
	}
}
