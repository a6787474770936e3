/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/* The kernel's generic netlink family `tally`. */
#ifndef TALLY_CLI_NETLINK_H
#define TALLY_CLI_NETLINK_H

#include "model.h"

#include <libmnl/libmnl.h>

#define NL_BUFFER	32768	/* the kernel fills a dump's messages up to it */
#define NL_WHY		256

/*
 * One message of an answer.  Return: MNL_CB_OK, or MNL_CB_ERROR with errno.
 */
typedef int (*nl_fn)(const struct nlmsghdr *nlh, void *data);

/**
 * struct nl - a way to talk to the family
 * @talk: send @req (its type is filled in) and pass each message of the answer
 *	to @fn (may be NULL).  Return: 0 or -errno; @why gets the kernel's own
 *	words or "".
 * @listen: hear the events from now on.  Return: 0 or -errno.
 * @next: pass one event to @fn.  Return: 1, 0 when @timeout_ms is over (-1:
 *	never), or -errno; -ENOBUFS: some were lost.
 * @close: and free
 */
struct nl {
	int	(*talk)(struct nl *nl, struct nlmsghdr *req, nl_fn fn,
			void *data, char *why, size_t size);
	int	(*listen)(struct nl *nl);
	int	(*next)(struct nl *nl, int timeout_ms, nl_fn fn, void *data);
	void	(*close)(struct nl *nl);
};

/* The opener of the real one. */
int nl_open(struct cli *cli);
void nl_close(struct cli *cli);

/* Open cli->nl unless it is.  Return: CLI_OK, CLI_ERROR. */
int nl_need(struct cli *cli);

/* Tell that the kernel refused to do @what.  Return: CLI_ERROR. */
int nl_refused(struct cli *cli, const char *what, int error, const char *why);

/* All groups of this namespace.  Return: CLI_OK, CLI_ERROR. */
int nl_groups(struct cli *cli, struct groups *groups);

/*
 * The one group that a person calls @name: a name or an id.  @groups: all of
 * them, from nl_groups().  Return: NULL if there is none, which was told.
 */
struct group *nl_find_group(struct cli *cli, const struct groups *groups,
			    const char *name);

/* Tell the kernel; 0 or -errno with its words in @why (NL_WHY bytes). */

/* @attrs: bit TALLY_A_GROUP_*: what of @g to send, besides the id. */
int nl_send_group(struct nl *nl, enum tally_cmd cmd, const struct group *g,
		  uint32_t attrs, char *why);
int nl_send_member(struct nl *nl, enum tally_cmd cmd, uint32_t id,
		   const struct member *m, char *why);

#define STATS_COUNTS	64	/* more than there are of either kind */

/**
 * struct stats - counters of one group, or of packets of no group
 * @group: id; 0: of no group
 * @counts: by enum tally_count
 * @drops: by enum tally_drop
 */
struct stats {
	uint32_t	group;
	uint64_t	counts[STATS_COUNTS];
	uint64_t	drops[STATS_COUNTS];
};

/* All of them, to be freed.  Return: CLI_OK, CLI_ERROR. */
int nl_stats(struct cli *cli, struct stats **stats, size_t *nr);

/**
 * struct event - one notification
 * @group: id
 * @kind: enum tally_event_kind, or one that is newer than this command
 * @rank: with @has_rank
 * @seq: with @has_seq
 * @mask: with @has_mask: ranks that it is about
 */
struct event {
	uint32_t	group;
	uint32_t	kind;
	uint32_t	rank;
	uint32_t	seq;
	uint64_t	mask;
	bool		has_rank;
	bool		has_seq;
	bool		has_mask;
};

/* Return: whether @nlh is an event that could be understood. */
bool nl_parse_event(const struct nlmsghdr *nlh, struct event *event);

/* For those who talk to other families. */

/*
 * Send @req on @socket and pass the messages of the answer to @fn.
 * Return: 0 or -errno; -EINTR: a dump was changed under way, ask again.
 */
int nl_exchange(struct mnl_socket *socket, struct nlmsghdr *req, nl_fn fn,
		void *data, char *why, size_t size);

/* A socket of @bus with the options that nl_exchange() wants, or NULL. */
struct mnl_socket *nl_socket(int bus);

/*
 * Ask for a generic family.  @mcgrp: of this name, its number goes to
 * @mcgrp_id; both may be NULL.  Return: the family's number, or -errno.
 */
int nl_family(struct mnl_socket *socket, const char *name, const char *mcgrp,
	      uint32_t *mcgrp_id);

/* Begin a generic message in @buf. */
struct nlmsghdr *nl_begin(void *buf, uint16_t type, uint16_t flags,
			  uint8_t cmd, uint8_t version);

#endif
