// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module for the test of the guest harness. It does the wrong that its
 * parameter asks for, so that the test can see each of them noticed.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>

struct vm_probe_object {
	struct list_head node;
	u64 payload[12];
};

static char *wrong = "";
module_param(wrong, charp, 0444);
MODULE_PARM_DESC(wrong, "one of: leak, free, warn, pin");

static int __init vm_probe_init(void)
{
	struct vm_probe_object *object = kzalloc(sizeof(*object), GFP_KERNEL);

	if (!object)
		return -ENOMEM;
	INIT_LIST_HEAD(&object->node);
	if (!strcmp(wrong, "leak"))
		return 0;
	kfree(object);
	if (!strcmp(wrong, "free"))
		pr_info("stale: %llu\n", READ_ONCE(object->payload[3]));
	WARN_ON(!strcmp(wrong, "warn"));
	if (!strcmp(wrong, "pin"))
		__module_get(THIS_MODULE);
	return 0;
}

static void __exit vm_probe_exit(void)
{
}

module_init(vm_probe_init);
module_exit(vm_probe_exit);

MODULE_DESCRIPTION("Wrongs for the guest harness to notice");
MODULE_LICENSE("GPL");
