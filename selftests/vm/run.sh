#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Run a command in a guest that boots a 6.12 kernel over this host's root:
#
#   selftests/vm/run.sh [options] -- COMMAND [ARGUMENT]...
#
# See README.md beside this file for options, environment and exit status.
set -euo pipefail

vm=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$vm/../.." && pwd)
kdir=$top/build/kernel

name=
limit=600
mem=
smp=2
append=
allow=
envs=
insmod=()
args=("$@")

die()
{
	echo "vm: $1" >&2
	exit 125
}

# A word that a POSIX shell reads as the given string.
quote()
{
	printf "'%s'" "${1//\'/\'\\\'\'}"
}

while [ $# -gt 0 ]; do
	[ $# -ge 2 ] || die "'$1' needs a value; usage: $0 [options] -- COMMAND"
	case $1 in
	--name)		name=$2 ;;
	--timeout)	limit=$2 ;;
	--mem)		mem=$2 ;;
	--smp)		smp=$2 ;;
	--append)	append="$append $2" ;;
	--allow)	allow=${allow:+$allow|}$2 ;;
	--env)		envs+="export ${2%%=*}=$(quote "${2#*=}")"$'\n' ;;
	--module)
		[ -f "${2%% *}" ] || die "there is no module '${2%% *}'"
		insmod+=("$2")
		;;
	--)		shift; break ;;
	*)		die "unknown option '$1'; usage: $0 [options] -- COMMAND" ;;
	esac
	shift 2
