// SPDX-License-Identifier: GPL-2.0-only
/*
 * The library over /dev/tally: four hosts, each a network namespace and a
 * thread.  Runs where tally.ko is loaded.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <tally/tally.h>

#include "../abi/abi.h"

#define HOSTS		4
#define GROUP		9
#define COUNT		30000	/* f32: 120 kB, two collectives */
#define STEP		2000	/* enough for a shard of each host */
#define BOUND_US	3000000	/* emulated machines are slow */

struct host {
	uint32_t		rank;
	struct nl		nl;
	struct tally		*t;
	struct tally_member	*m;
	pthread_t		thread;
	/* What a thread found; 0: all is well. */
	int			err;
	uint32_t		wrong;
	uint32_t		partial;
	struct tally_report	report;
	struct tally_state_report state;
};

static struct host hosts[HOSTS];
static pthread_barrier_t gate;
/* The manual's program, beside this one. */
static char example[300];
static float in[HOSTS][HOSTS * COUNT], out[HOSTS][HOSTS * COUNT];

static int host_join(struct host *h)
{
	char name[16];
	int err;

	host_name(name, h->rank + 1);
	err = netns_enter(name);
	if (!err)
		err = tally_open(NULL, &h->t);
	if (!err)
		err = tally_attach(h->t, GROUP, h->rank, &h->m);
	netns_enter("");
	return err;
}

static void host_leave(struct host *h)
{
	if (h->m)
		assert_int_equal(tally_detach(h->m), 0);
	assert_int_equal(tally_close(h->t), 0);
	h->m = NULL;
	h->t = NULL;
}

/* A group that nobody has used. */
static int group_make(struct host *h)
{
	struct abi_group group = {
		.id = GROUP, .payload = 1408, .gid = -1,
		.max_bytes = 64 * 1024, .bound_us = BOUND_US,
		.timeout_us = 4 * BOUND_US,
	};
	char address[32];
	uint32_t rank;

	/* A test that failed may have left it. */
	group_do(&h->nl, TALLY_CMD_GROUP_DEL, GROUP);
	if (group_add(&h->nl, &group))
		return -1;
	for (rank = 0; rank < HOSTS; rank++) {
		host_address(address, rank + 1, false);
		if (member_add(&h->nl, GROUP, rank, address, 0))
			return -1;
	}
	return group_do(&h->nl, TALLY_CMD_GROUP_UP, GROUP);
}

static int setup(void **state)
{
	char name[16];
	uint32_t i;

	(void)state;
	for (i = 0; i < HOSTS; i++) {
		struct host *h = &hosts[i];

		memset(h, 0, sizeof(*h));
		h->rank = i;
		host_name(name, i + 1);
		if (netns_enter(name) || nl_open(&h->nl) || group_make(h) ||
		    host_join(h))
			return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < HOSTS; i++) {
		host_leave(&hosts[i]);
		group_do(&hosts[i].nl, TALLY_CMD_GROUP_DEL, GROUP);
		nl_close(&hosts[i].nl);
	}
	return 0;
}

static void *barrier_first(void *arg)
{
	struct host *h = arg;

	/* Neighbours are found now, not within some bound. */
	h->err = tally_barrier(h->m, NULL, NULL);
	return NULL;
}

/* @work in all hosts at once. */
static void run(void *(*work)(void *arg))
{
	int failed = 0;
	uint32_t i;

	for (i = 0; i < HOSTS; i++)
		pthread_create(&hosts[i].thread, NULL, work, &hosts[i]);
	for (i = 0; i < HOSTS; i++)
		pthread_join(hosts[i].thread, NULL);
	for (i = 0; i < HOSTS; i++)
		failed |= hosts[i].err;
	for (i = 0; failed && i < HOSTS; i++) {
		char text[256];

		tally_report_format(&hosts[i].report, NULL, text,
				    sizeof(text));
		print_message("# host %u: error %d, %u wrong: %s; state of %llx for %llx at %u\n",
			      i, hosts[i].err, hosts[i].wrong,
			      hosts[i].report.size ? text : "no report",
			      (unsigned long long)hosts[i].state.answered,
			      (unsigned long long)hosts[i].state.participants,
			      hosts[i].state.seq);
	}
	for (i = 0; i < HOSTS; i++)
		assert_int_equal(hosts[i].err, 0);
}

