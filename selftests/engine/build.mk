# SPDX-License-Identifier: GPL-2.0-only
#
# The engine by itself: one control packet at a time, and under real threads
# with ThreadSanitizer, which exits with an error if it has anything to report.

engine-tests := $(B)/selftests/engine/control $(B)/selftests/engine/race

tests-native += $(engine-tests)

$(B)/selftests/engine/control: engine-flags := $(SANITIZE)
$(B)/selftests/engine/control: engine-libs := -lcmocka
$(B)/selftests/engine/race: engine-flags := -fsanitize=thread
$(B)/selftests/engine/race: engine-libs := -lpthread

$(engine-tests): $(B)/selftests/engine/%: selftests/engine/%.c \
		 $(wildcard kmod/engine/*.c)
	@mkdir -p $(@D)
	$(CC) $(BUILD_CFLAGS) -Ikmod/engine $(engine-flags) -MMD -MP \
		-MF $@.d -o $@ $(filter %.c,$^) $(engine-libs)

-include $(engine-tests:=.d)
