#!/usr/bin/env python3
"""What a killed recorder leaves in shared memory: `record` moves it into the folder that needs it,
and `recover` finds all of it there; what nobody needs is removed; what a program uses stays."""
import os
import shutil
import signal
import struct
import sys
import time
from pathlib import Path

import faults
import setting
import traces

SHARED = Path("/dev/shm")
OTHER = ["true"]
STATES, CAPACITY, HEAD, BLOCK = 4096, 16384, 96 << 10, 32 << 10  # recorder/arena/arena.h


def head_of(arena):
    """All but its blocks, for which half a gigabyte of room is kept."""
    with open(arena, "rb") as file:
        return file.read(HEAD)


def arena_of(process):
    """The arena of that recorder."""
    for path in SHARED.glob("tracetape-*/arena"):
        try:
            if int.from_bytes(head_of(path)[28:32], "little") == process.pid:
                return path
        except OSError:
            continue
    return None


def used_blocks(arena):
    states = struct.unpack_from(f"<{CAPACITY}I", head_of(arena), STATES)
    return sum(state > 1 for state in states)


def record_other(work):
    """Something else is recorded; what was said."""
    output = Path(work, "other.ttape")
    output.unlink(missing_ok=True)
    done = setting.tracetape("record", "-o", output, "--", *OTHER)
    return done.err.decode(errors="replace")


def kill(checks, host, label, meanwhile=None):
    """(outcome, arena, folder) of a recorder that was killed; the program as well, before it or,
    with something to do `meanwhile`, given the arena, behind that."""
    found = []

    def then(process, outcome):
        faults.wait_for_start(process, "p_steady")
        pid = faults.child_named(process, "p_steady")
        found.append(arena_of(process))
        wait_until(lambda: found[0] is None or used_blocks(found[0]) > 1)  # it has called
        if meanwhile is None:
            process.send_signal(signal.SIGSTOP)  # or it may end well, seeing the program's end
            os.kill(pid, signal.SIGKILL)
        process.kill()
        if meanwhile is not None:
            wait_until(lambda: is_over(process.pid))
            meanwhile(found[0])
            checks.that(not is_over(pid), f"{label}: the program has not lived on")
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: is_over(pid))
    outcome = host.run(label, ["--buffer", "8M"], then=then, wrapped=False)
    checks.that(found and found[0] and found[0].exists(), f"{label}: no arena is left")
    return outcome, found[0], outcome.remains


def is_over(pid):
    try:
        return not Path(f"/proc/{pid}/maps").read_bytes()
    except OSError:
        return True


def wait_until(what, seconds=60):
    until = time.monotonic() + seconds
    while not what() and time.monotonic() < until:
        time.sleep(0.02)
    return what()


def recovered(checks, folder, label):
    target = folder.with_suffix(".recovered")
    done = setting.tracetape("recover", folder, "-o", target)
    checks.that(b"is gone" not in done.err, f"{label}: something is missing", done.err)
    if not checks.that(target.is_file(), f"{label}: not recovered", done.err):
        return None
    checks.that(traces.verify(target) is None, f"{label}: {traces.verify(target)}")
    return traces.call_counts(target)["enter"]


def go_apart():
    """Into a mount namespace whose shared memory no other test's `record` clears."""
    if os.environ.get("TTAPE_APART"):
        return
    words = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
    if setting.run([*words, "true"]).status != 0:
        setting.skip("no mount namespace of its own")
    script = 'mount -t tmpfs none /dev/shm && TTAPE_APART=1 exec "$@"'
    os.execvp("unshare", [*words, "sh", "-c", script, "sh", sys.executable, *sys.argv])


def begin_arena(name, size, age):
    """What a recorder leaves that was killed while it made its arena; size None: not even begun."""
    place = SHARED / name
    place.mkdir(mode=0o700)
    then = time.time() - age
    if size is not None:
        (place / "arena").write_bytes(bytes(size))
        os.utime(place / "arena", (then, then))
    os.utime(place, (then, then))
    return place


def check_begun(checks, work):
    """Those that may be in the making stay, and folders that no recorder made."""
    old = [begin_arena(f"tracetape-old00{at}", size, 120)
           for at, size in enumerate((None, 0, HEAD + BLOCK))]
    new = [begin_arena(f"tracetape-new00{at}", size, 0)
           for at, size in enumerate((None, 0, HEAD + BLOCK))]
    new.append(begin_arena("tracetape-mine", None, 120))
    said = record_other(work)
    checks.equal([p.name for p in old if p.exists()], [], "begun a while ago")
    checks.equal([p.name for p in new if not p.exists()], [], "removed too early")
    checks.equal(said.count("arena"), 0, "lines about what was only begun")
    for place in new:
        shutil.rmtree(place)


def main():
    setting.need_verb("record", "recover")
    go_apart()
    checks = setting.Checks("left arenas")
    with setting.work_dir() as work:
        check_begun(checks, work)
        host = faults.Host(work, "p_steady.c", [100, 2, 50])
        host.args[0] = faults.STEADY_MS  # until it is killed

        _, arena, folder = kill(checks, host, "both killed")
        twin = folder.with_name("twin.recording")
        shutil.copytree(folder, twin)
        before = setting.tracetape("recover", twin, "-o", Path(work, "twin"))
        checks.that(before.status in (0, 3), "the twin is not recovered", before.err)
        wanted = traces.call_counts(Path(work, "twin"))["enter"]
        said = record_other(work)
        checks.that(not arena.exists() and not arena.parent.exists(), "the arena is still there")
        checks.that(str(arena) in said and folder.name in said, "nothing was said", said)
        moved = folder / arena.parent.name / "arena"
        checks.that(moved.is_file(), "it is not in the folder")
        checks.equal(recovered(checks, folder, "moved"), wanted, "calls that were recovered")
        checks.equal(record_other(work).count("arena"), 0, "it is said once")
        done = setting.tracetape("recover", "--clean", folder, "-f", "-o",
                                 folder.with_suffix(".recovered"))
        checks.that(not folder.exists(), "--clean leaves it", done.err)

        def other_while_used(arena):
            record_other(work)
            checks.that(arena.exists(), "an arena that a program maps was removed")
        _, arena, folder = kill(checks, host, "recorder killed", other_while_used)
        renamed = folder.with_name("renamed.recording")
        folder.rename(renamed)
        record_other(work)
        checks.that(not arena.exists(), "an arena of a renamed folder stays")
        checks.that(bool(recovered(checks, renamed, "renamed")), "renamed: nothing recovered")

        _, arena, folder = kill(checks, host, "folder is finished with")
        (folder / "journal").unlink()
        said = record_other(work)
        checks.that(not arena.exists(), "an arena that nobody needs stays")
        checks.equal(said.count("arena"), 0, "lines about what nobody needs")

        _, arena, folder = kill(checks, host, "folder is elsewhere")
        shutil.move(folder, Path(work, "elsewhere"))
        record_other(work)
        if checks.that(arena.exists(), "an arena whose folder was not found is gone on one day"):
            checks.that(arena.stat().st_blocks * 512 <= HEAD + used_blocks(arena) * BLOCK,
                        "it keeps the memory of free blocks")
        os.utime(arena, (time.time() - 2 * 86400,) * 2)
        record_other(work)
        checks.that(not arena.exists(), "an arena whose folder was not found stays for ever")
    checks.verdict()


main()
