/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that a process and its group share. */
#ifndef _TALLY_CELLS_H
#define _TALLY_CELLS_H

#include <linux/bits.h>
#include <linux/refcount.h>
#include <linux/types.h>

struct tally_net;
struct vm_area_struct;

/**
 * struct tally_cells - one attachment's two areas
 * @refs: the open file and each mapping
 * @ns: charged
 * @area_bytes: length of either area, whole pages
 * @tx: contributions, which the process writes at any time
 * @result: outcomes, which the process may only read
 */
struct tally_cells {
	refcount_t		refs;
	struct tally_net	*ns;
	u64			area_bytes;
	void			*tx;
	void			*result;
};

/* Offsets for mmap(); far apart, so that a wrong length finds nothing. */
#define TALLY_CELLS_TX		0ull
#define TALLY_CELLS_RESULT	BIT_ULL(40)

/* ERR_PTR(-ENOBUFS) beyond the namespace's limit, ERR_PTR(-ENOMEM). */
struct tally_cells *tally_cells_create(struct tally_net *ns, u64 bytes);
void tally_cells_put(struct tally_cells *cells);
/* No mapping holds them. */
bool tally_cells_unmapped(const struct tally_cells *cells);
int tally_cells_mmap(struct tally_cells *cells, struct vm_area_struct *vma);

#endif
