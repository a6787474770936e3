/* SPDX-License-Identifier: GPL-2.0-only */
/* The kselftest harness with the patience that emulated machines need. */
#ifndef TALLY_SELFTESTS_HARNESS_H
#define TALLY_SELFTESTS_HARNESS_H

#include "kselftest_harness.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	300	/* seconds of one test */

#endif
