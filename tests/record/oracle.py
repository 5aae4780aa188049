"""The host oracle: a program runs alone, then under `tracetape record`; it must not be able to
tell, and the trace must say what the program did."""
import hashlib
import os
import resource
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

import ownlog
import setting
import traces

LOSS = 3  # record's exit status when the program ended well and events were lost
HANGS_SECONDS = 20.0  # beyond five times as long as alone


@dataclass
class Case:
    """One program, one way to run it. Words of `args` may be `{dir}`: a folder of its own."""
    name: str
    source: str
    args: list = field(default_factory=list)
    flags: tuple = ("-O2",)
    libraries: tuple = ()
    options: list = field(default_factory=list)  # of record
    env: dict = field(default_factory=dict)
    prefix: list = field(default_factory=list)  # a command around both runs
    plugins: list = field(default_factory=list)  # (file name, flags): instrumented libraries
    compilers: tuple = ("gcc", "clang")
    frames: str = "exact"  # exact, counts (of OWN_REPORT), opens (the file opens), none
    transparent: bool = False  # functions that do not log are passed over
    tolerate: frozenset = frozenset()
    cut_short: bool = False
    loose_signals: bool = False
    loss: bool = False  # events may be lost, counted
    status: tuple = ()  # further exit statuses that record may have
    messages: int = 0  # lines that record may say
    limits: dict = field(default_factory=dict)  # resource: value, for both runs
    expect: dict = field(default_factory=dict)  # function: calls
    balanced: bool = False  # each call returns
    forbid: list = field(default_factory=list)  # functions that the trace must not have
    wait_for: str = ""  # a file that the program makes after it has ended
    after: object = None  # after(checks, label, run): further checks
    timeout: int = 120
    slack: float = 0.0  # seconds more until it counts as hanging
    skip: object = None  # skip(compiler): a reason, or None


@dataclass
class Run:
    case: Case
    folder: Path
    result: setting.Result = None
    trace: Path = None
    files: dict = field(default_factory=dict)
    report: dict = field(default_factory=dict)
    log: Path = None

    @property
    def own(self):
        return self.folder / "files"


def make(case, compiler):
    """The program and its plugins, compiled: words to run it, without arguments' places."""
    program = setting.build(case.source, compiler, case.flags, case.libraries)
    plugins = {}
    for name, flags in case.plugins:
        plugins[name] = setting.build("p_plugin.c", compiler, ("-O2", "-fPIC", "-shared", *flags),
                                      output=name, log=False)
    return program, plugins


def words_of(case, run, program, plugins):
    places = {"dir": run.own, **{n.split(".")[0]: p for n, p in plugins.items()}}
    return [program, *[str(a).format(**places) for a in case.args]]


def digests(folder):
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file():
            found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def read_report(path):
    if not path.is_file():
        return {}
    rows = [line.rsplit(" ", 1) for line in path.read_text(encoding="ascii").splitlines()]
    return {key: int(value) for key, value in rows}


def limiter(case):
    if not case.limits:
        return None

    def limit():
        for which, value in case.limits.items():
            resource.setrlimit(which, (value, value))
    return limit


def wait_for(path, seconds=60):
    until = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.01)
    return path.exists()


def execute(case, folder, program, plugins, traced):
    """One run, in a folder of its own."""
    run = Run(case, Path(folder))
    run.own.mkdir(parents=True)
    os.chmod(run.own, 0o777)
    run.log, report = run.folder / "own.log", run.folder / "report"
    ownlog.create(run.log)
    env = setting.environment(OWN_LOG=run.log, OWN_REPORT=report, **case.env)
    words = words_of(case, run, program, plugins)
    if traced:
        run.trace = run.folder / "out.ttape"
        words = setting.record_words(run.trace, words, *case.options)
    run.result = setting.run([*case.prefix, *words], timeout=case.timeout, cwd=run.own, env=env,
                             before=limiter(case))
    if case.wait_for:
        wait_for(run.own / case.wait_for)
    run.files, run.report = digests(run.own), read_report(report)
    return run


# ---- what must hold ----

