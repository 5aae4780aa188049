#!/usr/bin/env python3
"""`tracetape lines` over whole runs of programs from Debian's sources: Lua (jumps out of calls,
computed jumps, calls back from C), SQLite (large functions, tables of jumps) and jsoncpp's own
tests (C++, exceptions), against gcov and against llvm-cov on the same sources.

Not one line that both know may differ from gcov, but by one of these rules, which gcov's own
counters tell apart (gcov_graph):

 - a line ran as often as the block of it that ran most; gcov adds up how often the line was come
   to from other lines;
 - a function's head as often as it was called; gcov's first block may have a loop's label in it;
 - at a closing brace compilers put what destroys variables and what is run when an exception
   passes, of which gcov leaves some out;
 - an expression over several lines may end in a block that only gcov's has the line of: at most one
   line of 2,000, and then as often as another block of the same line.

Passes from block to block are the same, without exception.

Of llvm-cov all lines have the count that it shows, or one by a rule of llvm_regions: it shows the
largest of a line's regions and of those around it, and does not know of calls that did not
return."""
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import debian_source
import gcov_graph
import llvm_regions
import setting

GCOV = ("gcov", "gcov-dump", "setarch")
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
QUERIES = """
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL, d);
CREATE INDEX tb ON t(b);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<300) INSERT INTO t
  SELECT i, printf('x%03d', (i*7919)%1000), i*0.5, CASE i%4 WHEN 0 THEN NULL WHEN 1 THEN i
  WHEN 2 THEN x'0102' ELSE 'text' END FROM n;
SELECT count(*), sum(c), avg(a), min(b), max(b), group_concat(d, ',') FROM t WHERE a%37=0;
SELECT b, count(*) FROM t GROUP BY substr(b,1,2) ORDER BY 2 DESC, 1 LIMIT 5;
BEGIN; UPDATE t SET c=c+1 WHERE b LIKE 'x1%'; DELETE FROM t WHERE a BETWEEN 10 AND 30;
  ROLLBACK;
BEGIN; UPDATE t SET d=lower(b)||upper(d) WHERE a<50; DELETE FROM t WHERE a>250; COMMIT;
CREATE VIEW v AS SELECT a, b FROM t WHERE c>20;
SELECT * FROM v JOIN t USING(a) WHERE v.b>'x5' ORDER BY t.b LIMIT 7;
CREATE TRIGGER tr AFTER INSERT ON t BEGIN UPDATE t SET c=0 WHERE a=new.a; END;
INSERT OR REPLACE INTO t VALUES(5,'five',5.5,'v'),(1000,'k',1,NULL);
INSERT INTO t VALUES(5,'dup',1,1);
SELECT json_extract('{"a":[1,2,{"b":3}]}','$.a[2].b'), date('2020-02-30','+1 month'),
  round(2.5);
EXPLAIN QUERY PLAN SELECT * FROM t WHERE b='x001' AND a>5;
ALTER TABLE t ADD COLUMN e DEFAULT 7;
PRAGMA integrity_check;
SELECT rank() OVER (ORDER BY c), lag(a) OVER (ORDER BY b) FROM t LIMIT 4;
SELECT nothere FROM t;
SELECT * FROM ;
VACUUM;
.schema
"""


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
    """Counts by (file, line), and the paths of the files."""
    done = setting.tracetape("lines", trace, "--lcov")
    found, name, paths = {}, "", {}
    for line in done.out.decode().splitlines():
        if line.startswith("SF:"):
            name = Path(line[3:]).name
            paths[name] = line[3:]
        if line.startswith("DA:"):
            number, count = line[3:].split(",")
            found[name, int(number)] = int(count)
    return found, paths


