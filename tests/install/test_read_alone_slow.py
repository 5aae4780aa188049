#!/usr/bin/env python3
"""TTAPE_THREADS=OFF builds what reads, without threads, mmap, random numbers and other processes;
a program linked with it says of every vector what one with the whole library says."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import read_alone

SOURCE = Path(os.environ["TTAPE_SRC"])
BUILD = Path(os.environ["TTAPE_BUILD"])
COMPILER = os.environ.get("TTAPE_CC") or "cc"
FLAGS = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{SOURCE / 'libtrace' / 'include'}"]
PROGRAMS = ("sums", "slowest", "whocalls")


def link(work, name, kind, libraries):
    target = Path(work, f"{name}.{kind}")
    subprocess.run([COMPILER, *FLAGS, SOURCE / "examples" / name / f"{name}.c", "-o", target,
                    *libraries], check=True)
    return target


def said(program, trace):
    done = subprocess.run([program, trace], capture_output=True, check=False, timeout=300)
    return done.returncode, done.stdout, done.stderr.split(b":", 1)[-1]


def main():
    if os.environ.get("TTAPE_SANITIZE") or not (BUILD / "libtracetape.so").exists():
        print("SKIPPED: no shared library that a program of its own could be linked with")
        sys.exit(77)
    problems, count = [], 0
    with tempfile.TemporaryDirectory() as work:
        tree = Path(work, "build")
        subprocess.run(["cmake", "-S", SOURCE, "-B", tree, "-DTTAPE_THREADS=OFF",
                        "-DTTAPE_WARNINGS=ON", "-DTTAPE_WERROR=ON", "-DCMAKE_BUILD_TYPE=Release",
                        f"-DCMAKE_C_COMPILER={COMPILER}"], check=True, capture_output=True)
        subprocess.run(["cmake", "--build", tree, "-j", str(os.cpu_count() or 1)], check=True,
                       capture_output=True)
        library = tree / "libtracetape-read.a"
        problems += read_alone.unwanted([library])
        for name in PROGRAMS:
            alone = link(work, name, "alone", [library, "-lzstd", "-lxxhash", "-lcbor"])
            whole = link(work, name, "whole", [BUILD / "libtracetape.so", f"-Wl,-rpath,{BUILD}"])
            for trace in sorted((SOURCE / "spec" / "vectors").glob("*.ttape")):
                count += 1
                if said(alone, trace) != said(whole, trace):
                    problems.append(f"{name} says of {trace.stem} {said(alone, trace)}, "
                                    f"not {said(whole, trace)}")
    for line in problems:
        print(line)
    print(f"read alone: {'FAILED' if problems else 'ok'}, {count} answers")
    sys.exit(1 if problems else 0)


main()
