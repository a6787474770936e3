# SPDX-License-Identifier: GPL-2.0-only
#
# BPF objects.  BPF_CFLAGS and the pattern rule serve tests' programs too:
# X.bpf.c becomes $(B)/.../X.bpf.o, and X.skel.h beside it on request.

# Headers of the C library's multi-architecture folder hold <asm/types.h>.
BPF_CFLAGS := -target bpf -mcpu=v3 -std=gnu11 -O2 -g -Wall -Wextra \
	-Wno-unused-parameter -Wno-unused-function \
	-Wno-missing-declarations -Wno-compare-distinct-pointer-types \
	-idirafter /usr/include/$(shell $(CC) -print-multiarch)

$(B)/%.bpf.o: %.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) $(INCLUDES) -Ibpf -MMD -MP -MT $@ -c -o $@ $<

$(B)/%.skel.h: $(B)/%.bpf.o
	$(BPFTOOL) gen skeleton $< name $(notdir $*) > $@

.PRECIOUS: $(B)/%.bpf.o $(B)/%.skel.h

bpf-objects := $(B)/bpf/tally_host.bpf.o
programs += $(bpf-objects)

-include $(bpf-objects:.o=.d)
