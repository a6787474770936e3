// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs scripts against the command, with a kernel in a few lines (fake.h), and
 * compares what comes out with what the script says.
 *
 *	transcript [-u] [-r] [FILE...]	default: all scripts of this folder
 *
 * Lines of a script:
 *	# words		for the reader
 *	! words		to the kernel, see fake_command(); or of this file:
 *			! file PATH [MODE]	its lines follow, after "> "
 *			! bytes PATH 'TEXT'	with \\r, \\n and \\0
 *			! rm PATH, ! cat PATH
 *	$ tally words	run it; its outcome follows:
 *	| text		a line of results
 *	* text		a line of errors
 *	= N		exit code, if it is not 0
 *
 * -r takes routes and devices of the network namespace that it runs in.
 * -u writes the outcome into the script instead.  Each script begins with an
 * empty kernel and an empty folder, "root" in it is the system's.
 */
#include "fake.h"
#include "net.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_MAX	64
#define FILES_MAX	64

/**
 * struct script - one that runs
 * @name: of the file, for results
 * @line: that is read
 * @expected: outcome of the step, as the script says
 * @actual: as it is
 * @step: words of the step, NULL: none runs
 * @step_line: where it stands
 * @result: with -u: the script anew
 */
struct script {
	const char	*name;
	int		line;
	char		*expected;
	char		*actual;
	char		*step;
	int		step_line;
	FILE		*result;
};

static bool update, real_net;
static int tests, failures;

static void *must(void *p)
{
	if (!p) {
		printf("Bail out! out of memory\n");
		exit(1);
	}
	return p;
}

static void append(char **text, const char *more)
{
	size_t len = strlen(*text);

	*text = must(realloc(*text, len + strlen(more) + 1));
	strcpy(*text + len, more);
}

static void append_lines(char **text, char mark, const char *lines)
{
	char *copy = must(strdup(lines)), *line = copy, *end;
	char prefix[3] = { mark, ' ', 0 };

	for (; *line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = 0;
		else
			end = line + strlen(line);
		/* An empty line has no blank at its end. */
		prefix[1] = *line ? ' ' : 0;
		append(text, prefix);
		append(text, line);
		append(text, "\n");
	}
	free(copy);
}

/* Split in place at blanks; 'words in quotes' stay together. */
static int split(char *text, char **words)
{
	int n = 0;

	while (n < WORDS_MAX - 1) {
		text += strspn(text, " ");
		if (!*text)
			break;
		if (*text == '\'') {
			words[n++] = ++text;
			text += strcspn(text, "'");
		} else {
			words[n++] = text;
			text += strcspn(text, " ");
		}
		if (*text)
			*text++ = 0;
	}
	words[n] = NULL;
	return n;
}

