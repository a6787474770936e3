/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * Groups and members, whether a person asked for them (command line, file) or
 * the kernel reported them, and the table of their keys.
 */
#ifndef TALLY_CLI_MODEL_H
#define TALLY_CLI_MODEL_H

#include "cli.h"
#include "units.h"

#include <linux/tally.h>

#define NAME_MAX_BYTES	32	/* with the 0 */
#define PATH_MAX_BYTES	1024
#define KEY_BYTES	16
#define WHY_BYTES	256

/**
 * struct member - one rank of a group
 * @rank: number, below TALLY_RANKS
 * @addr: address
 * @port: UDP port
 * @cap: log2 of the leaves that one contribution sums
 * @has: of a file's member: bit per enum member_key that was given
 * @line: of the file's section; 0: not from a file
 * @local: reported: the address is of this namespace
 * @attached: reported: a process is attached
 * @stale: reported: it must receive state first
 * @seen: @seen_ms was reported
 * @done: reported: every seq before it is finished there
 * @seen_ms: reported: time since its last packet
 */
struct member {
	uint32_t	rank;
	struct addr	addr;
	uint32_t	port;
	uint32_t	cap;
	uint32_t	has;
	int		line;
	bool		local;
	bool		attached;
	bool		stale;
	bool		seen;
	uint32_t	done;
	uint32_t	seen_ms;
};

/**
 * struct group - configuration of a group, and what the kernel reports of it
 * @name: or ""
 * @val: by attribute TALLY_A_GROUP_*, those that are numbers
 * @has: bit n: @val[n] (or name, key) was given or reported
 * @key: with TALLY_A_GROUP_KEY in @has
 * @key_file: where the key came from, or ""
 * @members: ordered by rank
 * @nr_members: how many
 * @line: of the file's section; 0: not from a file
 * @keyed: reported
 * @up: reported
 * @seq: reported: highest seq seen
 * @bytes: reported: memory of the group
 */
struct group {
	char		name[NAME_MAX_BYTES];
	uint32_t	val[TALLY_A_GROUP_MAX + 1];
	uint32_t	has;
	uint8_t		key[KEY_BYTES];
	char		key_file[PATH_MAX_BYTES];
	struct member	members[TALLY_RANKS];
	uint32_t	nr_members;
	int		line;
	bool		keyed;
	bool		up;
	uint32_t	seq;
	uint64_t	bytes;
};

/**
 * struct groups - a list of groups
 * @at: the groups; the list owns them
 * @nr: how many
 * @room: for how many
 */
struct groups {
	struct group	*at;
	size_t		nr;
	size_t		room;
};

/* Return: a zeroed group at the end of the list, or NULL without memory. */
struct group *groups_add(struct groups *list);
struct group *groups_by_id(const struct groups *list, uint32_t id);
struct group *groups_by_name(const struct groups *list, const char *name);

/* Forget the groups and wipe their keys. */
void groups_free(struct groups *list);

static inline bool group_has(const struct group *g, unsigned int attr)
{
	return g->has >> attr & 1;
}

static inline uint32_t group_id(const struct group *g)
{
	return g->val[TALLY_A_GROUP_ID];
}

/* What messages call the group: its name, else "group N". */
const char *group_label(const struct group *g, char *buf, size_t size);

/* Return: whether @name may be a group's; @why says what is wrong. */
bool group_name_ok(const char *name, const char **why);

struct member *group_member(struct group *g, uint32_t rank);

/*
 * Return: a zeroed member of @rank at its place; NULL if there is one or the
 * group is full.
 */
struct member *group_insert_member(struct group *g, uint32_t rank);
void group_remove_member(struct group *g, uint32_t rank);

/* How the values of a key look. */
enum key_kind {
	KEY_NUMBER,
	KEY_SIZE,
	KEY_PAYLOAD,	/* size, multiple of 64 */
	KEY_WINDOW,	/* power of two */
	KEY_TIME,
	KEY_GID,
	KEY_FILE,
	KEY_ADDRESS,
};

/**
 * struct key - a setting, alike on the command line and in files
 * @name: of the key
 * @kind: how its value looks
 * @attr: of a group: TALLY_A_GROUP_*; of a member: enum member_key
 * @min: least value
 * @max: greatest
 * @right: what would be right, after "must be "
 * @live: may change while the group is up
 */
struct key {
	const char	*name;
	enum key_kind	kind;
	unsigned int	attr;
	uint32_t	min;
	uint32_t	max;
	const char	*right;
	bool		live;
};

enum member_key {
	MEMBER_ADDRESS,
	MEMBER_PORT,
	MEMBER_CAP,
};

extern const struct key group_keys[];	/* end: NULL name */
extern const struct key member_keys[];	/* end: NULL name */

const struct key *key_find(const struct key *table, const char *name);

/*
 * Set one key of a group or member from text.  A key file's path is taken as
 * it is; group_load_key() reads it.  Return: true, or false with @why set to
 * "'text' is wrong; name must be so".
 */
bool group_set_key(struct group *g, const struct key *key, const char *text,
		   char *why, size_t size);
bool member_set_key(struct member *m, const struct key *key, const char *text,
		    char *why, size_t size);

/* The value as a file has it, "20ms". */
char *group_key_text(const struct group *g, const struct key *key, char *buf,
		     size_t size);

/*
 * Read g->key from g->key_file, relative to @dir if that is not NULL.
 * @where goes before the message.  Return: CLI_OK, CLI_ERROR.
 */
int group_load_key(struct cli *cli, struct group *g, const char *dir,
		   const char *where);

/*
 * Test what no single key can: values against each other, and the members.
 * Return: NULL, or what is wrong (in @why), with @attr set to the key that
 * stands in the way; 0: it is the members.
 */
const char *group_check(const struct group *g, unsigned int *attr, char *why,
			size_t size);

#endif
