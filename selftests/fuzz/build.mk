# SPDX-License-Identifier: GPL-2.0-only
#
# Fuzzers of the command: bounded runs with fixed seeds in `make check`; with
# clang's engine `make fuzz` (FUZZ_SECONDS=60 each).

fuzz-dir := $(B)/selftests/fuzz
fuzz-names := conf command message
fuzz-bin := $(fuzz-names:%=$(fuzz-dir)/%)
fuzz-free := $(fuzz-names:%=$(fuzz-dir)/%-libfuzzer)
fuzz-fake := selftests/cli/fake.c selftests/cli/fake_net.c

fuzz-headers := $(wildcard userspace/cli/*.h selftests/cli/*.h \
		selftests/fuzz/*.h) $(HEADERS)

FUZZ_CFLAGS = $(BUILD_CFLAGS) -Iuserspace/cli -Iselftests/cli
FUZZ_LIBS := -lmnl -lcjson -linih
FUZZ_SECONDS ?= 60

$(fuzz-bin): $(fuzz-dir)/%: selftests/fuzz/%.c selftests/fuzz/driver.c \
		$(fuzz-fake) $(fuzz-headers) $(B)/userspace/cli/san/libcli.a
	@mkdir -p $(@D)
	$(CC) $(FUZZ_CFLAGS) $(SANITIZE) -o $@ $(filter %.c %.a,$^) \
		$(FUZZ_LIBS)

$(fuzz-free): $(fuzz-dir)/%-libfuzzer: selftests/fuzz/%.c $(fuzz-fake) \
		$(fuzz-headers) \
		$(filter-out %/main.c %/xdp.c,$(wildcard userspace/cli/*.c))
	@mkdir -p $(@D)
	$(CLANG) $(FUZZ_CFLAGS) -fsanitize=fuzzer,address,undefined \
		-o $@ $(filter %.c,$^) $(FUZZ_LIBS)

fuzz: $(fuzz-free)
	set -e; for f in $(fuzz-free:%=$(CURDIR)/%); do \
		mkdir -p $$f.corpus; \
		$$f -max_total_time=$(FUZZ_SECONDS) -max_len=4096 \
			-artifact_prefix=$$f. $$f.corpus; \
	done

tests-native += $(fuzz-bin)

.PHONY: fuzz
