/* SPDX-License-Identifier: GPL-2.0-only */
/* A group that is up: the engine's home in the kernel. */
#ifndef _TALLY_HOST_H
#define _TALLY_HOST_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/skbuff.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include "address.h"
#include "engine/engine.h"
#include "stats.h"

struct tally_file;
struct tally_net;
struct tally_outbox;
struct tally_port;

/**
 * struct tally_host - one group of one namespace, from up to down
 * @refs: the group and each attached file
 * @ns: namespace's object; a reference
 * @stats: the group's, which stays for as long as packets or the engine count
 * @engine: from up until no context is left that could call it
 * @config: what the engine was made from; constant
 * @self: where this node receives; constant
 * @member: by rank: where members receive; constant
 * @node: by node: the same; constant
 * @gid: who may attach; set at any time
 * @bound_us: bound of a collective that asks for none; set at any time
 * @timeout_us: likewise
 * @bytes: charged to the namespace
 * @port: where packets arrive
 * @sem: read: process context of the engine; write: death
 * @mutex: engine context; inside @sem
 * @dead: set once, under both
 * @files: by rank: attached files; under @mutex
 * @control: packets for engine context
 * @outbox: packets from it
 * @work: engine context that nobody asked for
 * @timer: queues @work when the engine wants to run
 */
struct tally_host {
	refcount_t			refs;
	struct tally_net		*ns;
	struct tally_stats		*stats;
	struct tally_engine		*engine;
	struct tally_engine_config	config;
	struct tally_address		self;
	struct tally_address		member[TALLY_RANKS_MAX];
	struct tally_address		node[TALLY_RANKS_MAX];
	kgid_t				gid;
	u32				bound_us;
	u32				timeout_us;
	u64				bytes;
	struct tally_port		*port;
	struct rw_semaphore		sem;
	struct mutex			mutex;	/* engine context */
	bool				dead;
	struct tally_file		*files[TALLY_RANKS_MAX];
	struct sk_buff_head		control;
	struct tally_outbox		*outbox;
	struct work_struct		work;
	struct hrtimer			timer;
};

/**
 * struct tally_host_config - how to make one
 * @ns: its mutex is held until the host is in @ns->hosts
 * @stats: outlives tally_host_stop()
 * @engine: but for @key, whose bytes are the caller's
 * @self: address of this node
 * @member: by rank
 * @gid: who may attach
 */
struct tally_host_config {
	struct tally_net		*ns;
	struct tally_stats		*stats;
	struct tally_engine_config	engine;
	struct tally_address		self;
	const struct tally_address	*member;
	kgid_t				gid;
};

int tally_host_init(void);
void tally_host_exit(void);

/* ERR_PTR(-ENOBUFS): the namespace's limit; -ENOMEM, or of opening sockets. */
struct tally_host *tally_host_create(const struct tally_host_config *config);

/*
 * Death: the caller takes the host out of packets' reach; kill() makes it dead
 * for files and commands; after a grace period stop() ends what runs and frees
 * what the host used.  Files may refer to the shell that remains.
 */
void tally_host_kill(struct tally_host *host);
void tally_host_stop(struct tally_host *host);
void tally_host_put(struct tally_host *host);

/* With a reference, or NULL. */
struct tally_host *tally_host_find(struct tally_net *ns, u32 id);

/*
 * Process context of the engine: false if the host is dead, else the engine
 * stays until leave().
 */
bool tally_host_enter(struct tally_host *host);
void tally_host_leave(struct tally_host *host);

/* Engine context: likewise. */
bool tally_host_lock(struct tally_host *host);
void tally_host_unlock(struct tally_host *host);

/* Give a control packet to engine context; false if the queue is full. */
bool tally_host_queue(struct tally_host *host, struct sk_buff *skb);
void tally_host_kick(struct tally_host *host);

#endif
