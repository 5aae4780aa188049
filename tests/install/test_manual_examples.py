#!/usr/bin/env python3
"""Every command of the manual pages' EXAMPLES, of ours in other sections and of the verbs' --help
runs, on small recordings that are made once; where a page shows what a command prints, the command
prints lines of that shape. libtracetape(3) has a program: test_examples.py."""
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["TTAPE_SRC"])
COMMAND = Path(os.environ["TTAPE_BIN"])
STATUS = {"tracetape diff --first": 1, "tracetape send": 4, "tracetape recover damaged.ttape": 3}
# scripts/setup installs them; the last is built where MPI is
MAYBE_MISSING = ("uftrace", "jq", "sqlite3", "dot", "mpiexec.mpich", "tracetape-mpi")
PICTURE = "--format svg" # drawn by dot

PROGRAM = """
static volatile unsigned sum;
void parse_line(unsigned n) { sum += n; }
int main(void)
{
    for (unsigned n = 0; n < 2000; n++)
        parse_line(n);
    return 0;
}
"""
LOGGING = """
#include <stdio.h>
#include <tracetape/context.h>
void parse_line(int n)
{
    ttape_context_value here = ttape_context();
    printf("[" TTAPE_CONTEXT_FORMAT "] line %d\\n", TTAPE_CONTEXT_ARGUMENTS(here), n);
}
int main(void)
{
    parse_line(1);
    return 0;
}
"""
# Serves until it is killed where there is a file `serve`, and kills its recorder where there is
# a file `kill`.
SERVER = """
#include <signal.h>
#include <unistd.h>
void answer(void) {}
int main(void)
{
    for (int i = 0; i < 1000; i++)
        answer();
    while (access("serve", F_OK) == 0)
        pause();
    if (access("kill", F_OK) == 0)
        kill(getppid(), SIGKILL);
    return access("kill", F_OK) == 0 ? raise(SIGKILL) : 0;
}
"""
# Runs until it is killed, without hooks, and naps between: it is attached to.
RUNNING = """
#include <unistd.h>
static volatile unsigned sum;
__attribute__((noinline)) void parse_line(unsigned n) { sum += n; }
int main(void)
{
    if (write(1, "runs\\n", 5) != 5)
        return 1;
    for (unsigned n = 0;; n++) {
        parse_line(n);
        if (n % 16 == 0)
            usleep(1000);
    }
}
"""
# What `pkg-config --libs tracetape-blocks` says where it is installed.
BLOCKS = f"-L{COMMAND.parent} -Wl,--whole-archive -ltracetape-blocks -Wl,--no-whole-archive"
# Of a machine with Intel PT.
CALLS_OF_PERF = ("prog 7/7 1.000000100: branches: call 401009 main+0x9 => 402000 parse_line+0x0\\n"
                 "prog 7/7 1.000000200: branches: return 402003 parse_line+0x3 => 40100e main\\n")
FLAMEGRAPH = """#!/usr/bin/env python3
import re, sys
sys.exit(not all(re.fullmatch(r"\\S.* \\d+", line.rstrip("\\n")) for line in sys.stdin))
"""


def text_of_run(scale):
    """A run of two seconds that the pages show: `main` loads 800 lines and then runs twice, a
    thread works beside it. Steps take as long as `scale` says."""
    lines = ["process 4710 program", "thread 4710 4710 program", "thread 4710 4711 worker",
             "module 0x400000 0x500000 /usr/bin/program",
             "meta realtime_offset_ns 1790000000000000000"]
    places = {"main": "main.c:40", "load": "load.c:12", "parse_line": "parse.c:7",
              "read_word": "parse.c:20", "run": "run.c:31", "step": "run.c:9",
              "work": "work.c:5", "copy": "work.c:20"}
    lines += [f"symbol {0x401000 + 64 * i:#x} {name} {place}"
              for i, (name, place) in enumerate(places.items())]
    lines += ["0 4710 enter main", "+2us 4710 enter load"]
    for i in range(800):
        lines.append(f"+1us 4710 enter parse_line {i}")
        for word in range(2 + i % 2):
            lines += [f"+{100 + 13 * i % 90} 4710 enter read_word",
                      f"+{110 + 7 * (i + word) % 80} 4710 exit"]
        lines.append(f"+{'2.5ms' if i == 357 else 100 + i % 50} 4710 exit - {i % 7}")
    lines.append("+1us 4710 exit")
    for pause in ("700ms", "500ms"):
        lines.append(f"+{pause} 4710 enter run")
        for i in range(600):
            lines += ["+100 4710 enter step", f"+{int(scale * (500000 + 499 * i))} 4710 exit"]
        lines.append("+100 4710 exit")
    lines += ["+1us 4710 exit", "1ms 4711 enter work"]
    for i in range(100):
        lines += [f"{20 * i + 1}ms 4711 enter copy", f"{20 * i + 6}ms 4711 exit"]
    return "\n".join([*lines, "2010ms 4711 exit", ""])


