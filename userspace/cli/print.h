/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * Results, for people and as JSON.
 *
 * A command builds one JSON tree.  With -j the tree itself is printed, without
 * it the same tree is laid out by columns, so that the two cannot differ.
 */
#ifndef TALLY_CLI_PRINT_H
#define TALLY_CLI_PRINT_H

#include "model.h"

#include <cjson/cJSON.h>

enum print_format {
	PRINT_TEXT,	/* as it is; lists by commas */
	PRINT_COUNT,	/* 1,234,567 */
	PRINT_BYTES,	/* 4 MiB */
	PRINT_US,	/* microseconds: 20 ms */
	PRINT_MS,	/* milliseconds: 3.2 s */
	PRINT_YES,	/* true: yes, false: - */
};

/**
 * struct column - one field of objects
 * @key: of the field; one that is absent or null is printed as "-"
 * @title: above the column of a table, or before the value in a line
 * @format: how it is printed
 * @right: numbers stand on the right side
 */
struct column {
	const char		*key;
	const char		*title;
	enum print_format	format;
	bool			right;
};

/* @rows: array of objects; @columns end with a NULL key; @indent: blanks */
void print_table(FILE *out, int indent, const cJSON *rows,
		 const struct column *columns);

/* "title value, title value"; absent fields are left out. */
void print_line(FILE *out, int indent, const cJSON *object,
		const struct column *columns);

/**
 * struct print_counter - what a counter means
 * @name: key of its field, in any case
 * @text: for people
 */
struct print_counter {
	const char	*name;
	const char	*text;
};

/*
 * The fields of @list as rows of name, count and meaning.
 * @table: ends with a NULL name
 * @ms: time in which they came, for a rate; 0: none
 */
void print_counters(FILE *out, int indent, const cJSON *list,
		    const struct print_counter *table, uint64_t ms);

/* The value of a field for people. */
char *print_value(const cJSON *value, enum print_format format, char *buf,
		  size_t size);

/*
 * Print the whole tree as JSON; @line: on one line.  Return: CLI_OK, or
 * CLI_ERROR without memory.
 */
int print_json(struct cli *cli, const cJSON *tree, bool line);

/* A number that may need all 64 bits, which a JSON double has not. */
cJSON *print_add_u64(cJSON *object, const char *key, uint64_t value);

/* Ranks of a mask as a list. */
cJSON *print_add_ranks(cJSON *object, const char *key, uint64_t mask);

cJSON *print_add_group(cJSON *array, const struct group *g);

#endif
