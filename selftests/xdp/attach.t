#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# tally xdp attach, detach, status: modes, MTU, other programs on the device.
# What needs libxdp's dispatcher is skipped where the kernel has none.
set -u
cd "$(dirname "$0")/../.." || exit 1

# Mounts of ours end with us.  nsenter leaves them alone; ip netns exec would
# not.
if [ -z "${TALLY_XDP_MOUNTS-}" ]; then
	TALLY_XDP_MOUNTS=1 exec unshare -m "$0" "$@"
fi
if [ "$(stat -f -c %T /sys/fs/bpf)" != bpf_fs ] &&
   ! mount -t bpf bpf /sys/fs/bpf; then
	echo "1..0 # SKIP no BPF file system"
	exit 0
fi

B=${B:-build}
tally=$PWD/$B/userspace/cli/tally
programs=$PWD/$B/selftests/xdp/slots.bpf.o
filter=/usr/lib/$(gcc -print-multiarch 2>/dev/null ||
	echo x86_64-linux-gnu)/bpf/xdpfilt_alw_all.o
dir=$(mktemp -d) || exit 1
n=0
failed=0
near=txa$$
far=txb$$

# shellcheck disable=SC2317 # called by trap
cleanup()
{
	ip netns del "$near" 2>/dev/null
	ip netns del "$far" 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT

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

skip()
{
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

in_near()
{
	nsenter --net=/run/netns/$near "$@"
}

# works TEXT WORDS...: `tally xdp WORDS` succeeds
works()
{
	local text=$1

	shift
	in_near "$tally" xdp "$@" >"$dir/out" 2>"$dir/err"
	result $? "$text"
}

# refused TEXT REGEX WORDS...: it fails with one line like this
refused()
{
	local text=$1 regex=$2

	shift 2
	! in_near "$tally" xdp "$@" >"$dir/out" 2>"$dir/err" &&
		[ "$(wc -l <"$dir/err")" -eq 1 ] &&
		grep -Eq "^tally: .*$regex" "$dir/err"
	result $? "$text"
}

# status TEXT KEY=VALUE...: what is on the device; VALUE in JSON
status()
{
	local text=$1 ok=0 pair

	shift
	in_near "$tally" -j xdp status v0 >"$dir/out" 2>"$dir/err" || ok=1
	for pair; do
		grep -Eq "\"${pair%%=*}\":[[:space:]]*${pair#*=}" \
			"$dir/out" || ok=1
	done
	result $ok "$text"
}

pair()
{
	ip netns add $near && ip netns add $far &&
		ip -n $near link add v0 type veth peer name v1 netns $far &&
		ip -n $near link set v0 up && ip -n $far link set v1 up
}

if ! pair; then
	echo "1..0 # SKIP no network namespaces or veth"
	exit 0
fi

status "nothing is attached" 'mode="none"' others=0
refused "detach nothing" "not there" detach v0
works "attach" attach v0
status "native by default" 'mode="native"' 'program="tally_host"' frags=false
works "attach again changes nothing" attach v0
grep -q . "$dir/err"
[ $? -eq 1 ] || [ ! -e /sys/module/tally ]
result $? "... and is silent when the module is bound"
refused "another mode is refused" "native mode" attach v0 generic
if [ -e /sys/module/tally ]; then
	status "calls the module" module=true
else
	status "does not call a module that is not loaded" module=false
fi
in_near bpftool map dump name verdicts >"$dir/out" 2>"$dir/err" &&
	grep -q '"foreign"' "$dir/out"
result $? "bpftool shows the counters by name"
works "detach" detach v0
status "it is gone" 'mode="none"'
! in_near ip -j link show v0 | grep -q '"xdp"'
result $? "the device carries no program"

works "attach in generic mode" attach v0 generic
status "generic" 'mode="generic"' 'program="tally_host"'
works "detach it" detach v0

ip -n $near link set v0 mtu 9000
ip -n $far link set v1 mtu 9000
works "attach at MTU 9000" attach v0 native
status "takes fragments" 'mode="native"' 'program="tally_frags"' frags=true
works "detach it" detach v0
works "attach at MTU 9000 in generic mode" attach v0 generic
status "takes fragments" 'mode="generic"' 'program="tally_frags"'
works "detach it" detach v0
ip -n $near link set v0 mtu 1500
ip -n $far link set v1 mtu 1500

in_near ip link set dev v0 xdpdrv obj "$programs" program bare_drop \
	>"$dir/out" 2>"$dir/err"
result $? "a plain program is there"
refused "it is named, with the remedy" \
	"'bare_drop' \(id [0-9]+\).*ip link set dev v0 xdpdrv off" attach v0
status "status names it" 'foreign="bare_drop"' 'mode="native"'
refused "detach leaves it alone" "'bare_drop'" detach v0
in_near ip link show v0 >"$dir/out" && grep -q bare_drop "$dir/out"
result $? "it is still there"
ip -n $near link set dev v0 xdpdrv off

refused "no such device" "no such device" attach nosuch0
refused "no such device to look at" "no such device" status nosuch0
in_near env LIBXDP_BPFFS="$dir" "$tally" xdp attach v0 >"$dir/out" 2>"$dir/err"
[ $? -eq 1 ] && grep -q "mount -t bpf" "$dir/err"
result $? "no BPF file system: named, with the remedy"
status "nothing was attached" 'mode="none"'

# The device says so itself: the loopback has no native XDP.
refused "no native mode" "" attach lo native
works "the loopback in generic mode" attach lo
works "detach it" detach lo

works "attach to see whether there is a dispatcher" attach v0
if ! in_near xdp-loader status v0 2>/dev/null | grep -q xdp_dispatcher; then
	works "detach" detach v0
	skip "beside another program" "this kernel has no dispatcher for libxdp"
	echo "1..$n"
	exit $failed
fi

# Below `ip netns exec` the dispatcher's pins are out of sight.
for verb in status attach detach; do
	ip netns exec $near "$tally" xdp $verb v0 >"$dir/out" 2>"$dir/err"
	[ $? -eq 1 ] && grep -q "no BPF file system.*nsenter" "$dir/err"
	result $? "$verb without the BPF file system: refused, with the remedy"
done
status "nothing has changed" 'program="tally_host"' 'mode="native"'

in_near xdp-loader load -m native v0 "$filter" >"$dir/out" 2>"$dir/err"
result $? "another program joins"
status "beside it" 'program="tally_host"' others=1
works "detach ours" detach v0
in_near xdp-loader status v0 >"$dir/out" 2>"$dir/err" &&
	grep -q xdpfilt_alw_all "$dir/out" && ! grep -q tally_ "$dir/out"
result $? "the other one stays"
works "join it again" attach v0
status "beside it" 'program="tally_host"' others=1
in_near xdp-loader status v0 >"$dir/out" 2>"$dir/err" &&
	grep -E "xdpfilt|tally" "$dir/out" | head -n 1 | grep -q "10 .*xdpfilt"
result $? "filters run before ours"
in_near xdp-loader unload v0 --all >"$dir/out" 2>"$dir/err"
status "all gone" 'mode="none"'

in_near xdp-loader load -m skb v0 "$filter" >"$dir/out" 2>"$dir/err"
result $? "another program in generic mode"
refused "native is refused" "generic mode" attach v0 native
works "auto takes the mode that is there" attach v0
status "generic, beside it" 'mode="generic"' others=1
works "detach ours" detach v0
in_near xdp-loader unload v0 --all >"$dir/out" 2>"$dir/err"
result $? "the other one is unloaded"

echo "1..$n"
exit $failed
