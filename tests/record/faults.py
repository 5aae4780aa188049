"""What the tests of faults share: a program whose host must not notice, the shim that disturbs the
recorder, strace for the program's own system calls, and what may be left on disk afterwards."""
import itertools
import os
import shlex
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import ownlog
import setting
import traces

ERRNO = {"EIO": 5, "EAGAIN": 11, "ENOMEM": 12, "EACCES": 13, "EINTR": 4, "ENFILE": 23, "EMFILE": 24,
         "ENOSPC": 28, "EROFS": 30, "EDQUOT": 122}
RECOVERED = (0, 3)
NOT_RECORDED = 4
LOSS = 3
HINT = "see tracetape recover"  # a line of that belongs to the message before it
NUMBERS = itertools.count(1)
# So that the program's own end is known, whatever becomes of the recorder.
WRAPPED = ["sh", "-c", 'echo >>"$OWN_STARTS"; { "$@"; echo $? >"$OWN_STATUS"; } | cat >"$OWN_OUT"',
           "sh"]


@dataclass
class Outcome:
    """One faulted recording: what the recorder said, what the program's end was, what is on
    disk."""
    label: str
    result: setting.Result
    folder: Path
    trace: Path
    status: int  # of the program, None: it did not come to its end
    out: bytes
    recorder: int  # its process id; 0: its arena is somebody else's to remove

    @property
    def remains(self):
        return self.trace.with_name(self.trace.name + ".recording")


class Host:
    """A program, its untraced run, and runs of it under faults."""

    def __init__(self, work, name, args=(), timeout=120, flags=("-O2",), env=None, libraries=()):
        self.program = setting.build(name, flags=flags, libraries=libraries)
        self.work, self.args, self.timeout = Path(work), list(args), timeout
        self.env = dict(env or {})
        self.logged = None
        self.alone = self.run("alone", traced=False)
        if self.alone.status is None:
            raise RuntimeError(f"{self.alone.result.command_line}: {self.alone.result.err!r}")

    def folder(self):
        path = self.work / f"{self.program.name}.{next(NUMBERS)}"
        path.mkdir()
        path.chmod(0o777)
        return path

    def run(self, label, options=(), env=None, prefix=(), inner=(), traced=True, output=None,
            folder=None, before=None, then=None, wrapped=True, quiet=True):
        """prefix: a command around the recorder; inner: one around the program. then(process,
        outcome): called while it runs. Not `wrapped`: the program's end is the recorder's."""
        folder = folder or self.folder()
        trace = Path(output) if output else folder / "out.ttape"
        facts = {"OWN_OUT": folder / "stdout", "OWN_STATUS": folder / "status",
                 "OWN_STARTS": folder / "starts", "OWN_REPORT": folder / "report",
                 **self.env, **(env or {})}
        words = [*(WRAPPED if wrapped else ()), *inner, self.program, *self.args]
        if traced:
            words = setting.record_words(trace, words, *options, quiet=quiet)
        words = [*prefix, *words]
        process = setting.start(words, cwd=folder, env=setting.environment(**facts), before=before)
        outcome = Outcome(label, None, folder, trace, None, b"", process.pid)
        if then:
            then(process, outcome)
        outcome.result = setting.finish(process, words, self.timeout)
        status = folder / "status"
        if not wrapped and outcome.result.status != NOT_RECORDED:
            outcome.status, outcome.out = outcome.result.status, outcome.result.out
        if status.is_file() and status.read_text(encoding="ascii").strip():
            outcome.status = int(status.read_text(encoding="ascii"))
            outcome.out = (folder / "stdout").read_bytes()
        return outcome

    def check_starts(self, checks):
        """No command has begun twice, as it would where a process of the recorder becomes it too.
        The second one may begin late: for the end of a test."""
        for file in sorted(self.work.glob(f"{self.program.name}.*/starts")):
            checks.equal(len(file.read_bytes()), 1, f"{file.parent.name}: starts of the command")

    def made(self, outcome):
        """{function: calls} as the program says: its report of that run, or else its log of
        another one, alone."""
        report = outcome.folder / "report"
        if report.is_file():
            lines = report.read_text(encoding="ascii").splitlines()
            return {name: int(count) for name, count in (line.split() for line in lines)}
        if self.logged is None:
            log = self.folder() / "log"
            ownlog.create(log)
            self.run("alone, logged", env={"OWN_LOG": log}, traced=False)
            self.logged = Counter(text for _, kind, text in ownlog.entries(log) if kind == "E")
        return self.logged

    # ---- what must hold ----

    def check_lives(self, checks, outcome, may_refuse=True, messages=1):
        """The program came to its own end with its own output; or the recorder refused to begin."""
        label, result = outcome.label, outcome.result
        if not checks.that(not result.timed_out, f"{label}: does not end", result.command_line):
            return False
        refused = may_refuse and outcome.status is None and result.status == NOT_RECORDED \
            and not (outcome.folder / "stdout").exists()
        if refused:
            checks.that(result.said(), f"{label}: refuses without a word")
            return True
        checks.equal(outcome.status, self.alone.status, f"{label}: the program's status "
                     f"(recorder: {result.status} {result.err.decode(errors='replace')[-300:]})")
        checks.equal(outcome.out, self.alone.out, f"{label}: the program's output")
        checks.equal(result.program_err(), self.alone.result.program_err(),
                     f"{label}: the program's messages")
        said = [line for line in result.said() if HINT not in line]
        return checks.that(len(said) <= messages, f"{label}: {len(said)} messages",
                           "\n".join(said))