# What it is, where the page is about them.
SYSTEM_CALLS = """module 0x1000 0x2000 /opt/app/program
symbol 0x1010 main
symbol 0x1020 load
symbol 0x1030 parse_line
1us 4710 syscall-enter openat path=main;load
3us 4710 syscall-exit openat
5us 4710 syscall-enter read path=main;load;parse_line
9us 4710 syscall-exit read
12us 4710 syscall-enter write path=main
15us 4710 syscall-exit write
"""


def core_of(tid):
    """A core file with nothing but what `last --core` looks for: of SIGSEGV at address 16."""
    notes = struct.pack("<3I8s32xI", 5, 36, 1, b"CORE", tid) + \
        struct.pack("<3I8sI4xI4xQ", 5, 24, 0x53494749, b"CORE", signal.SIGSEGV, 1, 16)
    return struct.pack("<7s9x2H12xQ14x2H6x", b"\x7fELF\2\1\1", 4, 62, 64, 56, 1) + \
        struct.pack("<I4xQ16xQ16x", 4, 120, len(notes)) + notes


def log_of_xray():
    """Of basic mode: the program's first function is called."""
    return struct.pack("<HHIQ16x", 3, 0, 3, 10**9) + b"".join(
        struct.pack("<HBBiQII8x", 0, 0, kind, 1, at, 7, 7) for kind, at in ((0, 100), (1, 300)))


