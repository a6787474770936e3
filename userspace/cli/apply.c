// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#include "apply.h"

#include <stdlib.h>
#include <string.h>

/* Attributes that stand for something a file or command line can give. */
#define GIVEN(g) ((g)->has & ~(1u << TALLY_A_GROUP_ID))

void plan_add(struct plan *plan, const struct step *step)
{
	struct step *steps;
	size_t room;

	if (plan->nr == plan->room) {
		room = plan->room ? plan->room * 2 : 16;
		steps = realloc(plan->steps, room * sizeof(*steps));
		if (!steps) {
			plan->failed = true;
			return;
		}
		plan->steps = steps;
		plan->room = room;
	}
	plan->steps[plan->nr++] = *step;
}

void plan_create(struct plan *plan, const struct group *g)
{
	uint32_t i;

	plan_add(plan, &(struct step){
		.cmd = TALLY_CMD_GROUP_NEW, .attrs = GIVEN(g), .group = g,
	});
	for (i = 0; i < g->nr_members; i++)
		plan_add(plan, &(struct step){
			.cmd = TALLY_CMD_MEMBER_NEW, .group = g,
			.member = &g->members[i],
		});
}

static bool same_member(const struct member *a, const struct member *b)
{
	return units_addr_equal(&a->addr, &b->addr) && a->port == b->port &&
	       a->cap == b->cap;
}

/* Return: the keys of @want that @old has otherwise, as bits. */
static uint32_t differing(const struct group *want, const struct group *old)
{
	uint32_t attrs = 0;
	unsigned int attr;

	for (attr = TALLY_A_GROUP_EPOCH; attr <= TALLY_A_GROUP_GID; attr++)
		if (group_has(want, attr) &&
		    (!group_has(old, attr) ||
		     want->val[attr] != old->val[attr]))
			attrs |= 1u << attr;
	if (group_has(want, TALLY_A_GROUP_NAME) &&
	    strcmp(want->name, old->name))
		attrs |= 1u << TALLY_A_GROUP_NAME;
	/*
	 * The kernel does not tell the key: while the group is down it is set
	 * again, while it is up an old key must be taken for the right one.
	 */
	if (group_has(want, TALLY_A_GROUP_KEY) && (!old->up || !old->keyed))
		attrs |= 1u << TALLY_A_GROUP_KEY;
	return attrs;
}

/* Return: whether there is anything; the steps go to @plan if not NULL. */
static bool change_members(struct plan *plan, const struct group *want,
			   const struct group *old)
{
	const struct member *m, *other;
	bool any = false;
	uint32_t i;

	for (i = 0; i < old->nr_members; i++) {
		m = &old->members[i];
		other = group_member((struct group *)want, m->rank);
		if (other && same_member(m, other))
			continue;
		any = true;
		if (plan)
			plan_add(plan, &(struct step){
				.cmd = TALLY_CMD_MEMBER_DEL, .group = old,
				.old = old, .member = m,
			});
	}
	for (i = 0; i < want->nr_members; i++) {
		m = &want->members[i];
		other = group_member((struct group *)old, m->rank);
		if (other && same_member(m, other))
			continue;
		any = true;
		if (plan)
			plan_add(plan, &(struct step){
				.cmd = TALLY_CMD_MEMBER_NEW, .group = want,
				.member = m,
			});
	}
	return any;
}

/* Return: CLI_ERROR if @attrs has what cannot change while @old is up. */
static int refuse_while_up(struct cli *cli, uint32_t attrs,
			   const struct group *want, const struct group *old)
{
	char has[PATH_MAX_BYTES], wants[PATH_MAX_BYTES], label[64];
	const struct key *key;

	group_label(old, label, sizeof(label));
	for (key = group_keys; key->name; key++) {
		if (key->live || !(attrs >> key->attr & 1))
			continue;
		if (key->kind == KEY_FILE)
			return cli_error(cli, "%s: it is up without a key, which cannot be added now; take it down first: tally group down %u",
					 label, group_id(old));
		return cli_error(cli, "%s: it is up with %s %s, which cannot become %s now; take it down first: tally group down %u",
				 label, key->name,
				 group_key_text(old, key, has, sizeof(has)),
				 group_key_text(want, key, wants,
						sizeof(wants)),
				 group_id(old));
	}
	if (attrs >> TALLY_A_GROUP_NAME & 1)
		return cli_error(cli, "%s: it is up and cannot become '%s' now; take it down first: tally group down %u",
				 label, want->name, group_id(old));
	if (want->nr_members && change_members(NULL, want, old))
		return cli_error(cli, "%s: it is up with other members than these; take it down first: tally group down %u",
				 label, group_id(old));
	return CLI_OK;
}

