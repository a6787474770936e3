// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* Handwritten digits of 8x8 pixels: reading, splitting, sharding. */
#include "data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#define SPLIT_SEED	20240607
#define PIXEL_MAX	16
#define DIGITS_MAX	1000000	/* a larger file is not this data */

/* splitmix64 */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint32_t random_below(uint64_t *state, uint32_t below)
{
	return (uint32_t)((random_next(state) >> 32) * below >> 32);
}

void random_order(uint32_t *order, size_t count, uint64_t seed)
{
	uint32_t i, j, was;

	for (i = 0; i < count; i++)
		order[i] = i;
	for (i = (uint32_t)count; i > 1; i--) {
		j = random_below(&seed, i);
		was = order[i - 1];
		order[i - 1] = order[j];
		order[j] = was;
	}
}

/* Return: what is wrong with @line, or NULL. */
static const char *parse(const char *line, struct digit *d)
{
	const char *at = line;
	unsigned long v;
	char *end;
	int i;

	for (i = 0; i <= DIGIT_PIXELS; i++) {
		if (*at < '0' || *at > '9')
			return "65 numbers with commas between are needed";
		v = strtoul(at, &end, 10);
		if (i < DIGIT_PIXELS) {
			if (v > PIXEL_MAX)
				return "a pixel is 0 to 16";
			if (*end != ',')
				return "65 numbers with commas between are needed";
			d->pixel[i] = (float)v / PIXEL_MAX;
		} else {
			if (v >= DIGIT_CLASSES)
				return "a label is 0 to 9";
			d->label = (uint32_t)v;
		}
		at = end + 1;
	}
	return *end && *end != '\n' && *end != '\r' ?
	       "more than 65 numbers" : NULL;
}

static int grow(struct digits *d, size_t *room)
{
	struct digit *all;

	if (d->nr < *room)
		return 0;
	if (d->nr >= DIGITS_MAX)
		return -EFBIG;
	*room = *room ? 2 * *room : 2048;
	all = realloc(d->all, *room * sizeof(*all));
	if (!all)
		return -ENOMEM;
	d->all = all;
	return 0;
}

static int read_lines(gzFile f, const char *path, struct digits *d, char *why,
		      size_t size)
{
	const char *wrong;
	size_t room = 0;
	char line[512];
	int err;

	while (gzgets(f, line, sizeof(line))) {
		err = grow(d, &room);
		if (err) {
			snprintf(why, size, "%s: %s after line %zu", path,
				 strerror(-err), d->nr);
			return err;
		}
		wrong = parse(line, &d->all[d->nr]);
		if (wrong) {
			snprintf(why, size, "%s: line %zu: %s", path,
				 d->nr + 1, wrong);
			return -EINVAL;
		}
		d->nr++;
	}
	wrong = gzerror(f, &err);
	if (err != Z_OK && err != Z_STREAM_END) {
		snprintf(why, size, "%s: after line %zu: %s", path, d->nr,
			 wrong);
		return -EIO;
	}
	return 0;
}

/* The file is sorted by who wrote: mix it before it is split. */
static int mix(struct digits *d)
{
	struct digit *all = malloc(d->nr * sizeof(*all));
	uint32_t *order = malloc(d->nr * sizeof(*order));
	size_t i;

	if (!all || !order) {
		free(all);
		free(order);
		return -ENOMEM;
	}
	random_order(order, d->nr, SPLIT_SEED);
	for (i = 0; i < d->nr; i++)
		all[i] = d->all[order[i]];
	free(order);
	free(d->all);
	d->all = all;
	d->train = d->nr * 4 / 5;
	return 0;
}

int digits_read(const char *path, struct digits *out, char *why, size_t size)
{
	struct digits d = { 0 };
	gzFile f;
	int err;

	errno = 0;
	f = gzopen(path, "rb");
	if (!f) {
		err = errno ? -errno : -ENOMEM;
		snprintf(why, size, "%s: %s", path, strerror(-err));
		return err;
	}
	err = read_lines(f, path, &d, why, size);
	gzclose_r(f);
	if (!err && d.nr < 2) {
		snprintf(why, size, "%s: %zu samples are too few", path, d.nr);
		err = -EINVAL;
	}
	if (!err) {
		err = mix(&d);
		if (err)
			snprintf(why, size, "%s: %s", path, strerror(-err));
	}
	if (err)
		digits_free(&d);
	*out = d;
	return err;
}

void digits_free(struct digits *d)
{
	free(d->all);
	memset(d, 0, sizeof(*d));
}

void digits_shard(const struct digits *d, uint32_t rank, uint32_t ranks,
		  size_t *first, size_t *count)
{
	*first = d->train * rank / ranks;
	*count = d->train * (rank + 1) / ranks - *first;
}
