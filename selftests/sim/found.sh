#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Seeds that once broke an invariant.
run() { "${B:-build}/userspace/sim/tally_seeds" -k "$1" -s "$2" -n 1; }

set -- split:10037 stop:33448 stop:105585 mixed:500500 hostile:500091 \
	split:510194 edges:218
echo "1..$#"
n=0 failed=0
for seed; do
	n=$((n + 1)) not=''
	out=$(run "${seed%:*}" "${seed#*:}") || not='not ' failed=1
	[ -z "$not" ] || echo "$out" | sed 's/^/# /'
	echo "${not}ok $n - $seed"
done
exit $failed
