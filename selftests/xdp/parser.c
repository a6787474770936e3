// SPDX-License-Identifier: GPL-2.0-only
/*
 * The frames of the vector file: what the parser says of them, and that the
 * programs that are attached count them, pass them and change no byte.
 */
#include "../unit/unit.h"

#include <unistd.h>

#include <bpf/btf.h>
#include <tally/flow.h>

#include "../../bpf/verdicts.h"
#include "../vectors/vectors.h"
#include "frame.h"
#include "parser.skel.h"
#include "tally_host.skel.h"

/* As in parse.bpf.h. */
static const char *const parsed_names[] = {
	"foreign", "fragment", "truncated", "version", "type", "contrib",
	"result", "control",
};

static int is_ours(const char *verdict)
{
	return !strcmp(verdict, "contrib") || !strcmp(verdict, "result") ||
	       !strcmp(verdict, "control");
}

static void check_flow(const struct vectors *v, const struct tally_flow *flow)
{
	int family = vectors_u64(v, "family") == 4 ? AF_INET : AF_INET6;
	static const uint8_t zero[16];
	uint8_t address[16];
	size_t size = family == AF_INET ? 4 : 16;

	check_equal(flow->family, vectors_u64(v, "family"));
	check_equal(ntohs(flow->sport), vectors_u64(v, "sport"));
	check_equal(ntohs(flow->dport), vectors_u64(v, "dport"));
	check_equal(flow->offset, vectors_u64(v, "offset"));
	check_equal(flow->length, vectors_u64(v, "length"));
	check_equal(flow->ce, vectors_u64(v, "ce"));
	inet_pton(family, vectors_text(v, "saddr"), address);
	assert_memory_equal(flow->saddr, address, size);
	assert_memory_equal(flow->saddr + size, zero, 16 - size);
	inet_pton(family, vectors_text(v, "daddr"), address);
	assert_memory_equal(flow->daddr, address, size);
	assert_memory_equal(flow->daddr + size, zero, 16 - size);
	assert_memory_equal(flow->__reserved, zero, sizeof(flow->__reserved));
}

static void parser__vectors(void **state)
{
	struct parser *skel = parser__open_and_load();
	uint8_t frame[FRAME_MAX];
	unsigned int frames = 0;
	const char *verdict;
	struct vectors v;
	uint32_t bytes;

	assert_non_null(skel);
	vectors_open(&v, "frames.txt");
	while (vectors_next(&v)) {
		verdict = vectors_text(&v, "verdict");
		bytes = vectors_bytes(&v, "data", frame, sizeof(frame));
		check_equal(frame_run(bpf_program__fd(skel->progs.parser),
				      frame, bytes, NULL, NULL), XDP_PASS);
		if (strcmp(parsed_names[skel->bss->parsed], verdict))
			vectors_fail(&v, "was taken for",
				     parsed_names[skel->bss->parsed]);
		if (is_ours(verdict))
			check_flow(&v, (void *)&skel->bss->flow);
		frames++;
	}
	vectors_close(&v);
	check_true(frames >= 80);
	parser__destroy(skel);
}

/* All processors' counters, added up. */
static struct tally_verdicts verdicts(const struct tally_host *skel)
{
	int cpus = libbpf_num_possible_cpus(), i;
	struct tally_verdicts *each = calloc(cpus, sizeof(*each)), sum = { 0 };
	uint32_t zero = 0;

	check_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.verdicts),
					&zero, each), 0);
	for (i = 0; i < cpus; i++) {
#define ADD(name, text) sum.name += each[i].name;
		TALLY_VERDICTS(ADD)
#undef ADD
	}
	free(each);
	return sum;
}

/*
 * The counter that a verdict stands for.  Without the module, packets for it
 * are counted as such; with it, it refuses them: no group has their address.
 */
static __u64 *counter(struct tally_verdicts *v, const char *verdict,
			 int module)
{
#define NAMED(name, text) if (!strcmp(verdict, #name)) return &v->name;
	TALLY_VERDICTS(NAMED)
#undef NAMED
	if (!module)
		return &v->no_module;
	if (!strcmp(verdict, "contrib"))
		return &v->contrib_taken;
	if (!strcmp(verdict, "result"))
		return &v->result_taken;
	return &v->control_taken;
}

static uint64_t total(const struct tally_verdicts *v)
{
	uint64_t sum = 0;

#define ADD(name, text) sum += v->name;
	TALLY_VERDICTS(ADD)
#undef ADD
	return sum;
}

