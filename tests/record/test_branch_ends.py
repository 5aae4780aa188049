#!/usr/bin/env python3
"""Branch values in a recording: each call's end has what the blocks between its two hooks give, as
the same trace has them, by each operation; calls without blocks have none."""
import json
import os
import sys
from pathlib import Path

import setting

STUB = setting.BUILD / "libtracetape-blocks.a"
WHOLE = ("-Wl,--whole-archive", str(STUB), "-Wl,--no-whole-archive", "-lpthread", "-ldl")
FLAGS = ("-O1", "-fno-inline", "-fno-ipa-cp", "-fno-partial-inlining", "-no-pie", "-pthread",
         "-fsanitize-coverage=trace-pc")
MASK = (1 << 64) - 1
FACTOR = 0x9E3779B97F4A7C15
TAKE = {"affine": lambda value, block: value * FACTOR + block & MASK,
        "xor": lambda value, block: value ^ block,
        "add": lambda value, block: value + block & MASK}


def streams(trace):
    done = setting.tracetape("dump", "--format", "ndjson", trace)
    found = {}
    for line in done.out.decode().splitlines():
        event = json.loads(line)
        if "kind" in event:
            found.setdefault(event["stream"], []).append(event)
    return found


def check_stream(checks, events, operation):
    """How many values were compared. Left out are functions that call themselves, as a block in
    front of a hook may be of either call, and the one with alloca."""
    calls, compared = [], 0
    for event in events:
        kind = event["kind"]
        if kind == "enter":
            calls.append((event["symbol"], []))
        elif kind == "block" and calls and event["symbol"] == calls[-1][0]:
            calls[-1][1].append(int(event["address"], 16))
        elif kind == "exit" and calls:
            name, blocks = calls.pop()
            values = event.get("values") or []
            wanted = 0
            for block in blocks:
                wanted = TAKE[operation](wanted, block)
            if name in ("recurse", "dive", "large"):
                continue
            checks.equal(values[-2:], [f"0x{wanted:x}", len(blocks)] if blocks else [],
                         f"{operation}: {name}")
            compared += bool(blocks)
        elif kind == "unwind" and calls:
            calls.pop()
    return compared


def check_words(checks, trace, operation):
    """They are called what they are, as `context --branches-of` takes them, and no result."""
    named = [event for stream in streams(trace).values() for event in stream
             if event["kind"] == "exit" and event.get("values")]
    checks.that(named and all(event["value_names"] == ["branch", "blocks"] for event in named),
                f"{operation}: names", named[:1])
    wanted = f"[branch {int(named[0]['values'][0], 16):016x}/{named[0]['values'][1]}]"
    for verb in ("dump", "slow", "last"):
        text = setting.tracetape(verb, trace).out.decode()
        checks.that("[branch " in text and " = 0x" not in text, f"{operation}: {verb}", text[:600])
    checks.that(wanted in setting.tracetape("dump", trace).out.decode(), f"{operation}: {wanted}")


def main():
    setting.need_verb("record", "dump")
    if not STUB.is_file():
        setting.skip(f"no '{STUB.name}' in this build")
    checks = setting.Checks("branch ends")
    program = setting.build("p_blocks.c", flags=FLAGS, libraries=WHOLE, log=False)
    with setting.work_dir() as folder:
        trace = Path(folder, "ends.ttape")
        for operation in TAKE:
            done = setting.tracetape("record", "-q", "-o", trace, "--", program,
                                     env=dict(os.environ, TRACETAPE_BRANCH=operation))
            checks.equal(done.status, 0, f"{operation}: {done.err[-300:]}")
            found = streams(trace)
            compared = sum(check_stream(checks, one, operation) for one in found.values())
            checks.that(compared >= 7, f"{operation}: {compared} ends have values")
            check_words(checks, trace, operation)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
