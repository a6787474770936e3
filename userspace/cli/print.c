// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#include "print.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CELL_BYTES	256
#define COLUMNS_MAX	20

static uint64_t number_of(const cJSON *value)
{
	if (cJSON_IsRaw(value))
		return strtoull(value->valuestring, NULL, 10);
	return value->valuedouble > 0 ? (uint64_t)value->valuedouble : 0;
}

static char *text_of(const cJSON *value, char *buf, size_t size)
{
	const cJSON *item;
	size_t at = 0;

	*buf = 0;
	if (cJSON_IsString(value)) {
		snprintf(buf, size, "%s", value->valuestring);
	} else if (cJSON_IsBool(value)) {
		snprintf(buf, size, cJSON_IsTrue(value) ? "yes" : "no");
	} else if (cJSON_IsArray(value)) {
		cJSON_ArrayForEach(item, value) {
			char one[64];

			if (at >= size)
				break;
			at += (size_t)snprintf(buf + at, size - at, "%s%s",
					       at ? "," : "",
					       text_of(item, one,
						       sizeof(one)));
		}
	} else {
		snprintf(buf, size, "%llu",
			 (unsigned long long)number_of(value));
	}
	return cli_printable(buf);
}

char *print_value(const cJSON *value, enum print_format format, char *buf,
		  size_t size)
{
	if (!value || cJSON_IsNull(value)) {
		snprintf(buf, size, "-");
		return buf;
	}
	switch (format) {
	case PRINT_COUNT:
		return units_count_human(number_of(value), buf, size);
	case PRINT_BYTES:
		return units_size_human(number_of(value), buf, size);
	case PRINT_US:
		return units_time_human(number_of(value), buf, size);
	case PRINT_MS:
		return units_time_human(number_of(value) * 1000, buf, size);
	case PRINT_YES:
		snprintf(buf, size, cJSON_IsTrue(value) ? "yes" : "-");
		return buf;
	default:
		return text_of(value, buf, size);
	}
}

static void put_cell(FILE *out, const struct column *c, size_t width,
		     const char *text)
{
	/* No blanks at the end of a line. */
	if (c->right)
		fprintf(out, "%*s", (int)width, text);
	else if (c[1].key)
		fprintf(out, "%-*s", (int)width, text);
	else
		fputs(text, out);
	fputs(c[1].key ? "  " : "\n", out);
}

void print_table(FILE *out, int indent, const cJSON *rows,
		 const struct column *columns)
{
	size_t width[COLUMNS_MAX], n, i;
	char cell[CELL_BYTES];
	const cJSON *row;

	for (n = 0; columns[n].key && n < COLUMNS_MAX; n++)
		width[n] = strlen(columns[n].title);
	cJSON_ArrayForEach(row, rows)
		for (i = 0; i < n; i++) {
			print_value(cJSON_GetObjectItem(row, columns[i].key),
				    columns[i].format, cell, sizeof(cell));
			if (strlen(cell) > width[i])
				width[i] = strlen(cell);
		}
	fprintf(out, "%*s", indent, "");
	for (i = 0; i < n; i++)
		put_cell(out, &columns[i], width[i], columns[i].title);
	cJSON_ArrayForEach(row, rows) {
		fprintf(out, "%*s", indent, "");
		for (i = 0; i < n; i++) {
			print_value(cJSON_GetObjectItem(row, columns[i].key),
				    columns[i].format, cell, sizeof(cell));
			put_cell(out, &columns[i], width[i], cell);
		}
	}
}

void print_line(FILE *out, int indent, const cJSON *object,
		const struct column *columns)
{
	const char *separator = "";
	char cell[CELL_BYTES];
	const cJSON *value;

	fprintf(out, "%*s", indent, "");
	for (; columns->key; columns++) {
		value = cJSON_GetObjectItem(object, columns->key);
		if (!value || cJSON_IsNull(value))
			continue;
		print_value(value, columns->format, cell, sizeof(cell));
		fprintf(out, "%s%s %s", separator, columns->title, cell);
		separator = ", ";
	}
	fputc('\n', out);
}

static const char *meaning(const struct print_counter *table, const char *name)
{
	for (; table->name; table++)
		if (!strcasecmp(table->name, name))
			return table->text;
	return "not known to this command";
}