class Examples:
    def __init__(self, work):
        self.work, self.fixtures, self.bin = work, work / "fixtures", work / "bin"
        self.count = 0
        tools = f"{COMMAND.parent}:{self.bin}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": tools, "HOME": str(work / "home"),
                            "LD_LIBRARY_PATH": str(COMMAND.parent)}
        for folder in ("fixtures", "bin", "home/debug", "home/target", "home/lttng-traces"):
            (work / folder).mkdir(parents=True)
        self.bin.joinpath("flamegraph.pl").write_text(FLAMEGRAPH, encoding="utf-8")
        self.bin.joinpath("flamegraph.pl").chmod(0o755)
        self.bin.joinpath("pkg-config").write_text(f"#!/bin/sh\necho {BLOCKS}\n", encoding="utf-8")
        self.bin.joinpath("pkg-config").chmod(0o755)
        self.bin.joinpath("perf").write_text(f"#!/bin/sh\nprintf '{CALLS_OF_PERF}'\n",
                                             encoding="utf-8")
        self.bin.joinpath("perf").chmod(0o755)
        self.missing = [tool for tool in MAYBE_MISSING if shutil.which(tool, path=tools) is None]

    def shell(self, folder, line, status=0):
        """What the command prints, both streams. A view serves until it is interrupted."""
        if line.startswith(("tracetape view ", "tracetape receive ")) and "--help" not in line:
            line = line.replace("receive traces", "receive --listen 127.0.0.1:0 traces")
            line, status = f"timeout -s INT 1 {line}", 124
        done = subprocess.run(["bash", "-c", line], cwd=folder, env=self.environment, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != status:
            print(f"FAILED: {line}: status {done.returncode}\n{done.stdout[-400:]}")
            sys.exit(1)
        return done.stdout

    def prepare(self):
        here = self.fixtures
        run = text_of_run(1)
        other = run.replace("parse_line 500\n", "read_word 500\n")
        for name, text in {"program.c": PROGRAM, "running.c": RUNNING,
                           "server.c": SERVER, "app.c": LOGGING, "run.txt": run,
                           "slower.txt": text_of_run(1.2), "other.txt": other,
                           "calls.txt": SYSTEM_CALLS}.items():
            here.joinpath(name).write_text(text, encoding="utf-8")
        here.joinpath("core.4711").write_bytes(core_of(4711))
        here.joinpath("xray-log.prog.a1b2c3").write_bytes(log_of_xray())
        build = "gcc -g -O2 -finstrument-functions -o"
        for line in (f"{build} program program.c && {build} server server.c && "
                     "gcc -g -O1 -o running running.c",
                     "tracetape convert run.txt -o run.ttape",
                     f"{build} app app.c -I{SOURCE / 'libtrace' / 'include'} -L{COMMAND.parent} "
                     "-ltracetape-context && TRACETAPE_CONTEXT=app.ctx ./app >app.log",
                     "clang -g -fxray-instrument -fxray-instruction-threshold=1 -o prog program.c",
                     "tracetape convert slower.txt -o after.ttape",
                     "tracetape convert other.txt -o other.ttape",
                     "sed s/471/571/g run.txt | tracetape convert - -o server.ttape",
                     "tracetape export run.ttape --format chrome -o trace.json",
                     "tracetape export run.ttape --format ctf "
                     "-o ~/lttng-traces/auto-20261121-120000",
                     "tracetape cut run.ttape --time ..1s -o part1.ttape",
                     "tracetape cut run.ttape --time 1s.. -o part2.ttape",
                     "head -c 5000 run.ttape >damaged.ttape"):
            self.shell(here, line)
        for name in ("before", "one", "client", "live", "old1", "old2", "new1"):
            shutil.copy(here / "run.ttape", here / f"{name}.ttape")
        shutil.copy(here / "after.ttape", here / "new2.ttape")
        here.joinpath("runs").mkdir()
        for name in ("run", "server"):
            shutil.copy(here / f"{name}.ttape", here / "runs")
        if "uftrace" not in self.missing:
            self.shell(here, "uftrace record --no-libcall -d run.uftrace ./program")

    def run_block(self, page, number, commands):
        folder = self.work / f"{page}.{number}"
        shutil.copytree(self.fixtures, folder)
        if "syscalls" in page:
            self.shell(folder, "tracetape convert calls.txt -o run.ttape --force")
        if "lines" in page:
            self.shell(folder, "gcc -g -finstrument-functions -fsanitize-coverage=trace-pc "
                       f"-o blocks program.c {BLOCKS} && "
                       "tracetape record -q -f -o run.ttape ./blocks")
        if any(".recording" in line for line, _ in commands):
            folder.joinpath("kill").touch()
            self.shell(folder, "tracetape record -o run.ttape -f ./server", -signal.SIGKILL)
        if any(line.endswith("&") for line, _ in commands):
            self.run_with_server(folder, [line for line, _ in commands])
            return
        for line, shown in commands:
            missing = [tool for tool in self.missing if tool in line.split() or
                       (tool == "uftrace" in line) or (tool == "dot" and PICTURE in line)]
            if missing:
                print(f"without {missing[0]}: {line}")
                continue
            output = re.search(r" -o (\S+)", line)
            if output and line.split().count(output[1]) == 1: # each example is for a new folder
                folder.joinpath(output[1]).unlink(missing_ok=True)
            wanted = [status for start, status in STATUS.items() if line.startswith(start)]
            compare(f"{page}: {line}", shown, self.shell(folder, line, *wanted))
            self.count += 1
        if folder.joinpath("run.ttape.recording").is_dir(): # its shared memory too
            self.shell(folder, "tracetape recover --clean -f run.ttape.recording -o gone.ttape")

    def run_with_server(self, folder, lines):
        """What begins with a job and talks to it: the shell first waits until it can."""
        folder.joinpath("serve").touch()
        port = free_port() # others may use the one of the pages
        lines = [line.replace("receive traces", f"receive --listen 127.0.0.1:{port} traces")
                 .replace(":8271", f":{port}") for line in lines]
        listens = f"until : 2>/dev/null </dev/tcp/127.0.0.1/{port}; do :; done"
        ready = "for i in {1..9999}; do tracetape control $! status >/dev/null 2>&1 && break; done"
        script = ["set -e", "trap 'kill $!' EXIT",
                  *(f"{line}\n{listens if 'receive' in line else ready}" if line.endswith("&")
                    else line for line in lines)]
        self.shell(folder, "\n".join(script))
        self.count += len(lines)


def free_port():
    """One that nobody has and that nobody is given meanwhile: below those that are chosen for who
    names none."""
    least = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text("ascii").split()[0])
    ports = range(max(1024, least - 10000), least)
    for port in random.sample(ports, len(ports)):
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise AssertionError("no port is free")


