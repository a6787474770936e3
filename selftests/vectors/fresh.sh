#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The vector files in the tree are what generate.py writes today.
set -u

here=$(dirname "$0")
new=$(mktemp -d) || exit 1
trap 'rm -rf "$new"' EXIT

if ! command -v python3 >/dev/null; then
	echo "1..0 # SKIP python3 is not installed"
	exit 0
fi
echo 1..3
if "$here/generate.py" "$new"; then
	echo "ok 1 - generate"
else
	echo "not ok 1 - generate"
fi
n=1
for f in slots.txt frames.txt; do
	n=$((n + 1))
	if cmp "$here/$f" "$new/$f"; then
		echo "ok $n - $f"
	else
		echo "not ok $n - $f"
		echo "# run selftests/vectors/generate.py selftests/vectors"
	fi
done
