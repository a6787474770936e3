// SPDX-License-Identifier: GPL-2.0-only
/* SipHash against its published vectors, NH against plain numbers, tags. */
#include "unit.h"

#include <tally/tag.h>

static const uint8_t key[TALLY_KEY_BYTES] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
};

/*
 * The vectors of the SipHash authors are for keys and messages of counting
 * bytes; those of whole words are used here.
 */
static void siphash__published_vectors(void **state)
{
	static const uint64_t want[] = {
		0x726fdb47dd0e0e31ull, 0x93f5f5799a932462ull,
		0x3f2acc7f57c29bdbull, 0xb8ad50c6f649af94ull,
		0x7127512f72f27cceull, 0x0e3ea96b5304a7d0ull,
	};
	uint64_t root[2], words[8];
	uint8_t bytes[64];
	uint32_t i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	for (i = 0; i < 8; i++)
		words[i] = tally_load_le64(bytes + 8 * i);
	root[0] = tally_load_le64(key);
	root[1] = tally_load_le64(key + 8);
	for (i = 0; i < ARRAY_SIZE(want); i++)
		check_equal(tally_siphash((__u64 *)root, (__u64 *)words, i),
			    want[i]);
}

static struct tally_keys *new_keys(const uint8_t *from, uint16_t group,
				   uint32_t epoch)
{
	struct tally_keys *keys = calloc(1, sizeof(*keys));

	assert_non_null(keys);
	tally_keys_init(keys, from, group, epoch);
	return keys;
}

static void keys_init__depends_on_key_group_epoch(void **state)
{
	uint8_t other[TALLY_KEY_BYTES];
	struct tally_keys *keys[4];
	uint32_t i, j;

	memcpy(other, key, sizeof(other));
	other[15] ^= 0x80;
	keys[0] = new_keys(key, 7, 1);
	keys[1] = new_keys(key, 8, 1);
	keys[2] = new_keys(key, 7, 2);
	keys[3] = new_keys(other, 7, 1);
	for (i = 0; i < 4; i++) {
		check_true(keys[i]->on);
		for (j = 0; j < i; j++) {
			check_true(keys[i]->sip[0] != keys[j]->sip[0]);
			check_true(keys[i]->sip[1] != keys[j]->sip[1]);
			check_true(keys[i]->nh[0] != keys[j]->nh[0]);
			check_true(keys[i]->nh[TALLY_WORDS_MAX - 1] !=
				   keys[j]->nh[TALLY_WORDS_MAX - 1]);
		}
	}
	for (i = 0; i < 4; i++)
		free(keys[i]);
}

/* NH as RFC 4418 writes it: sums of products of 32-bit sums. */
static uint64_t nh_plain(const struct tally_keys *keys, const uint64_t *words,
			 uint32_t n)
{
	uint64_t hash = 0;
	uint32_t i, a, b;

	for (i = 0; i < n; i++) {
		a = (uint32_t)words[i] + (uint32_t)keys->nh[i];
		b = (uint32_t)(words[i] >> 32);
		b += (uint32_t)(keys->nh[i] >> 32);
		hash += (uint64_t)((wide)a * b);
	}
	return hash;
}

/* The whole payload in @pieces runs. */
static struct tally_scan scan_pieces(const struct tally_keys *keys,
				     const uint8_t *bytes, uint32_t n,
				     uint32_t pieces)
{
	struct tally_scan scan = { 0 };
	uint32_t at = 0, i, run;

	for (i = 0; i < pieces; i++) {
		run = i + 1 == pieces ? n - at : n / pieces;
		tally_scan_words(&scan, keys, at, bytes + 8 * at, run);
		at += run;
	}
	return scan;
}

static void scan_words__against_plain_numbers(void **state)
{
	struct tally_keys *keyed = new_keys(key, 7, 1);
	struct tally_keys *open = new_keys(NULL, 7, 1);
	uint64_t seed = 1, words[TALLY_WORDS_MAX], sum, over;
	uint8_t *bytes = malloc(sizeof(words) + 8);
	struct tally_scan scan;
	uint32_t round, n, i, shift, pieces;

	assert_non_null(bytes);
	for (round = 0; round < 3000; round++) {
		n = round < 40 ? round : random_range(&seed, 0,
						      TALLY_WORDS_MAX);
		shift = round % 8;	/* packets align nothing */
		sum = 0;
		over = 0;
		for (i = 0; i < n; i++) {
			words[i] = random_next(&seed) >> (round % 64);
			sum += words[i];
			over |= words[i];
		}
		memcpy(bytes + shift, words, 8 * n);
		pieces = random_range(&seed, 1, 5);
		scan = scan_pieces(open, bytes + shift, n, pieces);
		check_equal(scan.hash, sum);
		check_equal(scan.over, over);
		scan = scan_pieces(keyed, bytes + shift, n, pieces);
		check_equal(scan.hash, nh_plain(keyed, words, n));
		check_equal(scan.over, over);
	}
	free(bytes);
	free(keyed);
	free(open);
}

