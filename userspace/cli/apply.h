/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * Changes to the kernel's groups, all or none: a plan is made and checked
 * first, then carried out step by step; when the kernel refuses a step, those
 * before it are undone in reverse order.
 */
#ifndef TALLY_CLI_APPLY_H
#define TALLY_CLI_APPLY_H

#include "netlink.h"

/**
 * struct step - one message to the kernel and how to undo it
 * @cmd: TALLY_CMD_*
 * @attrs: GROUP_NEW, GROUP_SET: what of @group to send
 * @group: it is about
 * @old: GROUP_SET, GROUP_DEL: as the kernel has it now
 * @member: MEMBER_*: rank to add (of @group) or remove (of @old)
 */
struct step {
	enum tally_cmd		cmd;
	uint32_t		attrs;
	const struct group	*group;
	const struct group	*old;
	const struct member	*member;
};

/**
 * struct plan - steps in order
 * @steps: the plan owns them; what they point to must outlive it
 * @nr: how many
 * @room: for how many
 * @done: how many were carried out
 * @failed: a step could not be added for lack of memory
 */
struct plan {
	struct step	*steps;
	size_t		nr;
	size_t		room;
	size_t		done;
	bool		failed;
};

void plan_add(struct plan *plan, const struct step *step);

/* Create @g with its members; it stays down. */
void plan_create(struct plan *plan, const struct group *g);

/*
 * Make @old, which the kernel has, like @want: with as few changes as that
 * takes.  Keys that @want lacks stay as they are.  @want may lack its name.
 * Return: CLI_OK, or CLI_ERROR: @old is up and the change needs it down.
 */
int plan_change(struct cli *cli, struct plan *plan, const struct group *want,
		const struct group *old);

/*
 * Carry out the steps that were not yet.  Return: CLI_OK; or CLI_ERROR when
 * the kernel refused one, which was told, and all are undone.
 */
int plan_run(struct cli *cli, struct plan *plan);

/* Undo all steps that were carried out. */
void plan_undo(struct cli *cli, struct plan *plan);
void plan_free(struct plan *plan);

#endif
