// SPDX-License-Identifier: GPL-2.0-only
/* Parts of the trainer: data, network, batches. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "train.h"

#define SAMPLES	103	/* divides by nothing */

static char path[] = "/tmp/tally-digits-XXXXXX";
static char why[256];

/* A line of a digit whose pixels and label follow from @i. */
static void put_line(gzFile f, int i, const char *end)
{
	int k;

	for (k = 0; k < DIGIT_PIXELS; k++)
		gzprintf(f, "%d,", (i * 7 + k * (i % 10 + 1)) % 17);
	gzprintf(f, "%d%s", i % 10, end);
}

/* A file of @nr digits; @last, if not NULL, is its last line. */
static void put_file(int nr, const char *last, const char *mode)
{
	gzFile f = gzopen(path, mode);
	int i;

	assert_non_null(f);
	for (i = 0; i < nr; i++)
		put_line(f, i, "\n");
	if (last)
		gzputs(f, last);
	assert_int_equal(gzclose(f), Z_OK);
}

static int read_file(struct digits *d)
{
	why[0] = 0;
	return digits_read(path, d, why, sizeof(why));
}

static void data__reads_and_splits(void **state)
{
	struct digits a, b;
	int seen[SAMPLES] = { 0 }, i;
	size_t k;

	(void)state;
	put_file(SAMPLES, NULL, "wb");
	assert_int_equal(read_file(&a), 0);
	assert_int_equal(a.nr, SAMPLES);
	assert_int_equal(a.train, SAMPLES * 4 / 5);
	/* All are there, once: which one it is follows from its pixels. */
	for (k = 0; k < a.nr; k++) {
		for (i = 0; i < SAMPLES; i++)
			if ((int)a.all[k].label == i % 10 &&
			    a.all[k].pixel[0] == i * 7 % 17 / 16.0f)
				seen[i]++;
	}
	for (i = 0; i < SAMPLES; i++)
		assert_int_equal(seen[i], 1);
	/* Plain, it is the same, in the same order. */
	put_file(SAMPLES, NULL, "wbT");
	assert_int_equal(read_file(&b), 0);
	assert_memory_equal(a.all, b.all, SAMPLES * sizeof(*a.all));
	digits_free(&a);
	digits_free(&b);
}

static void data__shards_are_disjoint(void **state)
{
	struct digits d = { .nr = 1797, .train = 1437 };
	size_t first, count, next;
	uint32_t ranks, r;

	(void)state;
	for (ranks = 1; ranks <= 64; ranks++) {
		for (next = 0, r = 0; r < ranks; r++) {
			digits_shard(&d, r, ranks, &first, &count);
			assert_int_equal(first, next);
			assert_true(count >= d.train / ranks);
			assert_true(count <= d.train / ranks + 1);
			next = first + count;
		}
		assert_int_equal(next, d.train);
	}
}

/* Wrong lines: the error names the line, nothing is returned. */
static void data__wrong_lines(void **state)
{
	static const char *const wrong[] = {
		"1,2,3\n", "\n", "x\n", "-1,2\n", ",,\n", "17\n",
	};
	char line[400];
	struct digits d;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		put_file(3, wrong[i], "wb");
		assert_int_equal(read_file(&d), -EINVAL);
		assert_non_null(strstr(why, "line 4"));
		assert_null(d.all);
	}
	/* 64 pixels of 17, of 0 and a label of 10, and one number too many. */
	for (i = 0; i < 3; i++) {
		static const char *const begin[] = { "17,", "0,", "0," };
		static const char *const end[] = { "1\n", "10\n", "1,1\n" };
		int k;

		line[0] = 0;
		for (k = 0; k < DIGIT_PIXELS; k++)
			strcat(line, begin[i]);
		strcat(line, end[i]);
		put_file(3, line, "wb");
		assert_int_equal(read_file(&d), -EINVAL);
		assert_non_null(strstr(why, "line 4"));
	}
	put_file(1, NULL, "wb");
	assert_int_equal(read_file(&d), -EINVAL);
	assert_non_null(strstr(why, "too few"));
}

static void data__damaged_file(void **state)
{
	struct digits d;

	(void)state;
	put_file(SAMPLES, NULL, "wb");
	assert_int_equal(truncate(path, 300), 0);
	assert_true(read_file(&d) < 0);
	assert_non_null(strstr(why, path));
	assert_int_equal(digits_read("/nonexistent", &d, why, sizeof(why)),
			 -ENOENT);
}

static double loss_at(struct net *net, const struct digit *d, size_t n)
{
	double loss = 0;

	net_test(net, d, n, &loss);
	return loss / (double)n;
}