def shape(line):
    """Numbers and units are all the same, and so is the width of columns; which times are for the
    most part those of recording, which `~` says, is the machine's."""
    line = re.sub(r"[+-]?\d[\d,.]*", "0", line.strip().replace("~", ""))
    return re.sub(r"\s+", " ", re.sub(r"\b0 (s|ms|us|ns)\b", "0 s", line))


def compare(what, shown, printed):
    """Each line that is shown has its like in what was printed, in their order; `...` stands for
    anything, as a line of its own for any lines, or none."""
    lines = iter([shape(line) for line in printed.splitlines()])
    for line in shown:
        if shape(line) == "...":
            continue
        pattern = ".*".join(re.escape(piece) for piece in shape(line).split("..."))
        if not any(re.fullmatch(pattern, other) for other in lines):
            print(f"FAILED: {what}: no line like this one in what it prints, or not behind the "
                  f"one before:\n{line}\n{printed[:2000]}")
            sys.exit(1)


def blocks(page):
    """Blocks of commands, each with the lines that are shown below it: all of EXAMPLES, and those
    of other sections that begin with a command of ours."""
    text = re.search(r"^\.Sh EXAMPLES\n(.*?)^\.Sh ", page, re.S | re.M)
    examples = text[1] if text else ""
    for block in re.findall(r"^\.Bd -literal\n(.*?)^\.Ed", page, re.S | re.M):
        if block not in examples and not re.match(r"(\$ )?(tracetape|mpiexec)", block):
            continue
        lines = block.replace("\\&", "").replace("\\e", "\\").splitlines()
        has_prompts = any(line.startswith("$ ") for line in lines)
        commands = []
        for line in lines:
            if line.startswith("$ ") or (not has_prompts and not line.startswith(" ")):
                commands.append((line.removeprefix("$ "), []))
            elif has_prompts:
                commands[-1][1].append(line)
            else: # goes on
                commands[-1] = (f"{commands[-1][0]}\n{line}", [])
        yield commands


def of_help(text):
    """The commands of a verb's --help, each with nothing shown."""
    found = re.search(r"^Examples:\n(.*?)\n\n", text, re.S | re.M)
    return [(line.strip(), []) for line in found[1].splitlines()] if found else []


def run_pages(examples, pages):
    for page in pages:
        found = list(blocks(page.read_text(encoding="utf-8")))
        for number, commands in enumerate(found):
            examples.run_block(page.name, number, commands)
        if page.suffix != ".1":
            continue
        if not found:
            print(f"FAILED: {page.name} has no examples")
            sys.exit(1)
        line = f"{page.stem.replace('-', ' ')} --help"
        found = of_help(examples.shell(examples.work, line))
        assert found, line
        examples.run_block(page.name, "help", found)


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        print("SKIPPED: a program is recorded by the release's runtime")
        sys.exit(77)
    pages = [page for page in sorted((SOURCE / "man").iterdir()) if page.suffix != ".3"]
    with tempfile.TemporaryDirectory(prefix="ttape-manual.") as folder:
        examples = Examples(Path(folder))
        examples.prepare()
        running = subprocess.Popen([examples.fixtures / "running"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        running.stdout.readline()  # it is there
        examples.environment["PID"] = str(running.pid)
        try:
            run_pages(examples, pages)
        finally:
            running.kill()
            running.communicate()
    assert examples.count > 100, examples.count
    print(f"ok: {examples.count} commands of {len(pages)} pages, and of --help")


if __name__ == "__main__":
    main()
