#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Download Debian packages and unpack them below build/, so that a 6.12 kernel
# for the guest and for module builds is there without the host being changed:
#
#   selftests/vm/fetch.sh [kernel|source|tarball|data]...
#                                              (default: kernel source data)
#
#   kernel   build/kernel/{bzImage,modules,headers,release}
#   source   build/kernel/source: what tests use of the kernel's source tree
#   tarball  build/kernel/linux-source.tar.xz, the whole of it
#   data     build/data/digits.csv.gz
#
# The mirror is the one that the machine's own apt sources name. Debian 12 has
# the kernel in its backports suite, Debian 13 in its main one. Needs no root.
set -euo pipefail

# Raised when the layout below changes: an older one is then made anew.
layout=1

top=$(cd "$(dirname "$0")/../.." && pwd)
kdir=$top/build/kernel
data=$top/build/data
apt=$top/build/apt

die()
{
	echo "fetch: $1" >&2
	shift
	for line; do echo "       $line" >&2; done
	exit 1
}

done_already()
{
	[ "$(cat "$1" 2>/dev/null)" = "layout $layout" ]
}

# The base address of the machine's own Debian mirror: the first source whose
# suite is the installed release. Reads both formats of apt's sources.
mirror()
{
	local codename=$1

	{ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} \
		2>/dev/null || true; } | awk -v codename="$codename" '
	function offer(uri, suite) {
		sub(/\/$/, "", suite)
		if (suite == codename || suite == "stable" ||
		    suite == "oldstable") {
			print uri
			exit
		}
	}
	$1 == "deb" {
		i = 2
		if ($i ~ /^\[/)
			while ($(i++) !~ /\]$/)
				;
		offer($i, $(i + 1))
	}
	$1 == "Types:" { uris = ""; suites = "" }
	$1 == "URIs:" { uris = $2 }
	$1 == "Suites:" { suites = $0 }
	($1 == "URIs:" || $1 == "Suites:") && uris != "" && suites != "" {
		n = split(suites, s)
		for (i = 2; i <= n; i++)
			offer(uris, s[i])
	}'
}

