# SPDX-License-Identifier: GPL-2.0-only
"""Network namespaces, packet sockets and TAP for tests of the XDP path."""
import ctypes
import json
import os
import re
import socket
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, os.environ.get("B", "build"))
TALLY = os.path.join(BUILD, "userspace/cli/tally")
VECTORS = os.path.join(ROOT, "selftests/vectors")

ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA = 263, 8
CLONE_NEWNET = 0x40000000
VLAN_VALID, VLAN_TPID_VALID = 1 << 4, 1 << 6

libc = ctypes.CDLL(None, use_errno=True)
libbpf = ctypes.CDLL("libbpf.so.1", use_errno=True)


class Tap:
    def __init__(self):
        self.n = self.failed = 0

    def result(self, good, text, *notes):
        self.n += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.n} - {text}")
        if not good:
            for note in notes:
                print("#", note)
        sys.stdout.flush()

    def end(self):
        print(f"1..{self.n}")
        sys.exit(self.failed != 0)


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def own_mounts():
    """Run again with mounts of our own, and a BPF file system among them."""
    if "TALLY_XDP_MOUNTS" not in os.environ:
        os.environ["TALLY_XDP_MOUNTS"] = "1"
        os.execvp("unshare", ["unshare", "-m", sys.executable] + sys.argv)
    kind = subprocess.run(["stat", "-f", "-c", "%T", "/sys/fs/bpf"],
                          capture_output=True, text=True).stdout.strip()
    if kind != "bpf_fs" and subprocess.run(
            ["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"]).returncode:
        skip_all("no BPF file system")


def run(*words, check=True):
    p = subprocess.run(words, capture_output=True, text=True)
    if check and p.returncode:
        raise RuntimeError(f"{' '.join(words)}: {p.stdout}{p.stderr}")
    return p


class Host:
    """A network namespace with one device, eth0."""

    def __init__(self, name):
        self.name = name
        self.map = None     # of the program that is attached
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
        # The kernel's own IPv6 packets would be counted with ours.
        for scope in "all", "default":
            self.inside("sysctl", "-qw",
                        f"net.ipv6.conf.{scope}.disable_ipv6=1", check=False)

    def inside(self, *words, check=True):
        return run("nsenter", f"--net=/run/netns/{self.name}", *words,
                   check=check)

    def tally(self, *words, check=True):
        return self.inside(TALLY, *words, check=check)

    def address(self):
        out = self.inside("ip", "-j", "link", "show", "eth0").stdout
        return json.loads(out)[0]["address"]

    def status(self):
        out = self.tally("-j", "xdp", "status", "eth0").stdout
        return json.loads(out)["devices"][0]

    def verdicts(self):
        """The program's counters, read without starting a process."""
        if self.map is None:
            self.map = verdicts_map(self.status()["id"])
        return verdicts_read(self.map)

    def enter(self, make):
        """What @make() returns in this namespace."""
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        if libc.setns(there, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            return make()
        finally:
            libc.setns(home, CLONE_NEWNET)
            os.close(home)
            os.close(there)

    def packet_socket(self):
        def make():
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                              socket.htons(ETH_P_ALL))
            s.bind(("eth0", ETH_P_ALL))
            s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            s.settimeout(5)
            return s
        return self.enter(make)

    def udp_socket(self, address, family=socket.AF_INET):
        def make():
            s = socket.socket(family, socket.SOCK_DGRAM)
            s.bind((address, 0))
            s.settimeout(5)
            return s
        return self.enter(make)

    def close(self):
        run("ip", "netns", "del", self.name, check=False)


class Counts(dict):
    def __missing__(self, name):
        return 0

    def since(self, before):
        return Counts({k: v - before[k] for k, v in self.items()
                       if v != before[k]})

    def without(self, names):
        return Counts({k: v for k, v in self.items() if k not in names})


def verdict_names():
    with open(os.path.join(ROOT, "bpf/verdicts.h")) as f:
        return re.findall(r"\bX\((\w+), ", f.read())


def verdicts_map(program):
    info = json.loads(run("bpftool", "-j", "prog", "show", "id",
                          str(program)).stdout)
    for id in info["map_ids"]:
        one = json.loads(run("bpftool", "-j", "map", "show", "id",
                             str(id)).stdout)
        if one.get("name") == "verdicts":
            return libbpf.bpf_map_get_fd_by_id(id)
    raise RuntimeError(f"program {program} has no map of verdicts")


def verdicts_read(fd):
    names, cpus = verdict_names(), libbpf.libbpf_num_possible_cpus()
    each = (ctypes.c_uint64 * (len(names) * cpus))()
    key = ctypes.c_uint32(0)
    if libbpf.bpf_map_lookup_elem(fd, ctypes.byref(key), each):
        raise OSError(ctypes.get_errno(), "verdicts")
    return Counts({name: sum(each[i::len(names)])
                   for i, name in enumerate(names)})


def link(a, b, mtu):
    """A veth pair, eth0 to eth0."""
    run("ip", "-n", a.name, "link", "add", "eth0", "type", "veth", "peer",
        "name", "eth0", "netns", b.name)
    for host in a, b:
        run("ip", "-n", host.name, "link", "set", "eth0", "mtu", str(mtu),
            "up")


def receive(sock):
    """One frame, with the VLAN tag that the kernel takes off put back."""
    while True:
        data, extra, _, who = sock.recvmsg(70000, 256)
        if who[2] == socket.PACKET_OUTGOING:
            continue
        for level, kind, aux in extra:
            if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", aux)
                if status & VLAN_VALID:
                    if not status & VLAN_TPID_VALID:
                        tpid = 0x8100
                    data = data[:12] + struct.pack(">HH", tpid, tci) + \
                        data[12:]
        return data


def frames():
    """(name, verdict, bytes) of the vector file."""
    with open(os.path.join(VECTORS, "frames.txt")) as f:
        for line in f:
            if line.startswith("frame "):
                fields = dict(w.split("=", 1) for w in line.split()[2:])
                yield (line.split()[1], fields["verdict"],
                       bytes.fromhex(fields["data"]))
