// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* Virtual time: a binary heap of events, and the only source of chance. */
#include "sim.h"

static bool earlier(const struct sim_event *a, const struct sim_event *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

void sim_at(struct sim *sim, u64 at, sim_handler handler, void *arg, u64 value)
{
	struct sim_event event = {
		.at = max(at, sim->now), .order = sim->order++,
		.handler = handler, .arg = arg, .value = value,
	};
	u32 i;

	if (sim->n_events == sim->max_events) {
		sim->max_events = sim->max_events ? 2 * sim->max_events : 1024;
		sim->events = realloc(sim->events, sim->max_events *
				      sizeof(*sim->events));
		if (!sim->events)
			abort();
	}
	i = sim->n_events++;
	while (i && earlier(&event, &sim->events[(i - 1) / 2])) {
		sim->events[i] = sim->events[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	sim->events[i] = event;
}

/* Let the next thing happen.  False if nothing is left to. */
bool sim_next(struct sim *sim)
{
	struct sim_event first, last;
	u32 i = 0, child;

	if (!sim->n_events)
		return false;
	first = sim->events[0];
	last = sim->events[--sim->n_events];
	while ((child = 2 * i + 1) < sim->n_events) {
		if (child + 1 < sim->n_events &&
		    earlier(&sim->events[child + 1], &sim->events[child]))
			child++;
		if (!earlier(&sim->events[child], &last))
			break;
		sim->events[i] = sim->events[child];
		i = child;
	}
	sim->events[i] = last;
	sim->now = first.at;
	sim->handled++;
	first.handler(sim, first.arg, first.value);
	return true;
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
u64 sim_random(struct sim *sim)
{
	u64 z = sim->rng += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

u32 sim_pick(struct sim *sim, u32 n)
{
	return n ? (u32)(sim_random(sim) % n) : 0;
}

bool sim_chance(struct sim *sim, u32 ppm)
{
	return ppm && sim_pick(sim, 1000000) < ppm;
}
