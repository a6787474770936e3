#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Collectives that close at their deadline; both kinds mixed.
exec "${B:-build}/userspace/sim/tally_seeds" -n 1000 -k bounded -k mixed
