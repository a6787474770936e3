#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The command against the real module: four hosts on a bridge, each a network
# namespace.  Runs where tally.ko is loaded.
set -u
cd "$(dirname "$0")/../.." || exit 1
tally=$PWD/${B:-build}/userspace/cli/tally
dir=$(mktemp -d) || exit 1
n=0
failed=0

if [ ! -e /sys/module/tally ]; then
	echo "1..0 # SKIP tally.ko is not loaded"
	exit 0
fi

result()
{
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		failed=1
		sed 's/^/# /' "$dir/out" "$dir/err"
	fi
}

# inside HOST WORDS...: any command.  ip netns exec would hide the bpffs.
inside()
{
	local host=$1

	shift
	nsenter --net="/run/netns/$host" "$@"
}

# on HOST WORDS...: run the command there; $code, out, err
on()
{
	local host=$1

	shift
	inside "$host" "$tally" "$@" >"$dir/out" 2>"$dir/err"
	code=$?
}

# works TEXT HOST WORDS...: it succeeds and says nothing on stderr
works()
{
	local text=$1

	shift
	on "$@"
	[ $code -eq 0 ] && [ ! -s "$dir/err" ]
	result $? "$text"
}

# refused TEXT REGEX HOST WORDS...: it fails with these words, one line
refused()
{
	local text=$1 regex=$2

	shift 2
	on "$@"
	[ $code -eq 1 ] && [ "$(wc -l <"$dir/err")" -eq 1 ] &&
		grep -Eq "^tally: .*$regex" "$dir/err"
	result $? "$text"
}

# has TEXT REGEX: the last output has such a line
has()
{
	grep -Eq "$2" "$dir/out"
	result $? "$1"
}

# hasnt TEXT REGEX: it has none
hasnt()
{
	! grep -Eq "$2" "$dir/out"
	result $? "$1"
}

cleanup()
{
	for ns in h0 h1 h2 h3 switch; do
		ip netns del $ns 2>/dev/null
	done
	rm -rf "$dir"
}
trap cleanup EXIT

ip netns add switch
ip -n switch link add br0 type bridge
ip -n switch link set br0 up
for i in 0 1 2 3; do
	ip netns add h$i
	ip -n h$i link add eth0 type veth peer name port$i netns switch
	ip -n switch link set port$i master br0 up
	ip -n h$i address add 10.9.0.$((i + 1))/24 dev eth0
	ip -n h$i link set lo up
	ip -n h$i link set eth0 up
done

(umask 077; echo 000102030405060708090a0b0c0d0e0f >"$dir/key")
cat >"$dir/a.conf" <<EOF
[group digits]
id = 7
payload = 1408
max_bytes = 64K
bound = 20ms
gid = root
key_file = key

[member 0]
address = 10.9.0.1
[member 1]
address = 10.9.0.2
[member 2]
address = 10.9.0.3
[member 3]
address = 10.9.0.4
EOF

works "version" h0 version
has "version: the module's ABI and port" "module: ABI 1, UDP port 31249"
works "show: no groups" h0 show
has "show: says how to configure some" "tally up FILE"

for i in 0 1 2 3; do
	works "up on host $i" h$i up "$dir/a.conf"
done
works "up again" h0 up "$dir/a.conf"
works "show" h1 show
has "show: up and keyed" "group digits: id 7, epoch 1, up, keyed"
has "show: geometry" "payload 1408 B, window 4, max 64 KiB"
has "show: this host's member is local" "1 +10\.9\.0\.2 +31249 +yes +- +-"
has "show: another's is not" "2 +10\.9\.0\.3 +31249 +- +- +-"
on h0 -j show
python3 -c '
import json, sys
g = json.load(open(sys.argv[1]))["groups"]
assert len(g) == 1 and g[0]["id"] == 7 and g[0]["up"] and g[0]["keyed"], g
assert [m["local"] for m in g[0]["members"]] == [True, False, False, False], g
assert "000102" not in open(sys.argv[1]).read()' "$dir/out" 2>"$dir/err"
result $? "show -j"
works "switch: has no groups" switch group show
has "switch: says so" "no groups in this network namespace"