# Keys that this machine trusts for that mirror.
keyrings()
{
	local uri=$1 from

	from=$(grep -rlF "$uri" /etc/apt/sources.list \
		/etc/apt/sources.list.d 2>/dev/null) || true
	{
		ls /usr/share/keyrings/debian-archive-keyring.gpg \
		   /etc/apt/trusted.gpg.d/*.{gpg,asc} 2>/dev/null || true
		# shellcheck disable=SC2086 # a list of files
		grep -hioP 'signed-by[=:] *\K/[^] ,]+' $from || true
	} | sort -u | paste -sd,
}

# apt with sources, lists and cache of its own; the machine's proxy settings
# and the like stay in force.
aptx()
{
	local tool=$1

	shift
	"$tool" -q -o Dir::Etc::SourceList="$apt/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null -o Dir::State="$apt/state" \
		-o Dir::State::Status=/dev/null -o Dir::Cache="$apt/cache" \
		-o APT::Sandbox::User= -o Acquire::Languages=none \
		-o Acquire::Retries=4 -o Acquire::http::Timeout=60 \
		-o APT::Architecture=amd64 -o APT::Architectures::=amd64 "$@"
}

apt_ready=
apt_setup()
{
	local codename uri keys suite

	[ -z "$apt_ready" ] || return 0
	command -v apt-get >/dev/null || die "this needs Debian's apt-get"
	# shellcheck disable=SC1091 # the machine's
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	uri=$(mirror "$codename")
	[ -n "$uri" ] || die "no source for Debian '$codename' in /etc/apt" \
		"add one ('deb MIRROR $codename main') and run this again"
	keys=$(keyrings "$uri")

	mkdir -p "$apt"/{state/lists/partial,cache/archives/partial,deb}
	for suite in "$codename" "$codename-backports"; do
		# Later releases have the kernel in the suite itself.
		[ "$suite" != "$codename-backports" ] ||
			[ "$codename" = bookworm ] || continue
		echo "deb [${keys:+signed-by=$keys}] $uri $suite main"
	done | sed 's/ \[\]//' >"$apt/sources.list"

	echo "fetch: reading the package lists of $uri"
	aptx apt-get update -o APT::Update::Error-Mode=any \
		>"$apt/log" 2>&1 || {
		tail -n 5 "$apt/log" >&2
		die "the mirror $uri cannot be reached or read" \
		    "check the network and /etc/apt, then run this again"
	}
	apt_ready=1
}

# The newest 6.12 for which image and headers are both there.
release_of_mirror()
{
	local names rel

	names=$(aptx apt-cache pkgnames linux-)
	while read -r rel; do
		grep -qxE "linux-image-${rel//+/\\+}(-unsigned)?" \
			<<<"$names" || continue
		echo "$rel"
		return
	done < <(sed -nE 's/^linux-headers-(6\.12\.[^-]*-amd64)$/\1/p' \
		 <<<"$names" | sort -Vr)
	die "the mirror has no linux-headers-6.12.*-amd64 with its image" \
	    "Debian 12 needs the bookworm-backports suite on its mirror"
}

# Download packages into $apt/deb, which is emptied by the callers: a .deb is
# of no use once it is unpacked.
download()
{
	local bytes

	bytes=$(aptx apt-cache show --no-all-versions "$@" |
		awk '$1 == "Size:" { s += $2 } END { print s }')
	echo "fetch: downloading $((bytes / 1000000)) MB: $*"
	(cd "$apt/deb" && aptx apt-get download "$@") >"$apt/log" 2>&1 || {
		tail -n 5 "$apt/log" >&2
		die "the download failed; run this again to go on"
	}
}

fetch_kernel()
{
	local rel image deb new=$kdir/root.new hdr

	! done_already "$kdir/.kernel" || return 0
	apt_setup
	rel=$(release_of_mirror)
	image=linux-image-$rel
	grep -qx "$image" <<<"$(aptx apt-cache pkgnames "$image")" ||
		image=$image-unsigned
	download "$image" "linux-headers-$rel" \
		"linux-headers-${rel%-amd64}-common" \
		"linux-kbuild-${rel%-amd64}"

	rm -rf "$new" "$kdir"/.kernel
	mkdir -p "$new"
	for deb in "$apt"/deb/linux-*.deb; do
		dpkg-deb -x "$deb" "$new"
		rm "$deb"
	done

	# Packages of Debian 12 have /lib, those of 13 /usr/lib.
	[ -e "$new/lib" ] || ln -s usr/lib "$new/lib"

	# The build folder includes the common one by its installed path.
	hdr=$new/usr/src/linux-headers-$rel
	# shellcheck disable=SC2016 # for make to expand
	printf 'include %s%s/Makefile\n' \
		'$(dir $(realpath $(lastword $(MAKEFILE_LIST))))../' \
		"linux-headers-${rel%-amd64}-common" >"$hdr/Makefile"
	for f in vmlinux tools/bpf/resolve_btfids/resolve_btfids \
		 scripts/mod/modpost Module.symvers; do
		[ -e "$hdr/$f" ] || die "linux-headers-$rel has no $f"
	done
	PATH=$PATH:/sbin:/usr/sbin depmod -b "$new" "$rel"

	rm -rf "$kdir/root"
	mv "$new" "$kdir/root"
	ln -sfn "root/usr/src/linux-headers-$rel" "$kdir/headers"
	ln -sfn "root/boot/vmlinuz-$rel" "$kdir/bzImage"
	ln -sfn "root/lib/modules/$rel" "$kdir/modules"
	ln -sfn "root/boot/config-$rel" "$kdir/config"
	echo "$rel" >"$kdir/release"
	echo "layout $layout" >"$kdir/.kernel"
	echo "fetch: $rel is in build/kernel"
}

fetch_tarball()
{
	! done_already "$kdir/.tarball" || return 0
	apt_setup
	download linux-source-6.12
	mkdir -p "$kdir"
	dpkg-deb --fsys-tarfile "$apt"/deb/linux-source-6.12_*.deb |
		tar -xO ./usr/src/linux-source-6.12.tar.xz \
		>"$kdir/linux-source.tar.xz"
	rm "$apt"/deb/linux-source-6.12_*.deb
	echo "layout $layout" >"$kdir/.tarball"
}

fetch_source()
{
	local new=$kdir/source.new

	! done_already "$kdir/.source" || return 0
	fetch_tarball
	echo "fetch: unpacking kselftest, checkpatch and ynl"
	rm -rf "$new"
	mkdir -p "$new"
	tar -xf "$kdir/linux-source.tar.xz" -C "$new" --strip-components=1 \
		--wildcards --no-wildcards-match-slash \
		'linux-source-*/COPYING' \
		'linux-source-*/Documentation/netlink/*.yaml' \
		'linux-source-*/scripts/checkpatch.pl' \
		'linux-source-*/scripts/const_structs.checkpatch' \
		'linux-source-*/scripts/kernel-doc' \
		'linux-source-*/scripts/spelling.txt' \
		'linux-source-*/tools/net/ynl' \
		'linux-source-*/tools/scripts' \
		'linux-source-*/tools/testing/selftests/kselftest' \
		'linux-source-*/tools/testing/selftests/kselftest*.h' \
		'linux-source-*/tools/testing/selftests/lib.mk' \
		'linux-source-*/tools/testing/selftests/net/lib' \
		'linux-source-*/tools/testing/selftests/net/lib.sh'
	rm -rf "$kdir/source"
	mv "$new" "$kdir/source"
	echo "layout $layout" >"$kdir/.source"
}

fetch_data()
{
	! done_already "$data/.data" || return 0
	apt_setup
	download python3-sklearn
	mkdir -p "$data"
	dpkg-deb --fsys-tarfile "$apt"/deb/python3-sklearn_*.deb |
		tar -xO --wildcards '*/datasets/data/digits.csv.gz' \
		>"$data/digits.csv.gz"
	gzip -t "$data/digits.csv.gz" ||
		die "python3-sklearn holds no sound digits.csv.gz"
	rm "$apt"/deb/python3-sklearn_*.deb
	echo "layout $layout" >"$data/.data"
}

[ $# -gt 0 ] || set -- kernel source data
for part; do
	case $part in
	kernel | source | tarball | data) ;;
	*) die "usage: $0 [kernel|source|tarball|data]..." ;;
	esac
done

# One at a time: several targets of one make may want the same parts.
mkdir -p "$apt/deb" "$kdir"
exec 9>"$apt/lock"
flock -w 900 9 || die "another fetch has held $apt/lock for 15 minutes"
for part; do
	"fetch_$part"
done
