#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Run paths.routes in a network namespace of its own, with these devices.
set -eu
cd "$(dirname "$0")/../.."
transcript=${B:-build}/selftests/cli/transcript

if [ "${1-}" != inside ]; then
	# As root, or as whoever may be root in a user namespace.
	for how in -n -rn; do
		if unshare $how true 2>/dev/null; then
			exec unshare $how "$0" inside "$@"
		fi
	done
	echo "1..0 # SKIP no network namespace can be made here"
	exit 0
fi
shift
ip link set lo up
ip link add wide type veth peer name wide-peer
ip link add narrow mtu 1400 type veth peer name narrow-peer
for d in wide wide-peer narrow narrow-peer; do
	# No waiting for duplicate address detection.
	echo 0 >"/proc/sys/net/ipv6/conf/$d/accept_dad"
	ip link set "$d" up
done
ip address add 10.9.0.1/24 dev wide
ip address add fd09::1/64 dev wide nodad
ip route add 10.9.1.0/24 via 10.9.0.2 mtu 1300
ip route add 10.9.2.0/24 dev narrow
ip route add unreachable 10.9.3.0/24
exec "$transcript" -r "$@" selftests/cli/paths.routes
