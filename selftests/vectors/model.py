# SPDX-License-Identifier: GPL-2.0-only
"""The slot rule again, in plain integers.

Nothing here is shared with include/tally/: packets are packed field by field,
lanes are lists of numbers, and rounding is a division.  What this model and
the C code agree on is written to the vector files.
"""
import struct

VERSION = 1
CONTRIB, RESULT, RECEIPT, NACK, FEEDBACK, PROBE = 1, 2, 3, 4, 5, 6
I32, I16, I8, W64, RAW = 1, 2, 3, 4, 5
BITS = {I32: 32, I16: 16, I8: 8, W64: 64}
TAIL, PARTIAL, REPAIR, RELIABLE, VOID, NONFINITE, REJOIN, CE = (
    1 << i for i in range(8))
EXP_NONE = -128
WEIGHT_MAX = (1 << 26) - 1
NEVER = (1 << 64) - 1
M64 = (1 << 64) - 1


def rotl(x, n):
    return (x << n | x >> (64 - n)) & M64


def siphash(k0, k1, data):
    """SipHash-2-4 of whole 64-bit words."""
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d,
         k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]

    def rounds(n):
        for _ in range(n):
            v[0] = (v[0] + v[1]) & M64
            v[1] = rotl(v[1], 13) ^ v[0]
            v[0] = rotl(v[0], 32)
            v[2] = (v[2] + v[3]) & M64
            v[3] = rotl(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & M64
            v[3] = rotl(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & M64
            v[1] = rotl(v[1], 17) ^ v[2]
            v[2] = rotl(v[2], 32)

    for m in list(data) + [(8 * len(data) & 255) << 56]:
        v[3] ^= m
        rounds(2)
        v[0] ^= m
    v[2] ^= 255
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def divide(value, k):
    """value / 2^k, rounded half to even."""
    q, rest = divmod(value, 1 << k)
    twice = 2 * rest
    return q + (twice > 1 << k or (twice == 1 << k and q & 1))


def time_pack(us):
    if us >= 2047 << 20:
        return 2047 << 5 | 20
    e = 0
    while -(-us // (1 << e)) > 2047:
        e += 1
    return -(-us // (1 << e)) << 5 | e


def time_unpack(t):
    return (t >> 5) << min(t & 31, 20)


FIELDS = ("version type lane flags group rank epoch seq chunk shard words "
          "exponent incast time sent_us mask bias weight shape done tag")
FORMAT = ">BBBBHHIIIHHbBHIQIIIIQ"


class Packet:
    """A header by field names, and payload words."""

    def __init__(self, payload=(), **fields):
        for name in FIELDS.split():
            setattr(self, name, fields.pop(name, 0))
        assert not fields, fields
        self.payload = list(payload)

    def header(self):
        return struct.pack(FORMAT, *(getattr(self, n) for n in FIELDS.split()))

    def bytes(self):
        return self.header() + b"".join(
            w.to_bytes(8, "little") for w in self.payload)

    @classmethod
    def parse(cls, data):
        p = cls(**dict(zip(FIELDS.split(), struct.unpack(FORMAT, data[:64]))))
        p.payload = [int.from_bytes(data[i:i + 8], "little")
                     for i in range(64, 64 + 8 * p.words, 8)]
        return p


def lanes_pack(lanes, bits):
    per = 64 // bits
    return [sum(u << bits * j for j, u in enumerate(lanes[i:i + per]))
            for i in range(0, len(lanes), per)]


def lanes_unpack(words, bits):
    return [w >> at & (1 << bits) - 1
            for w in words for at in range(0, 64, bits)]


class Group:
    def __init__(self, name, members, local, **more):
        self.name, self.members, self.local = name, members, local
        self.id = more.pop("id", 7)
        self.epoch = more.pop("epoch", 3)
        self.cell_words = more.pop("cell_words", 176)
        self.window = more.pop("window", 4)
        self.shard_chunks = more.pop("shard_chunks", 4)
        self.bound_max_us = more.pop("bound_max_us", 50000)
        self.key = more.pop("key", None)
        self.caps = more.pop("caps", {})
        assert not more, more
        self.base = 0
        self.slots, self.shards = {}, {}
        if self.key:
            root = struct.unpack("<QQ", self.key)
            self.derived = [siphash(*root, [self.id << 32 | self.epoch, i])
                            for i in range(1122)]

    def copy(self, base):
        more = {n: getattr(self, n) for n in (
            "id epoch cell_words window shard_chunks bound_max_us key "
            "caps").split()}
        g = Group(self.name, self.members, self.local, **more)
        g.base = base
        return g

    def tag(self, p):
        head = struct.unpack("<7Q", p.header()[:56])
        if not self.key:
            mix = 0
            for w in head:
                mix = (mix ^ w) * 0x9e3779b97f4a7c15 & M64
                mix ^= mix >> 29
            return (mix + sum(p.payload)) & M64
        nh = 0
        for w, k in zip(p.payload, self.derived[2:]):
            a = (w + k) & 0xffffffff
            b = ((w >> 32) + (k >> 32)) & 0xffffffff
            nh = (nh + a * b) & M64
        return siphash(self.derived[0], self.derived[1], list(head) + [nh])

    def headroom(self, participants):
        leaves = sum(1 << self.caps.get(r, 0)
                     for r in range(64) if participants >> r & 1)
        return (leaves - 1).bit_length()

    def owner(self, participants, seq, shard):
        ranks = [r for r in range(64) if participants >> r & 1]
        return ranks[(shard + seq) % len(ranks)] if len(ranks) > shard \
            else None

    def shard_of(self, participants, seq, owner):
        ranks = [r for r in range(64) if participants >> r & 1]
        return (ranks.index(owner) - seq) % len(ranks)

    # The receive path, one packet at a time.

    def receive(self, data, now, here=False):
        if len(data) < 64:
            return "TRUNCATED"
        if data[0] != VERSION:
            return "VERSION"
        if not 1 <= data[1] <= 11:
            return "TYPE"
        words = struct.unpack(">H", data[22:24])[0]
        group, rank, epoch = struct.unpack(">HHI", data[4:12])
        if group != self.id:
            return "GROUP"
        if epoch != self.epoch:
            return "EPOCH"
        if rank > 63 or not self.members >> rank & 1:
            return "MEMBER"
        if words > self.cell_words:
            return "OVERSIZED"
        if not here and self.local >> rank & 1:
            return "SPOOF"
        if len(data) != 64 + 8 * words:
            return "TRUNCATED" if len(data) < 64 + 8 * words else "OVERSIZED"
        p = Packet.parse(data)
        assert p.type == CONTRIB
        return self.check(p) or self.add(p, now) or "KEEP"

    def check(self, p):
        n = bin(p.mask).count("1")
        cap = self.caps.get(p.rank, 0)
        if p.lane not in BITS:
            return "LANE"
        if not p.mask >> p.rank & 1 or p.mask & ~self.members:
            return "PARTICIPANTS"
        if p.weight > WEIGHT_MAX or p.shard >= n:
            return "MALFORMED"
        bits, h = BITS[p.lane], self.headroom(p.mask)
        if not p.words:
            if p.bias or p.exponent != EXP_NONE:
                return "MALFORMED"
        elif p.lane == W64:
            if p.bias or p.exponent:
                return "MALFORMED"
        elif h >= bits or p.exponent == EXP_NONE or \
                p.bias > 1 << (bits - 1 - h + cap):
            return "MALFORMED"
        if not self.local >> self.owner(p.mask, p.seq, p.shard) & 1:
            return "OWNER"
        if p.chunk >= self.shard_chunks:
            return "CHUNK"
        if p.tag != self.tag(p):
            return "TAG"
        if p.lane != W64 and any(u >> (bits - h + cap)
                                 for u in lanes_unpack(p.payload, bits)):
            return "MALFORMED"
        return None

    def add(self, p, now):
        ring = 2 * self.window
        owner = self.owner(p.mask, p.seq, p.shard)
        # Whole numbers here: a case stays within half the numbers' circle.
        far = (p.seq - self.base + (1 << 31)) % (1 << 32) - (1 << 31)
        if far >= self.window:
            return "AHEAD"
        key = p.seq % ring, owner, p.chunk
        slot = self.slots.get(key)
        if slot and slot["seq"] == p.seq:
            if (slot["participants"], slot["shape"], slot["lane"]) != \
                    (p.mask, p.shape, p.lane) or \
                    (p.words and slot["words"] not in (0, p.words)):
                return "MISMATCH"
            if slot["state"] == "CLOSED" or now >= slot["close_ns"]:
                return "LATE"
            if slot["mask"] >> p.rank & 1:
                return "DUPLICATE"
        else:
            shard = self.shards.get(key[:2])
            if shard and shard["seq"] == p.seq:
                if (shard["participants"], shard["shape"], shard["lane"]) != \
                        (p.mask, p.shape, p.lane):
                    return "MISMATCH"
                if shard["closed"] or now >= shard["close_ns"]:
                    return "LATE"
            elif far < 0:
                return "STALE"
            else:
                bound = min(time_unpack(p.time), self.bound_max_us) * 1000
                shard = self.shards[key[:2]] = {
                    "seq": p.seq, "participants": p.mask, "shape": p.shape,
                    "lane": p.lane, "closed": False,
                    "flags": p.flags & RELIABLE,
                    "close_ns": NEVER if p.flags & RELIABLE else now + bound}
            slot = self.slots[key] = {
                "seq": p.seq, "owner": owner, "chunk": p.chunk,
                "shard": p.shard, "state": "OPEN", "participants": p.mask,
                "mask": 0, "close_ns": shard["close_ns"], "shape": p.shape,
                "bias": 0, "weight": 0, "aligned": 0, "words": 0,
                "exponent": EXP_NONE, "flags": shard["flags"],
                "lane": p.lane, "lanes": []}
        self.sum(slot, p)
        slot["mask"] |= 1 << p.rank
        slot["weight"] += p.weight
        slot["flags"] |= p.flags & (NONFINITE | REJOIN)
        if slot["mask"] == slot["participants"]:
            slot["state"] = "FULL"
        return None

    @staticmethod
    def sum(slot, p):
        bits = BITS[p.lane]
        if not p.words:
            return
        lanes = lanes_unpack(p.payload, bits)
        if not slot["words"]:
            slot.update(words=p.words, exponent=p.exponent, bias=p.bias,
                        lanes=lanes)
            return
        e = max(slot["exponent"], p.exponent)
        own, new = e - slot["exponent"], e - p.exponent
        slot["aligned"] += own + new > 0

        def shift(value, k):
            return divide(value, k) if k < bits else 0

        slot["lanes"] = [(shift(a, own) + shift(b, new)) % (1 << bits)
                         for a, b in zip(slot["lanes"], lanes)]
        slot["bias"] = shift(slot["bias"], own) + shift(p.bias, new)
        slot["exponent"] = e

    def close(self, seq, owner):
        """The owner closes its shard; returns the RESULTs."""
        key = seq % (2 * self.window), owner
        self.shards[key]["closed"] = True
        results = []
        for k, slot in sorted(self.slots.items()):
            if k[:2] != key or slot["seq"] != seq:
                continue
            slot["state"] = "CLOSED"
            if slot["mask"] != slot["participants"]:
                slot["flags"] |= PARTIAL
            p = Packet(lanes_pack(slot["lanes"], BITS[slot["lane"]]),
                       version=VERSION, type=RESULT, group=self.id,
                       rank=owner, epoch=self.epoch, **{
                           n: slot[n] for n in (
                               "lane flags seq chunk shard words exponent "
                               "mask bias weight shape").split()})
            p.tag = self.tag(p)
            results.append((slot, p))
        return results
