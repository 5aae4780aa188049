#!/usr/bin/env python3
"""What a patched module takes of private memory is what spec/recording.md says: stubs of 128 bytes
for the probes of its plan, a page in front, and of images of jumps the pages with slots."""
import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import setting

PAGE, STUB = 4096, 128


def code_of_nobody(pid):
    """Of mappings of executable memory that are no file's: sizes, what is really used."""
    found = []
    for line in Path(f"/proc/{pid}/smaps").read_text(encoding="utf-8").splitlines():
        head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+) *(.*)", line)
        if head:
            mapped = int(head[2], 16) - int(head[1], 16)
            is_ours = head[3] == "r-xp" and head[4] == "0" and head[5] == ""
        elif line.startswith("Private_Dirty:") and is_ours:
            found.append((mapped, int(line.split()[1]) * 1024))
    return found


def child_of(recorder, name):
    """The one of that name: helpers come and go."""
    for line in Path(f"/proc/{recorder}/task/{recorder}/children").read_text().split():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{line}/comm").read_text().strip() == name:
                return int(line)
    raise RuntimeError(f"no child '{name}' of {recorder}")


def pages(size):
    return (size + PAGE - 1) // PAGE * PAGE


def main():
    setting.need_verb("record")
    checks = setting.Checks("patch_memory")
    with setting.work_dir() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": folder}
        words = [setting.COMMAND, "record", "-q", "-f", "-o", f"{folder}/out.ttape", "--patch", "."]
        for flags in (["-Og"], ["-Og", "-g0"], ["-Og", "-no-pie"]):
            program = setting.build("p_debugged.c", flags=[*flags, "-fno-inline"], hooks=False,
                                    log=False)
            plan = json.loads(setting.tracetape("record", "--plan", "--json", "--patch", ".", "--",
                                                program, env=environment).out)
            probes = [probe for function in plan["functions"] for probe in function["probes"]
                      if function["probes"][0]["reason"] == "can"]
            slots = sum(probe.get("lines", 0) & 15 != 0 for probe in probes)
            process = subprocess.Popen([*words, "--", program], stdout=subprocess.PIPE, text=True,
                                       env=environment)
            checks.equal(process.stdout.readline(), "there\n", f"{flags}: it starts")
            pid = child_of(process.pid, program.name[:15])
            found = code_of_nobody(pid)
            os.kill(pid, 15)
            process.communicate(timeout=60)
            stubs = pages(len(probes) * STUB)
            most = stubs + slots * PAGE
            checks.that(sum(used for _, used in found) <= most,
                        f"{flags}: {found}, not {most} bytes for {len(probes)} probes")
            checks.that((1 if slots == 0 else 2) <= len(found) <= (1 if slots == 0 else 3),
                        f"{flags}: {len(found)} areas, with {slots} slots")
            checks.that(("-g0" in flags) == (slots == 0), f"{flags}: {slots} slots")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
