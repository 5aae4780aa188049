"""Folders as uftrace 0.13 to 0.19 writes them, with random calls of several tasks, and raw text
(spec/raw-text.md): what foreign_model.py has for Chrome trace JSON.

A folder's calls are of an executable, of a library, and of libraries that are loaded at one address
one after the other, in each process for itself; or, as of a Python program, of no file at all."""
import os
import random
import struct
from collections import Counter

import foreign_model
from foreign_model import Draw, every

EXE, LIBRARY, SHARED = 0x555500000000, 0x7F0000000000, 0x7F1000000000
ENTRY, EXIT, LOST, EVENT = range(4)
START = 1_000_000_000
COLORS = {"RED": 0, "GREEN": 5, "BLUE": 6, "NONE": -3}


class Function:
    """A function, where it is in its file, and what follows its records."""

    def __init__(self, name, offset, arguments=(), result=None):
        self.name, self.offset, self.arguments, self.result = name, offset, arguments, result


def pack(kind, draw):
    """(bytes as the recorder writes them, the value as it is)"""
    if kind == "":  # an int, in a register
        value = draw.choice((0, 7, -1, -9, 100_000, -100_000, -2**31, 2**31 - 1, 1 << 40))
        return struct.pack("<Q", value % 2**32 if abs(value) < 1 << 33 else value), value
    if kind == "/i64":
        value = draw.choice((-1, 2**32 - 9, -2**40))
        return struct.pack("<q", value), value
    if kind == "/u":
        value = draw.choice((1, 2**32 - 1, 2**63))
        return struct.pack("<Q", value), value
    if kind == "/d16":
        value = draw.choice((-5, 300))
        return struct.pack("<hxx", value), value
    if kind == "/s":
        text = draw.choice(("", "a", "hello", "three"))
        size = len(text) + 1
        return struct.pack("<H", size) + text.encode() + b"\0" + bytes(-(2 + size) % 4), None
    name = draw.choice(sorted(COLORS))
    return struct.pack("<Q", COLORS[name] % 2**32), COLORS[name]


KINDS = ("", "", "/i64", "/u", "/d16", "/s", "/e:color")


class File:
    """A module: its symbols, and their specifications."""

    def __init__(self, draw, path, base, prefix, has_sizes, with_values):
        self.path, self.base, self.has_sizes = path, base, has_sizes
        self.functions = []
        offset = 0x1000
        for number in range(draw.randint(2, 6)):
            arguments = [draw.choice(KINDS) for _ in range(draw.randrange(4))]
            arguments = arguments if with_values else []
            result = draw.choice(KINDS) if with_values and draw.randrange(2) else None
            self.functions.append(Function(f"{prefix}{number}", offset, arguments, result))
            offset += draw.choice((0x10, 0x40))
        self.end = offset

    def symbols(self):
        lines = [f"# path name: {self.path}"]
        for function, behind in zip(self.functions, self.functions[1:] + [None]):
            size = f" {(behind.offset if behind else self.end) - function.offset:08x}" \
                if self.has_sizes else ""
            lines.append(f"{function.offset:016x}{size} T {function.name}")
        return "\n".join(lines + [f"{self.end:016x} ? __sym_end", ""])

    def debug(self):
        lines = [f"# path name: {self.path}", "E: enum color {NONE=-3,RED=0,GREEN=5,BLUE}"]
        for function in self.functions:
            lines.append(f"F: {function.offset:x} {function.name}")
            if function.arguments:
                specs = ",".join(f"arg{i + 1}{k}" for i, k in enumerate(function.arguments))
                lines.append(f"A: @{specs}")
            if function.result is not None:
                lines.append(f"R: @retval{function.result}")
        return "\n".join(lines + [""])


