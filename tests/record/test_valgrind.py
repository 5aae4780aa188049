#!/usr/bin/env python3
"""valgrind reads the unwinding rules of each library that is loaded, and says which it does not
know: it says nothing of ours. Nor does it of a program that is recorded under it."""
import re
import sys
from pathlib import Path

import setting

WARNING = re.compile(rb"(?:==|--)\d+(?:==|--) Warning:.*")
VALGRIND = ["valgrind", "--tool=none", "-v"]  # which reads rules as memcheck does, in less time


def warnings(*words, **environment):
    done = setting.run([*VALGRIND, *words], env=setting.environment(**environment))
    return done, WARNING.findall(done.err)


def check_library(checks, library):
    done, found = warnings("/bin/true", LD_PRELOAD=library)
    checks.equal((done.status, found), (0, []), f"what valgrind says of {library.name}")
    checks.that(f"Reading syms from {library}".encode() in done.err,
                f"valgrind has not read {library.name}", done.err)


def check_recorded(checks, work):
    program = setting.build("p_tight.c", log=False, hooks=False)
    _, alone = warnings(program, "1", "10")
    done = setting.tracetape("record", "-q", "--patch", ".", "-o", work / "t.ttape", "--",
                             *VALGRIND, program, "1", "10",
                             env=setting.environment(XDG_CACHE_HOME=work))
    found = WARNING.findall(done.err)
    checks.equal((done.status, len(found)), (0, len(alone)), f"of a recorded program: {found}")


def main():
    setting.need_verb("record")
    setting.need_command("valgrind")
    checks = setting.Checks("valgrind")
    libraries = sorted(path.resolve() for path in setting.BUILD.glob("libtracetape-*.so"))
    checks.that(len(libraries) >= 2, "libraries of this build", libraries)
    with setting.work_dir() as work:
        for library in libraries:
            check_library(checks, library)
        check_recorded(checks, Path(work))
    checks.verdict()


if __name__ == "__main__":
    sys.exit(main())
