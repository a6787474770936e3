#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests the guest harness itself, above all that what goes wrong in the guest
# cannot pass for success. With KERNEL=DIR only what is particular to a
# debugging kernel, whose guest takes minutes.
# shellcheck disable=SC2016 # what is quoted is for the guest to expand
set -u

vm=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$vm/../.." && pwd)
build=$top/build/kernel/headers
[ -z "${KERNEL:-}" ] || build=$(realpath "$KERNEL")
id=selftest-$$
tmp=$top/build/vm/$id
probe=$tmp/vm_probe.ko
count=0
failed=0
mkdir -p "$tmp"
trap 'rm -rf "$tmp" "$top/build/vm/$id".*' EXIT

pair=()

# start NAME [run.sh's options] -- COMMAND: in the background.
start()
{
	local name=$1

	shift
	(
		"$vm/run.sh" --name "$id.$name" --timeout 300 "$@" \
			>"$tmp/$name.out" 2>&1 9>&-
		echo $? >"$tmp/$name.rc"
	) &
	pair+=($!)
}

join()
{
	wait "${pair[@]}" 2>/dev/null
	pair=()
}

ok()
{
	count=$((count + 1))
	echo "ok $count - $1"
}

not_ok()
{
	count=$((count + 1))
	failed=$((failed + 1))
	echo "not ok $count - $1"
	echo "# status $(cat "$tmp/$2.rc" 2>/dev/null)"
	tail -n 60 "$tmp/$2.out" | sed 's/^/# /'
}

# expect NAME STATUS REGEX WHAT: the finished guest's status and output.
expect()
{
	if [ "$(cat "$tmp/$1.rc" 2>/dev/null)" = "$2" ] &&
	   { [ -z "$3" ] || grep -qE "$3" "$tmp/$1.out"; }; then
		ok "$4"
	else
		not_ok "$4" "$1"
	fi
}

# lacks NAME REGEX WHAT
lacks()
{
	if grep -qE "$2" "$tmp/$1.out"; then
		not_ok "$3" "$1"
	else
		ok "$3"
	fi
}

build_probe()
{
	cp "$vm/probe/Kbuild" "$vm/probe/vm_probe.c" "$tmp/"
	make -C "$build" M="$tmp" modules >"$tmp/build.out" 2>&1
	echo $? >"$tmp/build.rc"
	expect build 0 'BTF \[M\].*vm_probe.ko' "a module builds with BTF"
}

debug_kernel()
{
	start clean --module "$probe" -- ls /sys/kernel/btf
	start wrong --module "$probe wrong=leak" -- \
		sh -c "rmmod vm_probe && insmod $probe wrong=free"
	join
	expect clean 0 '^vm_probe$' "the module's types are visible"
	expect wrong 123 'KASAN: slab-use-after-free' "use after free fails"
	expect wrong 123 'unreferenced object' "a leak fails"
	expect wrong 123 'kmemleak: .*\[vm_probe\]' "and names the module"
	lacks wrong 'unable to|cannot be' "and nothing else is reported"
}

