#!/usr/bin/env python3
"""As test_known_calls.py: each of the twenty programs in each of the twelve ways."""
import os
from pathlib import Path

import known_calls
import setting


def main():
    os.environ["TTAPE_THOROUGH"] = "1"
    setting.need_verb("record", "report", "tree", "slow", "last", "graph", "context")
    checks, marks = setting.Checks("known calls, all"), {}
    with setting.work_dir() as folder:
        for source in known_calls.programs():
            for way in known_calls.WAYS:
                known_calls.prove(checks, source, way, Path(folder), marks)
    for label, found in marks.items():
        if found:
            print(f"{label}: {dict(found)}")
    checks.that(len(marks) == 240, f"{len(marks)} of 240 recordings")
    checks.verdict()


if __name__ == "__main__":
    main()
