// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * A digest to compare replicas by: four independent multiply-xorshift chains
 * over little-endian words, so that it runs about as fast as memory.
 */
#include <tally/tag.h>

#include "internal.h"

#define LANES	4
#define PRIME	0x9e3779b97f4a7c15ull

static inline uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * PRIME;
	return h ^ h >> 32;
}

uint64_t tally_digest(const void *buf, size_t bytes)
{
	uint64_t h[LANES] = { 1, 2, 3, 4 }, word, all;
	const uint8_t *p = buf;
	size_t left = bytes, i;

	for (; left >= 8 * LANES; left -= 8 * LANES, p += 8 * LANES) {
		for (i = 0; i < LANES; i++)
			h[i] = mix(h[i], tally_load_le64(p + 8 * i));
	}
	/* The rest, with zeros up to a whole word. */
	for (i = 0; left; i++) {
		uint8_t last[8] = { 0 };
		size_t n = left < 8 ? left : 8;

		memcpy(last, p, n);
		word = tally_load_le64(last);
		h[i] = mix(h[i], word);
		p += n;
		left -= n;
	}
	all = bytes;
	for (i = 0; i < LANES; i++)
		all = mix(all, h[i]);
	all = mix(all, all >> 29);
	return all ^ all >> 31;
}
