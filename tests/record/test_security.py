#!/usr/bin/env python3
"""Files of a recording belong to their owner only, and are made, never found: no file is followed,
truncated or taken over that was there before; no socket listens."""
import contextlib
import os
import stat
from pathlib import Path

import faults
import setting


def listening(pid):
    """Inodes of the sockets that a process listens on."""
    inodes = set()
    for name, state, value, inode in (("tcp", 3, "0A", 9), ("tcp6", 3, "0A", 9),
                                      ("unix", 3, "00010000", 6)):
        for line in Path(f"/proc/{pid}/net/{name}").read_text(encoding="ascii",
                                                              errors="replace").splitlines()[1:]:
            words = line.split()
            if words[state] == value:
                inodes.add(words[inode])
    own = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            own.add(os.readlink(fd))
    return {inode for inode in inodes if f"socket:[{inode}]" in own}


def modes(checks, host):
    """While it records: everything that the recorder made is for its owner only."""
    seen = {}

    def then(process, outcome):
        faults.wait_for_start(process, "p_steady")
        for path in [outcome.trace, outcome.remains, *outcome.folder.rglob("*.recording/*")]:
            with contextlib.suppress(FileNotFoundError):
                seen[path.name] = stat.S_IMODE(path.lstat().st_mode)
        seen["listening"] = listening(process.pid)
        faults.end_steady(process)
    os.umask(0)
    outcome = host.run("modes", then=then)
    os.umask(0o022)
    host.check_lives(checks, outcome, may_refuse=False)
    checks.equal(seen.pop("listening"), set(), "sockets that the recorder listens on")
    checks.that(seen, "nothing of the recorder was seen while it ran")
    for name, mode in seen.items():
        checks.equal(oct(mode & 0o077), "0o0", f"rights of others on '{name}'")
    checks.equal(oct(outcome.trace.stat().st_mode & 0o777), "0o600", "the trace's mode")


def refused(checks, host, name, prepare, keep):
    """Something is where the trace would go: it stays, and the recorder says so. `keep` reads
    it."""
    folder = host.folder()
    prepare(folder)
    before = keep(folder)
    outcome = host.run(name, folder=folder)
    checks.that(outcome.result.status not in (0, faults.LOSS), f"{name}: not refused")
    checks.that(outcome.result.said(), f"{name}: no message")
    checks.equal(keep(folder), before, f"{name}: what was there")


def main():
    setting.need_verb("record")
    checks = setting.Checks("security")
    with setting.work_dir() as work:
        host = faults.Host(work, "p_steady.c", [300, 2, 100])
        host.args[0] = faults.STEADY_MS
        modes(checks, host)
        quick = faults.Host(work, "p_calls.c", [2])
        victim = Path(work, "victim")
        victim.write_text("precious", encoding="ascii")
        refused(checks, quick, "a file is there",
                lambda f: (f / "out.ttape").write_text("old", encoding="ascii"),
                lambda f: (f / "out.ttape").read_text(encoding="ascii"))
        refused(checks, quick, "a link is there", lambda f: (f / "out.ttape").symlink_to(victim),
                lambda f: victim.read_text(encoding="ascii"))
        refused(checks, quick, "a link to nothing is there",
                lambda f: (f / "out.ttape").symlink_to(f / "new"), lambda f: (f / "new").exists())
        for kind in ("folder", "link"):
            def prepare(folder, kind=kind):
                place = folder / "out.ttape.recording"
                other = folder / "other"
                other.mkdir()
                (other / "precious").write_text("mine", encoding="ascii")
                if kind == "folder":
                    place.mkdir()
                    (place / "arena").write_text("theirs", encoding="ascii")
                else:
                    place.symlink_to(other)

            def keep(folder):
                return sorted((str(p.relative_to(folder)), p.read_text(encoding="ascii"))
                              for p in folder.rglob("*") if p.is_file()
                              and p.name in ("precious", "arena"))
            refused(checks, quick, f"a {kind} is at the recording's place", prepare, keep)
        forced(checks, quick, victim)
    checks.verdict()


def forced(checks, host, victim):
    """--force replaces a file by a new one, not its content: links keep what they had."""
    folder = host.folder()
    (folder / "out.ttape").symlink_to(victim)
    outcome = host.run("forced", ["--force"], folder=folder)
    host.check_lives(checks, outcome)
    checks.equal(victim.read_text(encoding="ascii"), "precious", "--force: the link's target")
    checks.that((folder / "out.ttape").is_file(), "--force: no trace")


main()
