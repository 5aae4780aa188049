#!/usr/bin/env python3
"""`tracetape callgraph` of Lua, SQLite and tcc from Debian's sources, beside a recording of each:
at least 99.5 % of the calls that were made directly or inlined, and 97 % of all, are in the graph
that is read from the program alone."""
import json
import subprocess
import sys
from pathlib import Path

import setting

sys.path.insert(0, str(setting.SOURCE / "tests" / "bench"))
sys.dont_write_bytecode = True


class Place:
    """What building the programs needs of a bench."""
    quick = True
    source = setting.SOURCE

    def __init__(self, work):
        self.work = work

    @staticmethod
    def call(command, **options):
        return subprocess.run([str(word) for word in command], check=True, capture_output=True,
                              timeout=500, **options).stdout


def check(checks, name, program, arguments, folder):
    trace = folder / f"{name}.callgraph.ttape"
    subprocess.run([setting.COMMAND, "record", "-q", "-f", "-o", trace, "--", program,
                    *map(str, arguments)], check=True, cwd=folder, stdout=subprocess.DEVNULL,
                   timeout=300)
    done = setting.tracetape("callgraph", "--json", "--graph", trace, program)
    graph = json.loads(done.out)
    seen = [set(edge["kinds"]) for edge in graph["edges"] if "seen" in edge["kinds"]]
    known = sum(kinds != {"seen"} for kinds in seen)
    sure = sum(bool(kinds & {"direct", "inlined", "linked"}) for kinds in seen)
    lost = [kinds for kinds in seen if kinds == {"seen"}]
    print(f"{name}: {len(seen)} edges were seen, {known} are in the program, {sure} surely")
    checks.that(len(seen) > 300, f"{name}: {len(seen)} edges were seen")
    # what is not in the program at all may have been direct: so both bounds hold for certain
    checks.that(len(lost) <= 0.005 * sure, f"{name}: {len(lost)} edges are not in the program")
    trace.unlink()


def main():
    setting.need_verb("record", "callgraph")
    setting.need_command("apt-get", "tar", "tclsh", "make", "gcc")
    import record_programs
    checks = setting.Checks("callgraph_sources")
    with setting.work_dir() as work:
        bench = Place(Path(work))
        (bench.work / "recorded").mkdir()
        try:
            lua, sqlite = record_programs.lua(bench), record_programs.sqlite(bench)
            tcc, folder = record_programs.tcc(bench)
        except (record_programs.BenchError, OSError, subprocess.SubprocessError) as error:
            setting.skip(f"the programs' sources cannot be had: {error}")
        check(checks, "lua", lua.hooked, lua.arguments, bench.work)
        check(checks, "sqlite", sqlite.hooked, sqlite.arguments, bench.work)
        check(checks, "tcc", tcc, ["-I", "include", "-I", "/usr/include/x86_64-linux-gnu",
                                   "-DONE_SOURCE=1", "-DTCC_TARGET_X86_64", "-c", "tcc.c", "-o",
                                   bench.work / "tcc.o"], folder)
    checks.verdict()


main()
