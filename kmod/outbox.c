// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending.
 *
 * Packets to one node are gathered into a batch that goes down the stack as
 * one (UDP segmentation offload): equal lengths, and a shorter one ends it.
 * A batch goes through one of several sockets in turn: their source ports
 * spread packets over the receiver's queues and over equal paths.
 *
 * A batch is opened only if its socket has room for it.  As one group's sockets
 * are nobody else's, sending it cannot fail for want of room then.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/udp.h>
#include <linux/uio.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/udp_tunnel.h>

#include "address.h"
#include "outbox.h"
#include "trace.h"

#define SOCKETS		8
#define SNDBUF		(1024 * 1024)	/* of each socket, bytes */
#define BATCH_BYTES	65000		/* less than an IP packet may have */
#define BATCH_PACKETS	64

/**
 * struct batch - packets to one node that are not sent yet
 * @to: the node, for sendmsg()
 * @to_bytes: length of that
 * @packets: in this batch
 * @segment: bytes of each but the last, which may be shorter
 * @bytes: of all
 * @socket: through which they go, if there are any
 * @next: socket of the next batch
 * @hdr: headers of the packets
 * @vec: header and payload of each
 */
struct batch {
	struct sockaddr_storage	to;
	int			to_bytes;
	u32			packets;
	u32			segment;
	u32			bytes;
	u32			socket;
	u32			next;
	struct tally_hdr	*hdr;
	struct kvec		*vec;
};

/**
 * struct tally_outbox - all of a group's sending; one context at a time
 * @config: pointers of it are the host's and stay
 * @sock: the sockets
 * @write_space: what they called before they were ours
 * @promised: room in each that open batches will take, bytes
 * @packets_max: most packets of a batch
 * @starved: somebody waits for room
 * @batch: by node
 */
struct tally_outbox {
	struct tally_outbox_config	config;
	struct socket			*sock[SOCKETS];
	void				(*write_space)(struct sock *sk);
	u32				promised[SOCKETS];
	u32				packets_max;
	bool				starved;
	struct batch			batch[];
};

/* Under RCU or not: the socket's memory is released in any context. */
static void write_space(struct sock *sk)
{
	struct tally_outbox *outbox;

	rcu_read_lock();
	outbox = rcu_dereference_sk_user_data(sk);
	if (outbox && READ_ONCE(outbox->starved)) {
		WRITE_ONCE(outbox->starved, false);
		outbox->config.writable(outbox->config.host);
	}
	rcu_read_unlock();
}

/* Nobody has reason to send to these ports. */
static int drop_stray(struct sock *sk, struct sk_buff *skb)
{
	struct tally_outbox *outbox = rcu_dereference_sk_user_data(sk);

	if (outbox)
		outbox->config.stray(outbox->config.host);
	kfree_skb(skb);
	return 0;
}

static void set_options(struct tally_outbox *outbox, struct sock *sk)
{
	lock_sock(sk);
	outbox->write_space = sk->sk_write_space;
	sk->sk_write_space = write_space;
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	WRITE_ONCE(sk->sk_sndbuf, SNDBUF);
	release_sock(sk);
	/* Too long for the path is an error to count, not to fragment. */
	ip_sock_set_mtu_discover(sk, IP_PMTUDISC_DO);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		WRITE_ONCE(inet6_sk(sk)->pmtudisc, IPV6_PMTUDISC_DO);
#endif
}

static int open_socket(struct tally_outbox *outbox, struct socket **sock)
{
	const struct tally_address *self = outbox->config.self;
	struct udp_port_cfg port = {
		.family = self->family,
		.use_udp_checksums = 1,
		.use_udp6_tx_checksums = 1,
		.use_udp6_rx_checksums = 1,
		.ipv6_v6only = 1,
	};
	struct udp_tunnel_sock_cfg tunnel = {
		.sk_user_data = outbox,
		.encap_type = 1,
		.encap_rcv = drop_stray,
	};
	int err;

	if (self->family == AF_INET)
		memcpy(&port.local_ip, self->ip, sizeof(port.local_ip));
#if IS_ENABLED(CONFIG_IPV6)
	else
		memcpy(&port.local_ip6, self->ip, sizeof(port.local_ip6));
#endif
	err = udp_sock_create(outbox->config.net, &port, sock);
	if (err)
		return err;
	setup_udp_tunnel_sock(outbox->config.net, *sock, &tunnel);
	set_options(outbox, (*sock)->sk);
	return 0;
}

