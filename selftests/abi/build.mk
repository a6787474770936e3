# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the module's ioctls, netlink family and namespaces.  They run in the
# guest with tally.ko loaded, and on the debug kernel.

abi := attach faults ioctl netlink netns packets reduce
abi-bin := $(abi:%=$(B)/selftests/abi/%)
abi-kselftest := $(B)/kernel/source/tools/testing/selftests
# The harness defines functions and compares whatever it is given.
abi-flags := -D_GNU_SOURCE -DBPF_OBJECT='"$(B)/bpf/tally_host.bpf.o"' \
	     -isystem $(abi-kselftest) -Wno-missing-prototypes -Wno-sign-compare -Wno-clobbered

# Without fault injection in the kernel, `faults` skips all.
tests-guest += $(filter-out %/faults,$(abi-bin)) selftests/abi/spec.t
tests-debug += $(filter-out %/reduce,$(abi-bin)) selftests/abi/reduce_debug.sh

$(abi-bin): $(B)/selftests/abi/%: selftests/abi/%.c selftests/abi/abi.c \
		selftests/abi/abi_netlink.c
	@mkdir -p $(@D)
	$(CC) $(BUILD_CFLAGS) $(abi-flags) -MMD -MP -MF $@.d -o $@ \
		$(filter %.c,$^) -lmnl

# Attached by the test; nothing of it is compiled in.
$(B)/selftests/abi/reduce: | $(B)/bpf/tally_host.bpf.o

-include $(abi-bin:=.d)
