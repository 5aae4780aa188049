#!/usr/bin/env python3
"""W7: the trace's folder is read-only, deleted while the recorder runs, renamed, or replaced by a
symbolic link to another tree: the program does not notice, and nothing is written outside the
folder that was opened."""
import contextlib
import os
import shutil
from pathlib import Path

import faults
import setting

BUSY_MS = 300


def tree(path):
    return sorted(str(p.relative_to(path)) for p in Path(path).rglob("*"))


def read_only(checks, host, work):
    place = Path(work, "read-only")
    place.mkdir()
    script = f"mount -t tmpfs -o ro none {faults.quoted(place)}"
    outcome = host.run("read-only folder", prefix=faults.private_mounts(script),
                       output=place / "out.ttape")
    host.check_lives(checks, outcome)
    checks.that(outcome.result.said(), "read-only folder: no message")


def changed(checks, host, name, change, elsewhere):
    """`change` happens to the folder while the program runs."""
    folder = host.folder()
    place = folder / "place"
    place.mkdir()
    before = tree(elsewhere)

    def then(process, outcome):
        faults.wait_for_start(process, "p_steady")
        change(place, elsewhere)
    outcome = host.run(name, output=place / "out.ttape", folder=folder, then=then)
    host.check_lives(checks, outcome)
    checks.equal(tree(elsewhere), before, f"{name}: files in the other tree")
    return outcome


def delete(place, _):
    shutil.rmtree(place, ignore_errors=True)


def rename(place, _):
    os.rename(place, place.with_name("moved"))


def link(place, elsewhere):
    os.rename(place, place.with_name("moved"))
    os.symlink(elsewhere, place)


def replace_recording(place, elsewhere):
    """The recorder's own folder is replaced."""
    for path in place.glob("*.recording"):
        with contextlib.suppress(FileNotFoundError):  # it has just come to its end
            os.rename(path, path.with_name("moved"))
            os.symlink(elsewhere, path)


def recover_moved(checks, name, folder):
    """All that was recorded is in the folder that was moved away."""
    moved = folder / "moved"
    found = [p for p in (moved / "out.ttape.recording", moved / "out.ttape") if p.exists()]
    if checks.that(found, f"{name}: nothing in the folder that was moved: {tree(folder)}"):
        outcome = faults.Outcome(name, None, folder, moved / "out.ttape", 0, b"", 0)
        faults.recover(checks, outcome)


def main():
    setting.need_verb("record", "recover")
    checks = setting.Checks("W7")
    with setting.work_dir() as work:
        elsewhere = Path(work, "elsewhere")
        elsewhere.mkdir()
        (elsewhere / "precious").write_text("mine", encoding="ascii")
        host = faults.Host(work, "p_steady.c", [BUSY_MS, 2, 20])
        if os.geteuid() == 0:
            read_only(checks, host, work)
        changed(checks, host, "deleted folder", delete, elsewhere)
        changed(checks, host, "replaced recording folder", replace_recording, elsewhere)
        for name, change in (("renamed folder", rename), ("folder behind a link", link)):
            outcome = changed(checks, host, name, change, elsewhere)
            recover_moved(checks, name, outcome.folder)
        checks.equal((elsewhere / "precious").read_text(encoding="ascii"), "mine", "the other tree")
    checks.verdict()


main()
