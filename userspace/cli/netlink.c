// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/* The transport: sockets, acknowledgements, the kernel's own words. */
#include "netlink.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define ANSWER_SECONDS	30	/* bringing down waits for collectives to end */

/**
 * struct kernel_nl - the real family
 * @nl: what callers see
 * @socket: for requests
 * @events: for notifications, or NULL
 * @family: number of the family
 * @mcgrp: number of its multicast group
 */
struct kernel_nl {
	struct nl		nl;
	struct mnl_socket	*socket;
	struct mnl_socket	*events;
	int			family;
	uint32_t		mcgrp;
};

struct mnl_socket *nl_socket(int bus)
{
	struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	struct mnl_socket *s = mnl_socket_open2(bus, SOCK_CLOEXEC);
	int one = 1;

	if (!s)
		return NULL;
	/* Without these errors lack the kernel's words, nothing worse. */
	mnl_socket_setsockopt(s, NETLINK_EXT_ACK, &one, sizeof(one));
	mnl_socket_setsockopt(s, NETLINK_CAP_ACK, &one, sizeof(one));
	if (mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID) ||
	    setsockopt(mnl_socket_get_fd(s), SOL_SOCKET, SO_RCVTIMEO, &limit,
		       sizeof(limit))) {
		mnl_socket_close(s);
		return NULL;
	}
	return s;
}

struct nlmsghdr *nl_begin(void *buf, uint16_t type, uint16_t flags,
			  uint8_t cmd, uint8_t version)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = version;
	return nlh;
}

/**
 * struct answer - while one is read
 * @fn: takes the messages
 * @data: of @fn
 * @why: the kernel's words go here
 * @size: of @why
 */
struct answer {
	nl_fn	fn;
	void	*data;
	char	*why;
	size_t	size;
};

static void take_words(const struct nlmsghdr *nlh, size_t offset,
		       struct answer *answer)
{
	const struct nlattr *attr;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS) ||
	    mnl_nlmsg_get_payload_len(nlh) < offset)
		return;
	mnl_attr_for_each(attr, nlh, (unsigned int)offset)
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG)
			snprintf(answer->why, answer->size, "%.*s",
				 (int)mnl_attr_get_payload_len(attr),
				 mnl_attr_get_str(attr));
}

static int take_error(const struct nlmsghdr *nlh, void *data)
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);
	size_t offset = sizeof(*err);

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*err)) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		offset += err->msg.nlmsg_len - sizeof(err->msg);
	take_words(nlh, MNL_ALIGN(offset), data);
	if (!err->error)
		return MNL_CB_STOP;
	errno = err->error < 0 ? -err->error : err->error;
	return MNL_CB_ERROR;
}

static int take_done(const struct nlmsghdr *nlh, void *data)
{
	const int *error = mnl_nlmsg_get_payload(nlh);

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*error) || *error >= 0)
		return MNL_CB_STOP;
	take_words(nlh, sizeof(*error), data);
	errno = -*error;
	return MNL_CB_ERROR;
}

static int take_message(const struct nlmsghdr *nlh, void *data)
{
	struct answer *answer = data;

	return answer->fn ? answer->fn(nlh, answer->data) : MNL_CB_OK;
}

/*
 * Read the rest of a dump that changed under way, so that it does not stand
 * before the next answer.  @buf: NL_BUFFER bytes, @n of them filled
 */
static int drain(struct mnl_socket *socket, char *buf, ssize_t n)
{
	const struct nlmsghdr *nlh;
	int left;

	for (;;) {
		left = (int)n;
		nlh = (const struct nlmsghdr *)buf;
		for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
			if (nlh->nlmsg_type == NLMSG_DONE ||
			    nlh->nlmsg_type == NLMSG_ERROR)
				return -EINTR;
		n = mnl_socket_recvfrom(socket, buf, NL_BUFFER);
		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
	}
}

