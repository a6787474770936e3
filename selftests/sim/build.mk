# SPDX-License-Identifier: GPL-2.0-only
#
# The protocol's invariants under thousands of seeds, no kernel needed.

sim-tests := $(addprefix selftests/sim/,reliable.sh bounded.sh faults.sh \
	       hostile.sh edges.sh found.sh sanitized.sh)

tests-native += $(sim-tests)

$(sim-tests): $(B)/userspace/sim/tally_seeds $(B)/userspace/sim/tally_seeds.san
