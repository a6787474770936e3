// SPDX-License-Identifier: GPL-2.0-only
/*
 * Engines under real threads: on each node two receive threads, the engine's
 * own and one for each process, all at once, under ThreadSanitizer.  What they
 * sum is exact, whatever is lost on the way.
 *
 * Threads poll and share queues only where they must: each lock that they have
 * in common would hide a race from the sanitizer.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "port.h"
#include "engine.h"

#define NODES		3
#define RANKS		4	/* two of them on node 0 */
#define RECEIVERS	2
#define WINDOW		4
#define CELL_WORDS	8
#define SHARD_CHUNKS	6
#define CELLS		(SHARD_CHUNKS * RANKS)
#define CELL_BYTES	(sizeof(struct tally_hdr) + 8 * CELL_WORDS)
#define ROUNDS		6
#define ROUND_NS	2000000000ull
#define LOSS		97	/* every so manyth packet */

struct packet {
	struct packet		*next;
	struct tally_hdr	hdr;
	u64			payload[CELL_WORDS];
};

struct queue {
	pthread_mutex_t		lock;
	struct packet		*first;
	struct packet		**last;
};

struct node {
	struct tally_engine	*engine;
	u32			index;
	struct queue		in[RECEIVERS];
	struct queue		control;
	pthread_mutex_t		turn;	/* engine context: one at a time */
	u32			kicked;
	u32			sent;
};

struct process {
	u32			rank;
	struct node		*node;
	u8			*tx;
	u8			*result;
	struct tally_submit	submit[WINDOW];
	u32			completed;
	u32			partial;
	u32			errors;
	u32			wrong;
	u32			restarts;
	u32			seq;		/* of the next collective */
	bool			kill;
};

static struct node nodes[NODES];
static struct process processes[RANKS];
static const u8 node_of[RANKS] = { 0, 0, 1, 2 };
static u32 stopping, mode;

enum { MIXED, BOUNDED, KILLED };

static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1000000000ull * t.tv_sec + t.tv_nsec;
}

static void queue_put(struct queue *q, struct packet *p)
{
	p->next = NULL;
	pthread_mutex_lock(&q->lock);
	*q->last = p;
	q->last = &p->next;
	pthread_mutex_unlock(&q->lock);
}

static struct packet *queue_get(struct queue *q)
{
	struct packet *p;

	pthread_mutex_lock(&q->lock);
	p = q->first;
	if (p) {
		q->first = p->next;
		if (!q->first)
			q->last = &q->first;
	}
	pthread_mutex_unlock(&q->lock);
	return p;
}

static void queue_init(struct queue *q)
{
	pthread_mutex_init(&q->lock, NULL);
	q->first = NULL;
	q->last = &q->first;
}

static void queue_clear(struct queue *q)
{
	struct packet *p;

	while ((p = queue_get(q)))
		free(p);
}

static int host_send(void *host, u32 to, const struct tally_hdr *hdr,
		     const void *payload)
{
	struct node *node = host;
	const struct tally_keys *keys = tally_engine_keys(node->engine);
	u32 words = tally_get16(hdr->words);
	struct tally_scan scan = {};
	struct packet *p;

	if (++node->sent % LOSS == 0)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		abort();
	p->hdr = *hdr;
	if (words)
		memcpy(p->payload, payload, 8 * words);
	tally_scan_words(&scan, keys, 0, p->payload, words);
	p->hdr.tag = tally_tag(keys, &p->hdr, scan.hash);
	queue_put(&nodes[to].in[node->sent % RECEIVERS], p);
	return 0;
}

static void host_flush(void *host)
{
}

static void host_kick(void *host)
{
	struct node *node = host;

	WRITE_ONCE(node->kicked, 1);
}

static void host_wake(void *host, u32 rank)
{
}

static void host_count(void *host, enum tally_count which, u32 n)
{
}

static void host_event(void *host, const struct tally_event *event)
{
}

static const struct tally_engine_ops ops = {
	.send = host_send, .flush = host_flush, .kick = host_kick,
	.wake = host_wake, .count = host_count, .event = host_event,
};

