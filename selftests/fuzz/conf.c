// SPDX-License-Identifier: GPL-2.0-only
/*
 * Configuration files.  Whatever the bytes: either groups come out, which are
 * within their limits and the same after they were written and read again, or
 * there is one line of error that names a line of the file.
 */
#include "conf.h"
#include "fuzz.h"

#include <string.h>

const char fuzz_name[] = "conf__any_bytes";
const unsigned int fuzz_runs = 60000;

const struct fuzz_seed fuzz_seeds[] = {
	FUZZ_SEED("[group digits]\nid = 7\nepoch = 3\npayload = 1408\n"
		  "window = 8\nmax_bytes = 4M\nbound = 20ms\nsettle = 10ms\n"
		  "timeout = 5s\nquorum = 1\ngid = 0\nkey_file = key\n"
		  "[member 0]\naddress = 10.0.0.1\nport = 31249\ncap = 0\n"
		  "[member 1]\naddress = 10.0.0.2\n"),
	FUZZ_SEED("# comment\n[group 9]\n[member 63]\naddress: fd00::1\n"
		  "; another\n[group b]\nid=1\n[member 1]\naddress=10.1.1.1\n"),
	FUZZ_SEED("\xef\xbb\xbf[group a]\r\n  id = 65535 ; the last\r\n\r\n"
		  "  [member 0]\r\n\taddress = 255.0.0.1\r\n"),
	{ 0 }
};

const struct fuzz_seed fuzz_words[] = {
	FUZZ_SEED("\n"), FUZZ_SEED("\n["), FUZZ_SEED("]\n"), FUZZ_SEED(" = "),
	FUZZ_SEED(":"), FUZZ_SEED(" ;"), FUZZ_SEED("#"), FUZZ_SEED("\0"),
	FUZZ_SEED("\n[group x]\n"), FUZZ_SEED("\n[member 2]\n"),
	FUZZ_SEED("\nid = 3\n"), FUZZ_SEED("\naddress = ::2\n"),
	FUZZ_SEED("99999999999999999999"), FUZZ_SEED("4294967295"),
	FUZZ_SEED("0.5"), FUZZ_SEED("GiB"), FUZZ_SEED("min"), FUZZ_SEED("us"),
	FUZZ_SEED("%s%n"), FUZZ_SEED("\x1b[31m"), FUZZ_SEED("\xff\xfe"),
	FUZZ_SEED("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
	{ 0 }
};

static void check_limits(const struct group *g)
{
	uint32_t i;

	FUZZ_HOLDS(group_id(g) >= 1 && group_id(g) <= 65535);
	FUZZ_HOLDS(strlen(g->name) < NAME_MAX_BYTES);
	FUZZ_HOLDS(g->nr_members >= 1 && g->nr_members <= TALLY_RANKS);
	FUZZ_HOLDS(g->val[TALLY_A_GROUP_PAYLOAD] % 64 == 0);
	FUZZ_HOLDS(g->val[TALLY_A_GROUP_PAYLOAD] <= 8960);
	for (i = 0; i < g->nr_members; i++) {
		FUZZ_HOLDS(g->members[i].rank < TALLY_RANKS);
		FUZZ_HOLDS(!i || g->members[i].rank > g->members[i - 1].rank);
		FUZZ_HOLDS(g->members[i].port >= 1);
		FUZZ_HOLDS(g->members[i].port <= 65535);
		FUZZ_HOLDS(g->members[i].addr.family);
	}
}

static void check_same(const struct group *a, const struct group *b)
{
	uint32_t i;

	FUZZ_HOLDS(a->has == b->has && !strcmp(a->name, b->name));
	FUZZ_HOLDS(!memcmp(a->val, b->val, sizeof(a->val)));
	FUZZ_HOLDS(!strcmp(a->key_file, b->key_file));
	FUZZ_HOLDS(a->nr_members == b->nr_members);
	for (i = 0; i < a->nr_members; i++) {
		FUZZ_HOLDS(a->members[i].rank == b->members[i].rank);
		FUZZ_HOLDS(a->members[i].port == b->members[i].port);
		FUZZ_HOLDS(a->members[i].cap == b->members[i].cap);
		FUZZ_HOLDS(units_addr_equal(&a->members[i].addr,
					    &b->members[i].addr));
	}
}

static void check_error(const char *text)
{
	const char *line = strstr(text, "fuzz:");
	size_t len = strlen(text);

	FUZZ_HOLDS(!strncmp(text, "tally: ", 7));
	FUZZ_HOLDS(strchr(text, '\n') == text + len - 1);
	FUZZ_HOLDS(line && line[5] >= '1' && line[5] <= '9');
}

static int read_text(struct cli *cli, const void *data, size_t size,
		     struct groups *groups)
{
	FILE *file = size ? fmemopen((void *)data, size, "r") :
			    fopen("/dev/null", "r");
	int ret;

	FUZZ_HOLDS(file);
	ret = conf_read_stream(cli, file, "fuzz", NULL, groups);
	fclose(file);
	return ret;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct groups groups, again;
	char *err = NULL, *text = NULL;
	size_t err_size, text_size, i;
	struct cli cli = { .root = "" };
	FILE *file;

	cli.out = cli.err = open_memstream(&err, &err_size);
	FUZZ_HOLDS(cli.err);
	if (read_text(&cli, data, size, &groups)) {
		fflush(cli.err);
		check_error(err);
		FUZZ_HOLDS(!groups.nr && !groups.at);
		goto out;
	}
	fflush(cli.err);
	FUZZ_HOLDS(!err_size && groups.nr);
	for (i = 0; i < groups.nr; i++) {
		check_limits(&groups.at[i]);
		/* conf_write() writes what has been loaded. */
		if (groups.at[i].key_file[0])
			groups.at[i].has |= 1u << TALLY_A_GROUP_KEY;
	}
	file = open_memstream(&text, &text_size);
	FUZZ_HOLDS(file);
	conf_write(file, &groups);
	fclose(file);
	FUZZ_HOLDS(!read_text(&cli, text, text_size, &again));
	FUZZ_HOLDS(again.nr == groups.nr);
	for (i = 0; i < groups.nr; i++)
		check_same(&groups.at[i], &again.at[i]);
	free(text);
	groups_free(&again);
	groups_free(&groups);
out:
	fclose(cli.err);
	free(err);
	return 0;
}
