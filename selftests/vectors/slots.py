# SPDX-License-Identifier: GPL-2.0-only
"""Cases of the slot rule: packets in, verdicts and slots out."""
import random
from collections import Counter

from model import (BITS, CE, CONTRIB, EXP_NONE, I8, I16, I32, NONFINITE, RAW,
                   REJOIN, RELIABLE, TAIL, VERSION, W64, WEIGHT_MAX, Group,
                   Packet, lanes_pack, time_pack)

LANES = {"i32": I32, "i16": I16, "i8": I8, "w64": W64}
KEY = bytes(range(0xa0, 0xb0))

PLAIN = Group("plain", 0xf, 0x1)
KEYED = Group("keyed", 0xf, 0x1, key=KEY)
CAPPED = Group("capped", 0xf, 0x1, caps={1: 2, 3: 4})
TWO = Group("two", 0x2f, 0x5, id=0x1234, epoch=0x80000001, shard_chunks=2)
FULL = Group("full", (1 << 64) - 1, 1 << 63, id=65535, window=1,
             cell_words=64, shard_chunks=1)
WIDE = Group("wide", 0x7, 0x4, cell_words=1120, window=2, shard_chunks=1)
GROUPS = [PLAIN, KEYED, CAPPED, TWO, FULL, WIDE]

T0 = 1_000_000_000
BOUND = 20_000      # microseconds


