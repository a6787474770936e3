# SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#
# Training on handwritten digits, and the demonstration that runs it.

examples-dir := $(B)/userspace/examples
digits-src := digits rank train net data
digits-obj := $(digits-src:%=$(examples-dir)/%.o)
report-obj := $(examples-dir)/demo_report.o
# Replicas must round alike.
EXAMPLES_CFLAGS = $(BUILD_CFLAGS) -ffp-contract=off -MMD -MP

programs += $(examples-dir)/digits $(examples-dir)/demo_report

$(digits-obj) $(report-obj): $(examples-dir)/%.o: userspace/examples/%.c \
		userspace/examples/build.mk
	@mkdir -p $(@D)
	$(CC) $(EXAMPLES_CFLAGS) -c -o $@ $<

$(examples-dir)/digits: $(digits-obj) $(B)/userspace/lib/libtally.so
	$(CC) $(LDFLAGS) -o $@ $(digits-obj) -L$(B)/userspace/lib -ltally \
		-Wl,-rpath,'$$ORIGIN/../lib' -lcjson -lz -lm

$(examples-dir)/demo_report: $(report-obj)
	$(CC) $(LDFLAGS) -o $@ $^ -lcjson -lm

# Dependencies may have to be installed before anything can be built, and make
# has looked for the compiler by then: so a make of its own builds.
ON ?= guest
demo-kernel-host = $(or $(KERNEL),/lib/modules/$(shell uname -r)/build)
demo-module-guest = $(B)/kmod/tally.ko
demo-module-host = $(B)/kmod-$(notdir $(demo-kernel-host))/tally.ko

demo:
	@case "$(ON)" in guest|host) ;; \
	*) echo "make: ON=$(ON): 'guest' or 'host' is needed" >&2; exit 1;; esac
	@selftests/deps.sh build $(if $(filter guest,$(ON)),demo)
	@selftests/vm/fetch.sh data $(if $(filter guest,$(ON)),kernel)
	+@$(MAKE) --no-print-directory demo-build-$(ON)
	@B=$(B) userspace/examples/demo-start.sh $(ON) $(demo-module-$(ON))

demo-build-guest:
	@echo "== building (minutes, the first time)"
	+@$(MAKE) --no-print-directory all >/dev/null
	+@$(MAKE) --no-print-directory modules KERNEL= >/dev/null

demo-build-host:
	@echo "== building (minutes, the first time)"
	+@$(MAKE) --no-print-directory all >/dev/null
	@[ -e $(demo-kernel-host)/Makefile ] || [ -e /sys/module/tally ] || { \
		echo "make: $(demo-kernel-host) is not there: install" \
		     "linux-headers-$$(uname -r), or set KERNEL=DIR" >&2; exit 1; }
	+@[ -e /sys/module/tally ] || $(MAKE) --no-print-directory modules \
		KERNEL=$(demo-kernel-host) >/dev/null

.PHONY: demo demo-build-guest demo-build-host

-include $(digits-obj:.o=.d) $(report-obj:.o=.d)
