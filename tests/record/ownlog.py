"""A program's own log (programs/own.h) as frames, thread by thread."""
import struct
from dataclasses import dataclass, field

HEAD, ENTRY, TEXT = 64, 32, 27
ENTRIES = 400_000


@dataclass
class Frame:
    name: str
    parent: int  # position in the list of frames, or -1
    fate: str = "open"  # or: returned, left (by unwinding)
    inherited: bool = False  # was open when the stream began


@dataclass
class Thread:
    serial: int
    pid: int = 0
    tid: int = 0
    frames: list = field(default_factory=list)


def create(path, entries=ENTRIES):
    with open(path, "wb") as file:
        file.truncate(HEAD + ENTRY * entries)


class LogError(Exception):
    pass


class Stacks:
    """Frames by stack; what opens and closes them."""

    def __init__(self):
        self.frames, self.stacks, self.current = [], {0: []}, 0

    @property
    def stack(self):
        return self.stacks.setdefault(self.current, [])

    def top(self):
        return self.frames[self.stack[-1]] if self.stack else None

    def push(self, name, inherited=False):
        self.frames.append(Frame(name, self.stack[-1] if self.stack else -1, inherited=inherited))
        self.stack.append(len(self.frames) - 1)

    def pop(self, fate):
        self.frames[self.stack.pop()].fate = fate

    def names(self):
        return [self.frames[i].name for i in self.stack]


def apply(stacks, kind, text, forks):
    if kind == "E":
        stacks.push(text)
    elif kind == "S":
        stacks.push(f"signal {text}")
    elif kind in "Xs":
        name = text if kind == "X" else f"signal {text}"
        if not stacks.stack or stacks.top().name != name:
            raise LogError(f"leaves '{name}' in {stacks.names()}")
        stacks.pop("returned")
    elif kind == "B":
        while stacks.stack and stacks.top().name != text:
            stacks.pop("left")
        if not stacks.stack:
            raise LogError(f"is back in '{text}', which is not open")
    elif kind == "P":
        stacks.pop("left")
    elif kind == "R":
        while stacks.stack:
            stacks.pop("left")
    elif kind == "W":
        stacks.current = int(text)
    elif kind == "f":
        forks[int(text)] = stacks.names()
    elif kind == "F":
        for name in forks[int(text)]:
            stacks.push(name, inherited=True)
    elif kind != "N":
        raise LogError(f"unknown kind '{kind}'")


def entries(path):
    """(serial, kind, text) in the order that they were made."""
    data = path.read_bytes()
    count, _, lost, _ = struct.unpack_from("<4I", data)
    if lost:
        raise LogError(f"{lost} entries found no room")
    for at in range(HEAD, HEAD + ENTRY * count, ENTRY):
        serial, kind, text = struct.unpack_from(f"<IB{TEXT}s", data, at)
        if kind:  # 0: its writer was killed in the middle
            yield serial, chr(kind), text.split(b"\0", 1)[0].decode()


def read(path):
    """All threads, in the order of their first entries."""
    threads, stacks, forks = {}, {}, {}
    for serial, kind, text in entries(path):
        if kind == "T":
            pid, tid = map(int, text.split())
            threads[serial] = Thread(serial, pid, tid)
            stacks[serial] = Stacks()
            continue
        try:
            apply(stacks[serial], kind, text, forks)
        except LogError as error:
            raise LogError(f"thread {threads[serial].tid}: {error}") from None
    for serial, thread in threads.items():
        thread.frames = stacks[serial].frames
    return list(threads.values())