class Case:
    """One run against fresh slots; writes itself as it goes."""

    def __init__(self, name, group, base=100):
        self.lines = [f"case {name} group={group.name} base={base}"]
        self.group = group.copy(base)
        self.rng = random.Random(name)
        self.verdicts = Counter()
        self.now = T0

    def contrib(self, rank, seq=100, chunk=0, owner=None, **f):
        g = self.group
        mask = f.setdefault("mask", g.members)
        lane = f.setdefault("lane", I32)
        if owner is None:
            owner = min(r for r in range(64) if g.local & mask & 1 << r)
        n = f.pop("n", 8)
        fill = f.pop("fill", None)
        if lane in BITS and n and "words" not in f:
            bits, h = BITS[lane], g.headroom(mask)
            cap = g.caps.get(rank, 0)
            most = (1 << bits) - 1 if lane == W64 else \
                (1 << bits - h + cap) - 1
            pick = {"most": lambda: most, "least": lambda: 1}.get(
                fill, lambda: self.rng.randint(1, most))
            f["words"] = lanes_pack([pick() for _ in range(n * 64 // bits)],
                                    bits)
            if lane != W64:
                f.setdefault("bias", 1 << (bits - 1 - h + cap))
        words = f.pop("words", [])
        f.setdefault("exponent", 0 if words else EXP_NONE)
        f.setdefault("weight", 1)
        f.setdefault("time", time_pack(BOUND))
        f.setdefault("shape", 0xc0ffee00 + lane)
        f.setdefault("shard", g.shard_of(mask, seq, owner))
        p = Packet(words, version=VERSION, type=CONTRIB, group=g.id,
                   rank=rank, epoch=g.epoch, seq=seq % (1 << 32), chunk=chunk,
                   incast=1, sent_us=self.rng.getrandbits(32),
                   done=(seq - 1) % (1 << 32), **f)
        if not p.words:
            p.words = len(words)
        p.tag = g.tag(p)
        return p

    def put(self, data, here=None, after=1000):
        """A packet arrives @after ns later; local ranks' come from here."""
        if isinstance(data, Packet):
            data = data.bytes()
        if here is None:
            rank = int.from_bytes(data[6:8], "big")
            here = rank < 64 and bool(self.group.local >> rank & 1)
        self.now += after
        verdict = self.group.receive(data, self.now, here)
        self.verdicts[verdict] += 1
        self.lines.append(f"packet now={self.now} from="
                          f"{'here' if here else 'net'} "
                          f"verdict={verdict} data={data.hex()}")
        return verdict

    def drop(self, why, data, **more):
        got = self.put(data, **more)
        assert got == why, (self.lines[0], why, got)

    def send(self, rank, **f):
        assert self.put(self.contrib(rank, **f)) == "KEEP", self.lines[0]

    def base(self, base):
        self.group.base = base
        self.lines.append(f"base {base}")

    def close(self, seq=100, owner=None):
        owner = owner if owner is not None else \
            min(r for r in range(64) if self.group.local >> r & 1)
        self.lines.append(f"close seq={seq} owner={owner}")
        for slot, p in self.group.close(seq, owner):
            self.lines.append(f"result owner={owner} chunk={slot['chunk']} "
                              f"data={p.bytes().hex()}")

    def end(self):
        for _, s in sorted(self.group.slots.items()):
            payload = b"".join(w.to_bytes(8, "little") for w in
                               lanes_pack(s["lanes"], BITS[s["lane"]]))
            self.lines.append(
                "slot " + " ".join(f"{n}={s[n]}" for n in (
                    "seq owner chunk state participants mask close_ns shape "
                    "bias weight aligned words exponent flags lane").split()) +
                f" data={payload.hex()}")
        for verdict, n in sorted(self.verdicts.items()):
            self.lines.append(f"count {verdict} {n}")
        return self.lines + ["end", ""]


def sums(name, lane):
    """Four equal exponents, then the same with zeros and far exponents."""
    c = Case(f"sum_{name}", PLAIN)
    for rank in (2, 0, 3, 1):
        c.send(rank, lane=lane, weight=rank * 1000, flags=TAIL | CE)
    c.close()
    yield c
    for fill in ("least", "most"):
        c = Case(f"sum_{name}_{fill}", PLAIN)
        for rank in range(4):
            c.send(rank, lane=lane, fill=fill, weight=WEIGHT_MAX)
        yield c
    c = Case(f"sum_{name}_zeros", PLAIN)
    for rank in range(4):
        c.send(rank, lane=lane, n=8 * (rank == 2))
        c.send(rank, lane=lane, n=0, chunk=1, flags=NONFINITE * (rank == 3))
        c.send(rank, lane=lane, n=8 * (rank != 3), chunk=2,
               flags=REJOIN * (rank == 1))
    c.close()
    yield c


def exponents(name, lane):
    bits = BITS[lane]
    for d in (1, 2, 3, bits // 2, bits - 3, bits - 2, bits - 1, bits,
              bits + 1):
        c = Case(f"align_{name}_{d}", PLAIN)
        for rank, e in ((1, 0), (2, d), (3, 0), (0, d - 1)):
            c.send(rank, lane=lane, exponent=e - 5)
        c.close()
        yield c
    c = Case(f"align_{name}_ends", PLAIN)
    for rank, e in ((1, -127), (2, 127), (3, -127), (0, 0)):
        c.send(rank, lane=lane, exponent=e, fill="most")
    yield c


def sizes():
    for n in (1, 2, 7, 9, 15, 63, 64, 65, 175, 176):
        c = Case(f"words_{n}", PLAIN)
        for rank in (1, 2):
            c.send(rank, lane=I16, n=n, exponent=rank)
        yield c
    c = Case("words_176_keyed", KEYED)
    for rank in range(4):
        c.send(rank, lane=I32, n=176)
    c.close()
    yield c
    for lane in (I8, I32):
        c = Case(f"words_1120_{lane}", WIDE)
        for rank, e in ((0, 0), (1, 2)):
            c.send(rank, lane=lane, n=1120, exponent=e)
        yield c


def groups():
    c = Case("keyed_sum", KEYED)
    for rank in range(4):
        c.send(rank, lane=I8, exponent=rank)
        c.send(rank, lane=I8, chunk=3, n=0)
    c.close()
    yield c
    c = Case("capped_sum", CAPPED)
    for rank in range(4):
        c.send(rank, lane=I32, fill="most")
        c.send(rank, lane=I16, chunk=0, seq=101)
    c.close()
    yield c
    # Local ranks 0 and 2 own shards; rank 4 is no member.
    c = Case("two_local_ranks", TWO, base=0xfffffffe)
    for seq in (0xfffffffe, 0xffffffff, 0x100000000, 0x100000001):
        for owner in (0, 2):
            for rank in (0, 1, 2, 3, 5):
                c.send(rank, seq=seq % (1 << 32), owner=owner, lane=I16,
                       chunk=seq & 1)
    yield c
    c = Case("clique", PLAIN)
    for rank in (0, 2):
        c.send(rank, mask=0b0101, lane=I32)
    c.send(3, seq=101, mask=0b1001)
    c.close()
    yield c
    for name, lane in (("i8", I8), ("i16", I16), ("i32", I32)):
        c = Case(f"sixty_four_{name}", FULL, base=5)
        for rank in range(64):
            c.send(rank, seq=5, lane=lane, n=1, exponent=rank % 3,
                   fill=("most", None)[rank % 2])
        c.close(seq=5)
        yield c


def header_drops():
    c = Case("drop_header", PLAIN)
    good = c.contrib(1)

    def changed(**fields):
        p = c.contrib(1)
        for name, value in fields.items():
            setattr(p, name, value)
        p.tag = c.group.tag(p)
        return p

    data = good.bytes()
    for n in (0, 1, 2, 63):
        c.drop("TRUNCATED", data[:n], here=False)
    for n in (64, 65, 72, 127):
        c.drop("TRUNCATED", data[:n])
    c.drop("OVERSIZED", data + bytes(8))
    c.drop("OVERSIZED", data + bytes(1))
    c.drop("OVERSIZED", c.contrib(1, n=177))
    c.drop("VERSION", changed(version=0))
    c.drop("VERSION", changed(version=2))
    c.drop("TYPE", changed(type=0))
    c.drop("TYPE", changed(type=12))
    c.drop("TYPE", changed(type=255))
    c.drop("GROUP", changed(group=8))
    c.drop("EPOCH", changed(epoch=4))
    c.drop("EPOCH", changed(epoch=2))
    c.drop("MEMBER", changed(rank=4))
    c.drop("MEMBER", changed(rank=64), here=False)
    c.drop("MEMBER", changed(rank=65535), here=False)
    c.drop("SPOOF", c.contrib(0), here=False)
    for lane in (0, RAW, 6, 255):
        c.drop("LANE", changed(lane=lane))
    c.drop("PARTICIPANTS", changed(mask=0b1101))
    c.drop("PARTICIPANTS", changed(mask=0b11111))
    c.drop("PARTICIPANTS", changed(mask=0))
    c.drop("MALFORMED", changed(weight=WEIGHT_MAX + 1))
    c.drop("MALFORMED", changed(bias=(1 << 29) + 1))
    c.drop("MALFORMED", changed(bias=1 << 31))
    c.drop("MALFORMED", changed(exponent=EXP_NONE))
    c.drop("MALFORMED", changed(shard=4))
    c.drop("MALFORMED", changed(shard=65535))
    c.drop("MALFORMED", c.contrib(1, n=0, exponent=0))
    c.drop("MALFORMED", c.contrib(1, n=0, bias=1))
    c.drop("MALFORMED", c.contrib(1, lane=W64, exponent=1))
    c.drop("MALFORMED", c.contrib(1, lane=W64, bias=1))
    for shard in (1, 2, 3):
        c.drop("OWNER", changed(shard=shard))
    c.drop("CHUNK", c.contrib(1, chunk=4))
    c.drop("CHUNK", c.contrib(1, chunk=0xffffffff))
    c.put(good)
    yield c


def payload_drops():
    for group in (PLAIN, KEYED):
        c = Case(f"drop_tag_{group.name}", group)
        data = c.contrib(1).bytes()
        # Not fields that another check would see first.
        for at in (3, 19, 25, 27, 31, 39 + 5, 48, 55, 56, 63, 64, 100, 127):
            bad = bytearray(data)
            bad[at] ^= 1
            why = c.put(bytes(bad))
            assert why == "TAG", (at, why)
        other = Group("x", 0xf, 1, key=None if group.key else KEY)
        p = c.contrib(1)
        p.tag = other.tag(p)
        c.drop("TAG", p)
        p = c.contrib(1)
        p.tag = 0
        c.drop("TAG", p)
        c.drop("KEEP", data)
        yield c
    for name, lane in list(LANES.items())[:3]:
        bits = BITS[lane]
        c = Case(f"drop_headroom_{name}", PLAIN)
        for at in (0, 64 // bits - 1, 8 * 64 // bits - 1):
            for bit in (bits - 2, bits - 1):
                lanes = [1] * (8 * 64 // bits)
                lanes[at] |= 1 << bit
                c.drop("MALFORMED", c.contrib(
                    1, lane=lane, words=lanes_pack(lanes, bits),
                    bias=1 << bits - 3))
        yield c
    # Rank 1 may sum four leaves, rank 2 one: h is 5 with 2^2 + 2^4 + 2.
    c = Case("drop_headroom_caps", CAPPED)
    c.drop("MALFORMED", c.contrib(2, words=[1 << 27] * 8, bias=1 << 26))
    c.send(1, words=[1 << 28] * 8, bias=1 << 28)
    c.drop("MALFORMED", c.contrib(2, words=[1] * 8, bias=(1 << 26) + 1))
    yield c


def slot_drops():
    c = Case("drop_window", PLAIN)
    c.drop("STALE", c.contrib(1, seq=99))
    c.drop("STALE", c.contrib(1, seq=100 - (1 << 30)))
    c.drop("AHEAD", c.contrib(1, seq=104))
    c.drop("AHEAD", c.contrib(1, seq=100 + (1 << 30)))
    for seq in (100, 101, 102, 103):
        c.send(1, seq=seq)
    c.base(104)
    # The ring has 8 places: 108 is in 100's, after which 100 is over.
    c.send(1, seq=104)
    c.base(105)
    c.send(1, seq=108)
    c.drop("STALE", c.contrib(2, seq=100))
    c.drop("STALE", c.contrib(2, seq=100, chunk=1))
    yield c
    # A place that was not used for half of all numbers is free again.
    for ago, ahead in ((1 << 31, 0), (1 << 31, 3), ((1 << 31) + 8, 0),
                       ((1 << 31) - 8, 0), (3 << 30, 1),
                       ((1 << 32) - (1 << 17), 2)):
        far = (100 + ago) % (1 << 32)
        c = Case(f"forgotten_{ago}_{ahead}", PLAIN)
        c.send(1)
        c.send(1, chunk=1)
        c.base(far - ahead)
        c.drop("STALE", c.contrib(2, seq=far - ahead - 1))
        c.send(2, seq=far)
        c.send(2, seq=far, chunk=1)
        yield c
    c = Case("drop_duplicate", PLAIN)
    c.send(1)
    c.drop("DUPLICATE", c.contrib(1))
    c.drop("DUPLICATE", c.contrib(1, n=0))
    c.send(2)
    c.drop("DUPLICATE", c.contrib(1))
    c.send(1, chunk=1)
    c.send(3)
    c.send(0)
    c.drop("DUPLICATE", c.contrib(3))
    yield c
    c = Case("drop_late", PLAIN)
    c.send(1)
    c.drop("KEEP", c.contrib(2), after=BOUND * 1000 - 1)
    c.drop("LATE", c.contrib(3), after=1)
    c.drop("LATE", c.contrib(3, chunk=1))
    c.drop("LATE", c.contrib(1))
    c.close()
    c.drop("LATE", c.contrib(3))
    c.drop("LATE", c.contrib(3, chunk=2))
    c.send(1, seq=101)
    yield c
    c = Case("drop_late_closed_early", PLAIN)
    c.send(1)
    c.send(1, chunk=3, n=0)
    c.close()
    c.drop("LATE", c.contrib(2))
    c.drop("LATE", c.contrib(2, chunk=1))
    yield c
    c = Case("bound_never_over_the_group's", PLAIN)
    c.send(1, time=time_pack(60_000_000))
    c.drop("KEEP", c.contrib(2), after=50_000_000 - 1)
    c.drop("LATE", c.contrib(3), after=1)
    c.send(1, seq=101, time=0)
    c.drop("LATE", c.contrib(2, seq=101))
    yield c
    c = Case("reliable_is_never_late", PLAIN)
    c.send(1, flags=RELIABLE)
    c.drop("KEEP", c.contrib(2, flags=RELIABLE), after=3_600_000_000_000)
    c.close()
    c.drop("LATE", c.contrib(3, flags=RELIABLE))
    yield c


def mismatch_drops():
    c = Case("drop_mismatch", PLAIN)
    c.send(1)
    good = c.contrib(2)
    c.drop("MISMATCH", c.contrib(2, shape=1))
    c.drop("MISMATCH", c.contrib(2, lane=I16, shape=good.shape))
    c.drop("MISMATCH", c.contrib(2, mask=0b0111))
    c.drop("MISMATCH", c.contrib(2, n=7))
    # The shard tells, where the slot is fresh.
    c.drop("MISMATCH", c.contrib(2, chunk=1, shape=1))
    c.drop("MISMATCH", c.contrib(2, chunk=1, lane=I8, shape=good.shape))
    c.drop("MISMATCH", c.contrib(2, chunk=1, mask=0b0111))
    c.send(2, n=0)
    c.send(2, chunk=1, n=7)
    yield c
    # A block of zeros does not say how long the chunk is.
    c = Case("length_from_first_words", PLAIN)
    c.send(1, n=0)
    c.send(2, n=5)
    c.drop("MISMATCH", c.contrib(3, n=6))
    yield c


def all_cases():
    for name, lane in LANES.items():
        yield from sums(name, lane)
    for name, lane in list(LANES.items())[:3]:
        yield from exponents(name, lane)
    for part in (sizes, groups, header_drops, payload_drops, slot_drops,
                 mismatch_drops):
        yield from part()


def write(out):
    for g in GROUPS:
        caps = ",".join(f"{r}:{c}" for r, c in g.caps.items()) or "-"
        out.write(
            f"group {g.name} id={g.id} epoch={g.epoch} members={g.members} "
            f"local={g.local} cell_words={g.cell_words} window={g.window} "
            f"shard_chunks={g.shard_chunks} bound_max_us={g.bound_max_us} "
            f"key={g.key.hex() if g.key else '-'} caps={caps}\n")
    out.write("\n")
    for case in all_cases():
        out.write("\n".join(case.end()) + "\n")
