"""Kills at random moments, and what must be there after each of them: see test_kills.py.

Truth is what the program says of itself (programs/p_killed.c): it makes the same calls in each run,
thread by thread, and counts in a shared file those whose hooks have run. So a thread's events in
the trace must be the beginning of its known sequence, as long as the count says, or one longer."""
import concurrent.futures
import os
import random
import shutil
import signal
import struct
import time
from dataclasses import dataclass
from pathlib import Path

import setting
import traces

LOG_BYTES, SLOTS_AT, SLOT, CODES, EXIT = 8192, 256, 64, 11, 128
CODE_MAIN = 8
RECOVERED = (0, 3)  # exit statuses of recover; 3: with a loss that it names
TARGETS = ("program", "recorder", "both", "recorder, then program", "group")


@dataclass
class Shape:
    """How the program runs: what p_killed is given."""
    name: str
    processes: int
    threads: int
    events: int
    spin: int
    weight: int = 1
    floods: bool = False  # more events than the buffers hold when nobody drains them

    def words(self, program):
        return [program, self.processes, self.threads, self.events, self.spin]


SHAPES = (Shape("threads", 1, 4, 3000, 8000, weight=10),
          Shape("processes", 3, 2, 2000, 4000, weight=6),
          Shape("short", 1, 2, 200, 2000, weight=3),
          Shape("flood", 1, 2, 60000, 0, weight=1, floods=True))


class Truth:
    """Each thread's whole sequence of one shape, and how long a recording of it takes."""

    def __init__(self, shape, program, work):
        self.shape, folder = shape, Path(work, f"reference-{shape.name}")
        folder.mkdir()
        log = folder / "log"
        make_log(log)
        env = setting.environment(KILL_LOG=log, KILL_REFERENCE=folder)
        done = setting.run(shape.words(program), env=env)
        if done.status:
            raise RuntimeError(f"{done.command_line}: status {done.status}")
        self.own_seconds = done.wall
        self.sequences = {int(p.name): p.read_bytes() for p in folder.iterdir()
                          if p.name.isdigit()}
        self.sequences[0] += bytes([CODE_MAIN | EXIT])
        walls = []
        for i in range(3):
            make_log(log)
            out = folder / f"whole.{i}"
            done = setting.run(setting.record_words(out, shape.words(program)), cwd=folder,
                               env=setting.environment(KILL_LOG=log))
            walls.append(done.wall)
        self.seconds = sorted(walls)[1]


def make_log(path):
    path.write_bytes(bytes(LOG_BYTES))