int nl_exchange(struct mnl_socket *socket, struct nlmsghdr *req, nl_fn fn,
		void *data, char *why, size_t size)
{
	mnl_cb_t control[NLMSG_MIN_TYPE] = {
		[NLMSG_ERROR] = take_error,
		[NLMSG_DONE] = take_done,
	};
	struct answer answer = { fn, data, why, size };
	static unsigned int sequence;
	char *buf;
	ssize_t n;
	int ret;

	*why = 0;
	if (!sequence)
		sequence = (unsigned int)time(NULL);
	req->nlmsg_seq = ++sequence;
	req->nlmsg_flags |= NLM_F_ACK;
	if (mnl_socket_sendto(socket, req, req->nlmsg_len) < 0)
		return -errno;
	buf = malloc(NL_BUFFER);
	if (!buf)
		return -ENOMEM;
	do {
		n = mnl_socket_recvfrom(socket, buf, NL_BUFFER);
		if (n < 0) {
			ret = errno == EAGAIN ? -ETIMEDOUT : -errno;
			break;
		}
		ret = mnl_cb_run2(buf, (size_t)n, req->nlmsg_seq,
				  mnl_socket_get_portid(socket), take_message,
				  &answer, control, NLMSG_MIN_TYPE);
		if (ret < 0)
			ret = errno == EINTR ? drain(socket, buf, n) : -errno;
	} while (ret > 0);
	free(buf);
	return ret;
}

/**
 * struct family - what is looked for, and found, in a CTRL_CMD_NEWFAMILY
 * @mcgrp: name of a multicast group, or NULL
 * @id: of the family
 * @mcgrp_id: of the multicast group
 */
struct family {
	const char	*mcgrp;
	int		id;
	uint32_t	mcgrp_id;
};

static void take_mcgrp(const struct nlattr *nest, struct family *family)
{
	const struct nlattr *attr;
	const char *name = NULL;
	uint32_t id = 0;

	mnl_attr_for_each_nested(attr, nest) {
		if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_NAME &&
		    !mnl_attr_validate(attr, MNL_TYPE_NUL_STRING))
			name = mnl_attr_get_str(attr);
		if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_ID &&
		    !mnl_attr_validate(attr, MNL_TYPE_U32))
			id = mnl_attr_get_u32(attr);
	}
	if (name && !strcmp(name, family->mcgrp))
		family->mcgrp_id = id;
}

static int take_family(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr, *grp;
	struct family *family = data;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID &&
		    !mnl_attr_validate(attr, MNL_TYPE_U16))
			family->id = mnl_attr_get_u16(attr);
		if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GROUPS &&
		    family->mcgrp) {
			mnl_attr_for_each_nested(grp, attr)
				take_mcgrp(grp, family);
		}
	}
	return MNL_CB_OK;
}

int nl_family(struct mnl_socket *socket, const char *name, const char *mcgrp,
	      uint32_t *mcgrp_id)
{
	struct family family = { .mcgrp = mcgrp, .id = -ENOENT };
	char buf[256], why[NL_WHY];
	struct nlmsghdr *nlh;
	int ret;

	nlh = nl_begin(buf, GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY, 1);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, name);
	ret = nl_exchange(socket, nlh, take_family, &family, why, sizeof(why));
	if (ret)
		return ret;
	if (mcgrp_id)
		*mcgrp_id = family.mcgrp_id;
	return family.id;
}

static int kernel_talk(struct nl *nl, struct nlmsghdr *req, nl_fn fn,
		       void *data, char *why, size_t size)
{
	struct kernel_nl *k = (struct kernel_nl *)nl;

	req->nlmsg_type = (uint16_t)k->family;
	return nl_exchange(k->socket, req, fn, data, why, size);
}

