#!/usr/bin/env python3
"""Basic blocks: programs that are compiled with -fsanitize-coverage and linked with
libtracetape-blocks. All blocks are there, as many as the same program counts itself, each within
the function that it belongs to (F-SIT-12), also behind jumps, in handlers, and in large frames."""
import json
import re
import subprocess
import sys
from pathlib import Path

import setting
import traces

STUB = setting.BUILD / "libtracetape-blocks.a"
WHOLE = ("-Wl,--whole-archive", str(STUB), "-Wl,--no-whole-archive", "-lpthread", "-ldl")
PLAIN = ("-fno-inline", "-fno-optimize-sibling-calls", "-fno-ipa-cp", "-fno-partial-inlining")


def counted(flags):
    """Blocks of the program and its child, as it counts them itself."""
    program = setting.build("p_blocks.c", flags=(*flags, "-DCOUNT", "-pthread"), log=False,
                            output="counts")
    done = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60)
    return sum(int(n) for n in re.findall(r"blocks (\d+)", done.stderr)), done.stdout


def events(trace):
    """Of each stream, in their order."""
    done = setting.tracetape("dump", "--format", "ndjson", trace)
    found = {}
    for line in done.out.decode().splitlines():
        event = json.loads(line)
        if "kind" in event:
            found.setdefault(event["stream"], []).append(event)
    return found


def strays(stream):
    """Blocks that are not within their function, of one stream."""
    stack, left, wrong = [], None, []
    for i, event in enumerate(stream):
        kind, name = event["kind"], event.get("symbol")
        if kind == "block":
            after = next((event for event in stream[i + 1:] if event["kind"] != "signal"
                          and (event["kind"], event.get("symbol")) != ("block", name)), {})
            entered = after.get("symbol") if after.get("kind") == "enter" else None
            if name not in (stack[-1] if stack else None, entered, left):
                wrong.append((i, name, list(stack)))
            continue
        left = None
        if kind in ("enter", "open"):
            stack.append(name)
        elif kind == "exit":
            del stack[len(stack) - 1 - event.get("frames", 0):]
            left = name
        elif kind == "unwind":
            del stack[len(stack) - event["frames"]:]
        elif kind == "signal":
            stack.append("signal")
        elif kind == "signal_end":
            del stack[max(i for i, frame in enumerate(stack) if frame == "signal"):]
    return wrong


def check(checks, work, flags, compiler, label):
    wanted, printed = counted(flags) if compiler == "gcc" else (None, None)
    program = setting.build("p_blocks.c", compiler, flags=(*flags, "-pthread"), libraries=WHOLE,
                            log=False)
    alone = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60)
    checks.equal(alone.stderr, "", f"{label}: alone")
    trace = work / "blocks.ttape"
    done = setting.tracetape("record", "-q", "-f", "-o", trace, "--", program)
    checks.equal((done.status, done.err, done.out.decode()), (0, b"", alone.stdout),
                 f"{label}: status, messages, output")
    if printed is not None:
        checks.equal(alone.stdout, printed, f"{label}: output of what counts")
    checks.equal(traces.verify(trace), None, f"{label}: verify")
    streams = events(trace)
    blocks = sum(event["kind"] == "block" for stream in streams.values() for event in stream)
    if wanted is not None:
        checks.equal(blocks, wanted, f"{label}: blocks")
    checks.that(blocks > 1000, f"{label}: {blocks} blocks")
    for stream in streams.values():
        wrong = strays(stream)
        checks.equal(wrong[:3], [], f"{label}: blocks outside of their function, {len(wrong)}")
    done = setting.tracetape("record", "-q", "-f", "-o", trace, "--no-blocks", "--", program)
    checks.equal(done.status, 0, f"{label}: --no-blocks")
    checks.that(not any(event["kind"] == "block" for stream in events(trace).values()
                        for event in stream), f"{label}: blocks with --no-blocks")


def check_own_callbacks(checks, work):
    """clang's own callbacks stay in the program: one line says so, and what to do; with ours, also
    stripped, and without events of them, there is nothing to say."""
    trace, words = work / "own.ttape", b"tells clang's own callbacks"
    for kind in ("trace-pc-guard", "trace-pc-guard,pc-table"):
        flags = ("-O1", f"-fsanitize-coverage={kind}", "-pthread")
        own = setting.build("p_blocks.c", "clang", flags=flags, log=False)
        ours = setting.build("p_blocks.c", "clang", flags=flags, libraries=WHOLE, log=False)
        for program, options, times in ((own, (), 1), (own, ("--no-blocks",), 0), (own, ("-q",), 0),
                                        (ours, (), 0), (ours, ("--module", "no such"), 0)):
            stripped = work / "stripped"
            subprocess.run(["strip", program, "-o", stripped], check=True)
            for one in (program, stripped):
                done = setting.tracetape("record", "-f", *options, "-o", trace, "--", one)
                checks.equal(done.err.count(words), times, f"{one.name} {kind} {options}")
                if times:
                    checks.that(f"'{one}' was compiled".encode() in done.err and
                                b"pkg-config --libs tracetape-blocks" in done.err, done.err)


def main():
    setting.need_verb("record")
    if not STUB.is_file():
        setting.skip(f"no '{STUB.name}' in this build")
    checks = setting.Checks("blocks")
    with setting.work_dir() as folder:
        work = Path(folder)
        for level in ("-O0", "-O1", "-O2"):
            flags = (level, *PLAIN, "-fsanitize-coverage=trace-pc")
            check(checks, work, flags, "gcc", f"gcc {level}")
        for kind in ("trace-pc", "trace-pc-guard,pc-table"):
            flags = ("-O1", *PLAIN[:2], f"-fsanitize-coverage={kind}")
            check(checks, work, flags, "clang", f"clang {kind}")
        check_own_callbacks(checks, work)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
