"""uftrace recordings for the bench: unpacking, cutting to one task, columns, synthetic ones.

  DIR/TID.dat   records of 16 bytes: u64 time in ns, u64 type:2 more:1 magic:3 depth:10 address:48
  DIR/info      40-byte header, then "key:value" lines
  DIR/task.txt, sid-*.map, *.sym   tasks, mappings, symbols"""
import array
import shutil
import struct
import subprocess
from pathlib import Path

RECORD_BYTES = 16
MORE = 4
MAGIC = 5 << 3
ENTER, EXIT = 0, 1
MILLION = 1_000_000
SIZED = ("lua", "sqlite", "tcc", "redis", "dash", "lua_jmp")  # lua_args carries payloads
SATURATED = 0xFFFFFFFF


def corpus_dir(environment, source):
    return Path(environment.get("TTAPE_CORPUS") or Path(source) / ".." / "shared" / "corpus")


def archive(corpus, name):
    return Path(corpus) / f"{name}.uftrace.tar.xz"


def available(corpus):
    """Names of the recordings there are, ours first, then any others (held-back ones)."""
    found = {p.name.split(".")[0] for p in Path(corpus).glob("*.uftrace.tar.xz")} - {"lua_args"}
    return [n for n in SIZED if n in found] + sorted(found - set(SIZED))


def unpack(corpus, name, into):
    """The recording's directory below `into`; unpacked once."""
    target = Path(into) / name
    if not target.is_dir():
        work = Path(into) / f"{name}.unpacking"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        subprocess.run(["tar", "-xJf", archive(corpus, name), "-C", work], check=True)
        inside = [p.parent for p in work.rglob("info")]
        inside[0].rename(target)
        shutil.rmtree(work, ignore_errors=True)
    return target


def tasks(directory):
    """(tid, bytes) of each task's records, largest first; the scheduler's files are not tasks."""
    sizes = [(p.stem, p.stat().st_size) for p in Path(directory).glob("*.dat") if p.stem.isdigit()]
    return sorted(sizes, key=lambda task: (-task[1], int(task[0])))


