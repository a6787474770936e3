// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#include "check.h"
#include "net.h"

#include <tally/wire.h>

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void findings_add(struct findings *f, enum severity severity,
		  const char *check, const char *text, ...)
{
	struct finding *at = realloc(f->at, (f->nr + 1) * sizeof(*at));
	va_list args;

	if (severity > f->worst)
		f->worst = severity;
	if (!at) {
		f->lost = true;
		return;
	}
	f->at = at;
	at += f->nr++;
	memset(at, 0, sizeof(*at));
	at->severity = severity;
	snprintf(at->check, sizeof(at->check), "%s", check);
	va_start(args, text);
	vsnprintf(at->text, sizeof(at->text), text, args);
	va_end(args);
	cli_printable(at->text);
}

void findings_remedy(struct findings *f, const char *remedy, ...)
{
	struct finding *last;
	va_list args;

	if (!f->nr)
		return;
	last = &f->at[f->nr - 1];
	va_start(args, remedy);
	vsnprintf(last->remedy, sizeof(last->remedy), remedy, args);
	va_end(args);
	cli_printable(last->remedy);
}

void findings_free(struct findings *f)
{
	free(f->at);
	memset(f, 0, sizeof(*f));
}

uint32_t check_overhead(int family)
{
	return (family == AF_INET ? 20 : 40) + 8 + sizeof(struct tally_hdr);
}

static void no_route(struct findings *f, const char *label,
		     const struct member *m, const char *addr, int error)
{
	findings_add(f, FINDING_FAIL, "route", "%s: member %u: no route to %s (%s)",
		     label, m->rank, addr, strerror(-error));
	findings_remedy(f, "add one: ip route add %s dev DEVICE; or correct the member's address",
			addr);
}

static void check_mtu(struct findings *f, const char *label,
		      const struct member *m, const char *addr,
		      const struct route *r, uint32_t payload)
{
	uint32_t overhead = check_overhead(m->addr.family);
	uint32_t need = payload + overhead, fits = 0;

	if (r->mtu >= need) {
		findings_add(f, FINDING_OK, "mtu", "%s: member %u: payload %u fits the MTU of %u on %s",
			     label, m->rank, payload, r->mtu, r->dev);
		return;
	}
	if (r->mtu > overhead)
		fits = (r->mtu - overhead) / TALLY_PAYLOAD_ALIGN *
		       TALLY_PAYLOAD_ALIGN;
	findings_add(f, FINDING_FAIL, "mtu", "%s: member %u: payload %u makes packets of %u bytes, but the MTU towards %s on %s is %u",
		     label, m->rank, payload, need, addr, r->dev, r->mtu);
	if (r->mtu < r->dev_mtu)
		findings_remedy(f, "raise the route's MTU (ip route get %s), or payload %u or less on every host",
				addr, fits);
	else
		findings_remedy(f, "ip link set dev %s mtu %u, or payload %u or less on every host",
				r->dev, need, fits);
}

int check_paths(struct cli *cli, const struct group *g, uint32_t payload,
		struct findings *f)
{
	char label[64], addr[UNITS_TEXT];
	uint32_t i, local = 0;
	struct route r;
	int ret;

	ret = net_need(cli);
	if (ret)
		return ret;
	group_label(g, label, sizeof(label));
	for (i = 0; i < g->nr_members; i++) {
		const struct member *m = &g->members[i];

		units_addr_text(&m->addr, addr, sizeof(addr));
		ret = cli->net->route(cli->net, &m->addr, &r);
		if (ret == -ETIMEDOUT)
			return cli_error(cli, "routes cannot be read: %s",
					 strerror(-ret));
		if (ret)
			no_route(f, label, m, addr, ret);
		else if (r.local)
			local++;
		else if (payload)
			check_mtu(f, label, m, addr, &r, payload);
	}
	if (local)
		return CLI_OK;
	findings_add(f, FINDING_FAIL, "address", "%s: none of its members has an address of this host",
		     label);
	findings_remedy(f, "add the address: ip address add ADDRESS dev DEVICE; or correct the members (this may be the wrong network namespace)");
	return CLI_OK;
}
