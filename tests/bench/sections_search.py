"""How many context values a search decodes: Lua, SQLite and tcc from Debian's sources. One input is
recorded, values are sampled in a run of another one, by calls, and its dictionary says what is
right; a value counts as often as it was sampled. By how deep the stacks are, and by the graph:
calls that the recorded run made with two new ones, or the binary alone."""
import json
import resource
import shutil
import subprocess
from collections import Counter

import record_programs
from measure import BenchError, Row

VALUES, VALUES_QUICK, AT_ONCE = 10000, 500, 200
ALONE_QUICK, DEEPER_QUICK = 40, 5  # a value of a binary alone may take ten seconds
SECONDS, SECONDS_QUICK = 1200, 60  # of the processor, for one program's values by one graph
SEEN_FOUND, SEEN_FIRST, ALONE_FOUND, ALONE_FIRST = 95, 90, 95, 85  # %
SEEN_MEDIAN, SEEN_P99, ALONE_MEDIAN = 5, 200, 100                  # ms
ALONE_DEPTH, DEPTHS = 14, ((1, 14), (15, 24), (25, 34), (35, 9999))
SCRIPT = """
local t={} for i=1,300 do t[#t+1]=(i*7919)%1000 end table.sort(t)
local s={} for i,v in ipairs(t) do s[i]=string.format("%d:%s",v,("x"):rep(v%5)) end
print(#table.concat(s,","), pcall(function() error({code=3}) end))
local co=coroutine.wrap(function(a) for i=1,3 do a=coroutine.yield(a+i) end return a end)
print(co(1),co(2),string.gsub("hello world","(%w+)","<%1>"))
local m=setmetatable({},{__index=function(t,k) return k.."!" end,__gc=function() end}) print(m.foo)
local V={} V.__index=V V.__add=function(a,b) return setmetatable({x=a.x+b.x},V) end
V.__eq=function(a,b) return a.x==b.x end V.__lt=function(a,b) return a.x<b.x end
local v,w=setmetatable({x=1},V),setmetatable({x=2},V) print((v+w).x,v==w,v<w)
table.sort(t,function(a,b) return a>b end)
for k,n in ("a=1,b=2"):gmatch("(%w)=(%w)") do print(k,n) end
m=nil collectgarbage() print(pcall(load,"x = = 1")) print(load("return 1+2*3")())
local function fib(n) if n<2 then return n end return fib(n-1)+fib(n-2) end print(fib(12))
goto done do print("no") end ::done:: print(math.max(3,5.5),7//2,7%3,2^10,"10"+5,1<<4)
"""
SQL = """
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL); CREATE TABLE u(k TEXT UNIQUE, v BLOB);
CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT OR REPLACE INTO u VALUES('k'||new.a, new.b); END;
BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<400)
  INSERT INTO t(b,c) SELECT hex(i), i*0.5 FROM n; COMMIT;
CREATE INDEX ti ON t(c, b); SELECT count(*), min(k), max(length(v)) FROM u;
SELECT t.b, avg(t.c) FROM t JOIN u ON u.v = t.b GROUP BY t.a % 7 ORDER BY 2 DESC LIMIT 3;
DELETE FROM t WHERE a % 5 = 0; UPDATE t SET c = a * 2 WHERE b LIKE '3%'; PRAGMA integrity_check;
"""


def programs(bench):
    """(name, program, what is recorded, what is sampled, in which folder)."""
    work = bench.work / "recorded"
    lua, sqlite = record_programs.lua(bench), record_programs.sqlite(bench)
    (work / "search.lua").write_text(SCRIPT, encoding="ascii")
    (work / "search.sql").write_text(SQL, encoding="ascii")
    yield ("lua", lua.hooked, [work / "search.lua"], [lua.arguments[0], "0.05"], work)
    yield ("sqlite", sqlite.hooked, ["-batch", ":memory:", f".read {work / 'search.sql'}"],
           sqlite.arguments, work)
    tcc, folder = record_programs.tcc(bench)
    flags = ["-I", "include", "-I", "/usr/include/x86_64-linux-gnu"]
    source = record_programs.fetch(bench, "lua5.4") / "src"
    yield ("tcc", tcc, [*flags, "-DONE_SOURCE=1", "-DTCC_TARGET_X86_64", "-c", "tcc.c", "-o",
                        work / "search.o"],
           [*flags, "-I", source, "-c", source / "lvm.c", "-o", work / "search.o"], folder)


