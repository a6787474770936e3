// SPDX-License-Identifier: GPL-2.0-only
/* Counters, one set per processor. */
#include <linux/cpumask.h>
#include <linux/string.h>

#include "stats.h"

int tally_stats_init(struct tally_stats *stats)
{
	int cpu;

	stats->cpu = alloc_percpu_gfp(struct tally_stats_cpu,
				      GFP_KERNEL_ACCOUNT);
	if (!stats->cpu)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		u64_stats_init(&per_cpu_ptr(stats->cpu, cpu)->sync);
	return 0;
}

void tally_stats_free(struct tally_stats *stats)
{
	free_percpu(stats->cpu);
	stats->cpu = NULL;
}

/* Any context, so a 32-bit processor must not be interrupted half-way. */
static void stats_add(struct tally_stats_cpu *cpu, u64_stats_t *counter, u32 n)
{
	unsigned long flags;

	flags = u64_stats_update_begin_irqsave(&cpu->sync);
	u64_stats_add(counter, n);
	u64_stats_update_end_irqrestore(&cpu->sync, flags);
}

void tally_stats_count(struct tally_stats *stats, enum tally_count which,
		       u32 n)
{
	struct tally_stats_cpu *cpu = get_cpu_ptr(stats->cpu);

	stats_add(cpu, &cpu->count[which], n);
	put_cpu_ptr(stats->cpu);
}

void tally_stats_drop(struct tally_stats *stats, enum tally_drop reason)
{
	struct tally_stats_cpu *cpu = get_cpu_ptr(stats->cpu);

	stats_add(cpu, &cpu->drop[reason], 1);
	put_cpu_ptr(stats->cpu);
}

void tally_stats_read(const struct tally_stats *stats,
		      struct tally_stats_sum *sum)
{
	int cpu, i;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct tally_stats_cpu *from;
		struct tally_stats_sum one;
		unsigned int start;

		from = per_cpu_ptr(stats->cpu, cpu);
		do {
			start = u64_stats_fetch_begin(&from->sync);
			for (i = 0; i < __TALLY_COUNT_END; i++)
				one.count[i] = u64_stats_read(&from->count[i]);
			for (i = 0; i < __TALLY_DROP_END; i++)
				one.drop[i] = u64_stats_read(&from->drop[i]);
		} while (u64_stats_fetch_retry(&from->sync, start));
		for (i = 0; i < __TALLY_COUNT_END; i++)
			sum->count[i] += one.count[i];
		for (i = 0; i < __TALLY_DROP_END; i++)
			sum->drop[i] += one.drop[i];
	}
}
