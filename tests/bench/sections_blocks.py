"""Basic blocks: bytes of one in the file and time of one in the program, its call included, over
the same program that tells of calls alone; and the lines of one call of a million events."""
import json
import subprocess

import record_programs
from measure import BenchError, Row, median
from sections_record import Recorded

BLOCKS = "-fsanitize-coverage=trace-pc"
MILLION = 1_000_000


def compile_blocks(bench):
    """minilang with hooks, and with blocks as well; both with their lines."""
    stub = bench.command.resolve().parent / "libtracetape-blocks.a"
    if not stub.is_file():
        raise BenchError(f"no '{stub}'")
    sources = sorted((bench.source / "examples" / "minilang").glob("*.c"))
    whole = ["-Wl,--whole-archive", str(stub), "-Wl,--no-whole-archive", "-ldl"]
    calls = record_programs.compile_pair(bench, "minilang-calls", sources, ["-g"])
    blocks = record_programs.compile_pair(bench, "minilang-blocks", sources, ["-g", BLOCKS], whole)
    arguments = ["6" if bench.quick else "9"]
    return (record_programs.Program("minilang", *calls, arguments),
            record_programs.Program("minilang", *blocks, arguments))



def call_of_a_million(bench, trace):
    """The call of the interpreter's own functions that is nearest to a million events."""
    calls = []
    for function in ("eval", "run", "run_block"):
        done = subprocess.run([bench.command, "slow", "--json", "--limit", "2000", trace, function],
                              check=True, capture_output=True)
        calls += [(call["end_event"] - call["event"], call["id"])
                  for call in json.loads(done.stdout)["calls"] if call.get("end_event")]
    return min(calls, key=lambda call: abs(call[0] - MILLION))


def blocks(bench):
    with_calls, with_blocks = compile_blocks(bench)
    without = Recorded(bench, with_calls, {})
    told = Recorded(bench, with_blocks, {})
    told.trace = bench.work / "recorded_blocks.ttape"
    runs = bench.interleave({"calls": without.ours, "blocks": told.ours}, bench.repeats)
    count = told.events - without.events
    size = (told.bytes - without.bytes) / count
    yield Row("a block: bytes in the file", "-", f"{size:.4f} B", size, 0.03, 0.008,
              details=[f"{count} blocks beside {without.events} events"])
    ns = (median(run["cpu"] for run in runs["blocks"]) -
          median(run["cpu"] for run in runs["calls"])) * 1e9 / count
    yield Row("a block: ns in the program, its call included", "-", f"{ns:.2f} ns", ns, 6, 3)
    yield from lines_of_call(bench, told.trace)


def lines_of_call(bench, trace):
    events, name = call_of_a_million(bench, trace)
    words = [bench.command, "lines", "--json", "--frame", name, trace]
    took = median(bench.run(words)["wall"] for _ in range(bench.repeats)) * 1e3
    yield Row(f"lines of a call of {events} events", "-", f"{took:.0f} ms", took, 150, 50)
