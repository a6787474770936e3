# SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#
# The `tally` command; and its parts with sanitizers, for tests, without what
# touches the system (main.c, xdp.c): tests bring their own.

cli-dir := $(B)/userspace/cli
cli-names := $(notdir $(basename $(wildcard userspace/cli/*.c)))
cli-obj := $(cli-names:%=$(cli-dir)/%.o)
cli-san-obj := $(patsubst %,$(cli-dir)/san/%.o,\
	       $(filter-out main xdp,$(cli-names)))

CLI_CFLAGS = $(BUILD_CFLAGS) -Iuserspace/cli -I$(B)/bpf -MMD -MP
CLI_LIBS := -lmnl -lcjson -linih

$(cli-obj): $(cli-dir)/%.o: userspace/cli/%.c userspace/cli/build.mk
	@mkdir -p $(@D)
	$(CC) $(CLI_CFLAGS) -c -o $@ $<

$(cli-san-obj): $(cli-dir)/san/%.o: userspace/cli/%.c userspace/cli/build.mk
	@mkdir -p $(@D)
	$(CC) $(CLI_CFLAGS) $(SANITIZE) -c -o $@ $<

# The program that it attaches is a part of it.
$(cli-dir)/xdp.o: $(B)/bpf/tally_host.skel.h

$(cli-dir)/san/libcli.a: $(cli-san-obj)
	@rm -f $@
	$(AR) rcs $@ $^

$(cli-dir)/tally: $(cli-obj)
	$(CC) $(LDFLAGS) -o $@ $^ $(CLI_LIBS) -lxdp -lbpf

programs += $(cli-dir)/tally

PREFIX ?= /usr/local
install-cli: $(cli-dir)/tally
	install -D -m 755 $< $(DESTDIR)$(PREFIX)/sbin/tally
	install -D -m 644 userspace/man/tally.8 \
		$(DESTDIR)$(PREFIX)/share/man/man8/tally.8
	install -D -m 644 userspace/man/tally.conf.5 \
		$(DESTDIR)$(PREFIX)/share/man/man5/tally.conf.5
	install -D -m 644 userspace/completion/tally.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/tally

.PHONY: install-cli

-include $(cli-obj:.o=.d) $(cli-san-obj:.o=.d)
