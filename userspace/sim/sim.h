/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * A discrete-event simulator: engines of several nodes over virtual links, in
 * virtual time, the same run from the same seed.
 *
 *   event.c     time and the queue of what happens next
 *   net.c       links: delay, loss, duplication, partitions
 *   node.c      one engine and its host
 *   hostile.c   a member that does not keep the rules
 *   proc.c      one training process: submits, stops, dies, rejoins
 *   oracle.c    what must hold: the invariants, checked at every completion
 *   scenario.c  what a seed means
 */
#ifndef _TALLY_SIM_H
#define _TALLY_SIM_H

#include <stdio.h>
#include <unistd.h>

#include "port.h"
#include "engine.h"
#include "internal.h"

#define SIM_RANKS	64
#define SIM_US		1000ull
#define SIM_MS		(1000 * SIM_US)
#define SIM_S		(1000 * SIM_MS)

struct sim;

/* event.c */
typedef void (*sim_handler)(struct sim *sim, void *arg, u64 value);

struct sim_event {
	u64		at;
	u64		order;	/* ties: first scheduled, first run */
	sim_handler	handler;
	void		*arg;
	u64		value;
};

void sim_at(struct sim *sim, u64 at, sim_handler handler, void *arg, u64 value);
bool sim_next(struct sim *sim);
u64 sim_random(struct sim *sim);
/* A number below @n. */
u32 sim_pick(struct sim *sim, u32 n);
/* True with a chance of @ppm in a million. */
bool sim_chance(struct sim *sim, u32 ppm);

/* net.c */
struct sim_link_config {
	u64	delay_ns;	/* one way, the least */
	u64	jitter_ns;	/* up to so much more; above it packets overtake */
	u32	tail_ppm;	/* packets that take @tail_ns more */
	u64	tail_ns;
	u32	loss_ppm;
	u32	dup_ppm;
	u32	flip_ppm;	/* packets with one bit turned over */
};

void sim_drop_events(struct sim *sim);
void sim_send(struct sim *sim, u32 from, u32 to, const struct tally_hdr *hdr,
	      const void *payload);

/* node.c */
struct sim_node {
	struct sim		*sim;
	u32			index;
	struct tally_engine	*engine;
	bool			dead;
	bool			kicked;
	u64			timer_at;
	u32			queue_full_ppm;
	u64			drops[__TALLY_DROP_END];
	u64			counts[__TALLY_COUNT_END];
};

int sim_node_init(struct sim *sim, u32 index,
		  const struct tally_engine_config *config);
void sim_node_kick(struct sim_node *node);
/* @words: of payload that came; what @hdr says of it may be a lie. */
void sim_node_receive(struct sim_node *node, struct tally_hdr *hdr,
		      const void *payload, u32 words);
void sim_node_crash(struct sim_node *node);

/* hostile.c */
struct sim_hostile;

int sim_hostile_init(struct sim *sim);
void sim_hostile_hear(struct sim *sim, const struct tally_hdr *hdr);
bool sim_hostile_send(struct sim_node *node, u32 to,
		      const struct tally_hdr *hdr, const void *payload);

/* proc.c */
enum sim_proc_state {
	PROC_RUN,
	PROC_SYNC_VOTE,		/* somebody rejoins: who can give the state? */
	PROC_SYNC_STATE,	/* the state is broadcast */
	PROC_REJOIN,		/* waits for the state */
	PROC_FINISHED,
	PROC_DEAD,
};

#define SIM_STEP_OPS	8	/* most collectives of a training step */

struct sim_proc {
	struct sim		*sim;
	struct sim_node		*node;
	u32			rank;
	enum sim_proc_state	state;
	bool			stopped;
	u8			*tx;
	u8			*result;
	u32			seq;		/* next to submit */
	u32			step;
	u32			op;		/* next of the step */
	u32			pending;	/* submitted, not fetched */
	bool			rejoin_seen;
	u64			sync_mask;
	u32			sync_root;
	u32			value;		/* the state: what replicas share */
	u32			sync_left;	/* collectives of it to submit */
	bool			sync_failed;
	bool			rejoiner;	/* receives the state */
	u32			state_seq;
	u64			blocked_ns;	/* SUBMIT says EAGAIN since */
	u64			again_at;
	u32			rejoins;
	u32			errors[2];	/* bounded, reliable */
	struct tally_submit	submit[SIM_RANKS];	/* by seq mod W */
	u32			step_of[SIM_RANKS];
};

