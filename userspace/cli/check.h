/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/* Findings about this host, and those about a group's paths. */
#ifndef TALLY_CLI_CHECK_H
#define TALLY_CLI_CHECK_H

#include "model.h"

enum severity {
	FINDING_OK,
	FINDING_INFO,	/* worth knowing, nothing to do */
	FINDING_WARN,	/* works, but badly */
	FINDING_FAIL,	/* does not work */
};

/**
 * struct finding - one thing that was looked at
 * @severity: how bad it is
 * @check: what was looked at, one word
 * @text: what was found
 * @remedy: what to do, or "" where nothing need be done
 */
struct finding {
	enum severity	severity;
	char		check[24];
	char		text[256];
	char		remedy[256];
};

/**
 * struct findings - a list of them
 * @at: the list owns them
 * @nr: how many
 * @worst: severity of the worst
 * @lost: some could not be kept for lack of memory
 */
struct findings {
	struct finding	*at;
	size_t		nr;
	enum severity	worst;
	bool		lost;
};

void findings_add(struct findings *f, enum severity severity,
		  const char *check, const char *text, ...)
	__attribute__((format(printf, 4, 5)));

/* Set the remedy of the one that was added last. */
void findings_remedy(struct findings *f, const char *remedy, ...)
	__attribute__((format(printf, 2, 3)));
void findings_free(struct findings *f);

/*
 * Look at the ways to the members of a group: whether one of them is here,
 * whether there are routes, and whether packets with @payload bytes fit; 0:
 * not known.  Return: CLI_OK, CLI_ERROR if that could not be found out.
 */
int check_paths(struct cli *cli, const struct group *g, uint32_t payload,
		struct findings *f);

/* Bytes of a packet around its payload. */
uint32_t check_overhead(int family);

#endif
