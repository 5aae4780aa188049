#!/usr/bin/env python3
"""A recording that is still written, among others: all verbs that take many files have it up to
its last whole partition, say so, and that is no loss; `report` and its rollups count it as growing.
When it has ended it is as any other."""
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


def check_verbs(checks, work):
    for words in (["report", "--rollup", work / "r.rollup"], ["report", "--filter", "step"],
                  ["graph", "--json"], ["slow", "--json"],
                  ["diff", "--json", work / "d/whole.ttape", "--against"]):
        done = setting.tracetape(*words, work / "d")
        checks.equal(done.status, 0, f"{words}: {done.err}")
        said = done.err.count(b"live.ttape' is still written: read up to")
        checks.equal(said, 1, f"{words}: {done.err}")
    done = setting.tracetape("report", "--json", work / "r.rollup")
    checks.equal(json.loads(done.out)["growing_traces"], 1, "in a rollup, too")
    done = setting.tracetape("info", work / "d")
    checks.equal(done.status, 0, f"info: {done.err}")
    checks.equal(done.out.count(b", still written\n"), 1, "info says it")


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
            check_verbs(checks, work)
            os.close(write_end)
            live.wait()
        os.close(read_end)
        done, found = report(work / "d")
        checks.equal((done.status, found["growing_traces"], found["traces"]), (0, 0, 2), "whole")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
