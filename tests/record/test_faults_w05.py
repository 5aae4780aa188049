#!/usr/bin/env python3
"""W5: /dev/shm has 256 KiB, 4 KiB, is read-only or not there: recording goes on in less memory, or
is off; no SIGBUS."""
import faults
import setting


def main():
    setting.need_verb("record", "recover")
    faults.need_mounts()
    checks = setting.Checks("W5")
    ways = {"256 KiB": "mount -t tmpfs -o size=256k none /dev/shm",
            "4 KiB": "mount -t tmpfs -o size=4k none /dev/shm",
            "read-only": "mount -t tmpfs -o ro none /dev/shm",
            "none": "mount -t tmpfs none /dev"
                    " && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/urandom c 1 9"}
    with setting.work_dir() as work:
        for program, args in (("p_steady.c", [200, 3, *faults.PACE]), ("p_limits.c", [60])):
            host = faults.Host(work, program, args)
            for name, script in ways.items():
                outcome = host.run(f"/dev/shm: {name}, {program}",
                                   prefix=faults.private_mounts(script))
                host.check_lives(checks, outcome)
                faults.recover(checks, outcome)
    checks.verdict()


main()
