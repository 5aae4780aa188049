"""Times sections, mixing form (spec/times-mix.md): section 33, or 35 with phases, gives the
differences."""
from mini_coder import Cursor, Decoder, Number, need, unzigzag, wrap64

SYMBOLS = 246
WIDE_SYMBOL = 245
WIDE = (1 << 32) - 1
BLOCK = 32768
M32 = (1 << 32) - 1
WEIGHT_LIMITS = (104857, 95371)          # without and with phases


# ---- tables (T-MIX-11) ----

def _tables():
    e = [1 << 32]
    for _ in range(2047):
        e.append(e[-1] * 4278222805 >> 32)
    squash = [0] * 4096
    for x in range(2048):
        squash[2048 + x] = (1 << 48) // ((1 << 32) + e[x])
    for x in range(1, 2048):
        squash[2048 - x] = 65536 - squash[2048 + x]
    squash[0] = squash[1]
    stretch, x = [0], -2047
    for p in range(1, 2048):
        while x < 2047 and squash[2048 + x] < 32 * p:
            x += 1
        stretch.append(x)
    return squash, stretch, [131072 // (2 * n + 3) for n in range(31)]


SQUASH, STRETCH, RATE = _tables()


def mix(x):
    x ^= x >> 15
    x = x * 0x2C1B3C6D & M32
    x ^= x >> 12
    x = x * 0x297A2D39 & M32
    return x ^ x >> 15


def join(h, v):
    return mix((h + v) * 0x9E3779B1 & M32)


# ---- the tree (T-MIX-06, T-MIX-07) ----

class Node:
    """An inner node of the tree over the symbols."""

    def __init__(self, index, group, depth):
        self.index, self.group, self.depth = index, group, min(depth, 7)
        self.number = 0
        self.sides = [None, None]        # a Node, or the number of a symbol
        self.hits, self.p = 6, 0         # its own counter (T-MIX-16)
        self.weights = [5000] * 11
        self.low = self.middle = self.high = 0   # its differences (T-MIX-24)
        self.knots = {}                  # kind to 33 knots (T-MIX-18)


def _split(weights, a, b):
    """The smallest s, a < s < b, for which the two sides' weights differ least."""
    total, left, best, found = sum(weights[a:b]), 0, None, a + 1
    for s in range(a + 1, b):
        left += weights[s - 1]
        gap = abs(total - 2 * left)
        if best is None or gap < best:
            best, found = gap, s
    return found


def first_of(symbol):
    """The least difference of a symbol up to 224."""
    return symbol if symbol < 64 else (32 | symbol & 31) << (symbol >> 5) - 1


def build_tree(lengths):
    """The root: a Node, or a symbol where only one occurs."""
    leaves = [s for s in range(SYMBOLS) if lengths[s]]
    weights = [1 << lengths[s] for s in leaves]
    if len(leaves) == 1:
        return leaves[0]
    root, free_group = Node(1, 0, 0), 1
    level, number = [(root, 0, len(leaves))], 0
    while level:
        below = []
        for node, a, b in level:
            node.number = number
            number += 1
            s = _split(weights, a, b)
            left, right = sum(weights[a:s]), sum(weights[s:b])
            node.low, node.middle = first_of(leaves[a]), first_of(leaves[s])
            node.high = first_of(leaves[b - 1] + 1) if leaves[b - 1] < 224 else None
            node.p = min(2047, max(1, 2048 * right // (left + right)))
            for bit, (begin, end) in enumerate(((a, s), (s, b))):
                if end - begin == 1:
                    node.sides[bit] = leaves[begin]
                    continue
                if node.index < 4:
                    child = Node(2 * node.index + bit, node.group, node.depth + 1)
                else:
                    child = Node(1, free_group, node.depth + 1)
                    free_group += 1
                node.sides[bit] = child
                below.append((child, begin, end))
        level = below
    return root


def read_lengths(decoder):
    """T-MIX-06."""
    sets, lengths, last = (Number(), Number()), [], 0
    for _ in range(SYMBOLS):
        last += unzigzag(sets[last != 0].get(decoder))
        need(0 <= last <= 32, "T-MIX-06", f"length {last}")
        lengths.append(last)
    need(any(lengths), "T-MIX-06", "no symbol occurs")
    return lengths


class Cell:
    """T-MIX-14."""
    __slots__ = ("mean", "deviation", "last", "before", "count")

    def __init__(self):
        self.mean = self.deviation = self.last = self.before = self.count = 0

    def learn(self, log, z):
        k = min(self.count, z)
        self.mean = (self.mean * ((1 << k) - 1) + 8 * log + (1 << k >> 1)) >> k
        self.count = min(255, self.count + 1)


def lg(x):
    """T-MIX-24."""
    h = (x + 1).bit_length() - 1
    return 256 * h + ((x + 1) * 256 >> h) - 256


def limit(value, bound):
    return max(-bound, min(bound, value))


class Mixer:
    """The whole state of the decoder."""

    def __init__(self, decoder, root, events, period):
        self.decoder, self.root = decoder, root
        self.period, self.phase = period, 0
        self.density = [65536] * period                                 # T-MIX-23
        self.mass = None
        size = max(0, (events - 1).bit_length())                        # T-MIX-12
        most = max(21 if period else 0, 19 if size <= 20 else min(22, size - 1))
        self.slot_bits = max(10, min(size + 3, most))
        self.cell_bits = min(16, self.slot_bits - 3)
        self.kind_bits = min(6, self.slot_bits - 10)
        self.cells = ({}, {}, {})
        self.counters = [{} for _ in range(9)]                          # number to [p, n]
        self.shared = {}                                                # (depth, kind) to weights
        self.overall, self.state, self.symbol = 12288, 32768, 0

    def cell(self, array, key):
        number = key >> 32 - self.cell_bits
        found = self.cells[array].get(number)
        if found is None:
            found = self.cells[array][number] = Cell()
        return found

    def step(self, node, keys, kind):
        """One bit of a path (T-MIX-16 to T-MIX-19)."""
        spin, shift, x = node.group * 0x9E3779B1 & M32, 35 - self.slot_bits, node.index
        counters, inputs = [], []
        for k in range(9):
            number = 8 * ((keys[k] ^ spin) >> shift) + x
            counter = self.counters[k].get(number)
            if counter is None:
                counter = self.counters[k][number] = [0, 0]
            counters.append(counter)
            inputs.append(STRETCH[counter[0]])
        inputs.append(STRETCH[node.p])
        if self.period:
            inputs.append(self.opinion(node))
        own = node.weights
        shared = self.shared.get((node.depth, kind))
        if shared is None:
            shared = self.shared[node.depth, kind] = [5000] * 11
        knots = node.knots.get(kind)
        if knots is None:
            knots = node.knots[kind] = [SQUASH[min(128 * j, 4095)] for j in range(33)]
        a = limit(sum(i * w for i, w in zip(inputs, own)) >> 15, 2047)
        b = limit(sum(i * w for i, w in zip(inputs, shared)) >> 15, 2047)
        t = (a + b + 4096) >> 1
        mixed, j, r = SQUASH[t], t >> 7, t & 127
        refined = (knots[j] * (128 - r) + knots[j + 1] * r) >> 7
        bit = self.decoder.raw_bit((mixed + refined) >> 1)
        at = j + (r >> 6)
        knots[at] += ((65535 if bit else 0) - knots[at]) >> 6
        for weights, sum_ in ((own, a), (shared, b)):
            e = (bit << 16) - SQUASH[2048 + sum_]
            for i, value in enumerate(inputs):
                weights[i] = limit(weights[i] + (value * e + 32768 >> 16),
                                   WEIGHT_LIMITS[self.period != 0])
        for counter in counters:
            if not counter[1]:
                counter[0], counter[1] = max(1, mixed >> 5), 1
            p, n = counter
            counter[0] = p + ((2048 * bit - p) * RATE[n] + 32768 >> 16)
            if n < 30:
                counter[1] = n + 1
        node.p += (2048 * bit - node.p) * RATE[node.hits] + 32768 >> 16
        node.hits = min(30, node.hits + 1)
        return bit

    def raw(self, count):
        value = 0
        for _ in range(count):
            value = value << 1 | self.decoder.raw_bit(32768)
        return value

    def sum(self, ticks):
        """S of T-MIX-24."""
        return ticks // self.period * self.mass[self.period] + self.mass[ticks % self.period]

    def opinion(self, node):
        """The eleventh input (T-MIX-24)."""
        if node.high is None or node.high - node.low > 256:
            return 0
        left, right = node.middle - node.low, node.high - node.middle
        dense = self.sum(node.middle) - self.sum(node.low)
        return limit(lg((self.sum(node.high) - self.sum(node.middle)) * left) - lg(dense * right),
                     2047)

    def place(self, start, bits):
        """T-MIX-25: the difference among 2^bits from `start` on."""
        if not self.period:
            return start + self.raw(bits)
        for k in range(bits - 1, -1, -1):
            low, middle, high = (self.sum(start + (n << k)) for n in range(3))
            start += self.decoder.raw_bit((high - middle << 16) // (high - low + 1)) << k
        return start

    def go_on(self, symbol, difference):
        """T-MIX-26."""
        if not self.period or symbol == WIDE_SYMBOL:
            return
        self.phase = (self.phase + difference) % self.period
        self.density = [d - (d >> 9) for d in self.density]
        self.density[self.phase] += self.period * 128

    def difference(self, symbol):
        """T-MIX-08, T-MIX-09."""
        if symbol < 64:
            return symbol
        if symbol < 224:
            bits = (symbol >> 5) - 1
            return self.place(first_of(symbol), bits)
        if symbol < WIDE_SYMBOL:
            value = (1 << symbol - 213) + self.raw(symbol - 213)
            need(value < WIDE, "T-MIX-08", "a wide difference as a plain one")
            return value
        bits = self.raw(7)
        need(bits <= 64, "T-MIX-09", f"{bits} raw bits")
        return unzigzag(self.raw(bits))

    def event(self, before, ahead, path):
        """One event: codes plus 1 of it and five before, of three ahead, and P (T-MIX-13)."""
        c0, c1, c2, c3, c4, c5 = before
        n1, n2, n3 = ahead
        edge = join(c0, c1 * 0x85EBCA6B)
        follow = join(edge, n1)
        three = join(follow, c2)
        six = join(three, c3 + c4 * 0x85EBCA6B + c5 * 0xC2B2AE35)
        ahead = n1 + n2 * 0x85EBCA6B + n3 * 0xC2B2AE35
        f, t, s = self.cell(0, edge), self.cell(1, three), self.cell(2, six)
        fm = f.mean if f.count else self.overall                        # T-MIX-14
        tm = t.mean if t.count else fm
        sm = s.mean if s.count else tm
        q = min(31, max(0, (self.state >> 9) - 48))
        v = min(15, t.deviation >> 6) if t.count else 4
        kind = edge & (1 << self.kind_bits) - 1
        keys = (follow, join(edge, 0x1000 + self.symbol), join(edge, 0x2000 + q),
                mix(0x3000000 + (tm >> 6) * 256 + q & M32),
                mix(0x4000000 + t.last * 256 + s.last),
                mix(0x5000000 + s.last * 256 + s.before),
                mix(0x6000000 + (sm + self.state // 8 >> 5) * 16 + v & M32),
                join(six + 0x7000000, n2), join(join(path, 0x8000000), ahead))
        if self.period:
            self.mass = [0]
            for i in range(self.period):
                self.mass.append(self.mass[-1] + self.density[(self.phase + i) % self.period])
        place = self.root
        while isinstance(place, Node):
            place = place.sides[self.step(place, keys, kind)]
        difference = self.difference(place)
        self.learn(place, difference, (f, t, s), fm, tm)
        self.go_on(place, difference)
        return difference

    def learn(self, symbol, difference, cells, fm, tm):
        """T-MIX-20."""
        f, t, s = cells
        y = (WIDE if symbol == WIDE_SYMBOL else difference) + 1
        h = y.bit_length() - 1
        log = min(8191, 256 * h + (y * 256 >> h) - 256)
        e = limit(log - (fm >> 3), 512) if f.count else 0
        self.state += 8 * (e + 512) - (self.state >> 3)
        w = min(1024, abs(log - (tm >> 3)))
        t.deviation = (7 * (t.deviation if t.count else 256) + 8 * w + 4) >> 3
        f.learn(log, 4)
        t.learn(log, 3)
        s.learn(log, 3)
        t.last = symbol
        s.before, s.last = s.last, symbol
        self.overall = (15 * self.overall + 8 * log + 8) >> 4
        self.symbol = symbol


def check_end(decoder, data):
    """T-MIX-10: one spelling of the stream's end."""
    for keep in range(5):
        value = decoder.high & ~((1 << 32 - 8 * keep) - 1) & M32
        if value >= decoder.low:
            break
    need(decoder.code == value and decoder.next - 4 + keep == len(data), "T-MIX-10",
         "end of the stream")


def read_mixed(partition, codes, kind=33):
    """Section 33, or 35: the differences of all events."""
    data, period = partition.section(kind), 0
    if not partition.events:
        need(not data, "T-MIX-01", "bytes for no events")
        return []
    if kind == 35:
        need(data and 2 <= data[0] <= 128, "T-MIX-21", "period")
        period, data = data[0], data[1:]
    cursor = Cursor(data, "T-MIX-02")
    entries = [0] + [cursor.svarint() for _ in range(-(-partition.events // BLOCK) - 1)]
    data = data[cursor.offset:]
    decoder = Decoder(data, "T-MIX-10")
    mixer = Mixer(decoder, build_tree(read_lengths(decoder)), partition.events, period)
    differences, at = [], 0
    for segment in partition.segments:
        path = running = mixer.phase = 0
        row = [0] * 5 + [code + 1 & M32 for code in codes[at:at + segment.events]] + [0] * 3
        for i in range(5, 5 + segment.events):
            if at and not at % BLOCK:
                need(entries[at // BLOCK] == wrap64(running), "T-MIX-03", f"block {at // BLOCK}")
            path = path * 0xDC39AC98 + row[i] * 0x9E3779B1 & M32
            differences.append(mixer.event(row[i - 5:i + 1][::-1], row[i + 1:i + 4], path))
            running += differences[-1]
            at += 1
    check_end(decoder, data)
    return differences
