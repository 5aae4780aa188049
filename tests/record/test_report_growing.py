#!/usr/bin/env python3
"""A recording that is still written, among others: `report` has it up to its last whole partition,
counts it as growing, and that is no loss; when it has ended it is as any other."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import setting

SOURCE = """
#include <poll.h>
static volatile long sum;
__attribute__((noinline)) void step(void) { sum++; }
int main(void)
{
    struct pollfd end = {.fd = 0, .events = POLLIN};
    do
        for (int i = 0; i < 1000; i++)
            step();
    while (poll(&end, 1, 5) == 0);
    return 0;
}
"""


def report(folder):
    done = setting.tracetape("report", "--json", folder)
    return done, json.loads(done.out) if done.out else None


def main():
    setting.need_verb("record", "report")
    checks = setting.Checks("growing")
    with setting.work_dir() as name:
        work, until = Path(name), time.monotonic() + 60
        (work / "p.c").write_text(SOURCE, encoding="utf-8")
        setting.run(["gcc", "-O1", "-finstrument-functions", "-o", work / "p", work / "p.c"],
                    timeout=60)
        (work / "d").mkdir()
        done = setting.tracetape("record", "-q", "-o", work / "d/whole.ttape", "--", work / "p")
        checks.equal(done.status, 0, "a whole recording")
        read_end, write_end = os.pipe()
        with subprocess.Popen([setting.COMMAND, "record", "-q", "--live", "-o",
                               work / "d/live.ttape", "--", work / "p"], stdin=read_end) as live:
            found = None
            while time.monotonic() < until and not (found and found["growing_traces"] == 1 and
                                                    found["traces"] == 2):
                done, found = report(work / "d")
            checks.that(found and found["growing_traces"] == 1, f"it grows: {done}")
            checks.equal(done.status, 0, "no loss")
            checks.that(b"is still written" in done.err, f"and that is said: {done.err}")
            os.close(write_end)
            live.wait()
        os.close(read_end)
        done, found = report(work / "d")
        checks.equal((done.status, found["growing_traces"], found["traces"]), (0, 0, 2), "whole")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