static int init_batch(struct tally_outbox *outbox, u32 node)
{
	struct batch *batch = &outbox->batch[node];
	u32 n = outbox->packets_max;

	batch->to_bytes =
		tally_address_to_sockaddr(&outbox->config.node[node],
					  &batch->to);
	/* Not all nodes begin with the same socket. */
	batch->next = node % SOCKETS;
	batch->hdr = kvcalloc(n, sizeof(*batch->hdr), GFP_KERNEL_ACCOUNT);
	batch->vec = kvcalloc(2 * n, sizeof(*batch->vec), GFP_KERNEL_ACCOUNT);
	return batch->hdr && batch->vec ? 0 : -ENOMEM;
}

/* Packets on their way out keep a socket, maybe for longer than the module. */
void tally_outbox_silence(struct tally_outbox *outbox)
{
	u32 i;

	for (i = 0; i < SOCKETS && outbox->sock[i]; i++) {
		struct sock *sk = outbox->sock[i]->sk;

		lock_sock(sk);
		sk->sk_write_space = outbox->write_space;
		release_sock(sk);
		rcu_assign_sk_user_data(sk, NULL);
	}
}

void tally_outbox_destroy(struct tally_outbox *outbox)
{
	u32 i;

	/* One grace period after tally_outbox_silence() was for all. */
	for (i = 0; i < SOCKETS && outbox->sock[i]; i++) {
		kernel_sock_shutdown(outbox->sock[i], SHUT_RDWR);
		sock_release(outbox->sock[i]);
	}
	for (i = 0; i < outbox->config.nodes; i++) {
		kvfree(outbox->batch[i].hdr);
		kvfree(outbox->batch[i].vec);
	}
	kfree(outbox);
}

struct tally_outbox *
tally_outbox_create(const struct tally_outbox_config *config)
{
	struct tally_outbox *outbox;
	u32 i, length;
	int err = 0;

	outbox = kzalloc(struct_size(outbox, batch, config->nodes),
			 GFP_KERNEL_ACCOUNT);
	if (!outbox)
		return ERR_PTR(-ENOMEM);
	outbox->config = *config;
	length = sizeof(struct tally_hdr) + config->payload;
	outbox->packets_max = clamp(BATCH_BYTES / length, 1u, BATCH_PACKETS);
	for (i = 0; i < config->nodes && !err; i++)
		err = init_batch(outbox, i);
	for (i = 0; i < SOCKETS && !err; i++)
		err = open_socket(outbox, &outbox->sock[i]);
	if (!err)
		return outbox;

	tally_outbox_silence(outbox);
	synchronize_net();
	tally_outbox_destroy(outbox);
	return ERR_PTR(err);
}

/* An upper bound of what the socket is charged for a batch. */
static u32 batch_room(const struct tally_outbox *outbox)
{
	u32 length = sizeof(struct tally_hdr) + outbox->config.payload;

	return outbox->packets_max * length * 2 + PAGE_SIZE;
}

static bool socket_has_room(struct tally_outbox *outbox, u32 i)
{
	return sk_wmem_alloc_get(outbox->sock[i]->sk) + outbox->promised[i] <
	       SNDBUF;
}

static bool batch_pick_socket(struct tally_outbox *outbox, struct batch *batch)
{
	u32 i, tries;

	for (tries = 0; tries < SOCKETS; tries++) {
		i = (batch->next + tries) % SOCKETS;
		if (!socket_has_room(outbox, i))
			continue;
		batch->socket = i;
		batch->next = i + 1;
		outbox->promised[i] += batch_room(outbox);
		return true;
	}
	return false;
}

