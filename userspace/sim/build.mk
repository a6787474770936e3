# SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#
# The engine over virtual links.  With sanitizers: it is a test first.

sim-sources := $(wildcard kmod/engine/*.c) \
	$(addprefix userspace/sim/,event.c net.c node.c proc.c oracle.c \
	  scenario.c)
sim-objects := $(sim-sources:%.c=$(B)/sim/%.o)
sim-flags = $(BUILD_CFLAGS) -Ikmod/engine -Iuserspace/sim

$(B)/sim/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(sim-flags) -MMD -MP -c -o $@ $<

$(B)/userspace/sim/tally_seeds: $(sim-objects) $(B)/sim/userspace/sim/seeds.o
	@mkdir -p $(@D)
	$(CC) $(sim-flags) -o $@ $^ -lpthread

programs += $(B)/userspace/sim/tally_seeds
-include $(sim-objects:.o=.d) $(B)/sim/userspace/sim/seeds.d
