// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#include "model.h"

#include <stdlib.h>
#include <string.h>

struct group *groups_add(struct groups *list)
{
	struct group *at;
	size_t room;

	if (list->nr == list->room) {
		room = list->room ? list->room * 2 : 4;
		at = calloc(room, sizeof(*at));
		if (!at)
			return NULL;
		if (list->nr)
			memcpy(at, list->at, list->nr * sizeof(*at));
		/* The old place may hold keys. */
		if (list->at)
			explicit_bzero(list->at, list->nr * sizeof(*at));
		free(list->at);
		list->at = at;
		list->room = room;
	}
	return &list->at[list->nr++];
}

struct group *groups_by_id(const struct groups *list, uint32_t id)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		if (group_id(&list->at[i]) == id)
			return &list->at[i];
	return NULL;
}

struct group *groups_by_name(const struct groups *list, const char *name)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		if (!strcmp(list->at[i].name, name))
			return &list->at[i];
	return NULL;
}

void groups_free(struct groups *list)
{
	if (list->at)
		explicit_bzero(list->at, list->room * sizeof(*list->at));
	free(list->at);
	memset(list, 0, sizeof(*list));
}

const char *group_label(const struct group *g, char *buf, size_t size)
{
	if (g->name[0])
		snprintf(buf, size, "group %s", g->name);
	else
		snprintf(buf, size, "group %u", group_id(g));
	return buf;
}

bool group_name_ok(const char *name, const char **why)
{
	const char *p;
	bool letter = false;

	*why = "must be up to 31 letters, digits, '-', '_' or '.', and not a number";
	for (p = name; *p; p++) {
		bool alpha = (*p >= 'a' && *p <= 'z') ||
			     (*p >= 'A' && *p <= 'Z') || *p == '_';

		if (!alpha && !(*p >= '0' && *p <= '9') && *p != '-' &&
		    *p != '.')
			return false;
		letter |= alpha;
	}
	/* An option must not be taken for a name. */
	return letter && *name != '-' && p - name < NAME_MAX_BYTES;
}

struct member *group_member(struct group *g, uint32_t rank)
{
	uint32_t i;

	for (i = 0; i < g->nr_members; i++)
		if (g->members[i].rank == rank)
			return &g->members[i];
	return NULL;
}

struct member *group_insert_member(struct group *g, uint32_t rank)
{
	uint32_t i = 0;

	while (i < g->nr_members && g->members[i].rank < rank)
		i++;
	if (g->nr_members == TALLY_RANKS ||
	    (i < g->nr_members && g->members[i].rank == rank))
		return NULL;
	memmove(&g->members[i + 1], &g->members[i],
		(g->nr_members - i) * sizeof(g->members[0]));
	g->nr_members++;
	memset(&g->members[i], 0, sizeof(g->members[i]));
	g->members[i].rank = rank;
	return &g->members[i];
}

void group_remove_member(struct group *g, uint32_t rank)
{
	struct member *m = group_member(g, rank);

	if (!m)
		return;
	g->nr_members--;
	memmove(m, m + 1, (size_t)(&g->members[g->nr_members] - m) *
		sizeof(*m));
}