static void fill(void)
{
	uint32_t i, k;

	for (i = 0; i < HOSTS; i++)
		for (k = 0; k < HOSTS * COUNT; k++)
			in[i][k] = (float)((int)(i * 131 + k * 7 + k / 100) %
					   255 - 127) / 64;
}

static float sum_at(uint32_t k)
{
	return in[0][k] + in[1][k] + in[2][k] + in[3][k];
}

static void *reduce_all_lanes(void *arg)
{
	struct host *h = arg;
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
		.flags = TALLY_CALL_RELIABLE, .reduce = TALLY_SUM);
	struct tally_call *call;
	uint32_t k;

	h->report.size = sizeof(h->report);
	h->err = tally_call_create(h->m, &call);
	for (o.lane = TALLY_LANE_I32; !h->err && o.lane <= TALLY_LANE_I16;
	     o.lane++) {
		h->err = tally_all_reduce_init(call, in[h->rank], out[h->rank],
					       COUNT, &o);
		if (!h->err)
			h->err = tally_post(call);
		if (!h->err)
			h->err = tally_wait(call, TALLY_WAIT_END);
		/* 9 bits a value: the sum is exact. */
		for (k = 0; k < COUNT; k++)
			h->wrong += out[h->rank][k] != sum_at(k);
		tally_get_report(call, &h->report);
		h->partial += h->report.partial;
	}
	return NULL;
}

static void device__all_reduce(void **state)
{
	uint32_t i;

	(void)state;
	fill();
	run(barrier_first);
	run(reduce_all_lanes);
	for (i = 0; i < HOSTS; i++) {
		struct tally_report *r = &hosts[i].report;

		assert_int_equal(hosts[i].partial, 0);
		assert_int_equal(hosts[i].wrong, 0);
		assert_int_equal(r->mask_all, 0xf);
		assert_int_equal(r->partial, 0);
		assert_int_equal(r->weight_min, HOSTS);
		assert_int_equal(r->bytes, 2 * COUNT);
		assert_int_equal(r->parts, 1);
		assert_true(r->elapsed_us > 0);
	}
}

static void *others(void *arg)
{
	struct host *h = arg;
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
		.flags = TALLY_CALL_RELIABLE, .reduce = TALLY_SUM);
	float *y = out[h->rank];
	uint32_t k, mine = h->rank;

	h->err = tally_reduce_scatter(h->m, in[mine], y, COUNT, &o, NULL);
	for (k = 0; !h->err && k < COUNT; k++)
		h->wrong += y[k] != sum_at(mine * COUNT + k);
	if (h->err)
		return NULL;
	h->err = tally_all_gather(h->m, in[mine], y, COUNT, NULL, NULL);
	for (k = 0; !h->err && k < HOSTS; k++)
		h->wrong += !!memcmp((char *)y + k * COUNT, in[k], COUNT);
	if (h->err)
		return NULL;
	memcpy(y, in[mine], 4 * COUNT);
	h->err = tally_broadcast(h->m, y, 4 * COUNT - 3, 2, NULL, NULL);
	h->wrong += !!memcmp(y, in[2], 4 * COUNT - 3);
	if (h->err)
		return NULL;
	/* Two of four; all go on with the same numbers. */
	o.participants = 0x5;
	y[0] = -1;
	h->err = tally_all_reduce(h->m, in[mine], y, 1000, &o, NULL);
	for (k = 0; !h->err && !(mine & 1) && k < 1000; k++)
		h->wrong += y[k] != in[0][k] + in[2][k];
	h->wrong += mine & 1 && y[0] != -1;
	if (!h->err)
		h->err = tally_barrier(h->m, NULL, NULL);
	return NULL;
}

static void device__other_collectives(void **state)
{
	uint32_t i;

	(void)state;
	fill();
	run(barrier_first);
	run(others);
	for (i = 0; i < HOSTS; i++)
		assert_int_equal(hosts[i].wrong, 0);
}

