// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bounded fuzzing without a fuzzing engine: seeds are changed at random, from
 * a fixed start, and what leads nowhere new is not kept.  An input that
 * crashes is written to stderr in hexadecimal.
 *
 *	driver			run it all
 *	driver FILE...		run these inputs
 */
#include "fuzz.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define INPUT_MAX	4096
#define RANDOM_START	0x7a11e5eed

static uint8_t input[INPUT_MAX];
static size_t input_size;
static uint64_t random_state = RANDOM_START;

/* xorshift64* */
static uint32_t any(uint32_t below)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (uint32_t)((random_state * 0x2545f4914f6cdd1dull) >> 32) %
	       below;
}

static size_t count(const struct fuzz_seed *list)
{
	size_t n = 0;

	while (list[n].size)
		n++;
	return n;
}

static void insert(const char *data, size_t size, size_t at)
{
	if (input_size + size > INPUT_MAX)
		return;
	memmove(input + at + size, input + at, input_size - at);
	memcpy(input + at, data, size);
	input_size += size;
}

static void change(void)
{
	size_t at = any((uint32_t)input_size + 1), n;
	const struct fuzz_seed *word;
	char byte;

	switch (any(7)) {
	case 0:
		if (at < input_size)
			input[at] ^= (uint8_t)(1 << any(8));
		break;
	case 1:
		byte = (char)any(256);
		insert(&byte, 1, at);
		break;
	case 2:
	case 3:
		word = &fuzz_words[any((uint32_t)count(fuzz_words))];
		insert(word->data, word->size, at);
		break;
	case 4:
		n = any(16) + 1;
		if (at + n > input_size)
			break;
		memmove(input + at, input + at + n, input_size - at - n);
		input_size -= n;
		break;
	case 5:
		n = any(64) + 1;
		if (at + n <= input_size) {
			char copy[64];

			memcpy(copy, input + at, n);
			insert(copy, n, any((uint32_t)input_size + 1));
		}
		break;
	default:
		word = &fuzz_seeds[any((uint32_t)count(fuzz_seeds))];
		n = any((uint32_t)word->size) + 1;
		insert(word->data, n, at);
		break;
	}
}

static void run(void)
{
	/* Its own piece of memory, so that the sanitizer sees the end. */
	uint8_t *copy = malloc(input_size ? input_size : 1);

	if (!copy)
		abort();
	memcpy(copy, input, input_size);
	LLVMFuzzerTestOneInput(copy, input_size);
	free(copy);
}

static void on_abort(int sig)
{
	static const char digits[] = "0123456789abcdef";
	char out[2];
	size_t i;

	for (i = 0; i < input_size; i++) {
		out[0] = digits[input[i] >> 4];
		out[1] = digits[input[i] & 15];
		if (write(STDERR_FILENO, out, 2) < 0)
			break;
	}
	out[0] = '\n';
	if (write(STDERR_FILENO, out, 1) < 0)
		_exit(3);
	signal(sig, SIG_DFL);
	raise(sig);
}

static int run_files(int argc, char **argv)
{
	FILE *file;
	int i;

	for (i = 1; i < argc; i++) {
		file = fopen(argv[i], "rb");
		if (!file)
			return 1;
		input_size = fread(input, 1, sizeof(input), file);
		fclose(file);
		run();
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int i, changes;
	const struct fuzz_seed *seed;
	size_t seeds = count(fuzz_seeds);

	signal(SIGABRT, on_abort);
	signal(SIGALRM, on_abort);
	if (argc > 1)
		return run_files(argc, argv);
	printf("1..1\n");
	fflush(stdout);
	for (i = 0; i < fuzz_runs; i++) {
		seed = &fuzz_seeds[i % seeds];
		memcpy(input, seed->data, seed->size);
		input_size = seed->size;
		/* The seeds as they are first. */
		for (changes = i < seeds ? 0 : any(8) + 1; changes; changes--)
			change();
		/* No input may take long. */
		alarm(20);
		run();
	}
	alarm(0);
	printf("ok 1 - %s # %u inputs\n", fuzz_name, fuzz_runs);
	return 0;
}
