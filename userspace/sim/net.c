// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* Links between nodes: every pair, each direction by itself. */
#include "sim.h"

struct sim_packet {
	u32			to;
	u32			words;	/* that were sent */
	struct tally_hdr	hdr;
	u8			payload[];
};

static void packet_arrive(struct sim *sim, void *arg, u64 value)
{
	struct sim_packet *packet = arg;

	if (!sim->node[packet->to].dead)
		sim_node_receive(&sim->node[packet->to], &packet->hdr,
				 packet->payload, packet->words);
	free(packet);
}

static void packet_flip(struct sim *sim, struct sim_packet *packet)
{
	u32 bytes = sizeof(packet->hdr) + 8 * packet->words;
	u32 bit = sim_pick(sim, 8 * bytes);
	u8 *raw = (u8 *)&packet->hdr;

	raw[bit / 8] ^= 1u << bit % 8;
}

static void packet_launch(struct sim *sim, u32 to, const struct tally_hdr *hdr,
			  const void *payload)
{
	const struct sim_link_config *link = &sim->scenario.link;
	u32 words = tally_get16(hdr->words);
	u64 delay = link->delay_ns;
	struct sim_packet *packet;

	/* Not a byte more: the sanitizer sees who reads past its end. */
	packet = malloc(sizeof(*packet) + 8 * words);
	if (!packet)
		abort();
	packet->to = to;
	packet->words = words;
	packet->hdr = *hdr;
	if (words)
		memcpy(packet->payload, payload, 8 * words);
	if (link->jitter_ns)
		delay += sim_random(sim) % link->jitter_ns;
	if (sim_chance(sim, link->tail_ppm))
		delay += sim_random(sim) % link->tail_ns;
	if (!sim->calm && sim_chance(sim, link->flip_ppm))
		packet_flip(sim, packet);
	sim_at(sim, sim->now + delay, packet_arrive, packet, 0);
}

/* Tagged as the host would; then lost, doubled, delayed. */
void sim_send(struct sim *sim, u32 from, u32 to, const struct tally_hdr *hdr,
	      const void *payload)
{
	const struct sim_link_config *link = &sim->scenario.link;

	sim->packets++;
	if (sim->cut[from] >> to & 1)
		return;
	if (!sim->calm && sim_chance(sim, link->loss_ppm))
		return;
	packet_launch(sim, to, hdr, payload);
	if (!sim->calm && sim_chance(sim, link->dup_ppm))
		packet_launch(sim, to, hdr, payload);
}

/* At the end of a run: free the packets that are still under way. */
void sim_drop_events(struct sim *sim)
{
	u32 i;

	for (i = 0; i < sim->n_events; i++) {
		if (sim->events[i].handler == packet_arrive)
			free(sim->events[i].arg);
	}
	sim->n_events = 0;
}
