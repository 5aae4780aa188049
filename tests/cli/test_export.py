#!/usr/bin/env python3
"""Every export, read back by a strict parser and by the tool that it is for, against frames and
times computed from the events alone: whole traces, cuts of time, threads and processes, and without
short frames."""
import os
import sys
import tempfile
from pathlib import Path

import export_checks
import export_model
from export_checks import CHECKS, MISSING, TOOL, run


def selections(streams):
    """(options, what they select); thread I has stream I and tid 100 + I or 200 + I."""
    times = sorted(e["time_ns"] for events in streams.values() for e in events)
    first, third, most = times[0], times[len(times) // 3], times[2 * len(times) // 3]
    yield [], {}
    yield ["--time", f"{third}..{most}"], {"start": third, "end": most}
    yield ["--time", f"+{most - first}.."], {"start": most}
    yield ["--time", f"..{third}ns"], {"end": third}
    yield ["--time", f"{third}..{third + 1}"], {"start": third, "end": third + 1}
    yield ["--min-time", "50us"], {"least": 50_000}
    yield ["--min-time", "300us", "--time", f"{third}..{most}"], \
        {"least": 300_000, "start": third, "end": most}
    yield ["--thread", "201"], {"keep": lambda stream: stream == 1}
    yield ["--process", "100", "--min-time", "1us"], \
        {"least": 1_000, "keep": lambda stream: stream in (0, 2)}
    yield ["--time", f"{times[-1]}.."], {"start": times[-1]}


def main():
    formats = [name for name in CHECKS if export_checks.has_format(name)]
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for seed, events in ((1, 1500), (2, 400), (3, 60)):
            (work / "in.txt").write_text(export_model.make_text(seed, events), encoding="utf-8")
            trace = work / f"{seed}.ttape"
            run("convert", work / "in.txt", "-o", trace, "--partition-events", "900", "--strict")
            streams = export_model.dump(TOOL, trace)
            assert {"unwind", "switch", "gap", "signal"} <= \
                {e["kind"] for events in streams.values() for e in events}
            # the gate: of the smaller ones every third selection, the whole trace first
            stride = 1 if seed == 1 or os.environ.get("TTAPE_THOROUGH") == "1" else 3
            for options, how in list(selections(streams))[::stride]:
                wanted = export_model.Selection(streams, **how)
                export_checks.check_all(trace, options, wanted, work, formats)
                count += len(formats)
    print(f"ok: {count} exports read back")
    missing = sorted(MISSING | {f"format '{name}'" for name in set(CHECKS) - set(formats)})
    if missing:
        print(f"SKIPPED: not read back: {', '.join(missing)} missing")
        sys.exit(77)


main()