def recover(checks, outcome):
    """A verified trace of what is on disk, or None where nothing is."""
    try:
        return recovered(checks, outcome)
    finally:
        if outcome.recorder != 0:
            setting.forget_arena(outcome.recorder)


def recovered(checks, outcome):
    label, remains = outcome.label, outcome.remains
    if outcome.trace.is_file():
        target = outcome.trace  # it comes to its name when it is whole
    elif remains.exists():
        target = outcome.folder / "recovered.ttape"
        done = setting.tracetape("recover", remains, "-o", target)
        if not checks.that(done.status in RECOVERED and target.is_file(),
                           f"{label}: recover ended with {done.status}",
                           done.err.decode(errors="replace")):
            return None
    else:
        return None
    problem = traces.verify(target)
    return target if checks.that(problem is None, f"{label}: {problem}") else None


def check_calls(checks, label, trace, wanted, loss=False, nameless=False, has_stopped=False):
    """Calls by function in a trace: exactly so many, or with loss no more and the rest counted.
    nameless: the names may be missing, all together. has_stopped: the rest is not counted, since
    nobody was recording any more. Whether it is so."""
    about, enters = traces.info(trace), traces.call_counts(trace)["enter"]
    holds = True
    if nameless and not any(enters.get(name) for name in wanted):
        most = sum(wanted.values())  # what is not wanted has no names either
        wanted, enters = {"": most}, {"": min(sum(enters.values()), most)}
    for name, count in wanted.items():
        found = enters.get(name, 0)
        if loss:
            holds &= checks.that(found <= count, f"{label}: {found} calls of '{name}', "
                                 f"it made {count}")
            holds &= checks.that(
                found == count or has_stopped or traces.lost(about) > 0 or about["gaps"] > 0,
                f"{label}: {found} of {count} calls of '{name}', none said to be lost")
        else:
            holds &= checks.equal(found, count, f"{label}: calls of '{name}'")
    return holds


def check_exact(checks, host, outcome, trace):
    """Of p_steady: recorded and lost are all the events that it made, not one more or less."""
    made, threads = host.made(outcome), host.args[1]
    total = 2 * (made["node"] + made["leaf"] + threads + 1)  # calls and returns; work, main
    counts, about = traces.call_counts(trace), traces.info(trace)
    found = sum(sum(counts[kind].values()) for kind in ("enter", "exit"))
    lost = traces.lost_and_told(about)
    checks.equal(found + lost, total, f"{outcome.label}: {found} events recorded, {lost} lost")
    return lost


# ---- processes ----

def child_named(process, name):
    """The process of that name below the recorder, or None."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        comm = text[text.index("(") + 1:text.rindex(")")]
        session = int(text.rsplit(")", 1)[1].split()[3])
        if comm == name and session == process.pid:
            return int(entry)
    return None


STEADY_MS = 100_000  # of a program that runs until `end_steady`
# At full speed a fast machine makes tens of millions of events, which a test then has to decode:
# in the gate p_steady naps a millisecond after this many calls of `node`, of eight events each.
PACE = setting.cut([], [1000, 500])


def catches(pid, number):
    """Whether a process has a handler of a signal by now; None: it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            caught = [line.split()[1] for line in file if line.startswith("SigCgt:")]
    except OSError:
        return None
    return bool(caught) and bool(int(caught[0], 16) >> (number - 1) & 1)


def end_steady(process, seconds=60):
    """p_steady ends early, and well: once it has its handler."""
    until, pid = time.monotonic() + seconds, child_named(process, "p_steady")
    while pid is not None and time.monotonic() < until and catches(pid, signal.SIGTERM) is False:
        time.sleep(0.01)
    if pid is not None and catches(pid, signal.SIGTERM):
        os.kill(pid, signal.SIGTERM)


