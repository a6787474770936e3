# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the module's ioctls, netlink family and namespaces.  They run in the
# guest with tally.ko loaded, and on the debug kernel.

abi := attach faults ioctl netlink netns packets reduce slots
abi-bin := $(abi:%=$(B)/selftests/abi/%)
abi-kselftest := $(B)/kernel/source/tools/testing/selftests
# The harness defines functions and compares whatever it is given.
abi-flags = -D_GNU_SOURCE -DBPF_OBJECT='"$(B)/bpf/tally_host.bpf.o"' \
	     $(VECTORS_CFLAGS) -isystem $(abi-kselftest) -Wno-missing-prototypes -Wno-sign-compare -Wno-clobbered

# Without fault injection in the kernel, `faults` skips all.
tests-guest += $(filter-out %/faults,$(abi-bin)) selftests/abi/spec.t
# Nor are the vectors: values do not depend on a kernel's checks.
tests-debug += $(filter-out %/reduce %/slots,$(abi-bin)) \
	selftests/abi/reduce_debug.sh

$(abi-bin): $(B)/selftests/abi/%: selftests/abi/%.c selftests/abi/abi.c \
		selftests/abi/abi_netlink.c
	@mkdir -p $(@D)
	$(CC) $(BUILD_CFLAGS) $(abi-flags) -MMD -MP -MF $@.d -o $@ \
		$(filter %.c,$^) -lmnl

$(B)/selftests/abi/slots: selftests/abi/cases.c selftests/vectors/vectors.c

# Attached by the tests; nothing of it is compiled in.
$(B)/selftests/abi/reduce $(B)/selftests/abi/slots: | \
	$(B)/bpf/tally_host.bpf.o

-include $(abi-bin:=.d)
