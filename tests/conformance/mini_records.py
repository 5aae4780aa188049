"""The model of the full order form: mixed bits, slots and records (spec/order-full.md, 2 and 3)."""
from mini_coder import Bits

M32 = (1 << 32) - 1

S = (
    3017, 2735, 2605, 2518, 2454, 2403, 2360, 2323, 2291, 2263, 2237, 2214, 2192, 2173, 2154,
    2137, 2121, 2106, 2092, 2079, 2066, 2054, 2042, 2031, 2020, 2010, 2000, 1991, 1981, 1973,
    1964, 1956, 1944, 1929, 1915, 1901, 1888, 1876, 1864, 1853, 1843, 1832, 1823, 1813, 1804,
    1795, 1787, 1778, 1766, 1751, 1737, 1724, 1711, 1698, 1687, 1676, 1665, 1655, 1645, 1635,
    1626, 1617, 1609, 1601, 1589, 1574, 1559, 1546, 1533, 1521, 1509, 1498, 1487, 1477, 1467,
    1458, 1448, 1439, 1431, 1423, 1411, 1396, 1381, 1368, 1355, 1343, 1331, 1320, 1309, 1299,
    1289, 1279, 1270, 1261, 1252, 1244, 1232, 1217, 1203, 1189, 1176, 1164, 1152, 1141, 1130,
    1120, 1110, 1100, 1091, 1082, 1073, 1065, 1053, 1037, 1023, 1009, 996, 984, 972, 960, 949,
    939, 929, 919, 910, 901, 892, 883, 871, 855, 841, 827, 813, 801, 788, 777, 766, 755, 744,
    734, 725, 715, 706, 698, 685, 669, 653, 639, 625, 612, 599, 587, 575, 564, 553, 542, 532,
    522, 512, 503, 489, 472, 455, 439, 424, 410, 396, 382, 369, 356, 344, 332, 320, 309, 298,
    287, 271, 250, 230, 211, 193, 174, 157, 139, 122, 105, 89, 72, 56, 40, 24, 8)
K = (
    22, 28, 36, 47, 60, 77, 98, 126, 162, 208, 267, 342, 439, 562, 720, 922, 1179, 1506, 1921,
    2446, 3108, 3938, 4971, 6249, 7812, 9702, 11955, 14595, 17625, 21025, 24743, 28693, 32768,
    36843, 40793, 44511, 47911, 50941, 53581, 55834, 57724, 59287, 60565, 61598, 62428, 63090,
    63615, 64030, 64357, 64614, 64816, 64974, 65097, 65194, 65269, 65328, 65374, 65410, 65438,
    65459, 65476, 65489, 65500, 65508, 65514)


def stretch(p):
    """O-FUL-17."""
    q = p if p < 32768 else 65535 - p
    if q >= 16:
        e = q.bit_length() - 1
        q = 16 * (e - 3) + (q >> e - 4 & 15)
    return -S[q] if p < 32768 else S[q]


STRETCH = [stretch(p) for p in range(65536)]


def squash(x):
    a = x + 2048
    return (K[a >> 6] * (64 - a % 64) + K[(a >> 6) + 1] * (a % 64)) >> 6


def hash3(a, b, c):
    """O-FUL-18."""
    h = a * 0x9E3779B1 + b * 0x85EBCA6B + c * 0xC2B2AE35 & M32
    h ^= h >> 15
    h = h * 0x2C1B3C6D & M32
    h ^= h >> 13
    return h * 0x297A2D39 & M32


def clamp(value, low, high):
    return max(low, min(high, value))


class Mixed:
    """Weight rows and the shared table of slots (O-FUL-16, O-FUL-19, O-FUL-20)."""

    def __init__(self, size):
        bits = clamp(size + 2, 8, 16)
        self.shift = 32 - bits
        self.slots = Bits(1 << bits, (26000, 0))
        self.rows = {}

    def bit(self, decoder, row, *uses):
        """A mixed bit with the inputs slot(u, a, b) for each of the uses."""
        at = [hash3(a, b, u) >> self.shift for u, a, b in uses]
        weights = self.rows.get(row)
        if weights is None:
            weights = self.rows[row] = [0x5000] * len(at)
        stretched = [STRETCH[self.slots.p[i]] for i in at]
        x = clamp(sum(w * s for w, s in zip(weights, stretched)) >> 16, -2047, 2047)
        p = squash(x)
        bit = decoder.raw_bit(p)
        error = (65535 if bit else 0) - p
        for k, i in enumerate(at):
            weights[k] = clamp(weights[k] + (stretched[k] * error + 8192 >> 14), -1 << 19, 1 << 19)
            self.slots.adapt(i, bit)
        return bit


class Record:
    """O-FUL-21."""
    __slots__ = ("check", "successor", "count", "other", "history")

    def __init__(self, check=0):
        self.check, self.other, self.history = check, 0, 0
        self.successor, self.count = [0, 0], [0, 0]

    def trust(self, j):
        """O-FUL-23."""
        return (8 * j + scale(self.count[j])) * 8 + scale(self.count[0] if j else self.other)


EMPTY = Record()


def scale(count):
    if count < 8:
        return min(count, 4)
    return 5 if count < 16 else 6 if count < 64 else 7


def fade(count, k):
    return count - (count >> k) if count > 2 else count


def opinions(group, own, successor):
    """O-FUL-23."""
    o = 0
    for i, record in enumerate(group):
        if i == own:
            continue
        o *= 4
        if record.count[0] and record.successor[0] != successor:
            o += 1
        elif record.count[0]:
            o += 2 if record.other else 3
    return o


class Records:
    """A table of records: find and teach (O-FUL-21, O-FUL-22)."""

    def __init__(self, bits):
        self.shift, self.entries = 32 - bits, {}

    def find(self, h):
        i = h >> self.shift
        for place in (i, i ^ 1):
            record = self.entries.get(place, EMPTY)
            if record.check == h:
                return record
        return EMPTY

    def _place(self, h):
        i = h >> self.shift
        for place in (i, i ^ 1):
            if self.entries.get(place, EMPTY).check == h:
                return place
        first, second = self.entries.get(i, EMPTY), self.entries.get(i ^ 1, EMPTY)
        place = i if first.count[0] <= second.count[0] else i ^ 1
        self.entries[place] = Record(h)
        return place

    def teach(self, h, s):
        place = self._place(h)
        r = self.entries.setdefault(place, Record(h))
        if r.count[0] and r.successor[0] == s:
            r.history = 2 * r.history + 1 & 255
            r.count[0] = min(255, r.count[0] + 1)
            r.count[1] = fade(r.count[1], 2)
            r.other = fade(r.other, 3)
        elif not r.count[0]:
            r.successor[0], r.count[0] = s, 1
        else:
            r.history = 2 * r.history & 255
            r.other = min(255, r.other + 1)
            r.count[0] = fade(r.count[0], 2)
            if r.count[1] and r.successor[1] == s:
                r.count[1] = min(255, r.count[1] + 1)
            else:
                r.successor[1], r.count[1] = s, 1
            if r.count[1] >= r.count[0]:
                r.count.reverse()
                r.successor.reverse()
