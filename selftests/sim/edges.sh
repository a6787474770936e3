#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What lies at the limits: few and many ranks, wide windows, wrapping seqs.
exec "${B:-build}/userspace/sim/tally_seeds" -n 300 -k edges
