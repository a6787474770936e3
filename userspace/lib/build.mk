# SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#
# libtally: shared, static, and static with sanitizers for the tests.

lib-version := $(shell sed -n 's/^.define TALLY_LIB_VERSION.*"\(.*\)"/\1/p' \
		 include/tally/tally.h)
lib-dir := $(B)/userspace/lib
lib-src := $(wildcard userspace/lib/*.c)
lib-names := $(notdir $(lib-src:.c=))
lib-obj := $(lib-names:%=$(lib-dir)/%.o)
lib-san-obj := $(lib-names:%=$(lib-dir)/san/%.o)

# The kernels must round alike: no fused multiply-add behind their back.
LIB_CFLAGS = $(BUILD_CFLAGS) -Iuserspace/lib -fPIC -fvisibility=hidden \
	     -ffp-contract=off -fno-math-errno -MMD -MP
ifneq ($(filter x86_64%,$(shell $(CC) -dumpmachine)),)
lib-flags-codec_avx2 := -mavx2 -mf16c
lib-flags-codec_avx512 := -mavx512f -mavx512bw -mavx512dq -mavx512vl -mf16c
endif

programs += $(lib-dir)/libtally.so $(lib-dir)/libtally.a \
	    $(lib-dir)/libtally.pc

$(lib-obj): $(lib-dir)/%.o: userspace/lib/%.c userspace/lib/build.mk
	@mkdir -p $(@D)
	$(CC) $(LIB_CFLAGS) $(lib-flags-$*) -c -o $@ $<

$(lib-san-obj): $(lib-dir)/san/%.o: userspace/lib/%.c userspace/lib/build.mk
	@mkdir -p $(@D)
	$(CC) $(LIB_CFLAGS) $(lib-flags-$*) $(SANITIZE) -c -o $@ $<

$(lib-dir)/libtally.so.0: $(lib-obj) userspace/lib/libtally.map
	$(CC) -shared -Wl,-soname,libtally.so.0 -Wl,-z,defs \
		-Wl,--version-script=userspace/lib/libtally.map \
		$(LDFLAGS) -o $@ $(lib-obj) -lm

$(lib-dir)/libtally.so: $(lib-dir)/libtally.so.0
	ln -sf libtally.so.0 $@

$(lib-dir)/libtally.a: $(lib-obj)
	@rm -f $@
	$(AR) rcs $@ $(lib-obj)

$(lib-dir)/san/libtally.a: $(lib-san-obj)
	@rm -f $@
	$(AR) rcs $@ $(lib-san-obj)

# For what is built here; install-lib writes one for its PREFIX.
$(lib-dir)/libtally.pc: userspace/lib/libtally.pc.in include/tally/tally.h
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(CURDIR)|' -e 's|@VERSION@|$(lib-version)|' \
		-e 's|^libdir=.*|libdir=$(CURDIR)/$(lib-dir)|' \
		-e 's|^Cflags:.*|& -I$${includedir}/uapi|' $< > $@

PREFIX ?= /usr/local
install-lib: $(lib-dir)/libtally.so $(lib-dir)/libtally.a
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig \
		$(DESTDIR)$(PREFIX)/include/tally \
		$(DESTDIR)$(PREFIX)/include/linux \
		$(DESTDIR)$(PREFIX)/share/man/man3 \
		$(DESTDIR)$(PREFIX)/share/man/man7
	install -m 755 $(lib-dir)/libtally.so.0 $(DESTDIR)$(PREFIX)/lib/
	ln -sf libtally.so.0 $(DESTDIR)$(PREFIX)/lib/libtally.so
	install -m 644 $(lib-dir)/libtally.a $(DESTDIR)$(PREFIX)/lib/
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(lib-version)|' \
		userspace/lib/libtally.pc.in \
		> $(DESTDIR)$(PREFIX)/lib/pkgconfig/libtally.pc
	install -m 644 $(addprefix include/tally/,tally.h layout.h lanes.h \
		wire.h) $(DESTDIR)$(PREFIX)/include/tally/
	install -m 644 include/uapi/linux/tally.h \
		$(DESTDIR)$(PREFIX)/include/linux/
	install -m 644 userspace/man/*.3 $(DESTDIR)$(PREFIX)/share/man/man3/
	install -m 644 userspace/man/libtally.7 \
		$(DESTDIR)$(PREFIX)/share/man/man7/

.PHONY: install-lib

-include $(lib-obj:.o=.d) $(lib-san-obj:.o=.d)
