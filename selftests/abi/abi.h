/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of the module's interface share: network namespaces as hosts,
 * configuration over netlink, attachments, collectives.
 */
#ifndef TALLY_SELFTESTS_ABI_H
#define TALLY_SELFTESTS_ABI_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/tally.h>
#include <tally/drops.h>
#include <tally/layout.h>
#include <tally/wire.h>

/* Longer than anything that is expected to end, milliseconds. */
#define ABI_WAIT_MS	20000

/* Run a shell command; true if it succeeds. */
bool sh(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The present network namespace is left for a fresh one, with lo up. */
int netns_fresh(void);
/* Into the namespace of that name ("ip netns"); "": where the test began. */
int netns_enter(const char *name);

/**
 * struct nl - generic netlink to the family in one namespace
 * @sock: socket
 * @family: number of the family
 * @group: of notifications
 * @seq: of the last request
 * @why: what the kernel said of the last request, may be empty
 */
struct nl {
	struct mnl_socket	*sock;
	uint16_t		family;
	uint32_t		group;
	uint32_t		seq;
	char			why[160];
};

/**
 * struct req - a request being written
 * @buf: message
 * @nlh: its header
 * @nest: open nest
 */
struct req {
	char		buf[2048] __attribute__((aligned(8)));
	struct nlmsghdr	*nlh;
	struct nlattr	*nest;
};

/* In the present namespace: 0 or -errno. */
int nl_open(struct nl *nl);
void nl_close(struct nl *nl);
struct nlmsghdr *req_begin(struct req *req, uint8_t cmd, uint16_t flags);
/* Opens the nest of the group and puts its id; req_end() closes it. */
void req_group(struct req *req, uint16_t id);
void req_nest(struct req *req, uint16_t type);
void req_end(struct req *req);
/* Send, and give answers to @cb: 0 or -errno. */
int nl_talk(struct nl *nl, struct req *req, mnl_cb_t cb, void *data);

/**
 * struct abi_group - what tests set of a group
 * @id: number
 * @epoch: of the membership; 0: do not set; as are all below
 * @payload: bytes
 * @window: collectives in flight
 * @max_bytes: of a collective
 * @bound_us: bound
 * @settle_us: wait for an owner before chunks are decided without it
 * @timeout_us: timeout
 * @gid: who may attach; -1: do not set
 * @key: NULL: none
 */
struct abi_group {
	uint16_t	id;
	uint32_t	epoch;
	uint32_t	payload;
	uint32_t	window;
	uint32_t	max_bytes;
	uint32_t	bound_us;
	uint32_t	settle_us;
	uint32_t	timeout_us;
	int64_t		gid;
	const uint8_t	*key;
};

int group_add(struct nl *nl, const struct abi_group *group);
/* UP, DOWN, DEL of one group. */
int group_do(struct nl *nl, uint8_t cmd, uint16_t id);
/* @address: "10.1.2.3" or "fd00::1"; port 0: the usual. */
int member_add(struct nl *nl, uint16_t id, uint32_t rank, const char *address,
	       uint16_t port);
/* At the usual port, for 2^@cap leaves. */
int member_add_capped(struct nl *nl, uint16_t id, uint32_t rank,
		      const char *address, uint32_t cap);
/* Counters of a group, or of no group with id 0. */
struct stats {
	uint64_t	counts[__TALLY_COUNT_END];
	uint64_t	drops[__TALLY_DROP_END];
};

int stats_get(struct nl *nl, uint16_t id, struct stats *stats);

/**
 * struct rank - one attachment
 * @fd: /dev/tally
 * @geo: what ATTACH said
 * @tx: cells to send
 * @result: cells that came back
 * @next: number of the next collective
 */
struct rank {
	int			fd;
	struct tally_attach	geo;
	uint8_t			*tx;
	const uint8_t		*result;
	uint32_t		next;
};

/* Open in the present namespace, attach and map: 0 or -errno. */
int rank_attach(struct rank *rank, uint32_t group, uint32_t number);
void rank_close(struct rank *rank);

struct tally_hdr *tx_cell(const struct rank *rank, uint32_t seq, uint32_t at);
const struct tally_hdr *result_cell(const struct rank *rank, uint32_t seq,
				    uint32_t at);
static inline uint64_t *cell_words(const struct tally_hdr *cell)
{
	return (uint64_t *)((uintptr_t)cell + sizeof(*cell));
}

/* Cut @value, @words long, into tx cells of the next collective. */
void tx_put(const struct rank *rank, const uint64_t *value, uint32_t words);
/* SUBMIT with the next number: 0 or -errno. */
int rank_submit(struct rank *rank, struct tally_submit *submit);
/* WAIT at most ABI_WAIT_MS: 0 or -errno. */
int rank_wait(struct rank *rank, uint32_t seq, struct tally_completion *out);
uint64_t now_ns(void);

/* A hosts's name: netns and end of its veth; addresses 10.77.0.N, fd77::N. */
#define HOSTS_MAX	8
/*
 * Namespaces h1 ... hN on one bridge, which lives in a namespace of its own.
 * 0 or -1.
 */
int hosts_make(uint32_t n, uint32_t mtu);
void hosts_remove(void);
void host_name(char *name, uint32_t i);
void host_address(char *address, uint32_t i, bool v6);

#endif
