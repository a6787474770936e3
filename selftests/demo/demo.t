#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A short demonstration with either lane width, in the guest; what the trainer
# says when it cannot train; and that nothing is left behind.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
digits=$B/userspace/examples/digits
data=$B/data/digits.csv.gz
n=0
failed=0

if [ ! -e /sys/module/tally ]; then
	echo "1..0 # SKIP tally.ko is not loaded"
	exit 0
fi
if [ ! -e "$data" ]; then
	echo "1..0 # SKIP no $data: selftests/vm/fetch.sh data"
	exit 0
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

result()
{
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		failed=1
		sed 's/^/# /' "$dir/out"
	fi
}

# json TEXT EXPRESSION: of the report: s, p, t are its three runs
json()
{
	python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
s, p, t = r["single"], r["plain"], r["stop"]
if not eval("(" + sys.argv[2] + ")"):
    print(sys.argv[2])
    sys.exit(json.dumps(r))' "$dir/report.json" "$2" >"$dir/out" 2>&1
	result $? "$1"
}

# demo LANE EPOCHS
demo()
{
	rm -f "$dir/report.json"
	LANE=$1 EPOCHS=$2 userspace/examples/demo.sh "$dir" >"$dir/out" 2>&1
	result $? "$1: the demonstration ends well"
	tail -n 1 "$dir/out" >"$dir/last"
	mv "$dir/last" "$dir/out"
	grep -q '^demo: ok: accuracy .* weights ' "$dir/out"
	result $? "$1: its last line says so"
	json "$1: one process learns" 's["accuracy"] > 0.9'
	json "$1: so do four hosts" \
		'abs(p["accuracy"] - s["accuracy"]) <= 0.02'
	json "$1: and with one stopped" \
		'abs(t["accuracy"] - s["accuracy"]) <= 0.03'
	json "$1: all ranks have the same weights" \
		'len({k["digest"] for k in p["ranks"]}) == 1 and
		 len({k["digest"] for k in t["ranks"]}) == 1'
	json "$1: XDP summed" 'p["xdp_share"] > 0.9 and t["xdp_share"] > 0.9'
	json "$1: the late rank is named" \
		't["absent_rank"] == 2 and t["absent_steps"] >= 10'
	json "$1: it received state" 't["ranks"][2]["rejoins"] >= 1'
	json "$1: lane" 'all(k["lane"] == "'"$1"'" for k in p["ranks"])'
}

# says TEXT WORDS ARGUMENT...: the trainer fails with these words, one line
says()
{
	local text=$1 words=$2

	shift 2
	"$digits" --data "$data" "$@" >"$dir/out" 2>&1
	[ $? -eq 1 ] && [ "$(wc -l <"$dir/out")" -eq 1 ] &&
		grep -q "^digits: .*$words" "$dir/out"
	result $? "$text"
}

demo i32 6
demo i16 6

ip netns list >"$dir/out"
[ ! -s "$dir/out" ]
result $? "no namespace is left"
find /sys/fs/bpf -name '*prog*' >"$dir/out"
[ ! -s "$dir/out" ]
result $? "no program is left"

says "no such group" "rank 1: group 99 .*tally up FILE" --group 99 --rank 1
says "no such file" "No such file.*fetch.sh data" --data /nonexistent --single
"$digits" --data "$data" --group 7 --rank 4 >"$dir/out" 2>&1
[ $? -eq 2 ] && grep -q "^usage: digits" "$dir/out"
result $? "a rank out of range"
"$digits" --data "$data" --single --lane i7 >"$dir/out" 2>&1
[ $? -eq 2 ] && grep -q "digits: --lane i7: out of range" "$dir/out"
result $? "an unknown lane"

echo "1..$n"
exit $failed
