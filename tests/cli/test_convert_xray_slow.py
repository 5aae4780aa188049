#!/usr/bin/env python3
"""Real logs of XRay: each record that llvm-xray reads is in our trace, with its function, thread
and time to the tick."""
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import xray_logs

XRAY = next((name for name in ("llvm-xray", "llvm-xray-14") if shutil.which(name)), None)
KINDS = {"function-enter": "enter", "function-enter-arg": "enter", "function-exit": "exit",
         "function-tail-exit": "exit"}
RECORD = re.compile(r"func-id: (\d+),.* thread: (\d+), .*kind: ([a-z-]+),.* tsc: (\d+)")


def records(log):
    """{(tid, kind, function, time)} as llvm-xray has them."""
    said = subprocess.run([XRAY, "convert", "--output-format=yaml", log, "-o", "-"], check=True,
                          capture_output=True, text=True).stdout
    hz = int(re.search(r"cycle-frequency: (\d+)", said)[1])
    found = Counter()
    for function, tid, kind, ticks in RECORD.findall(said):
        if kind in KINDS:
            found[int(tid), KINDS[kind], f"function {function}", int(ticks) * 10**9 // hz] += 1
    return found


def main():
    if XRAY is None:
        print("SKIPPED: llvm-xray is missing (scripts/setup --slow installs it)")
        return 77
    with tempfile.TemporaryDirectory(prefix="ttape-xray.") as folder:
        program = xray_logs.build(folder)
        for flight in (False, True):
            log = xray_logs.record(program, flight) if program else None
            if log is None:
                print("SKIPPED: clang has no runtime of XRay")
                return 77
            trace = Path(folder) / "out.ttape"
            xray_logs.run("convert", log, "-o", trace, "--force")
            ours = Counter(row[:4] for row in xray_logs.events(trace))
            theirs = records(log)
            assert sum(theirs.values()) > 10000 and ours == theirs, \
                (flight, (ours - theirs).most_common(3), (theirs - ours).most_common(3))
            print(f"ok: {sum(theirs.values())} records")
    return 0


sys.exit(main())
