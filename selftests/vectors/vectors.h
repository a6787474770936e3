/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the vector files line by line; see README for what the lines say.
 * A file that cannot be read ends the program: no test can go on without it.
 */
#ifndef _VECTORS_H
#define _VECTORS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/slot.h>

#define VECTORS_FIELDS	24

/**
 * struct vectors - a vector file and its current line
 * @file: open
 * @path: for messages
 * @number: of the line, from 1
 * @line: the line's bytes, cut at spaces and equals signs
 * @size: of @line's memory
 * @keyword: the first word
 * @name: names of the fields
 * @value: their values; "" for a word without a name
 * @fields: how many
 */
struct vectors {
	FILE		*file;
	const char	*path;
	unsigned int	number;
	char		*line;
	size_t		size;
	const char	*keyword;
	const char	*name[VECTORS_FIELDS];
	const char	*value[VECTORS_FIELDS];
	unsigned int	fields;
};

/**
 * struct vectors_group - a line `group`
 * @name: of the group
 * @rule: what the receive path knows
 * @key: key bytes, if @keyed
 * @keyed: whether there is a key
 */
struct vectors_group {
	char			name[32];
	struct tally_rule	rule;
	uint8_t			key[TALLY_KEY_BYTES];
	int			keyed;
};

/* @name is that of a file in this folder. */
void vectors_open(struct vectors *v, const char *name);
void vectors_close(struct vectors *v);
/* Go to the next line that says something; 0 at the end. */
int vectors_next(struct vectors *v);
int vectors_is(const struct vectors *v, const char *keyword);

/* Values of the current line; one that is missing ends the program. */
int vectors_has(const struct vectors *v, const char *name);
const char *vectors_text(const struct vectors *v, const char *name);
int64_t vectors_number(const struct vectors *v, const char *name);
uint64_t vectors_u64(const struct vectors *v, const char *name);
/* Return: how many bytes, at most @max. */
size_t vectors_bytes(const struct vectors *v, const char *name, void *to,
		     size_t max);
/* The word at place @i, as in `count KEEP 3`. */
const char *vectors_word(const struct vectors *v, unsigned int i);
void vectors_group_read(const struct vectors *v, struct vectors_group *group);

/* KEEP or a name in drops.h, both ways. */
const char *vectors_drop_name(unsigned int drop);
unsigned int vectors_drop(const struct vectors *v, const char *name);
/* UNUSED, OPEN, FULL, CLOSED. */
enum tally_slot_state vectors_state(const struct vectors *v);

/* Ends the program, naming file and line. */
void vectors_fail(const struct vectors *v, const char *why, const char *what)
	__attribute__((noreturn));

#endif
