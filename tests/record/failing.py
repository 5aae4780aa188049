"""Recordings in which calls fail (W1, W2), several at once, and what must hold of each: the program
lives, what is on disk verifies, every call that it made is there or counted as lost, and
partitions that were written before the failure are what they were."""
import concurrent.futures
import json
import random
import struct
import time

import faults
import setting
import traces

AT_ONCE = 3
SLOW_SECONDS = 280
ENTRY = struct.Struct("<IIQ")  # of the journal: spec/recording.md, 6.2
CHECKPOINT, KINDS = 6, 8
OFF = ("openat", "mmap", "madvise", "fstat", "newfstatat", "getpid")  # without them, no runtime
STEADY = ["enter", *["enter", "exit"] * 3, "exit"]  # p_steady's `node`, again and again
busy = []  # of each run that was compared, whether its program had time for calls


class Runs:
    """Tasks (label, function); with seconds: in an order of chance, as many as there is time
    for."""

    def __init__(self, seconds=None, at_once=AT_ONCE):
        self.seconds, self.at_once, self.tasks = seconds, at_once, []

    def add(self, function, *words):
        self.tasks.append((function, words))

    def run(self, checks):
        """Runs them; says how many."""
        tasks, until = list(self.tasks), None
        if self.seconds:
            random.Random(len(tasks)).shuffle(tasks)
            until = time.monotonic() + self.seconds
        done = 0

        def step(task):
            if until and time.monotonic() > until:
                return 0
            task[0](*task[1])
            return 1
        with concurrent.futures.ThreadPoolExecutor(self.at_once) as pool:
            for count in pool.map(step, tasks):
                done += count
        print(f"{checks.name}: {done} of {len(tasks)} runs", flush=True)
        checks.that(done > 0, "nothing was tried")
        if busy:
            checks.that(sum(busy) * 2 > len(busy), f"{sum(busy)} of {len(busy)} programs called")
        return done


# ---- what was whole before ----

def journal_files_of(data):
    """{number of a trace file: whole partitions} by the last checkpoint in a journal's bytes; None:
    there is no checkpoint."""
    at, found = 0, None
    while at + ENTRY.size <= len(data):
        kind, size, _ = ENTRY.unpack_from(data, at)
        at += ENTRY.size
        if not 0 < kind <= KINDS or at + size > len(data):
            break
        if kind == CHECKPOINT:
            found = {number: count for number, _, count in
                     (struct.unpack_from("<IIQ", data, i) for i in range(at, at + size, 16))}
        at += size
    return found


def journal_files(path):
    return (journal_files_of(path.read_bytes()) if path.is_file() else None) or {}


def rows_of(path):
    """{stream: its events' facts} of a trace, whole or not, and how many partitions it has."""
    about = setting.tracetape("info", "--json", path)
    done = setting.tracetape("dump", "--format", "csv", path)
    if about.status not in faults.RECOVERED or done.status not in faults.RECOVERED:
        raise traces.TraceError(f"{path}: info {about.status}, dump {done.status}: {done.err!r}")
    rows = {}
    for line in done.out.decode().splitlines()[1:]:
        stream, _, event = line.split(",", 2)
        rows.setdefault(stream, []).append(event.rsplit(",", 1)[0])
    return rows, json.loads(about.out)["partitions"]


def check_sealed(checks, outcome, recovered):
    """The partitions of which the journal speaks are in the file, whole; what is recovered begins
    with them. Returns how many there are."""
    first = outcome.remains / "trace.0"
    told = journal_files(outcome.remains / "journal").get(0, 0)
    if recovered == outcome.trace or told == 0:
        return 0
    rows, count = rows_of(first)
    checks.that(count >= told, f"{outcome.label}: {count} partitions of {told} are whole")
    found, _ = rows_of(recovered)
    for stream, events in rows.items():
        same = found.get(stream, [])[:len(events)] == events
        checks.that(same or count > told, f"{outcome.label}: stream {stream} does not begin with "
                    f"the {len(events)} events that were written")
    return told


