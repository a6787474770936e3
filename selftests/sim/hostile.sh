#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A member that holds the key and does not keep the rules.
exec "${B:-build}/userspace/sim/tally_seeds" -n 200 -k hostile
