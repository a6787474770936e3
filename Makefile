# SPDX-License-Identifier: GPL-2.0-only
#
# For people.  The kernel's build reads Kbuild.
#
#   make            build all that runs here: library, tools, BPF programs
#   make demo       four hosts train on real digits in a guest (ON=host: here)
#   make check      all tests, natively and in the guest
#   make modules    tally.ko; for another kernel: KERNEL=DIR
#   make help       the rest
#
# Each folder has a build.mk that adds to these lists:
#   programs        what `make` builds
#   tests-native    TAP programs that run here
#   tests-guest     TAP programs that run in the guest, with tally.ko loaded
#   tests-debug     those of them that make sense on a debug kernel
#   tests-vm        TAP programs that start guests of their own

B := build
CC ?= gcc
CLANG ?= clang
BPFTOOL ?= bpftool
WARN := -Wall -Wextra -Wno-unused-parameter -Wstrict-prototypes \
	-Wmissing-prototypes
CFLAGS ?= -O2 -g
INCLUDES := -Iinclude -Iinclude/uapi
BUILD_CFLAGS = -std=gnu11 $(WARN) $(INCLUDES) $(CFLAGS)
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all \
	    -fno-omit-frame-pointer
HEADERS := $(wildcard include/tally/*.h include/uapi/linux/*.h)

programs :=
tests-native :=
tests-guest :=
tests-debug :=
tests-vm := selftests/vm/selftest.t

all:

include $(sort $(wildcard bpf/build.mk userspace/*/build.mk \
	selftests/*/build.mk kmod/build.mk))

include selftests/check.mk

all: $(programs)

tests: $(programs) $(tests-native) $(tests-guest)

help:
	@sed -n '3,10s/^# \{0,1\}//p' Makefile
	@echo "  make check-native    tests that need no guest"
	@echo "  make check-guest     tests of the module in the guest"
	@echo "  make check-debug     the module's tests on a debug kernel"
	@echo "  make debug-kernel    build such a kernel"
	@echo "  make clean           remove $(B)/"

clean:
	rm -rf $(B)

.PHONY: all tests help clean
.DELETE_ON_ERROR:
