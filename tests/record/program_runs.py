"""Programs of the system (debian_programs.txt), each run as it is and recorded in one of the ways
that there are: whether anybody could tell. Compared are the status, both outputs and what lies in
the folder behind the run. For test_debian_programs.py and scripts/programs."""
import bz2
import dataclasses
import gzip
import hashlib
import lzma
import os
import random
import re
import resource
import shlex
import shutil
import stat
import subprocess
import tempfile
import zipfile
from pathlib import Path

import setting

LIST = setting.HERE / "debian_programs.txt"
TIMEOUT_S = 300
LOSS, NOTHING = 3, 4
# What is not hidden of a recording: these two, in lists of the environment.
VARIABLES = re.compile(rb"^(?:LD_PRELOAD|TRACETAPE_ARENA)=[^\n\0]*[\n\0]", re.M)
MESSAGES = re.compile(rb"tracetape: [^\n]*\n")
REASONS = {LOSS: rb"events were lost", NOTHING: rb"nothing was recorded"}

# A process has one tracer, and a set-user-id program loses its rights where that is a user's.
BY_PTRACE = ("ptrace", "complete")
NOT_BY_PTRACE = ("chage", "ltrace", "passwd", "strace", "su", "sudo")
COMMAND_WAY = "syscalls command"
PATCH_ALL = ["--patch", ".", "--module", "."]
WAYS = {
    "default": [], "hooks only": ["--no-patch"], "patch": ["--patch", "."],
    "all libraries": PATCH_ALL, "libcalls": ["--libcalls"], "nested": ["--nest-libcalls"],
    "syscalls": ["--syscalls"], "stacks": ["--syscalls", "--stacks"],
    "values": ["--patch", ".", "--args", "--retval"],
    "library values": ["--libcalls", "--args"],
    "all values": [*PATCH_ALL, "--args", "--retval", "--syscalls", "--data"],
    "ptrace": ["--syscalls", "--engine", "ptrace"],
    "complete": ["--syscalls", "--complete"],
    "keep last": ["--patch", ".", "--keep-last", "1M"],
    "block": [*PATCH_ALL, "--block"], "drop": [*PATCH_ALL, "--drop", "--buffer", "256K"],
    "level 0": ["--level", "0", "--patch", "."], "level 9": ["--level", "9", "--patch", "."],
    "clock": ["--clock", "monotonic", "--libcalls"], "no clock": ["--clock", "none"],
    "filtered": ["--patch", ".", "--min-time", "20us", "--depth", "9"],
    "inlined": ["--patch", ".", "--inlined"], "live": ["--live", "--patch", "."],
    "one process": ["--no-children", "--patch", "."], "switched off": ["--off", "--patch", "."],
    "files": ["--files", "--patch", "."], "culled": ["--cull-hot", "--patch", "."],
    COMMAND_WAY: None,
}

TEXT = "".join(f"line {i}: the quick brown fox is jumping over {i * 7919 % 97} lazy dogs\n"
               for i in range(40))
