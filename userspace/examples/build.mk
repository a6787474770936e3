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

-include $(digits-obj:.o=.d) $(report-obj:.o=.d)
