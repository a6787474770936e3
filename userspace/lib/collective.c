// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* Collectives in one call: init, post, wait. */
#include "internal.h"

int tally_all_reduce(struct tally_member *m, const void *in, void *out,
		     size_t count, const struct tally_call_opts *opts,
		     struct tally_report *report)
{
	if (!m)
		return -EINVAL;
	return scratch_run(m, tally_all_reduce_init(m->scratch, in, out, count,
						    opts), report);
}

int tally_reduce_scatter(struct tally_member *m, const void *in, void *out,
			 size_t count, const struct tally_call_opts *opts,
			 struct tally_report *report)
{
	if (!m)
		return -EINVAL;
	return scratch_run(m, tally_reduce_scatter_init(m->scratch, in, out,
							count, opts), report);
}

int tally_all_gather(struct tally_member *m, const void *in, void *out,
		     size_t bytes, const struct tally_call_opts *opts,
		     struct tally_report *report)
{
	if (!m)
		return -EINVAL;
	return scratch_run(m, tally_all_gather_init(m->scratch, in, out, bytes,
						    opts), report);
}

int tally_broadcast(struct tally_member *m, void *buf, size_t bytes,
		    uint32_t root, const struct tally_call_opts *opts,
		    struct tally_report *report)
{
	if (!m)
		return -EINVAL;
	return scratch_run(m, tally_broadcast_init(m->scratch, buf, bytes, root,
						   opts), report);
}

int tally_barrier(struct tally_member *m, const struct tally_call_opts *opts,
		  struct tally_report *report)
{
	if (!m)
		return -EINVAL;
	return scratch_run(m, tally_barrier_init(m->scratch, opts), report);
}
