# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC1091,SC2154 # run.sh writes the conf
#
# Runs as the guest's first process, in the host's root: sets up what a booted
# system has, runs the command, tells its status and ends the guest. Its status
# is told on the kernel log, which needs neither a file system nor a driver.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LANG=C.UTF-8 TERM=dumb PYTHONUNBUFFERED=1 TALLY_VM=1

bb=/run/vm/busybox
leak=/sys/kernel/debug/kmemleak
. /run/vm/conf

# Printed whatever the console's level is.
say()
{
	echo "<1>tally-vm: $*" >/dev/kmsg
}

end_guest()
{
	say "end $token $1"
	echo b >/proc/sysrq-trigger
	$bb sleep 60
}

mounts()
{
	$bb mkdir -p /dev/pts /dev/shm
	$bb mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
	$bb mount -t tmpfs shm /dev/shm
	$bb ln -sf /proc/self/fd /dev/fd
	$bb ln -sf fd/0 /dev/stdin
	$bb ln -sf fd/1 /dev/stdout
	$bb ln -sf fd/2 /dev/stderr
	$bb mount -t debugfs debugfs /sys/kernel/debug
	$bb mount -t tracefs tracefs /sys/kernel/tracing
	$bb mount -t bpf -o mode=0755 bpf /sys/fs/bpf
	$bb mount -t cgroup2 cgroup /sys/fs/cgroup
	$bb mkdir -p "$out"
	$bb mount -t 9p \
		-o trans=virtio,version=9p2000.L,cache=none,msize=262144 \
		out "$out"

	# modprobe, also when the kernel calls it, looks by release.
	libmod=/lib/modules/$($bb uname -r)
	$bb mkdir -p "$libmod"
	$bb mount --bind "${modules:-/run/vm/lib/modules/0.0-builtin}" "$libmod"
}

settings()
{
	$bb hostname tally-vm
	# Files that the host has just written must not be newer than now.
	now=$($bb date +%s)
	if [ "$now" -lt "$epoch" ]; then
		now=$epoch
		$bb date -s "@$now" >/dev/null
	fi
	patience=$((epoch + limit - 10 - now))
	[ $patience -gt 0 ] || patience=$limit
	$bb ip link set lo up
	# An emulated processor may well lose its core for seconds.
	for s in watchdog_thresh=60 hung_task_timeout_secs=300; do
		[ ! -e "/proc/sys/kernel/${s%=*}" ] ||
			echo "${s#*=}" >"/proc/sys/kernel/${s%=*}"
	done
	$bb stty -F /dev/ttyS1 raw -echo
}

# Shortly before the host gives up: what every process waits for.
show_hang()
{
	for p in /proc/[0-9]*; do
		[ -e "$p/exe" ] || continue
		read -r comm <"$p/comm"
		say "hang: process ${p#/proc/} ($comm)"
		while read -r _ frame; do
			say "hang:     $frame"
		done <"$p/stack"
	done
	echo w >/proc/sysrq-trigger
}

# Output passes through a pipe: programs see no terminal, as under CI.
run()
{
	$bb mkfifo /run/vm/out
	$bb cat </run/vm/out >/dev/ttyS1 &
	cat_pid=$!
	($bb sleep "$patience"; show_hang) &
	(
		cd "$top" || exit 125
		while read -r mod args; do
			# insmod knows nothing of what a module depends on.
			for dep in $(modinfo -F depends "/run/vm/$mod" |
				     $bb tr , ' '); do
				modprobe "$dep" || exit 125
			done
			# shellcheck disable=SC2086 # a list of words
			$bb insmod "/run/vm/$mod" $args || exit 125
		done </run/vm/insmod
		[ ! -e $leak ] || $bb grep '\[' /proc/kallsyms >/run/vm/syms
		exec /bin/sh /run/vm/command
	) >/run/vm/out 2>&1 </dev/null
	status=$?

	# A process that is left behind may keep the pipe open for ever.
	for _ in 1 2 3 4 5; do
		[ -d /proc/$cat_pid ] || break
		$bb sleep 0.2
	done
	$bb kill -9 -1 2>/dev/null
	wait
	exec >/dev/ttyS1 2>&1
}

# Modules that the harness loaded must be free to go. Namespaces are removed
# in the background, so what they hold may need a moment.
unload()
{
	reversed=
	while read -r mod _; do
		reversed="$(echo "${mod%.ko}" | $bb tr - _) $reversed"
	done </run/vm/insmod
	for mod in $reversed; do
		i=0
		while $bb grep -q "^$mod " /proc/modules && ! $bb rmmod "$mod" \
			2>/run/vm/rmmod; do
			i=$((i + 1))
			if [ $i -ge 50 ]; then
				$bb cat /run/vm/rmmod
				echo "vm: module $mod cannot be unloaded"
				[ "$status" -ne 0 ] || status=125
				break
			fi
			$bb sleep 0.2
		done
	done
}

# An object counts as leaked once two scans have not seen it. The modules are
# gone by then, so their addresses are named from the symbols that run() kept;
# as text of one length they compare like numbers.
leaks()
{
	[ -w $leak ] && echo scan >$leak 2>/dev/null || return 0
	$bb sleep 6
	echo scan >$leak
	# shellcheck disable=SC2016 # awk's own
	$bb awk '
	FILENAME != "'$leak'" { sym[$1] = $3 " " $4; next }
	{
		if (match($0, /ffffffff[0-9a-f]+/)) {
			at = substr($0, RSTART, RLENGTH)
			best = ""
			for (a in sym)
				if (a <= at && a > best)
					best = a
			if (best != "")
				$0 = $0 " " sym[best]
		}
		print "<4>kmemleak: " $0
	}' /run/vm/syms $leak | while read -r line; do
		echo "$line" >/dev/kmsg
	done
}

mounts
settings
: >/run/vm/syms
say "begin $token"
run
unload
leaks
# The last one to close the line waits until all is sent.
exec >/dev/null 2>&1
end_guest "$status"
