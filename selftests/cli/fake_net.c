// SPDX-License-Identifier: GPL-2.0-only
/* Routes, devices and XDP programs of a script. */
#include "fake.h"
#include "net.h"
#include "xdp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROUTES_MAX	16
#define LINKS_MAX	8

static struct {
	struct net		net;
	struct addr		to[ROUTES_MAX];
	struct route		routes[ROUTES_MAX];
	size_t			nr_routes;
	struct link		links[LINKS_MAX];
	struct xdp_status	xdp[LINKS_MAX];
	size_t			nr_links;
	int			xdp_error;
	char			xdp_why[XDP_WHY_MAX];
} fake;

static int fake_route(struct net *net, const struct addr *dst,
		      struct route *route)
{
	size_t i;

	for (i = 0; i < fake.nr_routes; i++)
		if (units_addr_equal(&fake.to[i], dst)) {
			*route = fake.routes[i];
			return 0;
		}
	return -ENETUNREACH;
}

static int fake_links(struct net *net, struct link **links, size_t *nr)
{
	*links = calloc(fake.nr_links + 1, sizeof(**links));
	memcpy(*links, fake.links, fake.nr_links * sizeof(**links));
	*nr = fake.nr_links;
	return 0;
}

static void fake_close(struct net *net)
{
}

int fake_net_open(struct cli *cli)
{
	fake.net.route = fake_route;
	fake.net.links = fake_links;
	fake.net.close = fake_close;
	cli->net = &fake.net;
	return CLI_OK;
}

void fake_net_reset(void)
{
	memset(&fake, 0, sizeof(fake));
}

static int find_link(const char *name)
{
	size_t i;

	for (i = 0; i < fake.nr_links; i++)
		if (!strcmp(fake.links[i].name, name))
			return (int)i;
	return -1;
}

/* route ADDRESS local | route ADDRESS DEVICE MTU [DEVICE-MTU] */
static int set_route(int argc, char **argv)
{
	struct route *r = &fake.routes[fake.nr_routes];

	if (argc < 3 || fake.nr_routes == ROUTES_MAX ||
	    units_addr(argv[1], &fake.to[fake.nr_routes]))
		return -1;
	memset(r, 0, sizeof(*r));
	fake.nr_routes++;
	if (!strcmp(argv[2], "local")) {
		r->local = true;
		return 0;
	}
	snprintf(r->dev, sizeof(r->dev), "%s", argv[2]);
	r->ifindex = (uint32_t)(find_link(argv[2]) + 10);
	r->mtu = argc > 3 ? (uint32_t)atoi(argv[3]) : 1500;
	r->dev_mtu = argc > 4 ? (uint32_t)atoi(argv[4]) : r->mtu;
	return 0;
}

/* link NAME MTU [WORDS]: down, nocarrier, loopback, can=BITS */
static int set_link(int argc, char **argv)
{
	int at = argc > 2 ? find_link(argv[1]) : -1, i;
	struct link *link;

	if (argc < 3 || (at < 0 && fake.nr_links == LINKS_MAX))
		return -1;
	if (at < 0)
		at = (int)fake.nr_links++;
	link = &fake.links[at];
	memset(link, 0, sizeof(*link));
	snprintf(link->name, sizeof(link->name), "%s", argv[1]);
	link->ifindex = (uint32_t)(at + 10);
	link->mtu = (uint32_t)atoi(argv[2]);
	link->up = link->running = true;
	for (i = 3; i < argc; i++) {
		if (!strcmp(argv[i], "down"))
			link->up = link->running = false;
		if (!strcmp(argv[i], "loopback"))
			link->loopback = true;
		if (!strcmp(argv[i], "nocarrier"))
			link->running = false;
		if (!strncmp(argv[i], "can=", 4)) {
			link->can_known = true;
			link->can = (uint64_t)atoi(argv[i] + 4);
		}
	}
	memset(&fake.xdp[at], 0, sizeof(fake.xdp[at]));
	fake.xdp[at].mode = XDP_NONE;
	snprintf(fake.xdp[at].dev, sizeof(fake.xdp[at].dev), "%s", argv[1]);
	fake.xdp[at].mtu = link->mtu;
	return 0;
}