static int kernel_listen(struct nl *nl)
{
	struct kernel_nl *k = (struct kernel_nl *)nl;

	if (!k->mcgrp)
		return -EOPNOTSUPP;
	k->events = nl_socket(NETLINK_GENERIC);
	if (!k->events ||
	    mnl_socket_setsockopt(k->events, NETLINK_ADD_MEMBERSHIP, &k->mcgrp,
				  sizeof(k->mcgrp)))
		return -errno;
	return 0;
}

static int kernel_next(struct nl *nl, int timeout_ms, nl_fn fn, void *data)
{
	struct kernel_nl *k = (struct kernel_nl *)nl;
	struct pollfd pfd = {
		.fd = mnl_socket_get_fd(k->events), .events = POLLIN,
	};
	char buf[8192];
	ssize_t n;

	n = poll(&pfd, 1, timeout_ms);
	if (n <= 0)
		return n ? -errno : 0;
	n = mnl_socket_recvfrom(k->events, buf, sizeof(buf));
	if (n < 0)
		return -errno;
	return mnl_cb_run(buf, (size_t)n, 0, 0, fn, data) < 0 ? -errno : 1;
}

static void kernel_close(struct nl *nl)
{
	struct kernel_nl *k = (struct kernel_nl *)nl;

	if (k->events)
		mnl_socket_close(k->events);
	if (k->socket)
		mnl_socket_close(k->socket);
	free(k);
}

int nl_open(struct cli *cli)
{
	struct kernel_nl *k = calloc(1, sizeof(*k));
	int error;

	if (!k)
		return cli_nomem(cli);
	k->nl.talk = kernel_talk;
	k->nl.listen = kernel_listen;
	k->nl.next = kernel_next;
	k->nl.close = kernel_close;
	k->socket = nl_socket(NETLINK_GENERIC);
	if (!k->socket) {
		error = errno;
		free(k);
		return cli_error(cli, "netlink: %s", strerror(error));
	}
	k->family = nl_family(k->socket, TALLY_GENL_NAME, TALLY_GENL_MCGRP,
			      &k->mcgrp);
	if (k->family < 0) {
		error = -k->family;
		kernel_close(&k->nl);
		if (error != ENOENT)
			return cli_error(cli, "netlink: %s", strerror(error));
		return cli_error(cli, "the kernel module is not loaded; modprobe tally, or see 'tally doctor'");
	}
	cli->nl = &k->nl;
	return CLI_OK;
}

void nl_close(struct cli *cli)
{
	if (cli->nl)
		cli->nl->close(cli->nl);
	cli->nl = NULL;
}

int nl_need(struct cli *cli)
{
	return cli->nl ? CLI_OK : cli->nl_open(cli);
}

/* What a person can do about an error of the kernel. */
static const char *remedy(int error)
{
	switch (error) {
	case EPERM:
	case EACCES:
		return "run this as root (CAP_NET_ADMIN in this network namespace)";
	case ENOENT:
		return "'tally group show' lists what there is";
	case EEXIST:
		return "remove it first, or choose another";
	case EBUSY:
		return "take the group down first: tally group down GROUP";
	case EADDRINUSE:
		return "another socket has the port; 'tally doctor' names it";
	case EADDRNOTAVAIL:
		return "at least one member's address must be of this host; see 'ip address'";
	case EINVAL:
	case ERANGE:
		return "see tally(8) for what is allowed";
	case ENOMEM:
	case ENOBUFS:
		return "a smaller window or max_bytes takes less memory";
	case EOPNOTSUPP:
		return "the module is older than this command; load the one that came with it";
	case ETIMEDOUT:
		return "see 'dmesg' and 'tally show'";
	default:
		return "'tally doctor' looks for causes";
	}
}

int nl_refused(struct cli *cli, const char *what, int error, const char *why)
{
	error = error < 0 ? -error : error;
	/* The module tells the remedy itself. */
	if (strstr(why, ": ") || strstr(why, " must "))
		return cli_error(cli, "%s: %s", what, why);
	return cli_error(cli, "%s: %s; %s", what,
			 *why ? why : strerror(error), remedy(error));
}
