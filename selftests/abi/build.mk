# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the module's ioctls, netlink family and namespaces.  They run in the
# guest with tally.ko loaded, and on the debug kernel.

abi := attach ioctl netlink netns packets reduce
abi-bin := $(abi:%=$(B)/selftests/abi/%)
abi-kselftest := $(B)/kernel/source/tools/testing/selftests
# The harness defines functions and compares whatever it is given.
abi-warn := -Wno-missing-prototypes -Wno-sign-compare -Wno-clobbered

tests-guest += $(abi-bin) selftests/abi/spec.t
tests-debug += $(abi-bin)

$(abi-bin): $(B)/selftests/abi/%: selftests/abi/%.c selftests/abi/abi.c \
		selftests/abi/abi_netlink.c
	@mkdir -p $(@D)
	$(CC) $(BUILD_CFLAGS) $(abi-warn) -D_GNU_SOURCE \
		-isystem $(abi-kselftest) -MMD -MP \
		-MF $@.d -o $@ $(filter %.c,$^) -lmnl

-include $(abi-bin:=.d)
