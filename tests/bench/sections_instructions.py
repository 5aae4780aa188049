"""Instructions an event, counted by callgrind: the same on a busy machine, so that two builds can
be told apart by 2 %. TTAPE_BENCH_AGAINST names the other build's folder (of another commit)."""
import os
import re
import shutil
from pathlib import Path

import record_programs
from measure import BenchError, Row

HOOKS = ("__cyg_profile_func_enter", "__cyg_profile_func_exit", "ttp_own_enter", "ttp_own_exit")


class Side:
    """One build: its command, and a decoder compiled from its own sources."""

    def __init__(self, bench, build, name):
        self.bench, self.build, self.name = bench, Path(build).resolve(), name
        self.command = self.build / "tracetape"
        cache = (self.build / "CMakeCache.txt").read_text(encoding="utf-8")
        source = Path(re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.M).group(1))
        self.decoder = bench.work / f"decode_all_{name}"
        bench.call(["gcc", "-std=gnu11", "-O2", f"-I{source}/libtrace/include", "-o", self.decoder,
                    source / "tests/bench/decode_all.c", f"-L{self.build}", "-ltracetape",
                    f"-Wl,-rpath,{self.build}"])

    def count(self, words, before=()):
        """Instructions of a command, and callgrind's file."""
        place = self.bench.work / f"callgrind.{self.name}"
        self.bench.call([*before, "valgrind", "--tool=callgrind", f"--callgrind-out-file={place}",
                         *words])
        total = re.search(r"^(?:summary|totals): (\d+)", place.read_text(errors="replace"), re.M)
        return int(total.group(1)), place


def convert(side, source, trace):
    return side.count([side.command, "convert", source, "-o", trace, "--force", "--jobs", "1"])[0]


def hook(side, program):
    """Instructions of the hooks themselves, for each call: what is done once in a block or in an
    epoch is left out, for it depends on how slow callgrind is."""
    trace = side.bench.work / "callgrind.ttape"
    _, place = side.count([program.hooked, "1"],
                          [side.command, "record", "-q", "--force", "-o", trace, "--"])
    said = side.bench.call(["callgrind_annotate", "--threshold=100", place]).decode()
    spent = sum(int(m.group(1).replace(",", "")) for m in re.finditer(
        rf"^ *([\d,]+) \([^)]*\) +\S*:(?:{'|'.join(HOOKS)})(?= |$)", said, re.M))
    info = side.bench.info(trace)
    return spent, info["events"] + info["lost"]


def instructions(bench):
    if shutil.which("valgrind") is None:
        raise BenchError("valgrind is not installed")
    sides = [Side(bench, bench.command.parent, "ours")]
    other = os.environ.get("TTAPE_BENCH_AGAINST")
    if other:
        sides.append(Side(bench, other, "other"))
    name = bench.names[0]
    source, _ = bench.first_million(name)
    trace = bench.work / "instructions.ttape"
    program = record_programs.minilang(bench)
    found = {}
    for side in sides:
        converted = convert(side, source, trace)
        events = bench.info(trace)["events"]
        found[side.name] = {
            f"convert {name}": converted / events,
            f"decode {name}": side.count([side.decoder, trace])[0] / events,
            f"report {name}, exact": side.count([side.command, "report", "--exact", trace])[0] /
            events,
            f"report {name}, from summaries, K": side.count([side.command, "report", trace])[0] /
            1e3}
        spent, calls = hook(side, program)
        found[side.name]["hook, enter or exit"] = spent / calls
    trace.unlink()
    for figure, ours in found["ours"].items():
        theirs = found.get("other", {}).get(figure)
        yield Row(f"instructions an event: {figure}", f"{theirs:.2f}" if theirs else "-",
                  f"{ours:.2f}", ours / theirs if theirs else ours, 1.02 if theirs else 0,
                  1 if theirs else 0)
