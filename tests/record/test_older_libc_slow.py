#!/usr/bin/env python3
"""Programs of an older glibc do what they do untraced, and what has hooks is recorded: with the
libraries that had threads and dlsym then, and without."""
import sys
from pathlib import Path

import libcs
import setting
from test_other_libc import compare


def main():
    setting.need_verb("record")
    setting.need_command("gcc", "dpkg")
    checks = setting.Checks("older_libc")
    with setting.work_dir() as folder:
        work = Path(folder)
        place = libcs.fetch_older(work)
        if place is None:
            setting.skip("no package of an older glibc can be had here: see TTAPE_OLDER_LIBC")
        source = setting.PROGRAMS / "p_any_libc.c"
        for name, flags, libraries in (("with", (), ("libpthread.so.0", "libdl.so.2")),
                                       ("without", ("-DWITHOUT_LIBRARIES",), ())):
            for hooks in ((), ("-finstrument-functions",)):
                program = libcs.older(place, work, source, "-O1", *flags, *hooks,
                                      libraries=libraries, output=f"{name}{len(hooks)}")
                compare(checks, f"{name} {hooks}", work, [program])
        trace = work / "hooked.ttape"
        done = setting.tracetape("record", "-o", trace, "--", work / "with1")
        checks.equal(done.status, 7, f"status with hooks; {done.err}")
        report = setting.tracetape("report", trace).out
        checks.that(b"deep" in report, "functions that are recorded", report)
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