debian_kernel()
{
	# Long enough for a slow boot; the others run meanwhile.
	start hang --timeout 90 -- sh -c 'echo begun; sleep 1000'
	pair=()
	start output -- sh -c 'echo to-stdout; echo to-stderr >&2;
		echo "arg:$1:$2"; pwd' sh "two  words" "it's"
	start status --env "A=b 'c' \$d" -- sh -c 'echo "A=$A"; exit 7'
	join
	start warning -- sh -c 'echo "WARNING: made up" >/dev/kmsg'
	start allowed --allow 'WARNING: made [u]p' -- sh -c '
		echo "WARNING: made up" >/dev/kmsg; echo "Call Trace:" >/dev/kmsg'
	join
	start oops -- sh -c 'echo c >/proc/sysrq-trigger'
	start reset -- sh -c 'echo b >/proc/sysrq-trigger'
	join
	start stray -- sh -c 'echo "Oops: int3: 0000 [#1] SMP" >/dev/kmsg
		echo "Code: 31 c0 66 <90> 48 8b" >/dev/kmsg
		echo b >/proc/sysrq-trigger'
	start padding -- sh -c 'echo "Oops: int3: 0000 [#1] SMP" >/dev/kmsg
		echo "Code: 31 c0 cc <90> 48 8b" >/dev/kmsg
		echo b >/proc/sysrq-trigger'
	join
	start forged -- sh -c 'echo "<1>tally-vm: end 0 0" >/dev/kmsg
		echo b >/proc/sysrq-trigger'
	start background -- sh -c 'sleep 1000 & echo left; exit 0'
	start readonly -- sh -c "
		touch '$tmp/from-guest' /from-guest-$id && echo written
		echo kept >\$TALLY_OUT/kept && ls '$probe'"
	join
	start types --module "$probe" -- sh -c 'ls /sys/kernel/btf &&
		modprobe bridge && ip link add b0 type bridge &&
		rmmod vm_probe && ! grep vm_probe /proc/modules'
	start warned --module "$probe wrong=warn" -- true
	join
	start pinned --module "$probe wrong=pin" -- true
	start missing -- /no/such/command
	wait
	pair=()

	expect output 0 '^to-stdout$' "standard output comes back"
	expect output 0 '^to-stderr$' "standard error comes back"
	expect output 0 "^arg:two  words:it's$" "arguments are kept whole"
	expect output 0 "^$top$" "the command runs in the project's folder"
	expect status 7 "^A=b 'c' \\\$d$" "status and environment are kept"
	expect missing 127 'not found' "a command that is not there fails"
	expect warning 123 'WARNING: made up' "a kernel warning fails"
	expect allowed 0 '' "an allowed one does not, nor the stack below it"
	expect warned 123 'WARNING: .*vm_probe_init' "so does a module's"
	expect stray 125 'runs once more' "a stray breakpoint runs again"
	expect padding 125 'without its token' "a breakpoint in the text fails"
	lacks padding 'runs once more' "at once"
	expect oops 125 'Kernel panic' "a panic fails and is shown"
	expect reset 125 'without its token' "a reset guest fails"
	expect forged 125 'without its token' "a forged end fails"
	expect hang 124 'not done after 90 s' "a hang is ended"
	expect hang 124 'hang: process .*[(]sleep[)]' "what hung is named"
	expect hang 124 '^begun$' "what it had said is kept"
	expect background 0 '^left$' "a process left behind does not hang it"
	expect readonly 0 '^written$' "the guest may write anywhere"
	if [ ! -e "$tmp/from-guest" ] && [ ! -e "/from-guest-$id" ]; then
		ok "but not to the host's files"
	else
		not_ok "but not to the host's files" readonly
		rm -f "/from-guest-$id"
	fi
	if [ "$(cat "$top/build/vm/$id.readonly.out/kept")" = kept ]; then
		ok "apart from its output folder"
	else
		not_ok "apart from its output folder" readonly
	fi
	expect types 0 '^vm_probe$' "a module loads, shows its types and unloads"
	expect pinned 125 'vm_probe cannot be unloaded' \
		"a module that does not unload fails"
}

refusals()
{
	"$vm/run.sh" --nonsense 1 -- true >"$tmp/option.out" 2>&1
	echo $? >"$tmp/option.rc"
	expect option 125 "unknown option '--nonsense'" "a bad option is named"
	KERNEL=/nonexistent "$vm/run.sh" -- true >"$tmp/nokernel.out" 2>&1
	echo $? >"$tmp/nokernel.rc"
	expect nokernel 125 'KERNEL: there is no' "a missing kernel is named"
	start twin --timeout 60 -- true
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		sleep 0.2
		[ ! -s "$top/build/vm/$id.twin.console.log" ] || break
	done
	"$vm/run.sh" --name "$id.twin" -- true >"$tmp/twin2.out" 2>&1
	echo $? >"$tmp/twin2.rc"
	join
	expect twin2 125 'is running' "a name in use is refused"
	expect twin 0 '' "and the one that has it goes on"
}

build_probe
if [ -n "${KERNEL:-}" ]; then
	debug_kernel
else
	debian_kernel
	refusals
fi
echo "1..$count"
[ $failed -eq 0 ]
