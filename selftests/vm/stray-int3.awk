# SPDX-License-Identifier: GPL-2.0-only
#
# Exits 0 if the first fault of a kernel log is a breakpoint trap at an address
# that holds no breakpoint. The kernel patches its text behind an int3, and the
# emulator may keep a translation of that int3 when it has long been replaced:
# it drops the page's translations before it writes, not after, so another CPU
# can translate the old byte in between.  A processor cannot do that, nor can
# code under test: a jump astray into padding finds 0xcc before the marked byte.

!seen && /Oops|BUG:|WARNING:|int3: 0000/ { seen = 1; trap = /int3: 0000 / }
trap && /Code: .* <[0-9a-f][0-9a-f]>/ {
	sub(/ <.*/, "")
	stray = !/ cc$/
	exit
}
seen && !trap { exit }

END { exit !stray }
