"""R16: `recover` is killed at each of its own writing calls: before it, after it, in the middle.
Its input is as it was, nothing half-written has the output's name, what is left has the documented
one, and the next `recover` gives all that an undisturbed one gives. Of a damaged trace and of a
recording's folder, with and without --clean. For test_recover_killed.py and its slow form."""
import os
import re
import shutil
from pathlib import Path

import faults
import setting
import traces

WRITERS = ("write", "pwrite", "writev", "rename", "renameat", "renameat2", "link", "linkat",
           "unlink", "unlinkat", "rmdir", "fsync", "fdatasync", "ftruncate", "open", "openat",
           "mmap")
WAYS = {"write": ("kill", "after", "torn"), "pwrite": ("kill", "after", "torn")}
LEFT_OVER = re.compile(r"out\.ttape\.\d+-\d+\.tmp")
NOTHING_LEFT = b"nothing is left to recover"


class Input:
    """What is recovered, as it was: a trace, or a folder and the arena that its journal names."""

    def __init__(self, path, clean=False):
        self.path, self.clean = path, clean
        self.label = path.name + (" --clean" if clean else "")
        self.saved = path.with_name(f"saved-{path.name}")
        if path.is_dir():
            journal = (path / "journal").read_bytes()
            name = re.search(rb"/dev/shm/tracetape-[^/]{6}/arena", journal)
            self.arena = Path(name.group().decode()) if name else None
        else:
            self.arena = None
        if not self.saved.exists():
            self.copy(path, self.saved)
            if self.arena:
                self.save_arena()

    @staticmethod
    def copy(source, target):
        """With its holes: an arena is a file of 512 MiB of which 4 are there."""
        setting.call(["cp", "-a", "--sparse=always", source, target])

    def save_arena(self):
        """From where it is: another test's `record` may have moved it into the folder. From then on
        this process counts as its recorder, so that it stays where it is put."""
        saved = self.saved.with_suffix(".arena")
        saved.mkdir(mode=0o700)
        moved = self.path / self.arena.parent.name
        while not (saved / "arena").exists():
            for place in (self.arena, moved / "arena"):
                if setting.run(["cp", "-a", "--sparse=always", place, saved]).status == 0:
                    break
        with open(saved / "arena", "r+b") as file:
            file.seek(28)  # recorder/arena/arena.h
            file.write(os.getpid().to_bytes(4, "little"))
        shutil.rmtree(moved, ignore_errors=True)
        shutil.rmtree(self.saved / moved.name, ignore_errors=True)

    def restore(self):
        if self.path.is_dir():
            shutil.rmtree(self.path)
        if self.arena:
            shutil.rmtree(self.arena.parent, ignore_errors=True)
            self.copy(self.saved.with_suffix(".arena"), self.arena.parent)
        self.copy(self.saved, self.path)

    def forget(self):
        if self.arena:
            shutil.rmtree(self.arena.parent, ignore_errors=True)

    @staticmethod
    def read(path):
        return {p.name: p.read_bytes() for p in ([path] if path.is_file() else path.iterdir())
                if p.is_file()}

    def is_unchanged(self):
        if not self.path.exists():
            return False
        was, now = self.read(self.saved), self.read(self.path)
        return sorted(was.values()) == sorted(now.values())

    def recover(self, target, env=None):
        words = ["recover", self.path, "-o", target, "--no-symbols"]
        words = words if self.path.is_dir() or self.saved.is_dir() else words[:-1]
        return setting.tracetape(*words, *(["--clean"] if self.clean else []), env=env)


def count_calls(work, given):
    """({function: how often it is called}, the bytes of the output, the status)."""
    log, target = work / "calls", work / "whole.ttape"
    log.unlink(missing_ok=True)
    target.unlink(missing_ok=True)
    given.restore()
    done = given.recover(target, setting.environment(**faults.disturbed(log=log)))
    counts = {}
    for line in log.read_text(encoding="ascii").splitlines():
        name, number = line.split()
        counts[name] = max(counts.get(name, 0), int(number))
    return counts, target.read_bytes(), done.status


