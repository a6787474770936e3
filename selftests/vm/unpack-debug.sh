#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Unpack a ready-made debugging kernel that lies beside the checkout into
# build/kernel-debug. Exits 1 if there is none; debug-kernel.sh builds one.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
dir=$top/build/kernel-debug
tar=$top/../shared/kernel-debug/linux-debug.tar.zst

[ ! -e "$dir/arch/x86/boot/bzImage" ] || exit 0
if [ ! -e "$tar" ]; then
	echo "unpack-debug: no ready-made tree beside the checkout;" \
	     "selftests/vm/debug-kernel.sh builds one" >&2
	exit 1
fi
if [ -e "$dir" ]; then
	echo "unpack-debug: build/kernel-debug holds an unfinished build;" \
	     "go on with debug-kernel.sh, or remove it" >&2
	exit 1
fi
mkdir -p "$top/build"
new=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$new"' EXIT
tar -xf "$tar" -C "$new" --strip-components=1
chmod 755 "$new"
: >"$new/.ready-made"
# Another call may have been quicker: then its tree is as good.
mv -T "$new" "$dir" 2>/dev/null || [ -e "$dir/.ready-made" ]
