// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sizes that programs compiled against the library rely on.  A structure may
 * grow at its end in a later release: then its old size moves to a comment.
 */
#include <tally/tally.h>

#define SIZE(type, bytes) \
	_Static_assert(sizeof(struct type) == (bytes), #type " changed size")
#define AT(type, field, offset) \
	_Static_assert(offsetof(struct type, field) == (offset), \
		       #type "." #field " moved")

SIZE(tally_geometry, 64);
AT(tally_geometry, window, 24);
AT(tally_geometry, seq, 48);
SIZE(tally_block, 12);
AT(tally_block, words, 2);
AT(tally_block, weight, 8);
SIZE(tally_encode_opts, 40);
AT(tally_encode_opts, key, 12);
AT(tally_encode_opts, carry, 24);
SIZE(tally_decode_opts, 12);
AT(tally_decode_opts, reduce, 10);
SIZE(tally_carry_stats, 72);
AT(tally_carry_stats, values, 16);
SIZE(tally_report, 392);
AT(tally_report, user_data, 16);
AT(tally_report, chunks, 56);
AT(tally_report, bytes, 96);
AT(tally_report, arrival_us, 136);
AT(tally_report, missed, 120);
SIZE(tally_call_opts, 72);
AT(tally_call_opts, participants, 32);
AT(tally_call_opts, carry, 56);
SIZE(tally_state_report, 64);
AT(tally_state_report, digest, 32);
SIZE(tally_state_opts, 16);
