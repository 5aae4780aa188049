#!/usr/bin/env python3
"""Programs that record themselves, by one word in the environment or by one call: the recorder is a
thread of theirs, the file is whole at every end that can be seen, and the program is as it was."""
import os
import re
import subprocess
import sys

import arena as rt

shop = rt.Workshop()
failures = []
TOOL = os.environ.get("TTAPE_BIN") or os.path.join(rt.BUILD, "tracetape")
FILE = os.path.join(shop.directory, "out.ttape")
LINK = (f"-L{rt.BUILD}", "-ltracetape-rt", f"-Wl,-rpath,{rt.BUILD}")


def info():
    """(events of each stream with any, lost)"""
    run = subprocess.run([TOOL, "info", FILE], capture_output=True, text=True)
    if run.returncode:
        return [run.stderr], 0
    rows = re.search(r"^stream .*?\n(.*?)\n\n", run.stdout + "\n\n", re.M | re.S)
    lost = int(re.search(r"^lost +\d+ gaps?, ([\d,]+)", run.stdout, re.M)[1].replace(",", ""))
    counts = [int(row.split()[3].replace(",", "")) for row in rows[1].splitlines() if row.strip()]
    return [count for count in counts if count], lost


def run(what, command, events, code=0, output="", **environment):
    for name in (FILE, FILE + ".recording"):
        subprocess.run(["rm", "-rf", name], check=True)
    env = dict(os.environ, **environment)
    env.pop("TRACETAPE_ARENA", None)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    if done.returncode != code or done.stdout + done.stderr != output:
        failures.append(f"{what}: exit {done.returncode}, says "
                        f"{(done.stdout + done.stderr)!r}, wanted {code}, {output!r}")
    if events is None:
        return
    wanted = [count + 1 for count in events], 0  # the last fact of a thread is its end
    got = info()
    if got != wanted:
        failures.append(f"{what}: {got}, wanted {wanted[0]} events in streams")
    if os.path.exists(FILE + ".recording"):
        failures.append(f"{what}: leaves a directory behind")


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        rt.skip("a sanitizer's library cannot be opened by a program that has none")
    if not os.path.exists(TOOL):
        rt.skip("no command in this build")
    preload = {"TRACETAPE": FILE, "LD_PRELOAD": rt.LIBRARY}
    basic = shop.build("basic.c", "-O2")
    run("preloaded", [basic], [84], **preload)
    run("archive", [shop.build("basic.c", "-O2", link=(rt.ARCHIVE,))], [84], TRACETAPE=FILE,
        LD_LIBRARY_PATH=rt.BUILD)
    run("its children", ["bash", "-c", f"'{basic}'; '{basic}'; echo $0; exit 3"], [84, 84], code=3,
        output="bash\n", **preload)
    itself = shop.build("itself.c", "-O2", link=LINK)
    # Where it stops, the stop and its gap are events, too.
    for end, events in (("stop", [202]), ("exit", [201]), ("_exit", [200]), ("fork", [201, 2])):
        run(f"by a call, ended by {end}", [itself, FILE, end], events)
    static = shop.build("itself.c", "-O2", "-static", link=(rt.ARCHIVE,))
    done = subprocess.run([static, FILE], capture_output=True, text=True)
    if done.returncode != 1 or "cannot be loaded" not in done.stderr:
        failures.append(f"static: exit {done.returncode}, says {done.stderr!r}")
    plain = subprocess.run([basic], env=dict(os.environ, TRACETAPE="/nonexistent/x",
                                             LD_PRELOAD=rt.LIBRARY),
                           capture_output=True, text=True)
    if plain.returncode or plain.stdout or plain.stderr.count("\n") != 1:
        failures.append(f"nowhere to record into: {plain}")
    shop.close()
    for failure in failures:
        print(failure)
    print(f"runtime itself: {'FAILED' if failures else 'ok'}")
    sys.exit(1 if failures else 0)


main()
