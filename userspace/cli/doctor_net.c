// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* What doctor looks at in the network: ports, devices, ways to members. */
#include "doctor.h"
#include "net.h"
#include "xdp.h"

#include <tally/wire.h>

#include <stdlib.h>
#include <string.h>

#define SOCKETS_BYTES	(1 << 20)	/* of /proc/net/udp that is looked at */
#define XDP_PAGE_MTU	3498	/* more than a page holds beside its headroom */
#define DEVICES_MAX	64

/**
 * struct udp_socket - a line of /proc/net/udp
 * @port: local port
 * @uid: of its owner
 */
struct udp_socket {
	unsigned int	port;
	unsigned int	uid;
};

static bool parse_socket(const char *line, struct udp_socket *s)
{
	return sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*s %*x %*s %*s %*s %u",
		      &s->port, &s->uid) == 2;
}

/* Return: whether a socket has @port; it goes to @found. */
static bool find_socket(struct cli *cli, const char *path, unsigned int port,
			struct udp_socket *found)
{
	char *text = malloc(SOCKETS_BYTES), *line, *save;
	struct udp_socket s;
	bool any = false;

	if (!text)
		return false;
	if (cli_read_file(cli, path, text, SOCKETS_BYTES) < 0)
		*text = 0;
	for (line = strtok_r(text, "\n", &save); line && !any;
	     line = strtok_r(NULL, "\n", &save))
		if (parse_socket(line, &s) && s.port == port) {
			*found = s;
			any = true;
		}
	free(text);
	return any;
}

/* The module's sockets look like those of processes; its groups tell. */
static bool is_modules(const struct groups *kernel, unsigned int port)
{
	uint32_t m;
	size_t g;

	for (g = 0; g < kernel->nr; g++)
		for (m = 0; m < kernel->at[g].nr_members; m++)
			if (kernel->at[g].up && kernel->at[g].members[m].local &&
			    kernel->at[g].members[m].port == port)
				return true;
	return false;
}

static void check_port(struct cli *cli, unsigned int port,
		       const struct groups *kernel, struct findings *f)
{
	struct udp_socket s;

	if (is_modules(kernel, port)) {
		findings_add(f, FINDING_OK, "port", "UDP port %u is the module's",
			     port);
		return;
	}
	if (!find_socket(cli, "/proc/net/udp", port, &s) &&
	    !find_socket(cli, "/proc/net/udp6", port, &s)) {
		findings_add(f, FINDING_OK, "port", "UDP port %u is free",
			     port);
		return;
	}
	findings_add(f, FINDING_FAIL, "port", "UDP port %u is taken by a socket of user %u",
		     port, s.uid);
	findings_remedy(f, "stop its process: ss -lnup 'sport = :%u' names it; or give the members another port",
			port);
}

/* The ports of members that are here, or the usual one. */
static void check_ports(struct cli *cli, const struct groups *groups,
			const struct groups *kernel, struct findings *f)
{
	unsigned int ports[16], n = 0, i;
	struct route r;
	uint32_t m;
	size_t g;

	for (g = 0; g < groups->nr; g++)
		for (m = 0; m < groups->at[g].nr_members; m++) {
			const struct member *one = &groups->at[g].members[m];

			if (cli->net->route(cli->net, &one->addr, &r) ||
			    !r.local)
				continue;
			for (i = 0; i < n && ports[i] != one->port; i++)
				;
			if (i == n && n < 16)
				ports[n++] = one->port;
		}
	if (!n)
		ports[n++] = TALLY_PORT;
	for (i = 0; i < n; i++)
		check_port(cli, ports[i], kernel, f);
}

static void check_program(const struct link *link,
			  const struct xdp_status *status, bool loaded,
			  struct findings *f)
{
	if (!status->id) {
		if (status->foreign_id) {
			findings_add(f, FINDING_WARN, "xdp", "%s: program %s does not share the device",
				     link->name, status->foreign);
			findings_remedy(f, "ip link set dev %s xdp off, then: tally xdp attach %s",
					link->name, link->name);
			return;
		}
		findings_add(f, FINDING_INFO, "xdp", "%s: packets go by the socket path",
			     link->name);
		findings_remedy(f, "tally xdp attach %s", link->name);
		return;
	}
	if (loaded && !status->bound) {
		findings_add(f, FINDING_WARN, "xdp", "%s: the program was loaded before the module and does not call it",
			     link->name);
		findings_remedy(f, "tally xdp attach %s (it replaces the program)",
				link->name);
		return;
	}
	if (status->mode == XDP_GENERIC) {
		findings_add(f, FINDING_WARN, "xdp", "%s: the program runs in generic mode, later than the driver's and with copies",
			     link->name);
		findings_remedy(f, link->can_known && !(link->can & XDP_CAN_BASIC) ?
				"its driver cannot do better: use another device" :
				"tally xdp detach %s; tally xdp attach %s native",
				link->name, link->name);
		return;
	}
	findings_add(f, FINDING_OK, "xdp", "%s: the program runs in %s mode",
		     link->name, xdp_mode_name(status->mode));
	if (link->mtu > XDP_PAGE_MTU && !status->frags) {
		findings_add(f, FINDING_WARN, "xdp", "%s: another program on it takes no packets beyond one page, MTU %u makes them",
			     link->name, link->mtu);
		findings_remedy(f, "detach the program without fragments, or: ip link set dev %s mtu 1500",
				link->name);
	}
}

