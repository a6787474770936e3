// SPDX-License-Identifier: GPL-2.0-only
/* Where packets enter the engine: receive context. */
#include "internal.h"

/* What can be said without looking at the payload. */
static enum tally_drop check_header(struct tally_engine *e,
				    const struct tally_hdr *hdr,
				    const struct tally_payload *payload)
{
	enum tally_drop why = tally_hdr_check(&e->rule, hdr);

	if (why)
		return why;
	if (e->rule.local >> tally_get16(hdr->rank) & 1)
		return TALLY_DROP_SPOOF;
	if (payload->total < tally_get16(hdr->words))
		return TALLY_DROP_TRUNCATED;
	if (payload->total > tally_get16(hdr->words))
		return TALLY_DROP_OVERSIZED;
	return TALLY_KEEP;
}

/* One pass over the payload: tag, and bits that must be clear. */
static enum tally_drop check_payload(struct tally_engine *e,
				     const struct tally_hdr *hdr,
				     const struct tally_payload *payload,
				     u64 over)
{
	struct tally_scan scan = {};
	u32 i, at = 0;

	for (i = 0; i < payload->parts; i++) {
		tally_scan_words(&scan, &e->keys, at, payload->part[i],
				 payload->words[i]);
		at += payload->words[i];
	}
	return tally_scan_check(&e->keys, hdr, &scan, over);
}

/* A rank whose node holds voided results must rejoin before it counts. */
static bool contrib_refused(struct tally_engine *e, const struct tally_hdr *hdr)
{
	u32 rank = tally_get16(hdr->rank);
	u64 bit = 1ull << rank;

	if (!(atomic64_read(&e->refuse) & bit) ||
	    tally_seq_diff(tally_get32(hdr->seq),
			   READ_ONCE(e->node[e->config.node[rank]].refuse_seq))
	    <= 0)
		return false;
	atomic64_or(bit, hdr->flags & TALLY_F_REJOIN ? &e->rejoined :
						       &e->remind);
	e->ops->kick(e->host);
	return !(hdr->flags & TALLY_F_REJOIN);
}

enum tally_drop tally_engine_contrib(struct tally_engine *e,
				     const struct tally_hdr *hdr,
				     const struct tally_payload *payload,
				     u64 now)
{
	struct tally_member *m;
	enum tally_drop why;
	u32 owner = 0;
	u64 over;

	if (hdr->type != TALLY_CONTRIB)
		return TALLY_DROP_TYPE;
	why = check_header(e, hdr, payload);
	if (!why)
		why = tally_contrib_check(&e->rule, hdr, &owner);
	if (why)
		return why;
	over = tally_contrib_over(&e->rule, hdr);
	why = check_payload(e, hdr, payload, over);
	if (why)
		return why;

	tally_peer_seen(e, hdr, now);
	m = e->by_rank[owner];
	if (contrib_refused(e, hdr))
		return TALLY_DROP_VOIDED;
	why = tally_owned_add(e, m, hdr, payload, over, now);
	/*
	 * The window may have to jump: tally_base_advance().  Not for what is
	 * reliable: it needs our process anyway.
	 */
	if (why == TALLY_DROP_AHEAD && !(hdr->flags & TALLY_F_RELIABLE)) {
		WRITE_ONCE(m->ahead, tally_get64(hdr->mask));
		e->ops->kick(e->host);
	}
	return why;
}

enum tally_drop tally_engine_result(struct tally_engine *e,
				    const struct tally_hdr *hdr,
				    const struct tally_payload *payload,
				    u64 now)
{
	enum tally_drop best = TALLY_DROP_UNWANTED, why;
	struct tally_member *m;
	bool done = false;

	if (hdr->type != TALLY_RESULT)
		return TALLY_DROP_TYPE;
	why = check_header(e, hdr, payload);
	if (!why)
		why = check_payload(e, hdr, payload, 0);
	if (why)
		return why;
	tally_peer_seen(e, hdr, now);

	/* One packet serves all ranks of this node: keep it if one took it. */
	tally_for_each_member(e, m) {
		why = tally_cell_fill(e, m, hdr, payload, now, &done);
		if (why == TALLY_KEEP || best == TALLY_DROP_UNWANTED)
			best = why;
	}
	if (done)
		e->ops->kick(e->host);
	return best;
}

enum tally_drop tally_engine_check(struct tally_engine *e,
				   const struct tally_hdr *hdr,
				   const struct tally_payload *payload)
{
	enum tally_drop why = check_header(e, hdr, payload);

	if (why)
		return why;
	switch (hdr->type) {
	case TALLY_RECEIPT:
	case TALLY_NACK:
	case TALLY_PROBE:
	case TALLY_PROBE_ACK:
	case TALLY_ABORT:
	case TALLY_BUSY:
	case TALLY_DECIDE:
		return check_payload(e, hdr, payload, 0);
	default:
		return TALLY_DROP_TYPE;
	}
}
