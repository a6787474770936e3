// SPDX-License-Identifier: GPL-2.0-only
/*
 * The vector file, played to the slot rule in BPF: verdicts, counters and the
 * bytes of the slots' map.  Both size classes play all of it that fits them.
 */
#include "../unit/unit.h"

#include "../vectors/vectors.h"
#include "frame.h"
#include "slots.h"
#include "slots.skel.h"

#define GROUPS_MAX	8
#define CLASS_1500	176	/* words */

struct player {
	struct slots		*skel;
	int			prog;
	uint32_t		most;	/* words that the program takes */
	struct vectors_group	groups[GROUPS_MAX];
	uint32_t		n;
	const struct vectors_group *g;
	uint64_t		base;
	unsigned int		played;
};

static struct slots *skel;

static int setup(void **state)
{
	skel = slots__open_and_load();
	return skel ? 0 : -1;
}

static int teardown(void **state)
{
	slots__destroy(skel);
	return 0;
}

static void map_set(const struct bpf_map *map, uint32_t key, const void *value)
{
	check_equal(bpf_map_update_elem(bpf_map__fd(map), &key, value,
					BPF_ANY), 0);
}

static void map_get(const struct bpf_map *map, uint32_t key, void *value)
{
	check_equal(bpf_map_lookup_elem(bpf_map__fd(map), &key, value), 0);
}

/* A local rank, whose address is that of the node. */
static uint32_t local_rank(const struct vectors_group *g)
{
	return __builtin_ctzll(g->rule.local);
}

static void put_group(const struct player *p)
{
	struct slots_group group = { .rule = p->g->rule, .base = p->base };
	uint32_t rank;

	group.address[0] = frame_address(local_rank(p->g));
	for (rank = 0; rank < TALLY_RANKS_MAX; rank++)
		group.member[rank][0] = frame_address(rank);
	map_set(p->skel->maps.groups, 0, &group);
}

static void begin_case(struct player *p, const struct vectors *v)
{
	int cpus = libbpf_num_possible_cpus();
	struct slots_drops *drops = calloc(cpus, sizeof(*drops));
	static struct slots_cell cell;
	static struct tally_keys keys;
	struct slots_shard shard = { 0 };
	uint32_t i;

	for (i = 0; i < p->n; i++) {
		if (!strcmp(p->groups[i].name, vectors_text(v, "group")))
			p->g = &p->groups[i];
	}
	p->base = vectors_u64(v, "base");
	put_group(p);
	memset(&keys, 0, sizeof(keys));
	tally_keys_init(&keys, p->g->keyed ? p->g->key : NULL,
			p->g->rule.group, p->g->rule.epoch);
	map_set(p->skel->maps.keys, 0, &keys);
	for (i = 0; i < SLOTS_CELLS; i++)
		map_set(p->skel->maps.slots, i, &cell);
	for (i = 0; i < SLOTS_SHARDS; i++)
		map_set(p->skel->maps.shards, i, &shard);
	map_set(p->skel->maps.drops, 0, drops);
	free(drops);
}

static uint64_t count(const struct player *p, uint32_t why)
{
	int cpus = libbpf_num_possible_cpus(), i;
	struct slots_drops *drops = calloc(cpus, sizeof(*drops));
	uint64_t sum = 0;

	map_get(p->skel->maps.drops, 0, drops);
	for (i = 0; i < cpus; i++)
		sum += drops[i].n[why];
	free(drops);
	return sum;
}

static void play_packet(struct player *p, const struct vectors *v)
{
	uint8_t payload[FRAME_MAX], frame[FRAME_MAX + FRAME_HEADERS];
	const char *verdict = vectors_text(v, "verdict");
	uint32_t why = vectors_drop(v, verdict), bytes, rank = 0;
	uint64_t before = count(p, why);
	int action;

	bytes = vectors_bytes(v, "data", payload, sizeof(payload));
	if (bytes >= 8)
		rank = payload[6] << 8 | payload[7];
	p->skel->bss->now_ns = vectors_u64(v, "now");
	p->skel->bss->here = !strcmp(vectors_text(v, "from"), "here");
	bytes = frame_build(frame, payload, bytes, rank % TALLY_RANKS_MAX,
			    local_rank(p->g));
	action = frame_run(p->prog, frame, bytes, NULL, NULL);
	if (action != XDP_DROP)
		vectors_fail(v, "action was not to drop", verdict);
	if (count(p, why) != before + 1)
		vectors_fail(v, "was not counted", verdict);
	p->played++;
}

static uint32_t place_of(const struct player *p, uint32_t seq, uint32_t owner)
{
	return tally_mask_index(p->g->rule.local, owner) * SLOTS_RING +
	       seq % (2 * p->g->rule.window);
}