class Folder:
    def __init__(self, seed):
        draw = self.draw = random.Random(seed)
        self.is_python = draw.randrange(5) == 0
        self.with_values = not self.is_python and draw.randrange(2) == 0
        sizes = draw.randrange(2) == 0
        self.files = {}
        if self.is_python:
            self.files["exe"] = File(draw, "python.fake", 0, "module.f", sizes, False)
            for number, function in enumerate(self.files["exe"].functions):
                function.offset = number + 1
            self.files["exe"].end = len(self.files["exe"].functions) + 1
        else:
            for key, path, base in (("exe", "/bin/prog", EXE), ("lib", "/lib/libl.so.1", LIBRARY),
                                    ("alpha", "/lib/liba.so", SHARED),
                                    ("beta", "/lib/libb.so", SHARED)):
                self.files[key] = File(draw, path, base, f"{key}_", sizes, self.with_values)
        self.tasks = []
        self.loads = []  # (time, process, key)
        pid = 100
        for number in range(draw.randint(1, 4)):
            is_process = number > 0 and draw.randrange(2) == 0
            pid = 100 + number if is_process else pid
            self.tasks.append((100 + number, pid if number > 0 else 100))
        for process in sorted({pid for _, pid in self.tasks}):
            times = sorted(draw.sample(range(1, 40), draw.randrange(5))) if not self.is_python \
                else []
            self.loads += [(START + 10 * t, process, draw.choice(("alpha", "beta")))
                           for t in times]
        self.threads = {tid: self.make_calls(pid) for tid, pid in self.tasks}

    def make_calls(self, pid):
        top = Draw(self.draw.random(), grid=10).tree(0, 40)
        for call in every(top):
            call.begin += START
            call.end = None if call.end is None else call.end + START
        for call in every(top):
            self.choose(call, pid)
        return top

    def choose(self, call, pid):
        """A function that is there as long as the call."""
        draw = self.draw
        file = self.files[draw.choice([key for key in self.files if key not in ("alpha", "beta")])]
        mine = [load for load in self.loads if load[1] == pid]
        last = [load for load in mine if load[0] < call.begin][-1:]
        until = min([load[0] for load in mine if load[0] >= call.begin], default=None)
        over = call.ends()
        if last and over is not None and (until is None or over < until) and draw.randrange(2):
            file = self.files[last[0][2]]
        closer = next((c for c in foreign_model.ancestors(call) if c.end is not None), None)
        taken = closer.function if call.end is None and closer else None  # whose exit ends it
        call.function = draw.choice([f for f in file.functions if f is not taken])
        call.name, call.address = call.function.name, file.base + call.function.offset

    def payload(self, kinds):
        parts, values = [], []
        for kind in kinds:
            data, value = pack(kind, self.draw)
            parts.append(data)
            values.append(value)
        data = b"".join(parts)
        return data + bytes(-len(data) % 8), tuple(values)

    def record(self, time, kind, depth, address, data=b""):
        word = kind | bool(data) << 2 | 5 << 3 | depth << 6 | address << 16
        return struct.pack("<QQ", time, word) + data

    def records(self, top, depth=0):
        out = []
        for call in top:
            data, call.values = self.payload(call.function.arguments)
            out.append(self.record(call.begin, ENTRY, depth, call.address, data))
            out += self.records(call.children, depth + 1)
            if call.end is not None:
                kinds = [] if call.function.result is None else [call.function.result]
                data, call.results = self.payload(kinds)
                out.append(self.record(call.end, EXIT, depth, call.address, data))
            else:
                call.results = ()
            if self.draw.randrange(30) == 0:
                out.append(self.record(call.ends() or call.begin, EVENT, depth, 1000000))
        return out

    def info(self):
        features = 0x77A | 1 << 12
        header = b"Ftrace!\0" + struct.pack("<IHBBQQHHI", 4, 40, 1, 2, features, 0x3FFF, 1024, 0, 0)
        text = "exename:/bin/prog\ncmdline:uftrace record prog\n"
        if self.with_values:
            text += "argspec:lines=2\nargauto:malloc@arg1/u;\nretauto:\nauto-args:1\n"
        return header + text.encode() + b"pattern_type:regex\nuftrace_version:v0.19\n"

    def task_lines(self):
        def stamp(time):
            return f"timestamp={time // 10 ** 9}.{time % 10 ** 9:09}"
        lines = [(START - 9, f'SESS {stamp(START - 9)} pid=100 sid=0123456789abcdef '
                             'exename="/bin/prog"')]
        for tid, pid in self.tasks:
            if tid == pid and tid != 100:
                lines.append((START - 7, f"FORK {stamp(START - 7)} pid={tid} ppid=100"))
            else:
                lines.append((START - 8, f"TASK {stamp(START - 8)} tid={tid} pid={pid}"))
        for time, pid, key in self.loads:
            lines.append((time, f"DLOP {stamp(time)} tid={pid} sid=0123456789abcdef "
                                f'base={SHARED:x} libname="{self.files[key].path}"'))
        return "".join(line + "\n" for _, line in sorted(lines))

    def write(self, folder):
        os.mkdir(folder)

        def put(name, data):
            with open(f"{folder}/{name}", "wb") as file:
                file.write(data if isinstance(data, bytes) else data.encode())
        put("info", self.info())
        put("task.txt", self.task_lines())
        first = [file for key, file in self.files.items() if key in ("exe", "lib")] \
            if not self.is_python else []
        put("sid-0123456789abcdef.map", "".join(
            f"{f.base:x}-{f.base + 0x10000:x} r-xp 00000000 08:01 7   {f.path}\n" for f in first) +
            f"{EXE + 0x90000000:x}-{EXE + 0x90001000:x} r-xp 00000000 08:01 8   /bin/python\n"
            "7ffc00000000-7ffc00010000 rw-p 00000000 00:00 0   [stack]\n")
        put("events.txt", "EVENT: 1000000 provider:event\n")
        for file in self.files.values():
            put(os.path.basename(file.path) + ".sym", file.symbols())
            put(os.path.basename(file.path) + ".dbg", file.debug())
        for tid, top in self.threads.items():
            put(f"{tid}.dat", b"".join(self.records(top)))

    def check(self, got):
        """`got`: the calls of a trace."""
        for tid, top in self.threads.items():
            foreign_model.check(top, got[tid], {call.name for call in every(top)})
            want = Counter((c.name, c.begin, c.end, c.values, c.results) for c in every(top))
            have = Counter((c.name, c.begin, c.end, self.known(c.values), self.known(c.results))
                           for c in every(got[tid]))
            assert want == have, f"{want - have} is {have - want}"

    @staticmethod
    def known(values):
        return tuple(None if isinstance(value, str) else value for value in values or ())


