/* SPDX-License-Identifier: GPL-2.0-only */
/* What XDP programs call; see include/tally/flow.h. */
#ifndef _TALLY_KFUNC_H
#define _TALLY_KFUNC_H

#include <linux/types.h>

struct tally_flow;
struct xdp_md;

int tally_contribute(struct xdp_md *xdp, const struct tally_flow *flow,
		     u32 flow__sz);
int tally_result(struct xdp_md *xdp, const struct tally_flow *flow,
		 u32 flow__sz);
int tally_control(struct xdp_md *xdp, const struct tally_flow *flow,
		  u32 flow__sz);

/* Programs can call: the module has BTF that the kernel took. */
bool tally_kfunc_ready(void);
int tally_kfunc_init(void);

#endif
