// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control packets, one at a time, to an engine of three ranks on three nodes:
 * what is out of range or too often is dropped for a reason and changes
 * nothing.
 */
#include "port.h"
#include "engine.h"
#include "../unit/unit.h"

#define MS	1000000ull
#define SECOND	(1000 * MS)

/**
 * struct host - what the engine did
 * @sent: packets
 * @last: of them
 * @count: by type
 * @astray: asks for RESULTs to nodes that do not own the shard
 * @asked: shards whose owners were asked
 */
struct host {
	struct tally_engine	*engine;
	void			*tx;
	void			*result;
	uint32_t		sent;
	struct tally_hdr	last;
	uint32_t		count[__TALLY_TYPE_END];
	uint32_t		astray;
	uint32_t		asked;
};

static int host_send(void *priv, u32 node, const struct tally_hdr *hdr,
		     const void *payload)
{
	struct host *host = priv;

	uint32_t shard = tally_get16(hdr->shard);

	host->sent++;
	host->last = *hdr;
	host->count[hdr->type]++;
	if (hdr->type == TALLY_NACK && hdr->incast == TALLY_ASK_RESULT) {
		host->asked |= 1u << shard;
		host->astray += tally_shard_owner(7, 3, tally_get32(hdr->seq),
						  shard) != node;
	}
	return 0;
}

static void host_none(void *priv)
{
}

static void host_wake(void *priv, u32 rank)
{
}

static void host_count(void *priv, enum tally_count which, u32 n)
{
}

static void host_event(void *priv, const struct tally_event *event)
{
}

static const struct tally_engine_ops ops = {
	.send = host_send, .flush = host_none, .kick = host_none,
	.wake = host_wake, .count = host_count, .event = host_event,
};

static int setup(void **state)
{
	const struct tally_engine_config config = {
		.group = 7, .epoch = 1, .members = 7, .window = 4,
		.cell_words = 8, .shard_chunks = 2,
		.bound_us = 20000, .bound_max_us = 5000000,
		.settle_us = 10000, .timeout_us = 5000000,
		.nodes = 3, .node = { 0, 1, 2 },
	};
	struct host *host = calloc(1, sizeof(*host));
	size_t bytes = (size_t)tally_config_cells(&config) *
		       tally_config_cell_bytes(&config) * config.window;
	bool stale;
	u32 seq;

	if (!host)
		return -1;
	host->engine = tally_engine_create(&config, &ops, host);
	host->tx = calloc(1, bytes);
	host->result = calloc(1, bytes);
	*state = host;
	return tally_engine_attach(host->engine, 0, host->tx, host->result,
				   &seq, &stale);
}

static int teardown(void **state)
{
	struct host *host = *state;

	tally_engine_destroy(host->engine);
	free(host->tx);
	free(host->result);
	free(host);
	return 0;
}

/* From @rank, to all of seq 0. */
static struct tally_hdr packet(u8 type, u8 say, u32 rank, u32 shard)
{
	struct tally_hdr hdr = {
		.version = TALLY_VERSION,
		.type = type,
		.group = tally_put16(7),
		.rank = tally_put16((u16)rank),
		.epoch = tally_put32(1),
		.shard = tally_put16((u16)shard),
		.incast = say,
		.mask = tally_put64(7),
	};

	return hdr;
}

static enum tally_drop give(struct host *host, const struct tally_hdr *hdr,
			    const void *payload, u64 now)
{
	return tally_engine_control(host->engine, hdr, payload, now);
}

/* Rank 0 sums with the others, by @op: a chunk for each. */
static void submit(struct host *host, u8 op, struct tally_submit *req)
{
	memset(req, 0, sizeof(*req));
	req->size = sizeof(*req);
	req->op = op;
	req->lane = TALLY_LANE_I32;
	req->participants = 7;
	req->words = op == TALLY_OP_REDUCE_SCATTER ? 2 : 3 * 8;
	req->weight = 1;
	assert_int_equal(tally_engine_submit(host->engine, 0, req, SECOND), 0);
	tally_engine_run(host->engine, SECOND);
}