static void check_frame(const struct vectors *v, const struct tally_host *skel,
			const struct bpf_program *prog, int module)
{
	uint8_t frame[FRAME_MAX], out[FRAME_MAX];
	const char *verdict = vectors_text(v, "verdict");
	struct tally_verdicts before = verdicts(skel), after;
	uint32_t bytes, out_bytes = sizeof(out);
	int action;

	bytes = vectors_bytes(v, "data", frame, sizeof(frame));
	action = frame_run(bpf_program__fd(prog), frame, bytes, out,
			   &out_bytes);
	after = verdicts(skel);
	if (!module || !is_ours(verdict)) {
		if (action != XDP_PASS)
			vectors_fail(v, "was not passed", verdict);
		if (*counter(&after, verdict, module) !=
		    *counter(&before, verdict, module) + 1)
			vectors_fail(v, "was not counted", verdict);
	}
	check_equal(total(&after), total(&before) + 1);
	check_equal(out_bytes, bytes);
	assert_memory_equal(frame, out, bytes);
}

static void check_program(int frags)
{
	struct tally_host *skel = tally_host__open_and_load();
	int module = !access("/sys/kernel/btf/tally", R_OK);
	struct vectors v;

	assert_non_null(skel);
	vectors_open(&v, "frames.txt");
	while (vectors_next(&v))
		check_frame(&v, skel, frags ? skel->progs.tally_frags :
					      skel->progs.tally_host, module);
	vectors_close(&v);
	tally_host__destroy(skel);
}

static void tally_host__vectors(void **state)
{
	check_program(0);
}

static void tally_frags__vectors(void **state)
{
	check_program(1);
}

/* A frame of several fragments. */
static void tally_frags__jumbo(void **state)
{
	struct tally_host *skel = tally_host__open_and_load();
	uint8_t payload[64 + TALLY_PAYLOAD_MAX] = { TALLY_VERSION,
						    TALLY_CONTRIB };
	uint8_t frame[FRAME_MAX], out[FRAME_MAX];
	uint32_t bytes, out_bytes = sizeof(out);
	struct tally_verdicts after;
	int fd;

	assert_non_null(skel);
	bytes = frame_build(frame, payload, sizeof(payload), 1, 0);
	fd = bpf_program__fd(skel->progs.tally_frags);
	check_equal(frame_run(fd, frame, bytes, out, &out_bytes), XDP_PASS);
	check_equal(out_bytes, bytes);
	assert_memory_equal(frame, out, bytes);
	after = verdicts(skel);
	check_equal(total(&after), 1);
	check_equal(after.foreign, 0);
	tally_host__destroy(skel);
}

/* Another port in the namespace: set before loading. */
static void tally_host__port_is_set_before_loading(void **state)
{
	struct tally_host *skel = tally_host__open();
	uint8_t frame[FRAME_MAX], payload[64] = { TALLY_VERSION,
						  TALLY_CONTRIB };
	struct tally_verdicts after;
	uint32_t bytes;
	int fd;

	assert_non_null(skel);
	skel->rodata->port = 5000;
	check_equal(tally_host__load(skel), 0);
	fd = bpf_program__fd(skel->progs.tally_host);
	bytes = frame_build(frame, payload, sizeof(payload), 1, 0);
	check_equal(frame_run(fd, frame, bytes, NULL, NULL), XDP_PASS);
	frame[36] = 5000 >> 8;
	frame[37] = 5000 & 255;
	check_true(frame_run(fd, frame, bytes, NULL, NULL) >= 0);
	after = verdicts(skel);
	check_equal(after.foreign, 1);
	check_equal(total(&after), 2);
	tally_host__destroy(skel);
}

/* People and bpftool read the counters by name. */
static void tally_host__counters_have_names(void **state)
{
	struct tally_host *skel = tally_host__open_and_load();
	const struct btf_type *type;
	const struct btf_member *m;
	struct btf *btf;
	uint32_t i;

	assert_non_null(skel);
	btf = bpf_object__btf(skel->obj);
	assert_non_null(btf);
	type = btf__type_by_id(btf, bpf_map__btf_value_type_id(
		skel->maps.verdicts));
	assert_non_null(type);
	assert_string_equal(btf__name_by_offset(btf, type->name_off),
			    "tally_verdicts");
	check_equal(btf_vlen(type), sizeof(struct tally_verdicts) / 8);
	m = btf_members(type);
	for (i = 0; i < btf_vlen(type); i++)
		check_true(btf__name_by_offset(btf, m[i].name_off)[0]);
	tally_host__destroy(skel);
}

static void tally_host__verifier_budget(void **state)
{
	struct tally_host *skel = tally_host__open_and_load();

	assert_non_null(skel);
	check_true(frame_verified(bpf_program__fd(skel->progs.tally_host)) <
		   5000);
	check_true(frame_verified(bpf_program__fd(skel->progs.tally_frags)) <
		   5000);
	tally_host__destroy(skel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parser__vectors),
		cmocka_unit_test(tally_host__vectors),
		cmocka_unit_test(tally_frags__vectors),
		cmocka_unit_test(tally_frags__jumbo),
		cmocka_unit_test(tally_host__port_is_set_before_loading),
		cmocka_unit_test(tally_host__counters_have_names),
		cmocka_unit_test(tally_host__verifier_budget),
	};

	libbpf_set_print(frame_warn);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
