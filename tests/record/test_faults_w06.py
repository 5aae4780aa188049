#!/usr/bin/env python3
"""W6: limits of the recorder, of the program, of both: file size, descriptors, memory, locked
memory, processes, stack. No SIGXFSZ reaches the program, and one that it had pending stays
pending."""
import os
import resource

import faults
import setting

KIB, MIB = 1 << 10, 1 << 20
LIMITS = {  # name: (resource, value, option of prlimit)
    "file size 0": (resource.RLIMIT_FSIZE, 0, "--fsize=0"),
    "file size 64 KiB": (resource.RLIMIT_FSIZE, 64 * KIB, "--fsize=65536"),
    "file size 5 MiB": (resource.RLIMIT_FSIZE, 5 * MIB, "--fsize=5242880"),
    "4 descriptors": (resource.RLIMIT_NOFILE, 4, "--nofile=4"),
    "12 descriptors": (resource.RLIMIT_NOFILE, 12, "--nofile=12"),
    "address space": (resource.RLIMIT_AS, 96 * MIB, "--as=100663296"),
    "little address space": (resource.RLIMIT_AS, 24 * MIB, "--as=25165824"),
    "locked memory 0": (resource.RLIMIT_MEMLOCK, 0, "--memlock=0"),
    "stack 64 KiB": (resource.RLIMIT_STACK, 64 * KIB, "--stack=65536"),
    "data 16 MiB": (resource.RLIMIT_DATA, 16 * MIB, "--data=16777216"),
}


def both(checks, host, name):
    """Recorder and program under the limit. A limit that the untraced program does not survive says
    nothing."""
    which, value, _ = LIMITS[name]

    def limit():
        resource.setrlimit(which, (value, value))
    wrapped = which != resource.RLIMIT_NOFILE  # the shell needs more of them
    alone = host.run(f"{name}, alone", traced=False, before=limit, wrapped=wrapped)
    if alone.status != host.alone.status or alone.out != host.alone.out:
        print(f"left out: {host.program.name} does not survive '{name}' by itself")
        return
    outcome = host.run(f"{name}, {host.program.name}, recorder and program", before=limit,
                       wrapped=wrapped)
    host.check_lives(checks, outcome, may_refuse=False)
    faults.recover(checks, outcome)


def program_only(checks, host, name):
    inner = ["prlimit", LIMITS[name][2]]
    alone = host.run(f"{name}, alone", traced=False, inner=inner)
    if alone.status != host.alone.status or alone.out != host.alone.out:
        print(f"left out: {host.program.name} does not survive '{name}' by itself")
        return
    outcome = host.run(f"{name}, {host.program.name}, program only", inner=inner)
    if host.check_lives(checks, outcome, may_refuse=False):
        faults.recover(checks, outcome)


def without_processes(checks, work):
    """No process or thread may be added: what the program does without one it does all the same.
    As a user whom nobody else is, as the limit counts all processes of a user's."""
    host = faults.Host(work, "p_limits.c", [50])
    user = 60_000 + os.getpid() % 4_000
    prefix = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "prlimit",
              "--nproc=3"]
    alone = host.run("3 processes, alone", prefix=prefix, traced=False, wrapped=False)
    outcome = host.run("3 processes", prefix=prefix, wrapped=False)
    found, wanted = ((each.result.status, each.result.out) for each in (outcome, alone))
    checks.equal(found, wanted, f"3 processes: {outcome.result.err}")
    faults.recover(checks, outcome)


def main():
    setting.need_verb("record", "recover")
    setting.need_command("prlimit", "setpriv")
    checks = setting.Checks("W6")
    with setting.work_dir() as work:
        for program, args in (("p_limits.c", [setting.cut(60, 20)]), ("p_calls.c", [5])):
            host = faults.Host(work, program, args)
            for name in LIMITS:
                both(checks, host, name)
                program_only(checks, host, name)
        if os.geteuid() == 0:
            without_processes(checks, work)
        else:
            print("left out: the limit on processes needs root to become somebody else")
    checks.verdict()


main()
