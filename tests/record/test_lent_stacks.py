#!/usr/bin/env python3
"""A coroutine that another thread goes on with: what it left open in the first one has ended by
the time it comes back, with a mark, and is not ended by a later call's exit; what it begins with
goes on. In a forked child the thread is the same."""
import sys
from collections import Counter
from pathlib import Path

import recount
import setting

# (function, how it ended, whether a fork inherited it): how often, by thread
FIRST = {("body", "returned", False): 2, ("inside", "late", False): 1,
         ("inside", "returned", False): 4, ("yield", "late", False): 1,
         ("yield", "returned", False): 4}
OTHER = {("inside", "open", False): 1, ("yield", "open", False): 1}
CHILD = {("body", "returned", True): 1, ("inside", "returned", True): 1,
         ("inside", "returned", False): 2, ("yield", "returned", True): 1,
         ("yield", "returned", False): 2}


def fates(stream):
    return dict(Counter((frame.name, frame.fate, frame.is_inherited) for frame in stream.frames
                        if frame.name in ("body", "inside", "yield")))


def main():
    setting.need_verb("record", "dump", "report")
    checks = setting.Checks("lent stacks")
    with setting.work_dir() as folder:
        trace = Path(folder, "lent.ttape")
        for hooks, options in ((True, ("--no-patch",)), (False, ("--patch", "."))):
            program = setting.build("p_lent_stacks.c", hooks=hooks, log=False,
                                    flags=("-O1", "-fno-optimize-sibling-calls", "-pthread"))
            done = setting.tracetape("record", "-q", "-f", "-o", trace, *options, "--", program)
            label = "hooks" if hooks else "patched"
            checks.equal((done.status, done.err), (0, b""), f"{label}: status, messages")
            streams = recount.read(trace)
            # with their exits of calls that were made in another thread; in any order
            found = [(fates(stream), stream.strays) for stream in streams.values()]
            for what, wanted in ("first thread", (FIRST, 2)), ("other", (OTHER, 2)), \
                    ("child", (CHILD, 0)):
                checks.equal(found.count(wanted), 1, f"{label}: {what}, of {found}")
            checks.equal(len(found), 3, f"{label}: threads")
            checks.extend(recount.compare(trace, streams), label)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
