/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * Numbers, sizes, durations and addresses: from text, and back to text.
 *
 * Parsers take the whole string or refuse it; they return NULL and set the
 * value, or return what is wrong with the text (a constant).
 */
#ifndef TALLY_CLI_UNITS_H
#define TALLY_CLI_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNITS_TEXT	192	/* room for anything that is formatted here */

/**
 * struct addr - an IPv4 or IPv6 address
 * @family: AF_INET, AF_INET6, or 0: none
 * @bytes: network order; IPv4 uses the first four
 */
struct addr {
	int	family;
	uint8_t	bytes[16];
};

/* Decimal, no sign. */
const char *units_number(const char *text, uint64_t *value);

/* Bytes: "4096", "4K", "4MiB", "1.5M"; K, M and G are powers of 1024. */
const char *units_size(const char *text, uint64_t *bytes);

/* Microseconds: "250us", "20ms", "1.5s", "2min", or "0". */
const char *units_time(const char *text, uint64_t *us);

/* A user group of this host, by number or name. */
const char *units_gid(const char *text, uint64_t *gid);

const char *units_addr(const char *text, struct addr *addr);

/* The exact value in the largest unit that divides it; parses back. */
char *units_size_exact(uint64_t bytes, char *buf, size_t size);
char *units_time_exact(uint64_t us, char *buf, size_t size);

/* Short, for people: "4 MiB", "1.5 GiB", "20 ms". */
char *units_size_human(uint64_t bytes, char *buf, size_t size);
char *units_time_human(uint64_t us, char *buf, size_t size);

/* "12,345,678" */
char *units_count_human(uint64_t count, char *buf, size_t size);

/* Ranks of a mask: "0-3,7", or "none". */
char *units_ranks(uint64_t mask, char *buf, size_t size);

char *units_addr_text(const struct addr *addr, char *buf, size_t size);
bool units_addr_equal(const struct addr *a, const struct addr *b);

#endif
