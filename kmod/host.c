// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine's home: gives it a clock, a thread, memory and a way out.
 *
 * Engine context is whoever holds the mutex: the work, which a timer, packets
 * and submissions queue, and commands that must see the engine at rest.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/udp.h>

#include "compat.h"
#include "device.h"
#include "host.h"
#include "netlink.h"
#include "netns.h"
#include "outbox.h"
#include "receive.h"
#include "trace.h"
#include "transport.h"

#define CONTROL_QUEUE	1024	/* packets */
#define CONTROL_BATCH	64	/* packets before the engine runs */

/*
 * One for all groups: a queue that helps to free memory has a thread of its
 * own, and who may make groups should not make threads.  A work never runs
 * twice at once, which is all the order that a host needs.
 */
static struct workqueue_struct *tally_wq;

void tally_host_kick(struct tally_host *host)
{
	queue_work(tally_wq, &host->work);
}

static enum hrtimer_restart timer_fn(struct hrtimer *timer)
{
	tally_host_kick(container_of(timer, struct tally_host, timer));
	return HRTIMER_NORESTART;
}

/* The packet may have come to rest for long: let go of what it refers to. */
bool tally_host_queue(struct tally_host *host, struct sk_buff *skb)
{
	if (skb_queue_len_lockless(&host->control) >= CONTROL_QUEUE)
		return false;
	skb_orphan(skb);
	skb_dst_drop(skb);
	skb_ext_reset(skb);
	nf_reset_ct(skb);
	skb->dev = NULL;
	skb_queue_tail(&host->control, skb);
	tally_host_kick(host);
	return true;
}

/* The packet was made linear, parsed and checked before it was queued. */
static void control_packet(struct tally_host *host, struct sk_buff *skb,
			   u64 now)
{
	enum tally_drop drop;
	struct tally_hdr hdr;
	const void *payload;

	memcpy(&hdr, skb->data + sizeof(struct udphdr), sizeof(hdr));
	payload = skb->data + sizeof(struct udphdr) + sizeof(hdr);
	drop = tally_engine_control(host->engine, &hdr, payload, now);
	if (drop)
		tally_receive_drop(host->ns, host, &hdr, drop,
				   TALLY_PATH_SOCKET);
	else
		tally_stats_count(host->stats, TALLY_COUNT_CONTROL, 1);
}

/* Return: true if there may be more. */
static bool control_packets(struct tally_host *host)
{
	struct sk_buff *skb;
	u32 i;

	for (i = 0; i < CONTROL_BATCH; i++) {
		skb = skb_dequeue(&host->control);
		if (!skb)
			return false;
		control_packet(host, skb, ktime_get_ns());
		consume_skb(skb);
	}
	return true;
}

static void run(struct tally_host *host)
{
	bool more = control_packets(host);
	u64 next;

	next = tally_engine_run(host->engine, ktime_get_ns());
	tally_outbox_flush(host->outbox);
	if (more)
		tally_host_kick(host);
	else if (next != TALLY_NEVER)
		hrtimer_start(&host->timer, ns_to_ktime(next),
			      HRTIMER_MODE_ABS);
}

static void work_fn(struct work_struct *work)
{
	struct tally_host *host = container_of(work, struct tally_host, work);

	if (!tally_host_lock(host))
		return;
	run(host);
	tally_host_unlock(host);
}

static int op_send(void *priv, u32 node, const struct tally_hdr *hdr,
		   const void *payload)
{
	struct tally_host *host = priv;

	return tally_outbox_send(host->outbox, node, hdr, payload);
}

static void op_flush(void *priv)
{
	struct tally_host *host = priv;

	tally_outbox_flush(host->outbox);
}

static void op_kick(void *host)
{
	tally_host_kick(host);
}

static void op_wake(void *priv, u32 rank)
{
	struct tally_host *host = priv;

	lockdep_assert_held(&host->mutex);
	if (host->files[rank])
		tally_file_wake(host->files[rank]);
}

static void op_count(void *priv, enum tally_count which, u32 n)
{
	struct tally_host *host = priv;

	tally_stats_count(host->stats, which, n);
}

static void notify(struct tally_host *host, u32 kind,
		   const struct tally_event *event)
{
	tally_netlink_event(host->ns, host->config.group, kind, event->rank,
			    event->seq, event->mask);
}

/* Process context too: the group cannot die meanwhile in either. */
static void op_event(void *priv, const struct tally_event *event)
{
	struct tally_host *host = priv;
	u16 group = host->config.group;

	switch (event->kind) {
	case TALLY_TRACE_SUBMIT:
		trace_tally_submit(group, event);
		break;
	case TALLY_TRACE_CLOSE:
		trace_tally_close(group, event);
		break;
	case TALLY_TRACE_NACK:
		trace_tally_nack(group, event);
		break;
	case TALLY_TRACE_DECIDE:
		trace_tally_decide(group, event);
		break;
	case TALLY_TRACE_COMPLETE:
		trace_tally_complete(group, event);
		if (event->status && event->status != -ECANCELED)
			notify(host, TALLY_EVENT_ERROR, event);
		break;
	case TALLY_TRACE_STALE:
		trace_tally_stale(group, event);
		notify(host, TALLY_EVENT_STALE, event);
		break;
	case TALLY_TRACE_REJOINED:
		trace_tally_rejoined(group, event);
		notify(host, TALLY_EVENT_REJOINED, event);
		break;
	case TALLY_TRACE_ABORT:
		trace_tally_abort(group, event);
		notify(host, TALLY_EVENT_MISMATCH, event);
		break;
	}
}