static void play_close(struct player *p, const struct vectors *v)
{
	uint32_t at = place_of(p, vectors_u64(v, "seq"),
			       vectors_u64(v, "owner"));
	struct slots_shard shard;

	map_get(p->skel->maps.shards, at, &shard);
	check_equal(shard.shard.state, TALLY_SLOT_OPEN);
	shard.shard.state = TALLY_SLOT_CLOSED;
	map_set(p->skel->maps.shards, at, &shard);
}

/* Closing a slot is its owner's: done here, to compare what is left then. */
static void play_result(struct player *p, const struct vectors *v)
{
	static struct slots_cell cell;
	struct tally_hdr hdr, want;
	uint8_t data[FRAME_MAX];
	uint32_t at;

	vectors_bytes(v, "data", data, sizeof(data));
	memcpy(&want, data, sizeof(want));
	at = place_of(p, tally_get32(want.seq), vectors_u64(v, "owner"));
	at = at * SLOTS_CHUNKS + vectors_u64(v, "chunk");
	map_get(p->skel->maps.slots, at, &cell);
	tally_slot_close(&cell.slot, &hdr);
	map_set(p->skel->maps.slots, at, &cell);
	check_equal(hdr.mask, want.mask);
	check_equal(hdr.bias, want.bias);
	check_equal(hdr.weight, want.weight);
	check_equal(hdr.flags, want.flags);
	check_equal(hdr.words, want.words);
	assert_memory_equal(cell.payload, data + sizeof(hdr),
			    8 * tally_get16(hdr.words));
}

static void play_slot(struct player *p, const struct vectors *v)
{
	static struct slots_cell cell, none;
	uint8_t want[TALLY_PAYLOAD_MAX];
	struct tally_slot *slot = &cell.slot;
	uint32_t at, bytes;

	at = place_of(p, vectors_u64(v, "seq"), vectors_u64(v, "owner")) *
		SLOTS_CHUNKS + vectors_u64(v, "chunk");
	map_get(p->skel->maps.slots, at, &cell);
	bytes = vectors_bytes(v, "data", want, sizeof(want));
	check_equal(cell.lock, 0);
	if (slot->seq != vectors_u64(v, "seq") ||
	    slot->state != vectors_state(v) ||
	    slot->participants != vectors_u64(v, "participants") ||
	    slot->mask != vectors_u64(v, "mask") ||
	    slot->close_ns != vectors_u64(v, "close_ns") ||
	    slot->shape != vectors_u64(v, "shape") ||
	    slot->bias != vectors_u64(v, "bias") ||
	    slot->weight != vectors_u64(v, "weight") ||
	    slot->aligned != vectors_u64(v, "aligned") ||
	    slot->exponent != vectors_number(v, "exponent") ||
	    slot->flags != vectors_u64(v, "flags") ||
	    slot->lane != vectors_u64(v, "lane") ||
	    bytes != 8u * slot->words || memcmp(cell.payload, want, bytes))
		vectors_fail(v, "differs", "slot");
	map_set(p->skel->maps.slots, at, &none);	/* seen */
}

static void end_case(struct player *p, const struct vectors *v)
{
	static struct slots_cell cell;
	struct slots_shard shard;
	uint32_t i;

	for (i = 0; i < SLOTS_CELLS; i++) {
		map_get(p->skel->maps.slots, i, &cell);
		if (cell.lock || cell.slot.state != TALLY_SLOT_UNUSED)
			vectors_fail(v, "unexpected", "slot");
	}
	for (i = 0; i < SLOTS_SHARDS; i++) {
		map_get(p->skel->maps.shards, i, &shard);
		check_equal(shard.lock, 0);
	}
}

static void play_line(struct player *p, const struct vectors *v)
{
	if (vectors_is(v, "packet"))
		play_packet(p, v);
	else if (vectors_is(v, "close"))
		play_close(p, v);
	else if (vectors_is(v, "result"))
		play_result(p, v);
	else if (vectors_is(v, "slot"))
		play_slot(p, v);
	else if (vectors_is(v, "count"))
		check_equal(count(p, vectors_drop(v, vectors_word(v, 0))),
			    strtoul(vectors_word(v, 1), NULL, 10));
	else if (vectors_is(v, "end"))
		end_case(p, v);
	else if (vectors_is(v, "base"))
		p->base = strtoul(vectors_word(v, 0), NULL, 10), put_group(p);
	else
		vectors_fail(v, "unknown keyword", v->keyword);
}