def check_host(checks, label, alone, traced):
    """The program behaved as it does alone."""
    case, one, two = alone.case, alone.result, traced.result
    checks.that(not one.timed_out, f"{label}: alone, it does not end", one.command_line)
    if not checks.that(not two.timed_out, f"{label}: does not end", two.command_line, two.err):
        return False
    wanted = {one.status, *case.status} | ({LOSS} if case.loss and one.status == 0 else set())
    checks.that(two.status in wanted, f"{label}: status {two.status} instead of {one.status}",
                two.command_line, two.err.decode(errors="replace"))
    checks.equal(two.out, one.out, f"{label}: standard output")
    checks.equal(two.program_err(), one.program_err(), f"{label}: standard error")
    checks.equal(traced.files, alone.files, f"{label}: files")
    said = two.said()
    checks.that(len(said) <= case.messages, f"{label}: {len(said)} messages", "\n".join(said))
    return True


def check_time(checks, label, alone, traced, again):
    """Nothing hangs. How long things take is a benchmark's matter; machines may be busy."""
    for _ in range(3):
        limit = 5 * alone.result.wall + HANGS_SECONDS + alone.case.slack
        if traced.result.wall <= limit:
            return
        wall = traced.result.wall
        alone, traced = again()
    checks.that(False, f"{label}: {wall:.2f} s instead of {limit:.2f} s at most")


def check_left(checks, label, run):
    """Nothing but the trace is left, and only its owner can read it."""
    wanted = {"files", "own.log", "report", "out.ttape"}
    extra = sorted(p.name for p in run.folder.iterdir() if p.name not in wanted)
    checks.that(not extra, f"{label}: left behind: {extra}")
    if run.trace.is_file():
        mode = run.trace.stat().st_mode & 0o777
        checks.equal(oct(mode), oct(0o600), f"{label}: the trace's mode")


def check_counts(checks, label, run, about):
    counts = traces.call_counts(run.trace)
    enters = counts["enter"]
    wanted = dict(run.case.expect)
    wanted.update({k: v for k, v in run.report.items() if k in enters or k in wanted})
    for name, count in wanted.items():
        found = enters.get(name, 0)
        good = found <= count if run.case.loss and traces.lost(about) else found == count
        checks.that(good, f"{label}: {found} calls of '{name}' instead of {count}")
    if run.case.balanced and not traces.lost(about):
        uneven = {n: (c, counts["exit"][n]) for n, c in enters.items() if counts["exit"][n] != c}
        checks.that(not uneven, f"{label}: calls and returns differ",
                    dict(list(uneven.items())[:5]))
    for name in run.case.forbid:
        checks.equal(enters.get(name, 0), 0, f"{label}: calls of '{name}'")


def check_frames(checks, label, run):
    case = run.case
    try:
        threads = ownlog.read(run.log)
    except ownlog.LogError as error:
        checks.that(False, f"{label}: the program's own log: {error}")
        return
    found = traces.streams(run.trace)
    checks.that(any(t.frames for t in threads), f"{label}: the program logged nothing")
    checks.extend(traces.compare(threads, found, case.transparent, case.tolerate, case.cut_short,
                                 case.loose_signals), label)


def check_trace(checks, label, run):
    case = run.case
    if case.frames == "none":
        return
    if not checks.that(run.trace.is_file(), f"{label}: no trace", run.result.command_line,
                       run.result.err.decode(errors="replace")):
        return
    problem = traces.verify(run.trace)
    if not checks.that(problem is None, f"{label}: {problem}"):
        return
    about = traces.info(run.trace)
    if not case.loss:
        checks.that(traces.lost(about) == 0 and about["gaps"] == 0,
                    f"{label}: {traces.lost(about)} events lost in {about['gaps']} gaps")
    if case.frames == "exact":
        check_frames(checks, label, run)
    if case.frames in ("exact", "counts"):
        check_counts(checks, label, run, about)


def observe(checks, case, compiler, work):
    """All of it for one case and one compiler."""
    label = f"{case.name} ({compiler})"
    reason = case.skip(compiler) if case.skip else None
    if reason:
        print(f"{label}: left out: {reason}", flush=True)
        return None
    program, plugins = make(case, compiler)
    turns = [0]

    def both():
        turns[0] += 1
        base = Path(work, f"{case.name}.{compiler}.{turns[0]}".replace(" ", "_"))
        return (execute(case, base / "alone", program, plugins, False),
                execute(case, base / "traced", program, plugins, True))
    alone, traced = both()
    if check_host(checks, label, alone, traced):
        check_time(checks, label, alone, traced, both)
        check_left(checks, label, traced)
        check_trace(checks, label, traced)
        if case.after:
            case.after(checks, label, traced)
    if not os.environ.get("TTAPE_KEEP"):
        shutil.rmtree(alone.folder.parent, ignore_errors=True)
    return traced