static void print_lines(const char *what, const char *lines)
{
	char *copy = must(strdup(lines)), *save, *line;

	printf("#   %s:\n", what);
	for (line = strtok_r(copy, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		printf("#     %s\n", line);
	free(copy);
}

/* The step and what the script expects of it are complete. */
static void finish(struct script *s)
{
	bool ok;

	if (!s->step)
		return;
	ok = !strcmp(s->expected, s->actual);
	if (update)
		fputs(s->actual, s->result);
	tests++;
	printf("%sok %d - %s:%d %s\n", ok || update ? "" : "not ", tests,
	       s->name, s->step_line, s->step);
	if (!ok && !update) {
		failures++;
		print_lines("expected", s->expected);
		print_lines("actual", s->actual);
	}
	free(s->step);
	s->step = NULL;
	s->expected[0] = 0;
	s->actual[0] = 0;
}

static void begin(struct script *s, const char *step)
{
	s->step = must(strdup(step));
	s->step_line = s->line;
}

static void run_command(struct script *s, char *words)
{
	char *argv[WORDS_MAX], *out = NULL, *err = NULL, code[32];
	size_t out_size, err_size;
	struct cli cli = {
		.root = "root",
		.nl_open = fake_nl_open,
		.net_open = real_net ? net_open : fake_net_open,
		.info = fake_info,
		.now = fake_now,
	};
	int argc, ret;

	begin(s, words);
	cli.out = must(open_memstream(&out, &out_size));
	cli.err = must(open_memstream(&err, &err_size));
	argc = split(words, argv);
	ret = cli_run(&cli, argc - 1, argv + 1);
	nl_close(&cli);
	net_close(&cli);
	fclose(cli.out);
	fclose(cli.err);
	append_lines(&s->actual, '|', out);
	append_lines(&s->actual, '*', err);
	if (ret) {
		snprintf(code, sizeof(code), "= %d\n", ret);
		append(&s->actual, code);
	}
	free(out);
	free(err);
}

static void make_folders(const char *path)
{
	char copy[PATH_MAX], *p;

	snprintf(copy, sizeof(copy), "%s", path);
	for (p = copy + 1; *p; p++)
		if (*p == '/') {
			*p = 0;
			mkdir(copy, 0755);
			*p = '/';
		}
}

/* file PATH [MODE]: make it empty; "> " lines fill it */
static FILE *make_file(int argc, char **argv)
{
	FILE *file;

	make_folders(argv[1]);
	file = fopen(argv[1], "w");
	if (file)
		fchmod(fileno(file),
		       argc > 2 ? (mode_t)strtol(argv[2], NULL, 8) : 0644);
	return file;
}

/* Return: NULL or what is wrong. */
static const char *put_bytes(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return strerror(errno);
	for (; *text; text++) {
		if (*text != '\\' || !text[1]) {
			fputc(*text, file);
			continue;
		}
		text++;
		fputc(*text == 'n' ? '\n' : *text == 'r' ? '\r' : 0, file);
	}
	fclose(file);
	return NULL;
}

static void cat(struct script *s, const char *path)
{
	char text[16384];
	size_t n = 0;
	FILE *file = fopen(path, "r");

	if (file) {
		n = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	text[n] = 0;
	append_lines(&s->actual, '|', file ? text : "no such file\n");
}

static void run_words(struct script *s, char *words, FILE **file)
{
	char *argv[WORDS_MAX], *out = NULL;
	char *copy = must(strdup(words));
	const char *wrong = NULL;
	size_t size;
	FILE *stream;
	int argc = split(words, argv);

	if (argc && !strcmp(argv[0], "log")) {
		begin(s, copy);
		stream = must(open_memstream(&out, &size));
		fake_command(stream, argc, argv);
		fclose(stream);
		append_lines(&s->actual, '|', out);
		free(out);
	} else if (argc == 2 && !strcmp(argv[0], "cat")) {
		begin(s, copy);
		cat(s, argv[1]);
	} else if (argc == 3 && !strcmp(argv[0], "bytes")) {
		wrong = put_bytes(argv[1], argv[2]);
	} else if (argc == 2 && !strcmp(argv[0], "rm")) {
		remove(argv[1]);
	} else if (argc >= 2 && !strcmp(argv[0], "file")) {
		*file = make_file(argc, argv);
		wrong = *file ? NULL : strerror(errno);
	} else {
		wrong = argc ? fake_command(stdout, argc, argv) : "no word";
	}
	if (wrong) {
		printf("Bail out! %s:%d: %s: %s\n", s->name, s->line, copy,
		       wrong);
		exit(1);
	}
	free(copy);
}

static void run_line(struct script *s, char *line, FILE **file)
{
	if (strchr("|*=", *line) && *line) {
		append(&s->expected, line);
		append(&s->expected, "\n");
		return;
	}
	finish(s);
	if (update)
		fprintf(s->result, "%s\n", line);
	if (*line == '>') {
		if (*file)
			fprintf(*file, "%s\n",
				line[1] == ' ' ? line + 2 : line + 1);
		return;
	}
	if (*file)
		fclose(*file);
	*file = NULL;
	if (!strncmp(line, "$ ", 2))
		run_command(s, line + 2);
	else if (!strncmp(line, "! ", 2))
		run_words(s, line + 2, file);
}

static void remove_tree(const char *path)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	if (system(command))
		printf("# %s is left\n", path);
}

static void write_back(const char *path, const char *text)
{
	FILE *file = must(fopen(path, "w"));

	fputs(text, file);
	fclose(file);
}

static void run_script(const char *path)
{
	char folder[] = "/tmp/tally-cli-XXXXXX", *line = NULL, *text = NULL;
	const char *base = strrchr(path, '/');
	struct script s = { .name = base ? base + 1 : path };
	FILE *script = must(fopen(path, "r")), *file = NULL;
	size_t size = 0, text_size;

	s.expected = must(strdup(""));
	s.actual = must(strdup(""));
	if (update)
		s.result = must(open_memstream(&text, &text_size));
	if (!mkdtemp(folder) || chdir(folder)) {
		printf("Bail out! %s: %s\n", folder, strerror(errno));
		exit(1);
	}
	fake_reset();
	while (getline(&line, &size, script) >= 0) {
		line[strcspn(line, "\n")] = 0;
		s.line++;
		run_line(&s, line, &file);
	}
	finish(&s);
	if (file)
		fclose(file);
	fclose(script);
	if (chdir("/"))
		exit(1);
	remove_tree(folder);
	if (update) {
		fclose(s.result);
		write_back(path, text);
		free(text);
	}
	free(line);
	free(s.expected);
	free(s.actual);
	fake_reset();
}

static int is_script(const struct dirent *d)
{
	const char *end = strrchr(d->d_name, '.');

	return end && !strcmp(end, ".script");
}

int main(int argc, char **argv)
{
	char path[2 * PATH_MAX], start[PATH_MAX];
	struct dirent **names;
	int i, n;

	setvbuf(stdout, NULL, _IOLBF, 0);
	/* Messages quote strerror(), and times of day must not depend. */
	setenv("LC_ALL", "C", 1);
	umask(022);
	setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ 8 << 20, 8 << 20 });
	if (!getcwd(start, sizeof(start)))
		return 1;
	for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
		update |= !strcmp(argv[1], "-u");
		real_net |= !strcmp(argv[1], "-r");
	}
	for (i = 1; i < argc; i++) {
		snprintf(path, sizeof(path), "%s%s%s",
			 argv[i][0] == '/' ? "" : start,
			 argv[i][0] == '/' ? "" : "/", argv[i]);
		run_script(path);
	}
	n = argc > 1 ? 0 : scandir(SCRIPTS_DIR, &names, is_script, alphasort);
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", SCRIPTS_DIR,
			 names[i]->d_name);
		run_script(path);
		free(names[i]);
	}
	if (n > 0)
		free(names);
	printf("1..%d\n", tests);
	return failures || !tests;
}