/*
 * Host 3 misses the bound: the others' sum lacks it, and its next contribution
 * has the values and the weight of both.
 */
static void *late_once(void *arg)
{
	struct host *h = arg;
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
		.bound_us = 500000, .weight = 2);
	struct tally_carry *carry;
	float mean;
	uint32_t k;

	h->err = tally_carry_create(1000, &carry);
	if (h->err)
		return NULL;
	o.carry = carry;
	h->report.size = sizeof(h->report);
	pthread_barrier_wait(&gate);
	if (h->rank == 3)
		usleep(1500000);
	h->err = tally_all_reduce(h->m, in[h->rank], out[h->rank], 1000, &o,
				  &h->report);
	h->wrong += h->report.mask_any != 0x7;
	h->wrong += h->report.weight_max != 6;
	h->wrong += h->report.missed != (h->rank == 3 ? 1000 : 0);
	for (k = 0; k < 1000; k++) {
		mean = (in[0][k] + in[1][k] + in[2][k]) / 3;
		h->wrong += fabsf(out[h->rank][k] - mean) > 1e-6f;
	}
	tally_carry_commit(carry);
	pthread_barrier_wait(&gate);
	o.bound_us = 0;
	if (!h->err)
		h->err = tally_all_reduce(h->m, in[h->rank], out[h->rank],
					  1000, &o, &h->report);
	h->wrong += h->report.mask_all != 0xf;
	h->wrong += h->report.weight_min != 10;
	for (k = 0; k < 1000; k++) {
		mean = (sum_at(k) + in[3][k]) / 5;
		h->wrong += fabsf(out[h->rank][k] - mean) > 1e-6f;
	}
	tally_carry_commit(carry);
	tally_carry_destroy(carry);
	return NULL;
}

static void device__late_is_carried(void **state)
{
	uint32_t i;

	(void)state;
	fill();
	run(barrier_first);
	run(late_once);
	for (i = 0; i < HOSTS; i++)
		assert_int_equal(hosts[i].wrong, 0);
}

/* Host 1's process begins anew, the others train on until it asks to join. */
static void *come_back(void *arg)
{
	struct host *h = arg;
	struct tally_state_opts so = TALLY_OPTS(tally_state_opts,
						.timeout_us = 20000000);
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
		.bound_us = 300000, .reduce = TALLY_SUM);
	float *y = out[h->rank];
	int step;

	h->state.size = sizeof(h->state);
	h->report.size = sizeof(h->report);
	if (h->rank == 1) {
		h->err = tally_rejoin(h->m, y, 4 * COUNT, &so, &h->state);
	} else {
		for (step = 0; !h->err && step < 40; step++) {
			h->err = tally_all_reduce(h->m, in[h->rank],
						  in[h->rank], STEP, &o,
						  &h->report);
			if (h->err || !(h->report.flags & TALLY_F_REJOIN))
				continue;
			h->err = tally_sync(h->m, y, 4 * COUNT, &so, &h->state);
			if (h->err != -EAGAIN)
				break;
			h->err = 0;
		}
	}
	o.bound_us = 0;
	o.flags = TALLY_CALL_RELIABLE;
	if (!h->err)
		h->err = tally_all_reduce(h->m, out[0], in[h->rank], STEP, &o,
					  &h->report);
	return NULL;
}

static void device__comes_back(void **state)
{
	struct tally_geometry geo = { .size = sizeof(geo) };
	uint32_t i, k;

	(void)state;
	fill();
	run(barrier_first);
	host_leave(&hosts[1]);
	assert_int_equal(host_join(&hosts[1]), 0);
	tally_get_geometry(hosts[1].m, &geo);
	assert_int_equal(geo.stale, 1);
	for (i = 0; i < HOSTS; i++)
		memset(&out[i][0], i == 1 ? 0x22 : 0x3f,
		       COUNT * sizeof(float));
	run(come_back);
	for (i = 0; i < HOSTS; i++) {
		struct tally_state_report *r = &hosts[i].state;

		assert_int_equal(r->root, 0);
		assert_int_equal(r->participants, 0xf);
		assert_int_equal(r->digest, hosts[0].state.digest);
		assert_true((r->before == r->digest) == (i != 1));
		assert_memory_equal(out[i], out[0], 4 * COUNT);
		assert_int_equal(hosts[i].report.mask_all, 0xf);
		for (k = 0; k < STEP; k++)
			assert_true(in[i][k] == 4 * out[0][k]);
	}
}

