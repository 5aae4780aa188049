#!/usr/bin/env python3
"""A plan belongs to bytes: a file is patched as its own bytes say, whatever other file has its
build id, its name, its size and its times, and whatever lies in the cache under its name. The
program and the other one have the same bytes at each place that is patched; with the other one's
plan the program jumps into the middle of a jump."""
import os
import shutil
import struct
import sys
from pathlib import Path

import faults
import setting
import traces

ID = "-Wl,--build-id=0x1122334455667788990011223344556677889900"
FLAGS = ("-O1", ID)
SHARED = (*FLAGS, "-fPIC", "-shared", "-DLIBRARY", "-Wl,-soname,libplans.so", "-Wl,-z,now")
CALLS = 99
NOBODY = 65534
OVERLAY = ("mount -t overlay overlay -o lowerdir={0}/lower,upperdir={0}/upper,workdir={0}/work "
           "{0}/all")


def build(output, *flags, libraries=()):
    return setting.build("p_plans.c", flags=flags, output=output, libraries=libraries, log=False,
                         hooks=False)


class Run:
    def __init__(self, checks, work):
        self.checks, self.work = checks, work
        self.trace = work / "plans.ttape"
        self.cache = work / "cache"
        self.env = setting.environment(XDG_CACHE_HOME=self.cache)
        self.program, self.other = work / "program", work / "other"
        self.fresh()

    def fresh(self):
        """Both programs as they were built, and no plan."""
        shutil.rmtree(self.cache, ignore_errors=True)
        self.cache.mkdir(mode=0o700)
        shutil.copy2(build("good", *FLAGS), self.program)
        shutil.copy2(build("other", *FLAGS, "-DOTHER"), self.other)

    def plans(self, end):
        return sorted((self.cache / "tracetape" / "plan-v2").glob(f"*.{end}"))

    def record(self, label, *words, options=(), patched=CALLS, env=(), before=()):
        """The program does as it does alone, and its calls are in the trace."""
        env = {**self.env, **dict(env)}
        alone = setting.run([*before, *words], env=env)
        done = setting.run([*before, setting.COMMAND, "record", "-f", "-o", self.trace, *options,
                            "--", *words], env=env)
        self.checks.equal((done.status, done.out), (alone.status, alone.out),
                          f"{label}: as alone; {done.err}")
        found = traces.call_counts(self.trace)["enter"] if self.trace.exists() else {}
        self.checks.equal(found.get("branching", 0), patched, f"{label}: calls")
        return done


def check_poison(run):
    """The plan of another file with the build id, which was only looked at, or was recorded."""
    plan = setting.run([setting.COMMAND, "record", "--patch", ".", "--plan", "--", run.other],
                       env=run.env)
    run.checks.equal(plan.status, 0, f"a plan of the other: {plan.err}")
    run.record("the other was looked at", run.program)
    run.record("the other", run.other)
    run.record("once more", run.program)
    run.fresh()
    run.record("the other first", run.other, options=["--patch", "."])
    run.record("then the program", run.program, options=["--patch", "."])
    run.record("with system calls", run.program, options=["--patch", ".", "--syscalls", "--stacks"])


def check_in_place(run):
    """The same file, name, size and time of change; other bytes: at once, and with a plan that
    every recording before has used."""
    run.fresh()
    other, program = run.other.read_bytes(), run.program.read_bytes()
    run.checks.equal(len(other), len(program), "two files of one size")
    run.program.write_bytes(other)
    for turn, now in enumerate((program, other)):
        run.record(f"turn {turn}", run.program)
        about = run.program.stat()
        with open(run.program, "r+b") as file:
            file.write(now)
        os.utime(run.program, ns=(about.st_atime_ns, about.st_mtime_ns))
        after = run.program.stat()
        run.checks.equal((after.st_ino, after.st_size, after.st_mtime_ns),
                         (about.st_ino, about.st_size, about.st_mtime_ns), "it looks the same")
        run.record(f"turn {turn}, changed in place", run.program)
    run.checks.equal(len(run.plans("patch")) <= 3, True, "one plan for each content")


