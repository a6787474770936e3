// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* Reports as text. */
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

/**
 * struct text - a text that may be longer than its buffer
 * @length: of the whole text so far
 */
struct text {
	char	*buf;
	size_t	size;
	size_t	length;
};

static void __attribute__((format(printf, 2, 3)))
add(struct text *t, const char *format, ...)
{
	size_t at = t->length < t->size ? t->length : t->size;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->size ? t->buf + at : NULL, t->size - at, format, args);
	va_end(args);
	if (n > 0)
		t->length += (size_t)n;
}

static void add_mask(struct text *t, uint64_t mask, const char *const *names)
{
	uint32_t rank, last;
	const char *comma = "";

	if (!mask)
		add(t, "none");
	for (rank = 0; rank < TALLY_RANKS; rank++) {
		if (!(mask >> rank & 1))
			continue;
		if (names && names[rank]) {
			add(t, "%s%s", comma, names[rank]);
			comma = ",";
			continue;
		}
		last = rank;
		while (last + 1 < TALLY_RANKS && mask >> (last + 1) & 1 &&
		       !(names && names[last + 1]))
			last++;
		if (last > rank + 1)
			add(t, "%s%u-%u", comma, rank, last);
		else if (last > rank)
			add(t, "%s%u,%u", comma, rank, last);
		else
			add(t, "%s%u", comma, rank);
		comma = ",";
		rank = last;
	}
}

int tally_mask_format(uint64_t mask, const char *const *names, char *buf,
		      size_t size)
{
	struct text t = { .buf = buf, .size = size };

	if (!buf && size)
		return -EINVAL;
	add_mask(&t, mask, names);
	return (int)t.length;
}

static const char *meaning(int status)
{
	switch (status) {
	case -EBADMSG:
		return "members disagree on what this collective is";
	case -ECANCELED:
		return "cancelled";
	case -ECONNABORTED:
		return "cancelled by another member";
	case -EHOSTDOWN:
		return "a chunk could not be decided";
	case -ENODEV:
		return "the group is gone";
	case -ESTALE:
		return "this member must receive state";
	case -ETIMEDOUT:
		return "not complete in time";
	default:
		return "failed";
	}
}

int tally_report_format(const struct tally_report *report,
			const char *const *names, char *buf, size_t size)
{
	struct text t = { .buf = buf, .size = size };
	struct tally_report r;
	int err;

	if (!report || (!buf && size))
		return -EINVAL;
	err = opts_get(&r, sizeof(r), report);
	if (err)
		return err;
	add(&t, "collective %u", r.seq);
	if (r.parts > 1)
		add(&t, "..%u", r.seq + r.parts - 1);
	add(&t, ": %s, %u chunks in %u us", r.status ? meaning(r.status) :
	    "complete", r.chunks, r.elapsed_us);
	if (r.partial || r.voided || r.repaired || r.lost || r.nonfinite)
		add(&t, " (%u partial, %u void, %u repaired, %u lost, "
		    "%u not finite)", r.partial, r.voided, r.repaired, r.lost,
		    r.nonfinite);
	if (r.status && r.missing) {
		add(&t, "; missing: ");
		add_mask(&t, r.missing, names);
	}
	if (r.late) {
		add(&t, "; late: ");
		add_mask(&t, r.late, names);
	}
	if (r.flags & TALLY_F_REJOIN)
		add(&t, "; a member waits for state");
	return (int)t.length;
}
