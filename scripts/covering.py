"""Which test runs which line: for mutate, which need not try a test that never comes to a mutant.

Each test of a build with --coverage runs alone and leaves its counters in a folder of its own."""
import json
import os
import resource
import signal
import subprocess
import time

LABELS = {"unit", "vectors", "conformance", "fuzz", "cli"}
ADDRESS_SPACE_BYTES = 8 << 30  # a mutant may ask for anything
SKIPPED = 77


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))


def run(*command, timeout=None, env=None, cwd=None, bounded=False):
    """Ends what the command started, too, when it takes too long."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", start_new_session=True, env=env, cwd=cwd,
                          preexec_fn=limit_memory if bounded else None) as child:
        try:
            output, _ = child.communicate(timeout=timeout)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, child.returncode, output)


class Test:
    """One of ctest's tests: what to build for it, and how to run it."""

    def __init__(self, build, described):
        properties = {p["name"]: p["value"] for p in described.get("properties", [])}
        self.build, self.name, self.command = build, described["name"], described["command"]
        self.labels = set(properties.get("LABELS", []))
        self.env = dict(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", []))
        self.cwd = properties.get("WORKING_DIRECTORY", str(build))
        program = os.path.relpath(self.command[0], build)
        self.is_program = not program.startswith("..")
        self.targets = [program] if self.is_program else ["tracetape"]
        if "fuzz/replay_" in self.name:  # its seeds, and fewer mutations of them
            self.targets.append("ttape_fuzz_seeds")
            at = self.command.index("--mutate") + 1
            self.command[at] = str(int(self.command[at]) // 20)

    def outcome(self, timeout, program="", **more):
        """"pass", "skip", "fail" or "time", and the seconds it took. `program`: another one in
        the place of its own."""
        env = {**os.environ, **self.env, **more}
        env.pop("TTAPE_COVERAGE_BUILD", None)
        begin = time.monotonic()
        try:
            words = [program or self.command[0], *self.command[1:]]
            status = run(*words, timeout=timeout, env=env, cwd=self.cwd, bounded=True).returncode
        except subprocess.TimeoutExpired:
            return "time", time.monotonic() - begin
        word = {0: "pass", SKIPPED: "skip"}.get(status, "fail")
        return word, time.monotonic() - begin


def tests_of(build):
    listed = run("ctest", "--test-dir", str(build), "--show-only=json-v1").stdout
    every = [Test(build, t) for t in json.loads(listed[listed.index("{"):])["tests"]
             if t.get("command")]
    return [t for t in every if t.labels & LABELS and "slow" not in t.labels
            and "canary" not in t.name]


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
