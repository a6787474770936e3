// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * tally_seeds - run the engine under many seeds, print TAP.
 *
 *   tally_seeds [-v] [-k KIND]... [-n SEEDS] [-s FIRST]
 */
#include <getopt.h>

#include "sim.h"

static const char * const kinds[] = {
	"clean", "lossy", "bounded", "mixed", "hostile", "stop", "crash", "split",
	"edges",
};

struct totals {
	u64	seeds;
	u64	events;
	u64	packets;
	u64	voids;
	u64	rejoins;
	u64	repairs;
};

static void totals_add(struct totals *t, const struct sim *sim)
{
	u32 i;

	t->seeds++;
	t->events += sim->handled;
	t->packets += sim->packets;
	for (i = 0; i < sim->nodes; i++) {
		t->voids += sim->node[i].counts[TALLY_COUNT_VOIDS];
		t->repairs += sim->node[i].counts[TALLY_COUNT_NACKS_SERVED];
	}
	for (i = 0; i < sim->scenario.ranks; i++)
		t->rejoins += sim->proc[i].rejoins;
}

static bool run_kind(const char *kind, u64 first, u64 n, bool verbose)
{
	static struct sim sim;
	struct totals t = {};
	u32 failed = 0;
	u64 seed;

	for (seed = first; seed < first + n; seed++) {
		if (!sim_run(&sim, kind, seed, verbose)) {
			printf("# %s seed %llu at %.3f ms: %s\n", kind, seed,
			       sim.now / 1e6, sim.why);
			printf("# again: tally_seeds -v -k %s -s %llu -n 1\n",
			       kind, seed);
			if (++failed == 5)
				break;
		}
		totals_add(&t, &sim);
		if (isatty(2) && seed % 16 == 0)
			fprintf(stderr, "\r%s: %llu of %llu seeds ", kind,
				seed - first, n);
	}
	printf("# %s: %llu seeds, %llu events, %llu packets, %llu repairs, %llu voids, %llu rejoins\n",
	       kind, t.seeds, t.events, t.packets, t.repairs, t.voids,
	       t.rejoins);
	return !failed;
}

int main(int argc, char **argv)
{
	bool wanted[ARRAY_SIZE(kinds)] = {}, any = false;
	bool verbose = false, good, all = true;
	u64 first = 1, n = 300;
	u32 i, k = 0;
	int c;

	while ((c = getopt(argc, argv, "vk:n:s:")) != -1) {
		switch (c) {
		case 'v':
			verbose = true;
			break;
		case 'k':
			for (i = 0; i < ARRAY_SIZE(kinds); i++) {
				if (!strcmp(optarg, kinds[i]))
					any = wanted[i] = true;
			}
			if (!any) {
				fprintf(stderr, "%s: no kind '%s'\n", argv[0],
					optarg);
				return 2;
			}
			break;
		case 'n':
			n = strtoull(optarg, NULL, 0);
			break;
		case 's':
			first = strtoull(optarg, NULL, 0);
			break;
		default:
			fprintf(stderr, "usage: %s [-v] [-k KIND]... [-n SEEDS] [-s FIRST]\n",
				argv[0]);
			return 2;
		}
	}
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (any && !wanted[i])
			continue;
		good = run_kind(kinds[i], first, n, verbose);
		printf("%sok %u - invariants hold, %s\n", good ? "" : "not ",
		       ++k, kinds[i]);
		all &= good;
	}
	printf("1..%u\n", k);
	return all && k ? 0 : 1;
}
