#!/usr/bin/env python3
"""W9: a power cut. What the recorder wrote into its folder is replayed from a log of its system
calls; at a moment the power fails: of what was not synced, any sector of 512 bytes may be there or
not, and the shared memory is gone. `recover` then gives a trace that verifies, whose threads'
events are the beginning of what was recorded, with all partitions that the disk has and the journal
knows; where it cannot, the journal's beginning is not there. A recorder syncs only what is
finished: pieces of a rotation, snapshots, the trace; these have all their bytes on the disk before
they have their names, and the names before the journal goes."""
import random
import re
import sys
import time
from pathlib import Path

import failing
import faults
import setting
import traces

SECTOR = 512
KEPT = (0.7, 0.98, 1.0)  # of the sectors that were not synced, by cut
CUTS = 60
LONG = (300, 1500, 7500)  # milliseconds of a program, until there is enough to cut
NOBODY, NOWHERE = "0", "0x0"  # a thread and an address whose definitions are lost
END_FACTS = ("0x1", "0x2")  # addresses of their sites: of a thread, of a process
CALLS = "execve,openat,write,pwrite64,fsync,fdatasync,linkat,renameat2,unlinkat"
NAMES = ("trace.0", "journal", "spill")  # of FILE.recording
CALL = re.compile(r"^(\d+\.\d+) (\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+).*<(\d+\.\d+)>$")
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

    def image(self, path, moment, draw, kept):
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
                if draw.random() < kept:
                    piece = data[start:start + SECTOR]
                    content[offset + start:offset + start + len(piece)] = piece
        return bytes(content)


def calls(folder):
    """(name, words, result) of the recorder's calls, all of its threads, in the order of their
    ends: a descriptor may be somebody else's until then. A log that has a successful execve
    beside the recorder's own is the program's."""
    lines = []
    for log in folder.glob("calls.*"):
        text = log.read_text(encoding="latin-1")
        execs = [m.group(0) for m in re.finditer(r"execve\(.*= 0 <.*>$", text, re.M)]
        if any(b"p_steady" in unescape(e) or b"sh" == unescape(e)[-2:] for e in execs):
            continue
        lines += [match.groups() for match in map(CALL.match, text.splitlines()) if match]
    ends = [(float(begin) + float(took), *rest) for begin, *rest, took in lines]
    for _, name, words, result in sorted(ends):
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


def events_of(path):
    """{thread: [(time, kind, address)]} of a trace, whole or cut off; threads of which nothing is
    known are (NOBODY, stream)."""
    done = setting.tracetape("dump", "--format", "csv", path)
    if done.status not in faults.RECOVERED:
        raise traces.TraceError(f"dump: {done.err.decode(errors='replace')}")
    found = {}
    for line in done.out.decode().splitlines()[1:]:
        stream, tid, time, kind, _, address, _ = line.split(",", 6)
        if kind in ("marker", "leaf") and address in END_FACTS:  # recover writes its own
            continue
        found.setdefault((tid, stream if tid == NOBODY else ""), []).append((time, kind, address))
    return found


class Names:
    """Files of the recorder by inode: their writes, what was synced when, and the names that they
    got."""

    def __init__(self):
        self.inodes, self.fds, self.at = {}, {}, {}  # name: inode; descriptor: inode or folder
        self.bytes, self.clean = {}, {}  # inode: content; whether all of it is synced
        self.linked, self.pending, self.problems = {}, set(), []

    def take(self, name, words, result):
        strings = [bytes.fromhex(text.replace("\\x", "")).decode(errors="replace").rsplit("/")[-1]
                   for text in STRING.findall(words)]
        if name == "openat":
            self.opened(result, strings[0], words)
        elif name in ("write", "pwrite64"):
            self.wrote(int(words.split(",", 1)[0]), unescape(words)[:result],
                       int(words.rsplit(",", 1)[1]) if name == "pwrite64" else None)
        elif name in ("fsync", "fdatasync"):
            self.synced(self.fds.get(int(words)))
        elif name in ("linkat", "renameat2"):
            self.link(strings[0], strings[1])
        elif name == "unlinkat" and strings[0] == "journal" and self.pending:
            self.problems.append(f"the journal goes before {self.pending} are on the disk")

    def opened(self, fd, name, words):
        self.fds[fd] = "folder" if "O_DIRECTORY" in words else self.inodes.get(name)
        if "O_CREAT" in words:
            inode = self.fds[fd] = len(self.bytes)
            self.inodes[name], self.at[fd] = inode, 0
            self.bytes[inode], self.clean[inode] = bytearray(), False

    def wrote(self, fd, data, offset):
        inode = self.fds.get(fd)
        if inode is None or inode == "folder":
            return
        if offset is None:
            offset = self.at[fd]
            self.at[fd] += len(data)
        content = self.bytes[inode]
        content.extend(bytes(max(0, offset + len(data) - len(content))))
        content[offset:offset + len(data)] = data
        self.clean[inode] = False
        if inode in self.linked.values():
            self.problems.append(f"inode {inode} is written after it got its name")

    def synced(self, inode):
        if inode == "folder":
            self.pending.clear()
        elif inode is not None:
            self.clean[inode] = True

    def link(self, old, new):
        if not new.startswith("out."):
            return
        inode = self.inodes[old]
        if not self.clean[inode]:
            self.problems.append(f"'{new}' has its name before its bytes are on the disk")
        self.linked[new] = inode
        if "snapshot" not in new:  # nothing goes in its place
            self.pending.add(new)


