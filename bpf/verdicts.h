/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the XDP programs count, for each processor: one value of the map
 * `verdicts`.  Why the module drops a packet is counted by the module.
 */
#ifndef _TALLY_VERDICTS_H
#define _TALLY_VERDICTS_H

#include <linux/types.h>

/* name, what it means to a person who reads the counters */
#define TALLY_VERDICTS(X)						\
	X(foreign, "not UDP to tally's port: passed untouched")		\
	X(fragment, "pieces of IP datagrams: passed to be put together") \
	X(truncated, "to tally's port, too short to tell: passed")	\
	X(version, "another version of the wire format: passed")	\
	X(type, "unknown packet type: passed")				\
	X(no_module, "tally's, but loaded before the module: passed")	\
	X(contrib_taken, "contributions the module took or refused")	\
	X(contrib_passed, "contributions left to the socket")		\
	X(result_taken, "results the module took or refused")		\
	X(result_passed, "results left to the socket")			\
	X(control_taken, "control packets the module took or refused")	\
	X(control_passed, "control packets left to the socket")

#define __TALLY_VERDICT_FIELD(name, text) __u64 name;
struct tally_verdicts {
	TALLY_VERDICTS(__TALLY_VERDICT_FIELD)
};

#undef __TALLY_VERDICT_FIELD

#endif