/* The gradient is the loss's slope: compared at every 37th parameter. */
static void net__gradient_is_slope(void **state)
{
	uint32_t index[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	const float step = 1e-3f;
	struct net net, g;
	float *w = (float *)&net;
	struct digits d;
	double slope;
	size_t i;

	(void)state;
	put_file(SAMPLES, NULL, "wb");
	assert_int_equal(read_file(&d), 0);
	net_init(&net, 3);
	assert_true(fabs(net_gradient(&net, d.all, index, 8, &g) -
			 loss_at(&net, d.all, 8)) < 1e-5);
	for (i = 0; i < NET_PARAMS; i += 37) {
		float was = w[i];

		w[i] = was + step;
		slope = loss_at(&net, d.all, 8);
		w[i] = was - step;
		slope = (slope - loss_at(&net, d.all, 8)) / (2 * step);
		w[i] = was;
		if (fabs(slope - ((float *)&g)[i]) > 4e-3)
			fail_msg("parameter %zu: slope %g, gradient %g", i,
				 slope, ((float *)&g)[i]);
	}
	digits_free(&d);
}

static void net__no_samples(void **state)
{
	struct net net, g, zero = { 0 };

	(void)state;
	net_init(&net, 3);
	assert_true(net_gradient(&net, NULL, NULL, 0, &g) == 0);
	assert_memory_equal(&g, &zero, sizeof(g));
}

/* Each sample once an epoch; and nothing but the state says which are next. */
static void train__batches(void **state)
{
	struct plan p = { .ranks = 3, .epochs = 2, .batch = 5, .seed = 9 };
	struct state at = { 0 };
	struct sampler s, fresh;
	const uint32_t *index, *again;
	struct digits d;
	size_t n, k;
	uint32_t r;

	(void)state;
	put_file(SAMPLES, NULL, "wb");
	assert_int_equal(read_file(&d), 0);
	for (at.epoch = 0; at.epoch < 2; at.epoch++) {
		int seen[SAMPLES] = { 0 };

		for (r = 0; r < p.ranks; r++) {
			assert_int_equal(sampler_create(&s, &d, &p, r), 0);
			for (at.step = 0; at.step < plan_steps(&p, &d);
			     at.step++) {
				n = sampler_batch(&s, &at, &index);
				assert_true(n <= p.batch + 1);
				sampler_create(&fresh, &d, &p, r);
				assert_int_equal(sampler_batch(&fresh, &at,
							       &again), n);
				for (k = 0; k < n; k++) {
					assert_int_equal(index[k], again[k]);
					seen[index[k]]++;
				}
				sampler_free(&fresh);
			}
			sampler_free(&s);
		}
		for (k = 0; k < d.nr; k++)
			assert_int_equal(seen[k], k < d.train);
	}
	digits_free(&d);
}

/* More ranks than samples: some have none, and it still trains. */
static void train__more_ranks_than_samples(void **state)
{
	struct plan p = { .ranks = 64, .epochs = 1, .batch = 1, .rate = 0.1f,
			  .keep = 0.9f, .seed = 1 };
	struct outcome o = { 0 };
	struct digits d;

	(void)state;
	put_file(40, NULL, "wb");
	assert_int_equal(read_file(&d), 0);
	assert_int_equal(train_single(&p, &d, &o), 0);
	assert_int_equal(o.steps, 1);
	assert_true(isfinite(o.loss));
	digits_free(&d);
}

/* The same again gives the same bits; however the samples are divided, it learns. */
static void train__learns_digits(void **state)
{
	struct plan p = { .ranks = 4, .epochs = 6, .batch = 16, .rate = 0.1f,
			  .keep = 0.9f, .seed = 1 };
	struct outcome a = { 0 }, b = { 0 };
	struct digits d;

	(void)state;
	if (digits_read("build/data/digits.csv.gz", &d, why, sizeof(why))) {
		print_message("# %s: selftests/vm/fetch.sh data\n", why);
		skip();
	}
	assert_int_equal(train_single(&p, &d, &a), 0);
	assert_int_equal(train_single(&p, &d, &b), 0);
	assert_true(a.digest == b.digest);
	assert_int_equal(a.held_out, 360);
	assert_true(a.right > 330);
	p.ranks = 7;
	p.batch = 9;
	b = (struct outcome){ 0 };
	assert_int_equal(train_single(&p, &d, &b), 0);
	assert_true(b.right > 330);
	assert_true(a.digest != b.digest);
	digits_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data__reads_and_splits),
		cmocka_unit_test(data__shards_are_disjoint),
		cmocka_unit_test(data__wrong_lines),
		cmocka_unit_test(data__damaged_file),
		cmocka_unit_test(net__gradient_is_slope),
		cmocka_unit_test(net__no_samples),
		cmocka_unit_test(train__batches),
		cmocka_unit_test(train__more_ranks_than_samples),
		cmocka_unit_test(train__learns_digits),
	};
	int failed, fd = mkstemp(path);

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (fd < 0) {
		puts("Bail out! no temporary file");
		return 1;
	}
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