static unsigned int play(struct bpf_program *prog, uint32_t most)
{
	static struct player p;
	struct vectors v;
	int skip = 0;

	memset(&p, 0, sizeof(p));
	p.skel = skel;
	p.prog = bpf_program__fd(prog);
	p.most = most;
	vectors_open(&v, "slots.txt");
	while (vectors_next(&v)) {
		if (vectors_is(&v, "group")) {
			check_true(p.n < GROUPS_MAX);
			vectors_group_read(&v, &p.groups[p.n++]);
			continue;
		}
		if (vectors_is(&v, "case")) {
			begin_case(&p, &v);
			skip = p.g->rule.cell_words > p.most;
			continue;
		}
		if (!skip)
			play_line(&p, &v);
	}
	vectors_close(&v);
	return p.played;
}

static void slots_1500__vectors(void **state)
{
	check_true(play(skel->progs.slots_1500, CLASS_1500) > 600);
}

static void slots_frags__vectors(void **state)
{
	uint32_t fewer = play(skel->progs.slots_1500, CLASS_1500);

	check_true(play(skel->progs.slots_frags, TALLY_WORDS_MAX) > fewer);
}

/* What only the addresses around a packet say. */
static void slots__foreign_addresses(void **state)
{
	struct player p = { .skel = skel };
	uint8_t payload[128] = { 0 }, frame[FRAME_MAX];
	struct vectors v;
	uint32_t bytes;

	vectors_open(&v, "slots.txt");
	while (vectors_next(&v) && !vectors_is(&v, "packet")) {
		if (vectors_is(&v, "group"))
			vectors_group_read(&v, &p.groups[p.n++]);
		else if (vectors_is(&v, "case"))
			begin_case(&p, &v);
	}
	check_equal(vectors_bytes(&v, "data", payload, sizeof(payload)), 128);
	vectors_close(&v);
	p.prog = bpf_program__fd(skel->progs.slots_1500);
	skel->bss->now_ns = 1;
	skel->bss->here = 0;
	/* The first packet is rank 2's, to rank 0. */
	bytes = frame_build(frame, payload, sizeof(payload), 2, 1);
	check_equal(frame_run(p.prog, frame, bytes, NULL, NULL), XDP_DROP);
	check_equal(count(&p, TALLY_DROP_ADDRESS), 1);
	bytes = frame_build(frame, payload, sizeof(payload), 3, 0);
	check_equal(frame_run(p.prog, frame, bytes, NULL, NULL), XDP_DROP);
	check_equal(count(&p, TALLY_DROP_MEMBER), 1);
	bytes = frame_build(frame, payload, sizeof(payload), 2, 0);
	check_equal(frame_run(p.prog, frame, bytes, NULL, NULL), XDP_DROP);
	check_equal(count(&p, TALLY_KEEP), 1);
}

/* A slot that somebody holds is left to the socket, and counted. */
static void slots__held_slot_is_passed(void **state)
{
	struct player p = { .skel = skel };
	uint8_t payload[128], frame[FRAME_MAX];
	static struct slots_cell cell;
	struct vectors v;
	uint32_t i, bytes;

	vectors_open(&v, "slots.txt");
	while (vectors_next(&v) && !vectors_is(&v, "packet")) {
		if (vectors_is(&v, "group"))
			vectors_group_read(&v, &p.groups[p.n++]);
		else if (vectors_is(&v, "case"))
			begin_case(&p, &v);
	}
	check_equal(vectors_bytes(&v, "data", payload, sizeof(payload)), 128);
	vectors_close(&v);
	cell.lock = 1;
	for (i = 0; i < SLOTS_CELLS; i++)
		map_set(skel->maps.slots, i, &cell);
	p.prog = bpf_program__fd(skel->progs.slots_1500);
	bytes = frame_build(frame, payload, sizeof(payload), 2, 0);
	check_equal(frame_run(p.prog, frame, bytes, NULL, NULL), XDP_PASS);
	check_equal(count(&p, TALLY_DROP_CONTENDED), 1);
	check_equal(count(&p, TALLY_KEEP), 0);
}

/* Far below the million that is the kernel's limit; see cost for figures. */
static void slots__verifier_budget(void **state)
{
	check_true(frame_verified(bpf_program__fd(skel->progs.slots_1500)) <
		   150000);
	check_true(frame_verified(bpf_program__fd(skel->progs.slots_frags)) <
		   200000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_1500__vectors),
		cmocka_unit_test(slots_frags__vectors),
		cmocka_unit_test(slots__foreign_addresses),
		cmocka_unit_test(slots__held_slot_is_passed),
		cmocka_unit_test(slots__verifier_budget),
	};

	libbpf_set_print(frame_warn);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
