#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Complete lines as bash would, with a `tally` that knows two groups.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cat >"$dir/tally" <<'EOF'
#!/bin/sh
[ "$*" = "group show" ] || exit 1
echo "ID  NAME    UP  EPOCH"
echo " 7  digits  -       1"
echo " 9  -       -       1"
EOF
chmod +x "$dir/tally"
PATH=$dir:$PATH
# shellcheck source=/dev/null
. userspace/completion/tally.bash

n=0
fail=0

# Words of the line, the last is completed; "" for a new one.  Then "=" and
# what must be offered, sorted.
complete_line()
{
	local want got

	COMP_WORDS=()
	while [ "$1" != = ]; do
		COMP_WORDS+=("$1")
		shift
	done
	shift
	want=$*
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_tally
	got=$(printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' ')
	got=${got% }
	n=$((n + 1))
	if [ "$got" = "$want" ]; then
		echo "ok $n - completion: ${COMP_WORDS[*]}"
	else
		echo "not ok $n - completion: ${COMP_WORDS[*]}"
		echo "# expected: $want"
		echo "# actual:   $got"
		fail=1
	fi
}

complete_line tally "" = \
	conf doctor down group help member monitor show stats up version xdp
complete_line tally st = stats
complete_line tally -j m = member monitor
complete_line tally -j -h gr = group
complete_line tally help x = xdp
complete_line tally x y =
complete_line tally group "" = add del down set show up
complete_line tally group s = set show
complete_line tally group set "" = 9 digits
complete_line tally group set d = digits
complete_line tally group set digits b = bound
complete_line tally group set digits bound 5ms b =
complete_line tally group set digits bound 5ms "" = \
	epoch gid key_file max_bytes payload quorum settle timeout window
complete_line tally group add new "" = \
	bound epoch gid id key_file max_bytes payload quorum settle timeout \
	window
complete_line tally group add new id "" =
complete_line tally group add new gid roo = root
complete_line tally group add "" =
complete_line tally group up "" = 9 digits
complete_line tally group up digits "" =
complete_line tally member "" = add del
complete_line tally member del "" = 9 digits
complete_line tally member add digits "" =
complete_line tally member add digits 0 "" = address cap port
complete_line tally member add digits 0 address 10.0.0.1 "" = cap port
complete_line tally show "" = 9 digits
complete_line tally stats -i 2 "" = 9 digits
complete_line tally stats -i "" =
complete_line tally stats - = -a -h -i -j -n
complete_line tally monitor -t = -t
complete_line tally down - = -h -k
complete_line tally xdp attach l = lo
complete_line tally xdp attach lo "" = auto generic native
complete_line tally xdp detach lo "" =
complete_line tally conf sync selftests/cli/complet = \
	selftests/cli/completion.sh
complete_line tally up selftests/cli/complet = selftests/cli/completion.sh

# Every command of the help is offered.
help=$(awk '/^\$/ { on = $0 == "$ tally help" } on && /^\|   [a-z]/ { print $2 }' \
	selftests/cli/usage.script | sort -u | tr '\n' ' ')
# shellcheck disable=SC2086 # words
complete_line tally "" = ${help% }

# So are all keys that the command knows.
keys=$(grep -o '; keys are id.*' selftests/cli/group.script | head -n 1 |
	sed 's/; keys are //' | tr ' ' '\n' | sort | tr '\n' ' ')
# shellcheck disable=SC2086 # words
complete_line tally group add new "" = ${keys% }

echo "1..$n"
exit $fail
