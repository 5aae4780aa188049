"""gdb: `tracetape-context [all]` says the calls that are open in the selected thread (in all), with
the context value, the branch value and the locals of each: what `tracetape context --core` says of
a dump, of a program that runs under gdb, or of a dump that gdb has opened.

    (gdb) source /usr/share/tracetape/gdb/tracetape-context.py
    (gdb) tracetape-context

Where the runtime keeps them is in spec/context.md, 7."""
import re
import struct

import gdb

MASK = (1 << 64) - 1
FACTOR = 0x9E3779B97F4A7C15
MAGIC = b"ttape contexts\n\0"
VERSIONS = (1, 2)
AWAITS = 1 << 60 # in a frame's sp
HEAD, LONGS, SHORTS = "<16sIIII", "qQQQQQQQQQQQ", 29
NAMES = ("magic version bytes kind mode_on thread mode no_state operation ids branch_is_on "
         "branch_operation branch_scope function_mask mark_end key_first key_end thread_top "
         "thread_page thread_stacks thread_branch page_gate page_deep gate_first gate_last "
         "stacks_count stacks_current stacks_list stacks_alternate_low stacks_alternate_high "
         "stack_bytes stack_base stack_top stack_end stack_branches stack_stale frame_bytes "
         "frame_sp frame_function frame_call_site frames_spare cell_bytes cell_value cell_blocks "
         "cell_flags cell_counts").split()
AFFINE, XOR, ADD, MULTIPLY = range(4)
PRIMES, COUNTS = 3, 4
FRAMES_MOST = 1 << 20
LOCALS_MOST = 200


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def word(address, size=8):
    return int.from_bytes(read(address, size), "little")


class Layout:
    """The runtime's table."""

    def __init__(self, address):
        form = HEAD + LONGS + "I" * SHORTS
        values = struct.unpack(form, read(address, struct.calcsize(form)))
        for name, value in zip(NAMES, values):
            setattr(self, name, value)
        self.is_known = self.magic == MAGIC and self.version in VERSIONS and \
            self.bytes == (struct.calcsize(form) + 7) // 8 * 8


def addresses(modules):
    """Of tables: by the symbol, and by their first bytes in what was mapped from files and can be
    written to, as a process may have two."""
    found = set()
    try:
        found.add(int(gdb.parse_and_eval("(unsigned long)&ttp_context_layout")) & MASK)
    except gdb.error:
        pass
    for low, high, _, _ in modules.writable:
        at = low
        while at < high:
            try:
                at = gdb.selected_inferior().search_memory(at, high - at, MAGIC)
            except gdb.error:
                break
            if at is None:
                break
            if at % 16 == 0:
                found.add(at)
            at += 1
    return sorted(found)


def layouts(modules):
    found = []
    for address in addresses(modules):
        layout = Layout(address)
        if layout.magic == MAGIC and not layout.is_known:
            print("a runtime keeps calls in another way than this command knows")
        elif layout.is_known and layout.thread != 0:
            found.append(layout)
    return found


def mix(number):
    number = (number ^ number >> 32) * 0xD6E8FEB86659FD93 & MASK
    number = (number ^ number >> 29) * 0xA0761D6478BD642F & MASK
    return number ^ number >> 32


def seed_of(data):
    number = 0xCBF29CE484222325
    for byte in data:
        number = (number ^ byte) * 0x100000001B3 & MASK
    return mix(number)


class Modules:
    """Which file a function is in, and where its first page is."""

    def __init__(self):
        self.rows, self.writable, self.seeds, start, last = [], [], {}, None, None
        for line in gdb.execute("info proc mappings", to_string=True).splitlines():
            match = re.match(r"\s*0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+\S+\s+0x([0-9a-f]+)\s+"
                             r"(?:([-rwxsp]{4})\s+)?(/.*)$", line)
            if not match:
                continue
            low, high, offset = (int(match[i], 16) for i in (1, 2, 3))
            if offset == 0 and match[5] != last:
                start, last = low, match[5]
            if match[5] == last:
                self.rows.append((low, high, start, match[5]))
                if match[4] is None or match[4].startswith("rw-p"):
                    self.writable.append(self.rows[-1])

    def identity(self, function):
        for low, high, start, path in self.rows:
            if low <= function < high:
                return mix(self.seed(path) + (function - start) * FACTOR & MASK)
        return mix(function * FACTOR & MASK)

    def seed(self, path):
        if path not in self.seeds:
            build_id = None
            for objfile in gdb.objfiles():
                if objfile.filename == path and objfile.build_id:
                    build_id = bytes.fromhex(objfile.build_id)
            name = b"file:" + path.rsplit("/", 1)[-1].encode()[:256]
            self.seeds[path] = seed_of(build_id or name)
        return self.seeds[path]


