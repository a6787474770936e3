#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Processes stopped and killed, nodes that die or cannot send.
exec "${B:-build}/userspace/sim/tally_seeds" -n 1000 -k stop -k crash -k split
