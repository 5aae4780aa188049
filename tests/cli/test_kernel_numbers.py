#!/usr/bin/env python3
"""The command's words of system calls have the numbers that this system's headers have, and its
errors the texts of this C library: the tables themselves are written down, as traces of Linux on
x86-64 are read on any machine, and in a browser."""
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(os.environ["TTAPE_SRC"], "tools", "kernel")
HEADERS = """#define _GNU_SOURCE
#include <errno.h>
#include <linux/fadvise.h>
#include <linux/falloc.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <asm/prctl.h>
"""
MORE_HEADERS = "#define _GNU_SOURCE\n" + "".join(f"#include <{name}>\n" for name in (
    "errno.h", "fcntl.h", "poll.h", "sched.h", "signal.h", "stdio.h", "string.h", "termios.h",
    "netinet/in.h", "sys/epoll.h", "sys/file.h", "sys/inotify.h", "sys/ipc.h", "sys/mman.h",
    "sys/mount.h",
    "sys/msg.h", "sys/personality.h", "sys/ptrace.h", "sys/sem.h", "sys/shm.h", "sys/signalfd.h",
    "sys/socket.h", "sys/swap.h", "sys/timerfd.h", "sys/timex.h", "sys/xattr.h", "sys/wait.h",
    "linux/capability.h", "linux/close_range.h", "linux/fanotify.h", "linux/ioprio.h",
    "linux/kcmp.h", "linux/magic.h", "linux/membarrier.h", "linux/mempolicy.h",
    "linux/netlink.h", "linux/openat2.h", "linux/seccomp.h", "linux/bpf.h", "linux/io_uring.h",
    "linux/keyctl.h", "linux/landlock.h", "linux/module.h"))
NOT_THERE = {"ARCH_CET_STATUS"}  # in no header
NOT_THERE |= {f"SUID_DUMP_{name}" for name in ("DISABLE", "USER", "ROOT")}  # the kernel's own
NOT_THERE |= {f"BTPROTO_{name}" for name in (
    "L2CAP", "HCI", "SCO", "RFCOMM", "BNEP", "CMTP", "HIDP", "AVDTP")}
NOT_THERE |= {f"SYSLOG_ACTION_{name}" for name in (
    "CLOSE", "OPEN", "READ", "READ_ALL", "READ_CLEAR", "CLEAR", "CONSOLE_OFF", "CONSOLE_ON",
    "CONSOLE_LEVEL", "SIZE_UNREAD", "SIZE_BUFFER")}
NOT_THERE |= {"ST_VALID", "SA_RESTORER", "SA_UNSUPPORTED", "SA_EXPOSE_TAGBITS", "MSG_COPY"}


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def known():
    """(name, number): of flags, and of what says which arguments there are."""
    for file in ("kernel_flags.c", "kernel_flags_more.c"):
        flags = (FOLDER / "flags" / file).read_text(encoding="utf-8")
        for name, number in re.findall(r"W\((\w+), (\d\w*)\)", flags):
            yield name, int(number, 0)
    numbers = (FOLDER / "kernel_numbers.h").read_text(encoding="utf-8")
    for name, number in re.findall(r"KERNEL_(\w+) = (-?\w+)", numbers):
        yield "__O_TMPFILE" if name == "O_TMPFILE" else name, int(number, 0) & 0xFFFFFFFF


def ask(folder, names, headers):
    """The numbers that a compiler knows; names that these headers lack are left out."""
    for _ in range(20):
        lines = [f'    printf("{name} %u\\n", (unsigned)({name}));' for name in names]
        source, program = Path(folder, "ask.c"), Path(folder, "ask")
        source.write_text(headers + "int main(void)\n{\n" + "\n".join(lines) + """
    for (int i = 1; i < 134; i++)
        printf("E %d %s\\n", i, strerror(i));
    return 0;
}
""", encoding="utf-8")
        made = subprocess.run(["cc", "-w", "-O0", source, "-o", program], capture_output=True,
                              text=True)
        lacking = set(re.findall(r"error: .(\w+). undeclared", made.stderr))
        if made.returncode == 0:
            return subprocess.run([program], capture_output=True, text=True,
                                  check=True).stdout.splitlines()
        if not lacking:
            skip(f"this compiler does not take the headers: {made.stderr[:300]}")
        names = [name for name in names if name not in lacking]
    raise AssertionError("headers lack too much")


def main():
    if platform.machine() != "x86_64" or sys.platform != "linux" or shutil.which("cc") is None:
        skip("numbers are those of Linux on x86-64")
    wanted = list(known())
    assert len(wanted) > 450, len(wanted)
    errors = dict(re.findall(r'\[(\d+)\] = "(\w+ [^"]*)"',
                             (FOLDER / "flags" / "kernel_errors.c").read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder:
        names = sorted({name for name, _ in wanted} | {text.split()[0] for text in errors.values()})
        lines = ask(folder, names, HEADERS)
        there = {line.split()[0] for line in lines}
        lines += ask(folder, [name for name in names if name not in there], MORE_HEADERS)
    found = dict(line.split() for line in lines if not line.startswith("E "))
    texts = dict(line[2:].split(" ", 1) for line in lines if line.startswith("E "))
    problems = [f"{name} is {found[name]}, not {number}" for name, number in wanted
                if name in found and int(found[name]) != number]
    problems += [f"error {number} is not {text}" for number, text in errors.items()
                 if found.get(text.split()[0], number) != number
                 or texts[number] != text.split(" ", 1)[1]]
    lacking = {name for name, _ in wanted} - set(found) - NOT_THERE
    assert not problems, "\n".join(problems)
    assert len(lacking) < 20, f"these headers lack: {sorted(lacking)}"
    print(f"kernel numbers: ok, {len(found)} names, {len(errors)} errors; "
          f"unknown here: {', '.join(sorted(lacking)) or 'none'}")


main()