def compare(checks, label, trace, folder, least):
    ours, paths = of_lines(trace)
    theirs, graphs = of_gcov(folder), gcov_graph.read(folder)
    most, calls = gcov_graph.most(graphs), gcov_graph.calls(graphs)
    both = ours.keys() & (theirs.keys() | most.keys())
    wrong = {at: (ours[at], theirs.get(at), most.get(at)) for at in sorted(both)
             if ours[at] not in (theirs.get(at), most.get(at), calls.get(at))}
    wrong = llvm_regions.without_braces(wrong, paths, folder)
    blocks = gcov_graph.blocks_of_lines(graphs)
    rest = {at: counts for at, counts in wrong.items() if counts[0] not in blocks.get(at, ())}
    same = sum(ours[at] == theirs.get(at) for at in both)
    print(f"{label}: {len(both)} lines in common, {same} as gcov counts, {len(both) - same} not; "
          f"as another block: {sorted(wrong)}")
    checks.equal(rest, {}, f"{label}: lines, and gcov's counts and blocks")
    checks.that(len(wrong) <= len(both) // 2000, f"{label}: lines that only gcov has: {wrong}")
    checks.that(len(both) >= least and same >= len(both) * 0.95,
                f"{label}: {len(both)} lines in common, {same} the same")
    compare_arcs(checks, label, trace, graphs)
    return {at: {theirs.get(at), most.get(at), calls.get(at), *blocks.get(at, ())} for at in
            theirs.keys() | most.keys()}


def compare_arcs(checks, label, trace, graphs):
    edges = json.loads(setting.tracetape("lines", "--json", "--edges", trace).out)["edges"]
    both, wrong = gcov_graph.beside(edges, *gcov_graph.arcs_by_lines(graphs))
    print(f"{label}: {len(both)} arcs in common")
    checks.that(len(both) > 500, f"{label}: {len(both)} arcs in common")
    checks.equal(wrong, {}, f"{label}: arcs")


def build_both(compiler, flags, sources, work, libraries=()):
    """The program with gcov's counters, and with ours."""
    for kind, more, last in (("theirs", ["--coverage"], libraries),
                             ("ours", OURS, [*WHOLE, *libraries])):
        (work / kind).mkdir(parents=True)
        subprocess.run([compiler, *flags, *more, *sources, "-o", "program", *last],
                       cwd=work / kind, check=True)


def run_both(checks, label, work, arguments):
    """The same run of both, at the same addresses: what Lua does depends on them."""
    whole = subprocess.run(["setarch", "-R", "./program", *arguments], cwd=work / "theirs",
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    trace = work / "run.ttape"
    done = subprocess.run(["setarch", "-R", setting.COMMAND.resolve(), "record", "-q", "-o", trace,
                           "--", "./program", *arguments], cwd=work / "ours",
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    checks.equal(done.stdout, whole, f"{label}: output")
    return trace


@dataclass
class Program:
    """What is compiled, with the options that make runs alike, and what is run."""
    name: str
    compilers: tuple
    sources: list
    flags: list
    arguments: list
    least: int  # lines that gcov knows, too


def lua(work):
    source = debian_source.fetch(work, "lua5.4", *GCOV) / "src"
    sources = sorted(path for path in source.glob("*.c") if path.name != "luac.c")
    script = work / "run.lua"
    script.write_text(PROGRAM, encoding="ascii")
    return Program("lua", ("gcc", "clang"), sources,
                   ["-DLUA_USE_POSIX", "-Dluai_makeseed(L)=42", "-DSTRCACHE_N=1",
                    "-DSTRCACHE_M=2"], [script], 6000)


def sqlite(work):
    setting.need_command("tclsh")
    source, place = debian_source.fetch(work, "sqlite3", *GCOV), work / "sqlite-made"
    place.mkdir()
    for command in ([source / "configure"], ["make", "sqlite3.c", "shell.c"]):
        subprocess.run(command, cwd=place, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    script = work / "run.sql"
    script.write_text(QUERIES, encoding="ascii")
    return Program("sqlite", ("gcc", "clang"), [place / "sqlite3.c", place / "shell.c"],
                   ["-DSQLITE_OMIT_LOAD_EXTENSION", "-DSQLITE_THREADSAFE=0"],
                   ["-batch", ":memory:", f".read {script}"], 25000)


def jsoncpp(work):
    source = debian_source.fetch(work, "libjsoncpp", *GCOV)
    sources = [path for folder in ("lib_json", "test_lib_json")
               for path in sorted((source / "src" / folder).glob("*.cpp"))]
    return Program("jsoncpp", ("g++", "clang++"), sources, [f"-I{source / 'include'}"], [], 6000)


def check_gcov(checks, work, program):
    """What gcov says of the lines."""
    place = work / program.name
    build_both(program.compilers[0], ["-g", "-O0", *program.flags], program.sources, place,
               ["-lm"])
    trace = run_both(checks, program.name, place, program.arguments)
    return compare(checks, program.name, trace, place / "theirs", program.least)


def check_llvm(checks, work, program, of_gcov):
    """clang's blocks beside its own counters."""
    if not llvm_regions.is_there():
        return
    place = work / f"{program.name}-llvm"
    llvm_regions.build(place, program.sources, ["-g", "-O0", *program.flags], WHOLE,
                       program.compilers[1])
    trace, is_same = llvm_regions.run(place, *program.arguments)
    checks.that(is_same, f"{program.name}, llvm-cov: output")
    ours, paths = of_lines(trace)
    both, rules, wrong = llvm_regions.unlike(ours, llvm_regions.read(place), paths,
                                             place / "ours", of_gcov)
    print(f"{program.name}, llvm-cov: {both} lines in common: {dict(rules)}")
    checks.that(both >= program.least * 0.9 and rules["shown"] >= both * 0.94,
                f"{program.name}, llvm-cov: {both} lines, {rules}")
    checks.equal(wrong, {}, f"{program.name}, llvm-cov: lines without a rule")


def main():
    setting.need_verb("record", "lines")
    if not STUB.is_file():
        setting.skip(f"no '{STUB.name}' in this build")
    if os.uname().machine != "x86_64" or shutil.which("gcc") is None:
        setting.skip("blocks are found in code of x86-64, by gcc")
    checks = setting.Checks("lines_sources")
    with setting.work_dir() as folder:
        work = Path(folder)
        for program in (lua(work), jsoncpp(work), sqlite(work)):
            check_llvm(checks, work, program, check_gcov(checks, work, program))
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