def sampled(bench, name, program, arguments, folder):
    """[(value, how often)] and the dictionary."""
    work = bench.work / "recorded"
    library = work / "context_sampled.so"
    bench.call(["gcc", "-O2", "-fPIC", "-shared", f"-I{bench.source / 'libtrace' / 'include'}",
                "-o", library, bench.source / "tests" / "bench" / "context_sampled.c",
                "-Wl,--unresolved-symbols=ignore-all"])
    alone = record_programs.runtime(bench).parent / "libtracetape-context.so.0"
    words, log = work / f"{name}.search.ctx", work / f"{name}.search.log"
    words.unlink(missing_ok=True)
    every = {"lua": 100, "sqlite": 500, "tcc": 30}[name]
    bench.call(["env", f"TRACETAPE_CONTEXT={words}", f"SAMPLE_TO={log}", f"SAMPLE_EVERY={every}",
                f"LD_PRELOAD={library} {alone}", program, *arguments], cwd=folder)
    lines = log.read_text(encoding="ascii").split()
    most = bench.values or (VALUES_QUICK if bench.quick else VALUES)
    counts = Counter(lines[::max(len(lines) // most, 1)][:most])
    return sorted(counts.items()), words  # in no order: values are as good as drawn


def processor_seconds():
    """Of the commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def decode(bench, words, values):
    """Answers, and seconds of the processor for all beyond what the graph takes. It ends when time
    is up: the values that are left are any, as those that were asked for."""
    answers, spent, end = [], 0.0, SECONDS_QUICK if bench.quick else SECONDS
    end += processor_seconds()
    command, at = [bench.command, "context", "--json", *words], 0
    while at < len(values) and processor_seconds() < end:
        some = values[at:at + AT_ONCE]
        at += len(some)
        times = []
        for part in (["0/1"], [*some]):
            begin = processor_seconds()
            done = subprocess.run([str(word) for word in [*command, *part]], check=False,
                                  capture_output=True, text=True)
            times.append(processor_seconds() - begin)
            if not done.stdout:
                raise BenchError(done.stderr)
        answers += json.loads(done.stdout)
        spent += max(times[1] - times[0], 0)
    return answers, spent


def spread(counts, answers, seconds):
    """Milliseconds of the middle one and of the 99th of 100 of all that was sampled, as they share
    the time by looks."""
    each = seconds * 1e3 / max(sum(answer.get("looked_at", 0) for answer in answers), 1)
    looks = sorted(answer.get("looked_at", 0) for (_, calls), answer in zip(counts, answers)
                   for _ in range(calls))
    return looks[len(looks) // 2] * each, looks[len(looks) * 99 // 100] * each


def rows(name, how, counts, right, answers, seconds, bounds):
    found = Counter()
    for (value, calls), answer in zip(counts, answers):
        stacks = [stack["functions"] for stack in answer["stacks"]]
        depth = int(value.split("/")[1])
        here = next(i for i, (_, most) in enumerate(DEPTHS) if depth <= most)
        hit, first = right[value] in stacks, bool(stacks) and stacks[0] == right[value]
        if stacks and answer["certainty"] == "certain":
            raise BenchError(f"{value} is certain by a search")
        for key, add in (("all", 1), ("calls", calls), (here, 1)):
            found[key, "of"] += add
            found[key, "found"] += add * hit
            found[key, "first"] += add * first
    share = lambda key, what: 100 * found[key, what] / max(found[key, "of"], 1)
    label = f"search, {name}, {how}"
    for key, words in (("calls", "of sampled"), ("all", "of distinct")):
        for what, bound in zip(("found", "first"), bounds[:2]):
            value, most = share(key, what), bound if key == "calls" else 0
            yield Row(f"{label}: {what}, % {words} {found[key, 'of']}", "-", f"{value:.1f} %",
                      value, most, most, higher=True)
    for i, (least, most) in enumerate(DEPTHS):
        if found[i, "of"]:
            yield Row(f"{label}: found, depth {least} to {most}, % of {found[i, 'of']}", "-",
                      f"{share(i, 'found'):.1f} %", share(i, "found"), 0, 0, higher=True)
    for words, value, most in zip(("median", "p99"), spread(counts, answers, seconds),
                                  bounds[2:]):
        yield Row(f"{label}: {words}, ms", "-", f"{value:.2f} ms", value, most, most)


def covered(bench, name, program, trace):
    graph = json.loads(bench.call([bench.command, "callgraph", "--json", "--graph", trace,
                                   program]))
    seen = [edge["kinds"] for edge in graph["edges"] if "seen" in edge["kinds"]]
    share = 100 * sum(kinds != ["seen"] for kinds in seen) / len(seen)
    yield Row(f"call graph, {name}: edges that were seen, in the binary, % of {len(seen)}", "-",
              f"{share:.2f} %", share, 97, 99.5, higher=True)


def one(bench, name, program, recorded, arguments, folder):
    trace = bench.work / "recorded" / f"{name}.search.ttape"
    bench.call([bench.command, "record", "-q", "-f", "-o", trace, "--", program, *recorded],
               cwd=folder)
    yield from covered(bench, name, program, trace)
    counts, words = sampled(bench, name, program, arguments, folder)
    answers, _ = decode(bench, ["--dictionary", words], [value for value, _ in counts])
    right = {value: answer["stacks"][0]["functions"] for (value, _), answer in
             zip(counts, answers) if len(answer["stacks"]) == 1}
    share = 100 * len(right) / len(counts)
    yield Row(f"search, {name}, dictionary: found, %", "-", f"{share:.1f} %", share, 100, 100,
              higher=True)
    counts = [pair for pair in counts if pair[0] in right]
    answers, seconds = decode(bench, ["--graph", trace, "--binary", program],
                              [value for value, _ in counts])
    yield from rows(name, "seen and two new calls", counts, right, answers, seconds,
                    (SEEN_FOUND, SEEN_FIRST, SEEN_MEDIAN, SEEN_P99))
    few = [pair for pair in counts if int(pair[0].split("/")[1]) <= ALONE_DEPTH]
    few = few[:ALONE_QUICK] if bench.quick else few
    answers, seconds = decode(bench, ["--binary", program], [value for value, _ in few])
    if few:
        yield from rows(name, f"binary alone to depth {ALONE_DEPTH}", few, right, answers, seconds,
                        (ALONE_FOUND, ALONE_FIRST, ALONE_MEDIAN, 0))
    deep = [pair for pair in counts if int(pair[0].split("/")[1]) > ALONE_DEPTH]
    deep = deep[:DEEPER_QUICK] if bench.quick else deep
    answers, seconds = decode(bench, ["--binary", program], [value for value, _ in deep])
    if deep:
        yield from rows(name, "binary alone, deeper", deep, right, answers, seconds, (0, 0, 0, 0))


def search(bench):
    missing = [tool for tool in ("apt-get", "tar", "tclsh", "make") if shutil.which(tool) is None]
    if missing:
        print(f"SKIPPED: search: not installed: {' '.join(missing)}", flush=True)
        return
    for words in programs(bench):
        yield from one(bench, *words)
