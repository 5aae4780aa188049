#!/usr/bin/env python3
"""As it comes, recording loses nothing: threads that do nothing but call, with as many busy
processes beside them as a machine may have. Run as root and as an ordinary user, whose recorder has
no priority before others. Handlers that come while a thread ends are recorded, too. Words THREADS
BUSY: that case only."""
import subprocess
import sys
import time
from pathlib import Path

import setting
import traces

CALLS = setting.cut(12_000_000, 1_000_000)  # two events each
RUNS = setting.cut(10, 1)
CASES = setting.cut([(threads, busy) for threads in (1, 2, 4) for busy in (0, 2, 4)],
                    [(1, 0), (4, 2)])


def run_once(checks, work, program, threads, busy):
    trace = Path(work, "run.ttape")
    label = f"{threads} threads, {busy} busy processes"
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    begin = time.monotonic()
    try:
        done = subprocess.run([setting.COMMAND, "record", "-f", "-o", trace, "--", program,
                               str(threads), str(CALLS)], capture_output=True, text=True,
                              check=False, timeout=600, stdin=subprocess.DEVNULL)
    finally:
        for other in others:
            other.kill()
            other.wait()
    seconds = time.monotonic() - begin
    checks.equal(done.returncode, 0, f"{label}: status; {done.stderr}")
    counts = traces.call_counts(trace)
    made = CALLS // threads * threads
    checks.equal(traces.lost(traces.info(trace)), 0, f"{label}: lost")
    checks.equal(counts["enter"]["leaf"], made, f"{label}: calls")
    checks.equal(counts["exit"]["leaf"], made, f"{label}: returns")
    waited = [line for line in done.stderr.splitlines() if "waited" in line]
    print(f"{label}: {2 * made / seconds / 1e6:.1f} M events/s with the encoding"
          + "".join(f"; {line}" for line in waited))


def end_in_handlers(checks, work):
    """A handler that comes while its thread's state is taken away has one of its own."""
    trace, stride = Path(work, "ends.ttape"), setting.cut(1, 41)
    program = setting.build("p_end_handlers.c", log=False)
    done = setting.run(setting.record_words(trace, [program, stride], "-f", quiet=False))
    checks.equal((done.status, done.program_err()), (0, b""), "handlers at ends: status")
    checks.that(not any("lost" in line for line in done.said()), "handlers at ends: lost",
                done.said())
    threads, instructions = map(int, done.out.split())
    counts = traces.call_counts(trace)["enter"]
    checks.equal(counts["leaf"], threads, "handlers at ends: calls")
    checks.that(instructions > 1000 and counts["handler"] > threads // 4,
                "handlers at ends: there were some", done.out, counts)


def main():
    setting.need_verb("record")
    checks = setting.Checks("no loss")
    with setting.work_dir() as work:
        program = setting.build("p_tight.c", log=False)
        for threads, busy in [tuple(map(int, sys.argv[1:3]))] if sys.argv[2:] else CASES:
            for _ in range(RUNS):
                run_once(checks, work, program, threads, busy)
        if not sys.argv[2:]:
            end_in_handlers(checks, work)
    checks.verdict()


main()