def check_replaced(run):
    """A library whose path names another file by the time that it is looked at."""
    run.fresh()
    library, other = build("libplans.so", *SHARED), build("libother.so", *SHARED, "-DOTHER")
    user = build("user", "-O1", "-DUSES", libraries=(library,))
    place, following = run.work / "libplans.so", run.work / "following.so"
    words = [setting.COMMAND, "record", "-f", "-o", run.trace, "--patch", "^branching$", "--module",
             "libplans", "--", user]
    env = {**run.env, "LD_LIBRARY_PATH": str(run.work)}
    for turn, first, then, patched in (("as it is", library, None, CALLS),
                                       ("what it will be", other, None, CALLS),
                                       ("replaced", library, other, 0),
                                       ("by a copy", library, library, 0),
                                       ("as it was", library, None, CALLS)):
        found = []
        for each in ([user], words):
            place.unlink(missing_ok=True)
            shutil.copy2(first, place)
            if then is not None:
                shutil.copy2(then, following)
            run.trace.unlink(missing_ok=True)
            found.append(setting.run(each, env=env, cwd=run.work))
            run.checks.equal(following.exists(), False, f"{turn}: it was")
        alone, done = found
        run.checks.equal((done.status, done.out), (alone.status, alone.out), f"{turn}: {done.err}")
        calls = traces.call_counts(run.trace)["enter"] if run.trace.exists() else {}
        run.checks.equal(calls.get("branching", 0), patched, f"{turn}: calls; {done.err}")


def check_renamed(run):
    """A program whose file has been replaced while it starts is its own file still."""
    run.fresh()
    run.record("before", run.program)
    run.record("the other before", run.other)
    script = run.work / "script"
    script.write_text(f"#!/bin/sh\nexec {run.program}\n", encoding="utf-8")
    script.chmod(0o755)
    run.record("the other's file under its name", script, options=["--patch", "branching"])
    os.replace(run.other, run.program)
    run.record("renamed", script, options=["--patch", "branching"])


def spoil(path, content):
    """Another file's plan, which says that it is this one's."""
    plan = bytearray(path.read_bytes())
    plan[256:272] = content  # recorder/arena/patch_plan.h
    return bytes(plan)


def check_planted(run):
    """What somebody else owns, may write, or has linked into the cache, is not used."""
    run.fresh()
    run.record("its plan", run.program)
    listed = run.plans("patch")
    run.record("the other's plan", run.other)
    wanted = next(path for path in listed if path.stat().st_size < 4096)
    wrong = next((path for path in run.plans("patch") if path not in listed), wanted)
    bad = spoil(wrong, bytes.fromhex(wanted.stem))
    elsewhere = run.work / "elsewhere"

    def linked():
        elsewhere.write_bytes(bad)
        os.link(elsewhere, wanted)

    def symbolic():
        elsewhere.write_bytes(bad)
        wanted.symlink_to(elsewhere)

    def writable():
        wanted.write_bytes(bad)
        wanted.chmod(0o622)

    def others():
        wanted.write_bytes(bad)
        os.chown(wanted, NOBODY, NOBODY)

    def fifo():
        os.mkfifo(wanted)

    def moved():
        wanted.write_bytes(wrong.read_bytes())
    ways = [linked, symbolic, writable, fifo, moved] + ([others] if os.geteuid() == 0 else [])
    for way in ways:
        wanted.unlink()
        elsewhere.unlink(missing_ok=True)
        way()
        run.record(f"planted: {way.__name__}", run.program)
        for path in run.plans("file"):
            run.checks.equal(path.stat().st_size, 72, "what is known of files")
    # whose hash it is, by a file that says so of another one
    names = {path.read_bytes()[56:72].hex(): path for path in run.plans("file")}
    known = names[wanted.stem]
    shutil.copy2(names[wrong.stem], known)
    run.record("planted: what another file has", run.program)
    known.unlink()
    known.write_bytes(struct.pack("<QII", 0x656c696670747474, 1, 72) +
                      bytes.fromhex(known.stem) + bytes.fromhex(wrong.stem))
    known.chmod(0o666)
    run.record("planted: what others may write", run.program)


def check_together(run):
    """Recorders that find no plan, and make it at once: whoever reads one finds all of it."""
    run.fresh()
    alone = {path: setting.run([path], env=run.env) for path in (run.program, run.other)}
    started = []
    for number in range(6):
        path = (run.program, run.other)[number % 2]
        words = [setting.COMMAND, "record", "-q", "-o", run.work / f"t{number}.ttape", "--", path]
        started.append((path, words, setting.start(words, env=run.env)))
    for number, (path, words, process) in enumerate(started):
        done = setting.finish(process, words, 60)
        run.checks.equal((done.status, done.out), (alone[path].status, alone[path].out),
                         f"together, {number}: {done.err}")
        calls = traces.call_counts(run.work / f"t{number}.ttape")["enter"]
        run.checks.equal(calls.get("branching"), CALLS, f"together, {number}: calls")
    for path in run.plans("patch"):
        total = struct.unpack_from("<Q", path.read_bytes(), 248)[0]
        run.checks.equal(total, path.stat().st_size, f"together: {path.name}")
    left = [path.name for path in (run.cache / "tracetape" / "plan-v2").glob(".*")]
    run.checks.equal(left, [], "together: what is left")


