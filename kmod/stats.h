/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters: what happened, and what was dropped why. */
#ifndef _TALLY_STATS_H
#define _TALLY_STATS_H

#include <linux/percpu.h>
#include <linux/tally.h>
#include <linux/types.h>
#include <linux/u64_stats_sync.h>
#include <tally/drops.h>

struct tally_stats_cpu {
	u64_stats_t		count[__TALLY_COUNT_END];
	u64_stats_t		drop[__TALLY_DROP_END];
	struct u64_stats_sync	sync;
};

/**
 * struct tally_stats - counters of a group, or of packets of no group
 * @cpu: written by any context, on its own processor
 */
struct tally_stats {
	struct tally_stats_cpu __percpu	*cpu;
};

/**
 * struct tally_stats_sum - all processors' counters added up
 * @count: by enum tally_count
 * @drop: by enum tally_drop
 */
struct tally_stats_sum {
	u64	count[__TALLY_COUNT_END];
	u64	drop[__TALLY_DROP_END];
};

int tally_stats_init(struct tally_stats *stats);
void tally_stats_free(struct tally_stats *stats);
void tally_stats_count(struct tally_stats *stats, enum tally_count which,
		       u32 n);
void tally_stats_drop(struct tally_stats *stats, enum tally_drop reason);
void tally_stats_read(const struct tally_stats *stats,
		      struct tally_stats_sum *sum);

#endif