FILES = {
    "text": TEXT, "other": TEXT.replace("quick", "slow"), "pairs": "a b\nb c\nc d\n",
    "sorted": "".join(sorted(TEXT.splitlines(True))),
    "numbers": "".join(f"{i * 7919 % 541}\n" for i in range(200)),
    "hex": "68656c6c6f20776f726c640a\n",
    "hello.c": "#include <stdio.h>\nstatic int twice(int x) { return 2 * x; }\n"
               "int main(int n, char **v)\n{\n    switch (n) {\n    case 1: return twice(n);\n"
               "    case 2: puts(v[1]);\n    }\n    return 0;\n}\n",
    "bad.c": "int main(void) { int unused; retrun 0; }\n",
    "thrower.cc": "#include <map>\n#include <stdexcept>\n#include <string>\n"
                  "int f(int n) { std::map<std::string, int> m; m[\"a\"] = n;\n"
                  "    try { return m.at(\"b\"); }\n"
                  "    catch (const std::out_of_range &) { return -1; }\n}\n",
    "hello.f90": "program hello\n  print *, sum([(i, i = 1, 9)])\nend program\n",
    "hello.rs": "pub fn f(v: &[u32]) -> u32 { v.iter().map(|x| x * 2).sum() }\n",
    "main.rs": "fn main() {\n"
               "    let work = std::thread::spawn(|| (1..9).map(|x| x * x).collect());\n"
               "    let v: Vec<u32> = work.join().unwrap();\n    println!(\"{:?}\", v);\n}\n",
    "main.go": "package main\nfunc main() { println(42) }\n",
    "Hello.java": "public class Hello { public static void main(String[] a) {\n"
                  "    java.util.stream.IntStream.range(0, 5).parallel().map(x -> x * x).sorted()"
                  ".forEachOrdered(System.out::println); } }\n",
    "script.py": "import json, re, threading\n"
                 "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\n"
                 "print(f(12), json.dumps({'a': [1, 2.5, None]}), re.findall('a+', 'aabaaa'))\n"
                 "try: 1 / 0\nexcept ZeroDivisionError as error: print(error)\n"
                 "for t in [threading.Thread(target=f, args=(9,)) for _ in range(3)]:\n"
                 "    t.start(); t.join()\n",
    "script_test.py": "import unittest\nclass T(unittest.TestCase):\n"
                      "    def test_a(self): self.assertEqual(1 + 1, 2)\n",
    "script.sh": "f() { [ $1 -gt 0 ] && f $(($1 - 1)); echo $1; }\nf 12\n"
                 "x=$(ls | wc -l); echo $x | tr 0-9 a-j\nfor i in a b; do echo $i; done | sort -r",
    "script.sql": "create table t(a, b);\nwith recursive c(x) as (select 1 union all "
                  "select x + 1 from c where x < 300) insert into t select x, x * 1.5 from c;\n"
                  "select count(*), sum(b), avg(a) from t;\n"
                  "select a % 7, count(*) from t group by 1 order by 2;\n",
    "script.bc": "scale = 20\n2 ^ 100 / 7\nquit\n", "script.m4": "define(`a', `b$1')a(2)\n",
    "script.ed": "g/quick/s//swift/\n1,3p\nw copy\nq\n",
    "script.y": "%%\ns: 'a' s | ;\n%%\n", "script.l": "%%\na+ ECHO;\n%%\n",
    "script.tcl": "proc f n {if {$n < 2} {return $n}; expr {[f [expr $n-1]] + [f [expr $n-2]]}}\n"
                  "puts [f 12]\n",
    "script.lua": "local function f(n) if n < 2 then return n end return f(n-1) + f(n-2) end\n"
                  "print(f(15), pcall(error, 'x'))\n",
    "script.cmake": "foreach(i RANGE 5)\n  math(EXPR j \"${i} * 7\")\n  message(STATUS ${j})\n"
                    "endforeach()\n",
    "rules": "all: text\n\t@echo made\n",
    "rules.many": "all: 1 2 3 4 5 6\n%:\n\t@sleep 0.01; wc -l <text >made.$@\n",
    "rules.ninja": "rule cat\n  command = cat $in > $out\nbuild copy: cat text\n",
    "change.patch": "--- pairs\n+++ pairs\n@@ -1,3 +1,3 @@\n a b\n-b c\n+b x\n c d\n",
    "page.1": ".TH A 1\n.SH NAME\na \\- text that is\n.B bold\n",
    "page.xml": "<a><b c='1'>x</b><b/></a>\n",
    "page.xsl": "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'>"
                "<xsl:template match='/'><xsl:value-of select='count(//b)'/></xsl:template>"
                "</xsl:stylesheet>\n",
    "text.po": 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
               'msgid "a"\nmsgstr "b"\n',
    "graph.dot": "digraph { a -> b -> c; a -> c }\n",
    "data.json": '[{"a": 1}, {"a": "x"}]\n',
}


