#!/usr/bin/env python3
"""R16: the disk that `recover` writes to is full, at its first page and further on: status 4, and
why; nothing half-written is left, the input is as it was (with --clean too), and the next recovery,
where there is room, gives all of it. Of a damaged trace and of a recording's folder. Nor is the
input, or a file of the folder, replaced by the output under any of its names."""
import os
import random
import shutil
from pathlib import Path

import faults
import recover_kills
import setting

PAGE = 4096
FILLER = "filler"  # takes a page: a file system has at least one


def make_trace(work):
    """Of several pages, for its values are at random; damaged in the middle."""
    values = random.Random(16)
    lines = [f"{i} 1 enter f {values.getrandbits(64)}\n{i} 1 exit" for i in range(4000)]
    return recover_kills.damaged_trace(work, lines)


def recover_into(given, place, kept, pages):
    """On a file system with so many free pages; what is on it at the end is copied out."""
    full = faults.quoted(place / FILLER)
    script = (f"mount -t tmpfs -o size={(pages + 1) * PAGE} none {faults.quoted(place)}; "
              f"head -c {PAGE} /dev/zero >{full}; "
              f'set +e; "$@"; s=$?; cp -a {faults.quoted(place)}/. {faults.quoted(kept)}/; '
              "exit $s; :")
    words = [setting.COMMAND, "recover", given.path, "-o", place / "out.ttape"]
    words += ["--no-symbols"] if given.saved.is_dir() else []
    words += ["--clean"] if given.clean else []
    return setting.run(faults.private_mounts(script, *words))


def check_full(checks, work, given):
    """From one page on, up to where it fits."""
    whole_trace = work / "whole.ttape"
    whole_trace.unlink(missing_ok=True)
    given.restore()
    status = given.recover(whole_trace).status
    whole, place, kept = whole_trace.read_bytes(), work / "small", work / "kept"
    place.mkdir(exist_ok=True)
    fits = -(-len(whole) // PAGE)
    checks.that(fits > 1 or given.saved.is_dir(), f"{given.label}: has only {len(whole)} bytes")
    for pages in sorted({0, fits // 2, fits - 1, fits + 1}):
        label = f"{given.label}, {pages} of {fits} pages"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        given.restore()
        done = recover_into(given, place, kept, pages)
        left = {path.name: path.read_bytes() for path in kept.iterdir() if path.name != FILLER}
        if pages > fits:
            checks.equal(done.status, status, f"{label}: there is room")
            checks.equal(left, {"out.ttape": whole}, f"{label}: the same trace")
            continue
        checks.equal(done.status, 4, f"{label}: it cannot be done")
        checks.that(b"No space left on device" in done.err, f"{label}: says why", done.err)
        checks.equal(left, {}, f"{label}: nothing is left")
        checks.that(given.is_unchanged(), f"{label}: the input was changed")
        again = work / "again.ttape"
        again.unlink(missing_ok=True)
        checks.equal(given.recover(again).status, status, f"{label}: again")
        checks.that(again.read_bytes() == whole, f"{label}: recovering again gives something else")


def check_names(checks, work, given):
    """An output that is the input, or one of its files, by another name."""
    given.restore()
    files = [given.path] if given.path.is_file() else \
        [p for p in given.path.iterdir() if p.is_file()]
    for path in files:
        for make in (os.link, os.symlink):
            other = work / "other.ttape"
            other.unlink(missing_ok=True)
            make(path, other)
            done = setting.tracetape("recover", given.path, "-o", other, "--force")
            checks.equal(done.status, 4, f"{given.label}: '{path.name}' by {make.__name__}")
            checks.that(given.is_unchanged(), f"{given.label}: '{path.name}' was changed")
            other.unlink(missing_ok=True)
        done = setting.tracetape("recover", given.path, "-o", path, "--force")
        checks.equal(done.status, 4, f"{given.label}: '{path.name}' itself")
        checks.that(given.is_unchanged(), f"{given.label}: '{path.name}' was changed")


def main():
    setting.need_verb("record", "recover", "convert")
    faults.need_mounts()
    setting.go_apart()
    checks = setting.Checks("R16, recover on a full disk")
    with setting.work_dir() as name:
        work = Path(name)
        remains = recover_kills.make_recording(work, checks)
        inputs = [recover_kills.Input(make_trace(work)),
                  recover_kills.Input(remains), recover_kills.Input(remains, clean=True)]
        try:
            for given in inputs:
                check_full(checks, work, given)
            for given in inputs[:2]:
                check_names(checks, work, given)
        finally:
            inputs[-1].forget()
    checks.verdict()


main()
