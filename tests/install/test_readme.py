#!/usr/bin/env python3
"""Every command of README.md, and of the guide's page on building, runs, in its order, with a
program of a reader's own; those that cannot run here are listed with the reason. The guide's other
pages: test_guide.py."""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["TTAPE_SRC"])
COMMAND = Path(os.environ["TTAPE_BIN"])

# What starts so is not run.
ELSEWHERE = {
    "scripts/": "they build and test everything",
    "cmake --install": "install/test_consumer installs",
    "cmake --preset": "this test belongs to such a build",
    "cmake --build --preset": "this test belongs to such a build",
    "./configure": "the reader's own",
    "man ": "manual pages: tidy/test_manual",
    "pkg-config": "install/test_consumer",
}
NEEDED = {"meson": "meson", "clang": "clang", "g++": "g++", "gcc": "gcc", "cmake": "cmake"}
WORDS = ("tracetape ", "gcc ", "g++ ", "clang ", "cc ", "cmake ", "meson ", "./configure ",
         "scripts/", "man ", "pkg-config ")

PROGRAM = """
#include <stdio.h>
static volatile unsigned sum;
static void step(unsigned n) { sum += n; }
void work(unsigned n) { for (unsigned i = 0; i < 20 * n; i++) step(i); }
int main(void)
{
    for (unsigned n = 0; n < 100; n++)
        work(n);
    return sum == 1;
}
"""
# It and its recorder are killed.
SERVER = """
#include <signal.h>
#include <unistd.h>
void answer(void) {}
int main(void)
{
    for (int i = 0; i < 1000; i++)
        answer();
    kill(getppid(), SIGKILL);
    return raise(SIGKILL);
}
"""

RUNNING = """
#include <poll.h>
#include <stdio.h>
__attribute__((noinline)) int answer(int n) { return poll(0, 0, 1) + n; }
int main(void) { int n = 0; fclose(fopen("runs", "w")); for (;;) n = answer(n); }
"""


def commands(text):
    """Commands of blocks and of code in sentences, in their order; without comments."""
    for language, block, inline in re.findall(r"^```(\w*)\n(.*?)^```$|`([^`\n]+)`", text,
                                              re.S | re.M):
        if language not in ("", "sh"):
            continue
        lines = block.splitlines() if block else [inline]
        prompts = [line[2:] for line in lines if line.startswith("$ ")]
        for line in prompts or lines:
            line = re.sub(r"\s+#.*", "", line)
            if line.startswith(WORDS):
                yield line


def is_whole(line):
    """`tracetape graph` alone, or with PID, is a name, no command."""
    words = shlex.split(line)
    return len(words) > 2 and not any(re.fullmatch("[A-Z]+", word) for word in words[1:])


def prepare(work):
    work.joinpath("prog.c").write_text(PROGRAM, encoding="utf-8")
    work.joinpath("prog.cc").write_text(PROGRAM, encoding="utf-8")
    work.joinpath("server.c").write_text(SERVER, encoding="utf-8")
    work.joinpath("CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.10)\nproject(prog C CXX)\nadd_executable(prog prog.c)\n",
        encoding="utf-8")
    work.joinpath("meson.build").write_text("project('prog', 'c')\nexecutable('prog', 'prog.c')\n",
                                            encoding="utf-8")
    for folder in ("examples", "libtrace"):
        work.joinpath(folder).symlink_to(SOURCE / folder)
    run(work, "gcc -O2 -finstrument-functions -o minilang examples/minilang/*.c")
    run(work, "gcc -finstrument-functions -o server server.c")
    run(work, "gcc -g -O2 -finstrument-functions -o prog prog.c")
    work.joinpath("running.c").write_text(RUNNING, encoding="utf-8")
    run(work, "gcc -O1 -o running running.c")
    run(work, "tracetape record -o minilang.ttape -- ./minilang 2")
    run(work, "tracetape record ./prog")


# What `pkg-config --libs tracetape-blocks` says where it is installed.
BLOCKS = f"-L{COMMAND.parent} -Wl,--whole-archive -ltracetape-blocks -Wl,--no-whole-archive"


def run(work, line, status=0):
    line = line.replace("$(pkg-config --libs tracetape-blocks)", BLOCKS)
    path = f"{COMMAND.parent}:{os.environ['PATH']}"
    if "$PID" in line:
        line = ("rm -f runs; ./running & PID=$!; trap 'kill $PID' EXIT; "
                f"until [ -e runs ]; do :; done; {line}")
    if line.startswith("tracetape view "): # serves until it is interrupted
        line, status = f"timeout -s INT 1 {line}", 124
    done = subprocess.run(["bash", "-c", line], cwd=work, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env={**os.environ, "PATH": path}, check=False)
    if done.returncode != status:
        print(f"FAILED: {line}: status {done.returncode}\n{done.stderr[-400:]}")
        sys.exit(1)


def before(work, line):
    """What a reader has when he types this."""
    if " old.ttape" in line:
        shutil.copy(work / "prog.ttape", work / "old.ttape")
    if "prog.json" in line:
        run(work, "tracetape export old.ttape --format chrome -o prog.json")
        work.joinpath("prog.ttape").unlink()
    if line == "tracetape record ./prog": # an unfinished recording is never overwritten
        shutil.rmtree(work / "prog.ttape.recording", ignore_errors=True)
    if line.startswith("tracetape recover prog."):
        run(work, "tracetape record -o prog.ttape ./server", status=-9)
        work.joinpath("prog.ttape").unlink(missing_ok=True)


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        print("SKIPPED: a program is recorded by the release's runtime")
        sys.exit(77)
    count = 0
    text = "".join((SOURCE / page).read_text(encoding="utf-8")
                   for page in ("README.md", "doc/how-to/build.md"))
    with tempfile.TemporaryDirectory(prefix="ttape-readme.") as folder:
        work = Path(folder)
        prepare(work)
        for line in commands(text):
            program = line.split()[0]
            if line.startswith(tuple(ELSEWHERE)) or not is_whole(line):
                if program == "tracetape":
                    run(work, f"{' '.join(line.split()[:2])} --help")
                continue
            if shutil.which(NEEDED.get(program, program)) is None and program != "tracetape":
                print(f"without {program}: {line}")
                continue
            if "--format svg" in line and shutil.which("dot") is None:
                print(f"without dot: {line}")
                continue
            before(work, line)
            run(work, line.rstrip("& "), status=-9 if "./server" in line else 0)
            count += 1
    assert count > 25, count
    print(f"ok: {count} commands")


if __name__ == "__main__":
    main()
