// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a packet costs in the BPF programs, by BPF_PROG_RUN on this processor,
 * and how many instructions the verifier looked at for each program.
 *
 *	cost [-j]	a table, or JSON
 *
 * A figure is the least of several rounds: what disturbs a round adds to it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "frame.h"
#include "slots.h"
#include "slots.skel.h"
#include "tally_host.skel.h"

#define ROUNDS	600
#define REPEAT	1000

static struct figure {
	const char	*name;
	const char	*what;
	uint32_t	words;
	uint32_t	forget;
	bool		keyed;
	bool		frags;
	bool		still;	/* the clock is not read */
	double		ns;
} figures[] = {
	{ .name = "bare_drop", .words = 176,
	  .what = "XDP_DROP and nothing else" },
	{ .name = "pass_foreign", .words = 176,
	  .what = "tally_host: not tally's, counted, passed" },
	{ .name = "pass_parsed", .words = 176,
	  .what = "tally_host: parsed, no module, passed" },
	{ .name = "add", .words = 176, .forget = SLOTS_FORGET_RANKS,
	  .what = "slot rule: added, equal exponents" },
	{ .name = "add_still", .words = 176, .forget = SLOTS_FORGET_RANKS,
	  .still = true, .what = "the same without reading the clock" },
	{ .name = "add_shifted", .words = 176,
	  .forget = SLOTS_FORGET_RANKS | SLOTS_FORGET_EXPONENT,
	  .what = "slot rule: shifted to the slot's exponent, added" },
	{ .name = "store", .words = 176,
	  .forget = SLOTS_FORGET_RANKS | SLOTS_FORGET_WORDS,
	  .what = "slot rule: first words of a slot" },
	{ .name = "duplicate", .words = 176,
	  .what = "slot rule: tag verified, counted already" },
	{ .name = "zeros", .forget = SLOTS_FORGET_RANKS,
	  .what = "slot rule: a block of zeros, no payload" },
	{ .name = "add_keyed", .words = 176, .forget = SLOTS_FORGET_RANKS,
	  .keyed = true, .what = "slot rule: added, with a key" },
	{ .name = "add_jumbo", .words = 1120, .forget = SLOTS_FORGET_RANKS,
	  .frags = true,
	  .what = "slot rule: added, 8,960 bytes in fragments" },
};

#define FIGURES	(sizeof(figures) / sizeof(figures[0]))

static struct program {
	const char	*name;
	uint32_t	verified;
	uint32_t	jited;
} programs[6];

static void die(const char *what, int err)
{
	fprintf(stderr, "cost: %s: %s\n", what, strerror(-err));
	exit(1);
}

static double run(int fd, uint8_t *frame, uint32_t bytes, int want)
{
	double least = 1e9;
	int i, err;

	for (i = 0; i < ROUNDS; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts,
			.data_in = frame,
			.data_size_in = bytes,
			.repeat = REPEAT,
		);

		err = bpf_prog_test_run_opts(fd, &opts);
		if (err)
			die("BPF_PROG_RUN", err);
		if ((int)opts.retval != want)
			die("action", -EPROTO);
		if (opts.duration < least)
			least = opts.duration;
	}
	return least;
}

/* One contribution of rank 1 to rank 0. */
static uint32_t contribution(const struct figure *f, uint8_t *frame,
			     const struct tally_keys *keys)
{
	uint8_t packet[sizeof(struct tally_hdr) + TALLY_PAYLOAD_MAX] = { 0 };
	uint64_t *words = (uint64_t *)(packet + sizeof(struct tally_hdr));
	struct tally_hdr *hdr = (struct tally_hdr *)packet;
	struct tally_scan scan = { 0 };
	uint32_t i;

	for (i = 0; i < f->words; i++)
		words[i] = 0x1234567812345678ull + i;
	hdr->version = TALLY_VERSION;
	hdr->type = TALLY_CONTRIB;
	hdr->lane = TALLY_LANE_I32;
	hdr->flags = TALLY_F_RELIABLE;
	hdr->group = tally_put16(7);
	hdr->rank = tally_put16(1);
	hdr->words = tally_put16(f->words);
	hdr->exponent = f->words ? 0 : TALLY_EXP_NONE;
	hdr->mask = tally_put64(0xf);
	hdr->bias = tally_put32(f->words ? 1u << 29 : 0);
	hdr->weight = tally_put32(1);
	tally_scan_words(&scan, keys, 0, words, f->words);
	hdr->tag = tally_tag(keys, hdr, scan.hash);
	return frame_build(frame, packet, sizeof(*hdr) + 8 * f->words, 1, 0);
}

static void set(const struct bpf_map *map, const void *value)
{
	uint32_t zero = 0;
	int err = bpf_map_update_elem(bpf_map__fd(map), &zero, value, BPF_ANY);

	if (err)
		die(bpf_map__name(map), err);
}

