// SPDX-License-Identifier: GPL-2.0-only
/* A process becomes a rank of a group, and leaves it. */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/netdevice.h>
#include <linux/string.h>

#include "cells.h"
#include "device.h"
#include "host.h"
#include "netlink.h"
#include "netns.h"

static bool may_attach(const struct tally_host *host)
{
	kgid_t gid = READ_ONCE(host->gid);

	return in_egroup_p(gid) ||
	       ns_capable(host->ns->user_ns, CAP_NET_ADMIN);
}

static void describe(const struct tally_host *host,
		     const struct tally_cells *cells,
		     struct tally_attach *attach)
{
	const struct tally_engine_config *config = &host->config;

	attach->out_epoch = config->epoch;
	attach->out_ranks = tally_mask_count(config->members);
	attach->out_window = config->window;
	attach->out_cell_bytes = tally_config_cell_bytes(config);
	attach->out_cell_words = config->cell_words;
	attach->out_cells = tally_config_cells(config);
	attach->out_shard_chunks = config->shard_chunks;
	attach->out_tx_offset = TALLY_CELLS_TX;
	attach->out_result_offset = TALLY_CELLS_RESULT;
	attach->out_area_bytes = cells->area_bytes;
	attach->out_bound_us = READ_ONCE(host->bound_us);
	attach->out_timeout_us = READ_ONCE(host->timeout_us);
	attach->out_members = config->members;
	memcpy(attach->out_caps, config->caps, sizeof(attach->out_caps));
}

static int engine_attach(struct tally_file *file, struct tally_host *host,
			 struct tally_cells *cells,
			 struct tally_attach *attach)
{
	bool stale = false;
	int err;

	if (!tally_host_lock(host))
		return -ENODEV;
	err = tally_engine_attach(host->engine, attach->rank, cells->tx,
				  cells->result, &attach->out_seq, &stale);
	if (!err) {
		attach->out_flags = stale ? TALLY_ATTACH_STALE : 0;
		WRITE_ONCE(host->files[attach->rank], file);
		tally_netlink_event(host->ns, host->config.group,
				    TALLY_EVENT_ATTACH, attach->rank,
				    attach->out_seq, BIT_ULL(attach->rank));
	}
	tally_host_unlock(host);
	return err;
}

static int attach_to(struct tally_file *file, struct tally_host *host,
		     struct tally_attach *attach)
{
	u64 bytes = (u64)host->config.window *
		    tally_config_cells(&host->config) *
		    tally_config_cell_bytes(&host->config);
	struct tally_cells *cells;
	int err;

	if (!may_attach(host))
		return -EPERM;
	if (attach->rank >= TALLY_RANKS_MAX ||
	    !(tally_engine_rule(host->engine)->local >> attach->rank & 1))
		return -ENOENT;
	/* Asked again below; whom it is refused need not be charged first. */
	if (READ_ONCE(host->files[attach->rank]))
		return -EBUSY;
	cells = tally_cells_create(file->ns, bytes);
	if (IS_ERR(cells))
		return PTR_ERR(cells);
	err = engine_attach(file, host, cells, attach);
	if (err) {
		tally_cells_put(cells);
		return err;
	}
	if (file->cells)
		tally_cells_put(file->cells);
	file->cells = cells;
	file->rank = attach->rank;
	describe(host, cells, attach);
	return 0;
}

int tally_file_attach(struct tally_file *file, struct tally_attach *attach)
{
	struct tally_host *host;
	int err;

	if (READ_ONCE(file->ns->dead))
		return -ENODEV;
	down_write(&file->sem);
	err = -EBUSY;
	if (file->host || (file->cells && !tally_cells_unmapped(file->cells)))
		goto out;
	err = -ENOENT;
	host = tally_host_find(file->ns, attach->group);
	if (!host)
		goto out;
	err = -ENODEV;
	if (tally_host_enter(host)) {
		err = attach_to(file, host, attach);
		tally_host_leave(host);
	}
	if (err)
		tally_host_put(host);
	else
		file->host = host;
out:
	up_write(&file->sem);
	return err;
}

static void engine_detach(struct tally_file *file, struct tally_host *host)
{
	mutex_lock(&host->mutex);
	WRITE_ONCE(host->files[file->rank], NULL);
	if (!host->dead) {
		tally_engine_detach(host->engine, file->rank, ktime_get_ns());
		tally_netlink_event(host->ns, host->config.group,
				    TALLY_EVENT_DETACH, file->rank,
				    tally_engine_seq(host->engine),
				    BIT_ULL(file->rank));
		tally_host_kick(host);
	}
	mutex_unlock(&host->mutex);
}

int tally_file_detach(struct tally_file *file)
{
	struct tally_host *host;

	down_write(&file->sem);
	host = file->host;
	if (!host) {
		up_write(&file->sem);
		return -ENOTCONN;
	}
	file->host = NULL;
	engine_detach(file, host);
	/*
	 * Packets may be on their way into the result cells, which nobody can
	 * free before the semaphore is released.
	 */
	synchronize_net();
	up_write(&file->sem);
	tally_file_wake(file);
	tally_host_put(host);
	return 0;
}
