// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#include "units.h"

#include <arpa/inet.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>

struct unit {
	const char	*name;
	uint64_t	factor;
};

/* Largest first: the formatters take the first that fits. */
static const struct unit size_units[] = {
	{ "GiB", 1ull << 30 }, { "G", 1ull << 30 },
	{ "MiB", 1ull << 20 }, { "M", 1ull << 20 },
	{ "KiB", 1ull << 10 }, { "K", 1ull << 10 }, { "k", 1ull << 10 },
	{ "B", 1 }, { "", 1 },
	{ NULL, 0 },
};

static const struct unit time_units[] = {
	{ "min", 60000000 },
	{ "s", 1000000 },
	{ "ms", 1000 },
	{ "us", 1 },
	{ NULL, 0 },
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Digits into @value, from *@text on, which moves behind them.  Return: false
 * if there are none or too many.
 */
static bool digits(const char **text, uint64_t *value)
{
	const char *p = *text;

	if (!is_digit(*p))
		return false;
	*value = 0;
	for (; is_digit(*p); p++) {
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, *p - '0', value))
			return false;
	}
	*text = p;
	return true;
}

const char *units_number(const char *text, uint64_t *value)
{
	uint64_t v;

	if (!digits(&text, &v) || *text)
		return "not a number";
	*value = v;
	return NULL;
}

/*
 * "whole.fraction" times @factor, which must come out whole.  At most six
 * digits of fraction.
 */
static const char *scaled(uint64_t whole, const char *fraction, size_t len,
			  uint64_t factor, uint64_t *value)
{
	uint64_t part = 0, scale = 1, v;
	size_t i;

	if (len > 6)
		return "has too many decimal places";
	for (i = 0; i < len; i++) {
		part = part * 10 + (uint64_t)(fraction[i] - '0');
		scale *= 10;
	}
	if (part * factor % scale)
		return "is no whole number of the smallest unit";
	if (__builtin_mul_overflow(whole, factor, &v) ||
	    __builtin_add_overflow(v, part * factor / scale, &v))
		return "too large";
	*value = v;
	return NULL;
}

/* @what: said when the text is no number with a unit at all */
static const char *parse_unit(const char *text, const struct unit *units,
			      const char *what, uint64_t *value)
{
	const char *fraction = "";
	size_t len = 0;
	uint64_t whole;

	if (!digits(&text, &whole))
		return what;
	if (*text == '.') {
		fraction = ++text;
		while (is_digit(text[len]))
			len++;
		if (!len)
			return what;
		text += len;
	}
	while (*text == ' ')
		text++;
	if (!whole && !len && !*text) {
		*value = 0;
		return NULL;
	}
	for (; units->name; units++)
		if (!strcmp(units->name, text))
			return scaled(whole, fraction, len, units->factor,
				      value);
	return what;
}

const char *units_size(const char *text, uint64_t *bytes)
{
	return parse_unit(text, size_units,
			  "not a size (bytes, or with K, M or G)", bytes);
}

const char *units_time(const char *text, uint64_t *us)
{
	return parse_unit(text, time_units,
			  "not a duration (a number with us, ms, s or min)",
			  us);
}

const char *units_gid(const char *text, uint64_t *gid)
{
	const struct group *users;

	if (is_digit(*text))
		return units_number(text, gid);
	users = getgrnam(text);
	if (!users)
		return "no user group of this host";
	*gid = users->gr_gid;
	return NULL;
}

const char *units_addr(const char *text, struct addr *addr)
{
	struct addr a = { .family = AF_INET };

	if (inet_pton(AF_INET, text, a.bytes) != 1) {
		a.family = AF_INET6;
		if (inet_pton(AF_INET6, text, a.bytes) != 1)
			return "not an IPv4 or IPv6 address";
	}
	if (a.family == AF_INET) {
		if (!a.bytes[0] || a.bytes[0] >= 224)
			return "not an address of one host";
	} else {
		static const uint8_t none[16];

		if (!memcmp(a.bytes, none, sizeof(none)) ||
		    a.bytes[0] == 0xff)
			return "not an address of one host";
		if (a.bytes[0] == 0xfe && (a.bytes[1] & 0xc0) == 0x80)
			return "link-local, which means another host on each device";
		if (!memcmp(a.bytes, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12))
			return "an IPv4 address in IPv6 form";
	}
	*addr = a;
	return NULL;
}

