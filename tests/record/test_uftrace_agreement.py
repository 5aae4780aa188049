#!/usr/bin/env python3
"""The example program, recorded by us and by uftrace: the same calls and returns in the same
nesting, event by event, as `uftrace dump` prints them; and the same counts as `uftrace report`."""
import re
import subprocess
from pathlib import Path

import setting
import traces

SIZES = setting.cut((1, 2), (1,))
LINE = re.compile(r"^\s*\d+\.\d+\s+\d+: \[(entry|exit )\] ([^(]+)\([0-9a-f]+\) depth: (\d+)")


def compile_example(work):
    program = Path(work, "minilang")
    sources = sorted((setting.SOURCE / "examples" / "minilang").glob("*.c"))
    setting.call(["gcc", "-O2", "-g", "-finstrument-functions", "-o", program, *sources])
    return program


def by_uftrace(work, program, size):
    """(kind, function, depth) of each event, and {function: calls} of the report."""
    place = Path(work, f"uftrace.{size}")
    for _ in range(10):  # on a busy machine it loses some, and says so
        setting.call(["uftrace", "record", "--force", "--no-libcall", "--no-event", "-d", place,
                      program, size])
        dump = subprocess.run(["uftrace", "dump", "-d", place], check=True, capture_output=True,
                              text=True, timeout=120)
        if "lost" not in (dump.stdout + dump.stderr).lower():
            break
    events = []
    for line in dump.stdout.splitlines():
        match = LINE.match(line)
        if match:
            kind, name, depth = match.groups()
            events.append(("enter" if kind == "entry" else "exit", name, int(depth)))
    report = setting.call(["uftrace", "report", "-d", place, "-f", "call", "--no-pager"])
    calls = {}
    for line in report.decode().splitlines():
        words = line.split()
        if len(words) == 2 and words[0].isdigit():
            calls[words[1]] = int(words[0])
    return events, calls


def by_us(checks, work, program, size, *options):
    out = Path(work, f"ours.{size}{''.join(options)}.ttape")
    done = setting.run(setting.record_words(out, [program, size], "--block", *options), cwd=work)
    if not checks.equal(done.status, 0, f"size {size} {options}: status"):
        return None
    checks.that(traces.verify(out) is None, f"size {size} {options}: {traces.verify(out)}")
    dump = setting.tracetape("dump", "--format", "csv", out)
    events = []
    for line in dump.out.decode().splitlines()[1:]:
        _, _, _, kind, depth, _, name = line.split(",", 6)
        if not name.startswith("tracetape:"):  # facts, which uftrace does not have
            events.append((kind, traces.plain_name(name), int(depth)))
    return events


def compare(checks, label, ours, theirs):
    if not checks.equal(len(ours), len(theirs), f"{label}: events"):
        return
    different = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), None)
    checks.that(different is None, f"{label}: event {different} differs",
                *([ours[different], theirs[different]] if different is not None else []))


def main():
    setting.need_verb("record")
    setting.need_command("uftrace")
    checks = setting.Checks("agreement with uftrace")
    with setting.work_dir() as work:
        program = compile_example(work)
        for size in SIZES:
            theirs, report = by_uftrace(work, program, size)
            checks.that(len(theirs) > 10000, f"size {size}: uftrace has {len(theirs)} events")
            for options in ((), ("--clock", "none"), ("--clock", "monotonic")):
                ours = by_us(checks, work, program, size, *options)
                if ours is None:
                    continue
                compare(checks, f"size {size} {' '.join(options)}", ours, theirs)
                counts = {}
                for kind, name, _ in ours:
                    if kind == "enter":
                        counts[name] = counts.get(name, 0) + 1
                checks.equal(counts, report, f"size {size}: calls by function")
    checks.verdict()


main()
