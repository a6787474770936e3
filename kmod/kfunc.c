// SPDX-License-Identifier: GPL-2.0-only
/*
 * The XDP path.  A program has parsed the frame down to UDP; what it says of it
 * is checked against the frame again.  All run under RCU, bottom halves off.
 *
 * Whatever is not clearly a packet for a group that is up here is passed
 * untouched, so that the socket path counts it or others get it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <net/xdp.h>
#include <tally/flow.h>

#include "address.h"
#include "host.h"
#include "kfunc.h"
#include "netns.h"
#include "receive.h"

static bool ready __read_mostly;

static void address_of(struct tally_address *to, const struct tally_flow *flow,
		       const __u8 *ip, __be16 port)
{
	memcpy(to->ip, ip, sizeof(to->ip));
	to->port = port;
	to->family = flow->family == TALLY_FLOW_IPV4 ? AF_INET : AF_INET6;
}

static int parse(struct tally_received *packet, struct xdp_buff *xdp,
		 const struct tally_flow *flow)
{
	struct tally_frame frame = {
		.head = xdp->data,
		.head_bytes = xdp->data_end - xdp->data,
	};

	if (unlikely(xdp_buff_has_frags(xdp))) {
		struct skb_shared_info *sinfo;

		sinfo = xdp_get_shared_info_from_buff(xdp);
		frame.frags = sinfo->frags;
		frame.nr_frags = sinfo->nr_frags;
	}
	return tally_receive_parse(packet, &frame, flow->offset, flow->length);
}

/*
 * What all three have in common.  @control: any type but CONTRIB and RESULT.
 * Return: TALLY_KEEP, a reason that is counted, or -1: pass it.
 */
static int receive(struct xdp_md *md, const struct tally_flow *flow,
		   u32 flow__sz, u8 type, bool control)
{
	struct xdp_buff *xdp = (struct xdp_buff *)md;
	struct tally_address from, to;
	struct tally_received packet;
	struct tally_host *host;
	struct tally_net *ns;
	enum tally_drop drop;

	if (flow__sz != sizeof(*flow) ||
	    (flow->family != TALLY_FLOW_IPV4 &&
	     flow->family != TALLY_FLOW_IPV6))
		return -1;
	if (parse(&packet, xdp, flow))
		return -1;
	if (control ? !tally_receive_is_control(&packet.hdr) :
		      packet.hdr.type != type)
		return -1;
	ns = tally_net_of(dev_net(xdp->rxq->dev));
	if (!ns)
		return -1;
	host = tally_receive_host(ns, &packet.hdr);
	if (!host)
		return -1;
	address_of(&from, flow, flow->saddr, flow->sport);
	address_of(&to, flow, flow->daddr, flow->dport);
	if (!tally_address_same(&host->self, &to))
		return -1;
	drop = tally_receive(host, &packet, &from, TALLY_PATH_XDP);
	return drop == TALLY_DROP_CONTENDED ? -1 : (int)drop;
}

__bpf_kfunc_start_defs();

/* A CONTRIB: add it to its slot. */
__bpf_kfunc int tally_contribute(struct xdp_md *xdp,
				 const struct tally_flow *flow, u32 flow__sz)
{
	int ret = receive(xdp, flow, flow__sz, TALLY_CONTRIB, false);

	return ret < 0 ? XDP_PASS : XDP_DROP;
}

/* A RESULT: copy it to the cells of local members. */
__bpf_kfunc int tally_result(struct xdp_md *xdp, const struct tally_flow *flow,
			     u32 flow__sz)
{
	int ret = receive(xdp, flow, flow__sz, TALLY_RESULT, false);

	return ret < 0 ? XDP_PASS : XDP_DROP;
}

/* Any other: refuse it early, or pass it to the socket path, which queues. */
__bpf_kfunc int tally_control(struct xdp_md *xdp, const struct tally_flow *flow,
			      u32 flow__sz)
{
	int ret = receive(xdp, flow, flow__sz, 0, true);

	return ret <= 0 ? XDP_PASS : XDP_DROP;
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(kfunc_ids)
BTF_ID_FLAGS(func, tally_contribute)
BTF_ID_FLAGS(func, tally_result)
BTF_ID_FLAGS(func, tally_control)
BTF_KFUNCS_END(kfunc_ids)

static const struct btf_kfunc_id_set kfunc_set = {
	.owner = THIS_MODULE,
	.set = &kfunc_ids,
};

bool tally_kfunc_ready(void)
{
	return ready;
}

/* Registration succeeds without BTF too; the fault would show at BPF load. */
static bool have_btf(void)
{
#ifdef CONFIG_DEBUG_INFO_BTF_MODULES
	return THIS_MODULE->btf_data_size;
#else
	return false;
#endif
}

int tally_kfunc_init(void)
{
	int err;

	if (!have_btf()) {
		pr_warn("no BTF in this module: XDP programs cannot call it, packets take the socket path; build it against headers with a vmlinux file\n");
		return 0;
	}
	err = register_btf_kfunc_id_set(BPF_PROG_TYPE_XDP, &kfunc_set);
	if (err) {
		pr_warn("XDP programs cannot call the module (error %d): packets take the socket path\n",
			err);
		return 0;
	}
	ready = true;
	return 0;
}