static void control__out_of_range(void **state)
{
	static const struct {
		u8 type, say;
		u32 rank, shard;
		u64 mask;
		enum tally_drop why;
	} bad[] = {
		{ TALLY_NACK, 99, 1, 0, 7, TALLY_DROP_MALFORMED },
		{ TALLY_NACK, TALLY_ASK_RESULT, 1, 3, 7, TALLY_DROP_MALFORMED },
		{ TALLY_NACK, TALLY_ASK_RESULT, 1, 0, 5,
		  TALLY_DROP_PARTICIPANTS },
		{ TALLY_NACK, TALLY_ASK_RESULT, 1, 0, 15,
		  TALLY_DROP_PARTICIPANTS },
		{ TALLY_NACK, TALLY_ASK_CONTRIB, 1, 0, 7, TALLY_DROP_UNWANTED },
		{ TALLY_BUSY, 99, 1, 0, 7, TALLY_DROP_MALFORMED },
		{ TALLY_BUSY, TALLY_SAY_OPEN, 1, 0, 7, TALLY_DROP_UNWANTED },
		{ TALLY_ABORT, 99, 1, 0, 7, TALLY_DROP_MALFORMED },
		{ TALLY_ABORT, TALLY_SAY_SHAPE, 1, 0, 7, TALLY_DROP_UNWANTED },
		{ TALLY_DECIDE, 99, 1, 0, 7, TALLY_DROP_MALFORMED },
		{ TALLY_DECIDE, TALLY_ASK_PROMISE, 1, 3, 7,
		  TALLY_DROP_MALFORMED },
		{ TALLY_DECIDE, TALLY_SAY_VOID, 1, 0, 5,
		  TALLY_DROP_PARTICIPANTS },
		{ TALLY_DECIDE, TALLY_SAY_VOID, 1, 0, 31,
		  TALLY_DROP_PARTICIPANTS },
		{ TALLY_DECIDE, TALLY_SAY_PROMISE, 1, 0, 7,
		  TALLY_DROP_UNWANTED },
	};
	struct host *host = *state;
	struct tally_submit req;
	struct tally_hdr hdr;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		hdr = packet(bad[i].type, bad[i].say, bad[i].rank,
			     bad[i].shard);
		hdr.mask = tally_put64(bad[i].mask);
		if (give(host, &hdr, NULL, SECOND) != bad[i].why)
			fail_msg("case %zu", i);
	}
	assert_int_equal(host->sent, 0);
	submit(host, TALLY_OP_ALL_REDUCE, &req);
	assert_int_equal(req.seq, 0);
	assert_true(host->sent > 0);
}

static void control__made_up_seq(void **state)
{
	struct host *host = *state;
	struct tally_hdr hdr = packet(TALLY_DECIDE, TALLY_SAY_VOID, 1, 2);

	hdr.seq = tally_put32(1000);
	/* Shard 2 of seq 1000 is rank 0's: it does not become STALE. */
	hdr.shard = tally_put16(tally_shard_of(3, 1000, 0));
	assert_int_equal(give(host, &hdr, NULL, SECOND), TALLY_DROP_AHEAD);
	assert_int_equal(host->sent, 0);
}

static void nack__too_soon(void **state)
{
	struct host *host = *state;
	u32 mine = tally_shard_of(3, 0, 0);
	struct tally_hdr hdr = packet(TALLY_NACK, TALLY_ASK_RESULT, 1, mine);
	uint64_t bits = 1;

	hdr.words = tally_put16(1);
	assert_int_equal(give(host, &hdr, &bits, SECOND), TALLY_KEEP);
	assert_int_equal(host->sent, 1);
	assert_int_equal(host->last.type, TALLY_BUSY);
	assert_int_equal(give(host, &hdr, &bits, SECOND + 1000),
			 TALLY_DROP_RATE);
	assert_int_equal(host->sent, 1);
	assert_int_equal(give(host, &hdr, &bits, 2 * SECOND), TALLY_KEEP);
	assert_int_equal(host->sent, 2);
}

static void probe__answers_are_limited(void **state)
{
	struct host *host = *state;
	struct tally_hdr hdr = packet(TALLY_PROBE, 0, 1, 0);
	u32 i, kept = 0;

	for (i = 0; i < 100; i++)
		kept += give(host, &hdr, NULL, SECOND) == TALLY_KEEP;
	assert_true(kept > 0 && kept < 30);
	assert_int_equal(host->sent, kept);
	assert_int_equal(host->last.type, TALLY_PROBE_ACK);
	/* Ten a second, over ten seconds. */
	for (i = 1; i <= 1000; i++)
		kept += give(host, &hdr, NULL, SECOND + i * SECOND / 100) ==
			TALLY_KEEP;
	assert_in_range(kept, 100, 130);
}

