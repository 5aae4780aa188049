#!/usr/bin/env python3
"""A browser with its sandbox, of an ordinary user: its first process makes one with a thread
pointer of its own, in memory that is shared, and others with filters and namespaces. Its output and
status are as untraced, but for 3 where the trace has losses, and nothing crashes."""
import os
import sys
from pathlib import Path

import setting

PAGE = "data:text/html,<p id=a></p><script>document.getElementById('a').innerText=6*7</script>"
WORDS = ["chromium", "--headless", "--disable-gpu", "--dump-dom", PAGE]
NOBODY = 65534
USER = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def said(output):
    """Of each line of the program's own, not the time and the numbers of processes in it."""
    return sorted(line for line in output.splitlines() if b"FATAL" in line or b"crash" in line)


def main():
    setting.need_verb("record")
    setting.need_command("chromium", "setpriv")
    setting.need_root()
    checks = setting.Checks("chromium")
    with setting.work_dir() as folder:
        work = Path(folder)
        os.chown(work, NOBODY, NOBODY)
        where = setting.environment(HOME=work, XDG_CACHE_HOME=work / "cache", XDG_RUNTIME_DIR=work,
                                    TMPDIR=work)
        alone = setting.run([*USER, *WORDS], env=where, timeout=120)
        if alone.status != 0 or b"42" not in alone.out:
            setting.skip(f"chromium itself fails here: {alone.err[-300:]}")
        for options in ([], ["--syscalls"], ["--libcalls"]):
            done = setting.run([*USER, setting.COMMAND, "record", "-f", "-o", work / "run.ttape",
                                *options, "--", *WORDS], env=where, timeout=300)
            lost = 3 if b"were lost" in done.err else 0
            checks.equal((done.status, done.out, said(done.err)),
                         (lost, alone.out, said(alone.err)), f"{options}: {done.err[-500:]}")
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
