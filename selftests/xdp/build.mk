# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the BPF programs.  cost prints figures and is no test.

xdp-bin := $(addprefix $(B)/selftests/xdp/,slots parser)
xdp-bpf := $(addprefix $(B)/selftests/xdp/,slots parser)

xdp-scripts := selftests/xdp/attach.t selftests/xdp/traffic.py

# The scripts find the module, or do without it.
tests-native += $(xdp-bin) $(xdp-scripts)
tests-guest += $(xdp-scripts) $(B)/selftests/xdp/parser selftests/xdp/kfunc.py

$(xdp-scripts): | $(B)/userspace/cli/tally $(B)/selftests/xdp/slots.bpf.o

$(B)/selftests/xdp/slots: $(B)/selftests/xdp/slots.skel.h
$(B)/selftests/xdp/parser: $(B)/selftests/xdp/parser.skel.h \
	$(B)/bpf/tally_host.skel.h

$(xdp-bin): $(B)/selftests/xdp/%: selftests/xdp/%.c selftests/vectors/vectors.c
	@mkdir -p $(@D)
	$(CC) $(BUILD_CFLAGS) $(SANITIZE) $(VECTORS_CFLAGS) -I$(B)/selftests/xdp \
		-I$(B)/bpf -MMD -MP -MF $@.d -o $@ $(filter %.c,$^) -lcmocka -lbpf

$(B)/selftests/xdp/cost: selftests/xdp/cost.c $(B)/selftests/xdp/slots.skel.h \
		$(B)/bpf/tally_host.skel.h
	@mkdir -p $(@D)
	$(CC) $(BUILD_CFLAGS) -I$(B)/selftests/xdp -I$(B)/bpf \
		-MMD -MP -MF $@.d -o $@ $(filter %.c,$^) -lbpf

programs += $(B)/selftests/xdp/cost

-include $(B)/selftests/xdp/cost.d $(xdp-bin:=.d) $(xdp-bpf:=.bpf.d)