struct packet {
	struct tally_hdr hdr;
	uint64_t words[16];
};

static __be64 packet_tag(const struct tally_keys *keys,
			 const struct packet *packet)
{
	struct tally_scan scan = { 0 };

	tally_scan_words(&scan, keys, 0, packet->words,
			 ARRAY_SIZE(packet->words));
	return tally_tag(keys, &packet->hdr, scan.hash);
}

static void check_flips(const struct tally_keys *keys, uint64_t seed)
{
	struct packet packet;
	uint8_t *bytes = (uint8_t *)&packet;
	__be64 tag;
	uint32_t i;

	for (i = 0; i < sizeof(packet); i++)
		bytes[i] = random_next(&seed);
	tag = packet_tag(keys, &packet);
	for (i = 0; i < 8 * sizeof(packet); i++) {
		if (i / 8 >= offsetof(struct tally_hdr, tag) &&
		    i / 8 < sizeof(struct tally_hdr))
			continue;
		bytes[i / 8] ^= 1 << i % 8;
		check_true(packet_tag(keys, &packet) != tag);
		bytes[i / 8] ^= 1 << i % 8;
	}
	check_true(packet_tag(keys, &packet) == tag);
}

static void tag__every_bit_counts_without_key(void **state)
{
	struct tally_keys *keys = new_keys(NULL, 7, 1);
	uint64_t seed;

	for (seed = 0; seed < 50; seed++)
		check_flips(keys, seed);
	free(keys);
}

static void tag__every_bit_counts_with_key(void **state)
{
	struct tally_keys *keys = new_keys(key, 7, 1);
	uint64_t seed;

	for (seed = 0; seed < 50; seed++)
		check_flips(keys, seed);
	free(keys);
}

/* The tag field itself is not part of what is tagged. */
static void tag__ignores_its_own_field(void **state)
{
	struct tally_keys *keys[2] = { new_keys(NULL, 7, 1),
				       new_keys(key, 7, 1) };
	struct packet packet = { 0 };
	__be64 tag;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		packet.hdr.tag = 0;
		tag = packet_tag(keys[i], &packet);
		packet.hdr.tag = tally_put64(~0ull);
		check_true(packet_tag(keys[i], &packet) == tag);
		free(keys[i]);
	}
}

/* Words that changed places: NH tells, a plain sum cannot. */
static void tag__order_of_words_with_key(void **state)
{
	struct tally_keys *keys = new_keys(key, 7, 1);
	struct packet packet = { 0 };
	__be64 tag;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(packet.words); i++)
		packet.words[i] = 1ull << i;
	tag = packet_tag(keys, &packet);
	packet.words[3] = 1ull << 4;
	packet.words[4] = 1ull << 3;
	check_true(packet_tag(keys, &packet) != tag);
	free(keys);
}

/* Header bytes of equal sum in other places do not cancel out. */
static void tag__order_of_header_without_key(void **state)
{
	struct tally_keys *keys = new_keys(NULL, 7, 1);
	uint64_t fields[8] = { 1, 2, 3, 4, 5, 6, 7, 0 }, was;
	struct packet packet = { 0 };
	uint32_t i, j;
	__be64 tag;

	memcpy(&packet.hdr, fields, sizeof(fields));
	tag = packet_tag(keys, &packet);
	for (i = 0; i < 7; i++) {
		for (j = 0; j < i; j++) {
			was = fields[i];
			fields[i] = fields[j];
			fields[j] = was;
			memcpy(&packet.hdr, fields, sizeof(fields));
			check_true(packet_tag(keys, &packet) != tag);
			fields[j] = fields[i];
			fields[i] = was;
		}
	}
	free(keys);
}

UNIT_MAIN(
	cmocka_unit_test(siphash__published_vectors),
	cmocka_unit_test(keys_init__depends_on_key_group_epoch),
	cmocka_unit_test(scan_words__against_plain_numbers),
	cmocka_unit_test(tag__every_bit_counts_without_key),
	cmocka_unit_test(tag__every_bit_counts_with_key),
	cmocka_unit_test(tag__ignores_its_own_field),
	cmocka_unit_test(tag__order_of_words_with_key),
	cmocka_unit_test(tag__order_of_header_without_key),
)