static void put_program(int at, enum xdp_mode mode)
{
	struct xdp_status *s = &fake.xdp[at];

	s->mode = mode;
	s->id = 42;
	s->bound = s->module = s->shared = s->frags = true;
	strcpy(s->name, "tally_host");
	fake.links[at].xdp = mode == XDP_GENERIC ? LINK_XDP_GENERIC :
						   LINK_XDP_NATIVE;
}

/* program NAME MODE [unbound] [nofrags] [taken N] */
static int set_program(int argc, char **argv)
{
	int at = argc > 2 ? find_link(argv[1]) : -1, i;
	enum xdp_mode mode;

	if (at < 0)
		return -1;
	if (!strcmp(argv[2], "foreign")) {
		fake.xdp[at].mode = XDP_NATIVE;
		fake.xdp[at].foreign_id = 7;
		strcpy(fake.xdp[at].foreign, "their_filter");
		fake.links[at].xdp = LINK_XDP_NATIVE;
		return 0;
	}
	if (xdp_mode_parse(argv[2], &mode))
		return -1;
	put_program(at, mode);
	for (i = 3; i < argc; i++) {
		if (!strcmp(argv[i], "unbound"))
			fake.xdp[at].bound = false;
		if (!strcmp(argv[i], "nofrags"))
			fake.xdp[at].frags = false;
		if (!strcmp(argv[i], "taken") && i + 1 < argc)
			fake.xdp[at].counters.contrib_taken =
				strtoull(argv[++i], NULL, 10);
	}
	return 0;
}

/* xdp-fail ERRNO WORDS: the next call */
static int order_failure(int argc, char **argv)
{
	if (argc != 3)
		return -1;
	fake.xdp_error = atoi(argv[1]);
	snprintf(fake.xdp_why, sizeof(fake.xdp_why), "%s", argv[2]);
	return 0;
}

int fake_net_command(int argc, char **argv)
{
	if (!strcmp(argv[0], "route"))
		return set_route(argc, argv);
	if (!strcmp(argv[0], "link"))
		return set_link(argc, argv);
	if (!strcmp(argv[0], "program"))
		return set_program(argc, argv);
	if (!strcmp(argv[0], "xdp-fail"))
		return order_failure(argc, argv);
	return -1;
}

static int ordered(char *why)
{
	int error = fake.xdp_error;

	strcpy(why, fake.xdp_why);
	fake.xdp_error = 0;
	fake.xdp_why[0] = 0;
	return -error;
}

int xdp_mode_parse(const char *word, enum xdp_mode *mode)
{
	if (!strcmp(word, "auto"))
		*mode = XDP_AUTO;
	else if (!strcmp(word, "native"))
		*mode = XDP_NATIVE;
	else if (!strcmp(word, "generic"))
		*mode = XDP_GENERIC;
	else
		return -EINVAL;
	return 0;
}

const char *xdp_mode_name(enum xdp_mode mode)
{
	static const char *const names[] = {
		[XDP_AUTO] = "auto", [XDP_NATIVE] = "native",
		[XDP_GENERIC] = "generic", [XDP_OFFLOAD] = "offload",
		[XDP_NONE] = "none",
	};

	return names[mode];
}

int xdp_attach(const char *dev, enum xdp_mode mode, uint16_t port,
	       struct xdp_status *status, char why[XDP_WHY_MAX])
{
	int at = find_link(dev), ret = ordered(why);

	if (ret)
		return ret;
	if (at < 0)
		return -ENODEV;
	if (port != 31249)
		return -EINVAL;
	put_program(at, mode == XDP_AUTO ? XDP_NATIVE : mode);
	*status = fake.xdp[at];
	return 0;
}

int xdp_detach(const char *dev, char why[XDP_WHY_MAX])
{
	int at = find_link(dev), ret = ordered(why);

	if (ret)
		return ret;
	if (at < 0)
		return -ENODEV;
	if (!fake.xdp[at].id)
		return -ENOENT;
	fake.xdp[at].id = 0;
	fake.xdp[at].mode = XDP_NONE;
	fake.links[at].xdp = 0;
	return 0;
}

int xdp_status(const char *dev, struct xdp_status *status,
	       char why[XDP_WHY_MAX])
{
	int at = find_link(dev), ret = ordered(why);

	if (ret)
		return ret;
	if (at < 0)
		return -ENODEV;
	*status = fake.xdp[at];
	return 0;
}
