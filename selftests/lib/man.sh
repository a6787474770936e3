#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The library's manual pages are free of errors, name every function and
# structure, and their example compiles.
set -u
cd "$(dirname "$0")/../.." || exit 1
n=0
fail=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT

result()
{
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		sed 's/^/# /' "$out"
		echo "not ok $n - $2"
		fail=1
	fi
	: >"$out"
}

for page in userspace/man/*.3 userspace/man/libtally.7; do
	if command -v mandoc >/dev/null; then
		mandoc -T lint -W style "$page" 2>&1 |
			grep -v 'outdated mandoc.db\|referenced manual not found' \
			>"$out"
	elif command -v groff >/dev/null; then
		groff -mandoc -ww -z -Tutf8 "$page" >"$out" 2>&1
	else
		n=$((n + 1))
		echo "ok $n - $page # SKIP neither mandoc nor groff"
		continue
	fi
	[ ! -s "$out" ]
	result $? "$page is well-formed"
done

# In a NAME section and a SYNOPSIS, so that man(1) finds it and it is shown.
count=0
for f in $(sed -n '/global:/,/local:/s/^[[:space:]]*\(tally_[a-z0-9_]*\);$/\1/p' \
		userspace/lib/libtally.map); do
	count=$((count + 1))
	grep -q "^\.Nm $f\( ,\)\?$" userspace/man/*.3 &&
		grep -q "^\.F[no] $f\( \|$\)" userspace/man/*.3 ||
		echo "$f" >>"$out"
done
[ ! -s "$out" ] && [ $count -gt 40 ]
result $? "every function has its page"

# Every field of the structures that programs read is explained somewhere.
sed -n '/^struct tally_report {/,/^};/s/.*[[:space:]]\([a-z0-9_]*\)\(\[.*\]\)\?;$/\1/p
	/^struct tally_call_opts {/,/^};/s/.*[[:space:]*]\([a-z0-9_]*\);$/\1/p' \
	include/tally/tally.h | grep -v '^size$\|^__' | while read -r field; do
	grep -q "\b$field\b" userspace/man/tally_report.3 \
		userspace/man/tally_collectives.3 || echo "$field"
done >"$out"
[ ! -s "$out" ]
result $? "every field of reports and options is explained"

# Whoever decides a step by what is not equal at all ranks drifts apart.
common=$(sed -n '/^\.Ss What all ranks/,/^\.Ss Text/p' \
	userspace/man/tally_report.3)
sed -n '/^struct tally_report {/,/^};/s/.*[[:space:]]\([a-z0-9_]*\)\(\[.*\]\)\?;$/\1/p' \
	include/tally/tally.h | grep -v '^size$' | while read -r field; do
	echo "$common" | grep -q "^\.Va.* $field\b" || echo "$field"
done >"$out"
[ ! -s "$out" ]
result $? "of every field of a report it says whether all ranks have the same"

for page in libtally.7 tally_open.3; do
	grep -q '^\.Xr fork 2' userspace/man/$page || echo "$page"
done >"$out"
[ ! -s "$out" ]
result $? "the pages say what a child may not do"

# How a call may end: the same in the header and in the manual.
for error in EBADMSG ECANCELED ECONNABORTED EHOSTDOWN EINVAL EMSGSIZE ENODEV \
		EPROTO ERANGE ESTALE ETIMEDOUT; do
	sed -n '/^ \* Get on with the member/,/^int tally_test/p' \
		include/tally/tally.h | grep -q -- "^ \* -.*$error" ||
		echo "tally.h: $error"
	sed -n '/^\.Sh ERRORS/,/^Initialising/p' \
		userspace/man/tally_collectives.3 |
		grep -q "^\.It Bq Er .*$error" || echo "manual: $error"
done >"$out"
[ ! -s "$out" ]
result $? "the header and the manual name how a call may end"

make -s build/selftests/lib/example >"$out" 2>&1
result $? "the example of libtally.7 compiles without a warning"

build/selftests/lib/example >"$out" 2>&1
[ $? -eq 2 ] && grep -q '^usage: ' "$out"
result $? "and runs"

echo "1..$n"
exit $fail
