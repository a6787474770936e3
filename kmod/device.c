// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/tally: what a training process sees.
 *
 * A file belongs to the network namespace in which it was opened, by way of an
 * object that outlives the namespace.
 */
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/ipv6.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/nsproxy.h>
#include <linux/pagemap.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "cells.h"
#include "device.h"
#include "host.h"
#include "kfunc.h"
#include "netns.h"

void tally_file_wake(struct tally_file *file)
{
	atomic_inc(&file->wakes);
	wake_up_all(&file->wait);
}

/* The attachment's group, until leave(); ERR_PTR() without. */
struct tally_host *tally_file_enter(struct tally_file *file)
{
	down_read(&file->sem);
	if (!file->host) {
		up_read(&file->sem);
		return ERR_PTR(-ENOTCONN);
	}
	if (!tally_host_enter(file->host)) {
		up_read(&file->sem);
		return ERR_PTR(-ENODEV);
	}
	return file->host;
}

void tally_file_leave(struct tally_file *file)
{
	tally_host_leave(file->host);
	up_read(&file->sem);
}

static int device_open(struct inode *inode, struct file *filp)
{
	struct tally_file *file;

	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;
	file->ns = tally_net_find(current->nsproxy->net_ns);
	if (!file->ns) {
		kfree(file);
		return -ENODEV;
	}
	init_rwsem(&file->sem);
	init_waitqueue_head(&file->wait);
	filp->private_data = file;
	return stream_open(inode, filp);
}

static int device_release(struct inode *inode, struct file *filp)
{
	struct tally_file *file = filp->private_data;

	tally_file_detach(file);
	if (file->cells)
		tally_cells_put(file->cells);
	tally_net_put(file->ns);
	kfree(file);
	return 0;
}

/* Return: 1, 0 if it is not complete, or -errno. */
static int fetch(struct tally_file *file, u32 seq, bool any,
		 struct tally_completion *out)
{
	struct tally_host *host = tally_file_enter(file);
	int ret;

	if (IS_ERR(host))
		return PTR_ERR(host);
	ret = tally_engine_fetch(host->engine, file->rank, seq, any, out);
	tally_file_leave(file);
	if (ret > 0)
		out->size = sizeof(*out);
	return ret;
}

/*
 * Wait for a completion.  @deadline: CLOCK_MONOTONIC, or NULL for none.
 * Return: 1, or -errno; -ETIME after the deadline.
 */
static int fetch_wait(struct tally_file *file, u32 seq, bool any,
		      ktime_t *deadline, struct tally_completion *out)
{
	int ret;

	for (;;) {
		DEFINE_WAIT(wait);
		/* Whoever completes it after this counts, then wakes. */
		int wakes = atomic_read_acquire(&file->wakes);

		ret = fetch(file, seq, any, out);
		if (ret)
			return ret;
		if (signal_pending(current))
			return -ERESTARTSYS;
		prepare_to_wait(&file->wait, &wait, TASK_INTERRUPTIBLE);
		if (atomic_read(&file->wakes) == wakes &&
		    !signal_pending(current))
			ret = schedule_hrtimeout_range(deadline, 0,
						       HRTIMER_MODE_ABS);
		else
			ret = -EINTR;
		finish_wait(&file->wait, &wait);
		if (!ret)
			break;
	}
	ret = fetch(file, seq, any, out);
	return ret ? ret : -ETIME;
}

static ssize_t device_read(struct file *filp, char __user *to, size_t bytes,
			   loff_t *pos)
{
	struct tally_file *file = filp->private_data;
	struct tally_completion out;
	bool wait = !(filp->f_flags & O_NONBLOCK);
	size_t done = 0;
	int ret;

	if (bytes < sizeof(out))
		return -EINVAL;
	/* A completion is gone once it is taken: find a bad pointer before. */
	if (fault_in_writeable(to, sizeof(out)))
		return -EFAULT;
	while (bytes - done >= sizeof(out)) {
		if (wait && !done)
			ret = fetch_wait(file, 0, true, NULL, &out);
		else
			ret = fetch(file, 0, true, &out);
		if (ret <= 0)
			break;
		if (copy_to_user(to + done, &out, sizeof(out)))
			return done ? done : -EFAULT;
		done += sizeof(out);
		if (bytes - done >= sizeof(out) &&
		    fault_in_writeable(to + done, sizeof(out)))
			break;
	}
	if (done)
		return done;
	return ret == 0 || ret == -ENOENT ? -EAGAIN : ret;
}

static __poll_t device_poll(struct file *filp, poll_table *table)
{
	struct tally_file *file = filp->private_data;
	struct tally_host *host;
	__poll_t events = 0;
	u32 ready;

	poll_wait(filp, &file->wait, table);
	host = tally_file_enter(file);
	if (IS_ERR(host))
		return EPOLLERR | EPOLLHUP;
	ready = tally_engine_ready(host->engine, file->rank);
	tally_file_leave(file);
	if (ready & TALLY_READY_READ)
		events |= EPOLLIN | EPOLLRDNORM;
	if (ready & TALLY_READY_WRITE)
		events |= EPOLLOUT | EPOLLWRNORM;
	return events;
}

static int device_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct tally_file *file = filp->private_data;
	int err = -ENOTCONN;

	down_read(&file->sem);
	if (file->host)
		err = tally_cells_mmap(file->cells, vma);
	up_read(&file->sem);
	return err;
}

