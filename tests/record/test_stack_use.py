#!/usr/bin/env python3
"""How much stack a recorded call needs below the program's own: at most what spec/recording.md
says, with all that can be asked for, and for calls of every kind (programs/p_stack_use.c)."""
import os
import re
import subprocess
import sys

import setting

MOST = 2048
WAYS = [("--patch", "."), ("--patch", ".", "--args", "--retval"), ("--patch", ".", "--syscalls"),
        ("--patch", ".", "--args", "--retval", "--syscalls", "--stacks", "--libcalls"),
        ("--patch", ".", "--module", "."), ("--no-patch", "--syscalls", "--stacks")]


def depths(text):
    return {name: int(count) for name, count in re.findall(r"(\w+) (\d+)", text)}


def main():
    setting.need_verb("record")
    checks = setting.Checks("stack_use")
    with setting.work_dir() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": setting.plans(f"{folder}/cache")}
        program = setting.build("p_stack_use.c", flags=["-O1"], hooks=False, log=False)
        plain = depths(subprocess.run([program], capture_output=True, text=True, check=True,
                                      timeout=60).stdout)
        most = 0
        for way in WAYS:
            done = setting.tracetape("record", "-q", "-f", "-o", f"{folder}/out.ttape", *way, "--",
                                     program, env=environment)
            label = " ".join(way)
            found = depths(done.out.decode())
            checks.equal((done.status, found.keys()), (0, plain.keys()), f"{label}: how it went")
            checks.equal({name: count for name, count in found.items() if count > MOST}, {},
                         f"{label}: more than {MOST} bytes")
            most = max(most, *found.values())
            if os.environ.get("STACK_USE"):
                print(label, found)
        checks.that(most > max(plain.values()), f"calls are recorded: at most {most} bytes")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
