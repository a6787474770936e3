#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Collectives that ask for what is missing, on clean and lossy links.
exec "${B:-build}/userspace/sim/tally_seeds" -n 1000 -k clean -k lossy