static void check_link(const struct link *link, bool loaded,
		       struct findings *f)
{
	char why[XDP_WHY_MAX] = "";
	struct xdp_status status;

	if (!link->up || !link->running) {
		findings_add(f, FINDING_FAIL, "device", "%s is %s", link->name,
			     link->up ? "without a carrier" : "down");
		findings_remedy(f, link->up ? "connect %s, or bring its peer up" :
				"ip link set dev %s up", link->name);
		return;
	}
	if (link->can_known && !(link->can & XDP_CAN_BASIC)) {
		findings_add(f, FINDING_INFO, "xdp", "%s: its driver has no native XDP, generic mode is left",
			     link->name);
		findings_remedy(f, "a device with native XDP is faster; see 'tally xdp status'");
	} else if (link->can_known && link->mtu > XDP_PAGE_MTU &&
		   !(link->can & XDP_CAN_FRAGS)) {
		findings_add(f, FINDING_WARN, "xdp", "%s: its driver has native XDP only up to MTU %d, it has %u",
			     link->name, XDP_PAGE_MTU, link->mtu);
		findings_remedy(f, "ip link set dev %s mtu 1500", link->name);
	} else if (link->can_known) {
		findings_add(f, FINDING_OK, "xdp", "%s: its driver has native XDP%s",
			     link->name, link->can & XDP_CAN_FRAGS ?
			     ", packets beyond one page too" : "");
	}
	memset(&status, 0, sizeof(status));
	if (xdp_status(link->name, &status, why)) {
		findings_add(f, FINDING_WARN, "xdp", "%s: its programs cannot be seen: %s",
			     link->name, why);
		findings_remedy(f, "run this as root");
		return;
	}
	check_program(link, &status, loaded, f);
}

/*
 * Which devices matter: those towards members, else all that could.
 * Return: how many numbers of devices went to @ifindex.
 */
static size_t devices_of(struct cli *cli, const struct groups *groups,
			 uint32_t *ifindex)
{
	struct route r;
	size_t g, n = 0, i;
	uint32_t m;

	for (g = 0; g < groups->nr; g++)
		for (m = 0; m < groups->at[g].nr_members; m++) {
			if (cli->net->route(cli->net,
					    &groups->at[g].members[m].addr,
					    &r) || r.local || !r.ifindex)
				continue;
			for (i = 0; i < n && ifindex[i] != r.ifindex; i++)
				;
			if (i == n && n < DEVICES_MAX)
				ifindex[n++] = r.ifindex;
		}
	return n;
}

static void check_devices(struct cli *cli, const struct groups *groups,
			  bool loaded, struct findings *f)
{
	uint32_t used[DEVICES_MAX];
	struct link *links = NULL;
	size_t n, nr, i, j;

	if (cli->net->links(cli->net, &links, &nr)) {
		findings_add(f, FINDING_FAIL, "device", "devices cannot be read");
		findings_remedy(f, "run this in the network namespace that is meant, as root");
		return;
	}
	n = devices_of(cli, groups, used);
	for (i = 0; i < nr; i++) {
		for (j = 0; j < n && used[j] != links[i].ifindex; j++)
			;
		if (n ? j < n : !links[i].loopback && links[i].up)
			check_link(&links[i], loaded, f);
	}
	free(links);
}

void doctor_net(struct cli *cli, const struct groups *groups,
		const struct groups *kernel, bool loaded, struct findings *f)
{
	size_t i;

	if (net_need(cli)) {
		findings_add(f, FINDING_FAIL, "device", "rtnetlink does not answer");
		findings_remedy(f, "run this on a kernel with networking");
		return;
	}
	check_ports(cli, groups, kernel, f);
	check_devices(cli, groups, loaded, f);
	for (i = 0; i < groups->nr; i++)
		check_paths(cli, &groups->at[i],
			    groups->at[i].val[TALLY_A_GROUP_PAYLOAD], f);
}