/* The values of our own shard are here or nowhere: a RECEIPT has none. */
static void receipt__of_own_shard(void **state)
{
	struct host *host = *state;
	struct tally_submit req;
	struct tally_receipt receipt = {
		.mask = tally_put64(6), .weight = tally_put32(2),
		.exponent = TALLY_EXP_NONE,
	};
	struct tally_layout layout;
	struct tally_hdr hdr;
	u32 mine = tally_shard_of(3, 0, 0), shard;

	submit(host, TALLY_OP_REDUCE_SCATTER, &req);
	tally_layout_init(&layout, req.op, 7, 0, req.words, 8, 0);
	for (shard = 0; shard < 3; shard++) {
		hdr = packet(TALLY_RECEIPT, 0,
			     shard == mine ? 1 :
			     tally_shard_owner(7, 3, 0, shard), shard);
		hdr.words = tally_put16(2);
		hdr.lane = TALLY_LANE_I32;
		hdr.mask = 0;
		hdr.flags = TALLY_F_REPAIR;
		hdr.shape = tally_put32(tally_shape(req.op, 0, req.lane, 0,
						    req.words, 8, 0));
		assert_int_equal(give(host, &hdr, &receipt, SECOND),
				 shard == mine ? TALLY_DROP_MISMATCH :
						 TALLY_KEEP);
		assert_int_equal(give(host, &hdr, &receipt, SECOND),
				 shard == mine ? TALLY_DROP_MISMATCH :
						 TALLY_DROP_DUPLICATE);
	}
}

/* Who took no part in what came before may ask before we are there. */
static void nack__ahead(void **state)
{
	struct host *host = *state;
	u32 seq = 9, shard = tally_shard_of(3, 0, seq), reliable;
	struct tally_hdr hdr = packet(TALLY_NACK, TALLY_ASK_RESULT, 1, shard);
	__le64 chunks = tally_put_le64(1);

	hdr.seq = tally_put32(seq);
	hdr.words = tally_put16(1);
	for (reliable = 0; reliable < 2; reliable++) {
		hdr.flags = reliable ? TALLY_F_RELIABLE : 0;
		assert_int_equal(give(host, &hdr, &chunks,
				      (1 + reliable) * SECOND), TALLY_KEEP);
		assert_int_equal(host->sent, 1 + reliable);
		assert_int_equal(host->last.type, TALLY_BUSY);
		assert_int_equal(host->last.incast, reliable ? TALLY_SAY_OPEN :
				 TALLY_SAY_GONE);
	}
}

/* A SUBMIT that has to wait for seq 0 asks as rarely as for any other. */
static void probe__is_rare(void **state)
{
	struct host *host = *state;
	struct tally_submit req = {
		.size = sizeof(req), .op = TALLY_OP_BROADCAST,
		.lane = TALLY_LANE_RAW, .participants = 7, .words = 8,
	};
	struct tally_completion done;
	u64 now = SECOND, next = 0;
	u32 i;

	for (req.seq = 0; req.seq < 4; req.seq++)
		assert_int_equal(tally_engine_submit(host->engine, 0, &req,
						     now), 0);
	for (i = 0; i < 3; i++)
		tally_engine_run(host->engine, now);
	while (tally_engine_fetch(host->engine, 0, 0, true, &done) == 1)
		assert_int_equal(done.status, 0);
	assert_int_equal(tally_engine_submit(host->engine, 0, &req, now),
			 -EAGAIN);
	host->sent = 0;
	while (now < 2 * SECOND && host->sent < 100) {
		next = tally_engine_run(host->engine, now);
		now = next > now ? next : now + 1;
	}
	assert_int_equal(host->last.type, TALLY_PROBE);
	/* Two nodes: some while the interval grows, then ten a second. */
	assert_in_range(host->sent, 10, 40);
}

