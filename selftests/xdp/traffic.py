#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Packets of all kinds through a device with tally's program on it.

No group is configured: every frame must come out as it went in, in native and
generic mode, at MTU 1500 and with fragments at MTU 9000, and be counted once.
"""
import os
import socket
import sys
import threading

sys.dont_write_bytecode = True
import netns  # noqa: E402
from netns import VECTORS, Host, Tap  # noqa: E402

sys.path.insert(0, VECTORS)
import frames as build  # noqa: E402

MODULE = os.path.exists("/sys/module/tally")
OURS = "contrib", "result", "control"
tap = Tap()


def counter(verdict):
    if verdict not in OURS:
        return verdict
    return f"{verdict}_passed" if MODULE else "no_module"


def jumbo():
    """Frames of several pages."""
    tally = build.tally(words=1104)
    other = os.urandom(8800)
    yield ("jumbo_foreign", "foreign",
           build.eth(build.ipv4(build.udp(other, dport=9)), 0x800))
    yield ("jumbo_contrib_v4", "contrib",
           build.eth(build.ipv4(build.udp(tally)), 0x800))
    yield ("jumbo_contrib_v6", "contrib",
           build.eth(build.ipv6(build.udp(tally)), 0x86dd))
    yield ("jumbo_contrib_vlan", "contrib",
           build.eth(build.ipv4(build.udp(tally)), 0x800, [(0x8100, 5)]))
    yield ("jumbo_no_ip", "foreign", build.eth(other, 0x88b5))


def broken_tag(data):
    """A VLAN tag cut short: the kernel drops it above, with XDP or without."""
    return data[12:14] == b"\x81\0" and len(data) < 20


def send_frames(a, b, what, frames):
    """Each frame arrives unchanged, and is counted as it should be."""
    out, into = a.packet_socket(), b.packet_socket()
    before, want, wrong = b.verdicts(), netns.Counts(), []
    for name, verdict, data in frames:
        out.send(data)
        want[counter(verdict)] += 1
        if broken_tag(data):
            continue
        try:
            got = netns.receive(into)
        except socket.timeout:
            got = b""
        if got != data:
            wrong.append(f"{name}: {len(data)} bytes sent, "
                         f"{got.hex() or 'nothing'} received")
    tap.result(not wrong, f"{what}: {sum(want.values())} frames unchanged",
               *wrong)
    got = b.verdicts().since(before)
    tap.result(got == want, f"{what}: each is counted once",
               f"wanted {dict(want)}", f"counted {dict(got)}")
    out.close()
    into.close()


def stream(a, b, what):
    """TCP through the stack above, checksums and segmentation included."""
    data = os.urandom(1 << 20)
    server = b.enter(lambda: socket.create_server(("10.7.1.2", 7000)))
    server.settimeout(20)
    got = bytearray()

    def serve():
        s, _ = server.accept()
        with s:
            s.settimeout(20)
            while chunk := s.recv(1 << 16):
                got.extend(chunk)

    thread = threading.Thread(target=serve)
    thread.start()
    client = a.enter(lambda: socket.create_connection(("10.7.1.2", 7000), 20))
    with client:
        client.sendall(data)
    thread.join(30)
    server.close()
    tap.result(bytes(got) == data, f"{what}: TCP stream", f"{len(got)} bytes")


def fragments(a, b, what):
    """A datagram in pieces comes together above, though to tally's port."""
    into = b.enter(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    into.bind(("10.7.1.2", 0))
    port = into.getsockname()[1]
    into.settimeout(5)
    out = a.udp_socket("10.7.1.1")
    data = os.urandom(20000)
    before = b.verdicts()
    out.sendto(data, ("10.7.1.2", port))
    try:
        got = into.recv(65000)
    except socket.timeout:
        got = b""
    count = b.verdicts().since(before)
    tap.result(got == data and count["fragment"] > 1,
               f"{what}: a datagram in fragments", f"{dict(count)}")
    into.close()
    out.close()


def one(a, b, mode, mtu):
    what = f"{mode}, MTU {mtu}"
    p = b.tally("xdp", "attach", "eth0", mode, check=False)
    tap.result(not p.returncode, f"{what}: attach", p.stderr)
    b.map = None
    if p.returncode:
        return
    send_frames(a, b, what, list(netns.frames()))
    if mtu > 1500:
        send_frames(a, b, f"{what}, fragments", list(jumbo()))
    stream(a, b, what)
    fragments(a, b, what)
    p = b.tally("xdp", "detach", "eth0", check=False)
    tap.result(not p.returncode, f"{what}: detach", p.stderr)


def main():
    netns.own_mounts()
    hosts = []
    try:
        a = Host(f"txs{os.getpid()}")
        hosts.append(a)
        b = Host(f"txr{os.getpid()}")
        hosts.append(b)
        netns.link(a, b, 1500)
        # Nobody asks for addresses while frames are counted.
        for host, own, peer, other in ((a, "10.7.1.1", "10.7.1.2", b),
                                       (b, "10.7.1.2", "10.7.1.1", a)):
            netns.run("ip", "-n", host.name, "addr", "add", f"{own}/24",
                      "dev", "eth0")
            netns.run("ip", "-n", host.name, "neigh", "replace", peer,
                      "lladdr", other.address(), "dev", "eth0")
        for mtu in 1500, 9000:
            for host in hosts:
                netns.run("ip", "-n", host.name, "link", "set", "eth0", "mtu",
                          str(mtu))
            for mode in "native", "generic":
                one(a, b, mode, mtu)
    finally:
        for host in hosts:
            host.close()
    tap.end()


main()
