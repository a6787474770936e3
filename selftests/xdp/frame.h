/* SPDX-License-Identifier: GPL-2.0-only */
/* Builds frames around UDP payloads, and runs programs on them. */
#ifndef _FRAME_H
#define _FRAME_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include <tally/wire.h>

#define FRAME_HEADERS	(sizeof(struct ethhdr) + sizeof(struct iphdr) + \
			 sizeof(struct udphdr))
#define FRAME_MAX	(FRAME_HEADERS + sizeof(struct tally_hdr) +	\
			 TALLY_PAYLOAD_MAX + 64)

/* For libbpf_set_print(): warnings only. */
static inline int frame_warn(enum libbpf_print_level level, const char *fmt,
			     va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, fmt, args) : 0;
}

/* Network byte order address of the member with @rank. */
static inline uint32_t frame_address(unsigned int rank)
{
	return htonl(0x0a070001 + rank);
}

/* A frame from rank @from to rank @to.  Return: its length. */
static inline uint32_t frame_build(uint8_t *frame, const void *payload,
				   uint32_t bytes, unsigned int from,
				   unsigned int to)
{
	struct ethhdr *eth = (void *)frame;
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.tot_len = htons(sizeof(ip) + sizeof(struct udphdr) + bytes),
		.ttl = 64,
		.protocol = IPPROTO_UDP,
		.saddr = frame_address(from),
		.daddr = frame_address(to),
	};
	struct udphdr udp = {
		.source = htons(40000),
		.dest = htons(TALLY_PORT),
		.len = htons(sizeof(udp) + bytes),
	};

	memset(eth->h_source, 2, ETH_ALEN);
	memset(eth->h_dest, 4, ETH_ALEN);
	eth->h_proto = htons(ETH_P_IP);
	memcpy(eth + 1, &ip, sizeof(ip));
	memcpy(frame + sizeof(*eth) + sizeof(ip), &udp, sizeof(udp));
	memcpy(frame + FRAME_HEADERS, payload, bytes);
	return FRAME_HEADERS + bytes;
}

/*
 * Run program @fd once.  Return: the XDP action, or -errno.  @frame receives
 * what the program made of it, if @out.
 */
static inline int frame_run(int fd, uint8_t *frame, uint32_t bytes,
			    uint8_t *out, uint32_t *out_bytes)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts,
		.data_in = frame,
		.data_size_in = bytes,
		.data_out = out,
		.data_size_out = out ? *out_bytes : 0,
		.repeat = 1,
	);
	int err = bpf_prog_test_run_opts(fd, &opts);

	if (err)
		return err;
	if (out)
		*out_bytes = opts.data_size_out;
	return opts.retval;
}

/* Instructions that the verifier looked at; UINT32_MAX if it does not say. */
static inline uint32_t frame_verified(int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size) || !info.verified_insns)
		return UINT32_MAX;
	return info.verified_insns;
}

#endif