/* No second reason to run may come before the deadline. */
static void rejoin__answers_at_once(void **state)
{
	struct host *host = *state;
	struct tally_submit req = {
		.size = sizeof(req), .op = TALLY_OP_REJOIN,
		.timeout_us = 1000000,
	};
	struct tally_hdr hdr = packet(TALLY_CONTRIB, TALLY_OP_ALL_REDUCE, 1,
				      tally_shard_of(3, 0, 0));
	const struct tally_keys *keys = tally_engine_keys(host->engine);
	struct tally_payload none = {};

	assert_int_equal(tally_engine_submit(host->engine, 0, &req, SECOND),
			 0);
	tally_engine_run(host->engine, SECOND);
	hdr.lane = TALLY_LANE_W64;
	hdr.exponent = TALLY_EXP_NONE;
	hdr.time = tally_put16(tally_time_pack(20000));
	hdr.tag = tally_tag(keys, &hdr, 0);
	assert_int_equal(tally_engine_contrib(host->engine, &hdr, &none,
					      SECOND), TALLY_KEEP);
	host->sent = 0;
	tally_engine_run(host->engine, SECOND);
	/* One block of zeros to each of the other two owners. */
	assert_int_equal(host->sent, 2);
	assert_int_equal(host->last.type, TALLY_CONTRIB);
	assert_true(host->last.flags & TALLY_F_REJOIN);
}

/* Run it whenever it wants to, from @now to @end. */
static void run_until(struct host *host, u64 *now, u64 end)
{
	while (*now < end) {
		u64 next = tally_engine_run(host->engine, *now);

		*now = min(max(next, *now + 1), end);
	}
}

/* A bound that is over here is not over where the owner is. */
static void settle__waits_for_far_owners(void **state)
{
	struct host *host = *state;
	struct tally_submit req;
	u64 now = SECOND;
	u32 rank;

	submit(host, TALLY_OP_ALL_REDUCE, &req);
	assert_int_equal(host->count[TALLY_PROBE], 2);
	run_until(host, &now, SECOND + 15 * MS);
	for (rank = 1; rank < 3; rank++) {
		struct tally_hdr hdr = packet(TALLY_PROBE_ACK, 0, rank, 0);

		hdr.sent_us = tally_put32((u32)(SECOND / 1000));
		assert_int_equal(give(host, &hdr, NULL, now), TALLY_KEEP);
	}
	/* 20 ms until the bound is over, 8 round trips of 15 ms to settle. */
	run_until(host, &now, SECOND + 140 * MS);
	assert_true(host->count[TALLY_NACK] > 0);
	assert_int_equal(host->count[TALLY_DECIDE], 0);
	run_until(host, &now, SECOND + 400 * MS);
	assert_true(host->count[TALLY_DECIDE] > 0);
	/* Once a second is enough, for collectives as short as they may be. */
	assert_int_equal(host->count[TALLY_PROBE], 2);
}

/* Who says that it is not ready is not silent. */
static void settle__leaves_others_alone(void **state)
{
	struct tally_submit req = {
		.size = sizeof(req), .op = TALLY_OP_ALL_REDUCE,
		.lane = TALLY_LANE_I32, .flags = TALLY_SUBMIT_RELIABLE,
		.participants = 7, .words = 3 * 8, .weight = 1,
	};
	struct host *host = *state;
	u64 now = SECOND;
	u32 shard;

	assert_int_equal(tally_engine_submit(host->engine, 0, &req, now), 0);
	while (now < 2 * SECOND) {
		run_until(host, &now, now + MS);
		for (shard = 0; shard < 3; shard++) {
			struct tally_hdr hdr = packet(TALLY_BUSY,
				TALLY_SAY_OPEN, shard, shard);

			/* Seq 0: shard s is rank s's. */
			if (host->asked >> shard & 1)
				give(host, &hdr, NULL, now);
		}
		host->asked = 0;
	}
	assert_true(host->count[TALLY_NACK] > 20);
	assert_int_equal(host->astray, 0);
	run_until(host, &now, now + 200 * MS);
	assert_true(host->astray > 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

UNIT_MAIN(TEST(control__out_of_range), TEST(control__made_up_seq),
	  TEST(nack__too_soon), TEST(probe__answers_are_limited),
	  TEST(receipt__of_own_shard), TEST(nack__ahead),
	  TEST(probe__is_rare), TEST(rejoin__answers_at_once),
	  TEST(settle__waits_for_far_owners),
	  TEST(settle__leaves_others_alone))
