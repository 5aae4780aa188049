#!/usr/bin/env python3
"""As test_attach.py: programs that never nap are attached to and left 50 times each, and the
recorder is killed before each of its first 600 calls; then one of 8 busy threads a thousand times,
and one of 200 threads a hundred times. With two numbers, THREADS CYCLES, only such a one."""
import os
import re
import sys
import time
from pathlib import Path

os.environ["TTAPE_THOROUGH"] = "1"  # read when test_attach is
import setting  # noqa: E402
import test_attach  # noqa: E402
import test_attach_state  # noqa: E402

MANY = {8: 1000, 200: 100}
LITTLE = ("--duration", "20ms", "--max-size", "32K")  # Ctrl-C is what test_attach.cycle does
SOME = 50  # cycles, of which a line is said
SAID = re.compile(r"stood still (\d+) times?, for ([\d.]+) (us|ms|s)")
EVENTS = re.compile(r": (\d+) events of")
MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


class Figures:
    """What all cycles of one program have shown."""
    def __init__(self):
        self.begin, self.cycles, self.events, self.empty = time.monotonic(), 0, 0, 0
        self.stops, self.longest_ms = 0, 0.0

    def add(self, said):
        found, events = SAID.search(said), EVENTS.search(said)
        self.cycles += 1
        self.events += int(events[1]) if events else 0
        self.empty += not events or int(events[1]) == 0
        if found:
            self.stops += int(found[1])
            self.longest_ms = max(self.longest_ms, float(found[2]) * MS[found[3]])

    def say(self, threads):
        print(f"{threads} threads: {self.cycles} cycles in {time.monotonic() - self.begin:.0f} s, "
              f"{self.events} events, {self.empty} without any, {self.stops} stops, the longest "
              f"{self.longest_ms:.1f} ms; {os.getloadavg()[1]:.0f} ready to run", flush=True)


def short_cycle(checks, program, trace, what):
    """What is asked of a cycle is asked of each, but a moment is enough of a trace."""
    done = setting.tracetape("attach", *LITTLE, "-f", "-o", trace, program.pid)
    said = done.err.decode()
    if checks.that(done.status in (0, 3), f"{what}: {done.status}: {said}"):
        test_attach.look_at_end(checks, trace, what, said, done.wall)
    return said


def many_cycles(checks, folder, threads, cycles):
    program, figures = test_attach.Program(["counts", "threads", str(threads)]), Figures()
    before = program.state()
    for number in range(cycles):
        what = f"{threads} threads, {number}"
        figures.add(short_cycle(checks, program, folder / "many.ttape", what))
        checks.equal(program.state(), before, f"{what}: afterwards")
        if figures.cycles % SOME == 0:
            figures.say(threads)
    status, out, err = program.end()
    figures.say(threads)
    checks.equal((status, out), (0, "right\n"), f"{threads} threads: its answers: {err}")
    checks.that(figures.empty * 2 <= cycles, f"{figures.empty} of {cycles} traces have no event")
    print(err, end="", flush=True)


def main():
    setting.need_verb("attach")
    checks = setting.Checks("attach, many times")
    asked = [int(word) for word in sys.argv[1:3]]
    with setting.work_dir() as folder:
        for threads, cycles in [asked] if asked else MANY.items():
            many_cycles(checks, Path(folder), threads, cycles)
        if not asked:
            test_attach_state.check_all(checks, Path(folder))
            test_attach.check_all(checks, Path(folder))
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
