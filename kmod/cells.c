// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cells are ordinary kernel memory, charged to the process that attaches, which
 * the process maps.  A mapping holds a reference of its own: pages go when the
 * file has let go of them and nobody maps them any more.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "cells.h"
#include "netns.h"

/* The caller says that there was no memory; the log need not. */
static void *area_alloc(u64 bytes)
{
	return __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
}

struct tally_cells *tally_cells_create(struct tally_net *ns, u64 bytes)
{
	u64 area = PAGE_ALIGN(bytes);
	struct tally_cells *cells;
	int err;

	err = tally_net_charge(ns, 2 * area);
	if (err)
		return ERR_PTR(err);
	err = -ENOMEM;
	cells = kzalloc(sizeof(*cells), GFP_KERNEL_ACCOUNT);
	if (!cells)
		goto err_charge;
	cells->tx = area_alloc(area);
	if (!cells->tx)
		goto err_cells;
	cells->result = area_alloc(area);
	if (!cells->result)
		goto err_tx;
	refcount_set(&cells->refs, 1);
	refcount_inc(&ns->refs);
	cells->ns = ns;
	cells->area_bytes = area;
	return cells;

err_tx:
	vfree(cells->tx);
err_cells:
	kfree(cells);
err_charge:
	tally_net_uncharge(ns, 2 * area);
	return ERR_PTR(err);
}

void tally_cells_put(struct tally_cells *cells)
{
	if (!refcount_dec_and_test(&cells->refs))
		return;
	vfree(cells->result);
	vfree(cells->tx);
	tally_net_uncharge(cells->ns, 2 * cells->area_bytes);
	tally_net_put(cells->ns);
	kfree(cells);
}

bool tally_cells_unmapped(const struct tally_cells *cells)
{
	return refcount_read(&cells->refs) == 1;
}

static void vm_open(struct vm_area_struct *vma)
{
	struct tally_cells *cells = vma->vm_private_data;

	refcount_inc(&cells->refs);
}

static void vm_close(struct vm_area_struct *vma)
{
	tally_cells_put(vma->vm_private_data);
}

static const struct vm_operations_struct vm_ops = {
	.open = vm_open,
	.close = vm_close,
};

/* On an error the caller's core code unmaps what was inserted. */
static int insert_pages(struct vm_area_struct *vma, void *area, u64 from)
{
	unsigned long at;
	int err;

	for (at = vma->vm_start; at < vma->vm_end; at += PAGE_SIZE) {
		err = vm_insert_page(vma, at, vmalloc_to_page(area + from));
		if (err)
			return err;
		from += PAGE_SIZE;
	}
	return 0;
}

int tally_cells_mmap(struct tally_cells *cells, struct vm_area_struct *vma)
{
	u64 length = vma->vm_end - vma->vm_start;
	u64 from = (u64)vma->vm_pgoff << PAGE_SHIFT;
	void *area = cells->tx;
	int err;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (from >= TALLY_CELLS_RESULT) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		vm_flags_clear(vma, VM_MAYWRITE);
		from -= TALLY_CELLS_RESULT;
		area = cells->result;
	}
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	if (from >= cells->area_bytes || length > cells->area_bytes - from)
		return -EINVAL;
	vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
		     VM_MAYEXEC);
	err = insert_pages(vma, area, from);
	if (err)
		return err;
	vma->vm_private_data = cells;
	vma->vm_ops = &vm_ops;
	vm_open(vma);
	return 0;
}
