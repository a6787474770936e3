/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the engine takes from where it is compiled.  In the kernel these are
 * the kernel's own; elsewhere this header gives them their kernel names, so
 * that the engine's sources have no conditional code.
 */
#ifndef _TALLY_PORT_H
#define _TALLY_PORT_H

#ifdef __KERNEL__

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/bottom_half.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>

/* Charged to whoever configures the group, who is told if there is too little. */
static inline void *tally_zalloc(size_t bytes)
{
	return kvzalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

static inline void tally_free(void *p)
{
	kvfree(p);
}

/* The engine itself holds keys. */
static inline void tally_free_keys(void *p, size_t bytes)
{
	kvfree_sensitive(p, bytes);
}

/* A function that reads or writes hints which others write at the same time. */
#define tally_hint __no_kcsan

#else

#include "port_user.h"

#endif

#endif
