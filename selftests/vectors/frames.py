# SPDX-License-Identifier: GPL-2.0-only
"""Cases of the parser: whole frames, what each is, and its addresses."""
import ipaddress
import struct

from model import CONTRIB, RESULT, Packet

PORT = 31249
MAC = bytes.fromhex("02000000000a02000000000b")
V4 = ipaddress.ip_address("10.7.0.1"), ipaddress.ip_address("10.7.0.2")
V6 = ipaddress.ip_address("fd07::1"), ipaddress.ip_address("fd07::2")


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def tally(type=CONTRIB, words=0, **fields):
    return Packet([1] * words, version=fields.pop("version", 1), type=type,
                  words=words, **fields).bytes()


def udp(payload, dport=PORT, sport=40000, length=None):
    length = 8 + len(payload) if length is None else length
    return struct.pack(">HHHH", sport, dport, length, 0) + payload


def ipv4(payload, options=b"", frag=0, proto=17, tos=0, version=4, ihl=None,
         total=None):
    ihl = 5 + len(options) // 4 if ihl is None else ihl
    total = 20 + len(options) + len(payload) if total is None else total
    head = struct.pack(">BBHHHBBH4s4s", version << 4 | ihl, tos, total, 1,
                       frag, 64, proto, 0, V4[0].packed, V4[1].packed) + options
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def ipv6(payload, nexthdr=17, tclass=0, version=6, length=None):
    length = len(payload) if length is None else length
    return struct.pack(">IHBB", version << 28 | tclass << 20 | 0x12345,
                       length, nexthdr, 64) + V6[0].packed + V6[1].packed + \
        payload


def eth(payload, proto, tags=()):
    head = MAC
    for tpid, tci in tags:
        head += struct.pack(">HH", tpid, tci)
    return head + struct.pack(">H", proto) + payload


class Frame:
    def __init__(self, name, verdict, data, flow=None):
        self.name, self.verdict, self.data, self.flow = \
            name, verdict, data, flow

    def line(self):
        flow = "".join(f" {k}={v}" for k, v in (self.flow or {}).items())
        return (f"frame {self.name} verdict={self.verdict}{flow} "
                f"data={self.data.hex()}")


def flow(family, offset, length, ce=0, sport=40000):
    a, b = V4 if family == 4 else V6
    return {"family": family, "saddr": a, "daddr": b, "sport": sport,
            "dport": PORT, "offset": offset, "length": length, "ce": ce}


def ours():
    """What the module is asked about."""
    for name, type, verdict in (
            ("contrib", CONTRIB, "contrib"), ("result", RESULT, "result"),
            ("receipt", 3, "control"), ("nack", 4, "control"),
            ("decide", 11, "control")):
        p = tally(type, 8)
        yield Frame(f"v4_{name}", verdict, eth(ipv4(udp(p)), 0x800),
                    flow(4, 42, len(p)))
        yield Frame(f"v6_{name}", verdict, eth(ipv6(udp(p)), 0x86dd),
                    flow(6, 62, len(p)))
    p = tally(words=8)
    yield Frame("v4_options", "contrib",
                eth(ipv4(udp(p), options=b"\x94\x04\0\0"), 0x800),
                flow(4, 46, 128))
    yield Frame("v4_most_options", "contrib",
                eth(ipv4(udp(p), options=b"\1" * 39 + b"\0"), 0x800),
                flow(4, 82, 128))
    yield Frame("v4_do_not_fragment", "contrib",
                eth(ipv4(udp(p), frag=0x4000), 0x800), flow(4, 42, 128))
    for name, ecn, ce in (("ect0", 2, 0), ("ect1", 1, 0), ("ce", 3, 1)):
        yield Frame(f"v4_{name}", "contrib",
                    eth(ipv4(udp(p), tos=0xb8 | ecn), 0x800),
                    flow(4, 42, 128, ce))
        yield Frame(f"v6_{name}", "contrib",
                    eth(ipv6(udp(p), tclass=0xb8 | ecn), 0x86dd),
                    flow(6, 62, 128, ce))
    for name, tags in (("vlan", [(0x8100, 5)]), ("vlan_ad", [(0x88a8, 5)]),
                       ("qinq", [(0x88a8, 7), (0x8100, 5)]),
                       ("priority", [(0x8100, 0xe000)])):
        yield Frame(f"v4_{name}", "contrib", eth(ipv4(udp(p)), 0x800, tags),
                    flow(4, 42 + 4 * len(tags), 128))
        yield Frame(f"v6_{name}", "contrib", eth(ipv6(udp(p)), 0x86dd, tags),
                    flow(6, 62 + 4 * len(tags), 128))
    # The module counts these; only two bytes are looked at here.
    yield Frame("v4_header_cut", "contrib",
                eth(ipv4(udp(p[:63])), 0x800), flow(4, 42, 63))
    yield Frame("v4_two_bytes", "contrib",
                eth(ipv4(udp(p[:2])), 0x800), flow(4, 42, 2))
    yield Frame("v4_padded_frame", "contrib",
                eth(ipv4(udp(p)), 0x800) + bytes(6), flow(4, 42, 128))
    yield Frame("v4_udp_shorter_than_ip", "contrib",
                eth(ipv4(udp(p, length=72)), 0x800), flow(4, 42, 64))
    yield Frame("v4_payload_1408", "contrib",
                eth(ipv4(udp(tally(words=176))), 0x800), flow(4, 42, 1472))