static void receive(struct node *node, struct packet *p)
{
	u32 words = tally_get16(p->hdr.words);
	struct tally_payload payload = {
		.part = { p->payload }, .words = { words },
		.parts = words ? 1 : 0, .total = words,
	};

	switch (p->hdr.type) {
	case TALLY_CONTRIB:
		tally_engine_contrib(node->engine, &p->hdr, &payload, now());
		break;
	case TALLY_RESULT:
		tally_engine_result(node->engine, &p->hdr, &payload, now());
		break;
	default:
		if (tally_engine_check(node->engine, &p->hdr, &payload))
			break;
		queue_put(&node->control, p);
		host_kick(node);
		return;
	}
	free(p);
}

struct receiver {
	struct node	*node;
	u32		queue;
};

static void *receive_thread(void *arg)
{
	struct receiver *r = arg;
	struct packet *p;

	while (!READ_ONCE(stopping)) {
		p = queue_get(&r->node->in[r->queue]);
		if (p)
			receive(r->node, p);
		else
			usleep(20);
	}
	return NULL;
}

static void *engine_thread(void *arg)
{
	struct node *node = arg;
	struct packet *p;
	u64 next = 0;

	while (!READ_ONCE(stopping)) {
		pthread_mutex_lock(&node->turn);
		while ((p = queue_get(&node->control))) {
			tally_engine_control(node->engine, &p->hdr, p->payload,
					     now());
			free(p);
		}
		if (READ_ONCE(node->kicked) || now() >= next) {
			WRITE_ONCE(node->kicked, 0);
			next = tally_engine_run(node->engine, now());
		}
		pthread_mutex_unlock(&node->turn);
		if (!READ_ONCE(node->kicked))
			usleep(20);
	}
	return NULL;
}

/* What @rank contributes: anybody can tell what a mask's sum must be. */
static u64 value(u32 rank, u32 seq, u32 i)
{
	return (seq + 1) * 0x9e3779b97f4a7c15ull * (rank + 1) + i;
}

static struct tally_hdr *cell_at(u8 *area, u32 seq, u32 at)
{
	return (struct tally_hdr *)(area + CELL_BYTES *
				    (seq % WINDOW * CELLS + at));
}

static void script(struct tally_submit *req, u32 seq)
{
	static const u8 all[] = {
		TALLY_OP_ALL_REDUCE, TALLY_OP_REDUCE_SCATTER,
		TALLY_OP_ALL_GATHER, TALLY_OP_BROADCAST, TALLY_OP_BARRIER,
	};
	u32 r = seq * 2654435761u >> 16;

	memset(req, 0, sizeof(*req));
	req->size = sizeof(*req);
	req->seq = seq;
	req->op = all[r % (mode == MIXED ? 5 : 2)];
	req->participants = r % 7 ? (1u << RANKS) - 1 : 1u << r / 7 % RANKS |
						       1u << r / 9 % RANKS;
	req->weight = 1;
	req->lane = tally_op_gathers(req->op) ? TALLY_LANE_RAW :
						TALLY_LANE_W64;
	req->bound_us = 30000;
	req->timeout_us = 8000000;
	if (mode == MIXED)
		req->flags = TALLY_SUBMIT_RELIABLE;
	if (req->op == TALLY_OP_BROADCAST)
		req->root = tally_mask_rank(req->participants, 0);
	if (tally_op_gathers(req->op) || req->op == TALLY_OP_BARRIER)
		req->flags = 0;
	if (req->op != TALLY_OP_BARRIER)
		req->words = 1 + r % (SHARD_CHUNKS * CELL_WORDS);
	if (req->op == TALLY_OP_BARRIER)
		req->lane = 0;
}

static void layout_of(const struct tally_submit *req,
		      struct tally_layout *layout)
{
	tally_layout_init(layout, req->op, req->participants, req->seq,
			  req->words, CELL_WORDS, req->root);
}

static void fill(struct process *p, const struct tally_submit *req)
{
	struct tally_layout layout;
	u32 at, i, n, words;

	layout_of(req, &layout);
	n = tally_op_gathers(req->op) ? layout.part : layout.chunks;
	for (at = 0; at < n && req->op != TALLY_OP_BARRIER; at++) {
		struct tally_hdr *cell = cell_at(p->tx, req->seq, at);

		memset(cell, 0, sizeof(*cell));
		words = tally_layout_words(&layout, at);
		cell->words = tally_put16(words);
		for (i = 0; i < words; i++)
			((__le64 *)(cell + 1))[i] =
				tally_put_le64(value(p->rank, req->seq,
						     at * CELL_WORDS + i));
	}
}