# A process attaches: rank 0 of the group, until file descriptor 3 is closed.
inside h0 "$tally" monitor -n 2 -t 60 >"$dir/events" &
monitor=$!
inside h0 "$tally" -j monitor -n 2 -t 60 7 >"$dir/events.json" &
monitor_json=$!
sleep 3
mkfifo "$dir/fifo"
inside h0 python3 -c '
import fcntl, struct, sys
f = open("/dev/tally", "r+b", buffering=0)
a = bytearray(struct.pack("14I", 168, 0, 7, 0, *[0] * 10) + bytes(112))
fcntl.ioctl(f, 0xF701, a)
open(sys.argv[2], "w").close()
sys.stdin.read()' - "$dir/attached" <"$dir/fifo" 2>"$dir/attach.err" &
attacher=$!
exec 3>"$dir/fifo"
for i in $(seq 100); do
	[ ! -e "$dir/attached" ] || break
	sleep 0.2
done
cp "$dir/attach.err" "$dir/err"
[ -e "$dir/attached" ]
result $? "a process attaches"
works "show while attached" h0 show digits
has "show: attached" "0 +10\.9\.0\.1 +31249 +yes +yes +-"
exec 3>&-
wait $attacher
wait $monitor
cp "$dir/events" "$dir/out"
has "monitor: attach" "group digits: rank 0: a process attached"
has "monitor: detach" "group digits: rank 0: its process detached"
wait $monitor_json
python3 -c '
import json, sys
e = [json.loads(line) for line in open(sys.argv[1])]
assert [x["event"] for x in e] == ["attach", "detach"], e
assert all(x["group"] == 7 and x["name"] == "digits" for x in e), e
' "$dir/events.json" 2>"$dir/err"
result $? "monitor -j"

# Packets that are none of ours are counted.
for i in 1 2 3; do
	inside h1 bash -c 'printf junk >/dev/udp/10.9.0.1/31249'
done
sleep 1
works "stats" h0 stats
has "stats: a drop with its meaning" \
	"truncated +3 +shorter than its header says"
on h0 stats -j -i 1 -n 2
[ $code -eq 0 ] && [ "$(grep -c interval_ms "$dir/out")" -eq 2 ]
result $? "stats: two intervals, a line each"

works "xdp attach" h0 xdp attach eth0
works "xdp attach again" h0 xdp attach eth0
works "xdp status" h0 xdp status
has "xdp status: native, and calls the module" \
	"^eth0 +1500 +native +[a-z_]+ +[0-9]+ +yes"
works "doctor" h0 doctor
has "doctor: xdp" "^ok +xdp +eth0: the program runs in native mode"
works "xdp detach" h0 xdp detach eth0
refused "xdp detach again" "xdp status" h0 xdp detach eth0
works "xdp status: nothing" h0 xdp status
has "xdp status: says so" "no XDP program on any device here"
refused "xdp attach: no such device" "ip link" h0 xdp attach eth7
on h0 doctor
grep -Eq '^ok +mtu +group digits: member 3: payload 1408 fits' "$dir/out"
result $? "doctor: paths"
has "doctor: port" "^ok +port +UDP port 31249 is the module's"
on h0 -j doctor
python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
for f in d["findings"]:
    assert f["severity"] == "ok" or f["remedy"], f
' "$dir/out" 2>"$dir/err"
result $? "doctor: every finding has a remedy"

# What the kernel refuses, in its words.
works "set what may change" h0 group set digits bound 30ms timeout 4s gid 5
works "show it" h0 group show
has "set: it has changed" "7 +digits +yes .* 30 ms +.* 4 s .* 5 +yes"
refused "set what may not" "it is up with payload 1408, .*tally group down" \
	h0 group set digits payload 1344
refused "members while it is up" "group 7 is up: take it down" \
	h0 member del digits 1