static const struct tally_engine_ops engine_ops = {
	.send = op_send,
	.flush = op_flush,
	.kick = op_kick,
	.wake = op_wake,
	.count = op_count,
	.event = op_event,
};

static void outbox_writable(void *host)
{
	tally_host_kick(host);
}

static void outbox_stray(void *priv)
{
	struct tally_host *host = priv;

	tally_stats_drop(host->stats, TALLY_DROP_ADDRESS);
}

static int create_outbox(struct tally_host *host)
{
	struct tally_outbox_config config = {
		.net = host->ns->net,
		.stats = host->stats,
		.keys = tally_engine_keys(host->engine),
		.self = &host->self,
		.node = host->node,
		.nodes = host->config.nodes,
		.payload = 8 * host->config.cell_words,
		.host = host,
		.writable = outbox_writable,
		.stray = outbox_stray,
	};
	struct tally_outbox *outbox = tally_outbox_create(&config);

	if (IS_ERR(outbox))
		return PTR_ERR(outbox);
	host->outbox = outbox;
	return 0;
}

static struct tally_host *host_alloc(const struct tally_host_config *config)
{
	struct tally_host *host;
	u32 rank;

	host = kzalloc(sizeof(*host), GFP_KERNEL_ACCOUNT);
	if (!host)
		return NULL;
	refcount_set(&host->refs, 1);
	refcount_inc(&config->ns->refs);
	host->ns = config->ns;
	host->stats = config->stats;
	host->config = config->engine;
	host->config.key = NULL;
	host->self = config->self;
	host->gid = config->gid;
	host->bound_us = config->engine.bound_us;
	host->timeout_us = config->engine.timeout_us;
	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		if (!(config->engine.members >> rank & 1))
			continue;
		host->member[rank] = config->member[rank];
		host->node[config->engine.node[rank]] = config->member[rank];
	}
	init_rwsem(&host->sem);
	mutex_init(&host->mutex);
	skb_queue_head_init(&host->control);
	INIT_WORK(&host->work, work_fn);
	tally_hrtimer_setup(&host->timer, timer_fn, CLOCK_MONOTONIC,
			    HRTIMER_MODE_ABS);
	return host;
}

struct tally_host *tally_host_create(const struct tally_host_config *config)
{
	struct tally_host *host = host_alloc(config);
	int err;

	if (!host)
		return ERR_PTR(-ENOMEM);
	host->bytes = tally_engine_bytes(&config->engine);
	err = tally_net_charge(host->ns, host->bytes);
	if (err)
		goto err_host;
	err = -ENOMEM;
	host->engine = tally_engine_create(&config->engine, &engine_ops, host);
	if (!host->engine)
		goto err_charge;
	err = create_outbox(host);
	if (err)
		goto err_engine;
	host->port = tally_port_open(host->ns, &host->self);
	if (IS_ERR(host->port)) {
		err = PTR_ERR(host->port);
		goto err_outbox;
	}
	return host;

err_outbox:
	tally_outbox_silence(host->outbox);
	synchronize_net();
	tally_outbox_destroy(host->outbox);
err_engine:
	tally_engine_destroy(host->engine);
err_charge:
	tally_net_uncharge(host->ns, host->bytes);
err_host:
	tally_host_put(host);
	return ERR_PTR(err);
}

void tally_host_kill(struct tally_host *host)
{
	u32 rank;

	down_write(&host->sem);
	mutex_lock(&host->mutex);
	WRITE_ONCE(host->dead, true);
	for (rank = 0; rank < TALLY_RANKS_MAX; rank++) {
		if (host->files[rank])
			tally_file_wake(host->files[rank]);
	}
	mutex_unlock(&host->mutex);
	up_write(&host->sem);
	tally_outbox_silence(host->outbox);
}

void tally_host_stop(struct tally_host *host)
{
	WARN_ON_ONCE(!host->dead);
	/* Neither restarts the other: the work does nothing for the dead. */
	hrtimer_cancel(&host->timer);
	cancel_work_sync(&host->work);
	tally_port_close(host->port);
	tally_outbox_destroy(host->outbox);
	skb_queue_purge(&host->control);
	tally_engine_destroy(host->engine);
	host->engine = NULL;
	tally_net_uncharge(host->ns, host->bytes);
}

void tally_host_put(struct tally_host *host)
{
	if (!refcount_dec_and_test(&host->refs))
		return;
	tally_net_put(host->ns);
	mutex_destroy(&host->mutex);
	kfree(host);
}

struct tally_host *tally_host_find(struct tally_net *ns, u32 id)
{
	struct tally_host *host;

	rcu_read_lock();
	host = xa_load(&ns->hosts, id);
	if (host && !refcount_inc_not_zero(&host->refs))
		host = NULL;
	rcu_read_unlock();
	return host;
}

int __init tally_host_init(void)
{
	/* Deadlines hold under memory pressure too. */
	tally_wq = alloc_workqueue("tally", WQ_UNBOUND | WQ_HIGHPRI |
					    WQ_MEM_RECLAIM, 0);
	return tally_wq ? 0 : -ENOMEM;
}

void tally_host_exit(void)
{
	destroy_workqueue(tally_wq);
}

bool tally_host_enter(struct tally_host *host)
{
	down_read(&host->sem);
	if (!host->dead)
		return true;
	up_read(&host->sem);
	return false;
}

void tally_host_leave(struct tally_host *host)
{
	up_read(&host->sem);
}

bool tally_host_lock(struct tally_host *host)
{
	mutex_lock(&host->mutex);
	if (!host->dead)
		return true;
	mutex_unlock(&host->mutex);
	return false;
}

void tally_host_unlock(struct tally_host *host)
{
	mutex_unlock(&host->mutex);
}