def check_again(checks, label, given, target, whole, status):
    """The next one, unless the first was only killed while it cleaned up behind itself."""
    if target.exists() and given.clean and not given.path.exists():
        return
    again = target.with_name("again.ttape")
    done = given.recover(again)
    if target.exists() and given.clean:  # what is left of the folder, and the output is there
        fine = done.status in faults.RECOVERED or NOTHING_LEFT in done.err
        checks.that(fine, f"{label}: again ended with {done.status}", done.err.decode())
        return
    checks.equal(done.status, status, f"{label}: again")
    checks.that(again.is_file() and again.read_bytes() == whole,
                f"{label}: recovering again gives something else")


def check_kill(checks, work, given, plan, whole, status):
    label = f"{given.label}, {plan}"
    folder = work / "out"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    target = folder / "out.ttape"
    given.restore()
    done = given.recover(target, setting.environment(**faults.disturbed(plan)))
    checks.equal(done.status, setting.DIED + 9, f"{label}: it was killed")
    if target.exists():
        checks.that(target.read_bytes() == whole, f"{label}: something else has the final name")
        checks.that(traces.verify(target) is None, f"{label}: the output does not verify")
    if not given.clean or not target.exists():
        checks.that(given.is_unchanged(), f"{label}: the input was changed")
    for path in folder.iterdir():
        checks.that(path == target or LEFT_OVER.fullmatch(path.name),
                    f"{label}: '{path.name}' is left")
    check_again(checks, label, given, target, whole, status)


def check_input(checks, work, given, most):
    counts, whole, status = count_calls(work, given)
    tried = 0
    for name in WRITERS:
        for number in faults.spread(counts.get(name, 0), most or counts.get(name, 0)):
            for how in WAYS.get(name, ("kill", "after") if name in ("link", "rename") else
                                ("kill",)):
                check_kill(checks, work, given, f"{name}:{how}:{number}", whole, status)
                tried += 1
    checks.that(tried > 8, f"{given.label}: only {tried} kills: {counts}")
    print(f"{given.label}: {tried} kills")


def make_recording(work, checks):
    """Killed near its end; how many writes a run has depends on what the program comes to."""
    host = faults.Host(work, "p_steady.c", [60, 2, 200])
    number, remains = faults.calls_of_recorder(host).get("write", 0) - 3, work / "run.recording"
    while True:
        outcome = host.run("killed", env=faults.disturbed(f"write:kill:{max(number, 2)}"))
        if number <= 2 or (outcome.remains / "journal").is_file():
            break
        number = number * 3 // 4
    checks.that((outcome.remains / "journal").is_file(), "a recording is left")
    outcome.remains.rename(remains)
    return remains


def damaged_trace(work, lines):
    """Of events as text, in partitions of a thousand; a bit in its middle is another."""
    text, trace = work / "calls.txt", work / "bad.ttape"
    text.write_text("\n".join([*lines, ""]), encoding="ascii")
    done = setting.tracetape("convert", text, "-o", trace, "--partition-events", "1000")
    if done.status:
        raise RuntimeError(done.err.decode())
    data = bytearray(trace.read_bytes())
    data[len(data) // 2] ^= 1
    trace.write_bytes(data)
    return trace


def make_trace(work):
    lines = ["0 1 enter main"]
    for i in range(1, 3001):
        lines += [f"{i * 10} 1 enter f{i % 7}", f"{i * 10 + 5} 1 exit"]
    return damaged_trace(work, [*lines, "30010 1 exit"])


def main(most=None):
    """At up to so many calls of each function; None: at all."""
    setting.need_verb("record", "recover", "convert", "verify")
    setting.go_apart()
    checks = setting.Checks("R16, recover is killed")
    with setting.work_dir() as name:
        work = Path(name)
        remains = make_recording(work, checks)
        inputs = [Input(make_trace(work)), Input(remains), Input(remains, clean=True)]
        try:
            for given in inputs:
                check_input(checks, work, given, most)
        finally:
            inputs[-1].forget()
    checks.verdict()

