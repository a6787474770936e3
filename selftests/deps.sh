#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Install the Debian packages (12 or 13) that a purpose needs:
#
#   selftests/deps.sh [build|check|demo|debug]...      (default: build)
#
#   build   compile the module, the BPF objects, the library and the command
#   demo    what `build` needs, and a guest to run the demonstration in
#   check   what `demo` needs, and everything that the tests call
#   debug   what `build` needs, and what compiling a whole kernel takes
#
# Silent and without touching the network when nothing is missing.
set -eu

build="gcc make clang llvm pkgconf libbpf-dev libxdp-dev xdp-tools bpftool
	pahole libmnl-dev libcjson-dev libinih-dev libelf-dev zlib1g-dev
	linux-libc-dev libc6-dev xz-utils"
# The guest runs on the host's own file system, so what tests call inside it
# is installed outside.
guest="qemu-system-x86 qemu-system-common busybox-static cpio zstd kmod
	iproute2 ethtool procps util-linux"
check="perl mandoc libcmocka-dev sparse tcpdump python3 python3-yaml python3-jsonschema"
debug="flex bison bc libssl-dev rsync zstd cpio kmod"

usage()
{
	echo "usage: $0 [build|check|demo|debug]..." >&2
	exit 2
}

want=
[ $# -gt 0 ] || set -- build
for purpose; do
	case $purpose in
	build)	want="$want $build" ;;
	demo)	want="$want $build $guest" ;;
	check)	want="$want $build $guest $check" ;;
	debug)	want="$want $build $debug" ;;
	*)	usage ;;
	esac
done
purposes=$*
# shellcheck disable=SC2086,SC2116 # joins the lines of the lists
want=$(echo $want)

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "deps: this is no Debian system; install what here is called" \
	     "$want" >&2
	exit 1
fi

# dpkg-query answers for all packages at once, but says nothing of those that
# it has never heard of: missing is what is not reported as installed.
# shellcheck disable=SC2086 # a list of words
have=$(dpkg-query -W -f '${db:Status-Status} ${Package} ' $want 2>/dev/null) ||
	true
missing=
for p in $want; do
	case " $have" in *" installed $p "*) continue ;; esac
	case "$missing " in *" $p "*) continue ;; esac
	missing="$missing $p"
done
missing=${missing# }
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "deps: '$purposes' needs packages that are not installed; as root:
  apt-get update && apt-get install --no-install-recommends $missing" >&2
	exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive

# Retried, because another package run may hold the lock on the lists, for
# which apt-get itself does not wait.
apt()
{
	tries=0
	until apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 \
		"$@" </dev/null >>"$log" 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 3 ] || return 1
		sleep 5
	done
}

fail()
{
	tail -n 20 "$log" >&2
	echo "deps: $1" >&2
	exit 1
}

echo "deps: installing for '$purposes': $missing"
apt update || fail "the package lists cannot be read: check the network \
and the files in /etc/apt/sources.list.d, then run this again"
# shellcheck disable=SC2086 # a list of words
apt install -y --no-install-recommends $missing ||
	fail "apt-get could not install these packages (its last lines are \
above): check the network and the mirror, then run this again"
