#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What programs link against: symbols, sizes, headers, pkg-config, examples.
set -u
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
lib=build/userspace/lib/libtally.so
flags="-Iinclude -Iinclude/uapi -Wall -Wextra -Wno-unused-parameter -Werror"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0
fail=0

result()
{
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		sed 's/^/# /' "$work/out"
		echo "not ok $n - $2"
		fail=1
	fi
	: >"$work/out"
}

skip()
{
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

: >"$work/out"

sed -n '/global:/,/local:/s/^[[:space:]]*\(tally_[a-z0-9_]*\);$/\1/p' \
	userspace/lib/libtally.map | sort >"$work/map"
nm -D --defined-only $lib | awk '$2 == "T" { sub("@.*", "", $3); print $3 }' |
	sort >"$work/exports"
diff "$work/map" "$work/exports" >"$work/out" && [ -s "$work/map" ]
result $? "exports are those of the version map"

nm -D --defined-only $lib | awk '$2 != "A" && $3 !~ /@@TALLY_0\.1$/' \
	>"$work/out"
[ ! -s "$work/out" ]
result $? "every symbol has its version"

# Functions as the preprocessed header declares them.
# shellcheck disable=SC2086 # a list of words
echo '#include <tally/tally.h>' | $CC $flags -E -P -xc - |
	sed -n '/pragma GCC visibility push/,/pragma GCC visibility pop/p' |
	tr '\n;}' ' \n\n' |
	sed -n 's/.*[ *]\(tally_[a-z0-9_]*\)(.*)$/\1/p' | sort -u >"$work/header"
diff "$work/map" "$work/header" >"$work/out"
result $? "the header declares what is exported"

[ "$(objdump -p $lib | awk '$1 == "SONAME" { print $2 }')" = libtally.so.0 ]
result $? "the soname is libtally.so.0"

# A library neither prints nor ends its process.
nm -D --undefined-only $lib | awk '{ sub("@.*", "", $2); print $2 }' |
	grep -x 'v\{0,1\}f\{0,1\}printf\|puts\|putchar\|fputs\|fwrite\|perror\|v\{0,1\}syslog\|write\|exit\|_exit\|abort\|__assert_fail\|raise\|signal\|sigaction' \
	>"$work/out"
[ ! -s "$work/out" ]
result $? "nothing prints or exits"

$CC $flags -std=gnu11 -c -o "$work/sizes.o" selftests/lib/sizes.c \
	>"$work/out" 2>&1
result $? "structures have the sizes of this ABI"

cat >"$work/user.c" <<'EOF'
#include <tally/tally.h>
#include <string.h>
int main(void)
{
	struct tally_call_opts o = TALLY_OPTS(tally_call_opts, .weight = 2);
	struct tally *t;

	return strcmp(tally_version(), TALLY_LIB_VERSION) || o.size != sizeof(o)
	       || tally_open("process", &t) == 0;
}
EOF
# shellcheck disable=SC2046,SC2086 # lists of words
if command -v pkg-config >/dev/null; then
	PKG_CONFIG_PATH=build/userspace/lib $CC -std=c11 -Wall -Werror \
		-o "$work/user" "$work/user.c" \
		$(PKG_CONFIG_PATH=build/userspace/lib pkg-config --cflags \
		--libs libtally) >"$work/out" 2>&1 &&
		LD_LIBRARY_PATH=build/userspace/lib "$work/user"
	result $? "pkg-config's flags build a program, as C11"
else
	skip "pkg-config's flags build a program, as C11" "no pkg-config"
fi

if command -v "${CXX:-c++}" >/dev/null; then
	printf '%s\n' '#include <tally/tally.h>' \
		'int main() { return !*tally_version(); }' >"$work/user.cc"
	# shellcheck disable=SC2086
	"${CXX:-c++}" $flags -std=c++11 -o "$work/cc" "$work/user.cc" \
		-Lbuild/userspace/lib -ltally >"$work/out" 2>&1 &&
		LD_LIBRARY_PATH=build/userspace/lib "$work/cc"
	result $? "the header is C++11, too"
else
	skip "the header is C++11, too" "no C++ compiler"
fi

make -s install-lib DESTDIR="$work/root" PREFIX=/usr >"$work/out" 2>&1 &&
	printf '%s\n' '#include <tally/tally.h>' \
		'int main(void) { return !*tally_version(); }' |
	$CC -xc - -I"$work/root/usr/include" -L"$work/root/usr/lib" -ltally \
		-o "$work/inst" >>"$work/out" 2>&1 &&
	LD_LIBRARY_PATH=$work/root/usr/lib "$work/inst" &&
	[ -f "$work/root/usr/share/man/man7/libtally.7" ]
result $? "what is installed is enough to build against"

echo "1..$n"
exit $fail