static uint64_t kept(const struct slots *skel)
{
	int cpus = libbpf_num_possible_cpus(), i;
	struct slots_drops *drops = calloc(cpus, sizeof(*drops));
	uint32_t zero = 0;
	uint64_t sum = 0;

	bpf_map_lookup_elem(bpf_map__fd(skel->maps.drops), &zero, drops);
	for (i = 0; i < cpus; i++)
		sum += drops[i].n[TALLY_KEEP];
	free(drops);
	return sum;
}

static void measure_slot(struct figure *f, int bare)
{
	static const uint8_t key[TALLY_KEY_BYTES] = "measured, secret";
	static struct tally_keys keys;
	struct slots_group group = {
		.rule = {
			.local = 1,
			.members = 0xf,
			.epoch = 0,
			.shard_chunks = 1,
			.group = 7,
			.cell_words = TALLY_WORDS_MAX,
			.window = 4,
		},
	};
	struct slots *skel = slots__open();
	uint8_t frame[FRAME_MAX];
	uint32_t bytes, rank;
	int err, fd;

	if (!skel)
		die("slots", -errno);
	skel->rodata->forget = f->forget;
	err = slots__load(skel);
	if (err)
		die("slots", err);
	skel->bss->now_ns = f->still;
	memset(&keys, 0, sizeof(keys));
	tally_keys_init(&keys, f->keyed ? key : NULL, 7, 0);
	group.address[0] = frame_address(0);
	for (rank = 0; rank < 4; rank++)
		group.member[rank][0] = frame_address(rank);
	set(skel->maps.groups, &group);
	set(skel->maps.keys, &keys);
	bytes = contribution(f, frame, &keys);
	fd = bpf_program__fd(bare ? skel->progs.bare_drop :
			     f->frags ? skel->progs.slots_frags :
					skel->progs.slots_1500);
	f->ns = run(fd, frame, bytes, XDP_DROP);
	/* Was it what it says? */
	if (!bare && f->forget && kept(skel) <
	    (uint64_t)ROUNDS * REPEAT)
		die(f->name, -EPROTO);
	slots__destroy(skel);
}

static void measure_host(struct figure *f, int foreign)
{
	struct tally_host *skel = tally_host__open_and_load();
	static struct tally_keys keys;
	uint8_t frame[FRAME_MAX];
	uint32_t bytes;

	if (!skel)
		die("tally_host", -errno);
	bytes = contribution(f, frame, &keys);
	if (foreign)
		frame[36] = 0;	/* UDP port */
	f->ns = run(bpf_program__fd(skel->progs.tally_host), frame, bytes,
		    XDP_PASS);
	tally_host__destroy(skel);
}

static void program_info(const struct bpf_program *prog)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	static unsigned int n;

	if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &size))
		die(bpf_program__name(prog), -errno);
	programs[n].name = strdup(bpf_program__name(prog));
	programs[n].verified = info.verified_insns;
	programs[n++].jited = info.jited_prog_len;
}

static void all_programs(void)
{
	struct tally_host *host = tally_host__open_and_load();
	struct slots *slots = slots__open_and_load();

	if (!host || !slots)
		die("loading", -errno);
	program_info(host->progs.tally_host);
	program_info(host->progs.tally_frags);
	program_info(slots->progs.slots_1500);
	program_info(slots->progs.slots_frags);
	program_info(slots->progs.bare_drop);
	tally_host__destroy(host);
	slots__destroy(slots);
}

static double above(const struct figure *f)
{
	return f->ns - figures[0].ns;
}

static void print_table(void)
{
	struct program *p;
	struct figure *f;

	printf("%-16s %9s %9s  %s\n", "packet", "ns", "above", "what");
	for (f = figures; f < figures + FIGURES; f++)
		printf("%-16s %9.0f %9.0f  %s\n", f->name, f->ns, above(f),
		       f->what);
	printf("\n%-16s %9s %9s\n", "program", "verified", "jited");
	for (p = programs; p->name; p++)
		printf("%-16s %9u %9u\n", p->name, p->verified, p->jited);
}

static void print_json(void)
{
	const char *comma = "";
	struct program *p;
	struct figure *f;

	printf("{\"packets\":[");
	for (f = figures; f < figures + FIGURES; f++) {
		printf("%s{\"name\":\"%s\",\"bytes\":%u,\"ns\":%.0f,\"above_drop_ns\":%.0f}",
		       comma, f->name, 8 * f->words, f->ns, above(f));
		comma = ",";
	}
	printf("],\"programs\":[");
	comma = "";
	for (p = programs; p->name; p++) {
		printf("%s{\"name\":\"%s\",\"verified_insns\":%u,\"jited_bytes\":%u}",
		       comma, p->name, p->verified, p->jited);
		comma = ",";
	}
	printf("]}\n");
}

int main(int argc, char **argv)
{
	struct figure *f;

	libbpf_set_print(frame_warn);
	for (f = figures; f < figures + FIGURES; f++) {
		if (!strncmp(f->name, "pass_", 5))
			measure_host(f, !strcmp(f->name, "pass_foreign"));
		else
			measure_slot(f, !strncmp(f->name, "bare", 4));
	}
	all_programs();
	if (argc > 1 && !strcmp(argv[1], "-j"))
		print_json();
	else
		print_table();
	return 0;
}
