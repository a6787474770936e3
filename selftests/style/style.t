#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What a kernel reviewer would run first: checkpatch --strict, W=1 and sparse,
# and a licence in the first line of every file.
#
# checkpatch is not run on the library's header, on tracepoints (macros of a
# form of their own) and on kernel names for userspace.  It is told to ignore:
#   FILE_PATH_CHANGES, SPDX_LICENSE_TAG	it knows the kernel's folders only
#   CAMELCASE, MACRO_ARG_REUSE, MULTISTATEMENT_MACRO_USE_DO_WHILE,
#   COMPLEX_MACRO	lists that are given a macro to apply (X macros)
#   PREFER_KERNEL_TYPES	headers that userspace and BPF include, too
#   PREFER_DEFINED_ATTRIBUTE_MACRO, BIT_MACRO, VOLATILE	likewise
#   MACRO_ARG_UNUSED	X macros again: each user takes the columns it needs
#   LINUX_VERSION_CODE	the module is built for several kernels
set -u
checkpatch=build/kernel/source/scripts/checkpatch.pl
ignore=FILE_PATH_CHANGES,SPDX_LICENSE_TAG,CAMELCASE,MACRO_ARG_REUSE
ignore=$ignore,MULTISTATEMENT_MACRO_USE_DO_WHILE,COMPLEX_MACRO
ignore=$ignore,PREFER_KERNEL_TYPES,PREFER_DEFINED_ATTRIBUTE_MACRO,BIT_MACRO
ignore=$ignore,VOLATILE,MACRO_ARG_UNUSED,LINUX_VERSION_CODE,CONSTANT_COMPARISON
out=$(mktemp)
trap 'rm -f "$out"' EXIT
n=0
failed=0

result() # STATUS NAME
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/# /' "$out"
		failed=1
	fi
}

files=$(git ls-files 2>/dev/null | grep -E '^(kmod|include)/.*\.[ch]$' |
	grep -vE '^(include/tally/tally|kmod/trace|kmod/engine/port_user).h$')
[ -n "$files" ] || files=$(find kmod include -name '*.[ch]')

# shellcheck disable=SC2086 # a list of files
perl "$checkpatch" --no-tree --strict --terse --show-types --quiet \
	--ignore "$ignore" -f $files > "$out" 2>&1
status=$?
sed -i '/^total: /d' "$out"
result $status "checkpatch --strict is clean on kmod and include"

# From scratch, so that nothing is left out; the folder is this test's own.
rm -rf build/kmod-style
make -s modules kmod-of=build/kmod-style KFLAGS='W=1 C=2' > "$out" 2>&1
status=$?
# The kernel's own remark on external modules without a vmlinux is none of ours.
if [ $status = 0 ] && grep -E 'warning:|error:' "$out" > /dev/null; then
	status=1
fi
result $status "the module builds without a warning under W=1 and sparse"

: > "$out"
for f in $(git ls-files 2>/dev/null |
	   grep -E '(\.[ch]|\.mk|\.sh|\.t|\.py|Makefile|Kbuild|\.yaml)$'); do
	head -n 2 "$f" | grep -q SPDX-License-Identifier || echo "$f" >> "$out"
done
[ ! -s "$out" ]
result $? "every source names its licence"

git ls-files 2>/dev/null | grep -E '\.[ch]$' | xargs wc -l |
	awk '$2 != "total" && $1 > 700' > "$out"
[ ! -s "$out" ]
result $? "no source is longer than 700 lines"

echo "1..$n"
exit $failed
