/* SPDX-License-Identifier: GPL-2.0-only */
/* Groups as they are configured. */
#ifndef _TALLY_GROUP_H
#define _TALLY_GROUP_H

#include <linux/netlink.h>
#include <linux/uidgid.h>
#include <tally/tag.h>
#include <tally/wire.h>

#include "address.h"
#include "stats.h"

struct tally_host;
struct tally_net;

#define TALLY_GROUP_NAME	32	/* bytes, with the terminating zero */

/* What a group has that is not told otherwise. */
#define TALLY_GROUP_PAYLOAD	1344	/* fits IPv4 and IPv6 at MTU 1500 */
#define TALLY_GROUP_WINDOW	4
#define TALLY_GROUP_WINDOW_MIN	4
#define TALLY_GROUP_WINDOW_MAX	64
#define TALLY_GROUP_BYTES	(4u << 20)
#define TALLY_GROUP_BYTES_MAX	BIT(30)
#define TALLY_GROUP_CAP_MAX	20	/* log2 of leaves below a member */

/**
 * struct tally_settings - what can be set of a group
 * @name: for people, may be empty
 * @epoch: version of the membership
 * @payload: of a packet, bytes
 * @window: collectives in flight
 * @max_bytes: of one collective
 * @bound_us: default of SUBMIT
 * @settle_us: 0: the engine's default
 * @timeout_us: default of SUBMIT
 * @gid: who may attach
 * @keyed: @key is set
 * @key: never leaves the kernel
 */
struct tally_settings {
	char	name[TALLY_GROUP_NAME];
	u32	epoch;
	u32	payload;
	u32	window;
	u32	max_bytes;
	u32	bound_us;
	u32	settle_us;
	u32	timeout_us;
	kgid_t	gid;
	bool	keyed;
	u8	key[TALLY_KEY_BYTES];
};

/**
 * struct tally_group - one group's configuration
 * @id: number on the wire
 * @set: settings
 * @members: mask of ranks
 * @address: by rank
 * @caps: by rank: log2 of leaves below the member
 * @stats: kept when the group goes down
 * @host: while the group is up
 *
 * All under the namespace's mutex.
 */
struct tally_group {
	u16			id;
	struct tally_settings	set;
	u64			members;
	struct tally_address	address[TALLY_RANKS_MAX];
	u8			caps[TALLY_RANKS_MAX];
	struct tally_stats	stats;
	struct tally_host	*host;
};

void tally_settings_init(const struct tally_net *ns,
			 struct tally_settings *set);
int tally_settings_check(const struct tally_settings *set,
			 struct netlink_ext_ack *extack);

/* All of these with the namespace's mutex held. */

/* ERR_PTR(-EEXIST), ERR_PTR(-ENOMEM) */
struct tally_group *tally_group_create(struct tally_net *ns, u16 id,
				       const struct tally_settings *set);
/* @set was checked; of a group that is up, only what may change then. */
void tally_group_set(struct tally_group *group,
		     const struct tally_settings *set);
struct tally_group *tally_group_find(struct tally_net *ns, u16 id);
/* Takes it down first if it is up. */
void tally_group_delete(struct tally_net *ns, struct tally_group *group);
int tally_group_up(struct tally_net *ns, struct tally_group *group,
		   struct netlink_ext_ack *extack);
void tally_group_down(struct tally_net *ns, struct tally_group *group);

/* The namespace goes: make all dead; after a grace period, free all. */
void tally_group_kill_all(struct tally_net *ns);
void tally_group_free_all(struct tally_net *ns);

#endif
