"""An arena for tests of the runtime: makes it, runs a program in it, frees blocks as the recorder
would, and turns the records into words, strictly: what a stream cannot bear is an error.

    +f enter  -f exit  ~n unwind  @n stack  !n signal begins  !. it ends  o:f open  ?f exit unseen
    gap:reason:count  hole  and messages as <kind>"""
import ctypes
import mmap
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.environ.get("TTAPE_SRC") or os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("TTAPE_BUILD") or os.path.join(SRC, "build", "release")
LIBRARY = os.path.join(BUILD, "libtracetape-rt.so.0")
ARCHIVE = os.path.join(BUILD, "libtracetape-rt.a")
SUBJECTS = os.path.join(SRC, "tests", "runtime", "subjects")
INCLUDE = os.path.join(SRC, "libtrace", "include")
MAGIC, VERSION, BLOCK, HEAD, STATES, CAPACITY = 0x6672636170617474, 8, 32768, 64, 4096, 16384
OFFSET = (STATES + CAPACITY * 4 + BLOCK - 1) // BLOCK * BLOCK
FREE, FILLING, FULL, DONE = range(4)
WAITING, BLOCKING, DROPPING = range(3) # what a program does that finds no block
LEFT_MAX = 4 # places that a hook reserves at once
OFF, ON, STOPPED = range(3)
TSC, MONOTONIC, COARSE, NONE = 1, 2, 3, 4
MODE, PERIODS, READY, BEAT, FREED, SERIAL, LOST = 56, 60, 64, 72, 80, 120, 128
HAS_VERDICTS, VERDICTS = 2428, 1 << 17
HOOK_SITES = 2604
FLUSH, SNAPSHOT, MODULES, STOP = 136, 140, 144, 148
FACT = "tracetape:" # site names of facts begin so
MESSAGES = {1: "process", 2: "module", 3: "modules", 4: "site", 5: "leaf", 6: "thread", 7: "values"}


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


class Block:
    def __init__(self, data, state):
        (self.serial, self.sequence, self.epoch, self.started, self.pid, self.tid, self.image,
         self.name) = struct.unpack_from("<QQQQIIQ16s", data)
        self.records = struct.unpack(f"<{(BLOCK - HEAD) // 8}Q", data[HEAD:])
        self.state = state


