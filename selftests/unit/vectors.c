// SPDX-License-Identifier: GPL-2.0-only
/* The vector file, played to the slot rule as an owner would. */
#include "unit.h"

#include "../vectors/vectors.h"

#define GROUPS_MAX	8
#define CELL_MAX	(sizeof(struct tally_hdr) + TALLY_PAYLOAD_MAX)

/* One node's slots and shards: [ring place][owner rank][chunk]. */
#define RING_MAX	8
#define CHUNKS_MAX	4

struct place {
	struct tally_slot	slot;
	__le64			payload[TALLY_WORDS_MAX];
};

struct owner {
	struct tally_shard	shard;
	struct place		place[CHUNKS_MAX];
};

static struct vectors_group groups[GROUPS_MAX];
static struct owner owners[RING_MAX][TALLY_RANKS_MAX];
static struct tally_keys keys;
static unsigned int counts[__TALLY_DROP_END];

static struct owner *owner_at(const struct vectors_group *g, uint32_t seq,
			      uint32_t rank)
{
	return &owners[seq % (2 * g->rule.window)][rank];
}

static enum tally_drop add(const struct vectors_group *g, uint32_t base,
			   const struct tally_hdr *hdr, const uint8_t *payload,
			   uint32_t rank, uint64_t over, uint64_t now)
{
	struct owner *o = owner_at(g, tally_get32(hdr->seq), rank);
	struct place *p = &o->place[tally_get32(hdr->chunk)];
	struct tally_add add;
	uint32_t why;

	why = tally_slot_admit(&p->slot, base, g->rule.window, hdr, now);
	if (why == TALLY_SLOT_FRESH) {
		why = tally_shard_admit(&o->shard, base, &g->rule, hdr, now);
		if (!why)
			tally_slot_reset(&p->slot, &o->shard);
	}
	if (why)
		return why;
	tally_slot_align(&p->slot, p->payload, hdr, over, &add);
	tally_slot_add(p->payload, payload, add.words, &add);
	tally_slot_commit(&p->slot, hdr);
	return TALLY_KEEP;
}

static enum tally_drop receive(const struct vectors_group *g, uint32_t base,
			       const uint8_t *data, size_t bytes, int here,
			       uint64_t now)
{
	struct tally_scan scan = { 0 };
	enum tally_drop why;
	struct tally_hdr hdr;
	uint32_t rank = 0, words;
	uint64_t over;

	if (bytes < sizeof(hdr))
		return TALLY_DROP_TRUNCATED;
	memcpy(&hdr, data, sizeof(hdr));
	why = tally_hdr_check(&g->rule, &hdr);
	if (why)
		return why;
	if (!here && g->rule.local >> tally_get16(hdr.rank) & 1)
		return TALLY_DROP_SPOOF;
	words = tally_get16(hdr.words);
	if (bytes != sizeof(hdr) + 8 * words)
		return bytes < sizeof(hdr) + 8 * words ?
			TALLY_DROP_TRUNCATED : TALLY_DROP_OVERSIZED;
	why = tally_contrib_check(&g->rule, &hdr, &rank);
	if (why)
		return why;
	over = tally_contrib_over(&g->rule, &hdr);
	data += sizeof(hdr);
	tally_scan_words(&scan, &keys, 0, data, words);
	why = tally_scan_check(&keys, &hdr, &scan, over);
	if (why)
		return why;
	return add(g, base, &hdr, data, rank, over, now);
}

static const struct vectors_group *group_find(const struct vectors *v)
{
	const char *name = vectors_text(v, "group");
	uint32_t i;

	for (i = 0; i < GROUPS_MAX; i++) {
		if (!strcmp(groups[i].name, name))
			return &groups[i];
	}
	vectors_fail(v, "no such group", name);
}

static void play_packet(const struct vectors *v, const struct vectors_group *g,
			uint32_t base)
{
	uint32_t want = vectors_drop(v, vectors_text(v, "verdict")), got;
	static struct owner was[RING_MAX][TALLY_RANKS_MAX];
	/* At an odd address, with nothing readable after it. */
	size_t bytes = strlen(vectors_text(v, "data")) / 2;
	uint8_t *data = malloc(bytes + 1);

	assert_non_null(data);
	bytes = vectors_bytes(v, "data", data + 1, bytes);
	if (want)
		memcpy(was, owners, sizeof(was));
	got = receive(g, base, data + 1, bytes,
		      !strcmp(vectors_text(v, "from"), "here"),
		      vectors_u64(v, "now"));
	free(data);
	if (got != want)
		vectors_fail(v, "verdict was", vectors_drop_name(got));
	counts[got]++;
	if (want == TALLY_DROP_MISMATCH) {
		uint32_t i, j;

		for (i = 0; i < RING_MAX; i++)
			for (j = 0; j < TALLY_RANKS_MAX; j++)
				was[i][j].shard.other =
					owners[i][j].shard.other;
	}
	if (want && memcmp(was, owners, sizeof(was)))
		vectors_fail(v, "a dropped packet changed", "slots");
}

