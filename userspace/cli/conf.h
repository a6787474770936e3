/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * Configuration files, see tally.conf(5): [group NAME] sections, each followed
 * by its [member RANK] sections.
 */
#ifndef TALLY_CLI_CONF_H
#define TALLY_CLI_CONF_H

#include "model.h"

/*
 * Read the groups of a file and check each by itself and against the others.
 * The first error is told with file, line and key.
 * @keys: read the key files too
 * Return: CLI_OK with @groups to be freed, or CLI_ERROR with none.
 */
int conf_read(struct cli *cli, const char *path, bool keys,
	      struct groups *groups);

/*
 * The same from a stream; @name is for messages.  @dir: where relative key
 * files lie; NULL: do not load keys.
 */
int conf_read_stream(struct cli *cli, FILE *file, const char *name,
		     const char *dir, struct groups *groups);

/* Write what conf_read() understands. */
void conf_write(FILE *file, const struct groups *groups);

#endif