def make_shared(work):
    """What tools have to make, once for all runs."""
    shared = work / "shared"
    shared.mkdir()
    (shared / "hello.c").write_text(FILES["hello.c"], encoding="utf-8")
    for words in (["-c", "-o", "hello.o"], ["-S", "-o", "hello.s"]):
        subprocess.run(["gcc", "-O1", "-g", *words, "hello.c"], cwd=shared, check=True)
    (shared / "hello.c").unlink()
    data = TEXT.encode()
    (shared / "archive.gz").write_bytes(gzip.compress(data, mtime=0))
    (shared / "archive.bz2").write_bytes(bz2.compress(data))
    (shared / "archive.xz").write_bytes(lzma.compress(data))
    with zipfile.ZipFile(shared / "archive.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("text", (1999, 1, 1, 0, 0, 0)), TEXT)
    return shared


def fill(folder, shared):
    (folder / "empty").mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    for path in shared.iterdir():
        shutil.copyfile(path, folder / path.name)
    for path in sorted(folder.iterdir()):
        os.utime(path, (0, 0))


@dataclasses.dataclass
class Outcome:
    status: int
    out: bytes
    err: bytes
    files: dict
    said: bytes = b""  # the recorder's own lines
    timed_out: bool = False


def content_of(path, about):
    if stat.S_ISREG(about.st_mode):
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return os.readlink(path) if stat.S_ISLNK(about.st_mode) else ""


def tree_of(folder):
    """Each path's kind, rights and content; no times."""
    tree = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        mode = stat.filemode(about.st_mode)
        try:
            tree[str(path.relative_to(folder))] = (mode, content_of(path, about))
        except OSError as error:  # a file that its owner may not read
            tree[str(path.relative_to(folder))] = (mode, str(error.errno))
    return tree


def no_core_files():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(place, shared, words, prefix=()):
    """One run in a folder of its own, always of the same name."""
    folder = place / "run"
    fill(folder, shared)
    home, temporary = place / "home", place / "tmp"  # the recorder's files do not lie in view
    for path in (home, temporary):
        path.mkdir(exist_ok=True)
    environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin:/usr/games", "LC_ALL": "C",
                   "HOME": str(home), "XDG_CACHE_HOME": str(shared.parent / "cache"),
                   "TERM": "dumb", "TMPDIR": str(temporary)}
    process = subprocess.Popen([str(word) for word in [*prefix, *words]], cwd=folder,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment, start_new_session=True,
                               preexec_fn=no_core_files)
    timed_out = False
    try:
        out, err = process.communicate(TEXT.encode(), timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        timed_out = True
        setting.kill_group(process)
        out, err = process.communicate()
    status = process.returncode
    status = setting.DIED - status if status < 0 else status
    tree = tree_of(place / "run")
    for path in place.iterdir():
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
    out, err = (text.replace(os.fsencode(place), b"/place") for text in (out, err))
    said = b"".join(MESSAGES.findall(err)) if prefix else b""
    return Outcome(status, VARIABLES.sub(b"", out), MESSAGES.sub(b"", err) if prefix else err,
                   tree, said, timed_out)


def prefix_of(way, trace):
    if way == COMMAND_WAY:
        return [setting.COMMAND, "syscalls", "--report", trace.with_suffix(".txt"), "--"]
    return [setting.COMMAND, "record", "-f", "-o", trace, *WAYS[way], "--"]


def status_fits(plain, recorded):
    if recorded.status == plain.status:
        return True
    reason = REASONS.get(recorded.status)
    return plain.status == 0 and reason is not None and re.search(reason, recorded.said) is not None


def differences(plain, recorded):
    """What somebody could tell by."""
    if recorded.timed_out:
        yield f"it does not end; the recorder says {recorded.said[-300:]!r}"
        return
    if not status_fits(plain, recorded):
        yield f"status {recorded.status} for {plain.status}; {recorded.said[-300:]!r}"
    for what in ("out", "err"):
        found, wanted = getattr(recorded, what), getattr(plain, what)
        if found != wanted:
            first = len(os.path.commonprefix([found, wanted]))
            place = slice(max(0, first - 100), first + 200)
            yield f"{what} at {first}: {found[place]!r} for {wanted[place]!r}"
    if recorded.files != plain.files:
        changed = {name for name in {*recorded.files, *plain.files}
                   if recorded.files.get(name) != plain.files.get(name)}
        yield f"files: {sorted(changed)[:5]}"


def tasks():
    """All lines of the list whose programs are there."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    words = [shlex.split(line) for line in lines if line and not line.startswith("#")]
    path = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/games"
    return [one for one in words if shutil.which(one[0], path=path)]


def fits(words, way):
    return way not in BY_PTRACE or words[0] not in NOT_BY_PTRACE


def draw(seed, count):
    """So many runs, each a task and a way; each way about as often as the others."""
    drawn, listed = random.Random(seed), tasks()
    turns = count // len(WAYS) + 1
    order = [way for _ in range(turns) for way in drawn.sample(list(WAYS), len(WAYS))]
    return [(drawn.choice([words for words in listed if fits(words, way)]), way)
            for way in order[:count]]


class Runner:
    """Runs tasks; what each does as it is, is known for the next time."""

    def __init__(self, work):
        self.work = work
        self.shared = make_shared(work)
        setting.plans(work / "cache")
        self.known = {}
        self.reasons = {}

    def place(self):
        return Path(tempfile.mkdtemp(dir=self.work))

    def plain(self, words):
        """None: it is not the same each time."""
        key = tuple(words)
        if key not in self.known:
            place = self.place()
            first, second = run(place, self.shared, words), run(place, self.shared, words)
            self.known[key] = first if first == second and not first.timed_out else None
            shutil.rmtree(place, ignore_errors=True)
        return self.known[key]

    def check(self, words, way):
        """What differs, or None where the program differs from itself."""
        plain = self.plain(words)
        if plain is None:
            return None
        place = self.place()
        trace = self.work / f"{place.name}.ttape"
        recorded = run(place, self.shared, words, prefix_of(way, trace))
        found = list(differences(plain, recorded))
        if not found and recorded.status != plain.status:
            self.reasons[recorded.status, way] = self.reasons.get((recorded.status, way), 0) + 1
        if found and self.again(place, words) != plain:
            found = None
        shutil.rmtree(place, ignore_errors=True)
        for path in self.work.glob(f"{place.name}.*"):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
        return found

    def again(self, place, words):
        """As it is, behind a run that differed: now and then a program differs by itself."""
        return run(place, self.shared, words)


def quote(words):
    return shlex.join(map(str, words))


