// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * inih takes lines apart; the reader that feeds it counts lines and sees the
 * section headers, because inih does not report a section without keys or one
 * that comes twice.
 */
#include "conf.h"

#include <tally/wire.h>

#include <errno.h>
#include <ini.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES	190	/* inih cuts lines off at 200 */

/**
 * struct parser - state of one file
 * @cli: for messages
 * @file: what is read
 * @name: of the file
 * @groups: read so far; the last one is the present
 * @member: the present member, NULL in a [group] section
 * @line: that inih works on
 * @key_lines: by attribute, of the present section; 0: not given
 * @group_lines: the same of the present group
 * @buf: of getline()
 * @size: of @buf
 * @error_line: of the first error; 0: none
 * @why: the error
 */
struct parser {
	struct cli	*cli;
	FILE		*file;
	const char	*name;
	struct groups	*groups;
	struct member	*member;
	int		line;
	int		key_lines[32];
	int		group_lines[32];
	char		*buf;
	size_t		size;
	int		error_line;
	char		why[2 * WHY_BYTES];
};

static bool wrong(struct parser *p, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Keep the first error.  Return: false. */
static bool wrong(struct parser *p, int line, const char *fmt, ...)
{
	va_list args;

	if (p->error_line)
		return false;
	/* An empty file has no line. */
	p->error_line = line ? line : 1;
	va_start(args, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, args);
	va_end(args);
	return false;
}

static struct group *present(struct parser *p)
{
	return p->groups->nr ? &p->groups->at[p->groups->nr - 1] : NULL;
}

/* The section before the one that begins, or before the end, is complete. */
static bool finish_member(struct parser *p)
{
	struct member *m = p->member;

	p->member = NULL;
	if (!m)
		return true;
	if (!(m->has >> MEMBER_ADDRESS & 1))
		return wrong(p, m->line, "[member %u] has no address; add address = ADDRESS",
			     m->rank);
	if (!(m->has >> MEMBER_PORT & 1))
		m->port = TALLY_PORT;
	return true;
}

static bool finish_group(struct parser *p)
{
	struct group *g = present(p), *other;
	char why[WHY_BYTES];
	unsigned int attr;
	size_t i;

	if (!finish_member(p))
		return false;
	if (!g)
		return true;
	if (!group_has(g, TALLY_A_GROUP_ID))
		return wrong(p, g->line, "[group %s] has no id; add id = N, the same number on every host",
			     g->name);
	if (!g->nr_members)
		return wrong(p, g->line, "[group] of id %u has no members; add a [member RANK] section for each",
			     group_id(g));
	for (i = 0; i + 1 < p->groups->nr; i++) {
		other = &p->groups->at[i];
		if (group_id(other) == group_id(g))
			return wrong(p, g->line, "id %u is that of the group in line %d too; give each group its own",
				     group_id(g), other->line);
	}
	if (group_check(g, &attr, why, sizeof(why)))
		return wrong(p, attr ? p->group_lines[attr] : g->line, "%s",
			     why);
	return true;
}

static bool begin_group(struct parser *p, const char *name)
{
	struct group *g;
	const char *why;
	uint64_t id;

	if (!finish_group(p))
		return false;
	if (!*name)
		return wrong(p, p->line, "[group] has no name; write [group NAME], or [group ID]");
	if (units_number(name, &id)) {
		if (!group_name_ok(name, &why))
			return wrong(p, p->line, "[group %.60s]: a group's name %s",
				     name, why);
		g = groups_by_name(p->groups, name);
		if (g)
			return wrong(p, p->line, "[group %s] is in line %d already; give each group its own name",
				     name, g->line);
	} else if (!id || id > 65535) {
		return wrong(p, p->line, "[group %.60s]: the id must be a number from 1 to 65535",
			     name);
	}
	g = groups_add(p->groups);
	if (!g)
		return wrong(p, p->line, "out of memory");
	g->line = p->line;
	memset(p->key_lines, 0, sizeof(p->key_lines));
	if (units_number(name, &id)) {
		strcpy(g->name, name);
		g->has |= 1u << TALLY_A_GROUP_NAME;
	} else {
		g->val[TALLY_A_GROUP_ID] = (uint32_t)id;
		g->has |= 1u << TALLY_A_GROUP_ID;
		p->key_lines[TALLY_A_GROUP_ID] = p->line;
	}
	return true;
}

static bool begin_member(struct parser *p, const char *text)
{
	struct group *g = present(p);
	struct member *m;
	uint64_t rank;

	if (!g)
		return wrong(p, p->line, "[member %.60s] stands before any [group]; a group's members come after it",
			     text);
	if (!finish_member(p))
		return false;
	if (units_number(text, &rank) || rank >= TALLY_RANKS)
		return wrong(p, p->line, "[member %.60s]: the rank must be a number from 0 to %d",
			     text, TALLY_RANKS - 1);
	m = group_member(g, (uint32_t)rank);
	if (m)
		return wrong(p, p->line, "[member %u] is in line %d already; give each member its own rank",
			     m->rank, m->line);
	m = group_insert_member(g, (uint32_t)rank);
	m->line = p->line;
	p->member = m;
	memset(p->key_lines, 0, sizeof(p->key_lines));
	return true;
}

/* @text: the line, from its '[' on; changed */
static bool begin_section(struct parser *p, char *text)
{
	char *end = strchr(text, ']'), *kind = text + 1, *arg, *last;

	if (!end)
		return wrong(p, p->line, "'%.80s' lacks a ]", text);
	last = end + 1 + strspn(end + 1, " \t");
	if (*last && *last != ';' && *last != '#')
		return wrong(p, p->line, "'%.40s' after the ]; put it on a line of its own",
			     last);
	while (end > kind && strchr(" \t", end[-1]))
		end--;
	*end = 0;
	kind += strspn(kind, " \t");
	arg = kind + strcspn(kind, " \t");
	if (*arg)
		*arg++ = 0;
	arg += strspn(arg, " \t");
	if (!strcmp(kind, "group"))
		return begin_group(p, arg);
	if (!strcmp(kind, "member"))
		return begin_member(p, arg);
	return wrong(p, p->line, "unknown section [%.60s]; sections are [group NAME] and [member RANK]",
		     kind);
}

/* Feeds inih with one line, without what stands before its first word. */
static char *read_line(char *str, int num, void *data)
{
	struct parser *p = data;
	ssize_t len;
	char *text;

	if (p->error_line)
		return NULL;
	len = getline(&p->buf, &p->size, p->file);
	if (len < 0) {
		if (ferror(p->file))
			wrong(p, p->line + 1, "%s", strerror(errno));
		return NULL;
	}
	p->line++;
	text = p->buf;
	if (strlen(text) != (size_t)len)
		return wrong(p, p->line, "a byte 0; this is no text file"),
		       NULL;
	text[strcspn(text, "\r\n")] = 0;
	if (p->line == 1 && !strncmp(text, "\xef\xbb\xbf", 3))
		text += 3;
	/* inih would take an indented key for more of the last one's value. */
	text += strspn(text, " \t\v\f\r");
	if (strlen(text) > LINE_BYTES || (int)strlen(text) + 2 > num)
		return wrong(p, p->line, "longer than %d characters; shorten the line",
			     LINE_BYTES), NULL;
	snprintf(str, (size_t)num, "%s\n", text);
	if (*text == '[' && !begin_section(p, text))
		return NULL;
	return str;
}

static const char *section_name(struct parser *p)
{
	return p->member ? "[member]" : "[group]";
}

static bool unknown_key(struct parser *p, const char *name)
{
	const struct key *table = p->member ? member_keys : group_keys;
	const struct key *other = p->member ? group_keys : member_keys;
	char all[WHY_BYTES] = "", hint[96];
	size_t at = 0;

	if (key_find(other, name))
		return wrong(p, p->line, "%s: a key of %s, not of %s; move it there",
			     name, p->member ? "[group]" : "[member]",
			     section_name(p));
	cli_did_you_mean(name, table, sizeof(*table), hint, sizeof(hint));
	for (; table->name; table++)
		at += (size_t)snprintf(all + at, sizeof(all) - at, " %s",
				       table->name);
	return wrong(p, p->line, "%.60s: unknown key%s; %s has%s", name, hint,
		     section_name(p), all);
}

static int take_key(void *data, const char *section, const char *name,
		    const char *value)
{
	struct parser *p = data;
	struct group *g = present(p);
	const struct key *key;
	char why[WHY_BYTES];
	bool ok;

	if (p->error_line)
		return 0;
	if (!g)
		return wrong(p, p->line, "%.60s: stands before any section; begin with [group NAME]",
			     name);
	key = key_find(p->member ? member_keys : group_keys, name);
	if (!key)
		return unknown_key(p, name);
	if (p->key_lines[key->attr])
		return wrong(p, p->line, "%s: given in line %d already; remove one of them",
			     name, p->key_lines[key->attr]);
	p->key_lines[key->attr] = p->line;
	if (!p->member)
		p->group_lines[key->attr] = p->line;
	if (p->member)
		ok = member_set_key(p->member, key, value, why, sizeof(why));
	else
		ok = group_set_key(g, key, value, why, sizeof(why));
	return ok || wrong(p, p->line, "%s: %s", name, why);
}

static int load_keys(struct parser *p, const char *dir)
{
	char where[PATH_MAX_BYTES];
	size_t i;
	int ret;

	for (i = 0; i < p->groups->nr; i++) {
		struct group *g = &p->groups->at[i];

		if (!g->key_file[0])
			continue;
		snprintf(where, sizeof(where), "%s:%d", p->name, g->line);
		ret = group_load_key(p->cli, g, dir, where);
		if (ret)
			return ret;
	}
	return CLI_OK;
}

static int parse(struct parser *p)
{
	int line = ini_parse_stream(read_line, p, take_key, p);

	/* inih goes on behind a line it does not understand. */
	if (line > 0 && (!p->error_line || line < p->error_line)) {
		p->error_line = 0;
		wrong(p, line, "neither a section nor a key; write key = value");
	}
	if (!p->error_line && line < 0)
		wrong(p, p->line, "out of memory");
	if (!p->error_line && finish_group(p) && !p->groups->nr)
		wrong(p, p->line, "no groups in this file; begin with [group NAME]");
	if (p->error_line)
		return cli_error(p->cli, "%s:%d: %s", p->name, p->error_line,
				 p->why);
	return CLI_OK;
}

int conf_read_stream(struct cli *cli, FILE *file, const char *name,
		     const char *dir, struct groups *groups)
{
	struct parser p = {
		.cli = cli, .file = file, .name = name, .groups = groups,
	};
	int ret;

	memset(groups, 0, sizeof(*groups));
	ret = parse(&p);
	if (!ret && dir)
		ret = load_keys(&p, dir);
	free(p.buf);
	if (ret)
		groups_free(groups);
	return ret;
}

int conf_read(struct cli *cli, const char *path, bool keys,
	      struct groups *groups)
{
	char *copy = strdup(path);
	FILE *file;
	int ret;

	if (!copy)
		return cli_nomem(cli);
	file = fopen(path, "re");
	if (file) {
		ret = conf_read_stream(cli, file, path,
				       keys ? dirname(copy) : NULL, groups);
		fclose(file);
	} else {
		ret = cli_error(cli, "%s: %s; name a file as tally.conf(5) describes it",
				path, strerror(errno));
	}
	free(copy);
	return ret;
}

void conf_write(FILE *file, const struct groups *groups)
{
	char text[PATH_MAX_BYTES];
	const struct key *key;
	size_t i;
	uint32_t m;

	for (i = 0; i < groups->nr; i++) {
		const struct group *g = &groups->at[i];

		if (i)
			fputc('\n', file);
		if (g->name[0])
			fprintf(file, "[group %s]\n", g->name);
		else
			fprintf(file, "[group %u]\n", group_id(g));
		for (key = group_keys; key->name; key++) {
			if (!group_has(g, key->attr) ||
			    (key->attr == TALLY_A_GROUP_ID && !g->name[0]))
				continue;
			fprintf(file, "%s = %s\n", key->name,
				group_key_text(g, key, text, sizeof(text)));
		}
		/* Loaded as it is, this must not become a group without key. */
		if (g->keyed && !g->key_file[0])
			fputs("# The kernel does not tell keys: name the file that has it.\n"
			      "key_file =\n", file);
		for (m = 0; m < g->nr_members; m++) {
			const struct member *member = &g->members[m];

			fprintf(file, "\n[member %u]\naddress = %s\n",
				member->rank,
				units_addr_text(&member->addr, text,
						sizeof(text)));
			fprintf(file, "port = %u\n", member->port);
			if (member->cap)
				fprintf(file, "cap = %u\n", member->cap);
		}
	}
}
