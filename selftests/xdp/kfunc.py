#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Contributions through XDP into the module, between four hosts.

Packets are made by the model of the vector files and sent from plain sockets.
What is wrong with one decides its counter; which path counted it is known from
the program's own counters.  Runs where tally.ko is loaded.
"""
import json
import os
import sys
import time

sys.dont_write_bytecode = True
import netns  # noqa: E402
from netns import VECTORS, Counts, Host, Tap, run  # noqa: E402

sys.path.insert(0, VECTORS)
from model import (EXP_NONE, I8, I16, PROBE, RAW, RELIABLE,  # noqa: E402
                   RESULT, W64, WEIGHT_MAX, Group, time_pack)
from slots import Case  # noqa: E402

PORT = 31249
KEY = bytes(range(16))
PLAIN, KEYED, FOREIGN = 7, 8, 9
PASSED, TAKEN = "contrib_passed", "contrib_taken"
MAX_BYTES = 65536
WORDS = 168     # one more still fits the MTU
# What owners do meanwhile about contributions that are missing.
NOISE = ("foreign", "fragment", "sent", "sent_bytes", "send_again",
         "nacks_sent", "nacks_served")
tap = Tap()


def address(rank):
    return f"10.9.0.{rank + 1}"


class World:
    """Four hosts on a bridge, each with one rank of two groups."""

    def __init__(self, folder):
        pid = os.getpid()
        self.all = []
        self.switch = self.add(f"txsw{pid}")
        run("ip", "-n", self.switch.name, "link", "add", "br0", "type",
            "bridge")
        run("ip", "-n", self.switch.name, "link", "set", "br0", "up")
        self.hosts = [self.add(f"txh{i}-{pid}") for i in range(4)]
        for i, host in enumerate(self.hosts):
            run("ip", "-n", host.name, "link", "add", "eth0", "type", "veth",
                "peer", "name", f"port{i}", "netns", self.switch.name)
            run("ip", "-n", self.switch.name, "link", "set", f"port{i}",
                "master", "br0", "up")
            run("ip", "-n", host.name, "addr", "add", f"{address(i)}/24",
                "dev", "eth0")
            run("ip", "-n", host.name, "link", "set", "eth0", "up")
        self.conf = os.path.join(folder, "groups.conf")
        with open(os.path.join(folder, "key"), "w",
                  opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write(KEY.hex() + "\n")
        with open(self.conf, "w") as f:
            for name, id, more in (("plain", PLAIN, ""),
                                   ("keyed", KEYED, "key_file = key\n")):
                f.write(f"[group {name}]\nid = {id}\n"
                        f"payload = {8 * WORDS}\nmax_bytes = {MAX_BYTES}\n"
                        f"bound = 20ms\ntimeout = 10min\n{more}")
                for i in range(4):
                    f.write(f"[member {i}]\naddress = {address(i)}\n")
        self.last = {}
        self.sockets = [h.udp_socket(address(i))
                        for i, h in enumerate(self.hosts)]

    def add(self, name):
        host = Host(name)
        self.all.append(host)
        return host

    def close(self):
        for host in self.hosts:
            host.tally("down", self.conf, check=False)
        for host in self.all:
            host.close()

    def send(self, rank, data, to=0):
        if not isinstance(data, bytes):
            data = data.bytes()
        self.sockets[rank].sendto(data, (address(to), PORT))

    def stats(self, to=0):
        """Counters of all groups and of none: {name: value}."""
        out = self.hosts[to].tally("-j", "stats").stdout
        sum = Counts()
        for one in json.loads(out)["stats"]:
            for kind in "counts", "drops":
                for name, value in one[kind].items():
                    sum[name] += value
        return sum


def expect(w, text, packets, want, path, to=0):
    """@packets: (rank that sends, packet).  @want: counters that rise."""
    before = w.last.get(to) or w.stats(to)
    path_before = w.hosts[to].verdicts()
    # Owners' questions, of which some come to ranks that have no answer.
    ignore = NOISE if "control" in want else \
        NOISE + ("control", "control_passed", "unwanted")
    for rank, data in packets:
        w.send(rank, data, to)
    for _ in range(50):
        w.last[to] = w.stats(to)
        got = w.last[to].since(before).without(ignore)
        if sum(got.values()) >= sum(want.values()):
            break
        time.sleep(0.1)
    went = w.hosts[to].verdicts().since(path_before).without(ignore)
    tap.result(got == want and went == path, text, f"wanted {want} {path}",
               f"counted {dict(got)} {dict(went)}")


def dropped(w, reason, packets, path=TAKEN, text=""):
    expect(w, f"{reason}{text}", packets, {reason: len(packets)},
           {path: len(packets)})


def kept(w, text, packets, to=0):
    expect(w, text, packets, {"xdp_contrib": len(packets)},
           {TAKEN: len(packets)}, to)


class Maker(Case):
    """Packets for one owner; reliable, so that time closes nothing."""

    def __init__(self, id, owner=0, key=None):
        super().__init__("made", Group("made", 0xf, 1 << owner, id=id,
                                       epoch=1, key=key), base=0)

    def contrib(self, rank, seq=0, **f):
        f.setdefault("flags", RELIABLE)
        return super().contrib(rank, seq=seq, **f)

    def changed(self, rank=1, **fields):
        p = self.contrib(rank)
        for name, value in fields.items():
            setattr(p, name, value)
        p.tag = self.group.tag(p)
        return p


def headers(w, m):
    """What is wrong with a header, and which path says so."""
    good = m.contrib(1).bytes()
    dropped(w, "truncated", [(1, good[:2]), (1, good[:63])], PASSED,
            ": no whole header")
    dropped(w, "truncated", [(1, good[:64]), (1, good[:127])], TAKEN,
            ": payload cut short")
    dropped(w, "oversized", [(1, good + bytes(8)), (1, good + bytes(1)),
                             (1, m.contrib(1, n=WORDS + 1))])
    expect(w, "version", [(1, m.changed(version=v)) for v in (0, 2, 255)],
           {"version": 3}, {"version": 3})
    expect(w, "type", [(1, m.changed(type=t)) for t in (0, 12, 255)],
           {"type": 3}, {"type": 3})
    dropped(w, "group", [(1, m.changed(group=FOREIGN))], PASSED)
    dropped(w, "epoch", [(1, m.changed(epoch=e)) for e in (0, 2)])
    dropped(w, "member", [(1, m.changed(rank=r)) for r in (4, 64, 65535)],
            text=": no such rank")
    dropped(w, "member", [(1, m.contrib(2)), (3, m.contrib(2))],
            text=": not from its address")
    dropped(w, "spoof", [(1, m.contrib(0))])
    dropped(w, "lane", [(1, m.changed(lane=x)) for x in (0, RAW, 6, 255)])
    dropped(w, "participants", [(1, m.changed(mask=x))
                                for x in (0, 0b1101, 0b11111)])
    dropped(w, "malformed", [
        (1, m.changed(weight=WEIGHT_MAX + 1)),
        (1, m.changed(bias=1 << 31)), (1, m.changed(exponent=EXP_NONE)),
        (1, m.changed(shard=4)), (1, m.contrib(1, n=0, exponent=0)),
        (1, m.contrib(1, lane=W64, exponent=1))])
    dropped(w, "malformed", [
        (1, m.contrib(1, words=[1 << 63] * 8, bias=1 << 29)),
        (1, m.contrib(1, lane=I8, words=[0x4000] * 8, bias=1 << 5))],
        text=": headroom bits")
    dropped(w, "owner", [(1, m.changed(shard=s)) for s in (1, 2, 3)])
    dropped(w, "chunk", [(1, m.contrib(1, chunk=MAX_BYTES)),
                         (1, m.contrib(1, chunk=0xffffffff))])


def slots(w, m):
    """What a slot says of good headers."""
    kept(w, "contributions are added by XDP",
         [(1, m.contrib(1)), (2, m.contrib(2)), (3, m.contrib(3, n=0))])
    dropped(w, "duplicate", [(1, m.contrib(1)), (3, m.contrib(3))])
    kept(w, "whole chunks and one of a word", [
        (1, m.contrib(1, chunk=1, n=WORDS)),
        (2, m.contrib(2, chunk=1, n=WORDS)), (1, m.contrib(1, chunk=2, n=1))])
    dropped(w, "ahead", [(1, m.contrib(1, seq=4)),
                         (1, m.contrib(1, seq=1 << 30))])
    dropped(w, "stale", [(1, m.contrib(1, seq=0xffffffff))])
    kept(w, "a later collective in the window", [(1, m.contrib(1, seq=3))])
    # This one aborts its collective: the window moves on.
    dropped(w, "mismatch", [
        (2, m.contrib(2, chunk=2, n=1, shape=5)),
        (2, m.contrib(2, chunk=2, n=2)),
        (2, m.contrib(2, chunk=2, n=1, mask=0b0111)),
        (2, m.contrib(2, chunk=3, lane=I16, n=1, shape=0xc0ffee01))])
    expect(w, "the first is in time, whatever the bound",
           [(1, m.contrib(1, seq=1, flags=0, time=time_pack(1000)))],
           {"xdp_contrib": 1, "closes_partial": 1}, {TAKEN: 1})
    dropped(w, "late", [(2, m.contrib(2, seq=1, flags=0,
                                      time=time_pack(1000)))])


def tags(w, m, name):
    p = m.contrib(1, chunk=2)
    flips = []
    for at in (3, 19, 31, 55, 56, 64, 127):
        bad = bytearray(p.bytes())
        bad[at] ^= 1
        flips.append((1, bytes(bad)))
    dropped(w, "tag", flips, text=f": every part counts, {name}")


def others(w, m):
    """Types that are not contributions."""
    expect(w, "a RESULT that nobody waits for",
           [(1, m.changed(type=RESULT, shard=1))],
           {"ahead": 1}, {"result_taken": 1})
    p = m.changed(type=PROBE, words=0)
    p.payload, p.exponent = [], EXP_NONE
    p.tag = m.group.tag(p)
    expect(w, "a PROBE is left to the socket", [(1, p)], {"control": 1},
           {"control_passed": 1})
    bad = bytearray(p.bytes())
    bad[63] ^= 1
    expect(w, "a PROBE with a wrong tag is not", [(1, bytes(bad))],
           {"tag": 1}, {"control_taken": 1})


def every_host(w):
    for to in range(1, 4):
        m = Maker(PLAIN, owner=to)
        kept(w, f"host {to} adds for its own shard",
             [(r, m.contrib(r)) for r in range(4) if r != to], to)


def rebind(w):
    """A program that was loaded before the module does not call it."""
    host = w.hosts[0]
    for h in w.hosts:
        h.tally("xdp", "detach", "eth0")
        h.tally("down", w.conf)
    module = os.environ.get("TALLY_KO",
                            os.path.join(netns.BUILD, "kmod/tally.ko"))
    p = run("rmmod", "tally", check=False)
    if p.returncode:
        tap.result(False, "the module is unloaded", p.stderr)
        return
    p = host.tally("xdp", "attach", "eth0", check=False)
    tap.result(not p.returncode and "module is not loaded" in p.stderr,
               "attached without the module, with a warning", p.stderr)
    run("insmod", module)
    p = host.tally("-j", "xdp", "status", "eth0")
    one = json.loads(p.stdout)["devices"][0]
    tap.result(not one["module"] and "before the module" in p.stderr,
               "status says that it does not call the module", p.stdout,
               p.stderr)
    p = host.tally("xdp", "attach", "eth0", check=False)
    tap.result(not p.returncode and host.status()["module"],
               "attached again, it does", p.stderr)
    p = run("rmmod", "tally", check=False)
    tap.result(p.returncode != 0 and "in use" in p.stderr,
               "an attached program pins the module", p.stderr)
    host.tally("xdp", "detach", "eth0")


def main():
    if not os.path.exists("/sys/module/tally"):
        netns.skip_all("tally.ko is not loaded")
    netns.own_mounts()
    folder = run("mktemp", "-d").stdout.strip()
    w = World(folder)
    try:
        for i, host in enumerate(w.hosts):
            host.tally("up", w.conf)
            p = host.tally("xdp", "attach", "eth0", "native", check=False)
            tap.result(not p.returncode and host.status()["module"],
                       f"host {i}: attached, calls the module", p.stderr)
        headers(w, Maker(PLAIN))
        slots(w, Maker(PLAIN))
        tags(w, Maker(PLAIN), "no key")
        tags(w, Maker(KEYED, key=KEY), "keyed")
        dropped(w, "tag", [(1, Maker(KEYED).contrib(1)),
                           (1, Maker(KEYED, key=KEY[::-1]).contrib(1))],
                text=": made without the key, or with another")
        kept(w, "a keyed group's contribution",
             [(1, Maker(KEYED, key=KEY).contrib(1))])
        others(w, Maker(PLAIN))
        every_host(w)
        rebind(w)
    finally:
        w.close()
        run("rm", "-rf", folder)
    tap.end()


main()
