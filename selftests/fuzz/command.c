// SPDX-License-Identifier: GPL-2.0-only
/*
 * Command lines, words separated by line ends, against a kernel in a few
 * lines.  Whatever the words: the command ends with one of its exit codes, an
 * error is lines that begin with "tally: ", and after an error the kernel's
 * groups are as they were.  The length of the input says which of the changes
 * the kernel refuses.
 */
#include "fake.h"
#include "fuzz.h"

#include <string.h>
#include <unistd.h>

#define WORDS_MAX 24
#define CHANGES_MAX 16	/* the longest plan for the file has fewer */

const char fuzz_name[] = "command__any_words";
const unsigned int fuzz_runs = 60000;

const struct fuzz_seed fuzz_seeds[] = {
	FUZZ_SEED("group\nadd\ndigits\nid\n7\npayload\n1408\nbound\n20ms"),
	FUZZ_SEED("group\nset\none\nbound\n5ms\nwindow\n8\ntimeout\n1s"),
	FUZZ_SEED("group\nset\ntwo\nbound\n5ms"),
	FUZZ_SEED("up\nf"), FUZZ_SEED("down\nf"), FUZZ_SEED("down\n-k\nf"),
	FUZZ_SEED("conf\nload\nf"), FUZZ_SEED("conf\nsync\nf"),
	FUZZ_SEED("group\ndel\none"),
	FUZZ_SEED("group\nup\none"),
	FUZZ_SEED("group\ndown\n2"),
	FUZZ_SEED("member\nadd\none\n5\naddress\n10.0.0.9\nport\n5\ncap\n2"),
	FUZZ_SEED("member\ndel\none\n0"),
	FUZZ_SEED("member\ndel\ntwo\n0"),
	FUZZ_SEED("-j\nshow\none"),
	FUZZ_SEED("stats\n-a\n1"),
	FUZZ_SEED("monitor\n-n\n2\n-t\n1"),
	FUZZ_SEED("help\ngroup\nadd"),
	FUZZ_SEED("doctor\n-j"),
	FUZZ_SEED("xdp\nattach\neth0\nnative"),
	FUZZ_SEED("--\ngroup\nshow"),
	{ 0 }
};

const struct fuzz_seed fuzz_words[] = {
	FUZZ_SEED("\n"), FUZZ_SEED("\n-j\n"), FUZZ_SEED("\n-h\n"),
	FUZZ_SEED("\n--\n"), FUZZ_SEED("\nid\n"), FUZZ_SEED("\n3\n"),
	FUZZ_SEED("\nf\n"), FUZZ_SEED("\n"), FUZZ_SEED("\n\n"),
	FUZZ_SEED("\none\n"), FUZZ_SEED("\ntwo\n"), FUZZ_SEED("\nmax_bytes\n"),
	FUZZ_SEED("\n4M\n"), FUZZ_SEED("\nbound\n"), FUZZ_SEED("\n1s\n"),
	FUZZ_SEED("\naddress\n"), FUZZ_SEED("\n10.0.0.7\n"),
	FUZZ_SEED("\nfd00::7\n"), FUZZ_SEED("\n64\n"), FUZZ_SEED("\n0\n"),
	FUZZ_SEED("\ngid\n"), FUZZ_SEED("\nkey_file\n"),
	FUZZ_SEED("\nquorum\n"), FUZZ_SEED("99999999999999999999"),
	FUZZ_SEED("%s%n"), FUZZ_SEED("\x1b[31m"), FUZZ_SEED("\xff"),
	{ 0 }
};

static char folder[] = "/tmp/tally-fuzz-XXXXXX";

static void remove_folder(void)
{
	unlink("f");
	if (chdir("/") || rmdir(folder))
		fprintf(stderr, "%s is left\n", folder);
}

/*
 * A folder with one file: it changes group one, leaves group two and has a new
 * one.
 */
static void make_folder(void)
{
	FILE *file;

	FUZZ_HOLDS(mkdtemp(folder) && !chdir(folder));
	atexit(remove_folder);
	file = fopen("f", "w");
	FUZZ_HOLDS(file);
	fputs("[group uno]\nid=1\nwindow=8\n[member 1]\naddress=10.0.0.1\n"
	      "port=5\n[member 2]\naddress=10.0.0.1\n"
	      "[group two]\nid=2\n[member 1]\naddress=10.0.0.1\n"
	      "[group three]\nid=3\n[member 0]\naddress=10.0.0.1\n", file);
	fclose(file);
}

