#!/usr/bin/env python3
"""What a recording keeps last: a thread that waits since before that weighs as much as any other,
not what it has waited in all."""
import json
import sys
from pathlib import Path

import setting
import traces


def main():
    setting.need_verb("record", "report")
    checks = setting.Checks("kept idle")
    with setting.work_dir() as folder:
        trace = Path(folder, "kept.ttape")
        program = setting.build("p_idle_thread.c", flags=("-O1",), log=False)
        for switches in ([], ["--no-switches"]):
            words = setting.record_words(trace, [program, "600000"], "-f", "--keep-last", "32K",
                                         *switches)
            done = setting.run(words)
            checks.equal((done.status, traces.verify(trace)), (0, None), "status, verify")
            told = json.loads(setting.tracetape("report", "--json", trace).out)
            info = traces.info(trace)
            window_ns = info["time_last_ns"] - info["time_first_ns"]
            rows = {row["name"]: row for row in told["rows"]}
            checks.that(0 < rows["waits"]["total_ns"] <= window_ns, "it weighs the window",
                        rows["waits"], window_ns)
            checks.that(told["span_ns"] <= 2 * window_ns, "all threads", told["span_ns"],
                        window_ns)
            exact = json.loads(setting.tracetape("report", "--json", "--exact", trace).out)
            checks.equal([row["total_ns"] for row in exact["rows"]],
                         [row["total_ns"] for row in told["rows"]], "exact")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
