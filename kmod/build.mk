# SPDX-License-Identifier: GPL-2.0-only
#
# tally.ko.  The kernel's build writes beside its sources, so it gets a folder
# of links for each kernel: $(B)/kmod/ for the guest's, $(B)/kmod-NAME/ for the
# one in KERNEL=.../NAME.

KERNEL_HEADERS := $(B)/kernel/headers
kmod-of = $(B)/kmod$(if $(KERNEL),-$(notdir $(abspath $(KERNEL))))
kmod-dir := $(kmod-of)
kmod-tree := $(abspath $(or $(KERNEL),$(KERNEL_HEADERS)))
kmod-sources := Kbuild $(wildcard kmod/*.[ch] kmod/engine/*.[ch] \
		include/tally/*.h include/uapi/linux/*.h)

modules: $(kmod-dir)/tally.ko

$(kmod-dir)/tally.ko: $(kmod-sources) kmod/build.mk
	@test -e $(kmod-tree)/Makefile || { \
		echo "make: no kernel to build for in $(kmod-tree):" \
		     "run selftests/vm/fetch.sh, or set KERNEL=DIR" >&2; exit 1; }
	@mkdir -p $(kmod-dir)
	@find $(kmod-dir) -xtype l -delete
	@for f in $(kmod-sources); do \
		test -L $(kmod-dir)/$$f && continue; \
		mkdir -p $(kmod-dir)/$$(dirname $$f) && \
		ln -sf $(CURDIR)/$$f $(kmod-dir)/$$f || exit 1; done
	+flock $(kmod-dir) $(MAKE) -C $(kmod-tree) M=$(abspath $(kmod-dir)) \
		$(KFLAGS) modules
	@touch $@

# Warnings, sparse and checkpatch.  What checkpatch does not know: tracepoints
# have a form of their own, and a module out of the kernel's tree has to ask
# for its version.
kmod-checkpatch = perl $(B)/kernel/source/scripts/checkpatch.pl --no-tree \
		  --strict --max-line-length=80 --terse --quiet -f
kmod-trace-ignore := COMPLEX_MACRO,MACRO_ARG_UNUSED,TRAILING_SEMICOLON
kmod-trace-ignore := $(kmod-trace-ignore),OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT
kmod-trace-ignore := $(kmod-trace-ignore),CONSTANT_COMPARISON

kmod-style:
	@for f in $(filter-out kmod/trace.h kmod/compat.h,$(wildcard \
		kmod/*.[ch])); do \
		$(kmod-checkpatch) $$f >$(B)/kmod-style.log || { \
			cat $(B)/kmod-style.log; exit 1; }; done
	@$(kmod-checkpatch) --ignore $(kmod-trace-ignore) kmod/trace.h \
		>$(B)/kmod-style.log || { cat $(B)/kmod-style.log; exit 1; }
	@rm -rf $(B)/kmod-style
	@$(MAKE) --no-print-directory modules KFLAGS="W=1 C=2" \
		kmod-dir=$(B)/kmod-style \
		>$(B)/kmod-style.log 2>&1 || { cat $(B)/kmod-style.log; exit 1; }
	@! grep -E "warning|error" $(B)/kmod-style.log

modules-clean:
	rm -rf $(B)/kmod $(B)/kmod-*

.PHONY: modules modules-clean kmod-style
