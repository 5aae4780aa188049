#!/usr/bin/env python3
"""`record --files` of many processes: twelve busy ones in a control group that is small, and more
than there may be open files. Nothing is killed, each process has its file, and what is lost is
said."""
import os
import re
import resource
import shutil
from pathlib import Path

import groups
import setting
import traces

LOST = 3  # the command's status
CALLS = setting.cut(1_000_000, 150_000)  # two events each
GROUPS = setting.cut([(256, ()), (256, ("--block",)), (256, ("--jobs", "8")), (64, ())], [(64, ())])
BUSY = 12
DESCRIPTORS = 48
ENDED = setting.cut(500, 80)


def record(work, program, words, options=(), before=None):
    """(result, files) of one recording."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    words = setting.record_words(work / "run.ttape", [program, *words], "--files", *options,
                                 quiet=False)
    result = setting.run(words, timeout=600, cwd=work, before=before)
    return result, sorted(work.glob("run.*.ttape"))


def check(checks, label, result, files, processes, calls):
    said = result.err.decode(errors="replace")
    if not checks.that(result.status in (0, LOST), f"{label}: status {result.status}; {said}"):
        return
    abouts = [traces.info(file) for file in files]
    kept, lost = sum(a["events"] for a in abouts), max(traces.lost_and_told(a) for a in abouts)
    checks.equal(result.status, LOST if lost else 0, f"{label}: status; {lost} events lost")
    checks.that(not any(traces.verify(file) for file in files), f"{label}: a file does not verify")
    facts = kept - 2 * processes * calls  # of ends
    checks.that(lost or 0 <= facts <= 2 * len(files), f"{label}: {kept} events kept, none lost")
    checks.that(lost or len(files) == processes + 1, f"{label}: {len(files)} files")
    first = re.search(r"see tracetape (?:report|last) '([^']*)'", said)
    checks.that(first and Path(first[1]).exists(), f"{label}: a file that is there", said)
    print(f"{label}: {len(files)} files, {kept} events, {lost} lost", flush=True)


def check_groups(checks, work, program):
    for mebibytes, options in GROUPS:
        with groups.small(mebibytes) as group:
            if group is None:
                print("left out: no control groups with a limit of memory here", flush=True)
                return
            label = " ".join([f"{BUSY} processes in {mebibytes} MiB", *options])
            result, files = record(work, program, [BUSY, CALLS], options, group.enter)
            check(checks, label, result, files, BUSY, CALLS)
            checks.equal(group.kill_count(), 0, f"{label}: processes that were killed")


def check_descriptors(checks, work, program):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    result, files = record(work, program, [ENDED, 10, "one"], before=limit)
    check(checks, f"{ENDED} processes, {DESCRIPTORS} descriptors", result, files, ENDED, 10)


def main():
    setting.need_verb("record")
    checks = setting.Checks("many files")
    with setting.work_dir() as work:
        program = setting.build("p_many.c", log=False)
        check_descriptors(checks, Path(work, "runs"), program)
        if os.geteuid() == 0:
            check_groups(checks, Path(work, "runs"), program)
    checks.verdict()


main()