def records(directory, tid, limit=None):
    """The first `limit` records of a task, as bytes."""
    with open(Path(directory) / f"{tid}.dat", "rb") as file:
        data = file.read() if limit is None else file.read(limit * RECORD_BYTES)
    return data[:len(data) // RECORD_BYTES * RECORD_BYTES]


def words(data):
    """(times, second words) of records; refuses records that carry payloads."""
    numbers = array.array("Q")
    numbers.frombytes(data)
    times, seconds = numbers[0::2], numbers[1::2]
    if any(word & MORE for word in seconds):
        raise ValueError("records with payloads: this is no recording for sizes")
    return times, seconds


def ids(seconds, numbers=None):
    """Event ids by first appearance, u32: enter and exit of a function are two events."""
    numbers = {} if numbers is None else numbers
    column = array.array("I")
    for word in seconds:
        column.append(numbers.setdefault((word >> 16, word & 3), len(numbers)))
    return column


def differences(times):
    """Time differences, u32, saturating at both ends; the first is 0."""
    column, last = array.array("I"), times[0] if times else 0
    for time in times:
        column.append(min(max(time - last, 0), SATURATED))
        last = time
    return column


def columns(data):
    times, seconds = words(data)
    return ids(seconds).tobytes(), differences(times).tobytes()


def copy_definitions(source, target, keep=None):
    """All but the records; of task.txt the sessions, and what `keep` names."""
    target.mkdir(parents=True)
    for path in sorted(Path(source).iterdir()):
        if path.suffix == ".dat" or not path.is_file():
            continue
        if path.name != "task.txt" or keep is None:
            shutil.copyfile(path, target / path.name)
            continue
        lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines(True)
        kept = [s for s in lines
                if s.startswith(("SESS", "DLOP")) or f"tid={keep} " in s or f" pid={keep} " in s]
        (target / path.name).write_text("".join(kept), encoding="utf-8", errors="surrogateescape")


def cut(source, target, limit=None, repeat=1):
    """A recording of just the largest task's first `limit` events, `repeat` times over with the
    times moved on; made once. Returns the task's id."""
    source, target = Path(source), Path(target)
    tid = tasks(source)[0][0]
    if target.is_dir():
        return tid
    work = target.with_name(target.name + ".making")
    shutil.rmtree(work, ignore_errors=True)
    copy_definitions(source, work, tid)
    data = records(source, tid, limit)
    with open(work / f"{tid}.dat", "wb") as file:
        file.write(data)
        times, seconds = words(data) if repeat > 1 else ((), ())
        for turn in range(1, repeat):
            shift = turn * (times[-1] - times[0] + 1000)
            both = array.array("Q", bytes(len(data)))
            both[0::2] = array.array("Q", (t + shift for t in times))
            both[1::2] = seconds
            both.tofile(file)
    work.rename(target)
    return tid


def without_largest(source, target):
    """A recording of all tasks but the largest; made once. Returns the other tasks' ids."""
    source, target = Path(source), Path(target)
    others = sorted((tid for tid, _ in tasks(source)[1:]), key=int)  # as they were forked
    if not target.is_dir():
        work = target.with_name(target.name + ".making")
        shutil.rmtree(work, ignore_errors=True)
        copy_definitions(source, work)
        for tid in others:
            shutil.copyfile(source / f"{tid}.dat", work / f"{tid}.dat")
        work.rename(target)
    return others


# ---- recordings from nothing ----

BASE = 0x400000
FIRST_FUNCTION = 0x1000


def write(target, events, functions, tid=4242):
    """A one-task recording; `events` yields (time, ENTER or EXIT, depth, function)."""
    target = Path(target)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    header = b"Ftrace!\0" + struct.pack("<IHBBQQHHI", 4, 40, 1, 2, 0x62, 3, 1024, 0, 0)
    lines = "exename:/synthetic/program\nbuild_id:\nexit_status:0\ncmdline:synthetic\n"
    (target / "info").write_bytes(header + lines.encode())
    (target / "task.txt").write_text(
        f'SESS timestamp=0.000000001 pid={tid} sid=0123456789abcdef exename="/synthetic/program"\n'
        f"TASK timestamp=0.000000002 tid={tid} pid={tid}\n", encoding="ascii")
    end = BASE + FIRST_FUNCTION + 16 * functions + 0x1000
    (target / "sid-0123456789abcdef.map").write_text(
        f"{BASE:012x}-{end:012x} r-xp 00000000 00:00 0                          "
        "/synthetic/program\n", encoding="ascii")
    names = [f"{FIRST_FUNCTION + 16 * f:016x} T function_{f}\n" for f in range(functions)]
    names.append(f"{FIRST_FUNCTION + 16 * functions:016x} ? __sym_end\n")
    (target / "program.sym").write_text("# path name: /synthetic/program\n# build-id: \n"
                                        + "".join(names), encoding="ascii")
    numbers = array.array("Q")
    for time, kind, depth, function in events:
        address = BASE + FIRST_FUNCTION + 16 * function
        numbers.append(time)
        numbers.append(address << 16 | (depth & 1023) << 6 | MAGIC | kind)
    (target / f"{tid}.dat").write_bytes(numbers.tobytes())
    return len(numbers) // 2


class Draw:
    """Random numbers that are the same with every Python."""

    def __init__(self, seed):
        self.state = seed

    def bits(self, count):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return self.state >> (64 - count)

    def below(self, limit):
        return self.bits(32) * limit >> 32


def uniform_events(count, functions, seed, balanced):
    """Uniform ids and 20-bit differences: nothing to predict. Balanced: each call returns at once;
    otherwise enter, exit and function are drawn for every record by itself."""
    draw = Draw(seed)
    time = 1_000_000_000
    function, depth = 0, 0
    for i in range(count):
        time += draw.bits(20)
        if balanced:
            if i % 2 == 0:
                function = draw.below(functions)
            yield time, i % 2, 0, function
            continue
        kind = draw.bits(1) if depth else ENTER
        depth -= kind
        yield time, kind, min(depth, 1023), draw.below(functions)
        depth += 1 - kind


def program_events(count, functions, seed):
    """Calls as a program makes them: a random call graph, times that depend on the place."""
    draw = Draw(seed)
    callees = [[draw.below(functions) for _ in range(4)] for _ in range(functions)]
    cost = [20 + draw.below(400) for _ in range(functions)]
    time, stack, made = 1_000_000_000, [0], 1
    yield time, ENTER, 0, 0
    while made < count:
        top = stack[-1]
        time += cost[top] + draw.below(8)
        choice = draw.below(16)
        if len(stack) < 24 and (len(stack) == 1 or choice < 7):
            called = callees[top][0 if choice < 5 else draw.below(4)]
            yield time, ENTER, len(stack), called
            stack.append(called)
        else:
            stack.pop()
            yield time, EXIT, len(stack), top
        made += 1
