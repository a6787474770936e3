// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* The keys of groups and members: their values, limits and checks. */
#include "model.h"

#include <tally/wire.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_MIN	4
#define WINDOW_MAX	64
#define CAP_MAX		20	/* a million leaves */
#define US_MAX		TALLY_TIME_MAX_US	/* about 35 minutes */

const struct key group_keys[] = {
	{ "id", KEY_NUMBER, TALLY_A_GROUP_ID, 1, 65535,
	  "a number from 1 to 65535", false },
	{ "epoch", KEY_NUMBER, TALLY_A_GROUP_EPOCH, 0, UINT32_MAX,
	  "a number below 4294967296", false },
	{ "payload", KEY_PAYLOAD, TALLY_A_GROUP_PAYLOAD, TALLY_PAYLOAD_MIN,
	  TALLY_PAYLOAD_MAX,
	  "a multiple of 64 bytes from 64 to 8960, such as 1408", false },
	{ "window", KEY_WINDOW, TALLY_A_GROUP_WINDOW, WINDOW_MIN, WINDOW_MAX,
	  "4, 8, 16, 32 or 64", false },
	{ "max_bytes", KEY_SIZE, TALLY_A_GROUP_MAX_BYTES, TALLY_PAYLOAD_MIN,
	  1u << 30, "a size from 64 to 1G, such as 4M", false },
	{ "bound", KEY_TIME, TALLY_A_GROUP_BOUND_US, 1, US_MAX,
	  "a duration from 1us to 35min, such as 20ms", true },
	{ "settle", KEY_TIME, TALLY_A_GROUP_SETTLE_US, 1, US_MAX,
	  "a duration from 1us to 35min, such as 10ms", true },
	{ "timeout", KEY_TIME, TALLY_A_GROUP_TIMEOUT_US, 1, US_MAX,
	  "a duration from 1us to 35min, such as 5s", true },
	{ "quorum", KEY_NUMBER, TALLY_A_GROUP_QUORUM, 1, TALLY_RANKS,
	  "a number of members, 1 to 64", true },
	{ "gid", KEY_GID, TALLY_A_GROUP_GID, 0, UINT32_MAX - 1,
	  "a user group's name or number", true },
	{ "key_file", KEY_FILE, TALLY_A_GROUP_KEY, 0, 0,
	  "the path of a file with 32 hexadecimal digits", false },
	{ 0 }
};

const struct key member_keys[] = {
	{ "address", KEY_ADDRESS, MEMBER_ADDRESS, 0, 0,
	  "an IPv4 or IPv6 address, such as 10.0.0.1 or fd00::1", false },
	{ "port", KEY_NUMBER, MEMBER_PORT, 1, 65535,
	  "a number from 1 to 65535, such as 31249", false },
	{ "cap", KEY_NUMBER, MEMBER_CAP, 0, CAP_MAX,
	  "a number from 0 to 20: the log2 of the leaves that one contribution sums",
	  false },
	{ 0 }
};

