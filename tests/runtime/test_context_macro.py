#!/usr/bin/env python3
"""Context values of chosen functions, by the header's macro, in programs without the compilers'
hooks: the dictionary decodes each to the chosen functions that are open."""
import os
import re
import shutil
import subprocess
import sys

import arena as rt

shop = rt.Workshop()
failures = []


def check(compiler, level, library):
    what = f"{compiler} {level} {library}"
    target = os.path.join(shop.directory, "macro")
    dictionary = os.path.join(shop.directory, "macro.ctx")
    kind = ["-xc++"] if compiler.endswith("++") else []
    subprocess.run([compiler, level, "-g", "-Wall", "-Wextra", "-Werror", f"-I{rt.INCLUDE}", "-o",
                    target, *kind, os.path.join(rt.SUBJECTS, "context_macro.c"), "-xnone",
                    f"-L{rt.BUILD}", library, f"-Wl,-rpath,{rt.BUILD}"], check=True)
    done = subprocess.run([target], env=dict(os.environ, TRACETAPE_CONTEXT=dictionary),
                          capture_output=True, text=True, check=True, timeout=60)
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    answer = subprocess.run([os.environ["TTAPE_BIN"], "context", "--dictionary", dictionary,
                             *lines], capture_output=True, text=True, check=False, timeout=60)
    found = {match[1]: ">".join(match[2].split()) for match in
             re.finditer(r"^(\S+): certain\n  dictionary\n((?:    .+\n)+)", answer.stdout, re.M)}
    if found != lines or len(lines) != 4:
        failures.append(f"{what}: {lines}, decoded {found}: {answer}")
    os.unlink(dictionary)


def main():
    if os.environ.get("TTAPE_SANITIZE"):
        rt.skip("a preloaded runtime and a sanitizer's cannot be in one process")
    for compiler in ("gcc", "g++", "clang", "clang++"):
        for level in ("-O0", "-O2"):
            if shutil.which(compiler):
                check(compiler, level, "-ltracetape-context")
    check("gcc", "-O1", "-l:libtracetape-context.a")
    shop.close()
    for failure in failures:
        print(failure)
    print(f"context macro: {'FAILED' if failures else 'ok'}")
    sys.exit(bool(failures))


main()