void print_counters(FILE *out, int indent, const cJSON *list,
		    const struct print_counter *table, uint64_t ms)
{
	static const struct column columns[] = {
		{ "name", "NAME", PRINT_TEXT, 0 },
		{ "count", "COUNT", PRINT_COUNT, true },
		{ "text", "MEANING", PRINT_TEXT, 0 },
		{ 0 }
	};
	static const struct column rates[] = {
		{ "name", "NAME", PRINT_TEXT, 0 },
		{ "count", "COUNT", PRINT_COUNT, true },
		{ "rate", "PER SECOND", PRINT_COUNT, true },
		{ "text", "MEANING", PRINT_TEXT, 0 },
		{ 0 }
	};
	cJSON *rows = cJSON_CreateArray(), *row;
	const cJSON *item;

	cJSON_ArrayForEach(item, list) {
		row = cJSON_CreateObject();
		cJSON_AddStringToObject(row, "name", item->string);
		cJSON_AddItemToObject(row, "count", cJSON_Duplicate(item, 1));
		if (ms)
			print_add_u64(row, "rate", (uint64_t)
				      ((double)number_of(item) * 1000 /
				       (double)ms));
		cJSON_AddStringToObject(row, "text",
					meaning(table, item->string));
		cJSON_AddItemToArray(rows, row);
	}
	print_table(out, indent, rows, ms ? rates : columns);
	cJSON_Delete(rows);
}

int print_json(struct cli *cli, const cJSON *tree, bool line)
{
	char *text = line ? cJSON_PrintUnformatted(tree) : cJSON_Print(tree);

	if (!text)
		return cli_error(cli, "out of memory");
	fprintf(cli->out, "%s\n", text);
	cJSON_free(text);
	return CLI_OK;
}

cJSON *print_add_u64(cJSON *object, const char *key, uint64_t value)
{
	char text[32];

	if (value <= INT32_MAX)
		return cJSON_AddNumberToObject(object, key, (double)value);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return cJSON_AddRawToObject(object, key, text);
}

cJSON *print_add_ranks(cJSON *object, const char *key, uint64_t mask)
{
	cJSON *array = cJSON_AddArrayToObject(object, key);
	int rank;

	for (rank = 0; rank < 64; rank++)
		if (mask >> rank & 1)
			cJSON_AddItemToArray(array, cJSON_CreateNumber(rank));
	return array;
}

static void add_member(cJSON *array, const struct member *m)
{
	cJSON *o = cJSON_CreateObject();
	char text[UNITS_TEXT];

	print_add_u64(o, "rank", m->rank);
	cJSON_AddStringToObject(o, "address",
				units_addr_text(&m->addr, text, sizeof(text)));
	print_add_u64(o, "port", m->port);
	print_add_u64(o, "cap", m->cap);
	cJSON_AddBoolToObject(o, "local", m->local);
	cJSON_AddBoolToObject(o, "attached", m->attached);
	cJSON_AddBoolToObject(o, "stale", m->stale);
	print_add_u64(o, "done", m->done);
	if (m->seen)
		print_add_u64(o, "seen_ms", m->seen_ms);
	else
		cJSON_AddNullToObject(o, "seen_ms");
	cJSON_AddItemToArray(array, o);
}

cJSON *print_add_group(cJSON *array, const struct group *g)
{
	static const struct {
		unsigned int	attr;
		const char	*key;
	} numbers[] = {
		{ TALLY_A_GROUP_EPOCH, "epoch" },
		{ TALLY_A_GROUP_PAYLOAD, "payload" },
		{ TALLY_A_GROUP_WINDOW, "window" },
		{ TALLY_A_GROUP_MAX_BYTES, "max_bytes" },
		{ TALLY_A_GROUP_BOUND_US, "bound_us" },
		{ TALLY_A_GROUP_SETTLE_US, "settle_us" },
		{ TALLY_A_GROUP_TIMEOUT_US, "timeout_us" },
		{ TALLY_A_GROUP_QUORUM, "quorum" },
		{ TALLY_A_GROUP_GID, "gid" },
	};
	cJSON *o = cJSON_CreateObject(), *members;
	size_t i;

	print_add_u64(o, "id", group_id(g));
	if (g->name[0])
		cJSON_AddStringToObject(o, "name", g->name);
	else
		cJSON_AddNullToObject(o, "name");
	cJSON_AddBoolToObject(o, "up", g->up);
	cJSON_AddBoolToObject(o, "keyed", g->keyed);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (group_has(g, numbers[i].attr))
			print_add_u64(o, numbers[i].key,
				      g->val[numbers[i].attr]);
	print_add_u64(o, "seq", g->seq);
	print_add_u64(o, "bytes", g->bytes);
	members = cJSON_AddArrayToObject(o, "members");
	for (i = 0; i < g->nr_members; i++)
		add_member(members, &g->members[i]);
	cJSON_AddItemToArray(array, o);
	return o;
}
