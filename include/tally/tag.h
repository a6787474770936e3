/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The tag of a packet.
 *
 * With a group key: SipHash-2-4 (Aumasson, Bernstein 2012) over the header and
 * the NH hash (UMAC, RFC 4418) of the payload: 64-bit NH collides for two
 * chosen payloads with probability 2^-32 under a secret key.  Without a key:
 * a sum that finds corruption only; XDP runs before UDP checksums are verified.
 *
 * Members of a group share the key: one member can impersonate another.
 */
#ifndef _TALLY_TAG_H
#define _TALLY_TAG_H

#include "wire.h"

#define TALLY_KEY_BYTES		16

/**
 * struct tally_keys - what an epoch's tags are made with
 * @sip: key of SipHash
 * @nh: key words of NH, one for each payload word
 * @on: zero in a group without a key
 */
struct tally_keys {
	__u64	sip[2];
	__u64	nh[TALLY_WORDS_MAX];
	__u32	on;
	__u32	__reserved;
};

/*
 * A payload word may stand at any address: packets put no bound on it.  BPF
 * reads it in one instruction (its compiler would split a packed access).  The
 * kernel reads it once: a process can write to its cells at any time.
 */
#if defined(__bpf__)
#define tally_load_le64(p)	__tally_le64(*(const __u64 *)(p))
#else
#ifdef __KERNEL__
#define __tally_once volatile
#else
#define __tally_once
#endif

struct __tally_packed64 {
	__u64	value;
} __attribute__((packed, may_alias));

#define tally_load_le64(p) \
	__tally_le64(((const __tally_once struct __tally_packed64 *)(p))->value)
#endif

static inline __u64 __tally_rotl(__u64 x, __u32 n)
{
	return x << n | x >> (64 - n);
}

struct __tally_sip {
	__u64	v0, v1, v2, v3;
};

static inline void __tally_sip_round(struct __tally_sip *s)
{
	s->v0 += s->v1;
	s->v1 = __tally_rotl(s->v1, 13) ^ s->v0;
	s->v0 = __tally_rotl(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = __tally_rotl(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = __tally_rotl(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = __tally_rotl(s->v1, 17) ^ s->v2;
	s->v2 = __tally_rotl(s->v2, 32);
}

static inline void __tally_sip_word(struct __tally_sip *s, __u64 m)
{
	s->v3 ^= m;
	__tally_sip_round(s);
	__tally_sip_round(s);
	s->v0 ^= m;
}

static inline void __tally_sip_init(struct __tally_sip *s, const __u64 key[2])
{
	s->v0 = key[0] ^ 0x736f6d6570736575ull;
	s->v1 = key[1] ^ 0x646f72616e646f6dull;
	s->v2 = key[0] ^ 0x6c7967656e657261ull;
	s->v3 = key[1] ^ 0x7465646279746573ull;
}

static inline __u64 __tally_sip_end(struct __tally_sip *s, __u64 bytes)
{
	__u32 i;

	__tally_sip_word(s, bytes << 56);
	s->v2 ^= 0xff;
	for (i = 0; i < 4; i++)
		__tally_sip_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* SipHash-2-4 of @n whole words. */
static inline __u64 tally_siphash(const __u64 key[2], const __u64 *words,
				  __u32 n)
{
	struct __tally_sip s;
	__u32 i;

	__tally_sip_init(&s, key);
	for (i = 0; i < n; i++)
		__tally_sip_word(&s, words[i]);
	return __tally_sip_end(&s, 8ull * n);
}

/**
 * tally_keys_init - derive an epoch's keys from the group's key
 * @keys: to fill
 * @key: TALLY_KEY_BYTES secret bytes, or NULL for a group without a key
 * @group: id of the group
 * @epoch: never used twice with one key
 *
 * SipHash as a pseudo-random function of (group, epoch, counter).
 */
static inline void tally_keys_init(struct tally_keys *keys, const __u8 *key,
				   __u16 group, __u32 epoch)
{
	__u64 root[2], in[2];
	__u32 i;

	keys->on = key != (void *)0;
	keys->__reserved = 0;
	if (!keys->on)
		return;
	root[0] = tally_load_le64(key);
	root[1] = tally_load_le64(key + 8);
	in[0] = (__u64)group << 32 | epoch;
	for (i = 0; i < TALLY_WORDS_MAX + 2; i++) {
		in[1] = i;
		if (i < 2)
			keys->sip[i] = tally_siphash(root, in, 2);
		else
			keys->nh[i - 2] = tally_siphash(root, in, 2);
	}
}

/**
 * struct tally_scan - what one pass over a payload finds
 * @hash: NH or sum of the words so far
 * @over: OR of all words: bits of the lanes' headroom that are in use
 */
struct tally_scan {
	__u64	hash;
	__u64	over;
};

/**
 * tally_scan_words - go on with the pass over a payload
 * @scan: zero at the first call
 * @keys: of the epoch
 * @at: index in the payload of the first word
 * @from: the words
 * @n: how many; @at + @n is at most TALLY_WORDS_MAX
 */
static inline void tally_scan_words(struct tally_scan *scan,
				    const struct tally_keys *keys, __u32 at,
				    const void *from, __u32 n)
{
	const __u8 *p = from;
	__u64 hash = scan->hash, over = scan->over, w, x, y, z, k;
	__u32 i;

	if (keys->on) {
		for (i = 0; i < n; i++) {
			w = tally_load_le64(p + 8 * i);
			k = keys->nh[at + i];
			over |= w;
			hash += (__u64)(__u32)(w + k) *
				(__u32)((w >> 32) + (k >> 32));
		}
	} else {
		/* Four at a time: sums that need not wait for each other. */
		for (i = 0; i + 4 <= n; i += 4) {
			w = tally_load_le64(p + 8 * i);
			x = tally_load_le64(p + 8 * i + 8);
			y = tally_load_le64(p + 8 * i + 16);
			z = tally_load_le64(p + 8 * i + 24);
			over |= (w | x) | (y | z);
			hash += (w + x) + (y + z);
		}
		for (; i < n; i++) {
			w = tally_load_le64(p + 8 * i);
			over |= w;
			hash += w;
		}
	}
	scan->hash = hash;
	scan->over = over;
}

/**
 * tally_tag - the tag of a packet
 * @keys: of the epoch
 * @hdr: all fields but the tag set
 * @hash: &struct tally_scan.hash of the whole payload, 0 without payload
 */
static inline __be64 tally_tag(const struct tally_keys *keys,
			       const struct tally_hdr *hdr, __u64 hash)
{
	const __u8 *p = (const __u8 *)hdr;
	__u64 words[8], mix;
	__u32 i;

	if (keys->on) {
		for (i = 0; i < 7; i++)
			words[i] = tally_load_le64(p + 8 * i);
		words[7] = hash;
		return tally_put64(tally_siphash(keys->sip, words, 8));
	}
	mix = 0;
	for (i = 0; i < 7; i++) {
		mix = (mix ^ tally_load_le64(p + 8 * i)) *
		      0x9e3779b97f4a7c15ull;
		mix ^= mix >> 29;
	}
	return tally_put64(mix + hash);
}

#endif
