// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast values become lanes and lanes values, beside memcpy() of the same
 * values, on one core:
 *
 *   encode [-j] [-m MIB] [-p PAYLOAD] [-r ROUNDS] [-s SET]
 *
 * Best of ROUNDS, by the thread's own time; memcpy() is measured again beside
 * each case.  "traffic" compares all bytes read and written with those that
 * memcpy() reads and writes: lanes may be wider than values, and a carry is
 * read and written, too.  -j: JSON.  -s: scalar, avx2 or avx512 instead of the
 * best kernels.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

enum mode { PLAIN, RESIDUAL, CARRY, STOCHASTIC, DECODE, MODES };

static const char *const mode_names[] = {
	"encode", "encode, residual", "encode, carry", "encode, stochastic",
	"decode",
};

static const char *const lane_names[] = { "", "i32", "i16", "i8" };
static const char *const dtype_names[] = { "", "f32", "f16", "bf16" };

/**
 * struct bench - buffers, and what to do with them
 * @bytes: of values
 */
struct bench {
	size_t		bytes;
	size_t		payload;
	unsigned int	rounds;
	uint8_t		*values;
	uint8_t		*out;
	uint8_t		*lanes;
	float		*carry;
	float		*residual;
	struct tally_block *blocks;
};

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void *buffer(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (!p) {
		fprintf(stderr, "encode: no memory for %zu bytes\n", bytes);
		exit(1);
	}
	/* Pages are there before the clock runs. */
	memset(p, 1, bytes);
	return p;
}

/* Values about 1, with both signs, of any type. */
static void fill(struct bench *b, uint32_t dtype)
{
	uint32_t state = 1;
	size_t i;

	for (i = 0; i < b->bytes / codec_dtype_bytes(dtype); i++) {
		uint16_t h;
		float x;

		state = state * 1664525 + 1013904223;
		x = (float)(int32_t)state * 0x1p-30f;
		if (dtype == TALLY_DTYPE_F32) {
			memcpy(b->values + 4 * i, &x, 4);
			continue;
		}
		/* Exponents near that of 1, any mantissa and sign. */
		h = dtype == TALLY_DTYPE_F16 ?
		    (uint16_t)(0x3800 | (state >> 16 & 0x83ff)) :
		    (uint16_t)(0x3f00 | (state >> 16 & 0x80ff));
		memcpy(b->values + 2 * i, &h, 2);
	}
	for (i = 0; i < b->bytes / codec_dtype_bytes(dtype); i++) {
		state = state * 1664525 + 1013904223;
		b->carry[i] = (float)(int32_t)state * 0x1p-36f;
	}
}

static void pass(struct bench *b, uint32_t lane, uint32_t dtype, enum mode mode)
{
	size_t per = b->payload / codec_lane_bytes(lane), n, i, at;
	size_t count = b->bytes / codec_dtype_bytes(dtype);
	size_t bytes = codec_dtype_bytes(dtype);
	struct codec_block how = {
		.lane = (uint8_t)lane, .dtype = (uint8_t)dtype,
		.value_bits = (uint8_t)tally_value_bits(lane, 4, 1),
		.stochastic = mode == STOCHASTIC, .scale = 1,
	};
	codec_env env = codec_enter();

	for (i = 0, at = 0; at < count; at += n, i++) {
		n = count - at < per ? count - at : per;
		if (mode == DECODE)
			codec_decode(lane, dtype, TALLY_MEAN,
				     b->lanes + i * b->payload, &b->blocks[i],
				     b->out + at * bytes, n);
		else
			codec_encode(&how, TALLY_EXP_NONE, (uint32_t)i,
				     b->values + at * bytes,
				     mode == CARRY ? b->carry + at : NULL,
				     mode == CARRY || mode == RESIDUAL ?
				     b->residual + at : NULL, n,
				     b->lanes + i * b->payload, &b->blocks[i]);
		b->blocks[i].weight = 4;
	}
	codec_leave(&env);
}

/* GB/s of values, the best of some rounds. */
static double measure(struct bench *b, uint32_t lane, uint32_t dtype,
		      enum mode mode)
{
	double best = 1e9, took;
	unsigned int i;

	if (mode == DECODE)
		pass(b, lane, dtype, PLAIN);
	for (i = 0; i < b->rounds; i++) {
		took = seconds();
		pass(b, lane, dtype, mode);
		took = seconds() - took;
		best = took < best ? took : best;
	}
	return (double)b->bytes / best * 1e-9;
}

static double measure_memcpy(struct bench *b)
{
	double best = 1e9, took;
	unsigned int i;

	for (i = 0; i < b->rounds; i++) {
		took = seconds();
		memcpy(b->out, b->values, b->bytes);
		/* The copy is looked at. */
		__asm__ volatile("" : : "r"(b->out) : "memory");
		took = seconds() - took;
		best = took < best ? took : best;
	}
	return (double)b->bytes / best * 1e-9;
}