def odd():
    """To tally's port, but nothing for the module."""
    p = tally(words=8)
    for n in (0, 1):
        yield Frame(f"v4_{n}_bytes", "truncated",
                    eth(ipv4(udp(p[:n])), 0x800))
        yield Frame(f"v6_{n}_bytes", "truncated",
                    eth(ipv6(udp(p[:n])), 0x86dd))
    for version in (0, 2, 255):
        yield Frame(f"v4_version_{version}", "version",
                    eth(ipv4(udp(tally(version=version))), 0x800))
    for type in (0, 12, 255):
        yield Frame(f"v4_type_{type}", "type",
                    eth(ipv4(udp(tally(type))), 0x800))
    yield Frame("v4_first_fragment", "fragment",
                eth(ipv4(udp(p), frag=0x2000), 0x800))
    yield Frame("v4_later_fragment", "fragment",
                eth(ipv4(udp(p), frag=0x0010), 0x800))
    yield Frame("v4_last_bit_of_offset", "fragment",
                eth(ipv4(udp(p), frag=0x1000), 0x800))
    yield Frame("v6_fragment", "fragment",
                eth(ipv6(struct.pack(">BBHI", 17, 0, 1, 9) + udp(p),
                         nexthdr=44), 0x86dd))


def foreign():
    p = tally(words=8)
    good4, good6 = ipv4(udp(p)), ipv6(udp(p))
    for n in (14, 15, 33, 34, 41):
        yield Frame(f"v4_cut_at_{n}", "foreign", eth(good4, 0x800)[:n])
    for n in (14, 53, 54, 61):
        yield Frame(f"v6_cut_at_{n}", "foreign", eth(good6, 0x86dd)[:n])
    for n in (14, 17, 18, 37, 45):
        yield Frame(f"vlan_cut_at_{n}", "foreign",
                    eth(good4, 0x800, [(0x8100, 5)])[:n])
    yield Frame("arp", "foreign", eth(bytes(28), 0x806))
    yield Frame("three_tags", "foreign",
                eth(good4, 0x800, [(0x88a8, 1), (0x8100, 2), (0x8100, 3)]))
    yield Frame("mpls", "foreign", eth(bytes(4) + good4, 0x8847))
    yield Frame("v4_tcp", "foreign", eth(ipv4(udp(p), proto=6), 0x800))
    yield Frame("v4_icmp", "foreign", eth(ipv4(udp(p), proto=1), 0x800))
    yield Frame("v4_udplite", "foreign", eth(ipv4(udp(p), proto=136), 0x800))
    yield Frame("v4_in_v4", "foreign", eth(ipv4(good4, proto=4), 0x800))
    yield Frame("v4_other_port", "foreign",
                eth(ipv4(udp(p, dport=31250)), 0x800))
    yield Frame("v4_swapped_port", "foreign",
                eth(ipv4(udp(p, dport=0x117a)), 0x800))
    yield Frame("v4_from_the_port", "foreign",
                eth(ipv4(udp(p, dport=53, sport=PORT)), 0x800))
    yield Frame("v4_claims_version_6", "foreign",
                eth(ipv4(udp(p), version=6), 0x800))
    yield Frame("v4_short_header", "foreign",
                eth(ipv4(udp(p), ihl=4), 0x800))
    yield Frame("v4_header_beyond_frame", "foreign",
                eth(ipv4(udp(p[:2]), ihl=15), 0x800))
    yield Frame("v4_total_below_header", "foreign",
                eth(ipv4(udp(p), total=19), 0x800))
    yield Frame("v4_total_cuts_udp", "foreign",
                eth(ipv4(udp(p), total=27), 0x800))
    yield Frame("v4_udp_beyond_ip", "foreign",
                eth(ipv4(udp(p, length=137)), 0x800))
    yield Frame("v4_udp_length_7", "foreign",
                eth(ipv4(udp(p, length=7)), 0x800))
    yield Frame("v6_claims_version_4", "foreign",
                eth(ipv6(udp(p), version=4), 0x86dd))
    yield Frame("v6_other_port", "foreign",
                eth(ipv6(udp(p, dport=1)), 0x86dd))
    yield Frame("v6_tcp", "foreign", eth(ipv6(udp(p), nexthdr=6), 0x86dd))
    yield Frame("v6_hop_by_hop", "foreign",
                eth(ipv6(bytes([17, 0, 1, 4, 0, 0, 0, 0]) + udp(p),
                         nexthdr=0), 0x86dd))
    yield Frame("v6_destination_options", "foreign",
                eth(ipv6(bytes([17, 0, 1, 4, 0, 0, 0, 0]) + udp(p),
                         nexthdr=60), 0x86dd))
    yield Frame("v6_udp_beyond_ip", "foreign",
                eth(ipv6(udp(p), length=100), 0x86dd))
    yield Frame("v6_jumbo", "foreign", eth(ipv6(udp(p), length=0), 0x86dd))


def write(out):
    for part in (ours, odd, foreign):
        for frame in part():
            out.write(frame.line() + "\n")