class Text:
    """Raw text: events of threads, mixed, with times in all spellings."""

    def __init__(self, seed):
        draw = self.draw = random.Random(seed)
        self.threads = {tid: Draw(draw.random(), unique=draw.randrange(2) == 0).tree(0, 40)
                        for tid in range(7, 7 + draw.randint(1, 3))}

    def lines_of(self, top, last):
        """(time, line without its time) of events; calls that are left are unwound."""
        out = []
        for call in top:
            out.append((call.begin, f'enter {self.word(call.name)}'))
            out += self.lines_of(call.children, last)
            over = call.ends()
            if call.end is not None:
                out.append((call.end, self.draw.choice(("exit", "exit -",
                                                        f"exit {self.word(call.name)}"))))
            elif over is not None:
                out.append((over, "unwind 1"))
        return out

    def word(self, name):
        return self.draw.choice((name, f'"{name}"'))

    def write(self, path):
        draw = self.draw
        parts = [[(tid, *event) for event in self.lines_of(top, 0)]
                 for tid, top in self.threads.items()]
        lines, last = ["# random", ""], Counter()
        while any(parts):
            part = draw.choice([p for p in parts if p])
            tid, time, rest = part.pop(0)
            spelled = draw.choice((f"{time}", f"{time}ns", f"+{time - last[tid]}",
                                   f"{time / 1000:.3f}us"))
            spelled = "-" if time == last[tid] and draw.randrange(2) else spelled
            last[tid] = time
            lines.append(f"{spelled} {tid} {rest}")
            if draw.randrange(20) == 0:
                lines.append(f"- {tid} marker m")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def check(self, got):
        for tid, top in self.threads.items():
            foreign_model.check(top, got[tid], {call.name for call in every(top)})
