#!/usr/bin/env python3
"""Arguments, results and contents of system calls in words: line for line what strace prints of the
same command, by both engines. Run as root and as an ordinary user."""
import difflib
import os
import re
import subprocess
import tempfile

import faults
import setting

OWN = re.compile(r"^(execve|set_tid_address|getrandom|exit_group)\b")  # other ids, other bytes
COMMANDS = (["ls", "-lR", "d"], ["cat", "d/two\nlines", "d/absent", "d/é"])
LONG = f'rmdir("{"x" * 4096}"...) = -1 ENAMETOOLONG (File name too long)'
TAIL = 25  # lines of the command's own, behind what the loader does


def plain(line):
    """Without addresses, comments, and the room that files take, which some file systems give them
    later."""
    line = re.sub(r"0x[0-9a-f]{4,}", "ADDRESS", re.sub(r" /\* .*?\*/", "", line))
    line = re.sub(r"\btotal \d+\\n", r"total N\\n", line)
    return re.sub(" +", " ", line).strip()


def by_strace(command):
    subprocess.run(["strace", "-q", "-e", "signal=none", "-o", "strace.txt",
                    *command], capture_output=True, timeout=60)
    with open("strace.txt", encoding="utf-8") as file:
        lines = [plain(line) for line in file]
    return [line for line in lines if not OWN.match(line) and not line.startswith("+++")]


def record(command, *words):
    if os.path.exists("run.ttape"):
        os.unlink("run.ttape")
    done = subprocess.run([setting.COMMAND, "record", "--syscalls", *words, "-q", "-f", "-o",
                           "run.ttape", "--", *command], capture_output=True, timeout=60)
    assert done.returncode == subprocess.run(command, capture_output=True).returncode, done
    if os.path.exists("run.ttape"):  # else there was no event
        subprocess.run([setting.COMMAND, "verify", "-q", "run.ttape"], check=True, timeout=60)


def listed(*words):
    if not os.path.exists("run.ttape"):
        return []
    done = subprocess.run([setting.COMMAND, "syscalls", "--list", "run.ttape", *words],
                          capture_output=True, text=True, check=False, timeout=60)
    none = done.returncode == 4 and "has no system calls" in done.stderr
    assert done.returncode == 0 or none and not done.stdout, done
    ends = [line.split("\t")[2:] for line in done.stdout.splitlines()]
    lines = [plain(end[1]) for end in ends if end[0] == "exit"]
    return [line for line in lines if not OWN.match(line)]


def compare(got, expected):
    assert got == expected, "\n".join(difflib.unified_diff(expected, got, lineterm="", n=0))


def test_like_strace(command):
    expected = by_strace(command)
    record(command, "--engine", "ptrace", "--args", "--data")
    compare(listed(), expected)
    for stacks in ([], ["--stacks"]):
        record(command, "--data", *stacks)
        compare(listed()[-TAIL:], expected[-TAIL:])


def test_without_contents():
    """--args has paths, and no contents of buffers."""
    for engine in ("ptrace", "in-process"):
        record(["cat", "d/one"], "--args", "--engine", engine)
        lines = listed()
        assert 'openat(AT_FDCWD, "d/one", O_RDONLY) = 3' in lines, lines
        assert not [line for line in lines if re.match(r'(read|write)\(\d+, "', line)], lines
        assert listed("--path", "d") == ['openat(AT_FDCWD, "d/one", O_RDONLY) = 3']
        assert listed("--fd", "3", "--calls", "openat,close")[-1] == "close(3) = 0"


def test_bad_addresses(program):
    """What cannot be read is an address, and the call fails as it did."""
    for engine in ("ptrace", "in-process"):
        record([program], "--data=16", "--engine", engine)
        lines = listed("--calls", "chdir,write,access,rmdir")[-5:]
        assert lines == ["chdir(ADDRESS) = -1 EFAULT (Bad address)",
                         "write(1, ADDRESS, 3) = -1 EFAULT (Bad address)",
                         'access("end", F_OK) = -1 ENOENT (No such file or directory)',
                         "chdir(NULL) = -1 EFAULT (Bad address)",
                         LONG], lines


def ends_of():
    return subprocess.run([setting.COMMAND, "syscalls", "--list", "run.ttape"], text=True,
                          capture_output=True, check=True, timeout=60).stdout


def test_choice():
    """What is recorded is what a report would choose of all, and nothing else; values of calls
    that wait for their length are kept, too."""
    command = ["cat", "d/one", "d/absent"]
    chosen = (["--failed"], ["--path", "d"], ["--fd", "3"], ["--fd", "3", "--failed"],
              ["--path", "d", "--failed"], ["--path", "nowhere"])
    for engine in ("ptrace", "in-process"):
        for words in chosen:
            record(command, "--args", "--engine", engine)
            expected = listed(*words)
            record(command, *words, "--engine", engine)
            compare(listed(), expected)
        assert not expected
        record(command, "--failed", "--engine", engine)
        assert "exit_group" not in ends_of(), ends_of()
        record(command, "--failed", "--path", "d", "--data", "--engine", engine)
        compare(listed(), ['openat(AT_FDCWD, "d/absent", O_RDONLY) = -1 ENOENT '
                           "(No such file or directory)"])
        record(command, "--args", "--min-time", "1ns", "--function", "none", "--engine", engine)
        assert 'openat(AT_FDCWD, "d/one", O_RDONLY) = 3' in listed(), listed()


def test_command():
    """`syscalls -- COMMAND` records what its list, or a choice, needs."""
    unit = r"\0\t\1771\303\251\n"
    for words, given in ((["--list"], f'"{unit * 4}{unit[:9]}"...'),
                         (["--list", "--data=2"], '"\\0\\t"...')):
        subprocess.run([setting.COMMAND, "syscalls", *words, "--path", "d", "--report", "list.txt",
                        "-o", "run.ttape", "--engine", "ptrace", "--", "wc", "d/one"],
                       capture_output=True, check=True, timeout=60)
        with open("list.txt", encoding="utf-8") as file:
            assert 'openat(AT_FDCWD, "d/one", O_RDONLY) = 3' in file.read()
        found = [text for text in listed("--fd", "3") if text.endswith(" = 210")]
        assert found and found[0].startswith(f"read(3, {given}, "), found
        os.unlink("run.ttape")


PROGRAM = r"""
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char name[8192];

int main(void)
{
    char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page + 4096, 4096);
    memset(page, 'x', 4096);
    memset(name, 'x', sizeof name - 1);
    memcpy(page + 4092, "end", 4);
    const char *volatile none = 0;
    const char *volatile gone = page + 4096;
    (void)!chdir(gone);
    (void)!write(1, gone, 3);
    (void)!access(page + 4092, F_OK); /* its last byte is the last before a hole */
    (void)!chdir(none);
    (void)!rmdir(name);
    return 0;
}
"""


def main():
    setting.need_syscalls()
    faults.need_strace()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("bad.c", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        compiler = os.environ.get("TTAPE_CC") or "cc"
        subprocess.run([compiler, "-O1", "-w", "bad.c", "-o", "bad"], check=True)
        os.mkdir("d")
        for name in ("one", "two\nlines", "é"):
            with open("d/" + name, "w", encoding="utf-8") as file:
                file.write("\0\t\x7f1é\n" * 30)
        for command in COMMANDS:
            test_like_strace(command)
        test_without_contents()
        test_choice()
        test_command()
        test_bad_addresses("./bad")


main()
