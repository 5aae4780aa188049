"""Which test runs which line: for mutate, which need not try a test that never comes to a mutant.

Each test of a build with --coverage runs alone and leaves its counters in a folder of its own."""
import json
import math
import os
import resource
import signal
import subprocess
import threading

LABELS = {"unit", "vectors", "fuzz"}
ADDRESS_SPACE_BYTES = 6 << 30  # a mutant may ask for anything


def run(*command, cwd=None):
    """A command of the build; what it prints is wanted."""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", cwd=cwd, check=False)


def run_bounded(command, seconds, env, cwd):
    """(exit status, seconds of processor time). The bound is one of processor time, since others
    may use the machine; one who sleeps for ever is ended, with what he started, much later."""
    limits = ["prlimit", f"--cpu={math.ceil(seconds)}", f"--as={ADDRESS_SPACE_BYTES}", "--core=0"]
    child = subprocess.Popen([*limits, *command], stdin=subprocess.DEVNULL, env=env, cwd=cwd,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True)
    late = threading.Timer(60 + 20 * seconds, os.killpg, (child.pid, signal.SIGKILL))
    late.start()
    try:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    finally:
        late.cancel()
    return child.returncode, used.ru_utime + used.ru_stime


class Test:
    """One of ctest's tests that are programs: what to build for it, and how to run it."""

    def __init__(self, build, described):
        properties = {p["name"]: p["value"] for p in described.get("properties", [])}
        self.name, self.command = described["name"], described["command"]
        self.labels = set(properties.get("LABELS", []))
        self.env = dict(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", []))
        self.target = os.path.relpath(self.command[0], build)
        if "fuzz/replay_" in self.name:  # its seeds, and fewer mutations of them
            at = self.command.index("--mutate") + 1
            self.command[at] = str(int(self.command[at]) // 20)

    def outcome(self, seconds, cwd, program="", **more):
        """Whether it passes, and the seconds it took. `program`: another one in the place of its
        own. It does not fork for each of its cases: the first crash ends it."""
        env = {**os.environ, **self.env, "CK_FORK": "no", "TMPDIR": str(cwd), **more}
        words = [program or self.command[0], *self.command[1:]]
        status, used = run_bounded(words, seconds, env, cwd)
        return status == 0, used


def tests_of(build):
    listed = run("ctest", "--test-dir", str(build), "--show-only=json-v1").stdout
    every = [Test(build, t) for t in json.loads(listed[listed.index("{"):])["tests"]
             if t.get("command")]
    return [t for t in every if t.labels & LABELS and "slow" not in t.labels
            and not t.target.startswith("..")]


def lines_run(build, counters, folders, tree):
    """{path: lines that ran} and {path: lines that there are}, from one test's counters."""
    files = []
    for path in counters.rglob("*.gcda"):
        notes = path.with_suffix(".gcno")
        if not notes.exists():
            os.symlink(build / path.relative_to(counters).with_suffix(".gcno"), notes)
        files.append(str(path))
    ran, known = {}, {}
    if not files:
        return ran, known
    text = run("gcov", "--json-format", "--stdout", *files, cwd=counters).stdout
    for document in text.splitlines():
        if not document.startswith("{"):
            continue
        for file in json.loads(document)["files"]:
            path = os.path.relpath(os.path.join(build, file["file"]), tree)
            if path.split("/")[0] not in folders:
                continue
            for line in file["lines"]:
                known.setdefault(path, set()).add(line["line_number"])
                if line["count"]:
                    ran.setdefault(path, set()).add(line["line_number"])
    return ran, known