/* Send @n packets from @first on.  Return: 0 or -errno. */
static int batch_sendmsg(struct tally_outbox *outbox, struct batch *batch,
			 u32 first, u32 n)
{
	union {
		struct cmsghdr	cmsg;
		u8		room[CMSG_SPACE(sizeof(u16))];
	} control = {};
	struct msghdr msg = {
		.msg_name = &batch->to,
		.msg_namelen = batch->to_bytes,
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL,
	};
	size_t bytes = 0;
	u32 i;
	int ret;

	for (i = 2 * first; i < 2 * (first + n); i++)
		bytes += batch->vec[i].iov_len;
	if (n > 1) {
		control.cmsg.cmsg_level = SOL_UDP;
		control.cmsg.cmsg_type = UDP_SEGMENT;
		control.cmsg.cmsg_len = CMSG_LEN(sizeof(u16));
		*(u16 *)CMSG_DATA(&control.cmsg) = batch->segment;
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control.room);
	}
	ret = kernel_sendmsg(outbox->sock[batch->socket], &msg,
			     batch->vec + 2 * first, 2 * n, bytes);
	if (ret < 0)
		return ret;
	tally_stats_count(outbox->config.stats, TALLY_COUNT_SENT, n);
	tally_stats_count(outbox->config.stats, TALLY_COUNT_SENT_BYTES, bytes);
	return 0;
}

static void batch_failed(struct tally_outbox *outbox, struct batch *batch,
			 u32 first, u32 n, int err)
{
	tally_stats_count(outbox->config.stats, TALLY_COUNT_SEND_ERRORS, n);
	trace_tally_send_error(&batch->hdr[first], n, err);
}

static void batch_send(struct tally_outbox *outbox, struct batch *batch)
{
	u32 i, n = batch->packets;
	int err;

	if (!n)
		return;
	err = batch_sendmsg(outbox, batch, 0, n);
	if ((err == -EIO || err == -EINVAL) && n > 1) {
		/* A path without segmentation, an IPsec policy for example. */
		for (i = 0; i < n; i++) {
			err = batch_sendmsg(outbox, batch, i, 1);
			if (err)
				batch_failed(outbox, batch, i, 1, err);
		}
	} else if (err) {
		batch_failed(outbox, batch, 0, n, err);
	}
	outbox->promised[batch->socket] -= batch_room(outbox);
	batch->packets = 0;
	batch->bytes = 0;
}

static void batch_add(struct tally_outbox *outbox, struct batch *batch,
		      const struct tally_hdr *hdr, const void *payload)
{
	u32 words = tally_get16(hdr->words), i = batch->packets++;
	struct tally_hdr *to = &batch->hdr[i];
	struct tally_scan scan = {};

	*to = *hdr;
	if (words)
		tally_scan_words(&scan, outbox->config.keys, 0, payload, words);
	to->tag = tally_tag(outbox->config.keys, to, scan.hash);
	batch->vec[2 * i].iov_base = to;
	batch->vec[2 * i].iov_len = sizeof(*to);
	batch->vec[2 * i + 1].iov_base = (void *)payload;
	batch->vec[2 * i + 1].iov_len = 8 * words;
	batch->bytes += sizeof(*to) + 8 * words;
}

void tally_outbox_flush(struct tally_outbox *outbox)
{
	u32 i;

	for (i = 0; i < outbox->config.nodes; i++)
		batch_send(outbox, &outbox->batch[i]);
}

static bool batch_open(struct tally_outbox *outbox, struct batch *batch)
{
	if (batch_pick_socket(outbox, batch))
		return true;
	/* Open batches may hold more than they will use. */
	tally_outbox_flush(outbox);
	if (batch_pick_socket(outbox, batch))
		return true;
	WRITE_ONCE(outbox->starved, true);
	/* Room may have come before anyone could see that it is waited for. */
	smp_mb();
	if (!batch_pick_socket(outbox, batch))
		return false;
	WRITE_ONCE(outbox->starved, false);
	return true;
}

int tally_outbox_send(struct tally_outbox *outbox, u32 node,
		      const struct tally_hdr *hdr, const void *payload)
{
	u32 length = sizeof(*hdr) + 8 * tally_get16(hdr->words);
	struct batch *batch = &outbox->batch[node];

	if (batch->packets && length > batch->segment)
		batch_send(outbox, batch);
	if (!batch->packets) {
		if (!batch_open(outbox, batch)) {
			tally_stats_count(outbox->config.stats,
					  TALLY_COUNT_SEND_AGAIN, 1);
			return -EAGAIN;
		}
		batch->segment = length;
	}
	batch_add(outbox, batch, hdr, payload);
	if (length < batch->segment || batch->packets == outbox->packets_max)
		batch_send(outbox, batch);
	return 0;
}
