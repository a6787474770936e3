# SPDX-License-Identifier: GPL-2.0-only
#
# make check: the native tests, the module's in a guest, and on the debug
# kernel if there is one.  Every test prints TAP and runs under prove, which
# says how many there were and fails if any did; a kernel warning fails, too.

# A test that fails says why.
PROVE := prove --merge --timer --failures --comments
GUEST_TIMEOUT ?= 1500
DEBUG_TIMEOUT ?= 1500
# A built tree beside this one, packed; or give KERNEL=DIR.
KERNEL_DEBUG := $(B)/kernel-debug
KERNEL_PACKED := $(wildcard ../shared/kernel-debug/linux-debug.tar.zst)

check: check-setup
	+$(MAKE) --no-print-directory check-native
	+$(MAKE) --no-print-directory check-guest
	$(if $(KERNEL)$(KERNEL_PACKED),+$(MAKE) --no-print-directory check-debug,\
		@echo "check: no debug kernel here: see 'make debug-kernel'")

check-setup:
	@selftests/deps.sh build check
	@selftests/vm/fetch.sh kernel source data

check-native: $(programs) $(tests-native)
	$(PROVE) -j 2 --exec '' $(tests-native)

# One guest for all: it boots in seconds, but not in none.
check-guest: $(programs) $(tests-guest) modules
	selftests/vm/run.sh --name check-guest --timeout $(GUEST_TIMEOUT) \
		--module $(B)/kmod/tally.ko -- \
		$(PROVE) --exec '' $(tests-guest)
	$(if $(tests-vm),$(PROVE) --exec '' $(tests-vm))

# The module's tests on a kernel with KASAN, lockdep, kmemleak and the like,
# two hundred times slower than native: what measures time stays out.
check-debug: KERNEL_DIR = $(or $(KERNEL),$(KERNEL_DEBUG))
check-debug: $(programs) $(tests-debug)
	@[ -n "$(KERNEL)" ] || selftests/vm/unpack-debug.sh
	+$(MAKE) --no-print-directory modules KERNEL=$(KERNEL_DIR)
	KERNEL=$(KERNEL_DIR) selftests/vm/run.sh --name check-debug \
		--timeout $(DEBUG_TIMEOUT) \
		--module $(B)/kmod-$(notdir $(abspath $(KERNEL_DIR)))/tally.ko \
		-- $(PROVE) --exec '' $(tests-debug)

debug-kernel:
	selftests/vm/debug-kernel.sh

.PHONY: check check-setup check-native check-guest check-debug debug-kernel
