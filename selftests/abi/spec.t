#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The netlink spec against the headers and, in the guest, the module.

Reads kmod/tally.yaml with the kernel's own YNL library and JSON schema, and
prints TAP.  Without /dev/tally the second part is skipped.
"""

import ctypes
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
SOURCE = os.path.join(TOP, "build/kernel/source")
SPEC = os.path.join(TOP, "kmod/tally.yaml")
SCHEMA = os.path.join(SOURCE, "Documentation/netlink/genetlink.yaml")
CLONE_NEWNET = 0x40000000

sys.path.insert(0, os.path.join(SOURCE, "tools/net/ynl"))
from lib import SpecFamily, YnlFamily, NlError  # noqa: E402

count = 0
failed = 0


def check(good, name, more=""):
    """Print one line of TAP."""
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} {name}", flush=True)
    if not good and more:
        print(f"# {more}")


def header(path):
    """A header's text, continued lines joined, comments gone."""
    with open(os.path.join(TOP, "include", path), encoding="ascii") as f:
        text = f.read()
    return re.sub(r"/\*.*?\*/", "", text.replace("\\\n", ""), flags=re.S)


def enum(text, prefix):
    """Names of the enum's values below its end, in order."""
    body = re.search(r"\{\s*" + prefix + r"UNSPEC,(.*?)__" + prefix + "END",
                     text, re.S).group(1)
    return [name[len(prefix):].lower().replace("_", "-")
            for name in re.findall(r"\b" + prefix + r"\w+", body)]


def macro(text, name):
    """First arguments of the X-macro's entries, in order."""
    body = re.search(r"#define " + name + r"\(X\)(.*)", text).group(1)
    return [x.lower().replace("_", "-")
            for x in re.findall(r"X\((\w+)", body)]


def attributes(spec, name):
    """Names of an attribute set in the order of their numbers."""
    attrs = [a for _, a in spec.attr_sets[name].items()]
    return [a.name for a in sorted(attrs, key=lambda a: a.value)]


def against_headers(spec):
    """Everything has the number that C gives it."""
    uapi = header("uapi/linux/tally.h")
    for name, prefix in (("tally", "TALLY_A_"), ("group", "TALLY_A_GROUP_"),
                         ("member", "TALLY_A_MEMBER_"),
                         ("stats", "TALLY_A_STATS_"),
                         ("event", "TALLY_A_EVENT_")):
        want, have = enum(uapi, prefix), attributes(spec, name)
        check(want == have, f"attributes__{name}", f"{want} {have}")
    want = enum(uapi, "TALLY_CMD_")
    have = [m.name for m in sorted(spec.msgs.values(),
                                   key=lambda m: m.value)]
    check(want == have, "commands", f"{want} {have}")
    want = enum(uapi, "TALLY_EVENT_")
    have = [e.name for e in spec.consts["event-kind"].entries.values()]
    check(want == have, "event_kinds", f"{want} {have}")
    want, have = macro(uapi, "TALLY_COUNTS"), attributes(spec, "counts")
    check(want == have, "counts", f"{want} {have}")
    want = macro(header("tally/drops.h"), "TALLY_DROPS")
    check(want == attributes(spec, "drops"), "drops")


def against_module():
    """A group from creation to deletion, by the names of the spec."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")
    os.system("ip link set lo up")
    ynl = YnlFamily(SPEC, SCHEMA)
    # The library loses its way when answers and events come by one socket.
    listener = YnlFamily(SPEC, SCHEMA)
    listener.ntf_subscribe("events")
    group = {"group": {"id": 3}}
    ynl.do("group-new", {"group": {"id": 3, "name": "three",
                                   "max-bytes": 4096}})
    for rank in (0, 5):
        ynl.do("member-new", group | {"member": {
            "rank": rank, "addr4": "7f000001"}})
    ynl.do("group-up", group)
    try:
        ynl.do("member-del", group | {"member": {"rank": 0}})
        check(False, "member_del__while_up")
    except NlError as e:
        check("take it down" in e.nl_msg.extack.get("msg", ""),
              "member_del__while_up", str(e))
    have = ynl.do("group-get", group)["group"]
    ranks = [next(iter(m.values()))["rank"] for m in have["members"]]
    check(have["name"] == "three" and have["max-bytes"] == 4096 and
          "up" in have and have["bytes"] > 4096 and ranks == [0, 5],
          "group_get", str(have))
    have = ynl.do("stats-get", group)["stats"]
    check(have["group"] == 3 and have["drops"]["tag"] == 0 and
          have["counts"]["send-errors"] == 0, "stats_get", str(have))
    check(len(ynl.dump("stats-get", {})) == 2 and
          len(ynl.dump("group-get", {})) == 1, "dumps")
    ynl.do("group-del", group)
    listener.check_ntf()
    events = [e["msg"]["event"]["kind"] for e in listener.async_msg_queue]
    check(events == ["up", "down"], "events", str(events))
    check(ynl.dump("group-get", {}) == [], "group_del")


def main():
    """Run both parts."""
    print("TAP version 13")
    against_headers(SpecFamily(SPEC, SCHEMA))
    if os.path.exists("/dev/tally"):
        against_module()
    print(f"1..{count}")
    return failed > 0


sys.exit(main())
