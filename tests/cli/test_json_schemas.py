#!/usr/bin/env python3
"""What verbs print with --json is as spec/json/ says, which each verb that has --json is in: of
traces with values, signals, holes, several threads and files, and of a program. Each key that the
sources write is in the schema of its verb."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

TOOL, SOURCE = os.environ["TTAPE_BIN"], Path(os.environ["TTAPE_SRC"])
SCHEMAS = SOURCE / "spec/json"
# Where a verb's JSON is made, when that is not the folder of its name in tools/.
FOLDERS = {"info": ("tools/files/*info*",), "verify": ("tools/files/verb_verify.c",),
           "control": ("tools/record/verbs/verb_control.c",),
           "record": ("tools/record/engines/record_plan*",),
           "attach": ("tools/record/engines/record_plan*",),
           "callgraph": ("tools/callgraph/binaries/*",)}
TEXT = """process 7 prog
process 8 other parent=7
thread 7 7 first
thread 7 9 second
thread 8 8
module 0x1000 0x9000 /usr/bin/prog build-id=0102
symbol 0x1100 main main.c:3
symbol 0x1200 work main.c:9
meta clock monotonic
meta exit_status 3
10 7 enter 0x1100 1 "text" hex:00ff null
20 7 enter 0x1200 -5 0x30 0.5
25 9 enter 0x1200
30 7 signal 11
31 7 enter 0x1200
33 7 exit - 9
34 7 signal-end 11
40 7 gap 5 overflow
45 7 enter helper
46 7 unwind 1
50 7 exit
52 8 enter 0x1100
53 8 switch 1
54 8 enter co
55 8 switch 0
56 8 syscall-enter read path=main;"load it";read
58 8 syscall-exit read 12
60 8 marker here 3
61 7 exit
62 8 exit
63 8 exit nothing
"""
PROGRAM = """
#include <unistd.h>
volatile int sum;
void work(int n) { for (int i = 0; i < n; i++) sum += i; }
int main(int argc, char **argv)
{
    for (int i = 0; i < 30; i++)
        work(i);
    return argc > 1 && write(1, "x", 1) != 1;
}
"""


class Checks:
    def __init__(self, work):
        self.work, self.items, self.seen = work, [], set()

    def add(self, name, what, text):
        self.seen.add(name)
        self.items.append(json.dumps({"schema": f"{name}.schema.json", "what": what,
                                      "value": json.loads(text)}))

    def run(self, verb, *words, name=None, must=True):
        line = [TOOL, verb, *map(str, words)]
        done = subprocess.run(line, check=False, capture_output=True, cwd=self.work,
                              stdin=subprocess.DEVNULL)
        if must:
            assert done.returncode in (0, 1, 3), (line, done.stderr[-300:])
        if not done.stdout.strip() or (not must and done.returncode == 4):
            return
        if verb == "dump":
            for row in done.stdout.splitlines()[:300]:
                self.add(name or verb, line, row)
        else:
            self.add(name or verb, line, done.stdout)


def of_traces(checks, traces):
    for i, trace in enumerate(traces):
        j, must = ("--json", trace), i == 0
        for line in (("info", "--all", *j), ("info", "--chains", *j), ("verify", *j),
                     ("report", *j), ("tree", *j), ("slow", *j), ("graph", *j),
                     ("last", "--all", *j),
                     ("dump", "--format", "ndjson", "--paths", "--places", trace)):
            checks.run(*line, must=must)


def of_options(checks, one, two):
    for by in ("name", "module", "file", "thread", "process", "call"):
        checks.run("report", "--by", by, "--json", one)
    for line in (["--exact", "--ids"], ["--histogram", "-F", "work"], ["--butterfly", "work"],
                 ["--time", "20..50"], ["--below", "work"], ["--by", "trace", two],
                 ["--by", "host", two], ["--by", "build", two], ["--by", "thread", two],
                 ["--by", "process", two], [two], ["--exact", two]):
        checks.run("report", "--json", one, *line)
    checks.run("report", "--rollup", "sums.rollup", one, two, "--json")
    checks.run("info", "--json", "sums.rollup")
    checks.run("report", "--json", "sums.rollup")
    for line in (["--all"], ["--full"], ["--partitions"], ["--source"], ["--fold"],
                 ["--open", "s0"], ["--min-time", "5"], ["--find", "work"],
                 ["--time", "20..50"], ["--fold", "--limit", "2"]):
        checks.run("tree", "--json", *line, one)
    for line in (["--self"], ["--first"], ["--on-cpu"], [two]):
        checks.run("slow", "--json", one, *line, must=False)
    for line in (["--context", "*"], ["--reach", "work"], ["--all"], ["--split-levels"],
                 ["--min-calls", "2"]):
        checks.run("graph", "--json", *line, one)
    for line in ([one, two], [one, one, "--first"], [one, two, "--first"], [one, two, "--all"],
                 [one, one, "--against", two, two], ["--by", "path", one, two]):
        checks.run("diff", "--json", *line)
    for line in ([], ["--by", "module"], ["--by", "path"], ["--by", "file"], ["--application"]):
        checks.run("syscalls", "--json", *line, one, must=False)


def of_program(checks):
    """What is recorded, where this build can; lines of blocks; a recording that runs."""
    work = checks.work
    (work / "p.c").write_text(PROGRAM, encoding="utf-8")
    build = Path(TOOL).parent
    blocks = ["-fsanitize-coverage=trace-pc", f"-L{build}", "-Wl,--whole-archive",
              "-ltracetape-blocks", "-Wl,--no-whole-archive"]
    for name, more in (("plain", []), ("blocks", blocks)):
        subprocess.run(["gcc", "-g", "-O1", "-finstrument-functions", "-o", name, "p.c", *more],
                       check=True, cwd=work)
    for line in (["--all"], []):
        checks.run("binary", "--json", *line, "plain")
    for line in (["--all", "--branches"], ["--graph", "run.ttape"]):
        if line[0] == "--graph":
            done = subprocess.run([TOOL, "record", "-q", "-o", "run.ttape", "--call-sites",
                                   "./plain"], check=False, cwd=work, capture_output=True)
            if done.returncode != 0:
                print("not recorded:", done.stderr.decode()[-200:])
                return
            subprocess.run([TOOL, "record", "-q", "-o", "lines.ttape", "./blocks"], check=True,
                           cwd=work, capture_output=True)
            subprocess.run([TOOL, "record", "-q", "-o", "calls.ttape", "--syscalls", "--args",
                            "./plain", "x"], check=True, cwd=work, capture_output=True)
        checks.run("callgraph", "--json", *line, "plain")
    for line in (["-F", "work"], ["--edges", "-F", "work"], ["--line", "p.c:4"]):
        checks.run("lines", "--json", *line, "lines.ttape")
    for line in ([], ["--by", "module"], ["--by", "path"], ["--by", "file"]):
        checks.run("syscalls", "--json", *line, "calls.ttape")
    checks.run("report", "--by", "site", "--json", "run.ttape")
    for trace in ("run.ttape", "calls.ttape"):
        of_traces(checks, [trace])
    checks.run("record", "--plan", "--json", "--patch", "./plain", must=False)
    checks.run("record", "--plan", "--json", "--patch", "--inlined", "./plain", must=False)
    checks.run("context", "--json", "--binary", "plain", "--log", "x", must=False)
    checks.run("context", "--json", "--graph", "run.ttape", "0000000000000000:1", must=False)


def of_running(checks):
    """control, last --pid and attach --plan of programs that wait for their input."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        program.stdin.write(b"x\n")
        program.stdin.flush()
        program.stdout.readline()  # it is cat, no copy of this test
        checks.run("attach", "--plan", "--json", program.pid)
        program.stdin.close()
        program.wait()
    with subprocess.Popen([TOOL, "record", "-q", "-o", "live.ttape", "cat"], cwd=checks.work,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as recorder:
        recorder.stdin.write(b"x\n")
        recorder.stdin.flush()
        recorder.stdout.readline()  # it runs, and is recorded
        checks.run("control", "--json", recorder.pid, "status")
        checks.run("last", "--json", "--pid", recorder.pid, must=False)
        recorder.stdin.close()
        recorder.wait()


def keys_of(value):
    if isinstance(value, dict):
        yield from value.get("properties", {})
        for part in value.values():
            yield from keys_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from keys_of(part)


def verbs_with_json():
    said = subprocess.run([TOOL, "--help"], check=True, capture_output=True, text=True).stdout
    for verb in re.findall(r"^  ([a-z]+)  ", said, re.M):
        words = subprocess.run([TOOL, verb, "--help"], check=True, capture_output=True, text=True)
        if re.search(r"^ +--json ", words.stdout, re.M):
            yield verb


def check_keys(verbs):
    """Keys that sources write with tool_json_*(json, "key", ...)."""
    for verb in verbs:
        page = json.loads((SCHEMAS / f"{verb}.schema.json").read_text(encoding="utf-8"))
        known, found = set(keys_of(page)), 0
        for pattern in FOLDERS.get(verb, (f"tools/{verb}/**/*.c",)):
            for source in SOURCE.glob(pattern):
                text = source.read_text(encoding="utf-8")
                for key in re.findall(r'\btool_json_[a-z_]+\(&?[^;"]*?json,\s*"([^"]+)"', text):
                    found += 1
                    assert key in known | {"argument", "result"}, \
                        f"{source}: '{key}' is not in spec/json/{verb}.schema.json"
        assert found > 1, verb


def main():
    node = shutil.which("node")
    if node is None:
        print("SKIPPED: node is missing (scripts/setup installs it)")
        return 77
    verbs = list(verbs_with_json())
    check_keys(verbs)
    with tempfile.TemporaryDirectory(prefix="ttape-schemas.") as folder:
        work = Path(folder)
        checks = Checks(work)
        for name, text in (("one", TEXT), ("two", TEXT.replace("50 7", "48 7"))):
            subprocess.run([TOOL, "convert", "-", "-o", f"{name}.ttape"], check=True, cwd=work,
                           input=text.encode(), capture_output=True)
        vectors = sorted((SOURCE / "spec/vectors").glob("*.ttape"))
        of_traces(checks, ["one.ttape", *vectors[::24]])
        of_options(checks, "one.ttape", "two.ttape")
        if not os.environ.get("TTAPE_SANITIZE"):  # the release's runtime records
            of_program(checks)
            of_running(checks)
        missing = set(verbs) - checks.seen - {"record", "context"}
        done = subprocess.run([node, SOURCE / "tests/cli/check_schemas.js", SCHEMAS], check=False,
                              input="\n".join(checks.items), text=True, capture_output=True,
                              env={**os.environ, "NODE_PATH": "/usr/share/nodejs"})
        print(done.stdout, done.stderr[-2000:])
        if done.returncode == 0 and missing:
            print(f"SKIPPED: nothing was printed by {', '.join(sorted(missing))}")
            return 77
        return done.returncode


signal.signal(signal.SIGPIPE, signal.SIG_IGN)
sys.exit(main())
