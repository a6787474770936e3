# SPDX-License-Identifier: GPL-2.0-only
#
# The engine under real threads and ThreadSanitizer, which exits with an error
# if it has anything to report.

engine-tests := $(B)/selftests/engine/race

tests-native += $(engine-tests)

$(B)/selftests/engine/race: selftests/engine/race.c $(wildcard kmod/engine/*.c)
	@mkdir -p $(@D)
	$(CC) $(BUILD_CFLAGS) -Ikmod/engine -fsanitize=thread -MMD -MP \
		-MF $@.d -o $@ $(filter %.c,$^) -lpthread

-include $(engine-tests:=.d)
