"""gdb: stacks of a program that `tracetape attach` records, or did until gdb came.

Its threads may be in hooks and stubs, in memory that is of no file. gdb has no rows there by which
to unwind. So when it comes to a process this looks for a segment of ours in it
(recorder/arena/agent_layout.h) and hands gdb the rows that lie there (decide/stub_layout.h), as
small symbol files. Nothing of the process is changed.

gdb loads this by itself where it lies among gdb's own commands, as packages install it; else

    gdb -ix .../tracetape_attached.py -p PID"""
import atexit
import re
import shutil
import struct
import tempfile
import time
from pathlib import Path

import gdb

MAGIC, VERSION = b"ttpagent", 13
HEAD = struct.Struct("<8sII I 12x I 52x I") # magic, version, bytes; code; shared; rows
REGION, AREAS_AT, AREAS = struct.Struct("<QQ"), 648, 32
CHANGES = struct.Struct("<48x QQ I 4x Q") # where they are, -, how many; which is put back last
CHANGE = struct.Struct("<Q8xQI4x")
MODULE, MODULES = struct.Struct("<40xQQ"), 256 # stubs of its system calls
# Of the page in front of stubs: their table, as .eh_frame_hdr with one row.
TABLE, TABLE_KIND = struct.Struct("<IiIii"), 0x3b031b01
OF_FUNCTIONS, OF_CALLS = 976, 3184
PAGE, AREA_MOST, CHANGES_MOST = 4096, 1 << 30, 1 << 20
WAIT_S, NAP_S = 2, 0.005
# Of gdb, a full disk, or memory that is other than it was written.
FAILURES = (gdb.error, OSError, struct.error, ValueError, OverflowError, MemoryError)


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def said(command):
    try:
        return gdb.execute(command, to_string=True)
    except gdb.error:
        return ""


# ---- what is there ----

def places():
    """Where memory begins that is of no file. The first thread's list is empty when that has
    ended; a dump has no list of such memory, but parts."""
    threads = [each.ptid[1] for each in gdb.selected_inferior().threads()]
    texts = (said(f"info proc mappings {task}") for task in threads if task)
    rows = r"^\s*0x([0-9a-f]+)\s+0x[0-9a-f]+\s+0x[0-9a-f]+\s+0x0\s*(?:[-rwxsp]{4}\s*)?$"
    found = next((each for each in (re.findall(rows, text, re.M) for text in texts) if each), None)
    part = r"^\s*0x([0-9a-f]+) - 0x[0-9a-f]+ is load"
    return [int(each, 16) for each in found or re.findall(part, said("info files"), re.M)]


class Code:
    """Of ours, with how to unwind from there: `rows` is an .eh_frame for that place in memory."""

    def __init__(self, name, start, size, rows_at, rows):
        self.name, self.start, self.size, self.rows_at, self.rows = name, start, size, rows_at, rows


def stubs_by(address):
    """Those that the table there tells of, or None."""
    kind, entries, _, stubs, entry = TABLE.unpack(read(address, TABLE.size))
    if kind != TABLE_KIND:
        return None
    rows_at, entry_at = address + 4 + entries, address + entry
    size, = struct.unpack("<I", read(entry_at + 12, 4))
    rows = read(rows_at, entry_at + 20 - rows_at) + bytes(4)
    return Code("tracetape_stubs", address + stubs, size, rows_at, rows)


