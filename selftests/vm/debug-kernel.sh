#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Build the kernel of debug.config from Debian's linux-source-6.12 in
# build/kernel-debug, for `KERNEL=build/kernel-debug`. Goes on where an earlier
# call has stopped. Takes 4 GB of disk, and half an hour on two cores.
#
#   selftests/vm/debug-kernel.sh [--config-only]
set -euo pipefail

vm=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$vm/../.." && pwd)
dir=$top/build/kernel-debug

die()
{
	echo "debug-kernel: $1" >&2
	exit 1
}

"$vm/../deps.sh" debug
"$vm/fetch.sh" tarball

if [ ! -e "$dir/Kconfig" ]; then
	[ ! -e "$dir/.ready-made" ] || die "build/kernel-debug holds a \
ready-made tree without sources; remove it to build one"
	echo "debug-kernel: unpacking the source"
	rm -rf "$dir.new"
	mkdir -p "$dir.new"
	tar -xf "$top/build/kernel/linux-source.tar.xz" -C "$dir.new" \
		--strip-components=1
	mv "$dir.new" "$dir"
fi

# A symbol whose dependencies are not met would silently be dropped.
make -s -C "$dir" KCONFIG_ALLCONFIG="$vm/debug.config" alldefconfig
missing=$(grep -E '^(CONFIG_|# CONFIG_.* is not set)' "$vm/debug.config" |
	  while read -r line; do
		case $line in
		\#*)	sym=${line#\# }
			! grep -q "^${sym%% *}=" "$dir/.config" ||
				echo "$line" ;;
		*)	grep -qxF "$line" "$dir/.config" || echo "$line" ;;
		esac
	  done)
[ -z "$missing" ] || die "this source does not take from debug.config:
$missing"
[ "${1:-}" != --config-only ] || exit 0

# `modules` writes Module.symvers, though none of them is built as a module.
make -C "$dir" -j"$(nproc)" bzImage modules >"$top/build/kernel-debug.log" \
	2>&1 || {
	tail -n 20 "$top/build/kernel-debug.log" >&2
	die "the build failed; all of it is in build/kernel-debug.log"
}
echo "debug-kernel: run with KERNEL=build/kernel-debug"