int plan_change(struct cli *cli, struct plan *plan, const struct group *want,
		const struct group *old)
{
	uint32_t attrs = differing(want, old);
	char label[64];
	int ret;

	if (old->keyed && want->nr_members && !want->key_file[0])
		return cli_error(cli, "%s: it has a key in the kernel, but no key_file in the file; add key_file, or remove the group first: tally group del %u",
				 group_label(old, label, sizeof(label)),
				 group_id(old));
	if (old->up) {
		ret = refuse_while_up(cli, attrs, want, old);
		if (ret)
			return ret;
	}
	if (attrs & ~(1u << TALLY_A_GROUP_KEY))
		plan_add(plan, &(struct step){
			.cmd = TALLY_CMD_GROUP_SET, .group = want, .old = old,
			.attrs = attrs & ~(1u << TALLY_A_GROUP_KEY),
		});
	if (want->nr_members)
		change_members(plan, want, old);
	/* Last, because an old key cannot be put back. */
	if (attrs >> TALLY_A_GROUP_KEY & 1)
		plan_add(plan, &(struct step){
			.cmd = TALLY_CMD_GROUP_SET, .group = want, .old = old,
			.attrs = 1u << TALLY_A_GROUP_KEY,
		});
	return CLI_OK;
}

static int run_step(struct cli *cli, const struct step *s, char *why)
{
	if (s->member)
		return nl_send_member(cli->nl, s->cmd, group_id(s->group),
				      s->member, why);
	return nl_send_group(cli->nl, s->cmd, s->group, s->attrs, why);
}

/* Put back a group that was deleted, but for its key. */
static int undo_del(struct cli *cli, const struct group *old, char *why)
{
	uint32_t i;
	int ret;

	if (old->keyed) {
		snprintf(why, NL_WHY, "its key is not known here");
		return -1;
	}
	ret = nl_send_group(cli->nl, TALLY_CMD_GROUP_NEW, old, GIVEN(old),
			    why);
	for (i = 0; !ret && i < old->nr_members; i++)
		ret = nl_send_member(cli->nl, TALLY_CMD_MEMBER_NEW,
				     group_id(old), &old->members[i], why);
	return ret;
}

static int undo_step(struct cli *cli, const struct step *s, char *why)
{
	switch (s->cmd) {
	case TALLY_CMD_GROUP_NEW:
		return nl_send_group(cli->nl, TALLY_CMD_GROUP_DEL, s->group, 0,
				     why);
	case TALLY_CMD_GROUP_SET:
		if (s->attrs & 1u << TALLY_A_GROUP_KEY) {
			snprintf(why, NL_WHY, "its key was set and cannot be put back");
			return -1;
		}
		return nl_send_group(cli->nl, TALLY_CMD_GROUP_SET, s->old,
				     s->attrs & s->old->has, why);
	case TALLY_CMD_GROUP_DEL:
		return undo_del(cli, s->old, why);
	case TALLY_CMD_GROUP_UP:
		return nl_send_group(cli->nl, TALLY_CMD_GROUP_DOWN, s->group,
				     0, why);
	case TALLY_CMD_GROUP_DOWN:
		return nl_send_group(cli->nl, TALLY_CMD_GROUP_UP, s->group, 0,
				     why);
	case TALLY_CMD_MEMBER_NEW:
		return nl_send_member(cli->nl, TALLY_CMD_MEMBER_DEL,
				      group_id(s->group), s->member, why);
	case TALLY_CMD_MEMBER_DEL:
		return nl_send_member(cli->nl, TALLY_CMD_MEMBER_NEW,
				      group_id(s->group), s->member, why);
	default:
		return 0;
	}
}

static const char *step_text(const struct step *s, char *buf, size_t size)
{
	static const char *const verbs[] = {
		[TALLY_CMD_GROUP_NEW] = "cannot be created",
		[TALLY_CMD_GROUP_SET] = "cannot be changed",
		[TALLY_CMD_GROUP_DEL] = "cannot be removed",
		[TALLY_CMD_GROUP_UP] = "cannot be brought up",
		[TALLY_CMD_GROUP_DOWN] = "cannot be taken down",
		[TALLY_CMD_MEMBER_NEW] = "cannot be added",
		[TALLY_CMD_MEMBER_DEL] = "cannot be removed",
	};
	char label[64];

	group_label(s->group, label, sizeof(label));
	if (s->member)
		snprintf(buf, size, "%s: member %u %s", label,
			 s->member->rank, verbs[s->cmd]);
	else
		snprintf(buf, size, "%s %s", label, verbs[s->cmd]);
	return buf;
}

void plan_undo(struct cli *cli, struct plan *plan)
{
	char why[NL_WHY], label[64];

	while (plan->done) {
		const struct step *s = &plan->steps[--plan->done];

		if (!undo_step(cli, s, why))
			continue;
		cli_error(cli, "%s is not as it was before: %s; 'tally group show' shows how it is",
			  group_label(s->group, label, sizeof(label)),
			  *why ? why : "a change could not be undone");
	}
}

int plan_run(struct cli *cli, struct plan *plan)
{
	char why[NL_WHY], what[128];
	int ret;

	if (plan->failed)
		return cli_nomem(cli);
	ret = nl_need(cli);
	if (ret)
		return ret;
	while (plan->done < plan->nr) {
		const struct step *s = &plan->steps[plan->done];

		ret = run_step(cli, s, why);
		if (ret) {
			nl_refused(cli, step_text(s, what, sizeof(what)), ret,
				   why);
			plan_undo(cli, plan);
			return CLI_ERROR;
		}
		/* It did it, and has something to say. */
		if (*why)
			cli_warn(cli, "%s: %s",
				 group_label(s->group, what, sizeof(what)),
				 why);
		plan->done++;
	}
	return CLI_OK;
}

void plan_free(struct plan *plan)
{
	free(plan->steps);
	memset(plan, 0, sizeof(*plan));
}