done
[ $# -gt 0 ] || die "no command; usage: $0 [options] -- COMMAND"
unnamed=
[ -n "$name" ] || { name=run-$$; unnamed=1; }
[[ $name =~ ^[A-Za-z0-9._-]+$ ]] || die "bad name '$name'"
[[ $limit =~ ^[0-9]+$ ]] || die "bad timeout '$limit': seconds are needed"

for tool in qemu-system-x86_64 cpio busybox xz; do
	command -v $tool >/dev/null ||
		die "no $tool here: run selftests/deps.sh demo as root"
done

if [ -n "${KERNEL:-}" ]; then
	KERNEL=$(realpath "$KERNEL")
	image=$KERNEL/arch/x86/boot/bzImage
	modules=
	rel=
	[ -e "$image" ] || die "KERNEL: there is no $image"
	# A debugging kernel's leak scan takes time in proportion to this.
	mem=${mem:-1024}
else
	image=$kdir/bzImage
	[ -e "$kdir/.kernel" ] || die "no kernel: run selftests/vm/fetch.sh"
	modules=$(realpath "$kdir/modules")
	rel=$(cat "$kdir/release")
	mem=${mem:-4096}
fi

state=$top/build/vm
console=$state/$name.console.log
log=$state/$name.log
out=$state/$name.out
mkdir -p "$state"
exec 9>>"$console"
flock -n 9 || die "a guest named '$name' is running; choose another --name"
rm -rf "$out"
mkdir "$out"
tmp=$(mktemp -d "$state/$name.XXXXXX")
qemu=
tail=
# shellcheck disable=SC2317 # called by the trap
cleanup()
{
	[ -z "$qemu" ] || kill "$qemu" 2>/dev/null || true
	[ -z "$tail" ] || kill "$tail" 2>/dev/null || true
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# The part of the initramfs that stays the same: busybox, and the modules that
# mounting the host's root takes. Made once for each kernel.
boot_modules=
if [ -n "$modules" ]; then
	for m in virtio_pci 9pnet_virtio 9p overlay; do
		boot_modules+=" $(awk -v m="/$m.ko" -F: '
			index($1, m) {
				n = split($2, dep, " ")
				while (n)
					print dep[n--]
				print $1
			}' "$modules/modules.dep" | tr '\n' ' ')"
	done
	# shellcheck disable=SC2086 # a list of words
	boot_modules=$(printf '%s\n' $boot_modules | awk '!seen[$0]++')
fi

busybox=$(command -v busybox)
base=$state/base${rel:+-$rel}.cpio
if [ ! "$base" -nt "$busybox" ] ||
   { [ -n "$rel" ] && [ ! "$base" -nt "$kdir/.kernel" ]; }; then
	! ldd "$busybox" >/dev/null 2>&1 ||
		die "$busybox is not static: install busybox-static"
	mkdir -p "$tmp/base/bin" "$tmp/base/vm" "$tmp/base/dev"
	cp "$busybox" "$tmp/base/bin/busybox"
	for m in $boot_modules; do
		xz -dc "$modules/$m" >"$tmp/base/vm/$(basename "$m" .xz)"
	done
	(cd "$tmp/base" && find . | cpio -o -H newc -R 0:0 --quiet) \
		>"$tmp/base.cpio"
	mv "$tmp/base.cpio" "$base"
fi

# The part of this run, which the kernel unpacks over the other.
token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
mkdir -p "$tmp/run/vm"
cp "$vm/init" "$tmp/run/init"
cp "$vm/guest.sh" "$tmp/run/vm/"
for m in "${insmod[@]}"; do
	file=${m%% *}
	cp "$file" "$tmp/run/vm/"
	echo "${file##*/} ${m#"$file"}"
done >"$tmp/run/vm/insmod"
if [ -z "$modules" ]; then
	# With all built in, modprobe finds out from this list that there is
	# nothing to do. A tree without the list has the names in its symbols.
	libmod=$tmp/run/vm/lib/modules/0.0-builtin
	mkdir -p "$libmod"
	: >"$libmod/modules.order"
	cat "$KERNEL/modules.builtin" >"$libmod/modules.builtin" 2>/dev/null ||
		sed -nE 's/.* __initcall__kmod_(\w+)__[0-9]+_[0-9]+_.*/\1/p' \
			"$KERNEL/System.map" | sort -u |
		sed 's|.*|kernel/&.ko|' >"$libmod/modules.builtin"
	PATH=$PATH:/sbin:/usr/sbin depmod -b "$tmp/run/vm" 0.0-builtin \
		2>/dev/null || die "depmod fails: is kmod installed?"
fi
{
	echo "top=$(quote "$top")"
	echo "out=$(quote "$out")"
	echo "modules=$(quote "$modules")"
	echo "limit=$limit"
	echo "token=$token"
	echo "epoch=$(date +%s)"
	echo "boot_modules='"
	for m in $boot_modules; do
		basename "$m" .xz
	done
	echo "'"
} >"$tmp/run/vm/conf"
{
	echo "export TALLY_OUT=$(quote "$out")"
	printf '%s' "$envs"
	printf 'exec'
	for word; do
		printf ' %s' "$(quote "$word")"
	done
	echo
} >"$tmp/run/vm/command"
{
	cat "$base"
	(cd "$tmp/run" && find . | cpio -o -H newc -R 0:0 --quiet)
} >"$tmp/initramfs"

# A /dev/kvm without processor support behind it cannot run a kernel.
accel="tcg,thread=multi"
if [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo; then
	accel=kvm
fi

: >"$console"
: >"$log"
timeout -k 5 "$limit" qemu-system-x86_64 \
	-accel "${ACCEL:-$accel}" -cpu max -m "$mem" -smp "$smp" \
	-nodefaults -no-user-config -display none -no-reboot \
	-chardev file,id=console,path="$console" -serial chardev:console \
	-chardev file,id=log,path="$log" -serial chardev:log \
	-fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
	-device virtio-9p-pci,fsdev=root,mount_tag=root \
	-fsdev local,id=out,path="$out",security_model=none \
	-device virtio-9p-pci,fsdev=out,mount_tag=out \
	-kernel "$image" -initrd "$tmp/initramfs" \
	-append "console=ttyS0 loglevel=7 printk.devkmsg=on printk.time=1 panic=-1 \
oops=panic nokaslr mitigations=off apparmor=0 tsc=reliable \
rcupdate.rcu_cpu_stall_timeout=60 $append" \
	</dev/null >&2 9>&- &
qemu=$!
tail -f -n +1 -s 0.1 --pid=$qemu "$log" 9>&- &
tail=$!

rc=0
wait $qemu || rc=$?
qemu=
wait $tail || true
tail=

faults=
token=$token allow=$allow awk -f "$vm/splats.awk" "$console" \
	>"$tmp/faults" || faults=1
if [ -n "$faults" ]; then
	echo "vm: the kernel reported faults; all of them are in $console:" >&2
	head -n 100 "$tmp/faults" | sed 's/^/vm| /' >&2
fi

# The console's end, where the cause is usually named.
last_lines()
{
	echo "vm: the last lines of $console:" >&2
	tail -n 60 "$console" | sed 's/^/vm| /' >&2
}

if [ $rc -eq 124 ] || [ $rc -eq 137 ]; then
	echo "vm: guest '$name' was ended: not done after $limit s" >&2
	last_lines
	exit 124
fi
if [ -z "${TALLY_VM_AGAIN:-}" ] && [[ ${ACCEL:-$accel} = tcg* ]] &&
   awk -f "$vm/stray-int3.awk" "$console"; then
	mv "$console" "${console%.log}.1.log"
	echo "vm: the emulator ran a breakpoint that the kernel had taken back" \
		"(${console%.log}.1.log); guest '$name' runs once more" >&2
	rm -rf "$tmp"
	exec 9>&-
	TALLY_VM_AGAIN=1 exec "$0" "${args[@]}"
fi
status=$(sed -n "s/.*tally-vm: end $token \([0-9]\+\).*/\1/p" "$console")
if [ -z "$status" ]; then
	echo "vm: guest '$name' ended without its token (qemu: $rc)" >&2
	last_lines
	exit 125
fi
[ "$status" -ne 0 ] || status=${faults:+123}
[ -z "$unnamed" ] || [ "${status:-0}" -ne 0 ] || rm -rf "$console" "$log" "$out"
exit "${status:-0}"
