# SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#
# The engine over virtual links: tally_seeds for many runs, tally_seeds.san with
# sanitizers for fewer.

sim-sources := $(wildcard kmod/engine/*.c) \
	$(addprefix userspace/sim/,event.c net.c node.c hostile.c proc.c \
	  oracle.c scenario.c seeds.c)
sim-objects := $(sim-sources:%.c=$(B)/sim/%.o)
sim-san-objects := $(sim-sources:%.c=$(B)/sim/san/%.o)
sim-flags = $(BUILD_CFLAGS) -Ikmod/engine -Iuserspace/sim

$(B)/sim/san/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(sim-flags) $(SANITIZE) -MMD -MP -c -o $@ $<

$(B)/sim/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(sim-flags) -MMD -MP -c -o $@ $<

$(B)/userspace/sim/tally_seeds: $(sim-objects)
	@mkdir -p $(@D)
	$(CC) $(sim-flags) -o $@ $^ -lpthread

$(B)/userspace/sim/tally_seeds.san: $(sim-san-objects)
	@mkdir -p $(@D)
	$(CC) $(sim-flags) $(SANITIZE) -o $@ $^ -lpthread

programs += $(B)/userspace/sim/tally_seeds
-include $(sim-objects:.o=.d) $(sim-san-objects:.o=.d)