def enter(operation, value, number):
    if operation == XOR:
        return value ^ number
    if operation == ADD:
        return value + number & MASK
    if operation == MULTIPLY:
        return value * (number | 1) & MASK
    return (value * FACTOR + number) & MASK


class Call:
    def __init__(self, layout, data):
        def part(offset):
            return int.from_bytes(data[offset:offset + 8], "little")
        self.sp, function = part(layout.frame_sp), part(layout.frame_function)
        self.call_site, self.branch, self.text = part(layout.frame_call_site), None, ""
        self.awaits = self.sp & AWAITS != 0 and self.sp != MASK
        self.sp &= (1 << 56) - 1
        self.is_signal = 1 <= function < layout.mark_end
        self.is_system_call = layout.key_first <= function < layout.key_end
        self.is_call = not self.is_signal and not self.is_system_call
        self.function = function & layout.function_mask if self.is_call else \
            function - (1 if self.is_signal else layout.key_first)


def branch_text(layout, address):
    data = read(address, layout.cell_bytes)
    value, = struct.unpack_from("<Q", data, layout.cell_value)
    blocks, flags = (struct.unpack_from("<I", data, at)[0]
                     for at in (layout.cell_blocks, layout.cell_flags))
    operation = word(layout.branch_operation, 4)
    if operation == PRIMES and blocks == 0:
        value = 1
    text = f"{value:016x}" if operation != COUNTS else \
        data[layout.cell_counts:layout.cell_counts + 32].hex()
    return f"{text}/{blocks}{'+' if flags & 2 else ''}"


def register(name):
    return int(gdb.parse_and_eval(f"(unsigned long)${name}")) & MASK


def on_stack(layout, stacks, top):
    """base and branches of the stack that the thread is on."""
    for i in range(min(word(stacks + layout.stacks_count, 4), 32768)):
        stack = word(stacks + layout.stacks_list) + i * layout.stack_bytes
        base, end = word(stack + layout.stack_base), word(stack + layout.stack_end)
        if base <= top <= end + layout.frames_spare * layout.frame_bytes:
            return base, word(stack + layout.stack_branches)
    return None


def calls_of(layout):
    """Of the selected thread: its open calls, outermost first; or words."""
    thread = register("fs_base") + layout.thread & MASK
    page, stacks = word(thread + layout.thread_page), word(thread + layout.thread_stacks)
    if page == layout.no_state or stacks == 0:
        return []
    gate = word(page + layout.page_gate, 4)
    if not layout.gate_first <= gate <= layout.gate_last or \
            word(layout.mode, 4) != layout.mode_on:
        return "nothing keeps its calls now"
    if word(page + layout.page_deep) != 0:
        return "more calls are open than the runtime keeps"
    top = word(thread + layout.thread_top)
    found = on_stack(layout, stacks, top)
    if found is None or top - found[0] > FRAMES_MOST * layout.frame_bytes:
        return "its calls are not where they should be"
    base, branches = found
    size, count = layout.frame_bytes, (top - base) // layout.frame_bytes
    data = read(base + size, count * size) if count else b""
    calls = [Call(layout, data[i * size:(i + 1) * size]) for i in range(count)]
    low, high = (word(stacks + at) for at in (layout.stacks_alternate_low,
                                              layout.stacks_alternate_high))
    while calls and is_gone(calls[-1], register("rsp"), low, high):
        calls.pop()
    if word(layout.branch_is_on, 1) and branches and word(layout.branch_scope, 4) == 0:
        for i, call in enumerate(calls):
            call.branch = branch_text(layout, branches + (i + 1) * layout.cell_bytes)
    return [call for call in calls if not is_past(call)]


def is_past(call):
    """It has jumped to a function that is not recorded, which has returned."""
    try:
        return call.awaits and word(call.sp) != call.call_site
    except gdb.MemoryError:
        return True


def is_gone(call, sp, low, high):
    at = call.call_site if call.is_signal else call.sp
    return at < sp and (low <= at < high) == (low <= sp < high)