const struct key *key_find(const struct key *table, const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

static const char *parse_value(const struct key *key, const char *text,
			       uint64_t *value)
{
	switch (key->kind) {
	case KEY_SIZE:
	case KEY_PAYLOAD:
		return units_size(text, value);
	case KEY_TIME:
		return units_time(text, value);
	case KEY_GID:
		return units_gid(text, value);
	default:
		return units_number(text, value);
	}
}

/* Return: NULL with @value set, or what is wrong. */
static const char *number(const struct key *key, const char *text,
			  uint32_t *value)
{
	const char *wrong;
	uint64_t v;

	if (!*text)
		return "empty";
	wrong = parse_value(key, text, &v);
	if (wrong)
		return wrong;
	if (v < key->min)
		return "too small";
	if (v > key->max)
		return "too large";
	if (key->kind == KEY_PAYLOAD && v % TALLY_PAYLOAD_ALIGN)
		return "no multiple of 64";
	if (key->kind == KEY_WINDOW && v & (v - 1))
		return "no power of two";
	*value = (uint32_t)v;
	return NULL;
}

static bool refuse(const struct key *key, const char *text, const char *wrong,
		   char *why, size_t size)
{
	snprintf(why, size, "'%.80s' is %s; %s must be %s", text, wrong,
		 key->name, key->right);
	return false;
}

bool group_set_key(struct group *g, const struct key *key, const char *text,
		   char *why, size_t size)
{
	const char *wrong = NULL;

	if (key->kind == KEY_FILE) {
		if (!*text)
			wrong = "empty";
		else if (strlen(text) >= sizeof(g->key_file))
			wrong = "too long";
		else
			strcpy(g->key_file, text);
	} else {
		wrong = number(key, text, &g->val[key->attr]);
	}
	if (wrong)
		return refuse(key, text, wrong, why, size);
	g->has |= 1u << key->attr;
	return true;
}

bool member_set_key(struct member *m, const struct key *key, const char *text,
		    char *why, size_t size)
{
	const char *wrong;

	switch (key->attr) {
	case MEMBER_ADDRESS:
		wrong = units_addr(text, &m->addr);
		break;
	case MEMBER_PORT:
		wrong = number(key, text, &m->port);
		break;
	default:
		wrong = number(key, text, &m->cap);
		break;
	}
	if (wrong)
		return refuse(key, text, wrong, why, size);
	m->has |= 1u << key->attr;
	return true;
}

char *group_key_text(const struct group *g, const struct key *key, char *buf,
		     size_t size)
{
	uint32_t value = g->val[key->attr];

	switch (key->kind) {
	case KEY_SIZE:
		return units_size_exact(value, buf, size);
	case KEY_TIME:
		return units_time_exact(value, buf, size);
	case KEY_FILE:
		snprintf(buf, size, "%s", g->key_file);
		return buf;
	default:
		snprintf(buf, size, "%u", value);
		return buf;
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* 32 digits and blanks behind them.  Return: whether @text is that. */
static bool parse_key(const char *text, uint8_t *key)
{
	int i, high, low;

	for (i = 0; i < KEY_BYTES; i++) {
		high = hex_digit(text[2 * i]);
		low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);
		if (low < 0)
			return false;
		key[i] = (uint8_t)(high << 4 | low);
	}
	text += 2 * KEY_BYTES;
	return !text[strspn(text, " \t\r\n")];
}

/* Return: bytes read, or -errno. */
static ssize_t read_key_file(const char *path, struct stat *st, char *buf,
			     size_t size)
{
	ssize_t n;
	int fd;

	/* Never wait for the writer of a pipe. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, st)) {
		n = -errno;
	} else if (!S_ISREG(st->st_mode)) {
		n = -EINVAL;
	} else {
		n = read(fd, buf, size);
		if (n < 0)
			n = -errno;
	}
	close(fd);
	return n;
}

int group_load_key(struct cli *cli, struct group *g, const char *dir,
		   const char *where)
{
	char path[2 * PATH_MAX_BYTES], text[128];
	struct stat st;
	ssize_t n;
	bool ok;

	snprintf(path, sizeof(path), "%s%s%s",
		 dir && g->key_file[0] != '/' ? dir : "",
		 dir && g->key_file[0] != '/' ? "/" : "", g->key_file);
	n = read_key_file(path, &st, text, sizeof(text) - 1);
	if (n == -EINVAL)
		return cli_error(cli, "%s: key_file %s: not a regular file; create it with: (umask 077; openssl rand -hex 16 >%s)",
				 where, path, path);
	if (n < 0)
		return cli_error(cli, "%s: key_file %s: %s; create it with: (umask 077; openssl rand -hex 16 >%s)",
				 where, path, strerror((int)-n), path);
	text[n] = 0;
	ok = strlen(text) == (size_t)n && parse_key(text, g->key);
	explicit_bzero(text, sizeof(text));
	if (!ok)
		return cli_error(cli, "%s: key_file %s: not a key; it must hold 32 hexadecimal digits, as 'openssl rand -hex 16' writes them",
				 where, path);
	if (st.st_mode & S_IROTH)
		cli_warn(cli, "%s: key_file %s: any user can read this key; chmod 600 %s",
			 where, path, path);
	g->has |= 1u << TALLY_A_GROUP_KEY;
	return CLI_OK;
}

/* One socket of the kernel serves the group. */
static const char *check_families(const struct group *g, char *why,
				  size_t size)
{
	uint32_t i;

	for (i = 1; i < g->nr_members; i++) {
		if (g->members[i].addr.family == g->members[0].addr.family)
			continue;
		snprintf(why, size, "members %u and %u mix IPv4 and IPv6; use one of them in a group",
			 g->members[0].rank, g->members[i].rank);
		return why;
	}
	return NULL;
}

const char *group_check(const struct group *g, unsigned int *attr, char *why,
			size_t size)
{
	uint64_t bound = g->val[TALLY_A_GROUP_BOUND_US];
	uint64_t settle = g->val[TALLY_A_GROUP_SETTLE_US];
	uint64_t timeout = g->val[TALLY_A_GROUP_TIMEOUT_US];
	char text[UNITS_TEXT], other[UNITS_TEXT];

	*attr = TALLY_A_GROUP_MAX_BYTES;
	if (group_has(g, TALLY_A_GROUP_MAX_BYTES) &&
	    group_has(g, TALLY_A_GROUP_PAYLOAD) &&
	    g->val[TALLY_A_GROUP_MAX_BYTES] < g->val[TALLY_A_GROUP_PAYLOAD]) {
		snprintf(why, size, "max_bytes %u is less than one payload of %u; raise max_bytes, such as 4M",
			 g->val[TALLY_A_GROUP_MAX_BYTES],
			 g->val[TALLY_A_GROUP_PAYLOAD]);
		return why;
	}
	*attr = TALLY_A_GROUP_QUORUM;
	if (g->nr_members && g->val[TALLY_A_GROUP_QUORUM] > g->nr_members) {
		snprintf(why, size, "quorum %u is more than the %u members; it must be 1 to %u",
			 g->val[TALLY_A_GROUP_QUORUM], g->nr_members,
			 g->nr_members);
		return why;
	}
	*attr = TALLY_A_GROUP_TIMEOUT_US;
	if (group_has(g, TALLY_A_GROUP_TIMEOUT_US) && timeout < bound) {
		snprintf(why, size, "timeout %s is shorter than bound %s; it must be longer",
			 units_time_exact(timeout, text, sizeof(text)),
			 units_time_exact(bound, other, sizeof(other)));
		return why;
	}
	if (group_has(g, TALLY_A_GROUP_TIMEOUT_US) && timeout <= settle) {
		snprintf(why, size, "timeout %s is not longer than settle %s; it must be",
			 units_time_exact(timeout, text, sizeof(text)),
			 units_time_exact(settle, other, sizeof(other)));
		return why;
	}
	*attr = 0;
	return check_families(g, why, size);
}