static void play_close(const struct vectors *v, const struct vectors_group *g)
{
	struct owner *o = owner_at(g, vectors_u64(v, "seq"),
				   vectors_u64(v, "owner"));

	check_equal(o->shard.state, TALLY_SLOT_OPEN);
	o->shard.state = TALLY_SLOT_CLOSED;
}

/* The RESULT packet that a slot becomes, against its bytes in the file. */
static void play_result(const struct vectors *v, const struct vectors_group *g)
{
	uint32_t rank = vectors_u64(v, "owner"), words;
	struct tally_scan scan = { 0 };
	uint8_t want[CELL_MAX], got[CELL_MAX];
	struct tally_hdr hdr = { 0 }, *first = (struct tally_hdr *)want;
	struct owner *o;
	struct place *p;
	size_t bytes;

	bytes = vectors_bytes(v, "data", want, sizeof(want));
	o = owner_at(g, tally_get32(first->seq), rank);
	p = &o->place[vectors_u64(v, "chunk")];
	tally_slot_close(&p->slot, &hdr);
	hdr.group = tally_put16(g->rule.group);
	hdr.rank = tally_put16(rank);
	hdr.epoch = tally_put32(g->rule.epoch);
	hdr.seq = tally_put32(p->slot.seq);
	hdr.chunk = tally_put32(vectors_u64(v, "chunk"));
	hdr.shard = tally_put16(o->shard.index);
	words = tally_get16(hdr.words);
	tally_scan_words(&scan, &keys, 0, p->payload, words);
	hdr.tag = tally_tag(&keys, &hdr, scan.hash);
	memcpy(got, &hdr, sizeof(hdr));
	memcpy(got + sizeof(hdr), p->payload, 8 * words);
	check_equal(bytes, sizeof(hdr) + 8 * words);
	if (memcmp(got, want, bytes))
		vectors_fail(v, "bytes differ", "RESULT");
}

static void play_slot(const struct vectors *v, const struct vectors_group *g)
{
	struct owner *o = owner_at(g, vectors_u64(v, "seq"),
				   vectors_u64(v, "owner"));
	struct place *p = &o->place[vectors_u64(v, "chunk")];
	const struct tally_slot *slot = &p->slot;
	uint8_t want[TALLY_PAYLOAD_MAX];
	size_t bytes = vectors_bytes(v, "data", want, sizeof(want));

#define SAME(field)							\
	do {								\
		if (slot->field != vectors_u64(v, #field))		\
			vectors_fail(v, "slot differs in", #field);	\
	} while (0)
	SAME(seq);
	SAME(participants);
	SAME(mask);
	SAME(close_ns);
	SAME(shape);
	SAME(bias);
	SAME(weight);
	SAME(aligned);
	SAME(words);
	SAME(flags);
	SAME(lane);
#undef SAME
	assert_int_equal(slot->exponent, vectors_number(v, "exponent"));
	check_equal(slot->state, vectors_state(v));
	check_equal(bytes, 8u * slot->words);
	if (memcmp(p->payload, want, bytes))
		vectors_fail(v, "payload differs in", "slot");
	memset(p, 0, sizeof(*p));	/* seen */
}

/* Every slot in use was named by the file. */
static void check_rest(const struct vectors *v)
{
	uint32_t i, j, k;

	for (i = 0; i < RING_MAX; i++)
		for (j = 0; j < TALLY_RANKS_MAX; j++)
			for (k = 0; k < CHUNKS_MAX; k++)
				if (owners[i][j].place[k].slot.state)
					vectors_fail(v, "unexpected", "slot");
}

static void play_count(const struct vectors *v)
{
	uint32_t drop = vectors_drop(v, vectors_word(v, 0));

	check_equal(counts[drop], strtoul(vectors_word(v, 1), NULL, 10));
}

static void slots__vectors(void **state)
{
	const struct vectors_group *g = NULL;
	uint32_t base = 0, n = 0, cases = 0;
	struct vectors v;

	vectors_open(&v, "slots.txt");
	while (vectors_next(&v)) {
		if (vectors_is(&v, "group")) {
			check_true(n < GROUPS_MAX);
			vectors_group_read(&v, &groups[n++]);
		} else if (vectors_is(&v, "case")) {
			g = group_find(&v);
			base = vectors_u64(&v, "base");
			tally_keys_init(&keys, g->keyed ? g->key : NULL,
					g->rule.group, g->rule.epoch);
			memset(owners, 0, sizeof(owners));
			memset(counts, 0, sizeof(counts));
		} else if (vectors_is(&v, "packet")) {
			play_packet(&v, g, base);
		} else if (vectors_is(&v, "base")) {
			base = strtoul(vectors_word(&v, 0), NULL, 10);
		} else if (vectors_is(&v, "close")) {
			play_close(&v, g);
		} else if (vectors_is(&v, "result")) {
			play_result(&v, g);
		} else if (vectors_is(&v, "slot")) {
			play_slot(&v, g);
		} else if (vectors_is(&v, "count")) {
			play_count(&v);
		} else if (vectors_is(&v, "end")) {
			check_rest(&v);
			cases++;
		} else {
			vectors_fail(&v, "unknown keyword", v.keyword);
		}
	}
	vectors_close(&v);
	check_true(cases >= 80);
}

UNIT_MAIN(
	cmocka_unit_test(slots__vectors),
)