def wait_for_start(process, name, seconds=60):
    """Until the program of that name has begun to record, whatever else the machine does: it has
    its handler of SIGTERM, as p_steady has before its threads; or it is gone."""
    until, pid = time.monotonic() + seconds, None
    while pid is None and process.poll() is None and time.monotonic() < until:
        pid = child_named(process, name)
        time.sleep(0.01)
    while pid is not None and catches(pid, signal.SIGTERM) is False and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.1)


# ---- the recorder's calls ----

def shim():
    """The library that disturbs the recorder's own calls."""
    place = setting.programs()
    target, source = place / "shim_faults.so", setting.PROGRAMS / "shim_faults.c"
    if not target.is_file() or target.stat().st_mtime < source.stat().st_mtime:
        place.mkdir(parents=True, exist_ok=True)
        making = place / f"shim_faults.{os.getpid()}.so"
        setting.call(["gcc", "-O2", "-w", "-fPIC", "-shared", "-o", making, source, "-ldl",
                      "-pthread"])
        making.rename(target)
    return target


def disturbed(plan="", log=None):
    """Environment for a recorder whose calls go wrong by plan (programs/shim_faults.c)."""
    env = {"LD_PRELOAD": str(shim()), "FAULTS": plan, "FAULTS_IN": setting.COMMAND.name}
    if log:
        env["FAULTS_LOG"] = str(log)
    return env


def calls_of_recorder(host, options=()):
    """{function: how often the recorder calls it} in an undisturbed run."""
    folder = host.folder()
    log = folder / "calls"
    outcome = host.run("undisturbed", options, env=disturbed(log=log), folder=folder)
    counts = {}
    for line in log.read_text(encoding="ascii").splitlines() if log.is_file() else ():
        name, number = line.split()
        counts[name] = max(counts.get(name, 0), int(number))
    if outcome.result.status not in (0, outcome.status):
        raise RuntimeError(f"undisturbed: {outcome.result.err!r}")
    return counts


def spread(count, most):
    """Up to `most` numbers from 1 to count: the first ones, the last ones, some between."""
    if count <= most:
        return list(range(1, count + 1))
    edge = max(1, most // 3)
    step = (count - 2 * edge) / max(1, most - 2 * edge)
    middle = {edge + 1 + int(i * step) for i in range(most - 2 * edge)}
    return sorted({*range(1, edge + 1), *middle, *range(count - edge + 1, count + 1)})


# ---- the program's own system calls ----

def need_strace():
    setting.need_command("strace")
    done = subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], check=False,
                          capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        setting.skip("strace may not trace here")


def calls_by_strace(command):
    """How often each call was made, and how often it failed, by strace -f -c."""
    subprocess.run(["strace", "-f", "-c", "-o", "strace.txt", *command], check=False,
                   capture_output=True, timeout=120)
    with open("strace.txt", encoding="utf-8") as file:
        rows = [line.split() for line in file]
    return {row[-1]: (int(row[3]), int(row[4]) if len(row) == 6 else 0) for row in rows
            if len(row) >= 5 and row[0][0].isdigit() and row[-1] != "total"}


def strace_words(*rules, log="/dev/null"):
    return ["strace", "-f", "-qq", "-o", log, *[word for rule in rules for word in ("-e", rule)]]


def runtime_calls(host, names, options=()):
    """{system call: numbers} of the calls that the runtime makes in the program, counted as strace
    counts them: found by the library in which the call was made."""
    folder = host.folder()
    log = folder / "strace"
    inner = ["strace", "-k", "-qq", "-o", log, "-e", f"trace={','.join(names)}"]
    host.run("traced by strace", options, inner=inner, folder=folder)
    found, counts, current = {}, {}, None
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith(" > "):
            if current and "libtracetape-rt" in line.split("(")[0]:
                found.setdefault(current[0], []).append(current[1])
                current = None
            continue
        name = line.split("(", 1)[0]
        current = None
        if name in names:
            counts[name] = counts.get(name, 0) + 1
            current = name, counts[name]
    return found


# ---- file systems of its own ----

def private_mounts(script, *words):
    """Words that run `script` (with "$@") where mounts are nobody else's."""
    setting.need_command("unshare", "mount")
    return ["unshare", "-m", "--propagation", "private", "sh", "-ec", script + '; exec "$@"', "sh",
            *words]


def need_mounts():
    setting.need_root()
    done = subprocess.run(private_mounts("mount -t tmpfs none /mnt", "true"), check=False,
                          capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        setting.skip("mounts of its own are not allowed here")


def quoted(path):
    return shlex.quote(str(path))
