#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#
# Run demo.sh where the module is: in a guest, or on this host.  `make demo`
# has built all that it takes.
#
#	demo-start.sh guest|host MODULE
set -u
cd "$(dirname "$0")/../.." || exit 1
where=$1
module=$2
B=${B:-build}

fail()
{
	echo "demo: $1" >&2
	exit 1
}

in_guest()
{
	local env=() try code name

	for name in B EPOCHS BOUND SETTLE LANE STOP SLACK; do
		[ -z "${!name:-}" ] || env+=(--env "$name=${!name}")
	done
	# An emulated machine may fail before it runs anything: then, again.
	for try in 1 2 3; do
		selftests/vm/run.sh --name demo --timeout 600 "${env[@]}" \
			--module "$module" -- userspace/examples/demo.sh
		code=$?
		if [ $code -ne 125 ] || [ -s build/vm/demo.log ]; then
			break
		fi
		echo "demo: the guest did not start (attempt $try of 3)" >&2
	done
	[ ! -e build/vm/demo.out/report.json ] ||
		cp build/vm/demo.out/report.json "$B/demo/"
	case $code in
	0)	exit 0 ;;
	123)	fail "expected a kernel without faults, see build/vm/demo.log" ;;
	124)	fail "expected an end within 600 s: is the machine busy?" ;;
	125)	fail "expected a guest that boots and unloads the module, see \
build/vm/demo.console.log" ;;
	*)	exit $code ;;
	esac
}

on_host()
{
	local code dep loaded=""

	[ "$(id -u)" -eq 0 ] || fail "ON=host makes network namespaces and \
loads a module: run it as root"
	[ -e /proc/modules ] || fail "this kernel, $(uname -r), loads no \
modules: 'make demo' runs in a guest"
	if [ ! -e /sys/module/tally ]; then
		# insmod does not look for what a module needs.
		for dep in $(modinfo -F depends "$module" | tr , ' '); do
			modprobe "$dep" || fail "this kernel has no module $dep"
		done
		insmod "$module" || fail "$module cannot be loaded: 'dmesg' \
tells why; is it built for $(uname -r)?"
		loaded=1
	fi
	userspace/examples/demo.sh "$B/demo"
	code=$?
	[ -z "$loaded" ] || rmmod tally ||
		fail "expected a module that can be unloaded: who uses it?"
	exit $code
}

mkdir -p "$B/demo" || exit 1
case $where in
guest)	in_guest ;;
host)	on_host ;;
*)	fail "ON=$where: 'guest' or 'host' is needed" ;;
esac
