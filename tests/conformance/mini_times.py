"""Times sections: raw (spec/raw.md), static and mixed forms give the ticks of all events."""
import struct

from mini_coder import Cursor, need, wrap64
from mini_mix import read_mixed
from mini_static import read_static

BLOCK = 32768                            # T-RAW-01
WIDE = (1 << 32) - 1                     # F-TIM-03


def segment_starts(partition):
    """Event number (in the partition) to the segment that begins there."""
    starts, at = {}, 0
    for segment in partition.segments:
        starts[at] = segment
        at += segment.events
    return starts


def read_raw_times(partition):
    """Section 34: the differences of all events."""
    data = partition.section(34)
    blocks = -(-partition.events // BLOCK)
    need(len(data) >= 16 * blocks, "T-RAW-01", "no room for the directory")
    body = data[16 * blocks:]
    cursor = Cursor(body, "T-RAW-04")
    starts, running, differences = segment_starts(partition), 0, []
    for i in range(partition.events):
        if i in starts:
            running = 0
        if not i % BLOCK:
            offset, before = struct.unpack_from("<Qq", data, i // BLOCK * 16)
            need(offset == cursor.offset, "T-RAW-02", f"block {i // BLOCK} at {offset}")
            need(before == wrap64(running), "T-RAW-03", f"block {i // BLOCK}")
        differences.append(cursor.svarint())
        running += differences[-1]
    cursor.end("T-RAW-02")
    return differences


def read_ticks(partition, codes):
    """The tick of every event (F-TIM-01), or None where the partition has no times."""
    if not partition.times:
        return None
    if partition.time_form == "raw":
        differences = read_raw_times(partition)
    elif partition.time_form == "mixed":
        differences = read_mixed(partition, codes)
    elif partition.time_form == "phased":
        differences = read_mixed(partition, codes, 35)
    else:
        differences = read_static(partition, codes)
    wide = sum(not 0 <= d < WIDE for d in differences)
    need(wide == partition.wide, "F-TIM-03", f"{wide} wide differences, not {partition.wide}")
    starts, ticks = segment_starts(partition), []
    for i, difference in enumerate(differences):
        tick = wrap64((starts[i].base if i in starts else ticks[-1]) + difference)
        ticks.append(tick)
    return ticks