refused "quorum" "leave quorum out" h0 group add q id 12 quorum 2
refused "too much memory" "raise net.tally.mem_max" \
	h0 up <(printf '[group big]\nid=9\nmax_bytes=1G\nwindow=64\n'
		printf '[member 0]\naddress=10.9.0.1\n')
ip -n h0 address add 10.9.0.9/24 dev eth0
refused "two local addresses" "members with different addresses are local" \
	h0 up <(printf '[group two]\nid=9\n[member 0]\naddress=10.9.0.1\n'
		printf '[member 1]\naddress=10.9.0.9\n')
ip -n h0 address del 10.9.0.9/24 dev eth0
inside h2 "$tally" down "$dir/a.conf"
# Holds the port until file descriptor 4 is closed.
mkfifo "$dir/holder"
inside h2 python3 -c '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 31249))
open(sys.argv[1], "w").close()
sys.stdin.read()' "$dir/bound" <"$dir/holder" &
holder=$!
exec 4>"$dir/holder"
for i in $(seq 100); do
	[ ! -e "$dir/bound" ] || break
	sleep 0.2
done
refused "a port in use" "UDP port 31249 is in use here: stop who has it" \
	h2 up "$dir/a.conf"
on h2 doctor "$dir/a.conf"
[ $code -eq 1 ]
result $? "doctor: fails then"
has "doctor: names the port" "^fail +port +UDP port 31249 is taken"
exec 4>&-
wait $holder
works "nothing is left of it" h2 group show
has "not even the group" "no groups in this network namespace"
works "up when the port is free" h2 up "$dir/a.conf"
for what in "add x id 3" "del digits" "down digits"; do
	# shellcheck disable=SC2086 # words
	inside h0 setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$tally" group $what >"$dir/out" 2>"$dir/err"
	[ $? -eq 1 ] && grep -q "run this as root" "$dir/err"
	result $? "without privilege: $what"
done
inside h0 setpriv --reuid 65534 --regid 65534 --clear-groups \
	"$tally" show >"$dir/out" 2>"$dir/err"
result $? "without privilege: show"
has "without privilege: sees the group" "group digits"

# One of two groups cannot come up: neither is there.
refused "the second group of a file fails" "raise net.tally.mem_max" \
	h1 up <(printf '[group one]\nid=21\n[member 0]\naddress=10.9.0.2\n'
		printf '[group big]\nid=22\nmax_bytes=1G\nwindow=64\n'
		printf '[member 0]\naddress=10.9.0.2\n')
works "groups after that" h1 group show
hasnt "the first is not there either" "one|big"
has "the one before is as it was" "7 +digits +yes"
refused "the MTU is too small" "ip link set dev eth0 mtu 9052" \
	h1 up <(printf '[group wide]\nid=23\npayload=8960\n'
		printf '[member 0]\naddress=10.9.0.1\n'
		printf '[member 1]\naddress=10.9.0.2\n')

# Saved and loaded.
cp "$dir/a.conf" "$dir/saved.conf"
works "save" h3 conf save "$dir/saved.conf"
works "down" h3 down "$dir/a.conf"
works "down again" h3 down "$dir/a.conf"
works "load what was saved" h3 conf load "$dir/saved.conf"
cp "$dir/saved.conf" "$dir/again.conf"
works "save again" h3 conf save "$dir/again.conf"
cmp "$dir/saved.conf" "$dir/again.conf" >"$dir/out" 2>&1
result $? "both are the same"
works "sync with the first" h3 conf sync "$dir/a.conf"
works "IPv6 members" h3 conf load <(printf '[group six]\nid=6\n'
	printf '[member 0]\naddress=fd09::1\n[member 1]\naddress=fd09::2\n')
works "show them" h3 show six
has "IPv6 addresses" "1 +fd09::2 +31249"
works "remove" h3 group del six

for i in 0 1 2 3; do
	works "down on host $i" h$i down "$dir/a.conf"
done
works "nothing is left" h0 group show
has "no groups" "no groups in this network namespace"
echo "1..$n"
exit $failed
