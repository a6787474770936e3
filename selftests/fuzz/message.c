// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of the kernel, which may be newer, older or wrong: bytes behind a
 * header are groups, counters and events.  Nothing is read beyond them.
 */
#include "fake.h"
#include "fuzz.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <string.h>

const char fuzz_name[] = "message__any_bytes";
const unsigned int fuzz_runs = 60000;

/* An attribute: length with its header, type, data. */
const struct fuzz_seed fuzz_seeds[] = {
	/* group { id 7, name "a", members { { rank 1, addr4 } }, up } */
	FUZZ_SEED("\x3c\0\1\x80" "\6\0\1\0\7\0\0\0" "\6\0\2\0a\0\0\0"
		  "\x20\0\x0f\x80" "\x1c\0\1\x80" "\x08\0\1\0\1\0\0\0"
		  "\x08\0\2\0\x0a\0\0\1" "\x06\0\4\0\x11\x7a\0\0"
		  "\x04\0\x0e\0"),
	/* stats { group 7, counts { 1: 5 }, drops { 18: 2 } } */
	FUZZ_SEED("\x2c\0\3\x80" "\6\0\1\0\7\0\0\0"
		  "\x10\0\2\x80" "\x0c\0\1\0\5\0\0\0\0\0\0\0"
		  "\x10\0\3\x80" "\x0c\0\x12\0\2\0\0\0\0\0\0\0"),
	/* event { group 7, kind 3, rank 0, seq 9, mask 1 } */
	FUZZ_SEED("\x30\0\4\x80" "\6\0\1\0\7\0\0\0" "\x08\0\2\0\3\0\0\0"
		  "\x08\0\3\0\0\0\0\0" "\x08\0\4\0\x09\0\0\0"
		  "\x0c\0\5\0\1\0\0\0\0\0\0\0"),
	{ 0 }
};

const struct fuzz_seed fuzz_words[] = {
	FUZZ_SEED("\4\0\1\x80"), FUZZ_SEED("\x08\0\1\0\xff\xff\xff\xff"),
	FUZZ_SEED("\xff\xff\xff\xff"), FUZZ_SEED("\0\0\0\0"),
	FUZZ_SEED("\4\0\x0f\x80"), FUZZ_SEED("\x06\0\1\0\x09\0\0\0"),
	{ 0 }
};

static const uint8_t *bytes;
static size_t bytes_size;

/* Two messages of one dump, so that parts are put together. */
static int answer(struct nl *nl, struct nlmsghdr *req, nl_fn fn, void *data,
		  char *why, size_t size)
{
	struct genlmsghdr *genl;
	struct nlmsghdr *nlh;
	int ret = MNL_CB_OK, i;

	*why = 0;
	nlh = calloc(1, NLMSG_HDRLEN + GENL_HDRLEN + bytes_size);
	FUZZ_HOLDS(nlh);
	nlh->nlmsg_len = (uint32_t)(NLMSG_HDRLEN + GENL_HDRLEN + bytes_size);
	nlh->nlmsg_type = GENL_MIN_ID;
	genl = mnl_nlmsg_get_payload(nlh);
	genl->cmd = TALLY_CMD_EVENT;
	if (bytes_size)
		memcpy(genl + 1, bytes, bytes_size);
	for (i = 0; i < 2 && ret == MNL_CB_OK; i++)
		ret = fn(nlh, data);
	free(nlh);
	return ret < 0 ? -errno : 0;
}

static int take_event(const struct nlmsghdr *nlh, void *data)
{
	struct event event;

	if (nl_parse_event(nlh, &event))
		*(int *)data += 1;
	return MNL_CB_OK;
}

static void no_close(struct nl *nl)
{
}

static struct nl nl = { .talk = answer, .close = no_close };

static int open_bytes(struct cli *cli)
{
	cli->nl = &nl;
	return CLI_OK;
}

static void show(const char *command)
{
	struct cli cli = { .root = "nowhere", .nl_open = open_bytes };
	char word[16], json[] = "-j", *out = NULL;
	char *argv[] = { json, word, NULL };
	size_t size;

	strcpy(word, command);
	cli.out = cli.err = open_memstream(&out, &size);
	FUZZ_HOLDS(cli.out);
	FUZZ_HOLDS(!cli_run(&cli, 2, argv));
	cli.json = false;
	FUZZ_HOLDS(!cli_run(&cli, 1, argv + 1));
	fclose(cli.out);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct groups groups;
	struct cli cli = { .nl_open = open_bytes };
	char why[NL_WHY];
	int events = 0;
	uint32_t i, m;

	bytes = data;
	bytes_size = size & ~(size_t)3;
	FUZZ_HOLDS(!nl_groups(&cli, &groups));
	for (i = 0; i < groups.nr; i++) {
		struct group *g = &groups.at[i];

		FUZZ_HOLDS(g->nr_members <= TALLY_RANKS);
		FUZZ_HOLDS(memchr(g->name, 0, sizeof(g->name)));
		for (m = 0; m < g->nr_members; m++)
			FUZZ_HOLDS(g->members[m].rank < TALLY_RANKS);
	}
	groups_free(&groups);
	answer(&nl, NULL, take_event, &events, why, sizeof(why));
	show("show");
	show("stats");
	return 0;
}
