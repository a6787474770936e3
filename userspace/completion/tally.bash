# SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
#
# bash completion for tally(8): install as
# /usr/share/bash-completion/completions/tally
# shellcheck shell=bash

_tally_groups()
{
	tally group show 2>/dev/null |
		awk 'NR > 1 && $1 ~ /^[0-9]+$/ { print $2 == "-" ? $1 : $2 }'
}

_tally_devices()
{
	local d

	for d in /sys/class/net/*; do
		[ ! -d "$d" ] || echo "${d##*/}"
	done
}

# $1: the words to choose from
_tally_choose()
{
	local line

	COMPREPLY=()
	while IFS= read -r line; do
		COMPREPLY+=("$line")
	done < <(compgen -W "$1" -- "$cur")
}

_tally_files()
{
	local line

	COMPREPLY=()
	compopt -o filenames 2>/dev/null
	while IFS= read -r line; do
		COMPREPLY+=("$line")
	done < <(compgen -f -- "$cur")
}

# Keys that were not given yet; $1: all of them, $2: first word behind the
# fixed ones
_tally_keys()
{
	local keys="$1" i

	for ((i = $2; i < ${#words[@]} - 1; i += 2)); do
		keys=" $keys "
		keys="${keys/ ${words[i]} / }"
	done
	_tally_choose "$keys"
}

# $1: number of the word among @words that is completed
_tally_group()
{
	local keys="epoch payload window max_bytes bound settle timeout quorum"

	keys+=" gid key_file"
	case ${words[1]} in
	add)	[ "$1" -gt 2 ] || return 0
		if (($1 % 2)); then
			_tally_keys "id $keys" 3
		elif [ "${words[$1 - 1]}" = key_file ]; then
			_tally_files
		elif [ "${words[$1 - 1]}" = gid ]; then
			_tally_choose "$(compgen -g)"
		fi ;;
	set)	if [ "$1" -eq 2 ]; then
			_tally_choose "$(_tally_groups)"
		elif (($1 % 2)); then
			_tally_keys "$keys" 3
		elif [ "${words[$1 - 1]}" = key_file ]; then
			_tally_files
		elif [ "${words[$1 - 1]}" = gid ]; then
			_tally_choose "$(compgen -g)"
		fi ;;
	del | up | down | show)
		[ "$1" -gt 2 ] || _tally_choose "$(_tally_groups)" ;;
	esac
}

_tally_member()
{
	case ${words[1]}$1 in
	add2 | del2)
		_tally_choose "$(_tally_groups)" ;;
	add[4-9])
		(($1 % 2)) || _tally_keys "address port cap" 4 ;;
	esac
}

_tally_complete()
{
	local n=$((${#words[@]} - 1))
	local commands="up down show stats monitor doctor group member conf"

	commands+=" xdp version help"
	if [[ $cur == -* ]]; then
		case ${words[0]} in
		stats)		_tally_choose "-j -h -a -i -n" ;;
		monitor)	_tally_choose "-j -h -n -t" ;;
		down)		_tally_choose "-h -k" ;;
		*)		_tally_choose "-j -h -V" ;;
		esac
		return
	fi
	if [ $n -eq 0 ]; then
		_tally_choose "$commands"
		return
	fi
	case ${words[0]} in
	help)		[ $n -gt 1 ] || _tally_choose "$commands" ;;
	up | down | doctor)
			_tally_files ;;
	show | stats | monitor)
			_tally_choose "$(_tally_groups)" ;;
	group)
		if [ $n -eq 1 ]; then
			_tally_choose "add set del up down show"
		else
			_tally_group $n
		fi ;;
	member)
		if [ $n -eq 1 ]; then
			_tally_choose "add del"
		else
			_tally_member $n
		fi ;;
	conf)
		if [ $n -eq 1 ]; then
			_tally_choose "load save sync"
		else
			_tally_files
		fi ;;
	xdp)
		case $n in
		1)	_tally_choose "attach detach status" ;;
		2)	_tally_choose "$(_tally_devices)" ;;
		3)	[ "${words[1]}" != attach ] ||
				_tally_choose "native generic auto" ;;
		esac ;;
	esac
}

_tally()
{
	local cur=${COMP_WORDS[COMP_CWORD]} words=() i

	COMPREPLY=()
	# Words before the present one, without options and their numbers.
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-[int])	((i++)) ;;
		-*)	;;
		*)	words+=("${COMP_WORDS[i]}") ;;
		esac
	done
	# A number is wanted.
	((i <= COMP_CWORD)) || return 0
	words+=("$cur")
	_tally_complete
}

complete -F _tally tally