/* One thread, an event loop, four members. */
static void device__event_loop(void **state)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts,
		.flags = TALLY_CALL_RELIABLE, .reduce = TALLY_SUM);
	struct tally_call *call[HOSTS];
	struct pollfd p[HOSTS];
	uint32_t i, k, left = HOSTS, wakes;
	int err;

	(void)state;
	fill();
	run(barrier_first);
	for (i = 0; i < HOSTS; i++) {
		assert_int_equal(tally_call_create(hosts[i].m, &call[i]), 0);
		assert_int_equal(tally_all_reduce_init(call[i], in[i], out[i],
						       4 * COUNT, &o), 0);
		assert_int_equal(tally_post(call[i]), 0);
		p[i].fd = tally_fd(hosts[i].m);
	}
	for (wakes = 0; left && wakes < 10000; wakes++) {
		for (left = 0, i = 0; i < HOSTS; i++) {
			err = tally_test(call[i]);
			left += err == -EAGAIN;
			if (err != -EAGAIN)
				assert_int_equal(err, 0);
			p[i].events = (short)tally_events(hosts[i].m);
		}
		if (left)
			assert_true(poll(p, HOSTS, 20000) > 0);
	}
	assert_int_equal(left, 0);
	for (i = 0; i < HOSTS; i++)
		for (k = 0; k < 4 * COUNT; k++)
			assert_true(out[i][k] == sum_at(k));
}

/* The manual's program, a process on each host: all end with equal weights. */
static void device__manual_example(void **state)
{
	char line[HOSTS][200], name[16], command[400], *weights[HOSTS];
	FILE *f[HOSTS];
	uint32_t i;

	(void)state;
	run(barrier_first);
	for (i = 0; i < HOSTS; i++)
		host_leave(&hosts[i]);
	for (i = 0; i < HOSTS; i++)
		assert_int_equal(group_make(&hosts[i]), 0);
	for (i = 0; i < HOSTS; i++) {
		host_name(name, i + 1);
		snprintf(command, sizeof(command),
			 "ip netns exec %s %s %u %u | tail -n 1", name, example,
			 GROUP, i);
		f[i] = popen(command, "r");
		assert_non_null(f[i]);
	}
	for (i = 0; i < HOSTS; i++) {
		line[i][0] = 0;
		if (!fgets(line[i], sizeof(line[i]), f[i]))
			line[i][0] = 0;
		assert_int_equal(pclose(f[i]), 0);
		weights[i] = strstr(line[i], "weights ");
		assert_non_null(weights[i]);
		assert_string_equal(weights[i], weights[0]);
	}
	for (i = 0; i < HOSTS; i++)
		assert_int_equal(host_join(&hosts[i]), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest device[] = {
		cmocka_unit_test_setup_teardown(device__all_reduce, setup,
						teardown),
		cmocka_unit_test_setup_teardown(device__other_collectives,
						setup, teardown),
		cmocka_unit_test_setup_teardown(device__late_is_carried, setup,
						teardown),
		cmocka_unit_test_setup_teardown(device__comes_back, setup,
						teardown),
		cmocka_unit_test_setup_teardown(device__event_loop, setup,
						teardown),
		cmocka_unit_test_setup_teardown(device__manual_example, setup,
						teardown),
	};
	int failed;

	(void)argc;
	snprintf(example, sizeof(example), "%.*sexample",
		 (int)(strrchr(argv[0], '/') + 1 - argv[0]), argv[0]);

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (access("/dev/tally", F_OK)) {
		puts("1..0 # SKIP tally.ko is not loaded");
		return 0;
	}
	if (hosts_make(HOSTS, 1500)) {
		puts("Bail out! no network of namespaces");
		return 1;
	}
	pthread_barrier_init(&gate, NULL, HOSTS);
	failed = cmocka_run_group_tests(device, NULL, NULL);
	hosts_remove();
	return failed;
}