def evaluate(layout, modules, calls):
    operation, kind = word(layout.operation, 4), word(layout.ids, 4)
    value, depth = 1 if operation == MULTIPLY else 0, 0
    for call in calls:
        if not call.is_call:
            continue
        number = call.function if kind else modules.identity(call.function)
        value, depth = enter(operation, value, number), depth + 1
        call.text = f"{value:016x}/{depth}"


def name_of(address):
    text = gdb.execute(f"info symbol {address:#x}", to_string=True)
    match = re.match(r"(\S+?)(?: \+ \d+)? in section", text)
    return match[1] if match else f"{address:#x}"


def machine_frames():
    """gdb's frames, innermost first, with the two ends of each."""
    frames, frame = [], gdb.newest_frame()
    while frame is not None:
        frames.append([frame, int(frame.read_register("rsp")) & MASK, None])
        try:
            frame = frame.older()
        except gdb.error:
            break
    high = MASK # gdb ends where main is
    for row in reversed(frames):
        row[2] = high
        if row[0].type() != gdb.INLINE_FRAME:
            high = row[1]
    return frames


def find_frame(frames, call, name):
    """The call's own, and not one that was found before."""
    fitting = [row for row in frames if row[1] <= call.sp < row[2]]
    for row in fitting:
        if (row[0].name() or "").split("(")[0] == name.split("(")[0]:
            frames.remove(row)
            return row[0]
    return fitting[0][0] if len(fitting) == 1 else None


def locals_of(frame):
    try:
        block = frame.block()
    except RuntimeError:
        yield "its locals: there is no debug information"
        return
    seen, count = set(), 0
    while block is not None and not block.is_global and not block.is_static:
        for symbol in block:
            if (symbol.is_argument or symbol.is_variable) and symbol.name not in seen and \
                    count < LOCALS_MOST:
                seen.add(symbol.name)
                count += 1
                try:
                    text = symbol.value(frame).format_string(max_elements=80)
                except gdb.error as why:
                    text = f"({why})"
                yield f"{symbol.name} = {text}"
        if block.function is not None:
            return
        block = block.superblock


def show_call(call, frames):
    if not call.is_call:
        kind = "handler of signal" if call.is_signal else "system call"
        print(f"  ({kind} {call.function})")
        return
    name = name_of(call.function)
    frame = find_frame(frames, call, name)
    place = frame.find_sal() if frame is not None else None
    where = f" ({place.symtab.filename.rsplit('/', 1)[-1]}:{place.line})" \
        if place is not None and place.symtab is not None else ""
    print("  " + "  ".join(one for one in (call.text, call.branch, name) if one) + where)
    for line in locals_of(frame) if frame is not None else ("its locals: gdb's stack has no such "
                                                            "frame",):
        print(f"      {line}")


def show_thread(found, modules):
    print(f"thread {gdb.selected_thread().ptid[1] or gdb.selected_thread().ptid[0]}")
    before, is_told = gdb.selected_frame(), False
    gdb.newest_frame().select() # registers are the innermost frame's
    for layout in found:
        try:
            calls = calls_of(layout)
        except gdb.MemoryError:
            calls = "what the runtime keeps of it cannot be read"
        if isinstance(calls, str):
            print(f"  not known: {calls}")
            is_told = True
        elif calls:
            evaluate(layout, modules, calls)
            frames, is_told = machine_frames(), True
            for call in reversed(calls):
                show_call(call, frames)
    before.select()
    if not is_told:
        print("  no calls are open")


class ContextCommand(gdb.Command):
    """The calls that are open, with their context values, branch values and locals:
tracetape-context, or tracetape-context all, of all threads."""

    def __init__(self):
        super().__init__("tracetape-context", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        if argument.strip() not in ("", "all"):
            raise gdb.GdbError("tracetape-context, or tracetape-context all")
        if gdb.selected_thread() is None:
            raise gdb.GdbError("no program is there: run one, or open a dump of one")
        modules, before = Modules(), gdb.selected_thread()
        found = layouts(modules)
        if not found:
            raise gdb.GdbError("no runtime of tracetape keeps calls in this program")
        threads = sorted(gdb.selected_inferior().threads(), key=lambda one: one.num) \
            if argument.strip() == "all" else [before]
        for thread in threads:
            thread.switch()
            show_thread(found, modules)
        before.switch()


ContextCommand()
