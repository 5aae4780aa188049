#!/usr/bin/env python3
"""The answer stands on the first screen of 80 x 40: who works is told from who waits, however long
a name is."""
import json
import sys
from pathlib import Path

import screen
import setting


def check_on_cpu(checks, folder):
    """Who waits has time, and takes none of the processor's."""
    trace = Path(folder, "waits.ttape")
    program = setting.build("p_works_and_waits.cc", flags=("-O1",), log=False)
    done = setting.run(setting.record_words(trace, [program], "-f"))
    checks.equal(done.status, 0, "record")
    told = json.loads(setting.tracetape("report", "--json", "--sort", "self", trace).out)
    if told["idle_source"] != "switches":
        setting.skip("switches are not known here")
    rows = {row["name"].split("(")[0]: row for row in told["rows"]}
    checks.that(rows["work::waits"]["self_ns"] >= 4 * 30000000, "it waits", rows)
    checks.that(rows["work::waits"]["on_cpu_ns"] < 20000000, "and does not work", rows)
    lines = screen.look("report", "--sort", "on-cpu", trace)
    title = screen.has(lines, "SELF")
    checks.that(title and "OFF CPU" in title and "SELF %" in title, "columns that stay", title)
    first = lines[lines.index(title) + 1]
    checks.that("work::works" in first, "who works comes first", lines)
    waits = screen.has(lines, "work::waits")
    checks.that(waits and float(waits.split()[6]) < 50, "SELF % is of the processor", waits)


def main():
    setting.need_verb("record", "report")
    checks = setting.Checks("first screen")
    with setting.work_dir() as folder:
        check_on_cpu(checks, folder)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
