/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/* A network of one hidden layer; float32, the same result in every run. */
#ifndef TALLY_EXAMPLES_NET_H
#define TALLY_EXAMPLES_NET_H

#include "data.h"

#define NET_HIDDEN	32

/* Gradient and momentum have the same shape as the weights. */
struct net {
	float	in[DIGIT_PIXELS][NET_HIDDEN];
	float	in_bias[NET_HIDDEN];
	float	out[DIGIT_CLASSES][NET_HIDDEN];
	float	out_bias[DIGIT_CLASSES];
};

#define NET_PARAMS	(sizeof(struct net) / sizeof(float))

void net_init(struct net *net, uint64_t seed);

/*
 * Mean gradient and mean cross-entropy of the samples @all[@index[0 ... n-1]].
 * Return: the loss.
 */
float net_gradient(const struct net *net, const struct digit *all,
		   const uint32_t *index, size_t n, struct net *gradient);

/* Return: how many of @n samples it reads right; adds up their loss. */
size_t net_test(const struct net *net, const struct digit *d, size_t n,
		double *loss);

/* Gradient descent with momentum. */
void net_step(struct net *net, struct net *momentum,
	      const struct net *gradient, float rate, float keep);

#endif