/* Bytes that a case reads and writes for each byte of values, over two. */
static double traffic(uint32_t lane, uint32_t dtype, enum mode mode)
{
	double value = codec_dtype_bytes(dtype);
	double bytes = value + codec_lane_bytes(lane);

	if (mode == CARRY)
		bytes += 8;
	if (mode == RESIDUAL)
		bytes += 4;
	return bytes / value / 2;
}

static int choose_set(const char *name)
{
	static const struct codec_ops *const sets[] = {
		&codec_scalar, &codec_avx2, &codec_avx512,
	};
	size_t i;

	for (i = 0; i < 3; i++) {
		if (sets[i]->name && !strcmp(sets[i]->name, name)) {
			if (!codec_usable(sets[i]))
				return -1;
			codec_use(sets[i]);
			return 0;
		}
	}
	return -1;
}

static void report_case(struct bench *b, uint32_t lane, uint32_t dtype,
			enum mode mode, int json)
{
	static const char *comma = "";
	double copy = measure_memcpy(b);
	double speed = measure(b, lane, dtype, mode);
	double by_traffic = speed * traffic(lane, dtype, mode) / copy;

	if (json)
		printf("%s{\"op\":\"%s\",\"type\":\"%s\",\"lane\":\"%s\","
		       "\"gbps\":%.3f,\"memcpy_gbps\":%.3f,"
		       "\"values_ratio\":%.3f,\"traffic_ratio\":%.3f}", comma,
		       mode_names[mode], dtype_names[dtype], lane_names[lane],
		       speed, copy, speed / copy, by_traffic);
	else
		printf("%-20s %-5s %-5s %8.2f %8.2f %8.2f %8.2f\n",
		       mode_names[mode], dtype_names[dtype], lane_names[lane],
		       speed, copy, speed / copy, by_traffic);
	comma = ",";
}

static void report(struct bench *b, int json)
{
	uint32_t lane, dtype;
	int mode;

	if (json)
		printf("{\"set\":\"%s\",\"payload\":%zu,\"mib\":%zu,"
		       "\"cases\":[", codec_best()->name, b->payload,
		       b->bytes >> 20);
	else
		printf("kernels %s, payload %zu bytes, %zu MiB of values\n\n"
		       "%-20s %-5s %-5s %8s %8s %8s %8s\n",
		       codec_best()->name, b->payload, b->bytes >> 20, "",
		       "type", "lane", "GB/s", "memcpy", "ratio", "traffic");
	for (dtype = TALLY_DTYPE_F32; dtype <= TALLY_DTYPE_BF16; dtype++) {
		fill(b, dtype);
		for (mode = 0; mode < MODES; mode++) {
			for (lane = TALLY_LANE_I32; lane <= TALLY_LANE_I8;
			     lane++)
				report_case(b, lane, dtype, (enum mode)mode,
					    json);
		}
	}
	if (json)
		puts("]}");
}

static size_t number(const char *text, size_t low, size_t high)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || end == text || n < low || n > high) {
		fprintf(stderr, "encode: '%s' is not a number from %zu to %zu\n",
			text, low, high);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	struct bench b = { .bytes = 64 << 20, .payload = 1408, .rounds = 10 };
	int json = 0, option;

	while ((option = getopt(argc, argv, "jm:p:r:s:")) != -1) {
		switch (option) {
		case 'j':
			json = 1;
			break;
		case 'm':
			b.bytes = number(optarg, 1, 4096) << 20;
			break;
		case 'p':
			b.payload = number(optarg, TALLY_PAYLOAD_MIN,
					   TALLY_PAYLOAD_MAX) / 64 * 64;
			break;
		case 'r':
			b.rounds = (unsigned int)number(optarg, 1, 1000);
			break;
		case 's':
			if (!choose_set(optarg))
				break;
			fprintf(stderr, "encode: no kernels '%s' here\n",
				optarg);
			return 2;
		default:
			fprintf(stderr, "usage: %s [-j] [-m MIB] [-p PAYLOAD] [-r ROUNDS] [-s SET]\n",
				argv[0]);
			return 2;
		}
	}
	b.values = buffer(b.bytes);
	b.out = buffer(b.bytes);
	b.lanes = buffer(2 * b.bytes + b.payload);
	b.carry = buffer(2 * b.bytes);
	b.residual = buffer(2 * b.bytes);
	/* Two bytes a value in four bytes of lanes make the most blocks. */
	b.blocks = buffer((2 * b.bytes / b.payload + 2) * sizeof(*b.blocks));
	report(&b, json);
	return 0;
}
