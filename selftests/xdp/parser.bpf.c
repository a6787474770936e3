// SPDX-License-Identifier: GPL-2.0-only
/* The parser alone: what it says of a frame is kept for the test to read. */
#include "../../bpf/parse.bpf.h"

struct tally_flow flow;
__u32 parsed;

SEC("xdp.frags")
int parser(struct xdp_md *xdp)
{
	struct tally_flow found = {};

	parsed = parse(xdp, bpf_htons(TALLY_PORT), &found);
	flow = found;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
