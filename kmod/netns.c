// SPDX-License-Identifier: GPL-2.0-only
/*
 * Network namespaces come and go.
 *
 * A namespace's end has three steps.  pre_exit makes all dead: no file, packet
 * or command finds a group any more.  The core then waits for a grace period,
 * so that no receive context is left.  exit stops what still runs, and drops
 * the namespace's reference; open files may hold the object for longer, but
 * not the namespace.
 */
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "group.h"
#include "host.h"
#include "netns.h"
#include "transport.h"

/* Default of net.tally.mem_max, bytes. */
#define MEM_MAX		BIT(30)

static unsigned int pernet_id __read_mostly;

struct pernet {
	struct tally_net __rcu	*ns;
};

static const struct ctl_table sysctl_table[] = {
	{
		.procname	= "mem_max",
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
	},
};

struct tally_net *tally_net_of(const struct net *net)
{
	struct pernet *pernet = net_generic(net, pernet_id);

	/* Native XDP runs with bottom halves off, and without rcu_read_lock. */
	return rcu_dereference_check(pernet->ns, rcu_read_lock_bh_held());
}

struct tally_net *tally_net_find(const struct net *net)
{
	struct tally_net *ns;

	rcu_read_lock();
	ns = tally_net_of(net);
	if (ns && !refcount_inc_not_zero(&ns->refs))
		ns = NULL;
	rcu_read_unlock();
	return ns;
}

static void net_free(struct tally_net *ns)
{
	WARN_ON_ONCE(atomic64_read(&ns->bytes));
	xa_destroy(&ns->groups);
	xa_destroy(&ns->hosts);
	mutex_destroy(&ns->mutex);
	tally_stats_free(&ns->stats);
	put_user_ns(ns->user_ns);
	kfree(ns->table);
	kfree_rcu(ns, rcu);
}

void tally_net_put(struct tally_net *ns)
{
	if (refcount_dec_and_test(&ns->refs))
		net_free(ns);
}

int tally_net_charge(struct tally_net *ns, u64 bytes)
{
	s64 max = READ_ONCE(ns->bytes_max);
	s64 now = atomic64_read(&ns->bytes);

	do {
		if (max < now || bytes > max - now)
			return -ENOBUFS;
	} while (!atomic64_try_cmpxchg(&ns->bytes, &now, now + bytes));
	return 0;
}

void tally_net_uncharge(struct tally_net *ns, u64 bytes)
{
	atomic64_sub(bytes, &ns->bytes);
}

static int sysctl_init(struct tally_net *ns, struct net *net)
{
	static unsigned long max = LONG_MAX;

	ns->table = kmemdup(sysctl_table, sizeof(sysctl_table),
			    GFP_KERNEL_ACCOUNT);
	if (!ns->table)
		return -ENOMEM;
	ns->table[0].data = &ns->bytes_max;
	ns->table[0].extra2 = &max;
	/* The limit protects the host: it is not the namespace's to raise. */
	if (!net_eq(net, &init_net) && net->user_ns != &init_user_ns)
		ns->table[0].mode = 0444;
	ns->sysctl = register_net_sysctl_sz(net, "net/tally", ns->table,
					    ARRAY_SIZE(sysctl_table));
	if (!ns->sysctl && IS_ENABLED(CONFIG_SYSCTL)) {
		kfree(ns->table);
		return -ENOMEM;
	}
	return 0;
}

static int __net_init net_init(struct net *net)
{
	struct pernet *pernet = net_generic(net, pernet_id);
	struct tally_net *ns;
	int err;

	ns = kzalloc(sizeof(*ns), GFP_KERNEL_ACCOUNT);
	if (!ns)
		return -ENOMEM;
	refcount_set(&ns->refs, 1);
	ns->net = net;
	mutex_init(&ns->mutex);
	xa_init(&ns->groups);
	xa_init(&ns->hosts);
	INIT_LIST_HEAD(&ns->ports);
	ns->bytes_max = MEM_MAX;
	err = tally_stats_init(&ns->stats);
	if (err)
		goto err_free;
	err = sysctl_init(ns, net);
	if (err)
		goto err_stats;
	ns->user_ns = get_user_ns(net->user_ns);
	rcu_assign_pointer(pernet->ns, ns);
	return 0;

err_stats:
	tally_stats_free(&ns->stats);
err_free:
	kfree(ns);
	return err;
}

/* Nobody else writes the pointer while the namespace goes. */
static struct tally_net *net_going(struct net *net)
{
	struct pernet *pernet = net_generic(net, pernet_id);

	return rcu_dereference_protected(pernet->ns, true);
}

static void __net_exit net_pre_exit(struct net *net)
{
	struct tally_net *ns = net_going(net);

	mutex_lock(&ns->mutex);
	ns->dead = true;
	tally_group_kill_all(ns);
	mutex_unlock(&ns->mutex);
}

static void __net_exit net_exit(struct net *net)
{
	struct pernet *pernet = net_generic(net, pernet_id);
	struct tally_net *ns = net_going(net);

	unregister_net_sysctl_table(ns->sysctl);
	mutex_lock(&ns->mutex);
	tally_group_free_all(ns);
	WARN_ON_ONCE(!list_empty(&ns->ports));
	ns->net = NULL;
	mutex_unlock(&ns->mutex);
	rcu_assign_pointer(pernet->ns, NULL);
	/* XDP programs on the namespace's devices may still look. */
	synchronize_net();
	tally_net_put(ns);
}

static struct pernet_operations net_ops = {
	.init = net_init,
	.pre_exit = net_pre_exit,
	.exit = net_exit,
	.id = &pernet_id,
	.size = sizeof(struct pernet),
};

/* As a device: sockets must be gone before the namespace's devices are. */
int tally_net_init(void)
{
	return register_pernet_device(&net_ops);
}

void tally_net_exit(void)
{
	unregister_pernet_device(&net_ops);
}
