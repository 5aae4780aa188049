#!/usr/bin/env python3
"""A program that is started under a filter of system calls, which ends it for what it does not need
itself, lives as without the recorder and is recorded, whether it may wait for room or not; so does
one that sets a filter itself."""
import re
from pathlib import Path

import setting
import traces

CALLS = 200_000


def check_values(checks, work):
    """Values that lie in memory are not read under a filter that forbids it."""
    program, trace = setting.build("p_sandboxed.c", log=False, hooks=False), Path(work, "v.ttape")
    done = setting.run(setting.record_words(trace, [program, "later", "10"], "--patch", "^wide$",
                                            "--args"))
    checks.that(done.status in (17, 77), f"with values: {done.status}, {done.err}")
    if done.status == 17:
        said = setting.tracetape("dump", trace).out.decode()
        found = re.findall(r"wide\(n=([^)]+)\)", said)
        checks.equal(found[:1] + [len(found)], ["1000", 2], f"with values: {said}")


def main():
    setting.need_verb("record")
    checks = setting.Checks("sandboxed")
    program = setting.build("p_sandboxed.c", log=False)
    ways = {"sandbox": [program, "sandbox", program, str(CALLS)],
            "later": [program, "later", str(CALLS)], "strict": [program, "strict", str(CALLS)]}
    with setting.work_dir() as work:
        for way, words in ways.items():
            alone = setting.run(words)
            if alone.status == 77:
                print(f"left out: the kernel has no {way} filter")
                continue
            checks.equal((alone.status, alone.out), (17, b"called\n"), f"{way}, alone")
            for options in ([], ["--block"], ["--drop"], ["--block", "--buffer", "128K"]):
                label = " ".join([way, *options])
                trace = setting.Path(work, label.replace(" ", "-") + ".ttape")
                done = setting.run(setting.record_words(trace, words, *options))
                checks.equal((done.status, done.out), (alone.status, alone.out),
                             f"{label}: {done.err}")
                if checks.that(trace.is_file(), f"{label}: no trace"):
                    found = traces.call_counts(trace)["enter"]["leaf"]
                    checks.that(found > 0, f"{label}: {found} calls")
                    if way == "sandbox" and not options:
                        checks.equal(found, CALLS, f"{label}: calls")
        check_values(checks, work)
    checks.verdict()


main()
