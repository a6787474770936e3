/* SPDX-License-Identifier: GPL-2.0-only */
/* A group in a namespace of its own: two members here, one that is not. */
#ifndef TALLY_SELFTESTS_LOCAL_H
#define TALLY_SELFTESTS_LOCAL_H

#include "abi.h"

#define GROUP	9
#define FAR	2	/* rank of a member that nobody answers for */
#define NEAR	0x3	/* participants that are here */

/* In the present namespace; @why is left in @nl. */
static inline int local_group(struct nl *nl, uint32_t payload,
			      uint32_t max_bytes)
{
	struct abi_group group = {
		.id = GROUP, .payload = payload, .max_bytes = max_bytes,
		.bound_us = 200000, .timeout_us = 5000000, .gid = -1,
	};
	int err = group_add(nl, &group);

	if (!err)
		err = member_add(nl, GROUP, 0, "127.0.0.1", 0);
	if (!err)
		err = member_add(nl, GROUP, 1, "127.0.0.1", 0);
	if (!err)
		err = member_add(nl, GROUP, FAR, "192.0.2.1", 0);
	if (!err)
		err = group_do(nl, TALLY_CMD_GROUP_UP, GROUP);
	return err;
}

#endif
