"""Order sections: raw (spec/raw.md) and literal (spec/order-literal.md) forms give the codes."""
from mini_coder import Cursor, need
from mini_full import read_full

CHAIN_EVENTS = 1 << 16                   # O-LIT-04


def read_definitions(cursor, given, stated):
    """O-RAW-01 to O-RAW-04: all symbols as (class, argument), the given ones first."""
    count = cursor.varint()
    need(len(given) <= count <= 1 << 31, "O-RAW-02", f"{count} symbols")
    need(count == stated, "O-RAW-02", f"{count} symbols, the head says {stated}")
    fresh = count - len(given)
    classes = cursor.take(fresh, "O-RAW-03")
    need(all(kind <= 8 for kind in classes), "O-RAW-03", "class of a symbol")
    symbols, last = list(given), [0] * 9
    cursor.rule = "O-RAW-04"
    for kind in classes:
        last[kind] += cursor.svarint()
        need(0 <= last[kind] < 1 << 32, "O-RAW-04", f"argument {last[kind]}")
        symbols.append((kind, last[kind]))
    return symbols


def read_raw(partition):
    """Section 20: (symbols, codes)."""
    cursor = Cursor(partition.section(20), "O-RAW-01")
    symbols = read_definitions(cursor, partition.given_symbols, partition.symbol_count)
    width = max(1, (max(2 * len(symbols) - 1, 0).bit_length() + 7) // 8)
    data = cursor.take(width * partition.events, "O-RAW-05")
    cursor.end("O-RAW-05")
    codes = [int.from_bytes(data[i:i + width], "little") for i in range(0, len(data), width)]
    need(all(code < 2 * len(symbols) for code in codes), "O-RAW-06", "code")
    return symbols, codes


class _Chains:
    """The literal header: chains end to end, and where each begins and ends."""

    def __init__(self, partition):
        cursor = Cursor(partition.section(18), "O-LIT-01")
        self.symbols = read_definitions(cursor, partition.given_symbols, partition.symbol_count)
        self.alphabet = 2 * len(self.symbols)
        cursor.rule = "O-LIT-02"
        count = cursor.varint()
        cursor.rule = "O-LIT-03"
        need(count <= cursor.left(), "O-LIT-03", f"{count} chains")
        lengths = [cursor.varint() for _ in range(count)]
        need(all(lengths), "O-LIT-03", "an empty chain")
        need(sum(lengths) <= min(CHAIN_EVENTS, partition.events), "O-LIT-04", "events of chains")
        cursor.rule = "O-LIT-05"
        self.events, self.bounds = [], []
        for length in lengths:
            begin = len(self.events)
            for i in range(length):
                code = self.events[-1] + cursor.svarint() if i else cursor.varint()
                need(0 <= code < self.alphabet, "O-LIT-05", f"identifier {code}")
                self.events.append(code)
            self.bounds += [(begin, begin + length)] * length
        cursor.end("O-LIT-06")

    def chain(self, position):
        """The chain that a position lies in, and the place in it (O-LIT-07)."""
        if position >= len(self.events):
            return [position - len(self.events)], 0
        begin, end = self.bounds[position]
        return self.events[begin:end], position - begin


def _successors(cursor, follows, left_in_chain):
    """How many successors occurred (O-LIT-10 to O-LIT-12)."""
    if follows:
        return left_in_chain
    cursor.rule = "O-LIT-11"
    bits = cursor.byte()
    if bits == 255:
        cursor.rule = "O-LIT-12"
        count = 8 + cursor.varint()
        need(count < 1 << 64, "O-LIT-12", f"repeat count {count}")
        return count
    ones = 8 - (bits ^ 255).bit_length()
    need(not bits << ones + 1 & 255, "O-LIT-11", f"bits {bits:#x}")
    return ones


def read_literal(partition):
    """Sections 18 and 19: (symbols, codes)."""
    chains = _Chains(partition)
    positions = len(chains.events) + chains.alphabet
    cursor = Cursor(partition.section(19), "O-LIT-09")
    codes = []
    for segment in partition.segments:
        lacks = segment.events
        while lacks:
            cursor.rule = "O-LIT-09"
            value = cursor.varint()
            need(value >> 1 < positions, "O-LIT-09", f"pointer {value >> 1}")
            chain, at = chains.chain(value >> 1)
            count = 1 + _successors(cursor, value & 1, len(chain) - 1 - at)
            need(count <= lacks, "O-LIT-14", f"{count} events where {lacks} are left")
            lacks -= count
            chain = chain[at:] + chain[:at]
            codes += chain * (count // len(chain)) + chain[:count % len(chain)]
    cursor.end("O-LIT-15")
    return chains.symbols, codes


def read_order(partition, model=None):
    """The symbols and codes of a partition, whatever form they are in."""
    form = partition.order_form
    if form == "raw":
        return read_raw(partition)
    return read_literal(partition) if form == "literal" else read_full(partition, model)
