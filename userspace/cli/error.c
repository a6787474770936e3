// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* Errors are one line: what, why, and what to do about it. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024

char *cli_printable(char *text)
{
	unsigned char *p = (unsigned char *)text;

	for (; *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
	return text;
}

static void say(struct cli *cli, const char *prefix, const char *fmt,
		va_list args)
{
	char line[LINE_MAX_BYTES];

	vsnprintf(line, sizeof(line), fmt, args);
	fflush(cli->out);
	fprintf(cli->err, "tally: %s%s\n", prefix, cli_printable(line));
	fflush(cli->err);
}

int cli_error(struct cli *cli, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(cli, "", fmt, args);
	va_end(args);
	return CLI_ERROR;
}

int cli_usage(struct cli *cli, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(cli, "", fmt, args);
	va_end(args);
	return CLI_USAGE;
}

void cli_warn(struct cli *cli, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(cli, "warning: ", fmt, args);
	va_end(args);
}

int cli_nomem(struct cli *cli)
{
	return cli_error(cli, "out of memory; nothing was changed");
}

#define WORD_MAX 64

/* Edits that lead from @a to @b; a swap of neighbours is one. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2], *spare;
	size_t n = strlen(a), m = strlen(b), i, j, best;

	if (n > WORD_MAX || m > WORD_MAX)
		return SIZE_MAX;
	for (j = 0; j <= m; j++)
		last[j] = before[j] = j;
	for (i = 1; i <= n; i++) {
		row[0] = i;
		for (j = 1; j <= m; j++) {
			best = last[j - 1] + (a[i - 1] != b[j - 1]);
			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			row[j] = best;
		}
		spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[m];
}

const char *cli_nearest(const char *word, const void *words, size_t step)
{
	const char *best = NULL;
	size_t len = strlen(word), least, d;
	const char *const *entry;

	if (!len)
		return NULL;
	/* A third of the word may be wrong; a beginning is good enough. */
	least = (len + 2) / 3 + 1;
	for (entry = words; *entry;
	     entry = (const void *)((const char *)entry + step)) {
		if (len >= 2 && !strncmp(*entry, word, len))
			return *entry;
		d = distance(word, *entry);
		if (d < least) {
			least = d;
			best = *entry;
		}
	}
	return best;
}

const char *cli_did_you_mean(const char *word, const void *words, size_t step,
			     char *buf, size_t size)
{
	const char *near = cli_nearest(word, words, step);

	if (near)
		snprintf(buf, size, "; did you mean '%s'?", near);
	else
		snprintf(buf, size, "%s", "");
	return buf;
}

static int system_path(const struct cli *cli, const char *path, char *buf,
		       size_t size)
{
	int n = snprintf(buf, size, "%s%s", cli->root, path);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

long cli_read_file(const struct cli *cli, const char *path, char *buf,
		   size_t size)
{
	char full[4096];
	size_t at = 0;
	ssize_t n;
	int fd, ret;

	ret = system_path(cli, path, full, sizeof(full));
	if (ret)
		return ret;
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, buf + at, size - 1 - at);
		if (n > 0)
			at += (size_t)n;
	} while (n > 0 && at < size - 1);
	ret = n < 0 ? -errno : 0;
	close(fd);
	buf[at] = 0;
	return ret ? ret : (long)at;
}

bool cli_have_file(const struct cli *cli, const char *path)
{
	char full[4096];

	return !system_path(cli, path, full, sizeof(full)) &&
	       !access(full, F_OK);
}
