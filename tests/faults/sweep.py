"""Sweeps of faults over the verbs of the command: the n-th call of a kind fails, falls short or is
interrupted, once or from then on (fault_calls.c, preloaded). What must hold of every run:

* no signal, no hang, no leak (where a sanitizer looks), nothing but outputs is left behind;
* interrupted and short calls change nothing: status, outputs, all is as without faults;
* after a failure either the same, or status 4 with a message and no output, or, for verbs that may,
  status 3 with a message and an output that verifies, or the command as it runs alone, and a
  message.
"""
import fnmatch
import mmap
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

KINDS = ("alloc", "read", "write", "sync", "name", "open", "truncate", "map", "thread",
         "process", "stat", "clock", "remove")
PLANS = f"tracetape-{os.geteuid()}"  # where the user's cache cannot be written
SWEPT = KINDS[:-1]  # where removing fails, something is left behind
ACTIONS = ("count", "fail", "short", "eintr")
WAYS = {  # actions that make sense for a kind
    "read": ("fail", "short", "eintr"), "write": ("fail", "short", "eintr"),
    "sync": ("fail", "eintr"), "truncate": ("fail", "eintr"),
}
BOOK = struct.Struct(f"={len(KINDS)}QQQ")
LEAK = 99
SECONDS = 120
LIBRARY = "fault_calls.so"
SOURCE, BUILD = Path(os.environ["TTAPE_SRC"]), Path(os.environ["TTAPE_BUILD"])
COMMAND = os.environ["TTAPE_BIN"]
SANITIZED = bool(os.environ.get("TTAPE_SANITIZE"))
FEW = 1 if SANITIZED else 4 if os.environ.get("TTAPE_THOROUGH") == "1" else 2


@dataclass
class Case:
    """A verb with its words; outputs are names, or patterns, of files or folders that it makes."""
    name: str
    words: list
    outputs: tuple = ()
    loss: bool = False    # status 3 with an output is honest
    alone: bool = False   # where there is no room to record, its command runs alone, which is said
    stdin: str = ""
    varies: bool = False  # two runs do not give the same bytes
    in_child: bool = False  # the process that it forks is meant
    remains: str = ""  # a folder that a failure may leave, for recover
    clean: object = field(default=None)


@dataclass
class Run:
    """What came of a run."""
    status: int
    out: bytes
    err: str
    made: dict
    counts: dict
    hits: int


