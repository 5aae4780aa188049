#!/usr/bin/env python3
"""Programs that are executed with more rights than who executes them keep these, in all ways to
record, where an ordinary user records: set-user-id ones, also such as nobody may read, those with
capabilities of their file, interpreters of scripts. They are executed by the command itself, a
child, a vfork child, a thread, an instruction of the program's own, by programs that record
themselves and that do not, and are counted with their reason. Where there are no more rights to be
had (no_new_privs, a namespace of users), there are none."""
import os
import shutil
import subprocess
from pathlib import Path

import setting

NOBODY = 65534
HOWS = ("fork", "vfork", "thread", "fails", "itself", "raw")
ENGINES = ([], ["--syscalls"], ["--engine", "ptrace"], ["--complete"])
COUNTED = "1 process: 1 set-user-id or with capabilities"


class Ways:
    """A folder with the programs, which the other user can read and write in."""

    def __init__(self, work):
        self.work, self.trace = work, work / "open" / "t.ttape"
        os.chmod(work, 0o755)
        (work / "open").mkdir()
        os.chmod(work / "open", 0o777)
        self.executes = self.make("executes", "-pthread")
        self.static = self.make("static", "-pthread", "-static")
        self.plain = self.copy("plain", 0o755)
        self.kinds = [self.copy("rights", 0o4755), self.copy("unread", 0o4711),
                      self.copy("group", 0o2755), self.copy("caps", 0o755)]
        if self.give(self.kinds[-1]):
            self.kinds.append(self.script("script_of_caps", self.kinds[-1]))
        else:
            print("left out: no file here can have capabilities")
            self.kinds.pop()
        self.kinds.append(self.script("script_of_rights", self.kinds[0]))

    def make(self, name, *options):
        subprocess.run(["gcc", "-O1", *options, setting.PROGRAMS / "p_rights.c", "-o",
                        self.work / name], check=True)
        return self.work / name

    def copy(self, name, mode):
        shutil.copy(self.executes, self.work / name)
        os.chmod(self.work / name, mode)
        return self.work / name

    def give(self, path):
        tool = shutil.which("setcap", path="/usr/sbin:/sbin:/usr/bin")
        return tool is not None and \
            setting.run([tool, "cap_dac_override,cap_net_raw+ep", path]).status == 0

    def script(self, name, program):
        (self.work / name).write_text(f"#!{program} -u\n", encoding="ascii")
        os.chmod(self.work / name, 0o755)
        return self.work / name

    def run(self, *words):
        """By another user than root: (status, output), what the recorder says."""
        done = setting.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                            *words], cwd=self.work,
                           env=setting.environment(XDG_CACHE_HOME=self.work / "open/cache"))
        return (done.status, done.out), done.err.decode(errors="replace")

    def record(self, engine, *words):
        return self.run(setting.COMMAND, "record", *engine, "-f", "-o", self.trace, "--", *words)


def check_one(checks, ways, engine, is_counted, *words):
    """The status is 4 where the command itself was not recorded."""
    alone, _ = ways.run(*words)
    found, said = ways.record(engine, *words)
    label = " ".join(map(str, [*engine, *words]))
    checks.that(found[1] == alone[1] and found[0] in (alone[0], 4 if words[0] in ways.kinds else 0),
                f"{label}: {found} for {alone}", said)
    if is_counted:
        checks.that(COUNTED in said, f"{label}: what is said", said)


def check(checks, ways):
    plain, _ = ways.run(ways.plain, "-u")
    for kind in ways.kinds:
        checks.that(ways.run(kind, "-u")[0][1] != plain[1], f"{kind} has no more rights")
    rights = ways.kinds[0]
    for engine in ENGINES:
        by_tracer = "ptrace" in engine or "--complete" in engine
        for kind in ways.kinds:
            check_one(checks, ways, engine, True, kind, "-u")
            check_one(checks, ways, engine, True, ways.executes, "itself", kind)
        for program in (ways.executes, *([ways.static] if by_tracer else [])):
            for how in HOWS:
                check_one(checks, ways, engine, by_tracer or how != "raw", program, how, rights)
        check_one(checks, ways, engine, False, "setpriv", "--no-new-privs", rights, "-u")
        if ways.run("unshare", "-r", "true")[0][0] == 0:
            check_one(checks, ways, engine, False, "unshare", "-r", rights, "-u")


def main():
    setting.need_syscalls()
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        setting.skip("only root can make such programs, and become another user by setpriv")
    checks = setting.Checks("rights")
    with setting.work_dir() as folder:
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            setting.skip("programs have no more rights in the folder of temporary files")
        ways = Ways(Path(folder))
        if ways.run(setting.COMMAND, "--version")[0][0]:
            setting.skip(f"an ordinary user may not execute '{setting.COMMAND}'")
        check(checks, ways)
    checks.verdict()


main()
