# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the demonstration: its parts with sanitizers, its verdict on made-up
# results, and a short one of it in the guest.

demo-test := $(B)/selftests/demo/digits
demo-test-src := selftests/demo/digits.c \
	$(addprefix userspace/examples/,net.c data.c train.c)

tests-native += $(demo-test) selftests/demo/report.t
tests-guest += selftests/demo/demo.t

$(demo-test): $(demo-test-src) selftests/demo/build.mk \
		$(B)/userspace/lib/san/libtally.a
	@mkdir -p $(@D)
	$(CC) $(BUILD_CFLAGS) $(SANITIZE) -Iuserspace/examples -MMD -MP \
		-ffp-contract=off -MF $@.d -o $@ $(demo-test-src) \
		$(B)/userspace/lib/san/libtally.a -lcmocka -lz -lm

# Run by the scripts.
selftests/demo/report.t selftests/demo/demo.t: \
	$(B)/userspace/examples/demo_report $(B)/userspace/examples/digits \
	$(B)/userspace/cli/tally

-include $(demo-test).d
