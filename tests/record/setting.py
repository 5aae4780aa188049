"""Where the tests of recording run: the command, the build, skipping, compiled programs, processes
that cannot hang.

Everything here treats `tracetape record` as a black box: command line, exit status, files."""
import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ.get("TTAPE_SRC") or HERE.parents[1])
BUILD = Path(os.environ.get("TTAPE_BUILD") or SOURCE / "build" / "release")
COMMAND = Path(os.environ.get("TTAPE_BIN") or BUILD / "tracetape")
PROGRAMS = HERE / "programs"
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}
MESSAGE = b"tracetape: "  # every line that the command says begins so
OF_OTHERS = b"which was never finished: see recover"  # another test has killed its recorder
OURS = ("OWN_", "TRACETAPE", "KILL_")
DIED = 128


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def cut(full, few):
    """How many: the gate takes few, a long test all."""
    return full if os.environ.get("TTAPE_THOROUGH") == "1" else few


def need_command(*programs):
    for program in programs:
        if shutil.which(program) is None:
            skip(f"'{program}' is not installed")


def need_root():
    if os.geteuid() != 0:
        skip("this needs root")


def need_verb(*verbs):
    """Skips while the command does not know a verb."""
    if not COMMAND.is_file():
        skip(f"no command at '{COMMAND}'")
    if os.environ.get("TTAPE_SANITIZE"):
        skip("a preloaded runtime and a sanitizer's cannot be in one process")
    for verb in verbs or ("record",):
        if subprocess.run([COMMAND, verb, "--help"], check=False, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=120).returncode:
            skip(f"'tracetape {verb}' does not exist")


def go_apart():
    """For tests that kill recorders: into a mount namespace with shared memory of its own, where
    that is allowed. No other test's `record` finds what is left there, moves it, and says so."""
    size = os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize
    words = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o mode=1777,size={size} none /dev/shm "
             '&& TTAPE_APART=1 exec "$@"', "sh"]
    if os.environ.get("TTAPE_APART") or os.geteuid() != 0 or not shutil.which("unshare") or \
            run([*words, "true"]).status != 0:
        return
    os.execvp(words[0], [*words, *sys.orig_argv])


def need_syscalls():
    need_verb("record", "syscalls")
    if os.uname().machine != "x86_64":
        skip("system calls are known by the numbers of x86-64")


# ---- programs ----

def runtime_archive():
    """The static runtime of this build, or None."""
    found = sorted(BUILD.glob("**/libtracetape-rt*.a"))
    return found[0] if found else None


def compiler_of(name, compiler):
    return COMPILERS[compiler][1 if name.endswith(".cc") else 0]


def programs():
    """Where compiled programs are kept: with the build, where that is not somebody else's."""
    return (BUILD if os.access(BUILD, os.W_OK) else Path(tempfile.gettempdir())) / "record-programs"


def made_before(place, name):
    """Where a program is, of whoever made it first, or where it is to be."""
    shared = BUILD / "record-programs" / place / name
    return shared if shared.is_file() and os.access(shared, os.R_OK | os.X_OK) else \
        programs() / place / name


def keep_made(made, target):
    """Keeps what was made, if nobody has made it meanwhile: a program that runs keeps its file."""
    with contextlib.suppress(FileExistsError):
        os.link(made, target)


def log_object(compiler):
    """own.c, not instrumented, made once per content."""
    words = [COMPILERS[compiler][0], "-O1", "-fPIC", "-c"]
    text = "".join((PROGRAMS / f"own.{end}").read_text(encoding="utf-8") for end in "ch")
    target = programs() / f"own-{compiler}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.o"
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as work:
            made = Path(work, "own.o")
            call([*words, PROGRAMS / "own.c", "-o", made])
            keep_made(made, target)
    return target


def build(name, compiler="gcc", flags=("-O2",), libraries=(), output=None, log=True, hooks=True):
    """A program of programs/, made once per content and options: its path."""
    tool = compiler_of(name, compiler)
    if shutil.which(tool) is None:
        skip(f"'{tool}' is not installed")
    words = [tool, "-g", "-D_GNU_SOURCE", *flags, *(["-finstrument-functions"] if hooks else [])]
    facts = [" ".join(map(str, [*words, *libraries]))]
    for path in (PROGRAMS / name, PROGRAMS / "own.c", PROGRAMS / "own.h"):
        facts.append(path.read_text(encoding="utf-8"))
    for library in libraries:  # the runtime itself, for one
        path = Path(library)
        facts.append(hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
    key = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]
    place = f"{Path(name).stem}-{compiler}-{key}"
    target = made_before(place, output or Path(name).stem)
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        made = Path(work, "made")
        link = ["-rdynamic", "-pthread", *libraries, "-ldl"]
        objects = [log_object(compiler)] if log else []
        call([*words, "-w", "-o", made, PROGRAMS / name, *objects, *link])
        keep_made(made, target)
    return target


def call(words):
    done = subprocess.run([str(w) for w in words], check=False, capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL)
    if done.returncode:
        text = done.stderr.decode(errors="replace")[-2000:]
        raise RuntimeError(f"{' '.join(map(str, words))}: status {done.returncode}\n{text}")
    return done.stdout


