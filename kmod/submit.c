// SPDX-License-Identifier: GPL-2.0-only
/* A process begins a collective, or ends it early. */
#include <linux/err.h>
#include <linux/ktime.h>

#include "device.h"
#include "host.h"

/* What can be said of the structure without the group. */
static int check(const struct tally_submit *submit)
{
	if (submit->flags & ~__TALLY_SUBMIT_ALL || submit->__reserved0 ||
	    submit->__reserved1)
		return -EINVAL;
	if (!submit->op || submit->op >= __TALLY_OP_END)
		return -EINVAL;
	if (submit->weight > TALLY_WEIGHT_MAX)
		return -EINVAL;
	if (submit->bound_us > TALLY_TIME_MAX_US ||
	    submit->timeout_us > TALLY_TIME_MAX_US)
		return -EINVAL;
	if (submit->flags & TALLY_SUBMIT_STATE &&
	    submit->op != TALLY_OP_BROADCAST)
		return -EINVAL;
	if (submit->op == TALLY_OP_BROADCAST ?
	    submit->root >= TALLY_RANKS_MAX : submit->root)
		return -EINVAL;
	if (submit->op == TALLY_OP_BARRIER || submit->op == TALLY_OP_REJOIN)
		return submit->words ? -EINVAL : 0;
	if (!submit->lane || submit->lane >= __TALLY_LANE_END)
		return -EINVAL;
	return submit->words ? 0 : -EINVAL;
}

int tally_file_submit(struct tally_file *file, struct tally_submit *submit)
{
	struct tally_host *host;
	int err;

	err = check(submit);
	submit->out_missing = 0;
	submit->out_seq = 0;
	submit->out_flags = 0;
	if (err)
		return err;
	host = tally_file_enter(file);
	if (IS_ERR(host))
		return PTR_ERR(host);
	if (!submit->bound_us)
		submit->bound_us = READ_ONCE(host->bound_us);
	if (!submit->timeout_us)
		submit->timeout_us = READ_ONCE(host->timeout_us);
	err = tally_engine_submit(host->engine, file->rank, submit,
				  ktime_get_ns());
	tally_file_leave(file);
	return err;
}

int tally_file_cancel(struct tally_file *file, u32 seq)
{
	struct tally_host *host = tally_file_enter(file);
	int err = -ENODEV;

	if (IS_ERR(host))
		return PTR_ERR(host);
	if (tally_host_lock(host)) {
		err = tally_engine_cancel(host->engine, file->rank, seq,
					  ktime_get_ns());
		tally_host_unlock(host);
	}
	tally_file_leave(file);
	return err;
}
