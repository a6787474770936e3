# SPDX-License-Identifier: GPL-2.0-only
#
# Prints the lines of a kernel log that tell of a fault, and some that follow
# each, and exits 1 if there are any. Looks only at what lies between the guest's begin and end marks.
# Reads the token and the allowed expression from the environment, where they
# keep their backslashes.

BEGIN {
	token = ENVIRON["token"]
	allow = ENVIRON["allow"]
	fault = "WARNING:|BUG:|[]] BUG |Oops|Kernel panic|general protection|" \
		"unable to handle|invalid opcode|double fault|Bad page|" \
		"possible circular locking|possible recursive locking|" \
		"inconsistent lock state|possible irq lock inversion|" \
		"irq-safe -> .*irq-unsafe|suspicious RCU usage|" \
		"held lock freed|bad unlock balance|bad contention|" \
		"lock held when returning|still held|locks held|" \
		"Invalid wait context|nested lock was not taken|" \
		"DEBUG_LOCKS_WARN_ON|INFO: trying to register|" \
		"INFO: possible|Voluntary context switch|" \
		"sleeping function called|scheduling while atomic|" \
		"INFO: task .* blocked|detected (expedited )?stalls|" \
		"self-detected stall|soft lockup|hard LOCKUP|" \
		"KASAN|KCSAN|KMSAN|KFENCE|UBSAN|ODEBUG|refcount_t|" \
		"ref_tracker|list_(add|del) corruption|" \
		"unregister_netdevice: waiting|page allocation failure|" \
		"kmemleak: +[1-9][0-9]* new|kmemleak: unreferenced object"
	trace = "Call Trace"
}

index($0, "tally-vm: begin " token) { on = 1; next }
index($0, "tally-vm: end " token) { on = 0 }
!on { next }

# An allowed line excuses the stack that is printed below it, nothing more.
allow != "" && $0 ~ allow { excused = NR + 40; next }
$0 ~ trace && NR <= excused { excused = 0; next }
$0 ~ fault || $0 ~ trace { found = 1; shown = NR + 24 }
NR <= shown

END { exit found }
