"""Of which frames the trace does not know when they ended (spec/format.md, section 7.11)."""
from mini_coder import Bits, Decoder
from mini_partition import ENDS, EXIT_ACROSS, UNWIND

LEFT, UNSEEN, LOST, LATE = range(4)


def read_ends(data, count):
    """F-END-01, F-END-02: the kinds of so many unwinding events."""
    decoder = Decoder(data, "F-END-02")
    known, late, lost = Bits(4), Bits(4), Bits(4)
    kinds, before = [], LEFT
    for _ in range(count):
        if decoder.bit(known, before):
            kind = LEFT
        elif decoder.bit(late, before):
            kind = LATE
        else:
            kind = LOST if decoder.bit(lost, before) else UNSEEN
        kinds.append(kind)
        before = kind
    return kinds


def check_ends(partition, symbols, codes):
    """The kinds by event number, of those that are not left."""
    if ENDS not in partition.entries:
        return {}
    at = [i for i, code in enumerate(codes) if symbols[code >> 1][0] in (UNWIND, EXIT_ACROSS)]
    kinds = read_ends(partition.section(ENDS), len(at))
    return {event: kind for event, kind in zip(at, kinds) if kind != LEFT}
