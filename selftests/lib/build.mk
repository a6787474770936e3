# SPDX-License-Identifier: GPL-2.0-only
#
# The library's tests, against a group in memory, with sanitizers.

libtest-dir := $(B)/selftests/lib
libtest-names := calls codec carry collectives conservation state report timeouts
libtest-names := $(filter $(notdir $(basename $(wildcard selftests/lib/*.c))),\
		   $(libtest-names))
libtest-bin := $(libtest-names:%=$(libtest-dir)/%)
LIBTEST_CFLAGS = $(BUILD_CFLAGS) -Iuserspace/lib $(SANITIZE) -pthread -MMD -MP \
		 -ffp-contract=off

# The example's ranks, as they are, in the group in memory.
libtest-rank := $(libtest-dir)/rank
libtest-rank-obj := $(patsubst %,$(B)/userspace/examples/%.o,rank train net data)

tests-native += $(libtest-bin) $(libtest-rank) selftests/lib/abi.sh \
		selftests/lib/man.sh

$(libtest-dir)/%.o: selftests/lib/%.c selftests/lib/build.mk
	@mkdir -p $(@D)
	$(CC) $(LIBTEST_CFLAGS) -c -o $@ $<

$(libtest-bin): %: %.o $(libtest-dir)/double.o $(B)/userspace/lib/san/libtally.a
	$(CC) $(SANITIZE) -pthread -o $@ $^ -lcmocka -lm

$(libtest-rank): LIBTEST_CFLAGS += -Iuserspace/examples
$(libtest-rank): $(libtest-rank).o $(libtest-dir)/double.o \
		$(libtest-dir)/example-rank.o \
		$(libtest-rank-obj) $(B)/userspace/lib/san/libtally.a
	$(CC) $(SANITIZE) -pthread -Wl,--wrap=tally_open,--wrap=net_gradient -o $@ $^ \
		-lcmocka -lz -lm

# Over the module, linked as a program is: with the shared library.
libtest-guest := $(libtest-dir)/device
libtest-rpath := -Wl,-rpath,'$$ORIGIN/../../userspace/lib'
tests-guest += $(libtest-guest)

$(libtest-guest): selftests/lib/device.c selftests/abi/abi.c \
		selftests/abi/abi_netlink.c $(B)/userspace/lib/libtally.so | \
		$(libtest-dir)/example
	@mkdir -p $(@D)
	$(CC) $(BUILD_CFLAGS) -D_GNU_SOURCE -pthread -MMD -MP -MF $@.d -o $@ \
		$(filter %.c,$^) -L$(B)/userspace/lib -ltally \
		$(libtest-rpath) -lcmocka -lmnl -lm

# The manual's example, as it is printed.
$(libtest-dir)/example.c: userspace/man/libtally.7
	@mkdir -p $(@D)
	sed -n '/^\.Bd -literal/,/^\.Ed/{/^\.[BE]d/d;s/^\\&//;s/\\e/\\/g;p;}' $< > $@

$(libtest-dir)/example-rank.o: $(libtest-dir)/example.c
	$(CC) $(BUILD_CFLAGS) -Dmain=example_main -Wno-missing-prototypes -c \
		-o $@ $<

$(libtest-dir)/example: $(libtest-dir)/example.c $(B)/userspace/lib/libtally.so
	$(CC) $(BUILD_CFLAGS) -Werror -Wno-missing-prototypes -o $@ $< \
		-L$(B)/userspace/lib -ltally $(libtest-rpath)

.PRECIOUS: $(libtest-dir)/%.o
-include $(libtest-bin:=.d) $(libtest-rank).d $(libtest-dir)/double.d $(libtest-guest).d