/*
 * Is @sum what the ranks of @mask put in at word @i?  One that rejoins is in
 * the mask with zeros, and does not weigh.
 */
static bool sum_right(u64 mask, u32 weight, u32 seq, u32 i, u64 sum)
{
	u64 some = mask;
	u64 expect;
	u32 r;

	for (;; some = (some - 1) & mask) {
		for (expect = 0, r = 0; r < RANKS; r++) {
			if (some >> r & 1)
				expect += value(r, seq, i);
		}
		if (tally_mask_count(some) == weight && expect == sum)
			return true;
		if (!some)
			return false;
	}
}

static bool chunk_right(struct process *p, const struct tally_submit *req,
			const struct tally_layout *layout, u32 shard, u32 chunk)
{
	u32 at = tally_layout_first(layout, shard) + chunk, i;
	struct tally_hdr *cell = cell_at(p->result, req->seq, at);
	u32 words = tally_get16(cell->words);
	u32 weight = tally_get32(cell->weight);
	u64 mask = tally_get64(cell->mask);

	if (tally_get32(cell->seq) != req->seq)
		return false;
	if (cell->type == TALLY_RECEIPT || !mask)
		return !words;
	if (req->flags & TALLY_SUBMIT_RELIABLE && mask != req->participants)
		return false;
	if (!weight || req->op == TALLY_OP_BARRIER)
		return !words;
	if (words != tally_layout_words(layout, at))
		return false;
	if (tally_op_gathers(req->op)) {
		mask = 1ull << tally_shard_owner(layout->participants,
						 layout->n, req->seq, shard);
		weight = 1;
		at = chunk;
	}
	for (i = 0; i < words; i++) {
		if (!sum_right(mask, weight, req->seq, at * CELL_WORDS + i,
			       tally_get_le64(((__le64 *)(cell + 1))[i])))
			return false;
	}
	return true;
}

static void check(struct process *p, const struct tally_submit *req,
		  const struct tally_completion *done)
{
	struct tally_layout layout;
	u32 s, shard, i;

	layout_of(req, &layout);
	p->partial += done->partial;
	for (s = 0; s < layout.shards; s++) {
		shard = tally_layout_shard(&layout, s);
		for (i = 0; i < tally_layout_count(&layout, shard); i++)
			p->wrong += !chunk_right(p, req, &layout, shard, i);
	}
}

static void fetch(struct process *p)
{
	struct tally_completion done;
	struct tally_submit *req;

	while (tally_engine_fetch(p->node->engine, p->rank, 0, true, &done) ==
	       1) {
		req = &p->submit[done.seq % WINDOW];
		if (done.status) {
			p->errors++;
		} else {
			p->completed++;
			if (done.op != TALLY_OP_REJOIN &&
			    req->participants >> p->rank & 1)
				check(p, req, &done);
		}
	}
}

/* A process dies; another takes its place, and is STALE. */
static u32 restart(struct process *p)
{
	bool stale;
	u32 seq;

	pthread_mutex_lock(&p->node->turn);
	tally_engine_detach(p->node->engine, p->rank, now());
	pthread_mutex_unlock(&p->node->turn);
	usleep(5000);
	pthread_mutex_lock(&p->node->turn);
	if (tally_engine_attach(p->node->engine, p->rank, p->tx, p->result,
				&seq, &stale) || !stale)
		p->wrong++;
	pthread_mutex_unlock(&p->node->turn);
	p->restarts++;
	return seq;
}

static void *process_thread(void *arg)
{
	struct process *p = arg;
	u64 kill_at = now() + ROUND_NS / 4;
	struct tally_submit req;
	bool stale = false;
	u32 seq = p->seq;

	while (!READ_ONCE(stopping)) {
		int err;

		if (p->kill && now() >= kill_at) {
			seq = restart(p);
			stale = true;
			kill_at = now() + ROUND_NS / 8;
		}
		fetch(p);
		if (stale) {
			memset(&req, 0, sizeof(req));
			req.size = sizeof(req);
			req.op = TALLY_OP_REJOIN;
			req.seq = seq;
			req.timeout_us = 100000;
		} else if (tally_engine_ready(p->node->engine, p->rank) &
			   TALLY_READY_WRITE) {
			script(&req, seq);
			fill(p, &req);
		} else {
			usleep(20);
			continue;
		}
		p->submit[seq % WINDOW] = req;
		err = tally_engine_submit(p->node->engine, p->rank, &req,
					  now());
		if (!err)
			seq++;
		else if (err == -ESTALE)
			stale = true;
		else if (err != -EAGAIN && err != -EBUSY)
			p->wrong++;
		if (err || stale)
			usleep(100);
	}
	return NULL;
}

