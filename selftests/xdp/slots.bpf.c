// SPDX-License-Identifier: GPL-2.0-only
/*
 * The whole slot rule over BPF maps, without the module: proves that slot.h
 * passes the verifier, and what a packet costs.  It is what the process
 * transport will stand on.
 *
 * Two size classes: `slots` reads payloads of up to 1,408 bytes in place (MTU
 * 1500), `slots_frags` copies longer ones out of their fragments (MTU 9000).
 */
#include "../../bpf/parse.bpf.h"
#include "slots.h"

#define BLOCK		8	/* words that one bounds check covers */
#define CLASS_1500	176	/* words */
#define WORDS_MASK	2047	/* for the verifier: above any length */
#define LOCK_TRIES	64

/* Tests set the clock, and who sends for a local rank. */
__u64 now_ns;
__u32 here;

/* Set before loading: what the slot forgets before each packet. */
const volatile __u32 forget;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct slots_group);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally_keys);
} keys SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLOTS_CELLS);
	__type(key, __u32);
	__type(value, struct slots_cell);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLOTS_SHARDS);
	__type(key, __u32);
	__type(value, struct slots_shard);
} shards SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct slots_drops);
} drops SEC(".maps");

struct scratch {
	__u8	bytes[TALLY_PAYLOAD_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

/*
 * Passes over a payload.  They are global functions: the verifier proves each
 * once, for any arguments, instead of once for every path that leads to it.
 * It knows nothing of a length that is read from an argument's memory, and so
 * finds that all ways out of the loop over blocks are alike.
 */

#define LENGTH(of)	(*(volatile const __u32 *)&(of)->words)

struct scan_run {
	struct tally_scan	scan;
	__u32			words;
	__u32			__reserved;
};

static __always_inline int scan(const __u8 *at, int packet, const void *end,
				__u32 most, const struct tally_keys *k,
				struct scan_run *run)
{
	struct tally_scan s = {};
	const __u8 *p = at;
	__u32 i, words, n;

	words = LENGTH(run);
	for (i = 0; i + BLOCK <= most; i += BLOCK, p += 8 * BLOCK) {
		if (i + BLOCK > words)
			break;
		if (packet && (const void *)(p + 8 * BLOCK) > end)
			return -1;
		tally_scan_words(&s, k, i, p, BLOCK);
	}
	words = LENGTH(run);
	i = words & WORDS_MASK & -BLOCK;
	for (n = 1; n < BLOCK; n++, i++) {
		barrier_var(i);
		if (i >= words || i >= most)
			break;
		p = at + 8 * i;
		if (packet && (const void *)(p + 8) > end)
			return -1;
		tally_scan_words(&s, k, i, p, 1);
	}
	run->scan = s;
	return 0;
}

static __always_inline int add(const __u8 *at, int packet, const void *end,
			       __u32 most, __le64 *sum,
			       const struct tally_add *how)
{
	const __u8 *p = at;
	__u32 i, words, n;

	words = LENGTH(how);
	for (i = 0; i + BLOCK <= most; i += BLOCK, p += 8 * BLOCK) {
		if (i + BLOCK > words)
			break;
		if (packet && (const void *)(p + 8 * BLOCK) > end)
			return -1;
		tally_slot_add(sum + i, p, BLOCK, how);
	}
	words = LENGTH(how);
	i = words & WORDS_MASK & -BLOCK;
	for (n = 1; n < BLOCK; n++, i++) {
		barrier_var(i);
		if (i >= words || i >= most)
			break;
		p = at + 8 * i;
		if (packet && (const void *)(p + 8) > end)
			return -1;
		tally_slot_add(sum + i, p, 1, how);
	}
	return 0;
}

__noinline int scan_packet(struct xdp_md *xdp, __u32 offset,
			   const struct tally_keys *k, struct scan_run *run)
{
	const __u8 *at = (void *)(long)xdp->data + (offset & 0xff);

	if (!k || !run)
		return -1;
	return scan(at, 1, (void *)(long)xdp->data_end, CLASS_1500, k, run);
}

__noinline int scan_copy(const struct scratch *copy,
			 const struct tally_keys *k, struct scan_run *run)
{
	if (!copy || !k || !run)
		return -1;
	return scan(copy->bytes, 0, NULL, TALLY_WORDS_MAX, k, run);
}

__noinline int add_packet(struct xdp_md *xdp, __u32 offset,
			  struct slots_cell *cell, const struct tally_add *how)
{
	const __u8 *at = (void *)(long)xdp->data + (offset & 0xff);

	if (!cell || !how)
		return -1;
	return add(at, 1, (void *)(long)xdp->data_end, CLASS_1500,
		   cell->payload, how);
}

__noinline int add_copy(const struct scratch *copy, struct slots_cell *cell,
			const struct tally_add *how)
{
	if (!copy || !cell || !how)
		return -1;
	return add(copy->bytes, 0, NULL, TALLY_WORDS_MAX, cell->payload, how);
}

__noinline int shift(struct slots_cell *cell, const struct tally_shift *own)
{
	if (!cell || !own)
		return -1;
	tally_shift_slot(cell->payload, cell->slot.words, own);
	return 0;
}

/**
 * struct payload - where a packet's words are
 * @xdp: the packet
 * @copy: its payload, copied; NULL: read in place
 * @offset: of the payload from the start of the frame
 * @words: how many
 */
struct payload {
	struct xdp_md		*xdp;
	const struct scratch	*copy;
	__u32			offset;
	__u32			words;
};

static __always_inline int lock(__u32 *word)
{
	int i;

	for (i = 0; i < LOCK_TRIES; i++) {
		if (!__sync_val_compare_and_swap(word, 0, 1))
			return 1;
	}
	return 0;
}

static __always_inline void unlock(__u32 *word)
{
	__sync_lock_test_and_set(word, 0);
}

/* The slot's first packet of a seq: the shard decides.  Slot's lock held. */
static __always_inline __u32 open_slot(const struct slots_group *g,
				       struct slots_cell *cell, __u32 place,
				       const struct tally_hdr *hdr, __u64 now)
{
	struct slots_shard *s = bpf_map_lookup_elem(&shards, &place);
	__u32 why;

	if (!s)
		return TALLY_DROP_CHUNK;
	if (!lock(&s->lock))
		return TALLY_DROP_CONTENDED;
	why = tally_shard_admit(&s->shard, g->base, &g->rule, hdr, now);
	if (!why)
		tally_slot_reset(&cell->slot, &s->shard);
	unlock(&s->lock);
	return why;
}

static __always_inline __u32 sum(const struct slots_group *g, __u32 owner,
				 const struct tally_hdr *hdr,
				 const struct payload *p, __u64 over)
{
	__u32 place, at, why;
	__u64 now = now_ns ?: bpf_ktime_get_ns();
	struct tally_shift own = {};
	struct tally_add how = {};
	struct slots_cell *cell;

	place = tally_mask_index(g->rule.local, owner) * SLOTS_RING +
		(tally_get32(hdr->seq) & (2 * g->rule.window - 1));
	at = place * SLOTS_CHUNKS + tally_get32(hdr->chunk);
	cell = bpf_map_lookup_elem(&slots, &at);
	if (!cell)
		return TALLY_DROP_CHUNK;
	if (!lock(&cell->lock))
		return TALLY_DROP_CONTENDED;
	if (forget & SLOTS_FORGET_RANKS)
		cell->slot.mask = 0;
	if (forget & SLOTS_FORGET_WORDS)
		cell->slot.words = 0;
	if (forget & SLOTS_FORGET_EXPONENT)
		cell->slot.exponent = 1;
	why = tally_slot_admit(&cell->slot, g->base, g->rule.window, hdr, now);
	if (why == TALLY_SLOT_FRESH)
		why = open_slot(g, cell, place, hdr, now);
	if (!why) {
		tally_slot_take(&cell->slot, hdr, over, &how, &own);
		if (own.k)
			shift(cell, &own);
		if (p->copy)
			add_copy(p->copy, cell, &how);
		else
			add_packet(p->xdp, p->offset, cell, &how);
		tally_slot_commit(&cell->slot, hdr);
	}
	unlock(&cell->lock);
	return why;
}

/* Group, address and member: who may send what to whom. */
static __always_inline __u32 check(const struct slots_group *g,
				   const struct tally_flow *flow,
				   const struct tally_hdr *hdr)
{
	const __u64 *from = (const __u64 *)flow->saddr;
	const __u64 *to = (const __u64 *)flow->daddr;
	__u32 why, rank;

	why = tally_hdr_check(&g->rule, hdr);
	if (why)
		return why;
	if (to[0] != g->address[0] || to[1] != g->address[1])
		return TALLY_DROP_ADDRESS;
	rank = tally_get16(hdr->rank) & (TALLY_RANKS_MAX - 1);
	if (from[0] != g->member[rank][0] || from[1] != g->member[rank][1])
		return TALLY_DROP_MEMBER;
	if (!here && g->rule.local >> rank & 1)
		return TALLY_DROP_SPOOF;
	if (flow->length != sizeof(*hdr) + 8 * tally_get16(hdr->words))
		return flow->length < sizeof(*hdr) +
			8 * tally_get16(hdr->words) ? TALLY_DROP_TRUNCATED :
						      TALLY_DROP_OVERSIZED;
	return TALLY_KEEP;
}

static __always_inline __u32 contribute(const struct slots_group *g,
					const struct tally_hdr *hdr,
					const struct payload *p)
{
	struct scan_run run = { .words = p->words };
	struct tally_keys *k;
	__u32 why, owner = 0, zero = 0;
	__u64 over;

	k = bpf_map_lookup_elem(&keys, &zero);
	if (!k)
		return TALLY_DROP_GROUP;
	why = tally_contrib_check(&g->rule, hdr, &owner);
	if (why)
		return why;
	over = tally_contrib_over(&g->rule, hdr);
	if (p->copy ? scan_copy(p->copy, k, &run) :
		      scan_packet(p->xdp, p->offset, k, &run))
		return TALLY_DROP_TRUNCATED;
	why = tally_scan_check(k, hdr, &run.scan, over);
	if (why)
		return why;
	return sum(g, owner, hdr, p, over);
}

static __always_inline int finish(__u32 why)
{
	struct slots_drops *d;
	__u32 zero = 0;

	d = bpf_map_lookup_elem(&drops, &zero);
	if (d && why < __TALLY_DROP_END)
		d->n[why]++;
	return why == TALLY_DROP_CONTENDED ? XDP_PASS : XDP_DROP;
}

/* Everything up to the payload. */
static __always_inline int begin(struct xdp_md *xdp, struct tally_flow *flow,
				 struct slots_group **g)
{
	__u32 zero = 0;

	switch (parse(xdp, bpf_htons(TALLY_PORT), flow)) {
	case PARSED_CONTRIB:
		break;
	case PARSED_TRUNCATED:
		return TALLY_DROP_TRUNCATED;
	case PARSED_VERSION:
		return TALLY_DROP_VERSION;
	case PARSED_TYPE:
		return TALLY_DROP_TYPE;
	default:
		return -1;
	}
	*g = bpf_map_lookup_elem(&groups, &zero);
	return *g ? TALLY_KEEP : -1;
}

SEC("xdp")
int slots_1500(struct xdp_md *xdp)
{
	struct tally_flow flow = {};
	struct slots_group *g = NULL;
	struct payload p = { .xdp = xdp };
	struct tally_hdr hdr, *at;
	int why;

	why = begin(xdp, &flow, &g);
	if (why < 0)
		return XDP_PASS;
	if (why || !g)
		return finish(why);
	if (flow.length < sizeof(hdr))
		return finish(TALLY_DROP_TRUNCATED);
	at = (void *)(long)xdp->data + (flow.offset & 0xff);
	if ((void *)(at + 1) > (void *)(long)xdp->data_end)
		return finish(TALLY_DROP_TRUNCATED);
	hdr = *at;
	why = check(g, &flow, &hdr);
	if (why)
		return finish(why);
	p.offset = flow.offset + sizeof(hdr);
	p.words = tally_get16(hdr.words);
	if (p.words > CLASS_1500)
		return XDP_PASS;
	return finish(contribute(g, &hdr, &p));
}

SEC("xdp.frags")
int slots_frags(struct xdp_md *xdp)
{
	struct tally_flow flow = {};
	struct slots_group *g = NULL;
	struct payload p = { .xdp = xdp };
	struct tally_hdr hdr;
	struct scratch *s;
	__u32 zero = 0, bytes;
	int why;

	why = begin(xdp, &flow, &g);
	if (why < 0)
		return XDP_PASS;
	if (why || !g)
		return finish(why);
	if (flow.length < sizeof(hdr) ||
	    bpf_xdp_load_bytes(xdp, flow.offset, &hdr, sizeof(hdr)))
		return finish(TALLY_DROP_TRUNCATED);
	why = check(g, &flow, &hdr);
	if (why)
		return finish(why);
	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s)
		return XDP_PASS;
	p.copy = s;
	p.words = tally_get16(hdr.words);
	if (p.words > TALLY_WORDS_MAX)
		return finish(TALLY_DROP_OVERSIZED);
	bytes = 8 * p.words;
	if (bytes - 1 < sizeof(s->bytes) &&
	    bpf_xdp_load_bytes(xdp, flow.offset + sizeof(hdr), s->bytes,
			       bytes))
		return finish(TALLY_DROP_TRUNCATED);
	return finish(contribute(g, &hdr, &p));
}

SEC("xdp")
int bare_drop(struct xdp_md *xdp)
{
	return XDP_DROP;
}

char _license[] SEC("license") = "GPL";