def check_beginning(checks, label, trace):
    """Each thread of p_steady has a beginning of what it does, without a hole that no gap tells
    of."""
    rows, _ = rows_of(trace)
    for stream, events in rows.items():
        parts = [event.split(",") for event in events]
        cut = next((i for i, part in enumerate(parts) if part[1] == "gap"), len(parts))
        kinds = [part[1] for part in parts[:cut] if int(part[2] or 0) > 0 and part[1] != "marker"]
        wanted = STEADY * (len(kinds) // len(STEADY) + 1)
        checks.that(kinds == wanted[:len(kinds)],
                    f"{label}: stream {stream} has not the beginning of what its thread did")


# ---- one run ----

def check(checks, host, outcome, may_be_off=False, nameless=False, **lives):
    """All of it. The trace that there is, or None. may_be_off: the runtime may have stayed out of
    the program; then nothing at all is recorded. nameless: names may be missing."""
    label = outcome.label
    if not host.check_lives(checks, outcome, **lives) or outcome.status is None:
        setting.forget_arena(outcome.recorder)
        return None
    trace = faults.recover(checks, outcome)
    if trace is None:
        # what was recorded can be gone only with a word about it
        checks.that(outcome.result.said(), f"{label}: nothing is left, and nothing was said")
        return None
    about, wanted = traces.info(trace), host.made(outcome)
    if may_be_off and trace == outcome.trace and about["events"] == about["streams"] == 0:
        return trace
    # a recorder that failed has said so, and from then on nothing is recorded, nor counted
    runs_alone = b"not recorded: " in outcome.result.err  # from then on, with a status of its own
    has_stopped = runs_alone or (outcome.result.status == faults.NOT_RECORDED and
                                 bool(outcome.result.said()))
    busy.append(sum(wanted.values()) > 0)
    nameless = nameless or any("no symbols of" in line for line in outcome.result.said())
    if not faults.check_calls(checks, label, trace, wanted, loss=True, nameless=nameless,
                              has_stopped=has_stopped):
        print(f"    {outcome.result.status} {outcome.result.err!r} {about}", flush=True)
    if traces.lost(about) > 0 and trace == outcome.trace:
        checks.equal(outcome.result.status, faults.LOSS, f"{label}: status with events lost")
    check_sealed(checks, outcome, trace)
    if has_stopped and "leaf" in wanted:
        check_beginning(checks, label, trace)
    return trace


def need():
    setting.need_verb("record", "recover")
    faults.need_strace()


# ---- W1 ----

def fail_allocations(checks, runs, host, most):
    """The k-th malloc or mmap of the recorder."""
    counts = faults.calls_of_recorder(host)
    checks.that(counts.get("malloc", 0) > 0, f"the recorder's calls were not seen: {counts}")

    def one(name, number, plus):
        label = f"recorder: {name} {number}{plus} fails"
        env = faults.disturbed(f"{name}:error={faults.ERRNO['ENOMEM']}:{number}{plus}")
        check(checks, host, host.run(label, env=env), nameless=True)
    for name in ("malloc", "mmap"):
        for number in faults.spread(counts.get(name, 0), most or counts.get(name, 0)):
            for plus in ("", "+"):
                runs.add(one, name, number, plus)


def fail_in_program(checks, runs, host, rules):
    """The k-th call that the runtime makes in the program; rules: {call: errors}."""
    found = faults.runtime_calls(host, tuple(rules))
    checks.that(found, "the runtime's calls were not seen")

    def one(name, number, plus, error):
        label = f"runtime: {name} {number}{plus}: {error}"
        rule = f"inject={name}:error={error}:when={number}{plus}"
        outcome = host.run(label, inner=faults.strace_words(f"trace={name}", rule))
        check(checks, host, outcome, may_be_off=name in OFF, nameless=name == "readlink",
              may_refuse=False)
    for name, numbers in found.items():
        for number in numbers:
            for error in rules[name]:
                runs.add(one, name, number, "", error)
                if error == "ENOMEM":
                    runs.add(one, name, number, "+", error)
    return found


def environment_without_memory(checks, host):
    """Between fork and exec the recorder's child asks for no memory: without it, the program's
    environment did not name the arena, and it ran unrecorded without a word."""
    folder = host.folder()
    log = folder / "calls"
    host.run("calls by process", ["--no-symbols"], env=faults.disturbed(log=log), folder=folder)
    lines = log.read_text(encoding="ascii").splitlines()
    # a child counts on from its parent's number
    twice = sorted({line for line in lines if lines.count(line) > 1})
    checks.that(len(lines) > 100, f"environment_without_memory: only {len(lines)} calls were seen")
    checks.equal(twice, [], "environment_without_memory: calls of the child")


def off_is_said(checks, host):
    """A runtime that cannot come into the program: the recorder says that it has nothing."""
    inner = faults.strace_words("trace=madvise", "inject=madvise:error=ENOMEM:when=1+")
    outcome = host.run("runtime stays out", inner=inner, quiet=False)
    host.check_lives(checks, outcome, may_refuse=False)
    checks.that(any("nothing was recorded" in line for line in outcome.result.said()),
                f"{outcome.label}: says {outcome.result.said()}")


def without_memory(most, seconds=None):
    """W1; ends the test. most: calls of a kind that are tried; None: each."""
    need()
    checks, runs = setting.Checks("W1"), Runs(seconds)
    with setting.work_dir() as work:
        host = faults.Host(work, "p_calls.c", [5])
        fail_allocations(checks, runs, host, most)
        calls = ("mmap", "madvise", "mprotect", "openat", "prctl", "sigaltstack", "rt_sigaction")
        host = faults.Host(work, "p_calls.c", [3])
        found = fail_in_program(checks, runs, host, {name: ("ENOMEM",) for name in calls})
        checks.that(found.get("mmap"), f"the runtime's calls were not seen: {found}")
        environment_without_memory(checks, host)
        off_is_said(checks, host)
        runs.run(checks)
        host.check_starts(checks)
    checks.verdict()


# ---- W2 ----

ERRORS = {"write": ("ENOSPC", "EIO", "EINTR"), "pwrite": ("ENOSPC", "EDQUOT", "EAGAIN"),
          "writev": ("ENOSPC", "EINTR"), "open": ("EMFILE", "EACCES", "ENFILE"),
          "fsync": ("EIO",), "fdatasync": ("EIO",), "ftruncate": ("EIO", "EROFS"),
          "ftruncate64": ("EIO",), "fallocate": ("ENOSPC", "EINTR"),
          "fallocate64": ("ENOSPC",), "rename": ("EACCES", "ENOSPC"), "renameat": ("EROFS",),
          "renameat2": ("EROFS",), "link": ("EACCES",), "linkat": ("EACCES",),
          "mkdir": ("EROFS", "ENOSPC"), "mkdirat": ("EROFS",), "unlink": ("EACCES",),
          "unlinkat": ("EACCES",)}
PASSING = ("EINTR", "EAGAIN")  # these a second try gets over
SMALL = ("--partition-events", "1000")  # so that there are partitions before the failure
LATE = 24  # failures, of which the later half is tried where none had partitions before it


def fail_calls(checks, runs, host, most):
    """The k-th call of every kind of the recorder; returns where it counts the whole partitions
    before each failure, and what tries late ones, which have some more often."""
    counts = faults.calls_of_recorder(host, SMALL)
    checks.that(counts.get("write", 0) + counts.get("pwrite", 0) > 0,
                f"the recorder's calls were not seen: {counts}")
    sealed = []

    def one(name, number, plus, error):
        label = f"recorder: {name} {number}{plus}: {error}"
        outcome = host.run(label, SMALL, env=faults.disturbed(
            f"{name}:error={faults.ERRNO[error]}:{number}{plus}"))
        trace = check(checks, host, outcome, nameless=name == "open")
        if trace not in (None, outcome.trace):
            sealed.append(journal_files(outcome.remains / "journal").get(0, 0))
        if error in PASSING and trace:
            checks.that(outcome.result.status in (0, faults.LOSS),
                        f"{label}: the recorder gave up: {outcome.result.status}",
                        outcome.result.err.decode(errors="replace"))
    for name, errors in ERRORS.items():
        for number in faults.spread(counts.get(name, 0), most or counts.get(name, 0)):
            for error in errors:
                runs.add(one, name, number, "", error)
                if error not in PASSING:
                    runs.add(one, name, number, "+", error)

    def late():
        for number in faults.spread(counts.get("pwrite", 0), LATE)[LATE // 2:]:
            if not any(sealed):
                one("pwrite", number, "+", "EDQUOT")
    return sealed, late


def spilled_again(checks, host):
    """A slot that cannot be written is written in the next round. The block that says which
    process it is, and what it has mapped, then came behind others: calls without names."""
    for error in ("EAGAIN", "ENOSPC"):
        for number in (1, 1, 1, 2, 2, 2, 3):
            label = f"spilled_again: pwrite {number}: {error}"
            plan = f"pwrite:error={faults.ERRNO[error]}:{number}"
            outcome = host.run(label, SMALL, env=faults.disturbed(plan))
            host.check_lives(checks, outcome, may_refuse=False)
            if checks.that(faults.recover(checks, outcome) == outcome.trace, f"{label}: no trace"):
                faults.check_calls(checks, label, outcome.trace, host.made(outcome))


def with_errors(most, seconds=None):
    """W2; ends the test."""
    need()
    checks, runs = setting.Checks("W2"), Runs(seconds)
    with setting.work_dir() as work:
        host = faults.Host(work, "p_steady.c", [40, 2, 20])
        spilled_again(checks, host)
        sealed, late = fail_calls(checks, runs, host, most)
        reads = ("read", "fstat", "newfstatat", "close", "gettid", "getpid", "readlink")
        fail_in_program(checks, runs, faults.Host(work, "p_calls.c", [3]),
                        {"openat": ("EMFILE", "EINTR"), **{name: ("EIO",) for name in reads}})
        runs.run(checks)
        late()
        # where few calls are tried it is chance whether a partition was whole by then
        checks.that(any(sealed) or most, f"failures behind whole partitions: {sealed}")
        print(f"W2: whole partitions before the failure: {sorted(sealed)}"
              f"{'' if any(sealed) else ': what becomes of these was NOT TESTED'}")
    checks.verdict()
