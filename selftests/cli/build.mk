# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the command, linked from its parts with sanitizers.

cli-test-dir := $(B)/selftests/cli
cli-test-src := fake fake_net
cli-test-obj := $(cli-test-src:%=$(cli-test-dir)/%.o)
cli-test-bin := $(cli-test-dir)/transcript $(cli-test-dir)/units

CLI_TEST_CFLAGS = $(CLI_CFLAGS) $(SANITIZE) \
		  -DSCRIPTS_DIR='"$(CURDIR)/selftests/cli"'

$(cli-test-dir)/%.o: selftests/cli/%.c selftests/cli/build.mk
	@mkdir -p $(@D)
	$(CC) $(CLI_TEST_CFLAGS) -c -o $@ $<

$(cli-test-bin): %: %.o $(cli-test-obj) $(B)/userspace/cli/san/libcli.a
	$(CC) $(SANITIZE) -o $@ $^ $(CLI_LIBS) -lcmocka

tests-native += $(cli-test-bin) selftests/cli/completion.sh \
	selftests/cli/man.sh selftests/cli/paths.sh
tests-guest += selftests/cli/guest.t

# Run by the scripts.
selftests/cli/paths.sh: $(cli-test-dir)/transcript
selftests/cli/guest.t: $(B)/userspace/cli/tally

-include $(cli-test-bin:=.d) $(cli-test-obj:.o=.d)