static bool build(void)
{
	struct tally_engine_config config = {
		.group = 1, .epoch = 1, .members = (1u << RANKS) - 1,
		.window = WINDOW, .cell_words = CELL_WORDS,
		.shard_chunks = SHARD_CHUNKS, .seq = 0u - 5,
		.bound_us = 30000, .bound_max_us = 1000000,
		.settle_us = 50000, .timeout_us = 8000000, .nodes = NODES,
	};
	bool stale;
	u32 i, k;

	memcpy(config.node, node_of, sizeof(node_of));
	for (i = 0; i < NODES; i++) {
		struct node *node = &nodes[i];

		memset(node, 0, sizeof(*node));
		node->index = i;
		for (k = 0; k < RECEIVERS; k++)
			queue_init(&node->in[k]);
		queue_init(&node->control);
		pthread_mutex_init(&node->turn, NULL);
		config.self = i;
		node->engine = tally_engine_create(&config, &ops, node);
		if (!node->engine)
			return false;
	}
	for (i = 0; i < RANKS; i++) {
		struct process *p = &processes[i];

		memset(p, 0, sizeof(*p));
		p->rank = i;
		p->node = &nodes[node_of[i]];
		p->tx = calloc(WINDOW * CELLS, CELL_BYTES);
		p->result = calloc(WINDOW * CELLS, CELL_BYTES);
		p->kill = mode == KILLED && i == RANKS - 1;
		/* Before the others run: a late one would be STALE. */
		if (tally_engine_attach(p->node->engine, i, p->tx, p->result,
					&p->seq, &stale) || stale)
			return false;
	}
	return true;
}

static void destroy(void)
{
	u32 i, k;

	for (i = 0; i < NODES; i++) {
		tally_engine_destroy(nodes[i].engine);
		for (k = 0; k < RECEIVERS; k++)
			queue_clear(&nodes[i].in[k]);
		queue_clear(&nodes[i].control);
	}
	for (i = 0; i < RANKS; i++) {
		free(processes[i].tx);
		free(processes[i].result);
	}
}

static bool run_round(void)
{
	struct receiver receivers[NODES * RECEIVERS];
	pthread_t threads[NODES * (RECEIVERS + 1) + RANKS];
	u32 i, k, n = 0, completed = 0, errors = 0, wrong = 0, partial = 0;
	u32 restarts = 0;

	if (!build())
		return false;
	WRITE_ONCE(stopping, 0);
	for (i = 0; i < NODES; i++) {
		for (k = 0; k < RECEIVERS; k++) {
			receivers[i * RECEIVERS + k] =
				(struct receiver){ &nodes[i], k };
			pthread_create(&threads[n++], NULL, receive_thread,
				       &receivers[i * RECEIVERS + k]);
		}
		pthread_create(&threads[n++], NULL, engine_thread, &nodes[i]);
	}
	for (i = 0; i < RANKS; i++)
		pthread_create(&threads[n++], NULL, process_thread,
			       &processes[i]);
	usleep(ROUND_NS / 1000);
	WRITE_ONCE(stopping, 1);
	while (n--)
		pthread_join(threads[n], NULL);
	for (i = 0; i < RANKS; i++) {
		completed += processes[i].completed;
		errors += processes[i].errors;
		wrong += processes[i].wrong;
		partial += processes[i].partial;
		restarts += processes[i].restarts;
	}
	destroy();
	printf("# %u collectives, %u chunks partial, %u errors, %u wrong, %u restarts\n",
	       completed, partial, errors, wrong, restarts);
	return completed > 4 && !wrong && (mode != KILLED || restarts) &&
	       (mode != MIXED || !errors);
}

int main(void)
{
	static const char * const names[] = { "mixed", "bounded", "killed" };
	bool all = true, good;
	u32 i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%u\n", ROUNDS);
	for (i = 0; i < ROUNDS; i++) {
		mode = i % 3;
		good = run_round();
		all &= good;
		printf("%sok %u - sums are exact under threads, %s\n",
		       good ? "" : "not ", i + 1, names[mode]);
	}
	return all ? 0 : 1;
}
