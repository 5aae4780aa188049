#!/usr/bin/env python3
"""record --then-level: the same trace in fewer bytes under the same name, with the command's exit
status; whatever comes between leaves the first trace, whole. And --threshold, --call-numbers."""
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import setting

PROGRAM = """
__attribute__((noinline)) void leaf(volatile int *x) { *x += 1; }
int main(void)
{
    volatile int x = 0;
    for (int i = 0; i < 200000; i++)
        leaf(&x);
    return 7;
}
"""


def words(work, *options):
    return [setting.COMMAND, "record", "-f", "-o", work / "run.ttape", "--level", "1", *options,
            "--", work / "p"]


def is_whole(checks, work, what):
    path = work / "run.ttape"
    checks.equal(setting.tracetape("verify", path).status, 0, f"{what}: verify")
    rows = setting.tracetape("report", "--json", path).out
    checks.that(b'"calls": 200000' in rows, f"{what}: calls are missing")
    return path.stat().st_size


def check_smaller(checks, work):
    first = setting.run(words(work))
    is_whole(checks, work, "level 1")
    checks.equal(first.status, 7, "without it: status")
    done = setting.run(words(work, "--then-level", "9"))
    checks.equal(done.status, 7, "status")
    told = re.search(rb" (\d+) bytes at level 9, (\d+) before", done.err)
    if checks.that(told, f"nothing is said: {done.err}"):
        small, large = map(int, told.groups())
        checks.equal(is_whole(checks, work, "then 9"), small, "its size")
        checks.that(small < large * 0.95, f"it is not smaller: {small} of {large}")
    setting.tracetape("convert", "-l9", "-o", work / "nine.ttape", work / "run.ttape")
    checks.equal((work / "nine.ttape").read_bytes(), (work / "run.ttape").read_bytes(), "level 9")
    checks.that(not (work / "run.ttape.smaller").exists(), "run.ttape.smaller is left")
    checks.equal((work / "run.ttape").stat().st_mode & 0o777, 0o600, "who may read it")
    quiet = setting.run(words(work, "--then-level", "3", "--quiet"))
    checks.equal((quiet.status, quiet.err), (7, b""), "--quiet")
    checks.equal((work / "run.ttape").read_bytes()[8], 0, "minor version")
    piped = [w if w != work / "run.ttape" else "-"
             for w in words(work, "--then-level", "9", "--call-numbers")]
    done = setting.run(piped)
    (work / "run.ttape").write_bytes(done.out)
    checks.equal(done.out[8], 1, "minor version with --call-numbers, which both levels have")
    is_whole(checks, work, "standard output")
    for option in (("--rotate", "1M"), ("--files",)):
        done = setting.run(words(work, "--then-level", "9", *option))
        checks.that(done.status == 2 and b"--then-level" in done.err, f"{option}: {done}")


def check_threshold(checks, work):
    """Of the literal form, in the recorder: what no event reaches leaves no chains."""
    sizes = {}
    for threshold in ("2", "1000000"):
        done = setting.run(words(work, "--level", "0", "--threshold", threshold))
        checks.equal(done.status, 7, f"--threshold {threshold}: status")
        is_whole(checks, work, f"--threshold {threshold}")
        about = json.loads(setting.tracetape("info", "--json", work / "run.ttape").out)
        sizes[threshold] = about["bytes"]["order"]
    checks.that(sizes["2"] != sizes["1000000"], f"--threshold is not heard: {sizes}")


def check_in_the_way(checks, work):
    there = work / "run.ttape.smaller"
    there.write_text("of somebody else\n")
    done = setting.run(words(work, "--then-level", "9"))
    checks.that(done.status == 7 and b"stays as it was recorded" in done.err, f"a file: {done}")
    is_whole(checks, work, "a file in the way")
    checks.equal(there.read_text(), "of somebody else\n", "a file in the way")
    there.unlink()


def check_interrupt(checks, work):
    """A pipe in the way takes so much of the second trace and no more, so that it is surely being
    written when the recorder is told to end."""
    there = work / "run.ttape.smaller"
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.mkfifo(there)
        with subprocess.Popen([str(w) for w in words(work, "--then-level", "1")],
                              stderr=subprocess.PIPE, start_new_session=True) as recorder:
            with there.open("rb", buffering=0) as pipe:
                checks.that(len(pipe.read(1)) == 1, f"{number}: nothing is written")
                recorder.send_signal(number)
                said = recorder.communicate(timeout=60)[1]
        checks.that(recorder.returncode == 7 and b"stays as it was" in said,
                    f"{number}: {recorder.returncode}, {said}")
        is_whole(checks, work, str(number))
        checks.that(there.is_fifo(), "what was in the way is gone")
        there.unlink()
    checks.equal(sorted(p.name for p in work.iterdir()), ["nine.ttape", "p", "p.c", "run.ttape"],
                 "files")


def main():
    setting.need_verb("record", "convert")
    setting.need_command("gcc")
    checks = setting.Checks("then level")
    with setting.work_dir() as work:
        work = Path(work)
        (work / "p.c").write_text(PROGRAM)
        setting.call(["gcc", "-g", "-O1", "-finstrument-functions", "-o", work / "p",
                      work / "p.c"])
        check_smaller(checks, work)
        check_threshold(checks, work)
        check_in_the_way(checks, work)
        check_interrupt(checks, work)
    return checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
