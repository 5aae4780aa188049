#!/usr/bin/env python3
"""`record --complete`: as many calls of each kind as `strace -f -c` counts, and as many failures:
of ls, of git, of sqlite3, of a shell that forks, executes and takes signals, and of static
programs. Without it the same, but for what came before the constructor, which the report says.
Run as root and as an ordinary user."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import faults
import setting

# How often a thread waits for another depends on their pace; strace counts calls that come back,
# and exit never does.
NOT_COMPARED = {"futex", "exit", "exit_group"}
# Which it takes for a failure where the register of the interrupted code looks like one.
NO_ERRORS = {"rt_sigreturn"}
# One child at a time, as signals of two may become one.
LOOP = ("trap : USR1; for i in 1 2 3; do /bin/true; (/bin/echo $i; cd /; /bin/true; :); "
        "echo $(/bin/echo $i); done; kill -USR1 $$; ./static; exit 3")
BEFORE = {"access", "arch_prctl", "brk", "close", "execve", "mmap", "mprotect", "munmap",
          "newfstatat", "openat", "pread64", "prlimit64", "read", "rseq", "set_robust_list",
          "set_tid_address", "statfs"}  # by the loader and by constructors of libraries
UNSEEN = {"rt_sigreturn", "rt_sigprocmask", "vfork"}  # what a vfork child calls, and as documented


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


def record(command, *options):
    done = run(setting.COMMAND, "record", "-q", "-f", "-o", "ours.ttape", *options, "--", *command)
    alone = run(*command)
    assert (done.returncode, done.stdout, done.stderr) == \
        (alone.returncode, alone.stdout, alone.stderr), (done, alone)
    subprocess.run([setting.COMMAND, "verify", "-q", "ours.ttape"], check=True, timeout=60)
    rows = json.loads(run(setting.COMMAND, "syscalls", "--json", "ours.ttape").stdout)["rows"]
    last = run(setting.COMMAND, "syscalls", "--summary", "ours.ttape").stdout.splitlines()[-1]
    return {row["call"]: (row["sum"]["calls"], row["sum"]["errors"]) for row in rows}, last


def differences(found, expected):
    """Restarted calls are one of ours and two of strace's, of which the first failed."""
    names = (set(found) | set(expected)) - NOT_COMPARED
    for name in sorted(names):
        ours, theirs = found.get(name, (0, 0)), expected.get(name, (0, 0))
        more = theirs[0] - ours[0]
        is_same = more == 0 and name in NO_ERRORS or more >= 0 and more == theirs[1] - ours[1]
        if not is_same:
            yield name, ours, theirs


def test_same(command):
    expected = faults.calls_by_strace(command)
    found, last = record(command, "--complete")
    wrong = list(differences(found, expected))
    assert not wrong, (command, "call, ours, strace's:", wrong)
    assert last.startswith("Recorded in process, from its first instruction on"), last
    return expected, found


def test_before(command, expected):
    found, last = record(command, "--syscalls", "--engine", "in-process")
    wrong = list(differences(found, expected))
    assert wrong and all(name in BEFORE | UNSEEN and ours[0] < theirs[0]
                         for name, ours, theirs in wrong), (command, wrong)
    assert "without what the loader did before the program began" in last, last


def make_repository():
    environment = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
                   "GIT_COMMITTER_EMAIL": "a@b"}
    # without locks `status` does not write the index anew where its second has not passed yet
    os.environ.update(environment, HOME=os.getcwd(), GIT_CONFIG_NOSYSTEM="1",
                      GIT_OPTIONAL_LOCKS="0")
    os.makedirs("tree/folder")
    for name in ("a", "folder/b"):
        with open(f"tree/{name}", "w") as file:
            file.write(name)
    for words in (["init"], ["add", "."], ["commit", "-m", "a"], ["status"]):
        subprocess.run(["git", "-C", "tree", "-c", "gc.auto=0", *words], check=True,
                       capture_output=True, timeout=60)
    os.remove("tree/a")


def main():
    setting.need_syscalls()
    faults.need_strace()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("listed")
        for i in range(30):
            os.mkdir(f"listed/{i}")
        with open("static.c", "w") as file:
            file.write("#include <unistd.h>\n"
                       "int main(void) { return (int)write(1, \"s\\n\", 2) - 2; }\n")
        subprocess.run(["gcc", "-O1", "-static", "static.c", "-o", "static"], check=True)
        expected, _ = test_same(["ls", "-lR", "listed"])
        test_before(["ls", "-lR", "listed"], expected)
        expected, found = test_same(["sh", "-c", LOOP])
        for name in ("rt_sigreturn", "vfork", "clone"):
            assert found.get(name, (0, 0))[0] > 0, (name, found, expected)
        if shutil.which("git"):
            make_repository()
            test_same(["git", "-C", "tree", "status"])
        if shutil.which("sqlite3"):
            words = ["sqlite3", "a.db", "drop table if exists t; create table t(a);"
                     "insert into t values(1), (2); select sum(a) from t"]
            run(*words)
            test_same(words)
    return 0


sys.exit(main())
