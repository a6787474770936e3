// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * A member that holds the group's key and does not keep the rules: packets of
 * every type under its own rank with valid tags, some made from what it sent
 * and heard with a few fields changed, some sent beside its proper ones.
 *
 * It may say anything about its own contributions and shards, and pass on made
 * up copies of others' RESULTs: whoever shares the key can.  It cannot claim
 * another node's rank, for hosts compare source addresses.
 */
#include "sim.h"

#define MEMORY	64	/* packets it remembers */

struct sim_hostile {
	struct tally_hdr	heard[MEMORY];
	u32			at;
	u64			payload[TALLY_WORDS_MAX];
};

void sim_hostile_hear(struct sim *sim, const struct tally_hdr *hdr)
{
	struct sim_hostile *h = sim->hostile;

	/* A turned bit may have changed its length. */
	if (tally_get16(hdr->words) <= sim->scenario.cell_words)
		h->heard[h->at++ % MEMORY] = *hdr;
}

/* Mostly what is close to right, at times far from it. */
static u32 near(struct sim *sim, u32 x, u32 width)
{
	switch (sim_pick(sim, 8)) {
	case 0:
		return (u32)sim_random(sim);
	case 1:
		return x + (sim_pick(sim, 2) ? 1u << 31 : 1u << 30);
	default:
		return x + sim_pick(sim, 2 * width + 1) - width;
	}
}

static u64 some_mask(struct sim *sim, u64 mask)
{
	u64 r = sim_random(sim);

	switch (sim_pick(sim, 6)) {
	case 0:
		return 0;
	case 1:
		return ~0ull;
	case 2:
		return r;
	case 3:
		return r & sim->members;
	case 4:
		return sim->members;
	default:
		return mask ^ 1ull << r % SIM_RANKS;
	}
}

static void change_field(struct sim *sim, struct tally_hdr *hdr)
{
	const struct sim_scenario *s = &sim->scenario;
	u64 r = sim_random(sim);

	switch (sim_pick(sim, 15)) {
	case 0:
		hdr->type = r % (__TALLY_TYPE_END + 1);
		break;
	case 1:
		hdr->lane = r % (__TALLY_LANE_END + 1);
		break;
	case 2:
		hdr->flags = (u8)r;
		break;
	case 3:
	case 4:
		hdr->seq = tally_put32(near(sim, tally_get32(hdr->seq),
					    3 * s->window));
		break;
	case 5:
		hdr->chunk = tally_put32(near(sim, tally_get32(hdr->chunk),
					      s->shard_chunks));
		break;
	case 6:
		hdr->shard = tally_put16(near(sim, tally_get16(hdr->shard),
					      s->ranks));
		break;
	case 7:
		hdr->words = tally_put16(r % (s->cell_words + 2));
		break;
	case 8:
		hdr->exponent = (s8)r;
		break;
	case 9:
		hdr->incast = r % (__TALLY_ASK_END + 2);
		break;
	case 10:
		hdr->time = tally_put16(r);
		break;
	case 11:
		hdr->mask = tally_put64(some_mask(sim, tally_get64(hdr->mask)));
		break;
	case 12:
		hdr->bias = tally_put32(r);
		break;
	case 13:
		hdr->weight = tally_put32(sim_pick(sim, 2) ? r : 3);
		break;
	default:
		if (sim_pick(sim, 2))
			hdr->shape = tally_put32(r);
		else
			hdr->done = tally_put32(near(sim, tally_get32(hdr->seq),
						     2 * s->window));
	}
}

static void fill_payload(struct sim *sim, u64 *payload, u32 words)
{
	u32 style = sim_pick(sim, 3), i;

	for (i = 0; i < words; i++)
		payload[i] = style == 0 ? ~0ull : style == 1 ? 1ull :
			     sim_random(sim);
}

static void send_as(struct sim_node *node, u32 to, struct tally_hdr *hdr,
		    const void *payload)
{
	const struct tally_keys *keys = tally_engine_keys(node->engine);
	struct tally_scan scan = {};

	tally_scan_words(&scan, keys, 0, payload, tally_get16(hdr->words));
	hdr->tag = tally_tag(keys, hdr, scan.hash);
	sim_send(node->sim, node->index, to, hdr, payload);
}

/* Instead of the packet that the engine sent.  False: let it go as it is. */
bool sim_hostile_send(struct sim_node *node, u32 to,
		      const struct tally_hdr *hdr, const void *payload)
{
	struct sim *sim = node->sim;
	u32 words = tally_get16(hdr->words), i;
	u64 *mine = sim->hostile->payload;
	struct tally_hdr changed = *hdr;

	sim_hostile_hear(sim, hdr);
	if (sim->calm || !sim_chance(sim, 300000))
		return false;
	if (words)
		memcpy(mine, payload, 8 * words);
	if (words && sim_chance(sim, 300000))
		fill_payload(sim, mine, words);
	for (i = sim_pick(sim, 3); i; i--)
		change_field(sim, &changed);
	send_as(node, to, &changed, mine);
	return true;
}

/* A packet that nothing asked for. */
static void invent(struct sim *sim, void *arg, u64 value)
{
	struct sim_node *node = arg;
	struct sim_hostile *h = sim->hostile;
	struct tally_hdr hdr = h->heard[sim_pick(sim, MEMORY)];
	u32 i, ranks = tally_mask_count(node->engine->rule.local);

	if (sim->calm)
		return;
	sim_at(sim, sim->now + 1 + sim_random(sim) % (400 * SIM_US), invent,
	       node, 0);
	if (!hdr.version)
		return;
	hdr.rank = tally_put16(node->engine->member[sim_pick(sim, ranks)].rank);
	hdr.seq = tally_put32(near(sim, tally_engine_seq(node->engine),
				   2 * sim->scenario.window));
	if (sim_chance(sim, 500000)) {
		hdr.type = 1 + sim_pick(sim, __TALLY_TYPE_END - 1);
		hdr.incast = 1 + sim_pick(sim, __TALLY_ASK_END - 1);
		hdr.mask = tally_put64(sim->members);
		hdr.shard = tally_put16(sim_pick(sim, sim->scenario.ranks));
		hdr.words = tally_put16(sim_pick(sim,
					sim->scenario.cell_words + 1));
	}
	for (i = sim_pick(sim, 3); i; i--)
		change_field(sim, &hdr);
	fill_payload(sim, h->payload, tally_get16(hdr.words));
	for (i = 0; i < sim->nodes; i++) {
		if (i != node->index && sim_chance(sim, 400000))
			send_as(node, i, &hdr, h->payload);
	}
}

int sim_hostile_init(struct sim *sim)
{
	sim->hostile = calloc(1, sizeof(*sim->hostile));
	if (!sim->hostile)
		return -ENOMEM;
	sim_at(sim, 0, invent, &sim->node[sim->scenario.evil - 1], 0);
	return 0;
}
