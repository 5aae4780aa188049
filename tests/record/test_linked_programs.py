#!/usr/bin/env python3
"""Programs that a link of another name leads to (redis-server is redis-check-rdb, awk is mawk) are
called, and found by patterns, by the name that was typed. Plans are those of the file."""
import json
import os
import re
import sys
from pathlib import Path

import setting
import traces

SOURCE = """#include <sys/wait.h>
#include <unistd.h>
volatile int sum;
__attribute__((noinline)) int part(int n) { for (int i = 0; i < n; i++) sum += i * n; return sum; }
__attribute__((noinline)) int whole(int n) { return part(n) + part(n + 1); }
int main(void) {
    for (int i = 0; i < 20; i++) whole(i + 100);
    if (fork() == 0) { whole(1000); _exit(0); }
    return wait(0) < 0;
}
"""


def build(folder):
    """bin/engine, and tool, which leads to it."""
    (folder / "engine.c").write_text(SOURCE, encoding="utf-8")
    (folder / "bin").mkdir()
    setting.call(["gcc", "-O1", "-s", "-Wl,--build-id", folder / "engine.c", "-o",
                  folder / "bin/engine"])
    (folder / "bin/tool").symlink_to("engine")


class Run:
    def __init__(self, folder):
        self.folder, self.trace = folder, folder / "run.ttape"
        self.env = setting.environment(XDG_CACHE_HOME=folder / "cache",
                                       PATH=f"{folder / 'bin'}:{os.environ['PATH']}")

    def record(self, *words):
        return setting.run([setting.COMMAND, "record", "-f", "-o", self.trace, *words],
                           cwd=self.folder, env=self.env)

    def processes(self):
        info = json.loads(setting.tracetape("info", "--json", self.trace).out)
        return [stream["process"] for stream in info["stream_list"]]

    def modules(self):
        rows = json.loads(setting.tracetape("report", "--json", self.trace).out)["rows"]
        return {row["module"] for row in rows if "/bin/" in row["module"]}

    def unnamed(self):
        """The functions without a name, as they are shown."""
        text = setting.tracetape("report", "--limit", "99", self.trace).out.decode()
        return re.findall(r"(\w+[+]0x[0-9a-f]+)$", text, re.M)

    def functions(self):
        """What stands in front of their addresses."""
        return {name.split("+")[0] for name in self.unnamed()}


def check_names(checks, run):
    for words, name in ((["./bin/tool"], "tool"), ([run.folder / "bin/tool"], "tool"),
                        (["tool"], "tool"), (["./bin/engine"], "engine")):
        done = run.record("--", *words)
        checks.equal((done.status, traces.verify(run.trace)), (0, None), f"{words}: {done.err}")
        checks.equal((run.processes(), run.functions()), ([name, name], {name}), f"{words}")
        checks.equal(run.modules(), {str(run.folder / "bin" / name)}, f"{words}")
        checks.that(f"'{name}' has no hooks".encode() in done.err, f"{words}: {done.err}")


def count_plans(run):
    return len(list((run.folder / "cache").glob("**/*.patch")))


def check_plans(checks, run):
    """Which name was typed makes no other plan."""
    run.record("--", "./bin/engine")
    before = count_plans(run)
    run.record("--", "./bin/tool")
    checks.equal((count_plans(run), before > 0), (before, True), "plans of one file")


def check_patterns(checks, run):
    for pattern, found in (("/tool$", {"tool"}), ("/engine$", {"tool"}), ("/other$", set())):
        done = run.record("--patch", ".", "--module", pattern, "--", "./bin/tool")
        checks.equal(run.functions() if done.status == 0 else set(), found,
                     f"{pattern}: {done.err}")
    done = run.record("--no-module", "/tool$", "--", "./bin/tool")
    checks.equal(run.functions() if done.status == 0 else set(), set(), f"none of it: {done.err}")
    run.record("--", "./bin/tool")
    one = run.unnamed()[-1]
    done = run.record("--patch", f"^{one.replace('+', '[+]')}$", "--", "./bin/tool")
    checks.equal(run.unnamed(), [one], f"a function by the name that is shown: {done.err}")


def check_children(checks, run):
    """What a shell starts, in process and by ptrace; a link that is gone; a script."""
    for engine in ("in-process", "ptrace"):
        run.record("--syscalls", "--engine", engine, "--", "/bin/sh", "-c", "./bin/tool; exit 0")
        checks.that("tool" in run.processes() and "engine" not in run.processes(),
                    f"{engine}: {run.processes()}")
    run.record("--syscalls", "--", "/bin/sh", "-c", "cd bin; ./tool; exit 0")
    checks.that("tool" in run.processes(), f"from another folder: {run.processes()}")
    run.record("--syscalls", "--", "/bin/sh", "-c", "exec /proc/self/exe -c :")
    checks.that("exe" not in run.processes(), f"a link of the kernel's: {run.processes()}")
    script = run.folder / "words"
    script.write_text("#!/bin/sh\nexec ./bin/tool\n", encoding="utf-8")
    script.chmod(0o755)
    run.record("--syscalls", "--", "./words")
    checks.that("words" not in run.processes() and "tool" in run.processes(),
                f"a script is its interpreter: {run.processes()}")


def main():
    setting.need_syscalls()
    setting.need_command("gcc")
    checks = setting.Checks("linked programs")
    with setting.work_dir() as folder:
        run = Run(Path(folder))
        build(run.folder)
        check_names(checks, run)
        check_plans(checks, run)
        check_patterns(checks, run)
        check_children(checks, run)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
