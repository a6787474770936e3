#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The manual pages are free of errors and name every command and key.
set -u
cd "$(dirname "$0")/../.." || exit 1
n=0
fail=0

result()
{
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		fail=1
	fi
}

for page in userspace/man/tally.8 userspace/man/tally.conf.5; do
	if command -v mandoc >/dev/null; then
		# Whether other pages are installed here says nothing.
		out=$(mandoc -T lint -W style "$page" 2>&1 |
			grep -v 'outdated mandoc.db\|referenced manual not found')
		[ -z "$out" ] || echo "$out" | sed 's/^/# /'
		[ -z "$out" ]
		result $? "$page: mandoc -T lint"
	elif command -v groff >/dev/null; then
		out=$(groff -mandoc -ww -z -Tutf8 "$page" 2>&1)
		[ -z "$out" ] || echo "$out" | sed 's/^/# /'
		[ -z "$out" ]
		result $? "$page: groff -ww"
	else
		n=$((n + 1))
		echo "ok $n - $page # SKIP neither mandoc nor groff"
	fi
done

# Commands as the help has them: one word in small letters, or two.
missing=
count=0
while read -r first second; do
	case $second in
	load | save | sync) command="conf .*$second" ;;
	add | set | del | up | down | show | attach | detach | status)
		command="$first .*$second" ;;
	*)	command=$first ;;
	esac
	count=$((count + 1))
	[ "$first" = help ] ||
		grep -q "^\.It Cm \(.* \)\?$command\b" userspace/man/tally.8 ||
		missing="$missing $first-$second"
done <<EOF
$(awk '/^\$/ { on = ($0 == "$ tally help") }
	on && /^\|   [a-z]/ { print $2, $3 }' selftests/cli/usage.script)
EOF
[ -z "$missing" ] || echo "# not in tally.8:$missing"
[ -z "$missing" ] && [ "$count" -gt 15 ]
result $? "tally.8 names every command"

missing=
count=0
for key in $(grep -o '; keys are .*' selftests/cli/group.script |
	sed 's/; keys are //' | tr ' ' '\n' | sort -u); do
	count=$((count + 1))
	grep -q "^\.It Cm $key\$" userspace/man/tally.conf.5 ||
		missing="$missing $key"
done
[ -z "$missing" ] || echo "# not in tally.conf.5:$missing"
[ -z "$missing" ] && [ "$count" -gt 10 ]
result $? "tally.conf.5 names every key"

echo "1..$n"
exit $fail