static char *exact(uint64_t value, const struct unit *units, const char *zero,
		   char *buf, size_t size)
{
	const struct unit *u = units;

	if (!value) {
		snprintf(buf, size, "%s", zero);
		return buf;
	}
	while (u->factor > 1 && value % u->factor)
		u++;
	snprintf(buf, size, "%llu%s",
		 (unsigned long long)(value / u->factor), u->name);
	return buf;
}

char *units_size_exact(uint64_t bytes, char *buf, size_t size)
{
	/* The form without "iB": what configuration files say. */
	static const struct unit plain[] = {
		{ "G", 1ull << 30 }, { "M", 1ull << 20 }, { "K", 1ull << 10 },
		{ "", 1 },
	};

	return exact(bytes, plain, "0", buf, size);
}

char *units_time_exact(uint64_t us, char *buf, size_t size)
{
	return exact(us, time_units, "0", buf, size);
}

/* Three significant digits are enough for a person. */
static char *human(uint64_t value, const struct unit *u, char *buf,
		   size_t size)
{
	uint64_t whole, tenths;

	while (u->factor > 1 && value < u->factor)
		u++;
	whole = value / u->factor;
	tenths = value % u->factor * 10 / u->factor;
	if (whole < 100 && tenths)
		snprintf(buf, size, "%llu.%llu %s", (unsigned long long)whole,
			 (unsigned long long)tenths, u->name);
	else
		snprintf(buf, size, "%llu %s", (unsigned long long)whole,
			 u->name);
	return buf;
}

char *units_size_human(uint64_t bytes, char *buf, size_t size)
{
	static const struct unit plain[] = {
		{ "GiB", 1ull << 30 }, { "MiB", 1ull << 20 },
		{ "KiB", 1ull << 10 }, { "B", 1 },
	};

	/* A payload of 8960 B is known by that number, not as 8.7 KiB. */
	if (bytes < 10240 && bytes % 1024) {
		snprintf(buf, size, "%llu B", (unsigned long long)bytes);
		return buf;
	}
	return human(bytes, plain, buf, size);
}

char *units_time_human(uint64_t us, char *buf, size_t size)
{
	static const struct unit plain[] = {
		{ "h", 3600000000ull }, { "min", 60000000 },
		{ "s", 1000000 }, { "ms", 1000 }, { "us", 1 },
	};

	return human(us, plain, buf, size);
}

char *units_count_human(uint64_t count, char *buf, size_t size)
{
	char text[32];
	size_t n, i, to = 0;

	n = (size_t)snprintf(text, sizeof(text), "%llu",
			     (unsigned long long)count);
	for (i = 0; i < n && to + 2 < size; i++) {
		if (i && (n - i) % 3 == 0)
			buf[to++] = ',';
		buf[to++] = text[i];
	}
	buf[to] = 0;
	return buf;
}

char *units_ranks(uint64_t mask, char *buf, size_t size)
{
	size_t at = 0;
	int rank, first;

	snprintf(buf, size, "%s", mask ? "" : "none");
	for (rank = 0; rank < 64 && at < size; rank++) {
		if (!(mask >> rank & 1))
			continue;
		first = rank;
		while (rank < 63 && mask >> (rank + 1) & 1)
			rank++;
		at += (size_t)snprintf(buf + at, size - at, "%s%d",
				       at ? "," : "", first);
		if (rank > first && at < size)
			at += (size_t)snprintf(buf + at, size - at, "%s%d",
					       rank == first + 1 ? "," : "-",
					       rank);
	}
	return buf;
}

char *units_addr_text(const struct addr *addr, char *buf, size_t size)
{
	if (!addr->family ||
	    !inet_ntop(addr->family, addr->bytes, buf, (socklen_t)size))
		snprintf(buf, size, "-");
	return buf;
}

bool units_addr_equal(const struct addr *a, const struct addr *b)
{
	return a->family == b->family &&
	       !memcmp(a->bytes, b->bytes, a->family == AF_INET ? 4 : 16);
}
