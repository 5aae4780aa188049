#!/usr/bin/env python3
"""W23: a filter that denies all but write, futex and exit, by an error or by death; a set-id
program; chroot; other namespaces: recording is off or goes on, with one message at most, and the
program never ends by our doing."""
import os
import shutil
import subprocess
from pathlib import Path

import faults
import oracle
import setting
import traces
from oracle import Case

NOBODY = 65534


def filters(checks, work):
    for way in ("seccomp", "seccomp_kill", "seccomp_threads"):
        for compiler in setting.COMPILERS:
            oracle.observe(checks, Case(f"W23 {way}", "p_confined.c", [way], frames="opens",
                                        loss=way == "seccomp_threads", messages=1), compiler, work)


def chroots(checks, work):
    oracle.observe(checks, Case("W23 chroot", "p_confined.c", ["chroot", "{dir}"], frames="counts",
                                expect={"leaf": 101000}, balanced=True), "gcc", work)
    # the command itself is in another root: nothing of ours is there
    cage = Path(work, "cage")
    cage.mkdir()
    program = setting.build("p_calls.c", flags=("-O2", "-static"))
    shutil.copy(program, cage / "program")
    alone = setting.run(["chroot", cage, "/program"])
    out = Path(work, "cage.ttape")
    done = setting.run(setting.record_words(out, ["chroot", cage, "/program"]))
    checks.equal(done.out, alone.out, "chroot before exec: output")
    checks.that(done.status in (alone.status, faults.LOSS, faults.NOT_RECORDED),
                f"chroot before exec: {done.status}")
    checks.that(len(done.err.splitlines()) <= 1, "chroot before exec: messages", done.err)


def set_id(checks, work):
    """A copy that belongs to root and is set-id, run by somebody else under the recorder."""
    program = setting.build("p_secure.c", log=False)
    place = Path(work, "set-id")
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    copy = place / "secure"
    shutil.copy(program, copy)
    copy.chmod(0o4755)
    if os.statvfs(place).f_flag & os.ST_NOSUID:
        print("left out: set-id programs do not work in the temporary folder")
        return
    other = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    probe = subprocess.run([*other, setting.COMMAND, "--version"], check=False,
                           capture_output=True)
    alone = setting.run([*other, copy], cwd=place)
    if probe.returncode or b"secure 1" not in alone.out:
        print(f"left out: others cannot run the command, or set-id is off: {alone.out!r}")
        return
    words = [*other, *setting.record_words(place / "out.ttape", [copy])]
    done = setting.run(words, cwd=place)
    checks.equal(done.out, alone.out, "set-id: output (it says whether we are in its memory)")
    checks.that(done.status in (alone.status, faults.LOSS, faults.NOT_RECORDED),
                f"set-id: status {done.status}")
    checks.that(len(done.err.splitlines()) <= 1, "set-id: messages", done.err)
    if (place / "out.ttape").is_file():
        counts = traces.call_counts(place / "out.ttape")
        checks.equal(sum(counts["enter"].values()), 0, "set-id: calls recorded")


def namespaces(checks, work):
    host = faults.Host(work, "p_calls.c", [4])
    wanted = None
    ways = {"none": [], "pid": ["unshare", "--pid", "--fork"],
            "pid and /proc": ["unshare", "--pid", "--fork", "--mount-proc"],
            "mount": ["unshare", "-m"], "user": ["unshare", "-U", "-r"], "net": ["unshare", "-n"],
            "no /dev/shm": ["unshare", "-m", "sh", "-c",
                            'mount -t tmpfs none /dev/shm && exec "$@"', "sh"]}
    for name, words in ways.items():
        outcome = host.run(f"{name} namespace", inner=words)
        host.check_lives(checks, outcome, may_refuse=False)
        trace = faults.recover(checks, outcome)
        if name == "none" and trace:
            wanted = dict(traces.call_counts(trace)["enter"])
        elif "shm" in name or name == "pid and /proc":  # ids cannot be asked for there: off
            checks.that(outcome.result.said(), f"{outcome.label}: nothing was said")
        elif checks.that(trace is not None, f"{outcome.label}: no trace"):
            faults.check_calls(checks, outcome.label, trace, wanted)
    outcome = host.run("recorder in a pid namespace", prefix=["unshare", "--pid", "--fork"])
    host.check_lives(checks, outcome, may_refuse=False)
    trace = faults.recover(checks, outcome)
    if trace and wanted:
        faults.check_calls(checks, outcome.label, trace, wanted)


def main():
    setting.need_verb("record", "recover")
    checks = setting.Checks("W23")
    with setting.work_dir() as work:
        filters(checks, work)
        if os.geteuid() == 0:
            setting.need_command("chroot", "setpriv", "unshare")
            chroots(checks, work)
            set_id(checks, work)
            namespaces(checks, work)
        else:
            print("left out: chroot, set-id and namespaces need root")
    checks.verdict()


main()
