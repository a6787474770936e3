# SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#
# The `tally` command; and its parts with sanitizers, for tests, without what
# touches the system (main.c, xdp.c): tests bring their own.

cli-dir := $(B)/userspace/cli
cli-names := $(notdir $(basename $(wildcard userspace/cli/*.c)))
cli-obj := $(cli-names:%=$(cli-dir)/%.o)
cli-san-obj := $(patsubst %,$(cli-dir)/san/%.o,\
	       $(filter-out main xdp,$(cli-names)))

CLI_CFLAGS = $(BUILD_CFLAGS) -Iuserspace/cli -MMD -MP
CLI_LIBS := -lmnl -lcjson -linih

$(cli-obj): $(cli-dir)/%.o: userspace/cli/%.c userspace/cli/build.mk
	@mkdir -p $(@D)
	$(CC) $(CLI_CFLAGS) -c -o $@ $<

$(cli-san-obj): $(cli-dir)/san/%.o: userspace/cli/%.c userspace/cli/build.mk
	@mkdir -p $(@D)
	$(CC) $(CLI_CFLAGS) $(SANITIZE) -c -o $@ $<

$(cli-dir)/san/libcli.a: $(cli-san-obj)
	@rm -f $@
	$(AR) rcs $@ $^

$(cli-dir)/tally: $(cli-obj)
	$(CC) $(LDFLAGS) -o $@ $^ $(CLI_LIBS) -lxdp -lbpf

programs += $(cli-dir)/tally

-include $(cli-obj:.o=.d) $(cli-san-obj:.o=.d)