class Arena:
    """Blocks that are full or done are taken and freed by `poll`, the others by `finish`."""

    def __init__(self, blocks=64, clock=TSC, mode=ON, flags=DROPPING, left_out=None,
                 hook_sites=False):
        """`left_out`: addresses of functions that the first image leaves out; `hook_sites`: calls
        have a value, where they were made."""
        self.offset = OFFSET + (0 if left_out is None else VERDICTS)
        self.directory = tempfile.mkdtemp(prefix="ttarena", dir="/dev/shm")
        self.path = os.path.join(self.directory, "arena")
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.posix_fallocate(fd, 0, self.offset + blocks * BLOCK)
        os.ftruncate(fd, self.offset + CAPACITY * BLOCK)
        self.map = mmap.mmap(fd, self.offset + blocks * BLOCK)
        os.close(fd)
        whole = self.offset + blocks * BLOCK
        self.words = memoryview(self.map)[:whole].cast("I")
        self.wide = memoryview(self.map)[:whole].cast("Q")
        self.waiting = {}
        self.count, self.taken, self.holds, self.lock = blocks, [], False, threading.RLock()
        struct.pack_into("<QIIIIIIQ", self.map, 0, 0, VERSION, BLOCK, CAPACITY, clock, flags,
                         os.getpid(), self.offset)
        if left_out is not None:
            self.tell(left_out)
        self.put(MODE, mode)
        self.put(READY, blocks)
        self.put(HOOK_SITES, int(hook_sites))
        struct.pack_into("<Q", self.map, 0, MAGIC)

    def tell(self, functions):
        """As the recorder does: recorder/arena/verdicts.h."""
        self.put(HAS_VERDICTS, 1)
        seed = 0x9E3779B97F4A7C15 >> 40
        for function in functions:
            slot = (function >> 6 ^ seed) & 16383
            slots = [slot & ~7 | slot + i & 7 for i in range(8)]
            place = next(at for at in (OFFSET + 8 * n for n in slots) if not self.get(at, True))
            self.put(place, function << 17 | 1, True)

    def get(self, at, wide=False):
        return (self.wide[at // 8] if wide else self.words[at // 4])

    def put(self, at, value, wide=False):
        """By one store: pack_into writes bytes, over what others stored meanwhile."""
        if wide:
            self.wide[at // 8] = value
        else:
            self.words[at // 4] = value

    def add(self, at, wide=False):
        self.put(at, self.get(at, wide) + 1, wide)

    def state(self, index):
        return self.get(STATES + 4 * index)

    def switch(self, on):
        if on:
            self.add(PERIODS)
        self.put(MODE, ON if on else OFF)

    def take(self, index):
        at = self.offset + index * BLOCK
        self.taken.append(Block(self.map[at:at + BLOCK], self.state(index) & 3))
        self.map[at:at + BLOCK] = bytes(BLOCK)
        self.waiting.pop(index, None)
        self.put(STATES + 4 * index, 0)
        self.add(FREED, True)

    def poll(self):
        with self.lock:
            self.add(BEAT, True)
            for index in range(self.count):
                state = self.state(index) & 3
                if state >= FULL and not self.holds and (state == DONE or self.is_whole(index)):
                    self.take(index)

    def is_whole(self, index):
        """A hook that was interrupted may still hold a place in it, on a busy machine for long; not
        for ever."""
        at = self.offset + index * BLOCK + HEAD
        if bytes(8) not in self.map[at:at + BLOCK - HEAD] or 0 not in struct.unpack(
                f"<{(BLOCK - HEAD) // 8}Q", self.map[at:at + BLOCK - HEAD]):
            return True
        since = self.waiting.setdefault(index, time.monotonic())
        return time.monotonic() - since > 10

    def take_left(self):
        """Of a program that waits, in no hook: blocks that hooks were filling that are left, and
        those of its children that are gone."""
        with self.lock:
            heads = {index: struct.unpack_from("<QQ", self.map, self.offset + index * BLOCK)
                     for index in range(self.count) if self.state(index) & 3 == FILLING}
            for index, (serial, sequence) in heads.items():
                if any(serial == other and sequence < later for other, later in heads.values()) or \
                        not os.path.exists(f"/proc/{self.state(index) >> 2}"):
                    self.take(index)

    def finish(self):
        self.poll()
        for index in range(self.count):
            at = self.offset + index * BLOCK
            if self.state(index) & 3 != FREE and struct.unpack_from("<Q", self.map, at)[0]:
                self.take(index)
        return self.taken

    def close(self):
        shutil.rmtree(self.directory, ignore_errors=True)

    def environment(self, preload=True, extra=None):
        env = dict(os.environ, TRACETAPE_ARENA=self.path, LC_ALL="C")
        env.pop("LD_PRELOAD", None)
        if preload:
            env["LD_PRELOAD"] = LIBRARY
        env.update(extra or {})
        return env

    def run(self, command, preload=True, extra=None, on_stop=None, timeout=120,
            pass_fds=()):
        """Runs to the end; `on_stop(pid)` each time the program stops itself. The wait status."""
        process = subprocess.Popen(command, env=self.environment(preload, extra),
                                   pass_fds=pass_fds, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        end = time.monotonic() + timeout
        os.set_blocking(process.stdout.fileno(), False)
        self.output = b""
        while True:
            self.poll()
            self.output += process.stdout.read() or b""
            pid, status = os.waitpid(process.pid, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                if on_stop:
                    on_stop(pid)
                os.kill(pid, signal.SIGCONT)
            elif pid:
                break
            if time.monotonic() > end:
                os.kill(process.pid, signal.SIGKILL)
                raise AssertionError(f"'{command}' hangs")
            time.sleep(0.0005)
        process.returncode = 0
        self.output += process.stdout.read() or b""
        self.finish()
        return os.waitstatus_to_exitcode(status)


class Names:
    """Addresses to names, by the modules that the program told of, and its sites."""
    tables = {}

    def __init__(self):
        self.modules, self.sites, self.exe = [], {}, ""
        self.found = {} # by address, as long as the modules stay these

    @classmethod
    def table(cls, path):
        if path not in cls.tables:
            rows, low = [], 0
            if os.path.exists(path):
                out = subprocess.run(["nm", "-C", path], capture_output=True, text=True).stdout
                for line in out.splitlines():
                    match = re.match(r"([0-9a-f]+) [tTwWiI] ([^(@]+)", line)
                    if match:
                        rows.append((int(match[1], 16), match[2]))
                heads = subprocess.run(["readelf", "-lW", path], capture_output=True,
                                       text=True).stdout
                low = min(int(m, 16) for m in re.findall(r"LOAD\s+\S+\s+(\S+)", heads)) & ~4095
            cls.tables[path] = (low, dict(rows))
        return cls.tables[path]

    def of(self, address):
        if address in self.sites:
            return self.sites[address]
        if address not in self.found:
            self.found[address] = self.search(address)
        return self.found[address]

    def search(self, address):
        for start, end, path in reversed(self.modules):
            if start <= address < end:
                low, names = self.table(path)
                return names.get(address - start + low, f"{os.path.basename(path)}:{address:x}")
        return f"{address:x}"


class Stream:
    """One thread's records, decoded; `words` says what happened, apart from facts of threads and
    processes (spec/facts.md): these are in `facts`, (name, first value, second value)."""

    def __init__(self, blocks, names, lenient=False):
        self.serial, self.tid, self.pid, self.image = (blocks[0].serial, blocks[0].tid,
                                                       blocks[0].pid, blocks[0].image)
        self.name = blocks[-1].name.split(b"\0")[0].decode()
        self.words, self.times, self.errors, self.messages, self.facts = [], [], [], [], []
        self.names, self.stacks, self.stack, self.last = names, {0: []}, 0, 0
        self.back, self.lost, self.holes, self.lenient = 0, 0, 0, lenient
        self.state, self.pending = blocks[-1].state, None
        if self.serial == 0:
            self.error("a block that is nobody's was handed over")
        for index, block in enumerate(blocks):
            self.find_modules(block.records)
        for index, block in enumerate(blocks):
            if block.sequence != blocks[0].sequence + index:
                self.error(f"block {block.sequence} follows {blocks[0].sequence + index - 1}")
            self.decode(block, last=index == len(blocks) - 1)

    def error(self, text):
        self.errors.append(f"{text} (event {len(self.words)})")

    def say(self, word, low=None):
        if low is not None:
            now = self.epoch << 15 | low
            if now < self.last:
                self.back += 1
                if self.last - now > 1 << 15:
                    self.error(f"time goes back by {self.last - now}")
            self.last = max(now, self.last)
        self.words.append(word)
        self.times.append(self.last)

    def open(self):
        return self.stacks.setdefault(self.stack, [])

    def decode(self, block, last):
        self.epoch, at, end = block.epoch, 0, len(block.records)
        while end and block.records[end - 1] == 0:
            end -= 1
        if not last and self.lenient and end + LEFT_MAX >= len(block.records):
            end = len(block.records) # a hook that was left had reserved them
        if not last and end != len(block.records):
            self.error("a full block has empty places at its end")
        while at < end:
            record = block.records[at]
            at += 1
            if record & 3 == 3 and record >> 2 & 15 == 8:
                if record >> 45 & 0xFF == 7 and (at < 2 or block.records[at - 2] & 3 not in (1, 2)):
                    self.error("values of nothing")
                at = self.message(block.records, at, record)
            else:
                self.record(record)

    def find_modules(self, records):
        """What was opened is told when it is closed: looked for first."""
        for at, record in enumerate(records):
            if record & 0x3F == 8 << 2 | 3 and record >> 45 & 0xFF in (1, 2):
                kind, data = self.data(records, at + 1, record)
                if kind == 1:
                    self.names.exe = data[32:].decode()
                else:
                    start, end, size = struct.unpack_from("<QQI", data)
                    path = data[20 + size:].decode() or self.names.exe
                    self.names.modules.append((start, end, path))
                    self.names.found.clear()

    def record(self, record):
        tag, pending, self.pending = record & 3, self.pending, None
        if tag == 0:
            self.holes += 1
            self.say("hole")
            if not self.lenient:
                self.error("hole")
        elif tag == 3:
            self.extension(record)
        else:
            name, low = self.names.of(record >> 17), record >> 2 & 0x7FFF
            opened = self.open()
            if tag == 1:
                opened.append(name)
                self.say(("o:" if pending == "open" else "+") + name, low)
            elif pending == "unseen":
                self.say("?" + name, low)
            else:
                if not opened or opened[-1] != name:
                    self.error(f"exit of '{name}', open are {opened[-4:]}")
                else:
                    opened.pop()
                self.say("-" + name, low)

    def left(self, which, count):
        """How many frames an unwind takes off."""
        stack = self.open()
        if which == 0:
            if count > len(stack) or count == 0:
                self.error(f"unwind of {count}, open are {stack}")
            return min(count, len(stack))
        if which == 1:
            return max(0, len(stack) - count)
        signals, staying, left = count >> 24, count & 0xFFFFFF, 0
        for _ in range(signals):
            if "!" not in stack[:len(stack) - left]:
                self.error(f"unwind of {signals} signals, open are {stack}")
                break
            left = stack[:len(stack) - left][::-1].index("!") + 1 + left
        rest = stack[:len(stack) - left][::-1]
        above = rest.index("!") if "!" in rest else len(rest)
        if above < staying and not self.lenient:
            self.error(f"unwind to {staying}, open are {stack}")
        return left + max(0, above - staying)

    def extension(self, record):
        kind, low, payload = record >> 2 & 15, record >> 6 & 0x7FFF, record >> 21
        if kind == 0:
            self.epoch = record >> 6
        elif kind in (1, 14):
            left = self.left(payload & 3, payload >> 2)
            if left:
                del self.open()[-left:]
                self.say(f"~{left}", low)
        elif kind == 2:
            self.stack = payload
            self.say(f"@{payload}", low)
        elif kind == 3:
            self.open().append("!")
            self.say(f"!{payload}", low)
        elif kind == 4:
            if not self.open() or self.open()[-1] != "!":
                self.error(f"signal's end, open are {self.open()[-4:]}")
            else:
                self.open().pop()
            self.say("!.")
        elif kind == 5:
            count = payload >> (5 if payload & 7 == 6 else 3)  # 6: what follows is in between
            self.lost += count
            self.say(f"gap:{payload & 7}:{count}", low)
        elif kind in (6, 7):
            self.pending = "open" if kind == 6 else "unseen"
        elif kind == 9:
            self.error("data without a message")
        elif kind == 11:
            if payload & 1 != 1 or (payload >> 1 & 127) not in (1, 2) or payload >> 40 != 1:
                self.error(f"end {payload:x}")
        elif kind not in (10, 15):
            self.error(f"extension {kind}")

    def data(self, records, at, head):
        kind, size = head >> 45 & 0xFF, head >> 21 & 0xFFFFFF
        data = b""
        for record in records[at:at + (size + 6) // 7]:
            if record & 0x3F != 9 << 2 | 3:
                self.error("message without its data")
            data += struct.pack("<Q", record)[1:]
        return kind, data[:size]

    def message(self, records, at, head):
        kind, data = self.data(records, at, head)
        self.pending = None
        site = self.names.of(struct.unpack_from("<Q", data)[0]) if kind == 5 else ""
        if kind == 4:
            address, _, _, length = struct.unpack_from("<QIIH", data)
            self.names.sites[address] = site = data[18:18 + length].decode()
        if site.startswith(FACT):
            if kind == 5 and data[8] == data[17]:  # two numbers; the second of others is text
                self.facts.append((site[len(FACT):], *struct.unpack("<xQxQ", data[8:])))
        else:
            self.messages.append((MESSAGES.get(kind, kind), data))
            if kind == 5:
                self.say("=" + site, head >> 6 & 0x7FFF)
        return at + (len(data) + 6) // 7


def parent_of(blocks):
    """The parent's image, by the first message."""
    for at, word in enumerate(blocks[0].records[:8]):
        if word & 0x3F == 8 << 2 | 3 and word >> 45 & 0xFF == 1:
            words = blocks[0].records[at + 1:at + 5]
            data = b"".join(struct.pack("<Q", word)[1:] for word in words)
            return struct.unpack_from("<Q", data, 8)[0]
    return 0


def streams(blocks, lenient=False):
    """By serial; names are those of each process image."""
    names, groups, result = {}, {}, []
    for block in sorted(blocks, key=lambda b: (b.serial, b.sequence)):
        if lenient and block.state == FILLING and not any(block.records):
            continue # the hook that took it was left before it was used
        groups.setdefault(block.serial, []).append(block)
    for serial in sorted(groups):
        image = groups[serial][0].image
        if image not in names:
            names[image] = Names()
            parent = parent_of(groups[serial])
            if parent in names:
                names[image].modules = list(names[parent].modules)
                names[image].sites = dict(names[parent].sites)
        result.append(Stream(groups[serial], names[image], lenient))
    return result


def available(compiler):
    return shutil.which(compiler) is not None


class Workshop:
    """Compiles subjects, each once for a set of flags."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="ttsubject")
        if not os.path.exists(LIBRARY):
            skip("no runtime library in this build")

    def close(self):
        shutil.rmtree(self.directory, ignore_errors=True)

    def build(self, source, *flags, compiler="gcc", instrument=True, link=()):
        path = os.path.join(SUBJECTS, source)
        name = re.sub(r"\W", "_", "_".join((source, compiler, *flags, *link)))[-200:]
        out = os.path.join(self.directory, name)
        if os.path.exists(out):
            return out
        command = [compiler, "-g", "-o", out, path, f"-I{INCLUDE}", f"-I{SRC}", "-pthread"]
        command += ["-finstrument-functions"] if instrument else []
        command += [*flags, *link]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"'{' '.join(command)}' failed:\n{run.stderr}")
        return out


def reap_children():
    """Orphans of programs under test come to us, so that a test knows when they are gone."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