def plans(folder):
    """A folder for plans, with those of the C library that this build of the command has made once:
    for tests to which it does not matter who made them."""
    facts = [f"{path.stat().st_mtime_ns} {path.stat().st_size}"
             for path in (COMMAND, *BUILD.glob("libtracetape.so.*.*")) if path.is_file()]
    name = f"plans-{hashlib.sha256(' '.join(facts).encode()).hexdigest()[:12]}"
    made = Path(os.environ.get("XDG_CACHE_HOME") or programs(), name)
    if not made.is_dir():
        made.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=made.parent) as work:
            Path(work, "new").mkdir(mode=0o700)
            subprocess.run([COMMAND, "record", "-q", "-o", Path(work, "true.ttape"), "true"],
                           check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                           env=environment(XDG_CACHE_HOME=Path(work, "new")))
            with contextlib.suppress(OSError):  # somebody has made it meanwhile
                Path(work, "new").rename(made)
    return shutil.copytree(made, folder)


# ---- processes ----

@dataclass
class Result:
    status: int
    out: bytes
    err: bytes
    wall: float
    timed_out: bool = False
    words: list = field(default_factory=list)

    @property
    def command_line(self):
        return " ".join(map(str, self.words))

    def said(self):
        """What the command itself says of this recording on standard error, line by line."""
        return [s.decode(errors="replace") for s in self.err.splitlines()
                if s.startswith(MESSAGE) and OF_OTHERS not in s]

    def program_err(self):
        return b"".join(s for s in self.err.splitlines(True) if not s.startswith(MESSAGE))


def environment(**extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    env.update({"LC_ALL": "C", "LANG": "C"})
    env.update({k: str(v) for k, v in extra.items()})
    return env


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def start(words, cwd=None, env=None, out=subprocess.PIPE, err=subprocess.PIPE, before=None,
          stdin=subprocess.DEVNULL):
    """A process in a session of its own, so that all of it can be ended."""
    return subprocess.Popen([str(w) for w in words], cwd=cwd, env=env or environment(),
                            stdin=stdin, stdout=out, stderr=err,
                            start_new_session=True, preexec_fn=before)


def forget_arena(pid):
    """Shared memory of a recorder that was killed: nobody else takes it away. One that is being
    made has no owner yet: it is somebody else's."""
    if pid <= 0:
        raise ValueError(f"no recorder has process id {pid}")
    for place in Path("/dev/shm").glob("tracetape-*"):
        try:
            with open(place / "arena", "rb") as file:
                owner = int.from_bytes(file.read(32)[28:], "little")  # recorder/arena/arena.h
            if owner == pid:
                shutil.rmtree(place, ignore_errors=True)
        except OSError:
            continue


def finish(process, words, timeout):
    """Waits for a process that `start` made."""
    begin = time.monotonic()
    timed_out = False
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        kill_group(process)
        try:
            out, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:  # somebody out of the group still holds the pipes
            out, err = b"", b""
    status = process.returncode if process.returncode is not None else -signal.SIGKILL
    status = DIED - status if status < 0 else status
    return Result(status, out or b"", err or b"", time.monotonic() - begin, timed_out, list(words))


def run(words, timeout=120, **options):
    begin = time.monotonic()
    result = finish(start(words, **options), words, timeout)
    result.wall = time.monotonic() - begin
    return result


def record_words(output, program, *options, quiet=True):
    return [COMMAND, "record", "--no-patch", *(["-q"] if quiet else []), "-o", output, *options,
            "--", *program]


def tracetape(*words, timeout=120, **options):
    """Only what has hooks is recorded where nothing else is asked for: the shells around programs,
    and Python, are none of a test's business."""
    is_asked = any(str(word).startswith(("--patch", "--plan")) for word in words)
    if words[0] == "record" and not is_asked:
        words = [words[0], "--no-patch", *words[1:]]
    return run([COMMAND, *words], timeout=timeout, **options)


# ---- verdicts ----

class Checks:
    """Collects what does not hold; ends the test."""

    def __init__(self, name):
        self.name, self.count, self.problems = name, 0, []

    def that(self, holds, what, *details):
        self.count += 1
        if not holds:
            self.problems.append(what)
            print(f"FAILED: {what}", flush=True)
            for detail in details:
                for line in str(detail).splitlines()[:12]:
                    print(f"    {line}", flush=True)
        return bool(holds)

    def equal(self, found, wanted, what):
        return self.that(found == wanted, what, f"found:  {found!r}"[:600],
                         f"wanted: {wanted!r}"[:600])

    def extend(self, problems, label):
        self.count += 1
        for problem in problems[:20]:
            self.that(False, f"{label}: {problem}")
        if len(problems) > 20:
            print(f"    and {len(problems) - 20} more", flush=True)

    def verdict(self):
        if self.problems:
            print(f"{self.name}: FAILED, {len(self.problems)} of {self.count} checks")
            sys.exit(1)
        print(f"{self.name}: ok, {self.count} checks")
        sys.exit(0)


def work_dir(prefix="ttape-record."):
    """A folder that goes away; others may enter it, since some programs run as somebody else."""
    holder = tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
    os.chmod(holder.name, 0o755)
    return holder


def unfold(said):
    """A stack as `context` says it, with the turns of recursions as often as they came."""
    said = re.sub(r"(\w+) × (\d+)(?:, (?:odd|even))?",
                  lambda m: " > ".join([m[1]] * int(m[2])), said)
    return re.sub(r"\(([^()]*)\) × (\d+)(?:, (?:odd|even))?",
                  lambda m: " > ".join([m[1]] * int(m[2])), said)
