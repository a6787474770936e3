/* SPDX-License-Identifier: GPL-2.0-only */
/* What kernels after 6.12 call differently. */
#ifndef _TALLY_COMPAT_H
#define _TALLY_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void
tally_hrtimer_setup(struct hrtimer *timer,
		    enum hrtimer_restart (*function)(struct hrtimer *),
		    clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#else
#define tally_hrtimer_setup	hrtimer_setup
#endif

#endif
