# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the shared rules: one source each, vectors.c with the reader.

unit := lanes layout slot sums tag vectors wire
unit-bin := $(unit:%=$(B)/selftests/unit/%)

tests-native += $(unit-bin)

$(unit-bin): $(B)/selftests/unit/%: selftests/unit/%.c
	@mkdir -p $(@D)
	$(CC) $(BUILD_CFLAGS) $(SANITIZE) $(VECTORS_CFLAGS) -MMD -MP -MF $@.d \
		-o $@ $(filter %.c,$^) -lcmocka

$(B)/selftests/unit/vectors: selftests/vectors/vectors.c

-include $(unit-bin:=.d)
