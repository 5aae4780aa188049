#!/usr/bin/env python3
"""`tracetape lines` over whole runs of programs from Debian's sources, against gcov on the same
sources: Lua (jumps out of calls, computed jumps, calls back from C). Not one line that both know
may differ, but by one of gcov's own rules, which its own counters tell apart (gcov_graph): a line
ran as often as the block of it that ran most, where gcov adds up how often the line was come to
from others; and a function's head as often as it was called, where gcov's first block may have the
label of a loop in it. Passes from block to block are the same, too."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import gcov_graph
import setting

sys.path.insert(0, str(setting.SOURCE / "tests" / "bench"))
sys.dont_write_bytecode = True

STUB = setting.BUILD / "libtracetape-blocks.a"
WHOLE = ["-Wl,--whole-archive", STUB, "-Wl,--no-whole-archive", "-lpthread", "-ldl", "-lm"]
OURS = ["-finstrument-functions", "-fsanitize-coverage=trace-pc"]
PROGRAM = """
local t={} for i=1,300 do t[#t+1]=(i*7919)%1000 end table.sort(t)
local s={} for i,v in ipairs(t) do s[i]=string.format("%d:%s",v,("x"):rep(v%5)) end
print(#table.concat(s,","))
local ok,e=pcall(function() error({code=3}) end) print(ok,e.code)
local co=coroutine.wrap(function(a) for i=1,3 do a=coroutine.yield(a+i) end return a end)
print(co(1),co(2),co(3),co(4))
print(string.gsub("hello world","(%w+)","<%1>"))
local m=setmetatable({},{__index=function(t,k) return k.."!" end,__gc=function() end}) print(m.foo)
m=nil collectgarbage()
print(pcall(load,"x = = 1")) print(load("return 1+2*3")())
local function fib(n) if n<2 then return n end return fib(n-1)+fib(n-2) end print(fib(12))
goto done do print("no") end ::done::
print(math.max(3,5.5),7//2,7%3,2^10,"10"+5,1<<4)
"""


class Place:
    """What fetching sources needs of a bench."""

    def __init__(self, work):
        self.work = work

    @staticmethod
    def call(command, **options):
        return subprocess.run([str(word) for word in command], check=True, capture_output=True,
                              timeout=300, **options).stdout


def fetch(work, package):
    import record_programs
    for tool in ("apt-get", "tar", "gcov", "gcov-dump", "setarch"):
        setting.need_command(tool)
    try:
        return record_programs.fetch(Place(work), package)
    except (record_programs.BenchError, OSError, subprocess.SubprocessError) as error:
        return setting.skip(f"the source of '{package}' cannot be had: {error}")


def of_gcov(folder):
    """{(file, line): count} of lines of code, of all objects added up."""
    found = {}
    for data in sorted(folder.glob("*.gcda")):
        text = subprocess.run(["gcov", "-t", data.name], cwd=folder, check=True,
                              capture_output=True, text=True).stdout
        here, name = {}, ""
        for line in text.splitlines():
            if line.count(":") < 2:
                continue
            count, number, rest = line.split(":", 2)
            name = Path(rest[7:]).name if rest.startswith("Source:") else name
            if count.strip() != "-" and number.strip() != "0":
                at = (name, int(number))  # first all copies of a function, then each
                here.setdefault(at, int(re.sub(r"\D", "", count) or 0))
        for at, count in here.items():
            found[at] = found.get(at, 0) + count
    return found


def of_lines(trace):
    done = setting.tracetape("lines", trace, "--lcov")
    found, name = {}, ""
    for line in done.out.decode().splitlines():
        name = Path(line[3:]).name if line.startswith("SF:") else name
        if line.startswith("DA:"):
            number, count = line[3:].split(",")
            found[name, int(number)] = int(count)
    return found


def compare(checks, label, trace, folder, least):
    ours, theirs, graphs = of_lines(trace), of_gcov(folder), gcov_graph.read(folder)
    most, calls = gcov_graph.most(graphs), gcov_graph.calls(graphs)
    both = ours.keys() & (theirs.keys() | most.keys())
    wrong = {at: (ours[at], theirs.get(at), most.get(at)) for at in sorted(both)
             if ours[at] not in (theirs.get(at), most.get(at), calls.get(at))}
    same = sum(ours[at] == theirs.get(at) for at in both)
    print(f"{label}: {len(both)} lines in common, {same} as gcov counts, {len(both) - same} not")
    checks.equal(wrong, {}, f"{label}: lines, and gcov's counts and blocks")
    checks.that(len(both) >= least and same >= len(both) * 0.99,
                f"{label}: {len(both)} lines in common, {same} the same")
    compare_arcs(checks, label, trace, graphs)


def compare_arcs(checks, label, trace, graphs):
    """Of blocks that are the only one to begin with a line, here and there."""
    edges = json.loads(setting.tracetape("lines", "--json", "--edges", trace).out)["edges"]
    begins, arcs = gcov_graph.arcs_by_lines(graphs)
    sites, found = {}, {}
    for edge in edges:
        places = [(Path(edge[end].get("file") or "").name, edge[end].get("line"))
                  for end in ("from", "to")]
        for place, end in zip(places, ("from", "to")):
            sites.setdefault(place, set()).add(edge[end]["address"])
        found[tuple(places)] = found.get(tuple(places), 0) + edge["times"]
    both = [pair for pair in found if arcs.get(pair) and
            all(len(sites[at]) == 1 and begins.get(at) == 1 for at in pair)]
    wrong = {pair: (found[pair], arcs[pair]) for pair in both if found[pair] != arcs[pair]}
    print(f"{label}: {len(both)} arcs in common")
    checks.that(len(both) > 500, f"{label}: {len(both)} arcs in common")
    checks.equal(wrong, {}, f"{label}: arcs")


def check_lua(checks, work):
    """What it does depends on addresses, but for these options."""
    sources = sorted(path for path in (fetch(work, "lua5.4") / "src").glob("*.c")
                     if path.name != "luac.c")
    flags = ["-g", "-O0", "-DLUA_USE_POSIX", "-Dluai_makeseed(L)=42", "-DSTRCACHE_N=1",
             "-DSTRCACHE_M=2"]
    script = work / "run.lua"
    script.write_text(PROGRAM, encoding="ascii")
    for kind, more, last in (("theirs", ["--coverage"], ["-lm"]), ("ours", OURS, WHOLE)):
        (work / kind).mkdir()
        subprocess.run(["gcc", *flags, *more, *sources, "-o", "lua", *last], cwd=work / kind,
                       check=True)
    whole = subprocess.run(["setarch", "-R", "./lua", script], cwd=work / "theirs", check=True,
                           capture_output=True).stdout
    done = subprocess.run(["setarch", "-R", setting.COMMAND.resolve(), "record", "-q", "-o",
                           work / "lua.ttape", "--", "./lua", script], cwd=work / "ours",
                          check=True, capture_output=True)
    checks.equal(done.stdout, whole, "lua: output")
    compare(checks, "lua", work / "lua.ttape", work / "theirs", 6000)


def main():
    setting.need_verb("record", "lines")
    if not STUB.is_file():
        setting.skip(f"no '{STUB.name}' in this build")
    if os.uname().machine != "x86_64" or shutil.which("gcc") is None:
        setting.skip("blocks are found in code of x86-64, by gcc")
    checks = setting.Checks("lines_sources")
    with setting.work_dir() as folder:
        check_lua(checks, Path(folder))
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
