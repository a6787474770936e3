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
	@find $(kmod-dir) -type l -delete
	@for f in $(kmod-sources); do \
		mkdir -p $(kmod-dir)/$$(dirname $$f) && \
		ln -s $(CURDIR)/$$f $(kmod-dir)/$$f || exit 1; done
	+$(MAKE) -C $(kmod-tree) M=$(abspath $(kmod-dir)) $(KFLAGS) modules
	@touch $@

modules-clean:
	rm -rf $(B)/kmod $(B)/kmod-*

.PHONY: modules modules-clean
