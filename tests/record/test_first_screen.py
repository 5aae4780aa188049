#!/usr/bin/env python3
"""The answer stands on the first screen of 80 x 40: who works is told from who waits, however long
a name is."""
import json
import re
import sys
from pathlib import Path

import screen
import setting


def check_on_cpu(checks, folder):
    """Who waits has time, and takes none of the processor's."""
    trace = Path(folder, "waits.ttape")
    program = setting.build("p_works_and_waits.cc", flags=("-O1",), log=False)
    done = setting.run(setting.record_words(trace, [program], "-f"))
    checks.equal(done.status, 0, "record")
    told = json.loads(setting.tracetape("report", "--json", "--sort", "self", trace).out)
    if told["idle_source"] != "switches":
        print("left out: when it was on a CPU (switches are not known here)")
        return
    rows = {row["name"].split("(")[0]: row for row in told["rows"]}
    waits = rows["work::waits"]
    checks.that(waits["on_cpu_ns"] * 4 < waits["self_ns"], "it waits, and does not work", rows)
    lines = screen.look("report", "--sort", "on-cpu", trace)
    title = screen.has(lines, "SELF")
    checks.that(title and "OFF CPU" in title and "SELF %" in title, "columns that stay", title)
    first = lines[lines.index(title) + 1]
    checks.that("work::works" in first, "who works comes first", lines)
    waits = screen.has(lines, "work::waits")
    checks.that(waits and float(waits.split()[6]) < 50, "SELF % is of the processor", waits)
    lines = screen.look("report", "--by", "call", trace)
    title = screen.has(lines, "CALLER +FUNCTION$")
    rows = lines[lines.index(title) + 1:] if title else []
    checks.that(any(re.match(r".* \S*takes_many_\S* +work::works$", row) for row in rows),
                "a caller beside its function", lines)
    lines = screen.look("report", "--sort", "idle", trace)
    title = screen.has(lines, "FUNCTION$")
    checks.that(title and " IDLE " in title, "what rows are sorted by", lines)
    for by in ("trace", "host"):  # whose rows do not say when threads ran: SELF % is of all time
        lines = setting.tracetape("report", trace, "--by", by).out.decode().splitlines()
        shown = lines[lines.index(screen.has(lines, "SELF %")) + 1]
        checks.that(99 < float(shown.split()[2]) <= 100, f"one {by} has all of the time", shown)


def check_widths(checks, folder):
    """No line is wider than the terminal; paths and deep trees keep what tells names apart."""
    trace, other = Path(folder, "deep.ttape"), Path(folder, "waits.ttape")
    source, program = Path(folder, "deep.c"), Path(folder, "deep")
    source.write_text("volatile int n;\n" + "".join(
        f"__attribute__((noinline)) int level_{i}(void)\n{{\n    n++;\n    return "
        f"{f'level_{i + 1}() + 1' if i < 29 else '1'};\n}}\n" for i in range(29, -1, -1)) +
        "int main(void)\n{\n    return level_0() != 30;\n}\n")
    setting.run(["gcc", "-O1", "-g", "-finstrument-functions", source, "-o", program])
    checks.equal(setting.run(setting.record_words(trace, [program], "-f")).status, 0, "record")
    for words in ("report", "report --by module", "report --by process", "last", "info", "slow",
                  "tree", "graph", "graph --list", "graph --summary", "graph --reach level_29"):
        for of in (trace, other):
            if "level" not in words or of == trace:
                lines = screen.read(*words.split(), of)
                wide = [line for line in lines  # a word stays whole
                        if len(line) > screen.COLUMNS and " " in line.strip()]
                checks.equal(wide, [], f"{words}: too wide")
    lines = screen.read("diff", trace, other)
    checks.equal([line for line in lines if len(line) > screen.COLUMNS], [], "diff: too wide")
    lines = screen.look("graph", trace, "--all")
    checks.that(screen.has(lines, r" level_29$"), "the deepest name", lines)
    lines = screen.look("report", "--by", "module", trace)
    checks.that(screen.has(lines, r"/deep$"), "the end of a path", lines)


def check_system_calls(checks, folder):
    """Who called them is there, and what they were given is in words, in every verb."""
    trace = Path(folder, "words.ttape")
    program = setting.build("p_odd_words.c", flags=("-O1",), log=False)
    done = setting.run(setting.record_words(trace, [program], "-f", "--syscalls", "--args"))
    checks.equal(done.status, 0, "record")
    lines = screen.look("slow", trace)
    checks.that("CALLED BY" in lines[0], "a column that stays", lines[0])
    checks.that(all(len(line) <= screen.COLUMNS for line in lines), "no line is too long", lines)
    checks.that(screen.has(lines, r"openat\(.* main$"), "who called", lines)
    once = ['openat(AT_FDCWD, "nofile", O_RDWR|O_CLOEXEC) = -1 ENOENT', "FUTEX_WAIT_PRIVATE, 42078"]
    twice = ["alarm" + "(42)", "inotify_init1(IN_CLOEXEC)", 'chown("nofile", -1, -1)',
             'chown("nofile", 4207869677, 1001) = -1 ENOENT']
    for words, wanted in ((["dump"], once + twice), (["slow", "--limit", "40"], once + twice),
                          (["tree", "--full"], once), (["last", "--all"], once)):
        text = setting.tracetape(*words, trace).out.decode()
        for part in wanted:
            checks.that(part in text, "in words", part, text)


def main():
    setting.need_verb("record", "report")
    checks = setting.Checks("first screen")
    with setting.work_dir() as folder:
        check_on_cpu(checks, folder)
        check_widths(checks, folder)
        check_system_calls(checks, folder)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
