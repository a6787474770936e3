// SPDX-License-Identifier: GPL-2.0-only
/* tally: collectives with a time bound. */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <net/genetlink.h>

#include "device.h"
#include "host.h"
#include "kfunc.h"
#include "netlink.h"
#include "netns.h"

/* Namespaces first; what people can reach last. */
static int __init tally_init(void)
{
	int err;

	err = tally_host_init();
	if (err)
		return err;
	err = tally_net_init();
	if (err)
		goto err_host;
	err = tally_netlink_init();
	if (err)
		goto err_net;
	err = tally_kfunc_init();
	if (err)
		goto err_netlink;
	err = tally_device_init();
	if (err)
		goto err_netlink;
	return 0;

err_netlink:
	tally_netlink_exit();
err_net:
	tally_net_exit();
	rcu_barrier();
err_host:
	tally_host_exit();
	return err;
}

/* No file is open and no XDP program is loaded: they hold the module. */
static void __exit tally_exit(void)
{
	tally_device_exit();
	tally_netlink_exit();
	tally_net_exit();
	rcu_barrier();
	tally_host_exit();
}

module_init(tally_init);
module_exit(tally_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Collectives with a time bound, summed in the receive path");
MODULE_ALIAS_GENL_FAMILY(TALLY_GENL_NAME);
