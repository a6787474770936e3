// SPDX-License-Identifier: GPL-2.0-only
/* The socket path: all that XDP passes, or everything without XDP. */
#include <linux/err.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/sock.h>
#include <net/udp_tunnel.h>

#include "address.h"
#include "host.h"
#include "netns.h"
#include "receive.h"
#include "transport.h"

static void addresses_of(const struct sk_buff *skb, struct tally_address *from,
			 struct tally_address *to)
{
	const struct udphdr *udp = udp_hdr(skb);

	memset(from, 0, sizeof(*from));
	memset(to, 0, sizeof(*to));
	from->port = udp->source;
	to->port = udp->dest;
	if (skb->protocol == htons(ETH_P_IP)) {
		from->family = AF_INET;
		to->family = AF_INET;
		memcpy(from->ip, &ip_hdr(skb)->saddr, 4);
		memcpy(to->ip, &ip_hdr(skb)->daddr, 4);
	} else {
		from->family = AF_INET6;
		to->family = AF_INET6;
		memcpy(from->ip, &ipv6_hdr(skb)->saddr, 16);
		memcpy(to->ip, &ipv6_hdr(skb)->daddr, 16);
	}
}

static int parse_once(struct tally_received *packet, const struct sk_buff *skb)
{
	struct tally_frame frame = {
		.head = skb->data,
		.head_bytes = skb_headlen(skb),
		.frags = skb_shinfo(skb)->frags,
		.nr_frags = skb_shinfo(skb)->nr_frags,
	};

	return tally_receive_parse(packet, &frame, sizeof(struct udphdr),
				   skb->len - sizeof(struct udphdr));
}

/*
 * @skb begins with the UDP header and ends with the datagram.
 *
 * A local sender may still write to the fragments.  A contribution or result is
 * taken at once, each word read once; a control packet is read again when its
 * turn comes, and what is checked here must be what is read there.
 */
static enum tally_drop parse(struct tally_received *packet, struct sk_buff *skb)
{
	int err = -E2BIG;

	if (skb->len > sizeof(struct udphdr) + sizeof(packet->hdr) +
		       TALLY_PAYLOAD_MAX)
		return TALLY_DROP_OVERSIZED;
	if (!skb_frags_readable(skb))
		return TALLY_DROP_MEMORY;
	/* Pieces that are lists or need a mapping are rare: copy them. */
	if (!skb_has_frag_list(skb) && !IS_ENABLED(CONFIG_HIGHMEM))
		err = parse_once(packet, skb);
	if (err == -E2BIG || (!err && skb_is_nonlinear(skb) &&
			      tally_receive_is_control(&packet->hdr))) {
		if (skb_linearize(skb))
			return TALLY_DROP_MEMORY;
		err = parse_once(packet, skb);
	}
	return err ? TALLY_DROP_TRUNCATED : TALLY_KEEP;
}

/* Return: true if the group's queue has @skb now. */
static bool receive(struct tally_net *ns, struct sk_buff *skb)
{
	struct tally_address from, to;
	struct tally_received packet;
	struct tally_host *host;
	enum tally_drop drop;

	packet.hdr = (struct tally_hdr){};
	drop = parse(&packet, skb);
	if (drop) {
		tally_receive_drop(ns, NULL, &packet.hdr, drop,
				   TALLY_PATH_SOCKET);
		return false;
	}
	host = tally_receive_host(ns, &packet.hdr);
	if (!host) {
		drop = packet.hdr.version == TALLY_VERSION ?
		       TALLY_DROP_GROUP : TALLY_DROP_VERSION;
		tally_receive_drop(ns, NULL, &packet.hdr, drop,
				   TALLY_PATH_SOCKET);
		return false;
	}
	addresses_of(skb, &from, &to);
	if (!tally_address_same(&host->self, &to)) {
		tally_receive_drop(ns, host, &packet.hdr, TALLY_DROP_ADDRESS,
				   TALLY_PATH_SOCKET);
		return false;
	}
	drop = tally_receive(host, &packet, &from, TALLY_PATH_SOCKET);
	if (drop || !tally_receive_is_control(&packet.hdr))
		return false;
	if (tally_host_queue(host, skb))
		return true;
	tally_receive_drop(ns, host, &packet.hdr, TALLY_DROP_QUEUE,
			   TALLY_PATH_SOCKET);
	return false;
}

/* UDP has verified the checksum and the length; under RCU. */
static int encap_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct tally_net *ns = rcu_dereference_sk_user_data(sk);

	if (!ns || !receive(ns, skb))
		consume_skb(skb);
	return 0;
}

static int port_listen(struct tally_net *ns, struct tally_port *port)
{
	struct udp_port_cfg cfg = {
		.family = port->family,
		.local_udp_port = port->port,
		.use_udp_checksums = 1,
		.use_udp6_tx_checksums = 1,
		.use_udp6_rx_checksums = 1,
		.ipv6_v6only = 1,
	};
	struct udp_tunnel_sock_cfg tunnel = {
		.sk_user_data = ns,
		.encap_type = 1,
		.encap_rcv = encap_rcv,
	};
	int err;

	err = udp_sock_create(ns->net, &cfg, &port->sock);
	if (err)
		return err;
	setup_udp_tunnel_sock(ns->net, port->sock, &tunnel);
	return 0;
}

struct tally_port *tally_port_open(struct tally_net *ns,
				   const struct tally_address *address)
{
	struct tally_port *port;
	int err;

	lockdep_assert_held(&ns->mutex);
	list_for_each_entry(port, &ns->ports, list) {
		if (port->port == address->port &&
		    port->family == address->family) {
			port->users++;
			return port;
		}
	}
	port = kzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);
	if (!port)
		return ERR_PTR(-ENOMEM);
	port->port = address->port;
	port->family = address->family;
	port->users = 1;
	err = port_listen(ns, port);
	if (err) {
		kfree(port);
		return ERR_PTR(err);
	}
	list_add_tail(&port->list, &ns->ports);
	return port;
}

/* A packet on its way in may still see the namespace, which outlives it. */
void tally_port_close(struct tally_port *port)
{
	if (--port->users)
		return;
	list_del(&port->list);
	udp_tunnel_sock_release(port->sock);
	kfree(port);
}