static int ioctl_info(struct tally_file *file, void *arg)
{
	struct tally_info *info = arg;

	if (info->flags || info->__reserved)
		return -EINVAL;
	if (READ_ONCE(file->ns->dead))
		return -ENODEV;
	info->out_abi = TALLY_ABI_VERSION;
	info->out_features = tally_kfunc_ready() ? TALLY_FEATURE_KFUNC : 0;
	if (IS_ENABLED(CONFIG_IPV6) && ipv6_mod_enabled())
		info->out_features |= TALLY_FEATURE_IPV6;
	info->out_port = TALLY_PORT;
	info->out_completion_size = sizeof(struct tally_completion);
	info->out_groups = READ_ONCE(file->ns->n_groups);
	return 0;
}

static int ioctl_attach(struct tally_file *file, void *arg)
{
	struct tally_attach *attach = arg;

	if (attach->flags || attach->__reserved)
		return -EINVAL;
	return tally_file_attach(file, attach);
}

static int ioctl_submit(struct tally_file *file, void *arg)
{
	return tally_file_submit(file, arg);
}

static int ioctl_wait(struct tally_file *file, void *arg)
{
	struct tally_wait *wait = arg;
	void __user *to = u64_to_user_ptr(wait->completion);
	size_t bytes = min_t(size_t, wait->completion_size,
			     sizeof(struct tally_completion));
	struct tally_completion out;
	ktime_t deadline;
	int ret;

	/* Enough for size, seq, user_data and status. */
	if (wait->__reserved ||
	    bytes < offsetofend(struct tally_completion, status))
		return -EINVAL;
	if (fault_in_writeable(to, bytes))
		return -EFAULT;
	deadline = ns_to_ktime(min_t(u64, wait->deadline_ns, KTIME_MAX));
	ret = fetch_wait(file, wait->seq, false, &deadline, &out);
	if (ret < 0)
		return ret;
	return copy_to_user(to, &out, bytes) ? -EFAULT : 0;
}

static int ioctl_cancel(struct tally_file *file, void *arg)
{
	struct tally_cancel *cancel = arg;

	return tally_file_cancel(file, cancel->seq);
}

static int ioctl_detach(struct tally_file *file, void *arg)
{
	struct tally_detach *detach = arg;

	if (detach->flags)
		return -EINVAL;
	return tally_file_detach(file);
}

/**
 * struct command - one ioctl; its place in the table is its number
 * @size: of the structure as this kernel knows it; most 256
 * @min: of its first version
 * @out: offset from which it is copied back; @size: never
 * @handler: gets a copy in kernel memory
 */
struct command {
	u32		size;
	u32		min;
	u32		out;
	int (*handler)(struct tally_file *file, void *arg);
};

#define COMMAND(ioc, type, last, from, fn)				\
	[_IOC_NR(ioc)] = {						\
		.size = sizeof(struct type) +				\
			BUILD_BUG_ON_ZERO(sizeof(struct type) > 256),	\
		.min = offsetofend(struct type, last),			\
		.out = (from),						\
		.handler = (fn),					\
	}

static const struct command commands[] = {
	COMMAND(TALLY_IOC_INFO, tally_info, __reserved,
		offsetof(struct tally_info, out_abi), ioctl_info),
	COMMAND(TALLY_IOC_ATTACH, tally_attach, out_caps,
		offsetof(struct tally_attach, out_epoch), ioctl_attach),
	COMMAND(TALLY_IOC_SUBMIT, tally_submit, out_flags,
		offsetof(struct tally_submit, out_missing), ioctl_submit),
	COMMAND(TALLY_IOC_WAIT, tally_wait, __reserved,
		sizeof(struct tally_wait), ioctl_wait),
	COMMAND(TALLY_IOC_CANCEL, tally_cancel, seq,
		sizeof(struct tally_cancel), ioctl_cancel),
	COMMAND(TALLY_IOC_DETACH, tally_detach, flags,
		sizeof(struct tally_detach), ioctl_detach),
};

/* Which failures leave something in the outputs. */
static bool tells(int err)
{
	return !err || err == -EAGAIN || err == -EINVAL;
}

static long device_ioctl(struct file *filp, unsigned int cmd,
			 unsigned long user)
{
	const struct command *command;
	unsigned int nr = _IOC_NR(cmd);
	void __user *arg = (void __user *)user;
	u8 copy[256] __aligned(8);
	u32 size;
	int err;

	if (cmd != _IO(TALLY_IOC_MAGIC, nr) || nr >= ARRAY_SIZE(commands))
		return -ENOTTY;
	command = &commands[array_index_nospec(nr, ARRAY_SIZE(commands))];
	if (get_user(size, (u32 __user *)arg))
		return -EFAULT;
	if (size < command->min)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(copy, command->size, arg, size);
	if (err)
		return err;
	err = command->handler(filp->private_data, copy);
	size = min(size, command->size);
	if (tells(err) && size > command->out &&
	    copy_to_user(arg + command->out, copy + command->out,
			 size - command->out))
		return -EFAULT;
	return err;
}

static const struct file_operations device_fops = {
	.owner		= THIS_MODULE,
	.open		= device_open,
	.release	= device_release,
	.read		= device_read,
	.poll		= device_poll,
	.mmap		= device_mmap,
	.unlocked_ioctl	= device_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "tally",
	.fops	= &device_fops,
	/* Who may attach is the group's gid; the node itself says nothing. */
	.mode	= 0666,
};

int tally_device_init(void)
{
	return misc_register(&device);
}

void tally_device_exit(void)
{
	misc_deregister(&device);
}