def check_folders(run):
    """A cache that is not the user's alone, or cannot be written: the next place is taken, and
    that is said."""
    run.fresh()
    names = ("cache", "home", "temporary")
    places = {name: run.work / "places" / name for name in names}
    for place in places.values():
        place.mkdir(parents=True)
    who = []
    if os.geteuid() == 0:  # root writes anywhere
        for path in (run.work, run.work / "places", *places.values()):
            os.chown(path, NOBODY, NOBODY)
        who = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
               "--bounding-set=-all", "--inh-caps=-all"]
    env = {"XDG_CACHE_HOME": str(places["cache"]), "HOME": str(places["home"]),
           "TMPDIR": str(places["temporary"])}
    said = f"'{places['cache']}' cannot be written: "
    for turn, name in enumerate(names):
        done = run.record(f"plans in {name}", run.program, env=env, before=who)
        run.checks.that(any(places[name].rglob("*.patch")), f"plans in {name}")
        run.checks.equal(said in done.err.decode(), turn != 0, f"{name}: {done.err}")
        if turn != 0:
            run.checks.that(f"kept in '{places[name]}" in done.err.decode(), f"where: {done.err}")
        for path in places[name].rglob("*"):
            path.chmod(0o500 if path.is_dir() else 0o400)
        places[name].chmod(0o500)
    passing = run.work / "places" / "passing"
    passing.mkdir()
    user = NOBODY if who else os.geteuid()
    taken = passing / f"tracetape-{user}"
    taken.write_text("in the way", encoding="utf-8")
    if who:
        os.chown(passing, NOBODY, NOBODY)
    done = run.record("plans that go", run.program, env={**env, "TMPDIR": str(passing)}, before=who)
    run.checks.that(b"made anew each time, in '" + str(passing).encode() in done.err, done.err)
    run.checks.equal(list(passing.iterdir()), [taken], "nothing stays")
    for path in (run.work / "places").rglob("*"):
        if path.is_dir():
            path.chmod(0o700)


def check_overlay(run):
    """Where the kernel's list of mappings has other numbers than stat."""
    if os.geteuid() != 0:
        return
    run.fresh()
    base = run.work / "overlay"
    mounted = f"mount -t tmpfs none {base} && mkdir {base}/lower {base}/upper {base}/work " \
              f"{base}/all && cp -p {run.program} {base}/lower && {OVERLAY.format(base)}"
    base.mkdir()
    words = faults.private_mounts(mounted, base / "all" / "program")
    alone = setting.run(words)
    if alone.out == b"":
        print(f"left out: overlay cannot be mounted; {alone.err}")
        return
    done = setting.run(faults.private_mounts(mounted, setting.COMMAND, "record", "-f", "-o",
                                             run.trace, "--", base / "all" / "program"),
                       env=run.env)
    run.checks.equal((done.status, done.out), (alone.status, alone.out), f"overlay: {done.err}")
    run.checks.equal(traces.call_counts(run.trace)["enter"].get("branching"), CALLS, "overlay")


def check_removed(run):
    """The folder goes while a program is recorded: it is made again, for what is executed then."""
    run.fresh()
    for gone in (run.cache / "tracetape", run.cache):
        shell = f"rm -rf {gone}; {run.program}; {run.program}; exit 0"
        done = setting.run([setting.COMMAND, "record", "-f", "-o", run.trace, "--no-patch",
                            "--syscalls", "--patch", "branching", "--", "/bin/sh", "-c", shell],
                           env=run.env)
        found = traces.call_counts(run.trace)["enter"]
        run.checks.equal((done.status, found.get("branching"), len(run.plans("patch")) > 0),
                         (0, 2 * CALLS, True), f"without '{gone}': {done.err}")


def main():
    setting.need_verb("record")
    checks = setting.Checks("plans")
    with setting.work_dir() as folder:
        run = Run(checks, Path(folder))
        for check in (check_poison, check_in_place, check_replaced, check_renamed, check_planted,
                      check_together, check_removed, check_overlay, check_folders):
            check(run)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