class Log:
    """The shared file: who runs where, and how far each got."""

    def __init__(self, path):
        self.path = path

    def main_pid(self):
        with open(self.path, "rb") as file:
            return struct.unpack("<I", file.read(4))[0]

    def read(self):
        data = self.path.read_bytes()
        addresses = struct.unpack_from(f"<{CODES}Q", data, 8)
        slots = {}
        for number in range((LOG_BYTES - SLOTS_AT) // SLOT):
            committed, _, pid, tid = struct.unpack_from("<QQII", data, SLOTS_AT + number * SLOT)
            if pid:
                slots[number] = committed, pid, tid
        return addresses, slots


# ---- one kill ----

def send(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def strike(target, recorder, log, draw):
    """Kills what is asked for; a program that has not begun yet cannot be killed alone."""
    if target == "group":
        setting.kill_group(recorder)
        return target
    pid = log.main_pid()
    if target in ("program", "both") and pid == 0:
        target = "recorder"
    if target in ("program", "both"):
        send(pid)
    if target in ("recorder", "both"):
        recorder.kill()
    if target == "recorder, then program":
        recorder.kill()
        time.sleep(draw.uniform(0, 0.02))
        if log.main_pid():
            send(log.main_pid())
    return target


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def wait_gone(log, seconds=60):
    """Until no process of the program is left: the recorder's death must not hold it up."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        _, slots = log.read()
        pids = {pid for _, pid, _ in slots.values()} | {log.main_pid()} - {0}
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.002)
    return False


def sequence_of(stream, codes):
    """(codes of enters and exits up to the first gap, problems) of one stream."""
    found, problems = bytearray(), []
    for kind, address in stream:
        if kind in ("enter", "exit"):
            code = codes.get(address)
            if code is None:
                problems.append(f"an event of an unknown function {address:#x}")
                break
            found.append(code | (EXIT if kind == "exit" else 0))
        elif kind == "gap":
            break  # what follows is checked by the count of what is missing
        elif kind not in ("open", "switch", "marker"):  # facts of threads and processes
            problems.append(f"an event of kind '{kind}'")
    return bytes(found), problems


def read_streams(path):
    """{(pid, tid): [(kind, address)]} of a trace."""
    about = traces.info(path)
    names = {s["stream"]: (s["pid"], s["tid"]) for s in about["stream_list"]}
    found = {name: [] for name in names.values()}
    done = setting.tracetape("dump", "--format", "csv", path)
    if done.status:
        raise traces.TraceError(f"dump: {done.err.decode(errors='replace')}")
    for line in done.out.decode().splitlines()[1:]:
        stream, _, _, kind, _, address, name = line.split(",", 6)
        if name == traces.RECORDER:
            continue
        found[names[int(stream)]].append((kind, int(address, 16) if address else 0))
    return found, about


def check_slot(number, slot, streams, codes, truth, about, drained):
    committed, pid, tid = slot
    label = f"slot {number} ({committed} committed)"
    whole = truth.sequences[number]
    events, problems = sequence_of(streams.get((pid, tid), []), codes)
    problems = [f"{label}: {p}" for p in problems]
    if not whole.startswith(events):
        at = next(i for i, (a, b) in enumerate(zip(events + b"?", whole + b"?")) if a != b)
        problems.append(f"{label}: event {at} of {len(events)} is not what the program did")
    if len(events) > committed + 1:
        problems.append(f"{label}: {len(events)} events: more than the program made")
    missing = committed - len(events)
    # With its recorder dead a flood finds no room, and the count of that dies with the program.
    excused = truth.shape.floods and (traces.lost(about) >= missing or not drained)
    if missing > 0 and not excused:
        problems.append(f"{label}: {len(events)} events: {missing} are missing, "
                        f"{traces.lost(about)} counted as lost")
    return problems


def check_trace(path, log, truth, drained):
    problem = traces.verify(path)
    if problem:
        return [problem]
    addresses, slots = log.read()
    codes = {address: code for code, address in enumerate(addresses)}
    streams, about = read_streams(path)
    problems = []
    if not truth.shape.floods and about["gaps"]:
        problems.append(f"{about['gaps']} gaps, {traces.lost(about)} events lost")
    for number, slot in slots.items():
        problems += check_slot(number, slot, streams, codes, truth, about, drained)
    known = {(pid, tid) for _, pid, tid in slots.values()}
    problems += [f"a stream of thread {name}, which never ran" for name, events in streams.items()
                 if events and name not in known]
    return problems


def rebuild(out, log):
    """The trace that there is to check, and what went wrong on the way to it."""
    remains = out.with_name(out.name + ".recording")
    if remains.exists():
        target, is_empty = out.with_name("recovered.ttape"), not any(remains.iterdir())
        done = setting.tracetape("recover", remains, "-o", target)
        if done.status in RECOVERED and target.is_file():
            return target, []
        if is_empty and out.is_file() and b"nothing is left to recover" in done.err:
            return out, []  # killed just before it would have removed the folder
        if not log.main_pid():
            return None, []  # killed before the program began: nothing to recover
        return None, [f"recover ended with {done.status}: {done.err.decode(errors='replace')}"]
    if out.is_file():
        return out, []
    committed = any(slot[0] for slot in log.read()[1].values())
    return None, ["neither a trace nor a recording is left"] if committed else []


def survivor_problems(target, recorder, done):
    """A recorder that was not killed ends by itself and says how the program ended."""
    if target != "program":
        return []
    if done.timed_out:
        return ["the recorder does not end after its program was killed"]
    ended = done.status in (setting.DIED + signal.SIGKILL, 0)
    return [] if ended else [f"record ended with {done.status}: "
                             f"{done.err.decode(errors='replace')}"]


def wait_until(draw, truth, log, recorder):
    """A moment: mostly while the program runs, also before and after that. Says which, in ms."""
    if draw.random() < 0.2:
        delay = draw.uniform(0, truth.seconds * 1.05)
        time.sleep(delay)
        return f"{delay * 1e3:.1f} ms after the recorder's start"
    until = time.monotonic() + 60
    while not log.main_pid() and recorder.poll() is None and time.monotonic() < until:
        time.sleep(0.0003)
    delay = draw.uniform(0, truth.own_seconds * 1.2)
    time.sleep(delay)
    return f"{delay * 1e3:.1f} ms after the program's start"


def one_kill(number, seed, truth, program, work):
    """(label, problems) of one run and its kill; keeps its folder where something is wrong."""
    draw = random.Random(f"{seed}/{number}")
    shape, folder = truth.shape, Path(work, f"kill-{number}")
    folder.mkdir()
    log, out = Log(folder / "log"), folder / "out.ttape"
    make_log(log.path)
    words = setting.record_words(out, shape.words(program))
    recorder = setting.start(words, cwd=folder, env=setting.environment(KILL_LOG=log.path))
    target = draw.choice(TARGETS)
    moment = wait_until(draw, truth, log, recorder)
    done_as = strike(target, recorder, log, draw)
    done = setting.finish(recorder, words, 60)
    problems = survivor_problems(done_as, recorder, done)
    if not wait_gone(log):
        problems.append("the program does not end")
    trace, more = rebuild(out, log)
    problems += more
    if trace:
        problems += check_trace(trace, log, truth, done_as == "program")
    setting.forget_arena(recorder.pid)
    if done_as == "recorder" and log.main_pid() and not log.path.read_bytes()[4]:
        problems.append("the program did not come to its end after the recorder was killed")
    if not problems:
        shutil.rmtree(folder, ignore_errors=True)
    return f"kill {number}, {shape.name}, {done_as}, {moment}", problems


def choose(truths, number, seed):
    draw = random.Random(f"{seed}-{number}")
    return draw.choices(truths, [t.shape.weight for t in truths])[0]


def run(count, seed, first=0, at_once=3):
    """`count` kills; ends the test. They mostly wait: `at_once` may be more than the cores."""
    setting.need_verb("record", "recover")
    setting.go_apart()
    checks = setting.Checks("kills")
    program = setting.build("p_killed.c", log=False)
    with setting.work_dir("ttape-kills.") as work:
        truths = [Truth(shape, program, work) for shape in SHAPES]
        print(f"seed {seed}; recording takes "
              f"{', '.join(f'{t.shape.name} {t.seconds * 1e3:.0f} ms' for t in truths)}")
        targets = {}

        def task(number):
            return one_kill(number, seed, choose(truths, number, seed), program, work)
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            for label, problems in pool.map(task, range(first, first + count)):
                who = label.split(", ", 2)[2].rsplit(", ", 1)[0]
                targets[who] = targets.get(who, 0) + 1
                checks.that(not problems, label, *problems)
                if len(checks.problems) > 20:
                    break
        print(f"{sum(targets.values())} kills: {targets}")
        if checks.problems and os.environ.get("TTAPE_KEEP"):
            shutil.copytree(work, os.environ["TTAPE_KEEP"], dirs_exist_ok=True)
    checks.verdict()
