# SPDX-License-Identifier: GPL-2.0-only
#
# Measurements; each prints a table, or JSON with -j.

bench-dir := $(B)/selftests/bench

bench-encode: $(bench-dir)/encode
	$<

$(bench-dir)/encode: selftests/bench/encode.c $(B)/userspace/lib/libtally.a
	@mkdir -p $(@D)
	$(CC) $(BUILD_CFLAGS) -Iuserspace/lib -MMD -MP -MF $@.d -o $@ $^ -lm

.PHONY: bench-encode
-include $(bench-dir)/encode.d
