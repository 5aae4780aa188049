#!/usr/bin/env python3
"""Calls far below their caller's frame, of functions that are patched, are recorded in about as
many instructions as near ones, and are the same as with hooks, which are called below such
frames."""
import csv
import io
import os
import sys
from pathlib import Path

import setting
import traces

FLAGS = ("-O1", "-pthread", "-fno-optimize-sibling-calls")


def events(checks, label, trace, program, *options):
    setting.tracetape("record", "-q", "-f", "-o", trace, *options, "--", program)
    checks.equal(traces.verify(trace), None, f"{label}: verify")
    done = setting.tracetape("export", "--format", "csv", trace, "-o", "-")
    rows = [(row["stream"], row["kind"], row["depth"], row["symbol"])
            for row in csv.DictReader(io.StringIO(done.out.decode()))]
    return [row for row in rows if not row[3].startswith("tracetape:")]


def main():
    setting.need_verb("record")
    checks = setting.Checks("far calls")
    with setting.work_dir() as folder:
        trace = Path(folder) / "run.ttape"
        os.environ["XDG_CACHE_HOME"] = str(setting.plans(Path(folder) / "cache"))
        hooked = setting.build("p_far_calls.c", flags=FLAGS, log=False)
        program = setting.build("p_far_calls.c", flags=FLAGS, hooks=False, log=False)
        wanted = events(checks, "hooks", trace, hooked)
        checks.that(len(wanted) > 4000, f"{len(wanted)} events")
        for clock in ("auto", "monotonic"):
            found = events(checks, clock, trace, program, "--patch", ".", "--clock", clock)
            checks.that(found == wanted, f"{clock}, other events: " + str(next(
                (pair for pair in zip(found, wanted) if pair[0] != pair[1]), None)))
        # Without a clock a stepped program does not begin an epoch with each call.
        done = setting.run([setting.COMMAND, "record", "-q", "-f", "-o", trace, "--patch", ".",
                            "--clock", "none", "--", program, "count"], timeout=60)
        near, far = map(int, done.out.split())
        checks.that(near > 40 and far < near * 1.2, f"{near} instructions a call, {far} far below")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
