#!/usr/bin/env python3
"""Programs of the system with all their functions patched, their library calls recorded, and with
the functions of all libraries, the loader and the C library too, print what they print otherwise,
and end as they end: their version, and a task each (patch_programs.txt). Which of them the gate
takes, their number says. Run as root."""
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import setting

ALL = (["--module", "."], ["--libcalls"], ["--nest-libcalls"])
EACH = setting.cut(1, 20)
TEXT = "".join(f"line {i}: the quick brown fox is jumping over {i * 7919 % 97} lazy dogs\n"
               for i in range(40))
FILES = {
    "text": TEXT, "other": TEXT.replace("quick", "slow"), "pairs": "a b\nb c\nc d\n",
    "sorted": "".join(sorted(TEXT.splitlines(True))),
    "numbers": "".join(f"{i * 7919 % 541}\n" for i in range(200)),
    "hello.c": "#include <stdio.h>\nstatic int twice(int x) { return 2 * x; }\n"
               "int main(int n, char **v)\n{\n    switch (n) {\n    case 1: return twice(n);\n"
               "    case 2: puts(v[1]);\n    }\n    return 0;\n}\n",
    "script.py": "import json, re, threading\n"
                 "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\n"
                 "print(f(12), json.dumps({'a': [1, 2.5, None]}), re.findall('a+', 'aabaaa'))\n"
                 "try: 1 / 0\nexcept ZeroDivisionError as error: print(error)\n"
                 "for t in [threading.Thread(target=f, args=(9,)) for _ in range(3)]:\n"
                 "    t.start(); t.join()\n",
    "script.sh": "f() { [ $1 -gt 0 ] && f $(($1 - 1)); echo $1; }\nf 12\n"
                 "x=$(ls | wc -l); echo $x | tr 0-9 a-j\nfor i in a b; do echo $i; done | sort -r",
    "script.sql": "create table t(a, b);\nwith recursive c(x) as (select 1 union all "
                  "select x + 1 from c where x < 300) insert into t select x, x * 1.5 from c;\n"
                  "select count(*), sum(b), avg(a) from t;\n"
                  "select a % 7, count(*) from t group by 1 order by 2;\n",
    "script.bc": "scale = 20\n2 ^ 100 / 7\nquit\n", "script.m4": "define(`a', `b$1')a(2)\n",
    "script.tcl": "proc f n {if {$n < 2} {return $n}; expr {[f [expr $n-1]] + [f [expr $n-2]]}}\n"
                  "puts [f 12]\n",
    "script.lua": "local function f(n) if n < 2 then return n end return f(n-1) + f(n-2) end\n"
                  "print(f(15), pcall(error, 'x'))\n",
    "script.cmake": "foreach(i RANGE 5)\n  math(EXPR j \"${i} * 7\")\n  message(STATUS ${j})\n"
                    "endforeach()\n",
    "rules": "all: text\n\t@echo made\n",
    "rules.ninja": "rule cat\n  command = cat $in > $out\nbuild copy: cat text\n",
    "change.patch": "--- pairs\n+++ pairs\n@@ -1,3 +1,3 @@\n a b\n-b c\n+b x\n c d\n",
    "page.1": ".TH A 1\n.SH NAME\na \\- text that is\n.B bold\n",
    "page.xml": "<a><b c='1'>x</b><b/></a>\n", "data.json": '[{"a": 1}, {"a": "x"}]\n',
}


def programs():
    """All lines, each EACH-th of those that are there."""
    listed = (setting.HERE / "patch_programs.txt").read_text(encoding="utf-8").splitlines()
    there = [words for words in map(shlex.split, listed)
             if words and not words[0].startswith("#") and shutil.which(words[0])]
    return there[::EACH]


def fill(folder):
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "empty").mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("hello.o", "hello.s"):
        shutil.copy(folder.parent / name, folder)
    for path in folder.iterdir():
        os.utime(path, (0, 0))


def run(folder, words):
    fill(folder)
    environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "HOME": str(folder),
                   "XDG_CACHE_HOME": str(folder.parent / "cache"), "TERM": "dumb"}
    done = subprocess.run([str(word) for word in words], cwd=folder, input=TEXT.encode(),
                          env=environment, capture_output=True, check=False, timeout=120)
    return done.returncode, done.stdout


def main():
    setting.need_verb("record")
    setting.need_root()  # for other users' sake: the programs are the same
    checks = setting.Checks("patched programs")
    tried = 0
    with setting.work_dir() as work:
        folder = Path(work, "run")
        Path(work, "cache").mkdir(mode=0o700)
        Path(work, "hello.c").write_text(FILES["hello.c"], encoding="utf-8")
        for words in (["-c", "-o", "hello.o"], ["-S", "-o", "hello.s"]):
            subprocess.run(["gcc", "-O1", *words, "hello.c"], cwd=work, check=True)
        record = [setting.COMMAND, "record", "-q", "-f", "-o", Path(work, "run.ttape"),
                  "--patch", "."]
        for words in programs():
            versions = [] if words[0] == "groff" else [([words[0], "--version"], ALL[1:])]
            for task, ways in (*versions, (words, ALL)):  # groff's children print at once
                plain = run(folder, task)
                for way in ways:
                    checks.equal(run(folder, [*record, *way, "--", *task]), plain,
                                 shlex.join([*way, *task]))
                tried += 1
    print(f"{tried} runs of {len(programs())} programs")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
