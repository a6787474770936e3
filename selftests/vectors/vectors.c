// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "vectors.h"

void vectors_fail(const struct vectors *v, const char *why, const char *what)
{
	fprintf(stderr, "%s:%u: %s: %s\n", v->path, v->number, why, what);
	printf("Bail out! %s:%u: %s: %s\n", v->path, v->number, why, what);
	exit(1);
}

void vectors_open(struct vectors *v, const char *name)
{
	const char *folder = getenv("TALLY_VECTORS");
	static char path[4096];

	memset(v, 0, sizeof(*v));
	snprintf(path, sizeof(path), "%s/%s", folder ? folder : VECTORS_DIR,
		 name);
	v->path = path;
	v->file = fopen(path, "r");
	if (!v->file)
		vectors_fail(v, "cannot be opened", name);
}

void vectors_close(struct vectors *v)
{
	fclose(v->file);
	free(v->line);
	memset(v, 0, sizeof(*v));
}

/* Cut a line into keyword and fields. */
static void split(struct vectors *v)
{
	char *rest = NULL, *word, *equals;

	v->fields = 0;
	v->keyword = strtok_r(v->line, " \n", &rest);
	while (v->keyword && (word = strtok_r(NULL, " \n", &rest))) {
		if (v->fields == VECTORS_FIELDS)
			vectors_fail(v, "too many fields", word);
		equals = strchr(word, '=');
		if (equals)
			*equals = 0;
		v->name[v->fields] = word;
		v->value[v->fields++] = equals ? equals + 1 : "";
	}
}

int vectors_next(struct vectors *v)
{
	while (getline(&v->line, &v->size, v->file) >= 0) {
		v->number++;
		split(v);
		if (v->keyword && v->keyword[0] != '#')
			return 1;
	}
	return 0;
}

int vectors_is(const struct vectors *v, const char *keyword)
{
	return !strcmp(v->keyword, keyword);
}

static const char *find(const struct vectors *v, const char *name)
{
	unsigned int i;

	for (i = 0; i < v->fields; i++) {
		if (!strcmp(v->name[i], name))
			return v->value[i];
	}
	return NULL;
}

int vectors_has(const struct vectors *v, const char *name)
{
	return !!find(v, name);
}

const char *vectors_text(const struct vectors *v, const char *name)
{
	const char *value = find(v, name);

	if (!value)
		vectors_fail(v, "field is missing", name);
	return value;
}

const char *vectors_word(const struct vectors *v, unsigned int i)
{
	if (i >= v->fields)
		vectors_fail(v, "words are missing", v->keyword);
	return v->name[i];
}

uint64_t vectors_u64(const struct vectors *v, const char *name)
{
	const char *value = vectors_text(v, name);
	char *end;
	uint64_t number = strtoull(value, &end, 10);

	if (!*value || *end)
		vectors_fail(v, "not a number", name);
	return number;
}

int64_t vectors_number(const struct vectors *v, const char *name)
{
	const char *value = vectors_text(v, name);
	char *end;
	int64_t number = strtoll(value, &end, 10);

	if (!*value || *end)
		vectors_fail(v, "not a number", name);
	return number;
}

static int digit(char c)
{
	const char *all = "0123456789abcdef", *at = strchr(all, c);

	return c && at ? (int)(at - all) : -1;
}

size_t vectors_bytes(const struct vectors *v, const char *name, void *to,
		     size_t max)
{
	const char *value = vectors_text(v, name);
	uint8_t *bytes = to;
	size_t n = 0;

	if (!strcmp(value, "-"))
		return 0;
	for (; *value; value += 2) {
		if (digit(value[0]) < 0 || digit(value[1]) < 0)
			vectors_fail(v, "not bytes", name);
		if (n == max)
			vectors_fail(v, "too many bytes", name);
		bytes[n++] = digit(value[0]) << 4 | digit(value[1]);
	}
	return n;
}

static void read_caps(const struct vectors *v, struct tally_rule *rule)
{
	const char *at = vectors_text(v, "caps");
	char *end;

	while (strcmp(at, "-") && *at) {
		unsigned long rank = strtoul(at, &end, 10);

		if (*end != ':' || rank >= TALLY_RANKS_MAX)
			vectors_fail(v, "not RANK:CAP", at);
		rule->caps[rank] = strtoul(end + 1, &end, 10);
		rule->capped = 1;
		at = *end == ',' ? end + 1 : end;
	}
}

void vectors_group_read(const struct vectors *v, struct vectors_group *group)
{
	struct tally_rule *rule = &group->rule;

	memset(group, 0, sizeof(*group));
	snprintf(group->name, sizeof(group->name), "%s", vectors_word(v, 0));
	rule->group = vectors_u64(v, "id");
	rule->epoch = vectors_u64(v, "epoch");
	rule->members = vectors_u64(v, "members");
	rule->local = vectors_u64(v, "local");
	rule->cell_words = vectors_u64(v, "cell_words");
	rule->window = vectors_u64(v, "window");
	rule->shard_chunks = vectors_u64(v, "shard_chunks");
	rule->bound_max_ns = vectors_u64(v, "bound_max_us") * 1000;
	group->keyed = vectors_bytes(v, "key", group->key,
				     sizeof(group->key)) != 0;
	read_caps(v, rule);
}

#define DROP_NAME(name, text) [TALLY_DROP_##name] = #name,
static const char *const drop_names[] = {
	[TALLY_KEEP] = "KEEP",
	TALLY_DROPS(DROP_NAME)
};

const char *vectors_drop_name(unsigned int drop)
{
	return drop < __TALLY_DROP_END ? drop_names[drop] : "unknown";
}

unsigned int vectors_drop(const struct vectors *v, const char *name)
{
	unsigned int i;

	for (i = 0; i < __TALLY_DROP_END; i++) {
		if (!strcmp(drop_names[i], name))
			return i;
	}
	vectors_fail(v, "no such verdict", name);
}

enum tally_slot_state vectors_state(const struct vectors *v)
{
	static const char *const names[] = {
		[TALLY_SLOT_UNUSED] = "UNUSED",
		[TALLY_SLOT_OPEN] = "OPEN",
		[TALLY_SLOT_FULL] = "FULL",
		[TALLY_SLOT_CLOSED] = "CLOSED",
	};
	const char *state = vectors_text(v, "state");
	unsigned int i;

	for (i = 0; i < 4; i++) {
		if (!strcmp(names[i], state))
			return i;
	}
	vectors_fail(v, "no such state", state);
}
