// SPDX-License-Identifier: GPL-2.0-only
/*
 * The receive path of a host: finds tally's packets and hands them to the
 * module's kfuncs.  All else is passed untouched.
 *
 * Two programs differ only in whether they take frames of several fragments
 * (MTU above one page); one of them is attached to an interface.
 */
#include "parse.bpf.h"

#include <bpf/bpf_core_read.h>
#include <xdp/xdp_helpers.h>

#include "verdicts.h"

/* Set before loading; the port of the module in this network namespace. */
const volatile __u16 port = TALLY_PORT;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally_verdicts);
} verdicts SEC(".maps");

extern int tally_contribute(struct xdp_md *xdp, const struct tally_flow *flow,
			    __u32 flow__sz) __ksym __weak;
extern int tally_result(struct xdp_md *xdp, const struct tally_flow *flow,
			__u32 flow__sz) __ksym __weak;
extern int tally_control(struct xdp_md *xdp, const struct tally_flow *flow,
			 __u32 flow__sz) __ksym __weak;

/*
 * Is the module there?  Its types are then known to the loader, which puts the
 * answer into the program.  (bpf_ksym_exists() asks for the address of a
 * module's function, which libbpf before 1.2 resolves to a function of vmlinux.)
 */
static __always_inline int module_exists(void)
{
	return bpf_core_type_exists(struct tally_flow);
}

/* The module decides between these two only. */
#define COUNT_CALL(verdict, name, call)					\
	do {								\
		if ((call) == XDP_DROP) {				\
			(verdict)->name##_taken++;			\
			return XDP_DROP;				\
		}							\
		(verdict)->name##_passed++;				\
		return XDP_PASS;					\
	} while (0)

static __always_inline int host(struct xdp_md *xdp)
{
	struct tally_flow flow = {};
	struct tally_verdicts *v;
	enum parsed parsed;
	__u32 zero = 0;

	v = bpf_map_lookup_elem(&verdicts, &zero);
	if (!v)
		return XDP_PASS;
	parsed = parse(xdp, bpf_htons(port), &flow);
	switch (parsed) {
	case PARSED_FOREIGN:
		v->foreign++;
		return XDP_PASS;
	case PARSED_FRAGMENT:
		v->fragment++;
		return XDP_PASS;
	case PARSED_TRUNCATED:
		v->truncated++;
		return XDP_PASS;
	case PARSED_VERSION:
		v->version++;
		return XDP_PASS;
	case PARSED_TYPE:
		v->type++;
		return XDP_PASS;
	default:
		break;
	}
	if (!module_exists()) {
		v->no_module++;
		return XDP_PASS;
	}
	if (parsed == PARSED_CONTRIB)
		COUNT_CALL(v, contrib, tally_contribute(xdp, &flow,
							sizeof(flow)));
	if (parsed == PARSED_RESULT)
		COUNT_CALL(v, result, tally_result(xdp, &flow, sizeof(flow)));
	COUNT_CALL(v, control, tally_control(xdp, &flow, sizeof(flow)));
}

/*
 * In libxdp's dispatcher: after filters (10), before most others (50), which
 * see what is not tally's.
 */
struct {
	__uint(priority, 40);
	__uint(XDP_PASS, 1);
} XDP_RUN_CONFIG(tally_host);

SEC("xdp")
int tally_host(struct xdp_md *xdp)
{
	return host(xdp);
}

struct {
	__uint(priority, 40);
	__uint(XDP_PASS, 1);
} XDP_RUN_CONFIG(tally_frags);

SEC("xdp.frags")
int tally_frags(struct xdp_md *xdp)
{
	return host(xdp);
}

char _license[] SEC("license") = "GPL";