def snapshot_soon(process, outcome):
    """Asks for a snapshot while the program runs, which takes a while to begin below strace; it
    ends when there are two pieces of the rotation, too."""
    faults.wait_for_start(process, "p_steady")
    until, has_copy, pieces = time.monotonic() + 60, False, []
    while time.monotonic() < until and process.poll() is None and \
            not (has_copy and len(pieces) >= 2):
        pid = faults.child_named(process, "p_steady")
        has_copy = has_copy or (
            pid is not None and setting.tracetape("control", pid, "snapshot").status == 0)
        pieces = [path for path in outcome.folder.glob("out.*") if path.is_file() and
                  "snapshot" not in path.name]
        time.sleep(0.02)
    faults.end_steady(process)


def logged(host, label, options, then=None):
    folder = host.folder()
    prefix = ["strace", "-ff", "-ttt", "-T", "-xx", "-qq", "-s", "10000000", "-o", folder / "calls",
              "-e", f"trace={CALLS}"]
    # no helper, and no shell: their descriptors would be taken for the recorder's
    options = ["--no-symbols", *options]
    return host.run(label, options, prefix=prefix, folder=folder, then=then,
                    wrapped=False), folder


def check_names(checks, work):
    """What is finished is on the disk, whatever is cut."""
    host = faults.Host(work, "p_steady.c", [200, 2, 20])
    host.args[0] = faults.STEADY_MS
    outcome, folder = logged(host, "rotation", ["--partition-events", "1000", "--rotate", "4K"],
                             snapshot_soon)
    checks.equal(outcome.status, 0, "rotation: the program's status")
    names = Names()
    for call in calls(folder):
        names.take(*call)
    checks.extend(names.problems, "rotation")
    pieces = sorted(name for name in names.linked if "snapshot" not in name)
    print(f"{len(names.linked)} files were given names, {len(pieces)} of the rotation")
    checks.that(len(pieces) >= 2, f"rotation: only {pieces}")
    checks.that(len(names.linked) > len(pieces), "rotation: no snapshot")
    for name, inode in names.linked.items():
        path = folder / name
        checks.that(path.is_file() and path.read_bytes() == bytes(names.bytes[inode]),
                    f"rotation: the log does not tell of '{name}'")
        checks.that(traces.verify(path) is None, f"rotation: '{name}' does not verify")


def main():
    setting.need_verb("record", "recover")
    faults.need_strace()
    checks = setting.Checks("W9")
    seed = int(sys.argv[1]) if sys.argv[1:] else 7
    with setting.work_dir() as work:
        for milliseconds in LONG:
            cuts = check_cuts(checks, work, milliseconds, seed)
            if cuts.are_some():
                break
        checks.that(cuts.are_some(), f"whole partitions in {cuts.kept} cuts, none in "
                    f"{cuts.given_up}")
        check_names(checks, work)
    checks.verdict()


def check_cuts(checks, work, milliseconds, seed):
    """Those of one recording."""
    place = Path(work, str(milliseconds))
    place.mkdir()
    host = faults.Host(place, "p_steady.c", [milliseconds, 2, 20])
    # by this clock a time needs no measurement of the clock, which may be lost with the rest
    outcome, folder = logged(host, "logged", ["--partition-events", "1000", "--clock", "monotonic"])
    checks.equal(outcome.status, 0, "the program's status")
    disk = replay(folder)
    if not checks.that(any(disk.writes.values()), "no write to the trace was seen"):
        checks.verdict()
    cuts = Cuts(checks, place, disk, outcome.trace)
    cuts.run(seed)
    return cuts