class Sweep:
    """Runs cases in a folder of its own and counts what is wrong."""

    def __init__(self, most, shown=60):
        self.most, self.shown = most, shown  # most: calls of a kind that are tried; None: each
        self.work = Path(tempfile.mkdtemp(prefix="ttape-faults."))
        self.interposer = self.work / LIBRARY
        self.book = self.work / "book"
        self.runs = self.failures = self.hits = 0
        self.at_end = None
        build = subprocess.run(
            [os.environ.get("TTAPE_CC", "cc"), "-shared", "-fPIC", "-O1", "-DTTEST_PRELOADED", "-o",
             self.interposer, SOURCE / "tests/faults/fault_calls.c", "-ldl"], check=False,
            capture_output=True, text=True)
        if build.returncode:
            print("SKIPPED: the calls cannot be replaced here:", build.stderr.splitlines()[:1])
            sys.exit(77)

    def close(self):
        if self.at_end:
            self.at_end()
        shutil.rmtree(self.work, ignore_errors=True)
        print(f"{self.runs} runs, {self.hits} faults, {self.failures} failures")
        sys.exit(1 if self.failures or not self.hits else 0)

    def fail(self, case, label, why, run=None):
        self.failures += 1
        if self.failures <= self.shown:
            print(f"FAILED: {case.name}: {label}: {why}")
            for line in (run.err.splitlines()[:12] if run else ()):
                print("    " + line)

    def tracetape(self, *words, check=True):
        done = subprocess.run([COMMAND, *words], cwd=self.work, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL)
        if check and done.returncode:
            raise RuntimeError(f"{words}: {done.returncode} {done.stderr!r}")
        return done

    def environment(self, case, plan):
        where = {"FAULT_WHERE": "child"} if case.in_child else {}
        options = f"verify_asan_link_order=0:exitcode={LEAK}:allocator_may_return_null=1" \
            ":handle_sigill=1"
        return {**os.environ, **where, "LD_PRELOAD": str(self.interposer), "FAULT_PLAN": plan,
                "FAULT_BOOK": str(self.book), "TMPDIR": str(self.work), "ASAN_OPTIONS": options,
                "LC_ALL": "C"}

    def run(self, case, kind="alloc", action="count", number=0, ever=False):
        """One run of a case under a plan."""
        self.book.write_bytes(bytes(mmap.PAGESIZE))
        plan = f"{KINDS.index(kind)}:{ACTIONS.index(action)}:{number}{'+' if ever else ''}"
        self.remove_outputs(case)
        self.runs += 1
        with open(self.work / case.stdin if case.stdin else os.devnull, "rb") as stdin:
            try:
                done = subprocess.run([COMMAND, *case.words], cwd=self.work, stdin=stdin,
                                      capture_output=True, env=self.environment(case, plan),
                                      timeout=SECONDS, check=False)
                status, out, err = done.returncode, done.stdout, done.stderr
            except subprocess.TimeoutExpired as late:
                status, out, err = None, late.stdout or b"", late.stderr or b""
        numbers = BOOK.unpack_from(self.book.read_bytes())
        made = {output: self.made(output) for output in case.outputs}
        return Run(status, out, err.decode(errors="replace"), made,
                   dict(zip(KINDS, numbers)), numbers[len(KINDS)])

    def remove_outputs(self, case):
        for output in (*case.outputs, PLANS):
            for path in self.work.glob(output):
                remove(path)

    def made(self, output):
        """What came of an output; None: nothing."""
        found = {path.name: content(path) for path in sorted(self.work.glob(output))}
        return found or None

    def all(self, cases, words):
        """Every case (with words: those whose names hold one), and the verdict."""
        try:
            for case in cases:
                if not words or any(word in case.name for word in words):
                    self.sweep(case)
        except BaseException:
            shutil.rmtree(self.work, ignore_errors=True)
            raise
        self.close()

    def sweep(self, case, kinds=SWEPT, actions=ACTIONS):
        """Every kind, action and number of a case."""
        case.clean = self.run(case)
        there = set(os.listdir(self.work))
        if case.clean.status not in (0, 1, 3):
            self.fail(case, "without faults", f"status {case.clean.status}", case.clean)
            return
        struck = {kind: self.kind(case, kind, actions, there) for kind in kinds}
        self.hits += sum(struck.values())
        self.remove_outputs(case)
        if sum(struck.values()) == 0:
            self.fail(case, "all of them", "no fault struck")
        for kind, hits in struck.items():
            if case.clean.counts[kind] and not hits and not case.varies:
                self.fail(case, kind, f"none of {case.clean.counts[kind]} calls was struck")

    def kind(self, case, kind, actions, there):
        """Every action and number of a kind; how many faults struck."""
        return sum(self.series(case, kind, action, ever, there)
                   for action in WAYS.get(kind, ("fail",)) if action in actions
                   for ever in (False, True))

    def series(self, case, kind, action, ever, there):
        count, hits = case.clean.counts[kind], 0
        most = self.most
        if ever and most is not None:
            most = min(most, max(3, most // 2))
        for number in spread(count, most):
            label = f"{kind} {number} of {count}: {action}{' for ever' if ever else ''}"
            run = self.run(case, kind, action, number, ever)
            hits += run.hits > 0
            if run.hits:
                self.check(case, action, label, run)
            if case.remains and (self.work / case.remains).exists():
                self.check_remains(case, label, run)
            left = {name for name in set(os.listdir(self.work)) - there
                    if not any(fnmatch.fnmatch(name, output) for output in (*case.outputs, PLANS))}
            if left:
                self.fail(case, label, f"left behind: {sorted(left)}", run)
                for name in left:
                    remove(self.work / name)
        return hits

    def check(self, case, action, label, run):
        """The rules above."""
        clean = case.clean
        if run.status is None:
            self.fail(case, label, "does not end", run)
        elif run.status < 0 or run.status == LEAK or run.status not in (0, 1, 3, 4):
            self.fail(case, label, f"status {run.status}", run)
        elif case.alone and "not recorded: " in run.err and action == "fail":
            if run.out != clean.out or any(made is not None for made in run.made.values()):
                self.fail(case, label, "the command ran alone, but not as it does alone", run)
        elif run.status == clean.status:
            if run.out != clean.out and not case.varies:
                self.fail(case, label, "done, but standard output is another", run)
            if run.made != clean.made and not case.varies:
                self.fail(case, label, "done, but the output is another", run)
            if case.varies:
                self.check_outputs(case, label, run)
        elif action != "fail":
            self.fail(case, label, f"status {run.status}, which is no failure", run)
        elif not run.err.strip():
            self.fail(case, label, f"status {run.status} without a message", run)
        elif run.status == 4:
            if any(made is not None for made in run.made.values()):
                self.fail(case, label, "not done, but an output is there", run)
        elif run.status != 3 or not case.loss:
            self.fail(case, label, f"status {run.status}", run)
        else:
            self.check_outputs(case, label, run)

    def check_remains(self, case, label, run):
        """What a failed recording leaves is recovered to a trace that verifies."""
        words = ["recover", "-q", "--clean", case.remains, "-o", "recovered.ttape"]
        done = self.tracetape(*words, check=False)
        if run.status != 4 or done.returncode not in (0, 3):
            self.fail(case, label, f"status {run.status}, recover {done.returncode} {done.stderr}",
                      run)
        elif self.tracetape("verify", "-q", "recovered.ttape", check=False).returncode:
            self.fail(case, label, "what is recovered does not verify", run)
        remove(self.work / "recovered.ttape")

    def check_outputs(self, case, label, run):
        for output in case.outputs:
            if run.made[output] is None:
                self.fail(case, label, f"status {run.status}, but no output", run)
            elif output.endswith(".ttape"):
                for path in sorted(self.work.glob(output)):
                    if self.tracetape("verify", "-q", path.name, check=False).returncode:
                        self.fail(case, label, f"status {run.status}, but '{path.name}' does not "
                                  "verify", run)


def spread(count, most):
    """Up to `most` of the numbers below count: the first ones, the last ones, some between."""
    if most is None or count <= most:
        return range(count)
    if most == 1:
        return [count // 2]
    edge = max(1, most // 3)
    middle = most - 2 * edge
    step = (count - 2 * edge) / max(1, middle)
    return sorted({*range(edge), *(edge + int(i * step) for i in range(middle)),
                   *range(count - edge, count)})


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.exists() or path.is_symlink():
        path.unlink()


def content(path):
    """Bytes of a file, or of all files of a folder; None: it is not there."""
    if path.is_dir():
        return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*"))
                if p.is_file()}
    return path.read_bytes() if path.exists() else None
