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

# Over the module, linked as a program is: with the shared library.
libtest-guest := $(libtest-dir)/device
tests-guest += $(libtest-guest)
tests-debug += $(libtest-guest)

$(libtest-guest): selftests/lib/device.c selftests/abi/abi.c \
		selftests/abi/abi_netlink.c $(B)/userspace/lib/libtally.so
	@mkdir -p $(@D)
	$(CC) $(BUILD_CFLAGS) -D_GNU_SOURCE -pthread -MMD -MP -MF $@.d -o $@ \
		$(filter %.c,$^) -L$(B)/userspace/lib -ltally \
		-Wl,-rpath,'$$ORIGIN/../../userspace/lib' -lcmocka -lmnl -lm

.PRECIOUS: $(libtest-dir)/%.o
-include $(libtest-bin:=.d) $(libtest-dir)/double.d $(libtest-guest).d
