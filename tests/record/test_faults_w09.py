#!/usr/bin/env python3
"""W9: a power cut. What the recorder wrote into its folder is replayed from a log of its system
calls; at a moment the power fails: of what was not synced, any sector of 512 bytes may be there or
not, and the shared memory is gone. `recover` then gives a trace that verifies, whose threads'
events are the beginning of what was recorded; where it cannot, it says so."""
import random
import re
from pathlib import Path

import faults
import kills
import setting
import traces

SECTOR = 512
CUTS = 60
NAMES = ("trace.0", "journal", "spill")  # of FILE.recording
CALL = re.compile(r"^(\d+\.\d+) (\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+)")
STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


class Disk:
    """The recorder's files as its calls made them: per file its writes in order, and what of them
    was synced."""

    def __init__(self):
        self.paths, self.at, self.writes, self.steps = {}, {}, {}, 0

    def opened(self, fd, path):
        if Path(path).name in NAMES:
            self.paths[fd], self.at[fd] = path, 0
            self.writes.setdefault(path, [])

    def wrote(self, fd, data, offset=None):
        path = self.paths.get(fd)
        if path is None:
            return
        if offset is None:
            offset = self.at[fd]
            self.at[fd] += len(data)
        self.steps += 1
        self.writes[path].append([self.steps, offset, data, None])

    def synced(self, fd):
        self.steps += 1
        for write in self.writes.get(self.paths.get(fd), ()):
            write[3] = write[3] or self.steps

    def image(self, path, moment, draw):
        """What a power cut after step `moment` may leave of a file."""
        content = bytearray()
        for step, offset, data, sync in self.writes[path]:
            if step > moment:
                break
            end = offset + len(data)
            content.extend(bytes(max(0, end - len(content))))
            if sync is not None and sync <= moment:
                content[offset:end] = data
                continue
            for start in range(0, len(data), SECTOR):
                if draw.random() < 0.7:
                    piece = data[start:start + SECTOR]
                    content[offset + start:offset + start + len(piece)] = piece
        return bytes(content)


def calls(folder):
    """(name, words, result) of the recorder's calls, all of its threads, in the order of their
    times. A log that has a successful execve beside the recorder's own is the program's."""
    lines = []
    for log in folder.glob("calls.*"):
        text = log.read_text(encoding="latin-1")
        execs = [m.group(0) for m in re.finditer(r"execve\(.*= 0$", text, re.M)]
        if any(b"p_steady" in unescape(e) or b"sh" == unescape(e)[-2:] for e in execs):
            continue
        lines += [match.groups() for match in map(CALL.match, text.splitlines()) if match]
    for _, name, words, result in sorted(lines, key=lambda groups: float(groups[0])):
        if int(result, 0) >= 0:
            yield name, words, int(result, 0)


def unescape(words):
    text = STRING.search(words)
    return bytes.fromhex(text.group(1).replace("\\x", "")) if text else b""


def replay(folder):
    disk = Disk()
    for name, words, result in calls(folder):
        if name == "openat":
            disk.opened(result, unescape(words).decode(errors="replace"))
        elif name in ("write", "pwrite64"):
            fd = int(words.split(",", 1)[0])
            offset = int(words.rsplit(",", 1)[1]) if name == "pwrite64" else None
            disk.wrote(fd, unescape(words)[:result], offset)
        elif name in ("fsync", "fdatasync"):
            disk.synced(int(words))
    return disk


def sequences(path):
    found, _ = kills.read_streams(path)
    return found


def main():
    setting.need_verb("record", "recover")
    faults.need_strace()
    checks = setting.Checks("W9")
    with setting.work_dir() as work:
        host = faults.Host(work, "p_steady.c", [80, 2, 20])
        folder = host.folder()
        prefix = ["strace", "-ff", "-ttt", "-xx", "-qq", "-s", "10000000", "-o", folder / "calls",
                  "-e", "trace=execve,openat,write,pwrite64,fsync,fdatasync"]
        options = ["--partition-events", "1000"]
        outcome = host.run("logged", options, prefix=prefix, folder=folder)
        checks.equal(outcome.status, 0, "the program's status")
        whole, disk = sequences(outcome.trace), replay(folder)
        written = [path for path, writes in disk.writes.items() if writes]
        if not checks.that(written, "no write to the trace was seen"):
            checks.verdict()
        check_cuts(checks, Path(work), disk, whole)
    checks.verdict()


def check_cuts(checks, work, disk, whole):
    draw, given_up = random.Random(7), 0
    for number in range(CUTS):
        moment = draw.randint(1, disk.steps)
        remains = work / f"cut.{number}.ttape.recording"
        remains.mkdir()
        for path in disk.writes:
            (remains / Path(path).name).write_bytes(disk.image(path, moment, draw))
        label = f"power cut after step {moment} of {disk.steps}"
        target = work / f"cut.{number}.recovered"
        done = setting.tracetape("recover", remains, "-o", target)
        if done.status == faults.NOT_RECORDED:  # the journal's beginning is not there
            checks.that(done.said() and not target.exists(), f"{label}: gives up without a word")
            given_up += 1
            continue
        if not checks.that(done.status in faults.RECOVERED, f"{label}: recover {done.status}",
                           done.err.decode(errors="replace")):
            continue
        problem = traces.verify(target)
        if checks.that(problem is None, f"{label}: {problem}"):
            check_prefix(checks, label, sequences(target), whole)
    print(f"{CUTS} power cuts, {given_up} of them with nothing to recover")


def check_prefix(checks, label, found, whole):
    """Damage may cut pieces out of the middle: then a gap says so, and what is there before it is
    the beginning."""
    for name, events in found.items():
        cut = next((i for i, event in enumerate(events) if event[0] == "gap"), len(events))
        checks.that(events[:cut] == whole.get(name, [])[:cut],
                    f"{label}: thread {name} did not do what the first {cut} events say")


main()