struct tally_hdr *sim_tx_cell(struct sim_proc *proc, u32 seq, u32 at);
struct tally_hdr *sim_result_cell(struct sim_proc *proc, u32 seq, u32 at);
void sim_layout(struct sim_proc *proc, const struct tally_submit *req,
		struct tally_layout *layout);

int sim_proc_init(struct sim *sim, u32 rank);
void sim_proc_wake(struct sim_proc *proc);
void sim_proc_stop(struct sim_proc *proc, u64 ns);
void sim_proc_kill(struct sim_proc *proc, u64 restart_ns);
/* Stop until another rank is @seqs collectives further. */
void sim_proc_lag(struct sim_proc *proc, u64 seqs);
void sim_proc_cancel(struct sim_proc *proc);

/* oracle.c */
struct sim_oracle;

int sim_oracle_init(struct sim *sim);
void sim_oracle_free(struct sim *sim);
void sim_oracle_submit(struct sim_proc *proc, const struct tally_submit *req);
void sim_oracle_complete(struct sim_proc *proc,
			 const struct tally_completion *done);
void sim_oracle_stale(struct sim *sim, u32 rank, u32 seq);
void sim_oracle_cancel(struct sim_proc *proc, u32 seq);
void sim_oracle_detach(struct sim_proc *proc);
void sim_oracle_step(struct sim_proc *proc);
void sim_oracle_value(struct sim_proc *proc);
void sim_oracle_end(struct sim *sim);
bool sim_oracle_any_stale(const struct sim *sim);
void sim_fail(struct sim *sim, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* scenario.c */
struct sim_scenario {
	u32			ranks;
	u32			per_node;	/* ranks on one node */
	u32			window;
	u32			cell_words;
	u32			shard_chunks;
	u32			steps;
	u32			step_ops;
	u32			ops;		/* mask of 1 << enum tally_op */
	u32			lanes;		/* mask of 1 << enum tally_lane */
	u32			reliable_ppm;	/* all_reduce, reduce_scatter */
	u32			clique_ppm;	/* collectives of some ranks only */
	u32			apart_ppm;	/* of all but one node's ranks */
	u32			uneven_ppm;	/* blocks with another exponent */
	u32			zero_ppm;
	u32			nonfinite_ppm;
	u32			weight;		/* of a contribution */
	u32			cell_weights;	/* and of a block, below this */
	u32			bound_us;
	u32			settle_us;
	u32			timeout_us;
	u64			compute_ns;	/* between steps, up to */
	u32			queue_full_ppm;
	struct sim_link_config	link;
	u32			stops;		/* processes stopped for a while */
	u32			kills;		/* processes killed and started again */
	bool			together;	/* with all ranks of their node */
	u32			lags;		/* processes that fall behind */
	u32			cancels;	/* collectives given up under way */
	u32			crashes;	/* nodes that die */
	u32			partitions;	/* one direction of one pair, a while */
	u32			deaf;		/* nodes that cannot send, a while */
	u32			evil;	/* number of the hostile node + 1 */
	bool			keyed;
	u32			caps;		/* most leaves of a member, log2 */
	u32			seq;		/* first seq; near the wrap at times */
	u32			age;		/* collectives before that one */
};

void sim_scenario_random(struct sim *sim, const char *kind);

struct sim {
	u64			now;
	u64			order;
	u64			rng;
	u64			seed;
	u64			end;
	struct sim_event	*events;
	u32			n_events;
	u32			max_events;
	u64			handled;
	u64			packets;

	struct sim_scenario	scenario;
	u32			nodes;
	u64			members;
	u8			node_of[SIM_RANKS];
	u64			cut[SIM_RANKS];	/* by sender: nodes not reached */
	bool			calm;		/* no more faults: let all settle */
	u64			crashed;	/* ranks whose node died */
	struct sim_node		node[SIM_RANKS];
	struct sim_proc		proc[SIM_RANKS];
	struct sim_oracle	*oracle;
	struct sim_hostile	*hostile;

	bool			failed;
	bool			verbose;
	char			why[512];
	char			detail[128];
};

/* Run one seed of a kind of scenario.  False if an invariant broke. */
bool sim_run(struct sim *sim, const char *kind, u64 seed, bool verbose);

#endif
