"""Times sections, static form (spec/times-static.md): section 32 gives the differences."""
from mini_coder import Bits, Cursor, Decoder, Number, need, unzigzag, wrap64

BLOCK = 32768
SYMBOLS = 246
WIDE = (1 << 32) - 1
WIDE_SYMBOL = 245
TRIE_NODES, CONTEXTS = 65535, 8192
LOG, PHASE = 0, 1
BOUNDS = (16, 32, 42, 48, 54, 64, 80)
STEPS = (16384, 19484, 23170, 27554)


def base_and_bits(symbol):
    """The difference with raw bits 0, and how many raw bits there are (T-STA-40)."""
    if symbol < 64:
        return symbol, 0
    if symbol < 224:
        k = (symbol >> 5) + 4
        return ((symbol & 31) + 32) << (k - 5), k - 5
    return (1 << symbol - 213, symbol - 213) if symbol < WIDE_SYMBOL else (WIDE, 0)


def scale_of(symbol, rule):
    """T-STA-41."""
    base, bits = base_and_bits(symbol)
    middle = base + ((1 << bits) >> 1)
    if rule == PHASE:
        return min(1023, 128 * middle)
    k = (middle + 1).bit_length() - 1
    return min(1023, 32 * k + ((middle + 1) * 32 >> k) - 32)


# ---- contexts ----

