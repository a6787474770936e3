#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Collectives where a packet has most to go through: XDP, fragments, a key.
exec "${B:-build}/selftests/abi/reduce" -v xdp_jumbo
