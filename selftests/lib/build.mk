# SPDX-License-Identifier: GPL-2.0-only
#
# The library's tests, against a group in memory, with sanitizers.

libtest-dir := $(B)/selftests/lib
libtest-names := codec carry collectives conservation state report
libtest-names := $(filter $(notdir $(basename $(wildcard selftests/lib/*.c))),\
		   $(libtest-names))
libtest-bin := $(libtest-names:%=$(libtest-dir)/%)
LIBTEST_CFLAGS = $(BUILD_CFLAGS) -Iuserspace/lib $(SANITIZE) -pthread -MMD -MP \
		 -ffp-contract=off

tests-native += $(libtest-bin)

$(libtest-dir)/%.o: selftests/lib/%.c selftests/lib/build.mk
	@mkdir -p $(@D)
	$(CC) $(LIBTEST_CFLAGS) -c -o $@ $<

$(libtest-bin): %: %.o $(libtest-dir)/double.o $(B)/userspace/lib/san/libtally.a
	$(CC) $(SANITIZE) -pthread -o $@ $^ -lcmocka -lm

.PRECIOUS: $(libtest-dir)/%.o
-include $(libtest-bin:=.d) $(libtest-dir)/double.d
