"""Writes core dumps of processes that are our children, as the kernel does with its default filter:
threads' registers, what is mapped, memory that is the process's own. Whatever the system does with
its own dumps."""
import ctypes
import os
import signal
import struct
import subprocess
import sys

PTRACE_GETREGS, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 12, 17, 0x4206, 0x4207
WALL = 0x40000000
PAUSE = 34 # the system call
CALLS = 6 # of subjects/core.c that say what they are worth
REGISTERS = 27 * 8
PAGE = 4096
PT_LOAD, PT_NOTE = 1, 4
NT_PRSTATUS, NT_PRPSINFO, NT_FILE = 1, 3, 0x46494C45


class CannotTrace(Exception):
    pass


def ptrace(request, pid, data=None):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(request, pid, None, data) < 0:
        raise CannotTrace(f"ptrace {request:#x} of {pid}: {os.strerror(ctypes.get_errno())}")


def registers_of(tid):
    buffer = ctypes.create_string_buffer(REGISTERS)
    ptrace(PTRACE_GETREGS, tid, ctypes.addressof(buffer))
    return buffer.raw


def note(kind, data, owner=b"CORE\0"):
    def padded(text):
        return text + bytes(-len(text) % 4)
    return struct.pack("<III", len(owner), len(data), kind) + padded(owner) + padded(data)


def status_note(tid, registers, signal):
    head = bytes(12) + struct.pack("<H", signal) + bytes(18) + struct.pack("<I", tid)
    return note(NT_PRSTATUS, head.ljust(112, b"\0") + registers + bytes(8))


def process_note(pid):
    with open(f"/proc/{pid}/comm", "rb") as file:
        name = file.read().strip()
    return note(NT_PRPSINFO, bytes(24) + struct.pack("<4I", pid, 1, pid, pid) +
                name[:15].ljust(16, b"\0") + name[:79].ljust(80, b"\0"))


def file_note(rows):
    files = [row for row in rows if row[4].startswith("/")]
    body = struct.pack("<QQ", len(files), PAGE)
    for start, end, _, offset, _ in files:
        body += struct.pack("<3Q", start, end, offset // PAGE)
    return note(NT_FILE, body + b"".join(row[4].encode() + b"\0" for row in files))


def mappings(pid):
    rows = []
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        for line in file:
            words = line.rstrip("\n").split(None, 5)
            start, end = (int(word, 16) for word in words[0].split("-"))
            rows.append((start, end, words[1], int(words[2], 16),
                         words[5] if len(words) > 5 else ""))
    return rows


def kept(memory, row):
    """How much of a mapping is in a dump: what was written, and a library's first page."""
    start, end, rights, offset, path = row
    if path.startswith("[v") or "s" in rights or "r" not in rights:
        return b""
    if "w" not in rights and path.startswith("/"):
        end = start + PAGE if offset == 0 else start
    try:
        memory.seek(start)
        return memory.read(end - start)
    except OSError:
        return b""


def write_core(pid, path, signal=0):
    """Stops the process's threads, writes the dump, lets them go on."""
    threads = sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    registers = {}
    for tid in threads:
        ptrace(PTRACE_SEIZE, tid)
        ptrace(PTRACE_INTERRUPT, tid)
        os.waitpid(tid, WALL)
        registers[tid] = registers_of(tid)
    rows = mappings(pid)
    notes = b"".join(status_note(tid, registers[tid], signal) for tid in threads)
    notes = notes + process_note(pid) + file_note(rows)
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        pieces = [kept(memory, row) for row in rows]
    for tid in threads:
        ptrace(PTRACE_DETACH, tid)
    at = 64 + 56 * (1 + len(rows))
    heads = struct.pack("<IIQQQQQQ", PT_NOTE, 4, at, 0, 0, len(notes), 0, 4)
    at = (at + len(notes) + PAGE - 1) // PAGE * PAGE
    with open(path, "wb") as file:
        file.write(struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 4, 62, 1, 0, 64, 0, 0, 64, 56,
                               1 + len(rows), 0, 0, 0))
        for row, piece in zip(rows, pieces):
            heads += struct.pack("<IIQQQQQQ", PT_LOAD, 6, at, row[0], 0, len(piece),
                                 row[1] - row[0], PAGE)
            at += len(piece)
        file.write(heads + notes)
        file.seek((file.tell() + PAGE - 1) // PAGE * PAGE)
        for piece in pieces:
            file.write(piece)


class Still:
    """subjects/core.c, once it has said what its calls are worth, and stands still."""

    running = []

    def __init__(self, command):
        self.process = subprocess.Popen(command, env=dict(os.environ, TRACETAPE_BRANCH="affine"),
                                        stdout=subprocess.PIPE, text=True)
        self.said, self.pid = [], None
        self.running.append(self)
        while len(self.said) < CALLS:
            words = self.process.stdout.readline().split()
            if len(words) == 3:
                self.said.append(words)
            elif words and words[0] == "process":
                self.pid = int(words[1])
            elif not words:
                sys.exit(f"'{command}' ended: {self.said}")

    def dump(self, path):
        self.wait()
        write_core(self.pid, path, signal.SIGABRT)
        return path

    @staticmethod
    def is_waiting(path):
        try:
            with open(path, encoding="utf-8") as file:
                return file.read().startswith(f"{PAUSE} ")
        except PermissionError as why:
            raise CannotTrace(str(why)) from why

    def wait(self):
        """Until all its threads wait, so that no call is on its way."""
        tasks = f"/proc/{self.pid}/task"
        for tid in os.listdir(tasks):
            while not self.is_waiting(f"{tasks}/{tid}/syscall"):
                os.sched_yield()

    def end(self):
        self.running.remove(self)
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.communicate()


def end_all():
    for still in list(Still.running):
        still.end()
