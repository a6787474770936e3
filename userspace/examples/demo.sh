#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#
# Four hosts train on real digits through /dev/tally, summed by XDP; then again
# with one of them stopped half-way.  Run as root where tally.ko is loaded; each
# host is a network namespace, nothing is left of it afterwards.
#
#   demo.sh [OUT]		figures go to OUT (build/demo), report.json
#
# Environment: B, where all is built; EPOCHS; BOUND of a sum and SETTLE, see
# tally.conf(5); LANE (i32, i16); STOP, the rank that is stopped; SLACK.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
out=${1:-${TALLY_OUT:-$B/demo}}
epochs=${EPOCHS:-20}
# An emulated processor stands still now and then for tens of milliseconds.
bound=${BOUND:-$([ "${TALLY_VM:-}" ] && echo 100ms || echo 50ms)}
settle=${SETTLE:-$([ "${TALLY_VM:-}" ] && echo 300ms || echo 50ms)}
lane=${LANE:-i32}
stop=${STOP:-2}
# A step may take so many milliseconds longer than the bound.
slack=${SLACK:-$([ "${TALLY_VM:-}" ] && echo 250 || echo 100)}
# Without a line for so long, something hangs.
patience=120
ranks=4

tally=$PWD/$B/userspace/cli/tally
digits=$PWD/$B/userspace/examples/digits
report=$PWD/$B/userspace/examples/demo_report
data=$PWD/$B/data/digits.csv.gz
name=tallydemo$$
pids=()
up=()

fail()
{
	echo "demo: $1" >&2
	exit 1
}

# Only what was started and made here.
cleanup()
{
	local pid host

	trap - EXIT INT TERM
	for pid in "${pids[@]}"; do
		kill -CONT "$pid" 2>/dev/null
		kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	# XDP before its device: libxdp's pins would stay, and hold the module.
	for host in "${up[@]}"; do
		[ "$host" != switch ] || continue
		inside "$host" "$tally" down "$tmp/digits.conf" 2>/dev/null
		inside "$host" "$tally" xdp detach eth0 2>/dev/null
	done
	for host in "${up[@]}"; do
		ip netns del "$name-$host" 2>/dev/null
	done
	rm -rf "$tmp"
}

# inside HOST WORDS...: ip netns exec would hide the mounted bpffs.
inside()
{
	local host=$1

	shift
	nsenter --net="/run/netns/$name-$host" "$@"
}

need()
{
	[ -e "$1" ] || fail "$1 is not there: $2"
}

netns_add()
{
	ip netns add "$name-$1" || fail "no network namespace: run this as root"
	up+=("$1")
}

host_make()
{
	local n=$name-h$1

	ip -n "$n" link add eth0 type veth peer name "port$1" \
		netns "$name-switch" &&
	ip -n "$name-switch" link set "port$1" master br0 up &&
	ip -n "$n" address add "10.31.249.$(($1 + 1))/24" dev eth0 &&
	ip -n "$n" link set lo up &&
	ip -n "$n" link set eth0 up
}

hosts_make()
{
	local i n

	netns_add switch
	n=$name-switch
	if ! ip -n "$n" link add br0 type bridge ||
	   ! ip -n "$n" link set br0 up; then
		fail "no bridge: 'modprobe bridge'"
	fi
	for ((i = 0; i < ranks; i++)); do
		netns_add "h$i"
		host_make $i || fail "host $i has no link: 'modprobe veth'"
		inside "h$i" "$tally" xdp attach eth0 native ||
			fail "host $i: XDP was not attached"
	done
}

conf_make()
{
	local i

	cat >"$tmp/digits.conf" <<-END
	[group digits]
	id = 7
	payload = 1408
	max_bytes = 64K
	bound = $bound
	settle = $settle
	END
	for ((i = 0; i < ranks; i++)); do
		printf '\n[member %d]\naddress = 10.31.249.%d\n' $i $((i + 1))
	done >>"$tmp/digits.conf"
}

groups_up()
{
	local i

	for ((i = 0; i < ranks; i++)); do
		inside "h$i" "$tally" up "$tmp/digits.conf" ||
			fail "host $i: the group is not up"
	done
}

# Counters are the group's: they go with it.
groups_down()
{
	local i

	for ((i = 0; i < ranks; i++)); do
		inside "h$i" "$tally" -j stats -a digits >"$1/stats$i.json" ||
			fail "host $i: no counters"
		inside "h$i" "$tally" down "$tmp/digits.conf" ||
			fail "host $i: the group does not go down"
	done
}

# The line of rank 0 that ends epoch $1?
ends()
{
	[[ $line == "rank 0: epoch $1 of "* ]]
}

# train DIR [RANK]: four processes; RANK is stopped for an epoch half-way
train()
{
	local dir=$1 victim=${2:-} half=$((epochs / 2)) i line code
	local stopped="" progress=--progress

	mkdir -p "$dir"
	mkfifo "$dir/lines"
	for ((i = 0; i < ranks; i++)); do
		nsenter --net="/run/netns/$name-h$i" "$digits" --data "$data" \
			--group 7 --rank $i --ranks $ranks --epochs "$epochs" \
			--lane "$lane" --json "$dir/rank$i.json" \
			$progress >"$dir/lines" 2>&1 &
		pids[i]=$!
		progress=
	done
	exec 5<"$dir/lines"
	# No process is started in this loop: it would take time from training.
	while :; do
		read -r -t $patience line
		code=$?
		[ $code -eq 0 ] || break
		echo "  $line"
		# Without one of them the others only wait for their timeouts.
		[[ $line != "digits: "* ]] ||
			fail "expected four processes that come to the end"
		[ -n "$victim" ] || continue
		if ends $half; then
			kill -STOP "${pids[victim]}"
			stopped=1
			echo "  -- rank $victim is stopped (SIGSTOP)"
		elif ends $((half + 1)) && [ "$stopped" ]; then
			kill -CONT "${pids[victim]}"
			stopped=""
			echo "  -- rank $victim is continued (SIGCONT)"
		fi
	done <&5
	exec 5<&-
	# 1 is the end of what they print.
	[ $code -eq 1 ] ||
		fail "no progress within $patience s: see the lines above"
	for ((i = 0; i < ranks; i++)); do
		wait "${pids[i]}" ||
			fail "expected rank $i to come to the end"
	done
	pids=()
	rm "$dir/lines"
}

for file in "$tally" "$digits" "$report"; do
	need "$file" "'make'"
done
need "$data" "'selftests/vm/fetch.sh data' fetches it"
need /dev/tally "load the module: 'make modules', 'insmod $B/kmod/tally.ko'"
[ "$epochs" -ge 6 ] || fail "EPOCHS=$epochs: at least 6 are needed"
((stop > 0 && stop < ranks)) || fail "STOP=$stop: a rank from 1 to 3 is needed"

mkdir -p "$out" || exit 1
tmp=$(mktemp -d) || exit 1
trap cleanup EXIT
trap 'exit 130' INT TERM

echo "== one process, for comparison"
"$digits" --data "$data" --single --ranks $ranks --epochs "$epochs" \
	--json "$tmp/single.json" || exit 1

echo "== four hosts on a bridge, XDP on each"
hosts_make
conf_make
groups_up
inside h0 "$tally" show digits
inside h0 "$tally" xdp status eth0

echo "== four processes train; every gradient through /dev/tally"
train "$tmp/plain"
groups_down "$tmp/plain"

echo "== again; rank $stop is stopped half-way and continued an epoch later"
groups_up
train "$tmp/stop" "$stop"
groups_down "$tmp/stop"

"$report" "$tmp" $ranks "$stop" "$slack" "$out/report.json"
