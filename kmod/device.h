/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/tally */
#ifndef _TALLY_DEVICE_H
#define _TALLY_DEVICE_H

#include <linux/atomic.h>
#include <linux/rwsem.h>
#include <linux/tally.h>
#include <linux/types.h>
#include <linux/wait.h>

struct tally_cells;
struct tally_host;
struct tally_net;

/**
 * struct tally_file - one open /dev/tally: one attachment at most
 * @ns: namespace in which it was opened; a reference
 * @sem: write: attach and detach; read: whatever needs the attachment.  Outside
 *	&struct tally_host.sem and .mutex; no user memory is touched under it
 * @host: attached to this group, with a reference, or NULL
 * @rank: as this rank
 * @cells: of the present attachment, or of the last one
 * @wait: who polls, reads or waits
 * @wakes: how often they were woken
 */
struct tally_file {
	struct tally_net	*ns;
	struct rw_semaphore	sem;
	struct tally_host	*host;
	u32			rank;
	struct tally_cells	*cells;
	wait_queue_head_t	wait;
	atomic_t		wakes;
};

void tally_file_wake(struct tally_file *file);

/* The attachment's group, until leave(); ERR_PTR() without. */
struct tally_host *tally_file_enter(struct tally_file *file);
void tally_file_leave(struct tally_file *file);

/* attach.c */
int tally_file_attach(struct tally_file *file, struct tally_attach *attach);
/* -ENOTCONN */
int tally_file_detach(struct tally_file *file);

/* submit.c */
int tally_file_submit(struct tally_file *file, struct tally_submit *submit);
int tally_file_cancel(struct tally_file *file, u32 seq);

int tally_device_init(void);
void tally_device_exit(void);

#endif
