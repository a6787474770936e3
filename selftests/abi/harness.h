/* SPDX-License-Identifier: GPL-2.0-only */
/* The kselftest harness with the patience that emulated machines need. */
#ifndef TALLY_SELFTESTS_HARNESS_H
#define TALLY_SELFTESTS_HARNESS_H

#include "kselftest_harness.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	300	/* seconds of one test */

/* The harness ends its process: it gets one of its own, @after comes later. */
static inline int harness_run(int argc, char **argv, void (*after)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		exit(test_harness_run(argc, argv));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	after();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

#endif
