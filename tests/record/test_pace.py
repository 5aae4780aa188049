#!/usr/bin/env python3
"""While the recorder is behind, partitions are of level 1, and the metadata say how many; when it
is not, they are of the usual level (when it is: unit/test_pace). Run as root and as an ordinary
user."""
import struct
import subprocess
from pathlib import Path

import setting
import traces

CALLS = setting.cut(4_000_000, 400_000)  # two events each
PARTITION, ORDER_FULL, ORDER_RAW = 4, 16, 20
LEVELS = ([], ["--level", "1"], ["--level", "9"])


def orders(trace):
    """The form of order of each partition (spec/format.md, 7), in order."""
    data, at, found = trace.read_bytes(), 64, []
    while data[at:at + 8] == b"\xf3TTchk\xb1\x1a":
        kind, = struct.unpack_from("<H", data, at + 8)
        if kind == PARTITION:
            count, = struct.unpack_from("<I", data, at + 72)
            kinds = [struct.unpack_from("<H", data, at + 160 + 24 * i)[0] for i in range(count)]
            found += [k for k in kinds if k in (ORDER_FULL, ORDER_RAW)]
        at += 64 + struct.unpack_from("<Q", data, at + 24)[0]
    return found


def record(checks, label, trace, program, calls, *options):
    """The forms, and what the metadata say of them."""
    done = subprocess.run([setting.COMMAND, "record", "-q", "-f", "-o", trace, *options, "--",
                           program, "1", str(calls)], capture_output=True, text=True, check=False,
                          timeout=120, stdin=subprocess.DEVNULL)
    checks.equal((done.returncode, done.stderr), (0, ""), f"{label}: status and messages")
    about = traces.info(trace)
    checks.equal(traces.lost(about), 0, f"{label}: lost")
    checks.equal(traces.verify(trace), None, f"{label}: verify")
    checks.equal(traces.call_counts(trace)["enter"]["leaf"], calls, f"{label}: calls")
    return orders(trace), {m["key"]: m["value"] for m in about["metadata"]}.get("fast_partitions")


def main():
    setting.need_verb("record")
    checks = setting.Checks("pace")
    with setting.work_dir() as work:
        program, trace = setting.build("p_tight.c", log=False), Path(work, "run.ttape")
        # A spill file of eight slots, of which a partition needs five, and a program that calls as
        # fast as it can into an arena that holds a part of its calls only: it waits, or there is no
        # room, again and again before it has ended, whoever is given a core.
        behind = ["--block", "--buffer", "1M", "--spill", "256K", "--partition-events", "20000"]
        for level in LEVELS:
            label = f"behind, {level}"
            forms, told = record(checks, label, trace, program, CALLS, *behind, *level)
            if level == ["--level", "1"]:
                checks.equal((set(forms), told), ({ORDER_RAW}, None), label)
                continue
            checks.equal(told, forms.count(ORDER_RAW), f"{label}: what the metadata say")
            checks.equal((told or 0) > 0, True, f"{label}: some are of level 1")
        forms, told = record(checks, "keeping pace", trace, program, 1000)
        checks.equal((set(forms), told), ({ORDER_FULL}, None), "keeping pace")
    checks.verdict()


main()
