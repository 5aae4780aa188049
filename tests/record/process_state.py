"""What must be as before in a process that was attached to, by /proc alone: its code is its files',
no page of that is its own, maps, signals and descriptors are as they were. Its children's too."""
import os
import re
import time
from pathlib import Path

AGENT = b"ttpagent"  # recorder/arena/agent_layout.h
LOOKS = 100  # while a program changes its signal masks itself
GONE = (FileNotFoundError, ProcessLookupError)


def read(pid, name):
    return Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8", errors="replace")


def mappings(pid):
    """Each as (low, high, permissions, offset, path)."""
    for line in read(pid, "maps").splitlines():
        row = line.split(maxsplit=5)
        low, high = (int(word, 16) for word in row[0].split("-"))
        yield low, high, row[1], int(row[2], 16), row[5] if len(row) > 5 else ""


def changed_code(pid):
    """The files whose executable bytes in memory are others than in the file."""
    changed = []
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for low, high, allowed, offset, path in mappings(pid):
            if "x" not in allowed or "w" in allowed or not os.path.isfile(path):
                continue
            memory.seek(low)
            there = memory.read(high - low)
            with open(path, "rb") as file:
                file.seek(offset)
                here = file.read(high - low)
            if there[:len(here)] != here:
                changed.append(path)
    return changed


def own_code_kib(pid):
    """How much of its files' code is a copy of its own."""
    found = 0
    for part in re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", read(pid, "smaps"), flags=re.M):
        head = part.split("\n", 1)[0]
        if " r-xp " in head and "/" in head:
            found += int(re.search(r"^Anonymous: +(\d+)", part, re.M)[1])
    return found


def agents(pid):
    """Segments, and whatever else is mapped that has our name."""
    found = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for low, _, allowed, _, path in mappings(pid):
            if "tracetape" in path:
                found.append(path)
            elif "r" in allowed and not path:
                memory.seek(low)
                try:
                    found += [hex(low)] if memory.read(8) == AGENT else []
                except OSError:
                    continue
    return found


def is_ours(pid, name):
    try:
        return "tracetape" in os.readlink(f"/proc/{pid}/fd/{name}")
    except OSError:
        return False


def number(pid, name):
    return re.search(rf"^{name}:\s*(\w+)", read(pid, "status"), re.M)[1]


def absolute(pid):
    """What is wrong with any process that nobody is attached to any more."""
    wrong = [f"the code of '{path}' differs from its file's" for path in changed_code(pid)]
    wrong += [f"something of ours is mapped: {one}" for one in agents(pid)]
    wrong += [f"descriptor {name} is ours" for name in os.listdir(f"/proc/{pid}/fd")
              if is_ours(pid, name)]
    if number(pid, "TracerPid") != "0":
        wrong.append("it is traced")
    if number(pid, "State") in "Tt":
        wrong.append("it is stopped")
    return wrong


def masks(pid):
    found = set()
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            found.add(number(f"{pid}/task/{task}", "SigBlk"))
        except GONE:
            continue
    return found


def relative(pid, makes_code):
    """What is compared with itself: a program that makes code has mappings that come and go."""
    code = [(low, high, path) for low, high, allowed, _, path in mappings(pid)
            if "x" in allowed and (path.startswith("/") or not makes_code)]
    return {"executable mappings": code, "private KiB of code": own_code_kib(pid),
            "handlers": (number(pid, "SigCgt"), number(pid, "SigIgn"))}


def descendants(pid):
    """It, and its children's children."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parents.setdefault(int(number(entry, "PPid")), []).append(int(entry))
            except (*GONE, TypeError):
                continue
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


def second_thread(pid):
    """Of a process of two: numbers are given anew, so that it may have the smaller one."""
    return next(int(name) for name in os.listdir(f"/proc/{pid}/task") if int(name) != pid)


class State:
    """Of one process, before it is attached to."""
    def __init__(self, pid, makes_code=False):
        self.pid, self.makes_code = pid, makes_code
        self.before, self.masks = relative(pid, makes_code), set()
        for _ in range(LOOKS):
            self.masks |= masks(pid)
            time.sleep(0.002)

    def problems(self, leader):
        """What is not as before, of the process itself and of all that the leader has started."""
        found = [f"{name}: {now!r}, not {self.before[name]!r}"
                 for name, now in relative(self.pid, self.makes_code).items()
                 if now != self.before[name]]
        if not self.has_known_masks():
            found.append(f"signal masks: {masks(self.pid)}, not {self.masks}")
        for pid in descendants(leader):
            found += self.of_any(pid)
        return found

    def has_known_masks(self):
        for _ in range(LOOKS):
            if masks(self.pid) <= self.masks:
                return True
            time.sleep(0.01)
        return False

    @staticmethod
    def of_any(pid):
        """One that executes another program meanwhile is looked at again."""
        wrong = []
        for _ in range(3):
            try:
                wrong = absolute(pid)
            except (*GONE, PermissionError, OSError, TypeError):
                return []  # it has ended, or forbids looking into it
            if not wrong:
                return []
        return [f"process {pid}: {one}" for one in wrong]