class Cuts:
    """Power cuts of one recording."""

    def __init__(self, checks, work, disk, trace):
        self.checks, self.work, self.disk, self.trace = checks, work, disk, trace
        self.whole = events_of(trace)
        self.ends = [p["offset"] + p["bytes"] for p in traces.info(trace)["partition_list"]]
        self.rows = {}
        self.given_up = self.kept = 0

    def run(self, seed):
        draw = random.Random(seed)
        for number in range(CUTS):
            moment, kept = draw.randint(1, self.disk.steps), KEPT[number % len(KEPT)]
            images = {Path(path).name: (self.disk.image(path, moment, draw, kept),
                                        self.disk.image(path, moment, draw, 1.0))
                      for path in self.disk.writes}
            self.one(number, f"power cut after step {moment} of {self.disk.steps}, {kept}", images)
        print(f"{CUTS} power cuts, {self.given_up} with nothing to recover; in {self.kept} there "
              f"were whole partitions")

    def are_some(self):
        """On a busy machine the program may come to little in its time."""
        return self.kept >= CUTS // 6 and self.given_up <= CUTS // 2

    def promised(self, images):
        """Partitions at the beginning of the trace that are there, and of which the journal says so
        up to where it is damaged; None: it holds no checkpoint."""
        (journal, whole), (data, all_data) = images["journal"], images["trace.0"]
        files = failing.journal_files_of(journal[:same(journal, whole)])
        if files is None:
            return None
        there = same(data, all_data)
        return min(files.get(0, 0), sum(end <= there for end in self.ends))

    def rows_before(self, count):
        """What the first partitions hold."""
        if count not in self.rows:
            path = self.work / f"first.{count}.ttape"
            path.write_bytes(self.trace.read_bytes()[:self.ends[count - 1]])
            self.rows[count] = events_of(path)
        return self.rows[count]

    def one(self, number, label, images):
        checks = self.checks
        remains, target = self.work / f"cut.{number}.ttape.recording", self.work / f"{number}.ttape"
        remains.mkdir()
        for name, (image, _) in images.items():
            (remains / name).write_bytes(image)
        sure = self.promised(images)
        done = setting.tracetape("recover", remains, "-o", target)
        if done.status == faults.NOT_RECORDED:  # the journal's beginning is not there
            checks.that(done.said() and not target.exists(), f"{label}: gives up without a word")
            checks.that(sure is None, f"{label}: gives up {sure} partitions", done.err)
            self.given_up += 1
            return
        if not checks.that(done.status in faults.RECOVERED, f"{label}: recover {done.status}",
                           done.err.decode(errors="replace")):
            return
        problem = traces.verify(target)
        if not checks.that(problem is None, f"{label}: {problem}"):
            return
        found = events_of(target)
        check_order(checks, label, found, self.whole, done.err.decode(errors="replace"))
        if sure:
            self.kept += 1
            for thread, events in self.rows_before(sure).items():
                checks.that(found.get(thread, [])[:len(events)] == events,
                            f"{label}: thread {thread} has not all of {sure} partitions")


def same(one, two):
    """Bytes up to the first that differs."""
    return next((i for i, (a, b) in enumerate(zip(one, two)) if a != b), min(len(one), len(two)))


def bare(event):
    """Without its name: a marker that has lost it is a leaf."""
    return event[0], "leaf" if event[1] == "marker" else event[1]


def thread_like(events, whole):
    """Whose these events are."""
    known = [bare(event) for event in events if event[1] not in ("gap", "open")]
    return next((thread for thread, its in whole.items()
                 if known and known[0] in [bare(event) for event in its]), None)


def check_order(checks, label, found, whole, said):
    """Nothing that was not recorded, nothing out of order; where something is missing, a gap says
    so. Names of threads and functions may be missing where recover says that definitions are."""
    may_lack = "definitions are lost" in said
    for thread, events in found.items():
        its = thread_like(events, whole) if thread[0] == NOBODY and may_lack else thread
        places = {}
        for i, event in enumerate(whole.get(its, [])):
            places.setdefault(event, []).append(i)
            if may_lack:
                places.setdefault((*bare(event), NOWHERE), []).append(i)
        at, may_jump = 0, False
        for event in events:
            if event[1] in ("gap", "open"):
                may_jump = True
                continue
            if may_lack and event[1:] == ("leaf", NOWHERE) and event is events[-1]:
                continue  # the fact of its end, without its name
            next_at = next((i for i in places.get(event, []) if i >= at), -1)
            if not checks.that(next_at == at or (may_jump and next_at > at),
                               f"{label}: thread {thread} did not do {event} as number {at}", said):
                break
            at, may_jump = next_at + 1, False


main()