/* Two groups: one is down and has two members, two is up and has one. */
static void prepare(void)
{
	char text[] =
		"route 10.0.0.1 local\0link eth0 1500\0event 1 3 0 0 1\0"
		"event 2 99 0 0 1\0drop 1 3 7\0count 2 1 5\0";
	char *line, *words[8];
	struct cli cli = { .root = "nowhere" };
	struct group g = { .name = "one", .val[TALLY_A_GROUP_ID] = 1 };
	struct member m = { .port = 31249 };
	char why[NL_WHY];
	int n;

	fake_reset();
	for (line = text; *line; line += strlen(line) + 1) {
		char copy[64], *save;

		strcpy(copy, line);
		words[0] = strtok_r(copy, " ", &save);
		for (n = 0; words[n]; words[n] = strtok_r(NULL, " ", &save))
			n++;
		FUZZ_HOLDS(!fake_command(stderr, n, words));
	}
	fake_nl_open(&cli);
	FUZZ_HOLDS(!units_addr("10.0.0.1", &m.addr));
	nl_send_group(cli.nl, TALLY_CMD_GROUP_NEW, &g,
		      1u << TALLY_A_GROUP_NAME, why);
	nl_send_member(cli.nl, TALLY_CMD_MEMBER_NEW, 1, &m, why);
	m.rank = 1;
	nl_send_member(cli.nl, TALLY_CMD_MEMBER_NEW, 1, &m, why);
	strcpy(g.name, "two");
	g.val[TALLY_A_GROUP_ID] = 2;
	nl_send_group(cli.nl, TALLY_CMD_GROUP_NEW, &g,
		      1u << TALLY_A_GROUP_NAME, why);
	nl_send_member(cli.nl, TALLY_CMD_MEMBER_NEW, 2, &m, why);
	nl_send_group(cli.nl, TALLY_CMD_GROUP_UP, &g, 0, why);
}

/*
 * Words of @text into @argv.  Nothing may lead out of this folder, where there
 * are no files, or make one, or wait.  Return: how many; 0: leave it.
 */
static int words_of(char *text, char **argv)
{
	int argc = 0;
	char *p;

	for (p = text; *p; p++)
		if (*p == '/')
			*p = '_';
	for (p = text; p && argc < WORDS_MAX; argc++)
		argv[argc] = strsep(&p, "\n");
	argv[argc] = NULL;
	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], "save") || !strcmp(argv[i], "-i"))
			return 0;
	return argc;
}

static void check_errors(const char *text)
{
	const char *end;

	for (; *text; text = end + 1) {
		end = strchr(text, '\n');
		FUZZ_HOLDS(end && !strncmp(text, "tally: ", 7));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cli cli = {
		.root = "nowhere",
		.nl_open = fake_nl_open,
		.net_open = fake_net_open,
		.info = fake_info,
		.now = fake_now,
	};
	char *argv[WORDS_MAX + 1], *text, *out = NULL, *err = NULL;
	const struct groups *now = fake_groups();
	size_t out_size, err_size, before_nr;
	struct group *before, *g;
	static bool made;
	int argc, ret;
	size_t i;

	if (!made)
		make_folder();
	made = true;

	text = strndup((const char *)data, size);
	FUZZ_HOLDS(text);
	argc = words_of(text, argv);
	if (!argc)
		goto out;
	prepare();
	before_nr = now->nr;
	before = malloc(before_nr * sizeof(*before));
	FUZZ_HOLDS(before);
	memcpy(before, now->at, before_nr * sizeof(*before));
	fake_fail_nth((unsigned int)size % CHANGES_MAX);
	cli.out = open_memstream(&out, &out_size);
	cli.err = open_memstream(&err, &err_size);
	FUZZ_HOLDS(cli.out && cli.err);
	ret = cli_run(&cli, argc, argv);
	fclose(cli.out);
	fclose(cli.err);
	FUZZ_HOLDS(ret >= CLI_OK && ret <= CLI_WARNINGS);
	check_errors(err);
	/* doctor tells of errors in its results. */
	FUZZ_HOLDS(ret != CLI_USAGE || *err);
	if (ret) {
		FUZZ_HOLDS(now->nr == before_nr);
		for (i = 0; i < before_nr; i++) {
			g = groups_by_id(now, group_id(&before[i]));
			FUZZ_HOLDS(g && !memcmp(g, &before[i], sizeof(*g)));
		}
	}
	free(before);
	free(out);
	free(err);
out:
	free(text);
	return 0;
}