class Trie:
    """The trie of histories, and the contexts that it gives (T-STA-20 to T-STA-25)."""

    def __init__(self, partition, codes, order):
        self.children, self.suffix, self.depth = {}, [0], [0]
        self.full = min(TRIE_NODES, 9 * partition.events + 1)
        self.place, at = [], 0
        for segment in partition.segments:
            f = 0
            for i in range(at, at + segment.events):
                v = self.next(f, codes[i])
                self.place.append(v)
                f = self.suffix[v] if self.depth[v] > order else v
            at += segment.events
        self.number_contexts(partition.events)

    def next(self, v, c):
        child = self.children.get((v, c))
        if child is not None:
            return child
        t = self.next(self.suffix[v], c) if v else 0
        if len(self.suffix) >= self.full:
            return t
        self.children[v, c] = len(self.suffix)
        self.suffix.append(t)
        self.depth.append(self.depth[v] + 1)
        return len(self.suffix) - 1

    def number_contexts(self, n):
        nodes = len(self.suffix)
        count = [0] * nodes
        for v in self.place:
            count[v] += 1
        for v in range(nodes - 1, 0, -1):    # a suffix has a lower number
            count[self.suffix[v]] += count[v]
        least = (0, 4, 8, min(256, 64 + n // 4096))
        most, eligible, representative = min(CONTEXTS, 9 * n + 1), 0, []
        for v in range(nodes):
            if eligible < most and count[v] >= least[min(self.depth[v], 3)]:
                eligible += 1
                representative.append(v)
            else:
                representative.append(representative[self.suffix[v]])
        used = sorted({representative[v] for v in self.place})
        self.number = {v: i for i, v in enumerate(used)}
        self.context = [self.number[representative[v]] for v in self.place]
        owners = {}
        self.owner = [owners.setdefault(self.edge(v), i) for i, v in enumerate(used)]
        self.like = [self.resembled(i, v) for i, v in enumerate(used)]

    def edge(self, v):
        while self.depth[v] > 2:
            v = self.suffix[v]
        return v

    def resembled(self, context, v):
        """T-STA-25: a context, or None."""
        while self.depth[v] > 2:
            v = self.suffix[v]
            if self.depth[v] >= 2 and v in self.number:
                return self.number[v]
        return self.owner[context] if self.owner[context] != context else None


# ---- the model ----

class Table:
    """One table: frequencies for rANS, and its mean (T-STA-38, T-STA-39)."""

    def __init__(self, levels, rule):
        weights = [STEPS[(v - 1) & 3] << ((v - 1) >> 2) if v else 0 for v in levels]
        total = sum(weights)
        self.f = [max(1, (w * 4096 + total // 2) // total) if w else 0 for w in weights]
        rest = 4096 - sum(self.f)
        if rest > 0:
            self.f[self.f.index(max(self.f))] += rest
        for _ in range(-rest):
            self.f[self.f.index(max(self.f))] -= 1
        mean = sum(w * scale_of(s, rule) for s, w in enumerate(weights)) + total // 2
        self.mean = mean // total if rule == PHASE else (mean // total + 2) >> 2
        self.symbol, self.first = [], []
        for s, f in enumerate(self.f):
            self.first.append(len(self.symbol))
            self.symbol += [s] * f


class Model:
    """The tables, and for each context its row of tables and its mean."""

    def __init__(self, data, tables, rule, wide, trie):
        self.decoder, self.rule, self.states = Decoder(data, "T-STA-31"), rule, 16 if rule else 8
        self.last, self.zero = Number(), Bits(8)
        self.size, self.sign = [Bits(16) for _ in range(3)], Bits(3)
        self.same, self.tree = Bits(6), [Bits(64) for _ in range(65)]
        self.tables, above = [], [0] * SYMBOLS
        for _ in range(tables):
            above = self.levels(above)
            need(wide or not above[WIDE_SYMBOL], "T-STA-32", "wide symbol without wide sizes")
            self.tables.append(Table(above, rule))
        self.bits = (tables - 1).bit_length()
        self.rows, self.means, mean = [], [], Number()
        for context, like in enumerate(trie.like):
            self.rows.append(self.row(self.rows[like] if like is not None else None))
            if trie.owner[context] != context:
                self.means.append(self.means[trie.owner[context]])
                continue
            middle = self.tables[self.rows[-1][self.states // 2]].mean
            value = middle + unzigzag(mean.get(self.decoder))
            need(0 <= value <= (1023 if rule else 255), "T-STA-30", f"mean {value}")
            self.means.append(value)
        need(self.decoder.next >= len(data), "T-STA-31", "bytes behind the model")

    def levels(self, above):
        """T-STA-35."""
        d, levels = self.decoder, [0] * SYMBOLS
        last = self.last.get(d)
        need(last < SYMBOLS, "T-STA-30", f"last symbol {last}")
        for s in range(last + 1):
            one = levels[s - 1] if s else 0
            two = levels[s - 2] if s > 1 else 0
            if s < last and not d.bit(self.zero, (one != 0) + 2 * (two != 0) + 4 * (above[s] != 0)):
                continue
            level = one or two or above[s] or 20
            kind = 0 if one and two else 1 if one else 2
            size = self.size[kind]
            if d.bit(size):
                lower, k = d.bit(self.sign, kind), 1
                while k < 49 and d.bit(size, min(k, 15)):
                    k += 1
                level += -k if lower else k
            need(1 <= level <= 49, "T-STA-30", f"level {level}")
            levels[s] = level
        return levels

    def row(self, like):
        """T-STA-36."""
        d = self.decoder
        if like and d.bit(self.same):
            return like
        row, before = [], 1
        for s in range(self.states):
            near = like[s] if like else row[-1] if row else None
            if near is not None:
                before = d.bit(self.same, (2 if like else 4) + before)
                if before:
                    row.append(near)
                    continue
            else:
                before = 0                       # a missing bit counts as 0
            tree, node = self.tree[64 if near is None else near], 1
            for _ in range(self.bits):
                node = 2 * node + d.bit(tree, node)
            table = node - (1 << self.bits)
            need(table < len(self.tables), "T-STA-30", f"table {table}")
            row.append(table)
        return row


# ---- the tables form ----

class RawBits:
    """T-STA-52."""

    def __init__(self, data):
        self.data, self.at = int.from_bytes(data, "little"), 0
        self.size = len(data)

    def get(self, count):
        value = self.data >> self.at & (1 << count) - 1
        self.at += count
        return value

    def end(self):
        need((self.at + 7) // 8 == self.size and not self.data >> self.at, "T-STA-52",
             "raw bits of a block")


def _block(model, mix, contexts, words, raw, wide):
    """One block's differences (T-STA-42, T-STA-43, T-STA-50 to T-STA-54)."""
    x, used = int.from_bytes(words[:2], "little") << 16 | int.from_bytes(words[2:4], "little"), 4
    need(32768 <= x < 1 << 31, "T-STA-50", f"start state {x}")
    raw, wide = RawBits(raw), Cursor(wide, "T-STA-54")
    u, r = (96, 0) if model.rule else (6144, 24)
    differences = []
    for context in contexts:
        if model.rule:
            state = (u >> 1) * 16 // 97
        else:
            j = ((4 - mix) * u + 256 * mix * r) >> 9
            state = sum(bound <= j for bound in BOUNDS)
        table, mean = model.tables[model.rows[context][state]], model.means[context]
        z = x & 4095
        symbol = table.symbol[z]
        x = table.f[symbol] * (x >> 12) + z - table.first[symbol]
        if x < 32768:
            need(used < len(words), "T-STA-51", "the words end early")
            x = x << 16 | int.from_bytes(words[used:used + 2], "little")
            used += 2
        scale = model.scales[symbol]
        if model.rule:
            u = min(192, max(0, u + mean - scale))
        else:
            r = min(48, max(0, scale + 24 - 4 * mean))
            u += 32 * r - (u >> 3)
        if symbol == WIDE_SYMBOL:
            differences.append(wide.svarint())
            continue
        base, bits = base_and_bits(symbol)
        differences.append(base + raw.get(bits))
        need(differences[-1] < WIDE, "T-STA-53", "a wide difference in raw bits")
    need(used == len(words) and x == 32768, "T-STA-51", "end of a block's words")
    raw.end()
    wide.end()
    return differences


def _tables_form(partition, codes, cursor):
    flags, tables = cursor.byte(), cursor.byte() + 1
    need(not flags & 64, "T-STA-11", "flags bit 6")
    need(tables <= 64, "T-STA-12", f"{tables} tables")
    order, mix, rule, wide = (flags & 7) + 1, flags >> 3 & 3, flags >> 5 & 1, flags >> 7
    model_bytes, directory = cursor.varint(), []
    for _ in range(-(-partition.events // BLOCK)):
        entry = (cursor.svarint(), cursor.varint(32768, "T-STA-14"),
                 cursor.varint(131072, "T-STA-14"),
                 cursor.varint(327680, "T-STA-14") if wide else 0)
        directory.append(entry)
    blocks = sum(2 * words + 4 + raw + more for _, words, raw, more in directory)
    need(cursor.left() == model_bytes + blocks, "T-STA-13", "model and blocks fill the section")
    trie = Trie(partition, codes, order)
    model = Model(cursor.take(model_bytes), tables, rule, wide, trie)
    model.scales = [scale_of(s, rule) for s in range(SYMBOLS)]
    differences = []
    for b, (_, words, raw, more) in enumerate(directory):
        parts = cursor.take(2 * words + 4), cursor.take(raw), cursor.take(more)
        contexts = trie.context[b * BLOCK:(b + 1) * BLOCK]
        differences += _block(model, mix, contexts, *parts)
    _check_ticks(partition, differences, directory)
    return differences


def _check_ticks(partition, differences, directory):
    """T-STA-15."""
    begin = 0
    for segment in partition.segments:
        end = begin + segment.events
        for block in range(-(-begin // BLOCK), -(-end // BLOCK)):
            ticks = wrap64(sum(differences[begin:block * BLOCK]))
            need(directory[block][0] == ticks, "T-STA-15", f"ticks of block {block}")
        begin = end


# ---- the tiny form ----

def _hash(x, y, b):
    return ((x * 0x9E3779B1 ^ y * 0x85EBCA6B) & 0xFFFFFFFF) >> 32 - b


class Tiny:
    """T-STA-60 to T-STA-63."""

    def __init__(self, data):
        self.decoder = Decoder(data, "T-STA-60")
        self.rows, self.all, self.all_low = {}, Bits(64), [Bits(16) for _ in range(34)]

    def row(self, *key):
        found = self.rows.get(key)
        if found is None:
            found = self.rows[key] = Bits(64)
        return found

    def choose(self, rows, i):
        """A bit by the first of the probabilities that has two hits; all of them adapt."""
        for row in rows:
            if row.n[i] >= 2:
                break
        bit = self.decoder.raw_bit(row.p[i])
        for row in rows:
            row.adapt(i, bit)
        return bit

    def difference(self, before, code):
        rows = (self.row("edge", _hash(before, code, 9)), self.row("one", _hash(code, 0, 8)),
                self.all)
        node = 1
        for _ in range(6):
            node = 2 * node + self.choose(rows, node)
        length = node - 64
        need(length <= 33, "T-STA-61", f"length {length}")
        if length == 33:
            return unzigzag(self.raw(0, 64))
        if not length:
            return 0
        rows = self.row("low", _hash(code, length, 9)), self.all_low[length]
        a, left = 1, length - 1
        while left and a < 16:
            a, left = 2 * a + self.choose(rows, a), left - 1
        value = self.raw(a, left)
        need(value < WIDE, "T-STA-62", "a wide difference as a plain one")
        return value

    def raw(self, value, count):
        for _ in range(count):
            value = 2 * value + self.decoder.raw_bit(32768)
        return value


def read_static(partition, codes):
    """Section 32: the differences of all events."""
    cursor = Cursor(partition.section(32), "T-STA-13")
    need(cursor.left(), "T-STA-01", "an empty section")
    form = cursor.byte()
    if form == 2:
        return _tables_form(partition, codes, cursor)
    need(form == 1 and partition.events <= 8192, "T-STA-02", f"form {form}")
    tiny, differences, at = Tiny(cursor.data[1:]), [], 0
    for segment in partition.segments:
        before = 0xFFFFFFFF
        for code in codes[at:at + segment.events]:
            differences.append(tiny.difference(before, code))
            before = code
        at += segment.events
    need(tiny.decoder.next >= len(cursor.data) - 1, "T-STA-60", "bytes behind the stream")
    return differences
