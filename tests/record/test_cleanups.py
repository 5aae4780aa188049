#!/usr/bin/env python3
"""Destructors that run while an exception passes are called by the functions whose objects they
destroy, in all builds: with hooks, of both compilers, and patched."""
import collections
import json
import sys
from pathlib import Path

import setting
import traces

LEVELS = setting.cut(("-O0", "-O1", "-O2", "-Os"), ("-O0", "-O2"))
# Calls of main's six turns, of which two throw a number, two an object, two nothing.
WANTED = {("main", "rethrows"): 6, ("rethrows", "several"): 6, ("several", "large_one"): 6,
          ("large_one", "small_one"): 6, ("small_one", "throws"): 6, ("several", "throws"): 6,
          ("rethrows", "throws"): 2, ("rethrows", "~Object"): 6, ("several", "~Object"): 12,
          ("large_one", "~Object"): 6, ("small_one", "~Object"): 6}


def edges_of(trace):
    """Who calls whom how often, of what the test names."""
    edges, stack = collections.Counter(), []
    done = setting.tracetape("dump", "--format", "ndjson", trace)
    for line in done.out.decode().splitlines():
        event = json.loads(line)
        kind, name = event["kind"], traces.plain_name(event.get("symbol", ""))
        if kind == "enter":
            edges[(stack[-1] if stack else "-", name)] += 1
            stack.append(name)
        elif kind in ("exit", "unwind"):
            del stack[len(stack) - event.get("frames", 0) - (kind == "exit"):]
    return {edge: count for edge, count in edges.items() if edge in WANTED}


def main():
    setting.need_verb("record", "dump")
    checks = setting.Checks("test_cleanups")
    with setting.work_dir() as folder:
        trace = Path(folder, "cleanups.ttape")
        for compiler in setting.COMPILERS:
            for level in LEVELS:
                for hooks, options in ((True, []), (False, ["--patch", "."])):
                    program = setting.build("p_cleanups.cc", compiler, flags=[level], hooks=hooks,
                                            log=False)
                    label = f"{compiler} {level} {'hooks' if hooks else 'patched'}"
                    done = setting.tracetape("record", "-q", "-f", "-o", trace, *options, "--",
                                             program)
                    checks.equal((done.status, done.err), (0, b""), f"{label}: status, messages")
                    checks.equal(edges_of(trace), WANTED, f"{label}: callers")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
