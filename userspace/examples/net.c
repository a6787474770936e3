// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * 64 pixels, 32 rectified units, softmax over 10 classes.  Sums are in a fixed
 * order, so equal weights and samples give equal bits.
 */
#include "net.h"

#include <math.h>
#include <string.h>

/* What one sample leaves in the network. */
struct pass {
	float	hidden[NET_HIDDEN];
	float	p[DIGIT_CLASSES];
};

static float *net_values(struct net *net)
{
	return (float *)net;
}

static void init_layer(float *w, size_t n, float range, uint64_t *seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		w[i] = range * ((float)random_below(seed, 1 << 24) /
				(1 << 23) - 1);
}

void net_init(struct net *net, uint64_t seed)
{
	memset(net, 0, sizeof(*net));
	init_layer(&net->in[0][0], DIGIT_PIXELS * NET_HIDDEN,
		   sqrtf(6.0f / DIGIT_PIXELS), &seed);
	init_layer(&net->out[0][0], DIGIT_CLASSES * NET_HIDDEN,
		   sqrtf(6.0f / NET_HIDDEN), &seed);
}

/* Return: cross-entropy. */
static float forward(const struct net *net, const struct digit *d,
		     struct pass *s)
{
	float top = -INFINITY, sum = 0;
	int i, h, c;

	memcpy(s->hidden, net->in_bias, sizeof(s->hidden));
	for (i = 0; i < DIGIT_PIXELS; i++) {
		if (d->pixel[i] == 0)
			continue;
		for (h = 0; h < NET_HIDDEN; h++)
			s->hidden[h] += d->pixel[i] * net->in[i][h];
	}
	for (h = 0; h < NET_HIDDEN; h++)
		if (s->hidden[h] < 0)
			s->hidden[h] = 0;
	for (c = 0; c < DIGIT_CLASSES; c++) {
		s->p[c] = net->out_bias[c];
		for (h = 0; h < NET_HIDDEN; h++)
			s->p[c] += s->hidden[h] * net->out[c][h];
		if (s->p[c] > top)
			top = s->p[c];
	}
	for (c = 0; c < DIGIT_CLASSES; c++) {
		s->p[c] = expf(s->p[c] - top);
		sum += s->p[c];
	}
	for (c = 0; c < DIGIT_CLASSES; c++)
		s->p[c] /= sum;
	/* A probability that underflows has a large loss, not an infinite. */
	return -logf(fmaxf(s->p[d->label], 1e-30f));
}

static void backward(const struct net *net, const struct digit *d,
		     const struct pass *s, struct net *g)
{
	float slope[NET_HIDDEN] = { 0 };
	int i, h, c;
	float e;

	for (c = 0; c < DIGIT_CLASSES; c++) {
		e = s->p[c] - (c == (int)d->label);
		g->out_bias[c] += e;
		for (h = 0; h < NET_HIDDEN; h++) {
			g->out[c][h] += e * s->hidden[h];
			slope[h] += e * net->out[c][h];
		}
	}
	for (h = 0; h < NET_HIDDEN; h++) {
		if (s->hidden[h] <= 0)
			slope[h] = 0;
		g->in_bias[h] += slope[h];
	}
	for (i = 0; i < DIGIT_PIXELS; i++) {
		if (d->pixel[i] == 0)
			continue;
		for (h = 0; h < NET_HIDDEN; h++)
			g->in[i][h] += d->pixel[i] * slope[h];
	}
}

float net_gradient(const struct net *net, const struct digit *all,
		   const uint32_t *index, size_t n, struct net *gradient)
{
	float *g = net_values(gradient), loss = 0;
	struct pass s;
	size_t i;

	memset(gradient, 0, sizeof(*gradient));
	if (!n)
		return 0;
	for (i = 0; i < n; i++) {
		loss += forward(net, &all[index[i]], &s);
		backward(net, &all[index[i]], &s, gradient);
	}
	for (i = 0; i < NET_PARAMS; i++)
		g[i] /= (float)n;
	return loss / (float)n;
}

size_t net_test(const struct net *net, const struct digit *d, size_t n,
		double *loss)
{
	size_t i, right = 0;
	struct pass s;
	int c, best;

	for (i = 0; i < n; i++) {
		*loss += forward(net, &d[i], &s);
		for (best = 0, c = 1; c < DIGIT_CLASSES; c++)
			if (s.p[c] > s.p[best])
				best = c;
		right += best == (int)d[i].label;
	}
	return right;
}

void net_step(struct net *net, struct net *momentum,
	      const struct net *gradient, float rate, float keep)
{
	float *w = net_values(net), *m = net_values(momentum);
	const float *g = (const float *)gradient;
	size_t i;

	for (i = 0; i < NET_PARAMS; i++) {
		m[i] = keep * m[i] + g[i];
		w[i] -= rate * m[i];
	}
}