def stubs_in(at, size):
    """Of functions: pages with a table, each in front of its stubs."""
    end = at + min(size, AREA_MOST)
    while at < end:
        found = stubs_by(at + OF_FUNCTIONS)
        if found is not None and found.start == at + PAGE:
            yield found
            at += found.size
        at = (at // PAGE + 1) * PAGE


def segments():
    return [address for address in places() if is_segment(address)]


def is_segment(address):
    try:
        magic, version, _, _, _, rows = HEAD.unpack(read(address, HEAD.size))
    except gdb.MemoryError:
        return False
    return magic == MAGIC and version == VERSION and rows != 0


def segment_at(address):
    """All code of the segment there."""
    try:
        _, _, _, size, shared, rows = HEAD.unpack(read(address, HEAD.size))
        yield Code("tracetape_hooks", address, size, *agent_rows(address + rows, address + size))
        shared += address
        for i in range(AREAS):
            yield from stubs_in(*REGION.unpack(read(shared + AREAS_AT + i * 16, 16)))
        modules_at = shared + AREAS_AT + AREAS * 16
        for i in range(MODULES):
            calls, size = MODULE.unpack(read(modules_at + i * MODULE.size, MODULE.size))
            found = stubs_by(calls + OF_CALLS) if size else None
            if found is not None:
                yield found
    except gdb.MemoryError: # what is not there yet, or no more
        return


def agent_rows(head, end):
    """.eh_frame, by its head."""
    at = head + 4 + struct.unpack("<i", read(head + 4, 4))[0]
    return at, read(at, end - at)


def changes_of(address):
    """(place, becomes, bytes) of each jump that was written at first, and the place that is put
    back last."""
    shared = address + HEAD.unpack(read(address, HEAD.size))[4]
    changes, _, count, last = CHANGES.unpack(read(shared, CHANGES.size))
    data = read(changes, min(count, CHANGES_MOST) * CHANGE.size) if count else b""
    return list(CHANGE.iter_unpack(data)), last


def is_patched(address):
    """Whether code leads into the segment there still."""
    try:
        rows, last = changes_of(address)
        at, becomes, size = next((row for row in rows if row[0] == last), rows[-1])
        return read(at, size) == becomes.to_bytes(8, "little")[:size]
    except (gdb.MemoryError, IndexError):
        return False


def wait_for_recorder(address):
    """It puts the code back as soon as it sees gdb, within a few milliseconds: breakpoints go into
    code as it is in files. One that was killed does not."""
    end = time.monotonic() + WAIT_S
    while is_patched(address) and time.monotonic() < end:
        time.sleep(NAP_S)
    said("maint flush dcache")


# ---- told to gdb ----

def file_of(code):
    """An ELF file with these rows, and a name for all of the code."""
    names = b"\0.text\0.eh_frame\0.symtab\0.strtab\0" + code.name.encode() + b"\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 33, 2, 0, 1, code.start, code.size)
    rows_at, names_at = 64, 64 + len(code.rows)
    symbols_at = (names_at + len(names) + 7) // 8 * 8
    sections_at = symbols_at + len(symbols)

    def section(*numbers):
        return struct.pack("<IIQQQQIIQQ", *numbers)
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 62, 1, 0, 0, sections_at, 0, 64, 0,
                       0, 64, 5, 4)
    sections = (bytes(64) + section(1, 8, 6, code.start, rows_at, code.size, 0, 0, 1, 0) +
                section(7, 1, 2, code.rows_at, rows_at, len(code.rows), 0, 0, 1, 0) +
                section(17, 2, 0, 0, symbols_at, len(symbols), 4, 2, 8, 24) +
                section(25, 3, 0, 0, names_at, len(names), 0, 0, 1, 0))
    gap = bytes(symbols_at - names_at - len(names))
    return head + code.rows + names + gap + symbols + sections


class Attached:
    """What gdb has been told of the process that it is at."""

    def __init__(self):
        self.folder, self.count, self.is_busy, self.told = None, 0, False, {}

    def tell(self, code):
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="tracetape-gdb-"))
            atexit.register(shutil.rmtree, self.folder, True)
        self.count += 1
        path = self.folder / f"{code.name}-{self.count}"
        path.write_bytes(file_of(code))
        gdb.execute(f"add-symbol-file '{path}'", to_string=True)
        return path

    def look(self, _=None):
        """Once for each process. While gdb is there nobody else can attach to it."""
        inferior = gdb.selected_inferior()
        key = (inferior.num, inferior.pid)
        if self.is_busy or inferior.pid == 0 or key in self.told:
            return
        self.is_busy = True # files that are told of are events, too
        self.forget(inferior.num)
        self.told[key] = [] # it is not looked at again, whatever comes of it
        try:
            self.tell_all(self.told[key])
        except FAILURES as error:
            gdb.write(f"tracetape: stacks may end in its recorder's code: {error}\n", gdb.STDERR)
        finally:
            self.is_busy = False

    def tell_all(self, told):
        found = segments()
        for address in found:
            wait_for_recorder(address)
        told.extend(self.tell(code) for address in found for code in segment_at(address))

    def forget(self, number):
        for key in [key for key in self.told if key[0] == number]:
            for path in self.told.pop(key):
                said(f"remove-symbol-file '{path}'")

    def leave(self, event):
        """It has ended, or gdb has left it."""
        inferior = getattr(event, "inferior", None) or gdb.selected_inferior()
        self.forget(inferior.num)


def begin():
    attached = Attached()
    for name in ("new_objfile", "stop"):
        getattr(gdb.events, name).connect(attached.look)
    for name in ("exited", "connection_removed"):
        if hasattr(gdb.events, name):
            getattr(gdb.events, name).connect(attached.leave)


if not getattr(gdb, "has_tracetape_attached", False):
    gdb.has_tracetape_attached = True
    begin()
