#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Other seeds of every kind, with address and undefined sanitizers.
exec "${B:-build}/userspace/sim/tally_seeds.san" -s 10001 -n 30
